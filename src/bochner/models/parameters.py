"""The parameters of a model on random features, checked, as plain values: what fitting is given in place of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..bases import REGISTRY, Basis, RandomFourier
from ..bases.design import Design
from ..blocks import Blocks
from ..losses import CLASSIFYING, REGRESSING, Loss, LossLike, loss_of
from ..maps import PRECISIONS
from ..ops.devices import named_device
from ..solvers import Problem, Solver, SolverLike
from ..solvers.matching import SOLVERS, choose_solver, require_combination, require_torch, trains_on_batches
from ..solvers.problem import Alpha
from ..typing import Penalty, RandomStateLike
from ..validation import require_choice, require_integer, require_positive
from .checks import dtypes_for
from .copies import copied
from .sampling import sampled_for_rounds

DEFAULT_FEATURES = 1000
METRICS = ("diagonal", "full", "auto")


@dataclass(frozen=True)
class ModelParameters:
    """What a model was asked for; the basis is looked at when it is needed.

    Attributes
    ----------
    basis : Basis, str or None
        The random features, as they were given.
    loss : Loss
        The loss.
    alpha : float, array-like or {'auto', 'loo', 'gcv'}
        The penalty, candidates for it, or how it is to be chosen.
    max_coefficient : float or None
        Bound on the coefficients, times their number.
    solver : str or solver object
        How coefficients are found.
    fit_intercept : bool
        Whether the model has an intercept.
    precision : str or None
        Number type of the features.
    scale : str or None
        How columns are scaled.
    linear : bool or 'auto'
        Whether the columns stand beside the features.
    metric : str or None
        What kind of metric is learned before features are made.
    metric_rounds : int
        How many times it is learned.
    random_state : int, RandomState instance, Generator or None
        Seed of the basis, where that has none of its own.
    classifies : bool
        Whether targets are labels.
    device : str or None
        Where features, sums and the solution are made; None is where the rows are.
    """

    basis: Basis | str | None
    loss: Loss
    alpha: Alpha
    max_coefficient: float | None
    solver: str | SolverLike
    fit_intercept: bool
    precision: str | None
    scale: str | None
    linear: bool | str
    metric: str | None
    metric_rounds: int
    random_state: RandomStateLike
    classifies: bool
    device: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], classifies: bool) -> ModelParameters:
        """From the parameters of an estimator; what cannot be fitted is refused."""
        loss = loss_of(given["loss"], CLASSIFYING if classifies else REGRESSING)
        bound, precision, scale, linear = (given[name] for name in ("max_coefficient", "precision", "scale", "linear"))
        if bound is not None:
            require_positive("max_coefficient", bound)
        require_combination(loss, given["solver"], bound)
        if precision is not None:
            require_choice("precision", precision, [*PRECISIONS, "auto"])
        if scale is not None:
            require_choice("scale", scale, ["auto", "robust", "standard"])
        if not isinstance(linear, bool):
            require_choice("linear", linear, ["auto"])
        if given["metric"] is not None:
            require_choice("metric", given["metric"], METRICS)
        rounds = require_integer("metric_rounds", given["metric_rounds"])
        device = named_device(given.get("device"))
        if device not in (None, "cpu"):
            require_torch(loss, given["solver"], bound, device)
        return cls(
            given["basis"], loss, checked_alpha(given["alpha"]), bound, given["solver"], given["fit_intercept"],
            precision, scale, linear, given["metric"], rounds, given["random_state"], classifies, device,
        )  # fmt: skip

    @property
    def dtypes(self) -> list[type[np.generic]]:
        """The types of rows that features are made of as they are."""
        return dtypes_for(self.precision or getattr(self.basis, "precision", None))

    @property
    def trains_on_batches(self) -> bool:
        """Whether the solver takes steps on batches of rows."""
        return trains_on_batches(self.solver, self.loss)

    def solver_for(self, design: Design, rows: int, of_tensors: bool = False) -> tuple[Solver, str]:
        """The solver for so many rows, and why."""
        return self._chosen(rows, design.n_components, of_tensors)

    def _chosen(self, rows: int, features: int, of_tensors: bool) -> tuple[Solver, str]:
        return choose_solver(self.solver, self.loss, self.max_coefficient, rows, features, of_tensors)

    def samples(self, rows: int, columns: int) -> tuple[tuple[int, int], ...]:
        """Samples, (how many, seed), of so many rows that metric and solver will take: the first pass draws them."""
        fewest = new_basis(self.basis).n_components
        if not isinstance(fewest, int | np.integer) or fewest < 1:
            return ()  # which the fit of the basis refuses
        most = int(fewest) + (0 if self.linear is False else 2 * columns)  # as many as linear parts have
        solver, _ = self._chosen(rows, most, self.device not in (None, "cpu"))
        rounds = () if self.metric is None else (sampled_for_rounds(columns),)
        return *rounds, *solver.samples(int(fewest), most)

    def problem(self, design: Design, blocks: Blocks, outputs: int) -> Problem:
        """What a solver is given; rows have targets of so many outputs."""
        bound = None if self.max_coefficient is None else self.max_coefficient / design.n_components
        return Problem(
            design.map, copied(blocks, design.basis, self.loss), self.alpha, self.fit_intercept, self.classifies,
            outputs, self.loss, bound=bound, seed=design.seed_,
            calibrates=self.classifies and not self.loss.probabilistic,
        )  # fmt: skip

    def refuse_leave_one_out(self, verb: str) -> None:
        """Refuse to choose the penalty by what sums alone do not tell."""
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError(f"alpha='loo' needs a second pass over all rows, which {verb} does not have.")


def adds_rows(loss: str | LossLike, solver: str | SolverLike, bound: float | None, classifies: bool) -> bool:
    """Whether partial_fit is possible: there are sums to add to, or steps to take."""
    loss = loss_of(loss, CLASSIFYING if classifies else REGRESSING)
    sums = isinstance(solver, str) and solver in SOLVERS and solver != "newton" and bound is None
    if trains_on_batches(solver, loss) or (loss.quadratic and sums):
        return True
    raise AttributeError("partial_fit needs loss='squared' or one of the solvers 'sgd', 'adam', 'doubly_stochastic'.")


def checked_alpha(alpha: Penalty) -> Alpha:
    """alpha as a float, an array of floats, "auto", "loo" or "gcv"."""
    if isinstance(alpha, str):
        return require_choice("alpha", alpha, ["auto", "loo", "gcv"])
    if np.ndim(alpha) == 0:
        return 0.0 if alpha == 0 else require_positive("alpha", alpha)
    alphas = np.asarray(alpha, dtype=np.float64)
    if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas > 0)).all():
        raise ValueError("alpha, if it is a list, must hold positive finite numbers.")
    return float(alphas[0]) if len(alphas) == 1 else alphas


def new_basis(basis: Basis | str | None) -> Basis:
    """A basis of its own, not yet fitted: the one given, by name or as an object, or the default one."""
    if basis is None:
        return RandomFourier(DEFAULT_FEATURES)
    if isinstance(basis, str):
        return REGISTRY[require_choice("basis", basis, REGISTRY)](DEFAULT_FEATURES)
    if not isinstance(basis, Basis):
        raise ValueError(f"basis must be one of bochner's bases, or the name of one; got {basis!r}.")
    return clone(basis)
