"""What the learned regressor and classifier share: drawn frequencies, penalties, restarts, and a basis to keep."""

from __future__ import annotations

import os
from abc import abstractmethod
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...arrays import Array, Rows, cast, constant, empty, is_torch, like
from ...bases import Basis, Fastfood, RandomFourier
from ...bases.design import Design
from ...bases.heuristics import SAMPLE, different_rows, draw_seed, largest_size
from ...blocks import Blocks
from ...kernels import Kernel
from ...maps.scaling import ColumnScaler, units_apart
from ...ops.devices import device_of, placed, require_device, room_on
from ...penalties import CrossValidated
from ...streams import Stream
from ...typing import MatrixLike, Penalty, RandomStateLike, VectorLike
from ...validation import (
    require_choice,
    require_integer,
    require_positive,
    require_squares,
)
from ..calibration import score_of, temperature
from ..checks import check_arrays, refuse_selection, row_slices
from ..explaining import prepared, score_in_words
from ..fitting import Limited
from ..placing import beside, block_on, device_for, sampled
from ..preparation import GivenData, prepare_block
from ..saving import write
from ..targets import TargetEncoder
from ..trials import SCALERS
from .directions import Calibrated, Directions, Free, phases_of
from .layer import features, input_gradient, projection_gradient
from .losses import Loss, Squared
from .objective import Objective
from .optimisers import LEARNING_RATES, OPTIMISERS, Settings
from .penalties import ALPHAS, FREQUENCY_ALPHAS, candidates, choose_penalties, folds, held_out_scores
from .projection import solve_output
from .saving import from_state, to_state
from .search import Learned, Method, learn
from .spectrum import Spectral, Stage

FLOATS = (np.float64,)  # the type of rows
NO_BLOCKS = "learned frequencies need all rows in memory: give arrays or a frame, not blocks."


