"""Models as files: parameters, the basis as a seed and a few numbers, coefficients; sums only if they are wanted."""

from __future__ import annotations

import os
from types import NoneType
from typing import Any

import numpy as np

from .. import storage
from ..bases import REGISTRY, Basis, FixedFourier
from ..bases.quantize import Quantizer
from ..blocks import Recipe, SparseRecipe
from ..kernels import Kernel
from ..losses import Loss
from ..moments import Moments
from ..solvers import SGD, Adam, DoublyStochastic, Solution
from ..validation import require_integer
from .ways.primal import PrimalPosterior
from .ways.problem import Fit, Training, Units

KIND, VERSION = "bochner model", 2


def kinds_of(base: type) -> list[type]:
    """All of bochner's own classes derived from one."""
    found: list[type] = []
    child: type
    for child in base.__subclasses__():
        found += [child, *kinds_of(child)]
    return [cls for cls in found if cls.__module__.startswith("bochner.")]


# What a file may hold, besides the models themselves. A subclass made elsewhere is not among them.
PARTS: tuple[type, ...] = (
    *REGISTRY.values(), FixedFourier, *kinds_of(Kernel), *kinds_of(Loss), Quantizer, Recipe, SparseRecipe, Moments,
    Solution, SGD, Adam, DoublyStochastic, Training, Units,
)  # fmt: skip
FIT = ("intercept", "penalty", "noise", "training")


