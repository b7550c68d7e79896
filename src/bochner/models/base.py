"""What regressor and classifier share: a basis, least squares in whichever way fits in memory, and sums that add."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from .. import ops
from ..arrays import Array, contiguous, empty, is_torch, like, namespace, to_numpy
from ..bases import REGISTRY, Basis, RandomFourier
from ..bases.checking import checked_rows
from ..bases.design import Design
from ..bases.heuristics import draw_seed
from ..blocks import Block, Blocks, Journal, rows_per_block, target_values
from ..config import get_config
from ..losses import CLASSIFYING, REGRESSING, Loss, LossLike, loss_of
from ..maps import PRECISIONS
from ..moments import FoldedMoments, Moments, times_columns
from ..solvers import HeldOutScores, Problem, Solution, Solver, SolverLike
from ..solvers.matching import SOLVERS, choose_solver, require_combination, trains_on_batches
from ..solvers.matrix_free import Sums
from ..solvers.problem import Alpha
from ..validation import require_choice, require_finite, require_numbers, require_positive, require_squares
from .checks import (
    check_weights,
    checked_targets,
    refuse_selection,
    remember_columns,
    row_slices,
    split_target,
    with_recipe,
)
from .doubts import FitWarning, doubts, validated_by
from .explaining import explain, summary
from .fitting import Limited, fit_problem
from .importances import column_importances
from .precision import choose_precision, too_coarse
from .preparation import DataSummary, PreparedData
from .sampling import RowsByNumber, Sample
from .saving import Saved
from .scoring import tensor_score
from .streaming import Streaming
from .targets import LabelCounts, TargetCoding, TargetKind, TargetSums
from .trials import Choice, Wanted, choose, design_of, probe_of

DEFAULT_FEATURES = 1000
# What a checkpoint may hold beside numbers.
KEPT = (Moments, FoldedMoments, Sums, DataSummary, Sample, RowsByNumber, LabelCounts, TargetSums)
FREE = ("verbose", "n_jobs")  # parameters that change no number


class Scored:
    """`score` that takes Blocks too; before scikit-learn's own in the order of classes."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 of the predictions, or the accuracy of the labels.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            True targets; None if X are Blocks, which have their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        float
            R^2 of a regressor, the share of right labels of a classifier.
        """
        if isinstance(X, Blocks):
            parts = [(block.y, block.weight) for block in X.stream(0, rows_per_block(X.n_columns))]
            if y is not None or parts[0][0] is None:
                raise ValueError("blocks have their own targets: leave out y, and name the target in bochner.read.")
            y = np.concatenate([target for target, _ in parts])
            sample_weight = None if parts[0][1] is None else np.concatenate([weight for _, weight in parts])
        if is_torch(X):
            weight = like(check_weights(sample_weight, len(X)), X)
            return tensor_score(self.predict(X), like(y, X), weight, self._classifies)  # type: ignore[attr-defined]
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]


def adds_rows(model: Any) -> bool:
    """Whether partial_fit is possible: there are sums to add to, or steps to take."""
    loss, solver = model._loss(), model.solver
    sums = isinstance(solver, str) and solver in SOLVERS and solver != "newton" and model.max_coefficient is None
    if trains_on_batches(solver, loss) or (loss.quadratic and sums):
        return True
    raise AttributeError("partial_fit needs loss='squared' or one of the solvers 'sgd', 'adam', 'doubly_stochastic'.")


class RandomFeatureModel(Saved, Streaming, BaseEstimator):
    """A basis, a loss and a solver. Subclasses say how targets are coded and predictions read."""

    basis: Any
    loss: str | LossLike
    alpha: Alpha
    max_coefficient: float | None
    solver: str | SolverLike
    fit_intercept: bool
    precision: str | None
    scale: str | None
    linear: Any
    n_jobs: int | None
    verbose: int
    random_state: Any
    _offset: Any = 0.0  # what targets are measured from

    # ---- what the two kinds declare ----

    @abstractmethod
    def _target_kind(self) -> TargetKind:
        """What the first pass asks about targets."""

    @abstractmethod
    def _learn(self, summary: Any, classes: Any = None) -> None:
        """Learn from that sum how targets are coded."""

    @abstractmethod
    def _target_coding(self, summary: Any = None) -> TargetCoding:
        """How targets become a matrix, and weights what they count; `summary` is None if these are not all rows."""

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it. Blocks, such as those of `bochner.read`, have targets and weights of their own.
            Tensors stay in torch, on their device.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` or the blocks hold them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.
        checkpoint : str or path-like, default=None
            Folder in which sums are kept while they are made. If the work is interrupted, the same call goes on where
            it stopped, and ends with the same bits. Delete the folder when the model is saved.

        Returns
        -------
        object
            The model itself.
        """
        if not isinstance(X, Blocks):
            X, y, sample_weight = with_recipe(*split_target(X, y, target), sample_weight)
        elif target is not None:
            raise ValueError("the blocks have their own targets: give target to bochner.read.")
        self._check_parameters()
        if checkpoint is not None and is_torch(getattr(X, "X", X)):
            raise ValueError("a checkpoint holds numpy's sums, and those of tensors are not: give numpy arrays.")
        self._forget_fit()
        with self._settings(), ExitStack() as stack:

            def open_journal(blocks: Blocks) -> Journal | None:
                if checkpoint is None:
                    return None
                return stack.enter_context(closing(Journal(checkpoint, self._job(blocks), KEPT)))

            ready = self._ready(X, y, sample_weight, first=True, whole=True, open_journal=open_journal)
            self._solve_rows(self._fitted_design(ready), ready)
            self._tell_doubts()
        return self

    def _job(self, blocks: Blocks) -> dict[str, Any]:
        """What must be the same for a fit to be taken up again: all but who does the work, and how it is shown."""
        parameters = {name: described(value) for name, value in self.get_params().items() if name not in FREE}
        settings = {name: value for name, value in get_config().items() if name not in ("progress", "engine")}
        return {"model": type(self).__name__, **parameters, **settings, **blocks.fingerprint()}

    def _solve_rows(self, design: Design, ready: PreparedData, climbs: bool = True) -> None:
        rows, (solver, reason) = ready.blocks.n_rows, self._solver_for(design, ready.blocks.n_rows)
        problem = replace(self._problem(design, ready.blocks), journal=ready.remember)
        solved, sums, held_out = fit_problem(problem, solver, reason)
        if climbs and self.precision == "auto" and sums is not None and design.basis.is_integer:
            trouble = too_coarse(design, sums.total(), solved.solution.alpha, sums.rows)
            if trouble:  # a sample allowed this precision, but all rows do not
                self._climb(design, ready, trouble)
                return
        self.design_, self.sums_ = design, sums
        self._solved = validated_by(solved, held_out, self._classifies)
        self._widest, self._rows, self._stale = None, rows, False
        self._calibrate(held_out)
        self._importances = column_importances(self, ready.sample)

    def _solver_for(self, design: Design, rows: int) -> tuple[Solver, str]:
        """The solver for so many rows, and why."""
        return choose_solver(self.solver, self._loss(), self.max_coefficient, rows, design.n_components)

    def _problem(self, design: Design, blocks: Blocks) -> Problem:
        loss, bound = self._loss(), self.max_coefficient
        return Problem(
            design.map, blocks, self._alpha(), self.fit_intercept, self._classifies, self._output_count(), loss,
            bound=None if bound is None else bound / design.n_components, seed=design.seed_,
            calibrates=self._classifies and not loss.probabilistic,
        )  # fmt: skip

    def _calibrate(self, held_out: HeldOutScores | None) -> None:
        """Learn from rows left out how to make probabilities, or how far predictions deviate."""

    def _climb(self, design: Design, ready: PreparedData, trouble: str) -> None:
        basis = design.basis
        higher = {"int8": "int14", "int14": None}[str(basis.precision)]
        self.precision_reason_ += f"; over all rows {basis.precision} is too coarse ({trouble})"
        finer = clone(basis).set_params(precision=higher, random_state=basis.seed_)
        self._solve_rows(design_of(self._choice, finer, ready.sample, ready.largest), ready)

    def _fitted_design(self, ready: PreparedData) -> Design:
        """The basis fitted to a sample of the rows, with the scaling and the linear part that serve it."""
        basis = self._chosen_basis()
        source = self.random_state if basis.random_state is None else basis.random_state
        basis.set_params(random_state=ready.remember(lambda: draw_seed(source)))
        wanted, why = self._wanted(basis, ready)

        def tried() -> tuple[Any, ...]:
            rows = ready.blocks.n_rows
            return astuple(choose(wanted, basis, ready.sample, ready.largest, probe_of(ready.blocks), rows))

        self._choice = Choice(*ready.remember(tried))
        if why and self._choice.reason == "as asked":
            self._choice = replace(self._choice, reason=why)
        self.precision_reason_ = "as asked"
        if self.precision == "auto":
            precision, self.precision_reason_ = ready.remember(
                lambda: choose_precision(basis, self._choice, wanted, self._problem, ready)
            )
            basis.set_params(precision=precision)
        elif self.precision is not None:
            basis.set_params(precision=self.precision)
        elif basis.precision is None:
            self.precision_reason_ = "that of X"
        return design_of(self._choice, basis, ready.sample, ready.largest)

    def _chosen_basis(self) -> Basis:
        """A basis of its own, not yet fitted: the one given, by name or as an object, or the default one."""
        if self.basis is None:
            return RandomFourier(DEFAULT_FEATURES)
        if isinstance(self.basis, str):
            return REGISTRY[require_choice("basis", self.basis, REGISTRY)](DEFAULT_FEATURES)
        if not isinstance(self.basis, Basis):
            raise ValueError(f"basis must be one of bochner's bases, or the name of one; got {self.basis!r}.")
        return clone(self.basis)

    def _wanted(self, basis: Basis, ready: PreparedData) -> tuple[Wanted, str]:
        """What is to be tried, and why not more."""
        scale, linear, why = self.scale, self.linear, ""
        if basis.has_units:
            why = "rows as they are: a number was given in their units"
        elif ready.blocks.read(0, 1).X.dtype.itemsize == 1:
            why = "rows as they are: columns of 8 bits share a unit"
        if why:
            scale, linear = None if scale == "auto" else scale, False if linear == "auto" else linear
        if scale is not None:
            require_squares(ready.largest, "X")
        if linear == "auto" and (trains_on_batches(self.solver, self._loss()) or self.max_coefficient is not None):
            linear = False  # steps on batches need columns of like size, and bounds are those of features
        return Wanted(scale, linear, bool(self.fit_intercept), self._classifies), why

    # ---- parameters of the basis, given or not ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model, and those of its basis as basis__name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of the basis too, even if that is the default one.

        Returns
        -------
        dict
            Values by name.
        """
        parameters = super().get_params(deep)
        if deep and (self.basis is None or (isinstance(self.basis, str) and self.basis in REGISTRY)):
            inner = self._chosen_basis().get_params()
            parameters |= {f"basis__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters of the model, or of its basis as basis__name.

        Parameters
        ----------
        **parameters : dict
            Values by name. Where `basis` is None or a name, basis__name makes it an object first.

        Returns
        -------
        object
            The model itself.
        """
        inner = any(name.startswith("basis__") for name in parameters)
        if inner and "basis" not in parameters and not isinstance(self.basis, Basis):
            self.basis = self._chosen_basis()
        return super().set_params(**parameters)

    def _loss(self) -> Loss:
        return loss_of(self.loss, CLASSIFYING if self._classifies else REGRESSING)

    # ---- what was found ----

    @property
    def basis_(self) -> Basis:
        """The fitted basis. It takes rows scaled by `design_.scaler`, if there is one."""
        return self.design_.basis

    @property
    def moments_(self) -> Moments | None:
        """Sums of the features over all rows, or None."""
        return None if self.sums_ is None else self.sums_.total()

    @property
    def solution_(self) -> Solution:
        """The coefficients, and in words how the solver ended."""
        return self._refresh().solution

    @property
    def alpha_(self) -> float:
        """The penalty that was given or chosen."""
        return self._refresh().solution.alpha

    @property
    def coef_(self) -> Array:
        """Coefficients of the random features, of shape (n_components,) or (n_outputs, n_components)."""
        refuse_selection()
        return self._shaped(self._refresh().solution.coefficients[self.design_.linear_columns :].T)

    @property
    def linear_coef_(self) -> Array | None:
        """Slopes of the linear part in the columns of X, shaped as coef_; None if there is no such part."""
        coefficients, linear = self._refresh().solution.coefficients, self.design_.linear
        if linear is None:
            return None
        slopes = self.design_.linear_coefficients(coefficients)
        return self._shaped((slopes * like(linear.weight / linear.spread, slopes)[:, None]).T)

    @property
    def intercept_(self) -> Any:
        """The intercept: a number, or one for each output."""
        intercept = self._refresh().intercept
        return self._shaped(intercept + like(self._offset, intercept))

    @property
    def cv_score_(self) -> float | None:
        """Score to expect on new rows, by cross-validation: R^2 or accuracy; None if it is not known."""
        validated = self._refresh().validated
        return None if validated is None else validated.score

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column of X in the variance of the predictions, of shape (n_features_in_,).

        It is how much predictions change if a column is exchanged between rows (Sobol's total index), by sampled rows
        of `fit`. RFE and SelectFromModel select columns by it.
        """
        self._refresh()
        found = self._importances
        if found is None:
            raise AttributeError(
                "feature_importances_ are known after fit, and no longer once rows or features changed."
            )
        return found

    @property
    def cv_standard_error_(self) -> float | None:
        """Standard error of cv_score_, or None."""
        validated = self._refresh().validated
        return None if validated is None else validated.standard_error

    def _shaped(self, values: Array) -> Any:
        return values

    def _scores(self, X: Any) -> Array:
        """features b + intercept, a block of rows at a time, in the library of X."""
        fit, design = self._refresh(), self.design_
        # In one order, whatever the solver or the file gave: products of matrices have the same bits then.
        weights = contiguous(times_columns(design.scale_, like(fit.solution.coefficients, X)))
        intercept = like(fit.intercept, X) + like(self._offset, X)
        n, blocks = self._rows_to_predict(X, 2 * design.entries)
        out = empty((n, weights.shape[1]), weights)
        for rows, part in blocks:
            out[rows] = ops.scores(design.features(part), weights) + intercept
        return out

    def _rows_to_predict(self, X: Any, width: int) -> tuple[int, Iterator[tuple[slice, Any]]]:
        """How many rows there are, and valid ones a block at a time: (which rows, their columns)."""
        if isinstance(X, Blocks):
            self._require_same_columns(X)
            blocks = X.walk(rows_per_block(width), title="predictions")
            return X.n_rows, ((slice(b.start, b.start + b.X.shape[0]), b.X) for b in blocks)
        rows = X.X if isinstance(X, Block) else self._validate_rows(X)  # a block is made as those of the fit were
        return rows.shape[0], ((part, rows[part]) for part in row_slices(rows.shape[0], width))

    def _meet_blocks(self, blocks: Blocks, first: bool) -> None:
        """Remember the columns of the first blocks; later ones must be alike."""
        if not first:
            self._require_same_columns(blocks)
            return
        self.n_features_in_ = blocks.n_columns
        if blocks.recipe is not None:
            self.recipe_ = blocks.recipe
            remember_columns(self)

    def _require_same_columns(self, blocks: Blocks) -> None:
        columns = int(self.basis_.n_features_in_)
        if blocks.n_columns != columns:
            raise ValueError(f"the blocks have {blocks.n_columns} columns; the model was fitted to {columns}.")
        if blocks.recipe != getattr(self, "recipe_", None):
            raise ValueError(
                "the blocks were not encoded as those of the fit (other columns, categories or means): "
                "read them with bochner.read(..., recipe=model.recipe_)."
            )

    def local_coefficients(self, X: Any) -> Array:
        """Return the linear function that the model is around each row: prediction = <c(x), x> + b.

        It is there for locally linear bases, RandomMaxout and GatedLinear.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or tensor of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_outputs, n_features)
            The slopes c(x) in the original columns.
        """
        fit = self._refresh()
        local = self.design_.local_linear(self._validate_rows(X), like(fit.solution.coefficients, X))
        return local[:, :, 0] if local.shape[2] == 1 else namespace(local).moveaxis(local, 2, 1)

    def explain_fit(self) -> str:
        """Say in words what was fitted, how and why so, how good it is and how exact.

        Returns
        -------
        str
            One line for each decision: score to expect, scaling, bandwidth, precision, solver, penalty, and doubts.
        """
        return explain(self)

    def __str__(self) -> str:
        return f"{self!r}\n{summary(self)}" if hasattr(self, "design_") else repr(self)

    def _tell_doubts(self) -> None:
        """One warning for a person, if there is something that the numbers say against the fit."""
        found = doubts(self)
        if found:
            warnings.warn(" ".join(found), FitWarning, stacklevel=3)

    # ---- checks ----

    def _check_parameters(self) -> None:
        loss = self._loss()
        if self.max_coefficient is not None:
            require_positive("max_coefficient", self.max_coefficient)
        require_combination(loss, self.solver, self.max_coefficient)
        if self.precision is not None:
            require_choice("precision", self.precision, [*PRECISIONS, "auto"])
        if self.scale is not None:
            require_choice("scale", self.scale, ["auto", "robust", "standard"])
        if not isinstance(self.linear, bool):
            require_choice("linear", self.linear, ["auto"])
        if getattr(self, "device", None) not in (None, "cpu"):
            raise ValueError(f"device={self.device!r} is not available: use None or 'cpu'.")
        self._alpha()

    def _alpha(self) -> Alpha:
        """alpha as a float, an array of floats, "auto", "loo" or "gcv"."""
        if isinstance(self.alpha, str):
            return require_choice("alpha", self.alpha, ["auto", "loo", "gcv"])
        if np.ndim(self.alpha) == 0:
            return 0.0 if self.alpha == 0 else require_positive("alpha", self.alpha)
        alphas = np.asarray(self.alpha, dtype=np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError("alpha, if it is a list, must hold positive finite numbers.")
        return float(alphas[0]) if len(alphas) == 1 else alphas

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array]:
        if is_torch(X):
            X = self._validate_tensor(X, reset)
            return X, checked_targets(y, X)
        y = to_numpy(y)
        if not reset and hasattr(self, "recipe_"):
            return self._validate_rows(X), target_values(y)
        require_numbers(X)
        X, y = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=self._dtypes(), ensure_all_finite=False,
            multi_output=True, y_numeric=not self._classifies,
        )  # fmt: skip
        require_finite(X)
        return X, y

    def _validate_tensor(self, X: Array, reset: bool = False) -> Array:
        if not reset and hasattr(self, "recipe_"):
            raise ValueError("the model was fitted to a table: give rows as a frame, or as an array of its columns.")
        X = checked_rows(self, X, [np.dtype(kind).name for kind in self._dtypes()], reset)
        require_finite(X)
        return X

    def _validate_rows(self, X: Any) -> Any:
        if is_torch(X):
            return self._validate_tensor(X)
        if hasattr(self, "recipe_"):
            return self.recipe_.encode(X)
        require_numbers(X)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=self._dtypes(), ensure_all_finite=False)
        require_finite(X)
        return X

    def _dtypes(self) -> list[Any]:
        asked = self.precision or getattr(self.basis, "precision", None) or ""
        eight_bits = [np.uint8, np.int8] if asked.startswith("int") or asked == "auto" else []
        return [np.float64, np.float32, *eight_bits]

    def _settings(self) -> AbstractContextManager[Any]:
        return Limited(self.n_jobs, self.verbose, blas=1)

    def _forget_fit(self) -> None:
        for name in ("_widest", "_solved", "_importances", "sums_", "design_", "recipe_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def described(value: Any) -> str:
    """A parameter in words that are the same in another process: generators are told by their kind alone."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__
    if type(value).__repr__ is object.__repr__:  # it would tell a place in memory
        return f"{type(value).__qualname__}({vars(value) if hasattr(value, '__dict__') else ''})"
    return repr(value)
