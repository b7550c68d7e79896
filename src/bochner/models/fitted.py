"""What a fitted model on random features shows: attributes, scores, words and files. All of it is read off one fit."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import ops
from ..arrays import Array, contiguous, empty, like, namespace
from ..bases import Basis
from ..bases.design import Design
from ..blocks import RowsLike
from ..lazy import by_partitions
from ..moments import FoldedMoments, Moments, times_columns
from ..ops.devices import device_here, placed, require_device, room_on
from ..solvers import Solution
from ..validation import FitWarning, option
from .checks import Dtypes, check_rows, dtypes_for, refuse_selection, rows_to_predict
from .copies import copies
from .explaining import expected, explain
from .feature_fit import FeatureFit
from .fitting import Fit, Limited
from .parameters import ModelParameters
from .partial_fit import solved, with_sums
from .placing import device_for
from .saving import from_state, to_state, write
from .targets import TargetEncoder


class FittedFeatureModel(BaseEstimator):
    """The parameters of a model, and what its fit left, if there was one."""

    basis: Basis | str | None
    precision: str | None
    device: str | None
    n_jobs: int | None
    verbose: int
    _fitted: FeatureFit  # there after a fit

    @abstractmethod
    def _encoder(self) -> TargetEncoder:
        """The encoder of targets, before any are known."""

    def _parameters(self) -> ModelParameters:
        """The parameters, checked."""
        return ModelParameters.of(self.get_params(deep=False), self._encoder().classifies)

    def _check_parameters(self) -> None:
        self._parameters()

    def _settings(self, *data: object) -> Limited:
        """With one thread of BLAS a fit has the same bits for any n_jobs; the data may be on a device."""
        return Limited(self.n_jobs, self.verbose, 1, self._device(*data))

    def _device(self, *data: object) -> str | None:
        """The device that was asked for, or else the GPU that the data are on; workers of a cluster have their own."""
        return device_for(self.device, *data)

    @property
    def _dtypes(self) -> Dtypes:
        return dtypes_for(self.precision or getattr(self.basis, "precision", None))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def _found(self) -> FeatureFit:
        """What the fit left; the solution, if the sums changed since, is not made yet."""
        check_is_fitted(self)
        return self._fitted

    def _with_solution(self) -> FeatureFit:
        """What the fit left, with its solution; after the sums changed, that is made when first needed."""
        found = self._found()
        if found.fit is None:
            with self._settings(None if found.sums is None else found.sums.gram):
                found = self._fitted = solved(self._parameters(), found)
            self._tell_doubts()
        return found

    def _without_sums(self) -> FittedFeatureModel:
        """The model as it travels to predict: without what is as large as the square of its features."""
        found, light = self._with_solution(), copy(self)
        fit = replace(found.solved, solution=replace(found.solved.solution, posterior=None))
        light._fitted = replace(found, fit=fit, sums=None, widest=None)
        return light

    def _in_worker(self) -> FittedFeatureModel:
        """The model in a process of a cluster, on its device if it has the one that was asked for."""
        found = copy(self)
        found.device = device_here(self.device)
        return found

    def _refresh(self) -> Fit:
        return self._with_solution().solved

    def _with_sums(self, verb: str) -> FeatureFit:
        """What the fit left, with the sums of all rows, which this verb needs."""
        found = self._found()
        self._parameters().refuse_leave_one_out(verb)
        self._fitted = with_sums(found, verb)
        return self._fitted

    # ---- what was found ----

    @property
    def design_(self) -> Design:
        """From rows to features: scaling, basis and linear part."""
        return self._found().design

    @property
    def basis_(self) -> Basis:
        """The fitted basis. It takes rows scaled by `design_.scaler`, if there is one."""
        return self._found().design.basis

    @property
    def sums_(self) -> FoldedMoments | None:
        """Sums of the features by fold, or None."""
        return self._found().sums

    @property
    def moments_(self) -> Moments | None:
        """Sums of the features over all rows, or None."""
        return None if self.sums_ is None else self.sums_.total()

    @property
    def precision_reason_(self) -> str:
        """Why the precision is what it is."""
        return self._found().precision_reason

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
        return self._targets.shaped(self._refresh().solution.coefficients[self.design_.linear_columns :].T)

    @property
    def linear_coef_(self) -> Array | None:
        """Slopes of the linear part in the columns of X, shaped as coef_; None if there is no such part."""
        coefficients, linear = self._refresh().solution.coefficients, self.design_.linear
        if linear is None:
            return None
        slopes = self.design_.linear_coefficients(coefficients)
        return self._targets.shaped((slopes * like(linear.weight / linear.spread, slopes)[:, None]).T)

    @property
    def intercept_(self) -> Array | float:
        """The intercept: a number, or one for each output."""
        intercept = self._refresh().intercept
        return self._targets.numbers(intercept + like(self._targets.offset, intercept))

    @property
    def cv_score_(self) -> float | None:
        """Score to expect on new rows, by cross-validation: R^2 or accuracy; None if it is not known."""
        validated = self._refresh().validated
        return None if validated is None else validated.score

    @property
    def cv_standard_error_(self) -> float | None:
        """Standard error of cv_score_, or None."""
        validated = self._refresh().validated
        return None if validated is None else validated.standard_error

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column of X in the variance of the predictions, of shape (n_features_in_,).

        With a learned metric M it is diag(M) times the variances of the scaled columns. Without one it is how much
        predictions change if a column is exchanged between rows (Sobol's total index), by sampled rows of `fit`.
        RFE and SelectFromModel select columns by it.
        """
        fitted = self._with_solution()
        found = fitted.importances if fitted.metric.importances is None else fitted.metric.importances
        if found is None:
            raise AttributeError(
                "feature_importances_ are known after fit, and no longer once rows or features changed."
            )
        return found

    @property
    def metric_(self) -> np.ndarray | None:
        """The learned metric M: what features see as the squared distance of rows is (x - z)'M(x - z).

        A diagonal of shape (n_columns,) or a matrix (n_columns, n_columns), its largest diagonal entry 1, in the units
        of the scaled columns, or in the spreads of columns that are not scaled; None if no metric was learned, or none
        was better than none.
        """
        return self._found().metric.matrix

    @property
    def _targets(self) -> TargetEncoder:
        return self._found().targets

    # ---- predictions ----

    def _scores(self, X: RowsLike) -> Array:
        """features b + intercept, a block of rows at a time, in the library of X; means over copies of pictures."""
        fit, design, weights = self._refresh(), self.design_, None
        with room_on(self._device(X)):
            n, blocks = self._rows_to_predict(X, 2 * design.entries)
            out = empty((n, fit.solution.coefficients.shape[1]), X)
            for rows, part in blocks:
                if weights is None:
                    # In one order, whatever the solver or the file gave: products of matrices have the same bits then.
                    weights = contiguous(times_columns(design.scale_, like(fit.solution.coefficients, part)))
                    intercept = like(fit.intercept, part) + like(self._targets.offset, part)
                found = [ops.scores(design.features(X), weights) for X in copies(part, design.basis.copied_places)]
                out[rows] = like(sum(found) / len(found) + intercept, out)
        return out

    def _rows_to_predict(self, X: RowsLike, width: int) -> tuple[int, Iterator[tuple[slice, Any]]]:
        """How many rows there are, and valid ones a block at a time, on the device that was asked for."""
        device = require_device(self.device)
        n, blocks = rows_to_predict(self, X, self._dtypes, self.design_.n_features_in_, width)
        return n, ((rows, placed(part, device)) for rows, part in blocks)

    @by_partitions
    def local_coefficients(self, X: RowsLike) -> Array:
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
        fit, device = self._refresh(), require_device(self.device)
        rows = placed(check_rows(self, X, self._dtypes), device)
        local = like(self.design_.local_linear(rows, like(fit.solution.coefficients, rows)), X)
        return local[:, :, 0] if local.shape[2] == 1 else namespace(local).moveaxis(local, 2, 1)

    # ---- words ----

    def explain_fit(self) -> str:
        """Say in words what was fitted, how and why so, how good it is and how exact.

        Returns
        -------
        str
            One line for each decision: score to expect, scaling, bandwidth, precision, solver, penalty, and doubts.
        """
        return explain(type(self).__name__, self._with_solution(), self._parameters())

    def __str__(self) -> str:
        if not hasattr(self, "_fitted"):
            return repr(self)
        return f"{self!r}\nexpected: {expected(self._with_solution(), self._parameters().alpha)}"

    def _tell_doubts(self) -> None:
        """One warning for a person, if there is something that the numbers say against the fit."""
        found = self._with_solution().doubts()
        if found:
            warnings.warn(" ".join(found), FitWarning, stacklevel=3)

    # ---- files ----

    def save(self, path: str | os.PathLike[str], *, sums: bool = False) -> None:
        """Write the model to a file, which `bochner.load` reads.

        The file is safetensors with JSON in its header. It holds the seed, not the drawn weights.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        sums : bool, default=False
            Whether to write the sums of the fit too, whose size is the square of the number of features: a loaded model
            can then merge, forget, grow, take more rows, and predict standard deviations.
        """
        if sums:
            self._with_sums(f"save with {option('sums', True)}")
        write(self, path, self._to_state(sums))

    def _to_state(self, sums: bool) -> dict[str, Any]:
        return to_state(self._with_solution(), self.get_params(deep=False), vars(self), sums)

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
        from ..onnx_export import export

        export(self, path, dtype=dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