class Saved:
    """The verbs `save` and `to_onnx` of a model, and its way to and from plain values."""

    basis_: Basis
    moments_: Moments | None
    _widest: Basis | None
    _solved: Fit
    _sums_wanted = False

    def save(self, path: str | os.PathLike[str], *, sums: bool = False) -> None:
        """Write the model to a file, whole or not at all; `bochner.load` reads it.

        The file is safetensors with JSON in its header. It holds the seed, not the drawn weights. With `sums` also the
        sums of the fit, as large as the square of the number of features: then a loaded model can merge, forget, grow,
        take more rows, and tell standard deviations.
        """
        if sums:
            self._require_sums("save(sums=True)")  # type: ignore[attr-defined]
        tree = {"model": type(self).__name__, "state": self._to_state(sums)}
        storage.save(path, KIND, VERSION, tree, PARTS)

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Write the model as an ONNX graph, for onnxruntime and its like; see bochner.onnx_export for tolerances."""
        from ..onnx_export import export

        export(self, path, dtype=dtype)

    def _to_state(self, sums: bool) -> dict[str, Any]:
        fit = self._refresh()  # type: ignore[attr-defined]
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        parameters["basis"] = None  # the fitted one says it all
        if not isinstance(parameters["random_state"], int | None):
            parameters["random_state"] = None  # a generator has moved on; the seed is in the basis
        fitted = {name: value for name, value in vars(self).items() if name in FITTED}
        if "classes_" in fitted:
            del fitted["_outputs"]  # the classes again
        if self.moments_ is not None:
            fitted["_rows"] = int(self.moments_.rows)
        return {
            "parameters": parameters,
            "basis_given": self.basis is not None,  # type: ignore[attr-defined]
            "basis": self.basis_,
            "solution": fit.solution,
            **{name: getattr(fit, name) for name in FIT},
            "fitted": fitted,
            "moments": self.moments_ if sums else None,
            "widest": self._widest if sums else None,
        }

    @classmethod
    def _from_state(cls: Any, state: dict[str, Any]) -> Any:
        """A model from plain values; whatever does not fit together is refused."""
        basis, solution, moments, widest = (state[name] for name in ("basis", "solution", "moments", "widest"))
        require_kind(basis, Basis)
        require_solution(solution, int(basis.n_components))
        require_widest(widest, basis, moments)
        outputs = solution.coefficients.shape[1]
        given = type(basis)(**basis.get_params(deep=False)) if state["basis_given"] else None
        model = cls(**{**state["parameters"], "basis": given})
        model._check_parameters()
        require_fitted(state["fitted"], basis)
        model.__dict__.update(state["fitted"])
        if "classes_" in state["fitted"]:
            model._outputs = tuple(model.classes_.tolist())
        model._require_outputs(outputs)
        for name in ("intercept", "noise"):
            require_shape(state[name], (outputs,))
        require_training(state["training"], outputs)
        posterior = None
        if moments is not None:
            require_sums(moments, int((widest or basis).n_components), outputs)
            posterior = PrimalPosterior(moments, float(basis.scale_), solution.alpha, bool(model.fit_intercept))
        model.basis_, model.moments_, model._widest = basis, moments, widest
        model._solved = Fit(
            solution, state["intercept"], str(state["penalty"]), state["noise"], posterior, training=state["training"]
        )
        model._stale = widest is not None  # what belongs to the first columns alone is made again from the sums
        return model


FITTED: dict[str, Any] = {
    "n_features_in_": int, "feature_names_in_": np.ndarray, "classes_": np.ndarray, "recipe_": (Recipe, SparseRecipe),
    "precision_reason_": str, "_outputs": tuple, "_offset": (np.ndarray, float), "_rows": int,
    "temperature_": (float, NoneType), "_calibration": str,
}  # fmt: skip
ALWAYS, OF_CLASSES = {"n_features_in_", "precision_reason_", "_rows"}, {"temperature_", "_calibration"}


def require_kind(value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"a value of type {type(value).__name__} is not what belongs there")


def require_fitted(fitted: dict[str, Any], basis: Basis) -> None:
    for name, value in fitted.items():
        require_kind(value, FITTED[name])
    missing = (ALWAYS | OF_CLASSES if "classes_" in fitted else ALWAYS) - set(fitted)
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")
    recipe, columns = fitted.get("recipe_"), fitted["n_features_in_"]
    made, given = (columns, columns) if recipe is None else (recipe.n_columns, recipe.n_inputs)
    if (basis.n_features_in_, columns) != (made, given):
        raise ValueError("the model and its basis have different columns")


def require_solution(solution: Any, features: int) -> None:
    require_kind(solution, Solution)
    for kind, names in ((str, ("method", "status", "reason")), (float, ("alpha", "residual"))):
        for name in names:
            require_kind(getattr(solution, name), kind)
    require_kind(solution.coefficients, np.ndarray)
    require_shape(solution.coefficients, (features, *solution.coefficients.shape[1:2]))
    if not solution.coefficients.size:
        raise ValueError("there are no coefficients")


def require_training(training: Any, outputs: int) -> None:
    """How far steps came: numbers of rows and steps, a rate, and units that are no zeros."""
    if training is None:
        return
    require_kind(training, Training)
    require_kind(training.rate, float)
    for count in (training.steps, training.rows):
        require_kind(count, int)
    if not 0 < training.rate < np.inf or training.steps < 0 or training.rows < 0:
        raise ValueError("rates, steps and rows of training are not negative")
    units = training.units
    if units is None:
        return
    require_kind(units, Units)
    require_kind(units.weight, float)
    for array in (units.centre, units.spread):
        require_shape(array, (outputs,))
    if not (units.spread > 0).all() or not (units.weight > 0 and np.isfinite(units.weight)):
        raise ValueError("units must be positive")


def require_widest(widest: Any, basis: Basis, moments: Any) -> None:
    """The basis whose sums a file holds must begin with the columns of the model's own."""
    if widest is None:
        return
    require_kind(widest, Basis)
    if moments is None or widest.truncated(int(basis.n_components)).identity() != basis.identity():
        raise ValueError("the sums belong to another basis")


def require_shape(array: Any, shape: tuple[int, ...]) -> None:
    require_kind(array, np.ndarray)
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"finite numbers of shape {shape} are expected; there are {array.dtype} of {array.shape}")


def require_sums(moments: Moments, features: int, outputs: int) -> None:
    require_kind(moments, Moments)
    require_integer("rows", moments.rows)
    shapes = {
        "sum_z": (features,), "sum_y": (outputs,), "gram": (features, features), "cross": (features, outputs),
        "square": (outputs, outputs),
    }  # fmt: skip
    for name, shape in shapes.items():
        array = getattr(moments, name)
        require_kind(array, np.ndarray)
        if array.shape != shape or array.dtype not in (np.float64, np.int64):
            raise ValueError(f"the sum {name} must have shape {shape}")