class LearnedFourierModel(Spectral, BaseEstimator):
    """One hidden layer of waves whose frequencies are learned. Subclasses say how targets are coded and scores read."""

    n_components: int
    kernel: str | Kernel
    bandwidth: float | str
    nu: float
    sampling: str
    structure: str
    alpha: Penalty
    frequency_alpha: Penalty
    optimizer: str
    variable_projection: bool
    max_iter: int
    tol: float
    learning_rate: float | None
    batch_size: int
    n_restarts: int
    early_stopping: bool
    scale: str | None
    fit_intercept: bool
    device: str | None
    n_jobs: int | None
    verbose: int
    random_state: RandomStateLike
    _targets: TargetEncoder  # there after a fit
    temperature_: float  # of a classifier by the squared loss
    scaler_: ColumnScaler | None = None  # files of older versions have none
    _validated: CrossValidated | None = None  # nor this

    @abstractmethod
    def _encoder(self) -> TargetEncoder:
        """The encoder of targets, before any are known."""

    @property
    def _classifies(self) -> bool:
        return self._encoder().classifies

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, once targets are known."""

    # ---- fitting ----

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Learn frequencies and coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it. Tensors stay in torch, on their device.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` names them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        self._check_parameters()
        if isinstance(X, Blocks):
            raise ValueError(NO_BLOCKS)
        given = GivenData(X, y, sample_weight)
        block, self._targets = prepare_block(self, given, target, self._encoder(), FLOATS, "csr")
        self.seed_, device = draw_seed(self.random_state), device_for(self.device, block.X)
        self.scaler_ = self._settled_scaler(block.X)
        with Limited(self.n_jobs, self.verbose, 1, device):
            there = block_on(block, device)
            codes = cast(there.y, "float64")
            weight = constant(1.0, (len(codes),), codes) if there.weight is None else there.weight
            self._descend(self._scaled(there.X), codes, weight / weight.sum())
        return self

    def _settled_scaler(self, X: Rows) -> ColumnScaler | None:
        given = not isinstance(self.bandwidth, str) or getattr(self.kernel, "bandwidth", None) is not None
        if self.scale is None or (self.scale == "auto" and given):
            return None
        require_squares(largest_size(X), "X")
        rows = different_rows(sampled(X, SAMPLE, seed=0))
        return units_apart(rows) if self.scale == "auto" else SCALERS[self.scale](rows)

    def _scaled(self, X: Rows) -> Rows:
        return X if self.scaler_ is None else self.scaler_(X)

    def _descend(self, X: Rows, targets: Array, shares: Array) -> None:
        """Choose penalties with the first draw, learn from every draw, and keep the best.

        Targets are measured in units of their size, so that tolerances mean the same for all; T is in its square.
        """
        mean = shares @ targets if self.fit_intercept else 0.0
        size = 1.0 if self._classifies else float(np.sqrt(float(shares @ ((targets - mean) ** 2).sum(axis=1)))) or 1.0
        targets, method = targets / size, self._method()
        objective, bandwidth = self._objective(X, targets, shares, self.seed_)
        automatic = FREQUENCY_ALPHAS * bandwidth**2 * size**2
        chosen = choose_penalties(
            objective, method,
            candidates("alpha", self.alpha, ALPHAS),
            candidates("frequency_alpha", self.frequency_alpha, automatic) / size**2,
        )  # fmt: skip
        best: tuple[Learned, Objective] | None = None
        others = Stream(self.seed_, "restarts").integers(1, int(self.n_restarts), 2**31 - 1)[:, 0]
        for seed in [self.seed_, *others.tolist()]:
            tried, _ = self._objective(X, targets, shares, seed)
            tried = replace(tried, alpha=chosen.alpha, frequency_alpha=chosen.frequency_alpha)
            found = self._learned(tried, method)
            if best is None or found.judged < best[0].judged:
                best = found, tried
        assert best is not None
        self._validated = None
        if chosen.held is not None:
            self._validated = score_of(*chosen.held, self._classifies, "folds that chose the penalties")
        self._keep(*best, size)
        self.__dict__.pop("temperature_", None)
        if self._classifies and isinstance(self._loss(), Squared):  # the other losses are those of probabilities
            self.temperature_ = temperature(*held_out_scores(best[1], method))

    def _learned(self, objective: Objective, method: Method) -> Learned:
        if not self.early_stopping:
            return learn(objective, method)
        held = folds(objective.X) == 0
        found = learn(objective.only(~held), method, objective.only(held))
        if objective.loss.curvature is None:
            return found
        return found._replace(output=solve_output(objective, found.parameters, found.output))  # from all rows

    def _keep(self, found: Learned, objective: Objective, size: float) -> None:
        directions, parameters = objective.directions, found.parameters
        self.basis_ = directions.basis(parameters).fit(objective.X)
        self.frequencies_ = directions.frequencies(parameters)
        self.drawn_frequencies_ = directions.frequencies(directions.start)
        self._coefficients = size * found.output.coefficients
        self._intercept = size * found.output.intercept + self._targets.offset
        self.alpha_, self.frequency_alpha_ = objective.alpha, size**2 * objective.frequency_alpha
        self.objective_ = size**2 * objective(parameters, found.output)[0]
        self.n_iter_, self.status_ = found.iterations, found.status

    def _objective(self, X: Rows, targets: Array, shares: Array, seed: int) -> tuple[Objective, float]:
        """The objective for frequencies of a seed, penalties still to be set, and the bandwidth."""
        given: dict[str, Any] = {"kernel": self.kernel, "bandwidth": self.bandwidth, "random_state": seed}
        drawn: Any
        if self.structure == "fastfood":
            drawn = Fastfood(self.n_components, **given).fit(X)
        else:
            drawn = RandomFourier(self.n_components, nu=self.nu, sampling=self.sampling, **given).fit(X)
        directions: Directions = (Calibrated if self.structure == "fastfood" else Free)(drawn)
        columns = int(self.n_components)
        made = Objective(X, targets, shares, directions, self._loss(), 0.0, 0.0, bool(self.fit_intercept), columns)
        return made, drawn.bandwidth_

    def _method(self) -> Method:
        rate = LEARNING_RATES.get(self.optimizer, 1.0) if self.learning_rate is None else float(self.learning_rate)
        settings = Settings(int(self.max_iter), float(self.tol), rate, int(self.batch_size), 0, self.seed_)
        return Method(self.optimizer, settings, bool(self.variable_projection))

    # ---- what was found ----

    @property
    def cv_score_(self) -> float | None:
        """Score to expect on new rows, by the folds that chose the penalties: R^2 or accuracy.

        None if both penalties were given.
        """
        check_is_fitted(self, "basis_")
        return None if self._validated is None else self._validated.score

    @property
    def cv_standard_error_(self) -> float | None:
        """Standard error of cv_score_, or None."""
        check_is_fitted(self, "basis_")
        return None if self._validated is None else self._validated.standard_error

    @property
    def coef_(self) -> Array:
        """Coefficients of the features, of shape (n_components,) or (n_outputs, n_components)."""
        refuse_selection()
        return self._targets.shaped(self._coefficients.T)

    @property
    def intercept_(self) -> Array | float:
        """The intercept: a number, or one for each output."""
        return self._targets.numbers(self._intercept)

    def _scores(self, X: MatrixLike) -> Array:
        check_is_fitted(self, "basis_")
        valid, device = self._valid(X), require_device(self.device)
        out = empty((valid.shape[0], self._coefficients.shape[1]), valid)
        with room_on(device or device_of(valid)):
            for rows in row_slices(valid.shape[0], 2 * len(self._coefficients)):
                features = self.basis_.features(self._scaled(placed(valid[rows], device)))
                weights, intercept = beside(features, self._coefficients, self._intercept)
                out[rows] = like(features @ weights + intercept, out)
        return out

    def local_coefficients(self, X: MatrixLike) -> Array:
        """Return the gradient of the scores at each row.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_features) or (n_samples, n_outputs, n_features)
            The slopes c(x) in the original columns.
        """
        check_is_fitted(self, "basis_")
        given, height = self._valid(X), float(np.sqrt(2.0 / len(self._coefficients)))
        phases, device = phases_of(self.basis_), require_device(self.device)
        out = empty((given.shape[0], self._coefficients.shape[1], given.shape[1]), given)
        for rows in row_slices(given.shape[0], 4 * len(self._coefficients)):
            part = placed(given[rows], device)
            made = self._scaled(part) @ like(self.frequencies_, part).T
            projections = made if is_torch(made) else np.asarray(made)
            waves = features(projections, phases, height)
            frequencies, weights = beside(projections, self.frequencies_, self._coefficients)
            for k, coefficients in enumerate(weights.T):
                slopes = projection_gradient(coefficients[None, :], waves, projections, phases, height)
                found = input_gradient(slopes, frequencies)
                if self.scaler_ is not None:
                    found = found * self.scaler_.slopes(part)
                out[rows, k] = like(found, out)
        return out[:, 0] if out.shape[1] == 1 else out

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write the model as an ONNX graph, for onnxruntime and its like.

        `bochner.onnx_export` says how near its results are.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        dtype : {'float32', 'float64'}, default='float32'
            Type of the graph's input and outputs.
        """
        from ...onnx_export import export

        check_is_fitted(self, "basis_")
        export(self, path, dtype=dtype)

    def to_basis(self) -> Basis:
        """Return the learned frequencies as a fitted basis: for other models, other precisions and files.

        A model on it solves for the coefficients anew: `RandomFeatureClassifier(model.to_basis())`.

        Returns
        -------
        Basis
            A FixedFourier, or a Fastfood with its calibration.
        """
        check_is_fitted(self, "basis_")
        if self.scaler_ is not None:
            raise ValueError(
                "the frequencies are those of scaled rows, and a basis takes rows as they are: scale the rows yourself "
                "and fit with scale=None."
            )
        return deepcopy(self.basis_)

    def _stages(self) -> list[Stage]:
        check_is_fitted(self, "basis_")
        return [Stage("frequencies", self.frequencies_, self.drawn_frequencies_)]

    def explain_fit(self) -> str:
        """Say in words what was learned, how, and how it ended.

        Returns
        -------
        str
            One line for each decision.
        """
        check_is_fitted(self, "basis_")
        moved = np.linalg.norm(self.frequencies_ - self.drawn_frequencies_) / np.linalg.norm(self.drawn_frequencies_)
        ways = {"alpha": self.alpha, "frequency_alpha": self.frequency_alpha}
        chosen = {name: "given" if np.ndim(way) == 0 and way != "auto" else "by folds" for name, way in ways.items()}
        return "\n".join([
            f"{type(self).__name__}: {self.n_features_in_} columns -> {self.basis_.n_components:,} features of "
            f"{len(self.frequencies_):,} learned frequencies (seed {self.seed_})",
            f"expected: {score_in_words(self._validated, self._classifies) or 'not known: both penalties were given'}",
            f"rows: {prepared(Design(self.basis_, self.scaler_))}",
            f"penalties: alpha = {self.alpha_:.4g} ({chosen['alpha']}), "
            f"frequency_alpha = {self.frequency_alpha_:.4g} ({chosen['frequency_alpha']})",
            f"optimizer: {self.optimizer}, {self.n_iter_} iterations: {self.status_}",
            f"objective: {self.objective_:.6g}; frequencies moved by {moved:.0%} of their length",
        ])  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `bochner.load` reads.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        """
        check_is_fitted(self, "basis_")
        write(self, path, to_state(self))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

    # ---- checks ----

    def _check_parameters(self) -> None:
        require_integer("n_components", self.n_components)
        require_choice("structure", self.structure, ["dense", "fastfood"])
        if self.structure == "fastfood" and self.sampling != "iid":
            raise ValueError(
                f"structure='fastfood' has its own directions: leave sampling at 'iid', not {self.sampling!r}."
            )
        if self.scale is not None:
            require_choice("scale", self.scale, ["auto", *SCALERS])
        require_choice("optimizer", self.optimizer, OPTIMISERS)
        require_integer("max_iter", self.max_iter, 0)
        require_integer("batch_size", self.batch_size)
        require_integer("n_restarts", self.n_restarts)
        require_positive("tol", self.tol)
        if self.learning_rate is not None:
            require_positive("learning_rate", self.learning_rate)
        candidates("alpha", self.alpha, ALPHAS)
        candidates("frequency_alpha", self.frequency_alpha, FREQUENCY_ALPHAS)

    def _valid(self, X: MatrixLike) -> Rows:
        """Rows to predict, dense or CSR."""
        if isinstance(X, Blocks):
            raise ValueError(NO_BLOCKS)
        rows: Rows = check_arrays(self, X, dtypes=FLOATS, accept_sparse="csr", y_numeric=False)
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
