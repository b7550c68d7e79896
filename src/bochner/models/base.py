"""What regressor and classifier share: a basis, least squares in whichever way fits in memory, and sums that add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..arrays import to_numpy
from ..bases import Basis, RandomFourier
from ..bases.base import PRECISIONS, draw_seed
from ..blocks import MemoryBlocks, rows_per_block
from ..config import config_context, memory_budget
from ..moments import Moments
from ..solvers import Solution
from ..validation import require_choice, require_finite, require_numbers, require_positive
from .dual import DualPosterior, fit_dual
from .matrix_free import fit_matrix_free
from .precision import choose_precision, too_coarse
from .primal import fit_moments, fit_primal, reduce_moments
from .problem import Fit, Problem

SOLVERS = ("auto", "cholesky", "dual", "cg")


class RandomFeatureModel(BaseEstimator, ABC):
    """A basis, the squared loss and a solver. Subclasses say how targets are coded and predictions read."""

    basis: Any
    loss: str
    alpha: Any
    solver: str
    fit_intercept: bool
    precision: str | None
    n_jobs: int | None
    verbose: int
    random_state: Any
    _classifies = False
    _widest: Basis | None = None  # the basis whose sums are at hand, if the model uses only its first columns

    # ---- what the two kinds declare ----

    @abstractmethod
    def _code(self, y: np.ndarray, first: bool, classes: Any = None) -> np.ndarray:
        """Targets as a matrix (n, k); the first time, learn what they look like."""

    def _weigh(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Sample weights with whatever the class of a row adds."""
        return weight

    # ---- fitting ----

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None) -> Any:
        """Fit to rows X and targets y.

        X : array, memory map, CSR matrix, frame or torch tensor. sample_weight : weights of the rows, or None.
        target : the name of the column of a frame X that holds y.
        """
        X, y = split_target(X, y, target)
        self._check_parameters()
        self._forget_fit()
        X, y = self._validate(X, y, reset=True)
        weight = check_weights(sample_weight, X.shape[0])
        codes = self._code(y, first=True)
        weight = self._weigh(y, weight)
        if weight is not None and (weight == 0).any():  # such rows are not there, for the bandwidth too
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        with self._settings():
            basis, self.precision_reason_ = self._fitted_basis(X, codes, weight)
            self._solve_rows(basis, MemoryBlocks(X, codes, weight))
        return self

    def _solve_rows(self, basis: Basis, blocks: MemoryBlocks) -> None:
        problem = Problem(basis, blocks, self._alpha(), self.fit_intercept, self._classifies)
        solver, reason = choose_solver(self.solver, blocks.n_rows, int(basis.n_components))
        self.moments_: Moments | None = None
        if solver == "cholesky":
            self._solved, self.moments_ = fit_primal(problem, reason)
            trouble = self._trouble(basis, self.moments_)
            if trouble:
                self._climb(basis, blocks, trouble)
                return
        else:
            self._solved = (fit_dual if solver == "dual" else fit_matrix_free)(problem, reason)
        self.basis_ = basis
        self._stale = False

    def _trouble(self, basis: Basis, moments: Moments) -> str:
        """Whether an integer precision that a sample allowed turns out too coarse for all rows."""
        if self.precision != "auto" or not moments.is_exact:
            return ""
        return too_coarse(basis, moments, self._solved.solution.alpha, moments.rows)

    def _climb(self, basis: Basis, blocks: MemoryBlocks, trouble: str) -> None:
        higher = {"int8": "int14", "int14": None}[str(basis.precision)]
        self.precision_reason_ += f"; over all rows {basis.precision} is too coarse ({trouble})"
        self._solve_rows(clone(basis).set_params(precision=higher, random_state=basis.seed_).fit(blocks.X), blocks)

    def _fitted_basis(self, X: Any, codes: np.ndarray, weight: Any) -> tuple[Basis, str]:
        if self.basis is not None and not isinstance(self.basis, Basis):
            raise ValueError(f"basis must be one of bochner's bases; got {self.basis!r}.")
        basis = RandomFourier(1000) if self.basis is None else clone(self.basis)
        if basis.random_state is None:
            basis.set_params(random_state=draw_seed(self.random_state))
        if self.precision == "auto":

            def problem_of(fitted: Basis, blocks: MemoryBlocks) -> Problem:
                return Problem(fitted, blocks, self._alpha(), self.fit_intercept, self._classifies)

            return choose_precision(basis, problem_of, X, codes, weight)
        if self.precision is not None:
            basis.set_params(precision=self.precision)
        return basis.fit(X), "as asked" if basis.precision else "that of X"

    # ---- sums that add ----

    def _add_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Any:
        """partial_fit: the first call settles the basis (and the precision), later ones only add their sums."""
        first = not hasattr(self, "basis_")
        self._check_parameters()
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError("alpha='loo' needs a second pass over the rows; with partial_fit use 'auto' or a number.")
        X, y = self._validate(X, y, reset=first)
        weight = self._weigh(y, check_weights(sample_weight, X.shape[0]))
        codes = self._code(y, first, classes)
        with self._settings():
            if first:
                self.basis_, self.precision_reason_ = self._fitted_basis(X, codes, weight)
                self.moments_ = None
            else:
                self._require_sums("partial_fit")
            part = self._moments_of(X, codes, weight)
        self.moments_ = part if self.moments_ is None else self.moments_ + part
        self._stale = True
        return self

    def merge(self, other: Any) -> Any:
        """Add the rows that another model of the same basis was fitted to; exact for integer features."""
        mine, others = self._require_sums("merge"), other._require_sums("merge")
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError("alpha='loo' needs a second pass over the rows, which a merged model does not have.")
        if type(self) is not type(other) or self.basis_.identity() != other.basis_.identity():
            raise ValueError(
                "only models with identical fitted bases merge (same seed, and the same numbers for bandwidth, scale "
                "and radius): give random_state and bandwidth as numbers."
            )
        self._require_same_targets(other)
        self.moments_ = mine + others
        self._stale = True
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Take rows away again that were fitted before; for integer features no trace of them is left."""
        moments = self._require_sums("forget")
        X, y = self._validate(X, y, reset=False)
        weight = self._weigh(y, check_weights(sample_weight, X.shape[0]))
        if X.shape[0] >= moments.rows:
            raise ValueError(f"cannot forget {X.shape[0]} of {moments.rows} rows: some must be left.")
        with self._settings():
            self.moments_ = moments - self._moments_of(X, self._code(y, first=False), weight)
        self._stale = True
        return self

    def grow(self, n_components: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
        """The model of n_components features of the same streams.

        Fewer than were ever fitted come from the sums at hand, so a learning curve costs one Gram matrix. More need the
        rows again, as X and y.
        """
        check_is_fitted(self)
        widest = self._widest or self.basis_
        if X is None:
            self._require_sums("grow")
            if n_components > widest.n_components:
                raise ValueError(
                    f"growing from {widest.n_components} to {n_components} features needs the rows again: "
                    "grow(n_components, X, y)."
                )
            self.basis_ = widest.truncated(n_components)
            self._widest = widest
            self._stale = True
            return self
        X, y = self._validate(X, y, reset=False)
        weight = self._weigh(y, check_weights(sample_weight, X.shape[0]))
        larger = widest.enlarged(n_components)
        self._widest = larger
        with self._settings():
            self._solve_rows(larger, MemoryBlocks(X, self._code(y, first=False), weight))
        return self

    def _moments_of(self, X: Any, codes: np.ndarray, weight: Any) -> Moments:
        problem = Problem(self.basis_, MemoryBlocks(X, codes, weight), 0.0, self.fit_intercept, self._classifies)
        return reduce_moments(problem)

    def _require_sums(self, verb: str) -> Moments:
        """The sums of all rows; after a dual fit, which keeps its rows, they are made when first needed."""
        check_is_fitted(self)
        if self.moments_ is None and isinstance(self._solved.posterior, DualPosterior):
            self.moments_ = reduce_moments(self._solved.posterior.problem)
        if self.moments_ is None:
            how = self._solved.solution.method
            raise ValueError(f"{verb} needs the sums of the fit, and {how} keep none: fit with solver='cholesky'.")
        return self.moments_

    def _require_same_targets(self, other: Any) -> None:
        if self._outputs != other._outputs:
            raise ValueError("the two models have different numbers of targets.")

    def _refresh(self) -> Fit:
        """The solution; after sums changed it is made when first needed."""
        check_is_fitted(self, "basis_")
        if self._stale:
            moments = self.moments_
            assert moments is not None
            m, widest = int(self.basis_.n_components), int((self._widest or self.basis_).n_components)
            scale = float(self.basis_.scale_)
            if m != widest:
                moments = moments.prefix(m)
                if not moments.is_exact:  # float features carry 1/sqrt(number of columns) in themselves
                    scale *= float(np.sqrt(widest / m))
            with self._settings():
                self._solved = fit_moments(moments, scale, self._alpha(), self.fit_intercept, "from sums at hand")
            self._stale = False
        return self._solved

    # ---- what was found ----

    @property
    def solution_(self) -> Solution:
        return self._refresh().solution

    @property
    def alpha_(self) -> float:
        return self._refresh().solution.alpha

    @property
    def coef_(self) -> np.ndarray:
        return self._shaped(self._refresh().solution.coefficients.T)

    @property
    def intercept_(self) -> Any:
        return self._shaped(self._refresh().intercept)

    def _shaped(self, values: np.ndarray) -> Any:
        return values

    def _scores(self, X: Any) -> np.ndarray:
        """features b + intercept, a block of rows at a time."""
        fit = self._refresh()
        X = self._validate_rows(X)
        weights = float(self.basis_.scale_) * fit.solution.coefficients
        out = np.empty((X.shape[0], weights.shape[1]))
        for rows in row_slices(X.shape[0], 2 * len(weights)):
            out[rows] = self.basis_.features(X[rows]) @ weights + fit.intercept
        return out

    def local_coefficients(self, X: Any) -> np.ndarray:
        """The linear function that the model is around each row, in the original columns: prediction = <c(x), x> + b.

        Shape (n, d), or (n, outputs, d). For the locally linear bases, RandomMaxout and GatedLinear.
        """
        fit = self._refresh()
        local = self.basis_.local_linear(self._validate_rows(X), fit.solution.coefficients)
        return local[:, :, 0] if local.shape[2] == 1 else local.transpose(0, 2, 1)

    def explain_fit(self) -> str:
        """In words: what was fitted, how, why so, and how exactly."""
        fit, basis = self._refresh(), self.basis_
        rows = f"{self.moments_.rows:,} rows" if self.moments_ is not None else "rows"
        lines = [
            f"{type(self).__name__}: {rows}, {basis.n_features_in_} columns -> {int(basis.n_components):,} features "
            f"of {type(basis).__name__} (seed {basis.seed_})",
            f"precision: {basis.precision or 'float'} ({self.precision_reason_})",
            f"solver: {fit.solution}",
            f"penalty: alpha = {fit.solution.alpha:.4g} ({fit.penalty})",
        ]
        if hasattr(basis, "bandwidth_"):
            lines.insert(
                1, f"bandwidth: {basis.bandwidth_:.6g} ({basis.bandwidth if basis.bandwidth == 'median' else 'given'})"
            )
        if hasattr(basis, "clipped_fraction_"):
            lines.append(
                f"inputs: step {basis.quantizer_.step:.3g}, {basis.clipped_fraction_:.2%} of sampled numbers clipped"
            )
        if self.moments_ is not None:
            exact = "exact integers" if self.moments_.is_exact else "float64"
            targets = (
                ""
                if self.moments_.cross.dtype.kind == "i" or not self.moments_.is_exact
                else "; those with targets, float64"
            )
            lines.append(f"sums of features: {exact}{targets}")
        return "\n".join(lines)

    # ---- checks ----

    def _check_parameters(self) -> None:
        if self.loss != "squared":
            raise ValueError(f"loss={self.loss!r} has no solver here: use loss='squared'.")
        require_choice("solver", self.solver, SOLVERS)
        if self.precision is not None:
            require_choice("precision", self.precision, [*PRECISIONS, "auto"])
        if getattr(self, "max_coefficient", None) is not None:
            raise ValueError("max_coefficient needs the solver 'box', which is not available: leave it at None.")
        if getattr(self, "device", None) not in (None, "cpu"):
            raise ValueError(f"device={self.device!r} is not available: use None or 'cpu'.")
        self._alpha()

    def _alpha(self) -> Any:
        """alpha as a float, an array of floats, "auto" or "loo"."""
        if isinstance(self.alpha, str):
            return require_choice("alpha", self.alpha, ["auto", "loo"])
        if np.ndim(self.alpha) == 0:
            return 0.0 if self.alpha == 0 else require_positive("alpha", self.alpha)
        alphas = np.asarray(self.alpha, dtype=np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas > 0)).all():
            raise ValueError("a list of penalties must hold positive finite numbers.")
        return float(alphas[0]) if len(alphas) == 1 else alphas

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = to_numpy(X), to_numpy(y)
        require_numbers(X)
        X, y = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=self._dtypes(), ensure_all_finite=False,
            multi_output=True, y_numeric=not self._classifies,
        )  # fmt: skip
        require_finite(X)
        return X, y

    def _validate_rows(self, X: Any) -> Any:
        X = to_numpy(X)
        require_numbers(X)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=self._dtypes(), ensure_all_finite=False)
        require_finite(X)
        return X

    def _dtypes(self) -> list[Any]:
        asked = self.precision or getattr(self.basis, "precision", None) or ""
        eight_bits = [np.uint8, np.int8] if asked.startswith("int") or asked == "auto" else []
        return [np.float64, np.float32, *eight_bits]

    def _settings(self) -> AbstractContextManager[Any]:
        return Limited(self.n_jobs, self.verbose) if self.n_jobs or self.verbose else nullcontext()

    def _forget_fit(self) -> None:
        for name in ("_widest", "_solved", "moments_", "basis_"):
            self.__dict__.pop(name, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Limited:
    """n_jobs threads in BLAS, and progress if verbose."""

    def __init__(self, n_jobs: int | None, verbose: int) -> None:
        self._threads = threadpool_limits(n_jobs) if n_jobs and n_jobs > 0 else nullcontext()
        self._config = config_context(progress=True) if verbose else nullcontext()

    def __enter__(self) -> None:
        self._config.__enter__()

    def __exit__(self, *details: Any) -> None:
        self._config.__exit__(*details)
        if isinstance(self._threads, threadpool_limits):
            self._threads.restore_original_limits()


def choose_solver(asked: str, rows: int, features: int) -> tuple[str, str]:
    """Which of the three ways, and why: fewer rows than features is the dual's case, if its matrix fits in memory."""
    if asked != "auto":
        return asked, "as asked"
    budget = memory_budget()
    gram, kernel = 32 * features**2, 32 * rows**2  # a matrix, its centred copy, its factor and a part to add
    if rows < features and kernel <= budget:
        return "dual", f"{rows:,} rows are fewer than {features:,} features"
    if gram <= budget:
        return "cholesky", "the Gram matrix fits in memory"
    if kernel <= budget:
        return "dual", "the kernel matrix fits in memory, the Gram matrix does not"
    needs = f"{gram / 1e9:.1f} GB for the Gram and {kernel / 1e9:.1f} GB for the kernel matrix"
    return "cg", f"neither fits {budget / 1e9:.1f} GB: {needs}"


def split_target(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Take the target column out of a frame."""
    if target is None:
        return X, y
    if y is not None:
        raise ValueError("y is given twice: as an array and as target.")
    if not hasattr(X, "columns") or target not in list(X.columns):
        raise ValueError(f"X has no column {target!r} to take as the target.")
    return (X.drop(columns=target) if hasattr(X, "iloc") else X.drop(target)), X[target].to_numpy()


def check_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """Weights as float64, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(to_numpy(sample_weight), dtype=np.float64)
    weight = np.full(rows, float(weight)) if weight.ndim == 0 else weight
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have one number for each of {rows} rows; its shape is {weight.shape}.")
    require_finite(weight, "sample_weight")
    if (weight < 0).any() or not (weight > 0).any():
        raise ValueError("sample_weight must not be negative, nor all zero.")
    return weight


def row_slices(n: int, width: int) -> Iterator[slice]:
    rows = rows_per_block(width)
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))
