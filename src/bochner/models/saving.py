"""Models as files: parameters, the basis as a seed and a few numbers, coefficients; sums only if they are wanted."""

from __future__ import annotations

import os
from types import NoneType
from typing import Any

import numpy as np

from .. import storage
from ..bases import REGISTRY, Basis, FixedFourier
from ..bases.design import ColumnScaler, Design, LinearPart
from ..bases.quantize import Quantizer
from ..blocks import Recipe, SparseRecipe
from ..kernels import Kernel
from ..losses import Loss
from ..moments import FoldedMoments, Moments
from ..solvers import SGD, Adam, DoublyStochastic, Solution
from ..validation import option, require_integer
from .trials import Choice
from .ways.penalty import FOLDS, CrossValidated
from .ways.primal import PrimalPosterior
from .ways.problem import Fit, Training

KIND, VERSION = "bochner model", 3


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
    FoldedMoments, Solution, SGD, Adam, DoublyStochastic, Training, Design, ColumnScaler, LinearPart, Choice,
    CrossValidated,
)  # fmt: skip
FIT = ("intercept", "penalty", "noise", "training", "validated", "end")


class Saved:
    """The verbs `save` and `to_onnx` of a model, and its way to and from plain values."""

    design_: Design
    sums_: FoldedMoments | None
    _widest: Design | None
    _choice: Choice
    _solved: Fit
    _sums_wanted = False

    def save(self, path: str | os.PathLike[str], *, sums: bool = False) -> None:
        """Write the model to a file, whole or not at all; `bochner.load` reads it.

        The file is safetensors with JSON in its header. It holds the seed, not the drawn weights. With `sums` also the
        sums of the fit, as large as the square of the number of features: then a loaded model can merge, forget, grow,
        take more rows, and tell standard deviations.
        """
        if sums:
            self._require_sums(f"save with {option('sums', True)}")  # type: ignore[attr-defined]
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
        if self.sums_ is not None:
            fitted["_rows"] = int(self.sums_.rows)
        return {
            "parameters": parameters,
            "basis_given": self.basis is not None,  # type: ignore[attr-defined]
            "design": self.design_,
            "solution": fit.solution,
            **{name: getattr(fit, name) for name in FIT},
            "fitted": fitted,
            "sums": self.sums_ if sums else None,
            "widest": self._widest if sums else None,
        }

    @classmethod
    def _from_state(cls: Any, state: dict[str, Any]) -> Any:
        """A model from plain values; whatever does not fit together is refused."""
        design, solution, sums, widest = (state[name] for name in ("design", "solution", "sums", "widest"))
        require_design(design)
        basis = design.basis
        require_solution(solution, design.n_components)
        require_widest(widest, design, sums)
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
        require_kind(state["training"], (Training, NoneType))
        require_kind(state["validated"], (CrossValidated, NoneType))
        require_kind(state["end"], str)
        posterior = None
        if sums is not None:
            require_sums(sums, (widest or design).n_components, outputs)
            posterior = PrimalPosterior(sums, design.scale_, solution.alpha, bool(model.fit_intercept))
        model.design_, model.sums_, model._widest = design, sums, widest
        model._solved = Fit(
            solution, state["intercept"], str(state["penalty"]), state["noise"], posterior, training=state["training"],
            validated=state["validated"], end=state["end"],
        )  # fmt: skip
        model._stale = widest is not None  # what belongs to the first columns alone is made again from the sums
        return model


FITTED: dict[str, Any] = {
    "n_features_in_": int, "feature_names_in_": np.ndarray, "classes_": np.ndarray, "recipe_": (Recipe, SparseRecipe),
    "precision_reason_": str, "_outputs": tuple, "_offset": (np.ndarray, float), "_rows": int,
    "temperature_": (float, NoneType), "_calibration": str, "_choice": Choice, "_leverage": float,
    "_widening": np.ndarray, "_ends": (np.ndarray, NoneType),
}  # fmt: skip
ALWAYS = {"n_features_in_", "precision_reason_", "_rows", "_choice", "_leverage"}
OF_CLASSES, OF_NUMBERS = {"temperature_", "_calibration"}, {"_widening", "_ends"}


def require_kind(value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"a value of type {type(value).__name__} is not what belongs there")


def require_fitted(fitted: dict[str, Any], basis: Basis) -> None:
    for name, value in fitted.items():
        require_kind(value, FITTED[name])
    missing = (ALWAYS | (OF_CLASSES if "classes_" in fitted else OF_NUMBERS)) - set(fitted)
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


def require_design(design: Any) -> None:
    require_kind(design, Design)
    require_kind(design.basis, Basis)
    for part, kind in ((design.scaler, ColumnScaler), (design.linear, LinearPart)):
        if part is not None:
            require_kind(part, kind)
            for name, value in vars(part).items():
                if name != "clip":
                    require_shape(value, (int(design.basis.n_features_in_),))


def require_widest(widest: Any, design: Design, sums: Any) -> None:
    """The design whose sums a file holds must begin with the columns of the model's own."""
    if widest is None:
        return
    require_design(widest)
    if sums is None or widest.truncated(int(design.basis.n_components)).identity() != design.identity():
        raise ValueError("the sums belong to another basis")


def require_shape(array: Any, shape: tuple[int, ...]) -> None:
    require_kind(array, np.ndarray)
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"finite numbers of shape {shape} are expected; there are {array.dtype} of {array.shape}")


def require_sums(sums: FoldedMoments, features: int, outputs: int) -> None:
    require_kind(sums, FoldedMoments)
    require_kind(sums.folds, list)
    if len(sums.folds) not in (1, 2, FOLDS) or not any(part is not None for part in sums.folds):
        raise ValueError("there are no sums")
    for part in sums.folds:
        if part is not None:
            require_moments(part, features, outputs)


def require_moments(moments: Moments, features: int, outputs: int) -> None:
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
