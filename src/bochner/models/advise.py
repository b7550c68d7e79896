"""Before fitting: which bandwidth, how many features, which precision, and what it will cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigvalsh

from ..bases import RandomFourier
from ..bases.design import Design
from ..blocks import Block, MemoryBlocks, RowsLike
from ..config import memory_budget
from ..costs import Cost, Work, choose_exact, cost, gram_bytes, machine, seconds_of
from ..moments import Moments
from ..typing import VectorLike
from .classifier import RandomFeatureClassifier
from .contest import Contender, Field
from .designing import wanted_of
from .parameters import ModelParameters
from .precision import choose_precision
from .preparation import PreparedData
from .regressor import RandomFeatureRegressor
from .trials import described, design_of
from .tune import Race, classifies, model_of, rows_and_targets, settings_of

FACTORS = ("0.25*median", "0.5*median", "median", "2*median")  # bandwidths; more beyond if the best is at an end
TRIED = (256, 512, 1024)  # features, or one for each row if those are fewer
LEVEL, NOTHING = 1.01, 1e-4  # times the smallest error, and above it, that is as good
PER_DEGREE = 8  # features for each effective degree of freedom, where more than those tried would do better


@dataclass(frozen=True)
class Advice:
    """What `advise` recommends: settings, the reasons for them, and the cost of a fit to all rows.

    Attributes
    ----------
    bandwidth : str
        Multiple of the median distance between (scaled) rows, as RandomFourier takes it.
    n_components : int
        Number of features.
    precision : str
        Number type of the features.
    alpha : float
        Penalty for all rows.
    solver : str
        Solver that a fit will take.
    seconds : float
        Time that a fit to all rows will take, about.
    memory : int
        Bytes of its largest matrices.
    reasons : tuple of str
        Why so, in words.
    scale : str or None
        How columns are scaled.
    linear : bool
        Whether the columns stand beside the features.
    classification : bool
        Whether y are labels.
    error : float
        Squared error of held-out rows, over that of predicting their mean.
    wrong : float or None
        Share of held-out rows whose label was wrong; None for numbers.
    random_state : int
        Seed of the features.

    Examples
    --------
    >>> import numpy as np, bochner
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> advice = bochner.advise(X, X[:, 0] > 0)
    >>> advice.classification, type(advice.model()).__name__
    (True, 'RandomFeatureClassifier')
    """

    bandwidth: str
    n_components: int
    precision: str
    alpha: float
    solver: str
    seconds: float
    memory: int
    reasons: tuple[str, ...]
    scale: str | None
    linear: bool
    classification: bool
    error: float
    wrong: float | None
    random_state: int = 0

    def model(self, **parameters: object) -> RandomFeatureRegressor | RandomFeatureClassifier:
        """Return the model of these settings, not fitted.

        Parameters
        ----------
        **parameters : dict
            Parameters of the model to set besides, or in place of those found.

        Returns
        -------
        RandomFeatureRegressor or RandomFeatureClassifier
            The model to fit; it chooses its penalty by the rows it is fitted to.
        """
        basis = RandomFourier(self.n_components, bandwidth=self.bandwidth)
        precision = None if self.precision == "float64" else self.precision
        return model_of(self, basis, {"precision": precision, **parameters})

    def __str__(self) -> str:
        head = (
            f"RandomFourier({self.n_components}, bandwidth={self.bandwidth!r}), scale={self.scale!r}, "
            f"precision={self.precision!r}: about {self.seconds:.1f} s and {self.memory / 1e9:.2f} GB with solver "
            f"{self.solver!r}"
        )
        return "\n".join([head, *(f"- {reason}" for reason in self.reasons)])


def advise(
    X: RowsLike,
    y: VectorLike | None = None,
    *,
    target: str | None = None,
    classification: bool | None = None,
    random_state: int = 0,
) -> Advice:
    """Recommend settings for random Fourier features, and say what a fit will cost.

    A few bandwidths and numbers of features are compared by folds of a sample of the rows, and one block of features is
    timed. `tune` tries more, with any basis.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
        The rows, as `fit` of the models takes them.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets; None if `target` or the blocks hold them.
    target : str, default=None
        Name of the column of the frame X that holds the targets, in place of y.
    classification : bool, default=None
        Whether y are labels. None takes text, booleans and up to 20 different whole numbers for labels.
    random_state : int, default=0
        Seed of the features that are tried.

    Returns
    -------
    Advice
        The settings and the reasons for them; `print` shows them, and `.model()` is the model to fit.

    See Also
    --------
    tune : Try settings of a basis on growing samples of the rows.

    Examples
    --------
    >>> import numpy as np, bochner
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> advice = bochner.advise(X, np.sin(X[:, 0]))
    >>> bool(advice.model().fit(X, np.sin(X[:, 0])).cv_score_ > 0.9)
    True
    """
    X, y = rows_and_targets(X, y, target)
    model = RandomFeatureClassifier() if classifies(X, y, classification) else RandomFeatureRegressor()
    model.set_params(random_state=random_state)
    parameters, ready = model._parameters(), model._prepare(X, y, None, first=True, whole=True)
    rows = ready.blocks.n_rows
    within = even(min(rows, np.sqrt(memory_budget() / gram_bytes(len(FACTORS)))))
    race = race_of_bandwidths(parameters, ready, within, random_state)
    field = race.field
    notes = race.widen(True, True, warn=False)
    trial = race.best()
    best = race.contender_of(trial)
    m, why = enough_features(best, within)
    choice, chosen = best.choice, RandomFourier(m, bandwidth=trial.settings["bandwidth"], random_state=random_state)
    wanted, _ = wanted_of(parameters, chosen, ready)
    precision, because = choose_precision(chosen, choice, wanted, parameters, ready)
    design = design_of(choice, chosen.set_params(precision=precision), ready.sample, ready.largest)
    solver, how = choose_exact(rows, design.n_components)
    expected = expected_cost(design, field.probe, rows, solver)
    judged = f"folds of {trial.rows:,} rows"
    reasons = (
        f"rows: {described(choice.scale, choice.weight)} ({choice.reason})",
        f"bandwidth: {trial.settings['bandwidth']}, of {len(race.trials)} multiples of that distance, by {judged}",
        *notes,
        f"features: {why}",
        f"precision: {because}",
        f"solver: {how}",
    )
    return Advice(
        str(trial.settings["bandwidth"]), m, precision or "float64", trial.alpha * rows / max(trial.rows, 1), solver,
        expected.seconds, expected.memory, reasons, choice.scale, bool(choice.weight), field.classifies, trial.error,
        trial.wrong, random_state,
    )  # fmt: skip


def race_of_bandwidths(parameters: ModelParameters, ready: PreparedData, within: int, seed: int) -> Race:
    """Bandwidths tried on sampled rows, with up to so many features."""
    sizes = [even(min(size, within)) for size in TRIED]
    basis = RandomFourier(sizes[-1])
    field = Field(parameters, ready, basis, seed)
    race = Race(field, settings_of(basis, FACTORS, None), sizes, MemoryBlocks(*field.probe[:3]))
    race.run()
    return race


def even(number: float) -> int:
    """The largest even number of features up to a number, which is 2 or more: pairs of waves."""
    return max(2, 2 * int(number // 2))


def enough_features(contender: Contender, within: int) -> tuple[int, str]:
    """The fewest features that do as well as the best number; more than were tried if the most are best.

    Never more than `within`: one for each row, or those that find room.
    """
    curve, best = contender.curve, contender.trial
    good = tuple(LEVEL * size + NOTHING for size in (best.error, best.rank[0]))
    enough = next(trial for trial in curve if trial.error <= good[0] and trial.rank[0] <= good[1])
    if enough.components < curve[-1].components or within <= curve[-1].components:
        told = ", ".join(f"{trial.components:,}: {trial.rank[0]:.3g}" for trial in curve)
        what = "squared error" if best.wrong is None else "wrong labels"
        return enough.components, f"enough of those tried ({what} of rows left out, {told})"
    degrees = degrees_of(contender, enough.alpha)
    wanted = 2 ** int(np.ceil(np.log2(max(PER_DEGREE * degrees, 1.0))))
    m = even(np.clip(wanted, enough.components, within))
    return m, f"{PER_DEGREE} for each of {degrees:.0f} effective degrees of freedom, at most one for each row"


def degrees_of(contender: Contender, alpha: float) -> float:
    """The trace of G (G + alpha)^-1 for the rows that were looked at."""
    gram = contender.folded.centered(contender.design.scale_, True).gram
    values = np.maximum(eigvalsh(gram), 0.0)
    return float(np.sum(values / (values + alpha)))


def expected_cost(design: Design, probe: Block, rows: int, solver: str) -> Cost:
    """That of a fit to all rows, with the speed of features and sums taken from one block of them."""
    block, m = probe.X[:1024], design.n_components
    design.features(block[:2])  # weights are drawn once, not per block
    made = seconds_of(lambda: design.features(block))
    features = design.features(block)
    summed = seconds_of(lambda: Moments.of(features, probe.y[:1024]))
    precision = None if design.precision is None else str(design.precision)
    speed = replace(machine(precision), features=block.shape[0] * m / made, sums=float(block.shape[0]) * m**2 / summed)
    return cost(Work(rows, block.shape[1], m, probe.y.shape[1], precision), solver, speed)
