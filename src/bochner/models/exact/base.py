"""What the two models of an exact kernel share: a fit, from rows to dual coefficients, and scores of new rows."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ...arrays import FEW_ROWS, Array, copied, empty, like
from ...bases.heuristics import SAMPLE, different_rows, largest_size, settle_bandwidth
from ...blocks import Block
from ...kernels import Cauchy, Gaussian, Kernel, Laplacian, Matern, ShiftInvariant
from ...maps.scaling import ColumnScaler
from ...ops.devices import device_of, placed, require_device, room_on
from ...penalties import Chosen, FromKernel, FromVMatrix, KernelFolds
from ...penalties.search import candidates
from ...solvers import Solution
from ...solvers.kernel_rows import KernelRows, solve_rows
from ...solvers.leave_one_out import from_kernel
from ...solvers.problem import Alpha
from ...streams import sample_rows
from ...typing import MatrixLike, Penalty, VectorLike
from ...validation import require_choice, require_positive, require_squares
from ..calibration import temperature
from ..checks import check_arrays, row_slices
from ..explaining import explain_exact
from ..parameters import checked_alpha
from ..placing import beside, block_on, device_for, sampled
from ..preparation import GivenData, prepare_block
from ..saving import write
from ..targets import TargetEncoder
from ..trials import SCALERS
from .saving import centre_on, centring, from_state, to_state

TRIED = 500  # rows with which scalings are compared
FLOATS = (np.float64, np.float32)  # types of rows that are taken as they are


class KernelRidgeModel(BaseEstimator):
    """What the exact regressor and classifier share."""

    kernel: str | Kernel
    bandwidth: float | str
    nu: float
    alpha: Penalty
    fit_intercept: bool
    invariants: bool
    scale: str | None
    device: str | None
    _targets: TargetEncoder  # there after a fit
    temperature_: float  # of a classifier

    @abstractmethod
    def _encoder(self) -> TargetEncoder:
        """The encoder of targets, before any are known."""

    @property
    def _classifies(self) -> bool:
        return self._encoder().classifies

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Fit the model; matrices of n_samples by n_samples are made.

        Parameters
        ----------
        X : array-like, frame or tensor of shape (n_samples, n_features)
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
        alpha = self._check_parameters()
        given = GivenData(X, y, sample_weight)
        block, self._targets = prepare_block(self, given, target, self._encoder(), FLOATS)
        device = device_for(self.device, block.X)
        self.scaler_ = self._settled_scaler(block)
        block = block_on(block, device)
        with room_on(device):
            if self.scaler_ is not None:
                block = block._replace(X=self.scaler_(block.X))
            self.kernel_ = self._settled_kernel(sampled(block.X, SAMPLE, seed=0))
            solution, chosen = self._solve(KernelRows(self.kernel_(block.X), block, self.fit_intercept), alpha)
        self._keep(block.X, solution, chosen)
        return self

    def _keep(self, X: Array, solution: Solution, chosen: Chosen) -> None:
        held_out = solution.held_out
        if held_out is not None and self._classifies:
            self.temperature_ = temperature(held_out.scores, held_out.codes, held_out.weight)
        self.X_fit_, self.dual_coef_ = copied(X), solution.coefficients
        self.intercept_ = solution.intercepts + like(self._targets.offset, X)
        self.alpha_, self.solution_, self.penalty_ = solution.alpha, replace(solution, held_out=None), chosen.note
        validated = chosen.validated
        self.cv_score_ = None if validated is None else float(validated.score)
        self.cv_standard_error_ = None if validated is None else validated.standard_error

    def _solve(self, rows: KernelRows, asked: Alpha) -> tuple[Solution, Chosen]:
        """The penalty, and the coefficients at it with scores of rows left out."""
        self._dual = None
        if self.invariants:
            by_folds = FromVMatrix(rows.kernel, rows.block, rows.intercept, self._classifies)
            chosen = by_folds.choose(asked)
            return by_folds.solve(chosen), chosen
        chosen = FromKernel(rows, self._classifies).choose(asked)
        found, dual = solve_rows(rows, chosen.alpha, chosen.unit), rows.dual
        if rows.intercept:
            self._dual = centring(dual.root, dual.row_means, dual.grand_mean)
        if self._classifies:
            held_out = from_kernel(dual, found, rows.block, rows.intercept, chosen.unit)
            found = replace(found, held_out=held_out)
        return found, chosen

    def _check_parameters(self) -> Alpha:
        """Refuse what cannot be fitted; the penalty as numbers or a word."""
        if not isinstance(self.kernel, Kernel):
            require_choice("kernel", self.kernel, ["gaussian", "laplacian", "matern", "cauchy"])
        if isinstance(self.bandwidth, str):
            require_choice("bandwidth", self.bandwidth, ["median"])
        else:
            require_positive("bandwidth", self.bandwidth)
        require_positive("nu", self.nu)
        if self.scale is not None:
            require_choice("scale", self.scale, ["auto", "robust", "standard"])
        return checked_alpha(self.alpha)

    def _settled_scaler(self, block: Block) -> ColumnScaler | None:
        """How columns are scaled: as asked, or as rows left out of a sample are predicted best."""
        if self.scale is not None and isinstance(self.bandwidth, str):
            require_squares(largest_size(block.X), "X")
        if self.scale != "auto":
            return (
                None if self.scale is None else SCALERS[self.scale](different_rows(sampled(block.X, FEW_ROWS, seed=3)))
            )
        scalable = not isinstance(self.kernel, Kernel) or isinstance(self.kernel, ShiftInvariant)
        if not scalable or not isinstance(self.bandwidth, str) or getattr(self.kernel, "bandwidth", None) is not None:
            return None  # a number was given in the units of the rows, or the kernel has no bandwidth at all
        few = block.only(sample_rows(len(block.X), TRIED, seed=3)).on_host()
        tried = different_rows(few.X)
        scalers = [ColumnScaler.robust(tried), ColumnScaler.standard(tried), None]
        errors = [self._error_with(scaler, few) for scaler in scalers]
        return scalers[int(np.argmin(errors))]

    def _error_with(self, scaler: ColumnScaler | None, block: Block) -> float:
        """The squared error of rows left out at the best penalty."""
        rows = np.asarray(block.X if scaler is None else scaler(block.X))
        kernel = self._settled_kernel(rows[sample_rows(len(rows), SAMPLE, seed=0)])
        folds = KernelFolds.of(kernel(rows), block, self.fit_intercept, self._classifies)
        if len(folds.judged) < 2:
            return np.inf
        alphas = candidates("auto", float(folds.weights() @ folds.kernel.diagonal()))[::2]
        return float(np.min(folds.criteria(folds.errors(alphas)[0])))

    def _settled_kernel(self, sample: np.ndarray) -> Kernel:
        """The kernel, with a bandwidth that sampled rows tell where none was given."""
        named = {"gaussian": Gaussian(), "laplacian": Laplacian(), "matern": Matern(nu=self.nu), "cauchy": Cauchy()}
        kernel = self.kernel if isinstance(self.kernel, Kernel) else named[require_choice("kernel", self.kernel, named)]
        if isinstance(kernel, ShiftInvariant) and kernel.bandwidth is None:
            return kernel.with_bandwidth(settle_bandwidth(self.bandwidth, different_rows(sample), kernel.order))
        return kernel

    def _scores(self, X: MatrixLike) -> Array:
        """k(x, X_fit) a + intercept, some rows at a time, in the library of X."""
        check_is_fitted(self)
        device = require_device(self.device)
        valid = check_arrays(self, X, dtypes=FLOATS, accept_sparse=False, y_numeric=False)
        out = empty((len(valid), self.dual_coef_.shape[1]), valid)
        with room_on(device or device_of(valid)):
            there = placed(valid[:1], device)
            fitted, coefficients, intercept = beside(there, self.X_fit_, self.dual_coef_, self.intercept_)
            dual = None if self._dual is None else centre_on(there, self._dual)
            for rows in row_slices(len(valid), 3 * len(fitted)):
                part = placed(valid[rows], device)
                kernel = self.kernel_(part if self.scaler_ is None else self.scaler_(part), fitted)
                kernel = kernel if dual is None else dual.center_new(kernel)
                out[rows] = like(kernel @ coefficients + intercept, out)
        return out

    def explain_fit(self) -> str:
        """Say in words what was fitted, how and why so, and how good it is.

        Returns
        -------
        str
            One line for each decision.
        """
        check_is_fitted(self)
        return explain_exact(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `bochner.load` reads.

        The file holds the rows that the model was fitted to: predictions are made from them.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        """
        check_is_fitted(self)
        write(self, path, to_state(self))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

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

        check_is_fitted(self)
        export(self, path, dtype=dtype)
