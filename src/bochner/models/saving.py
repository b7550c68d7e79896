"""Models as files: parameters, the basis as a seed and a few numbers, coefficients; sums only if they are wanted."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from .. import storage
from ..bases import REGISTRY, Basis, FixedFourier
from ..bases.design import Design
from ..blocks import Recipe, SparseRecipe
from ..fields import either, flag, numbers, require_fields, require_present, require_sound
from ..kernels import Kernel
from ..losses.known import KINDS
from ..maps.linear import LinearPart
from ..maps.quantize import Quantizer
from ..maps.scaling import ColumnScaler
from ..moments import FoldedMoments, Moments
from ..penalties import Chosen, CrossValidated
from ..solvers import SGD, Adam, DoublyStochastic, PrimalPosterior, Solution, Training, Units
from ..validation import option
from .fitting import Fit
from .kept import (
    OF_CLASSES,
    OF_NUMBERS,
    OPTIONAL,
    PARAMETERS,
    TRAINING,
    VALIDATED,
    column_fields,
    fit_fields,
    fitted_fields,
    require_kind,
    require_solution,
    require_steps,
    require_sums,
    units_fields,
)
from .metric_search import LearnedMetric
from .trials import Choice

KIND, VERSION = "bochner model", 4


def kinds_of(base: type) -> list[type]:
    """All of bochner's own classes derived from one."""
    found: list[type] = []
    child: type
    for child in base.__subclasses__():
        found += [child, *kinds_of(child)]
    return [cls for cls in found if cls.__module__.startswith("bochner.")]


# What a file may hold, besides the models themselves. A subclass made elsewhere is not among them.
PARTS: tuple[type, ...] = (
    *REGISTRY.values(), FixedFourier, *kinds_of(Kernel), *KINDS, Quantizer, Recipe, SparseRecipe, Moments,
    FoldedMoments, Solution, SGD, Adam, DoublyStochastic, Training, Units, Design, ColumnScaler, LinearPart, Choice,
    CrossValidated, LearnedMetric,
)  # fmt: skip
FIT = ("intercept", "penalty", "noise", "training", "validated", "end")
FITTED = frozenset(fitted_fields(None, 1))


class Saved:
    """The verbs `save` and `to_onnx` of a model, and its way to and from plain values."""

    design_: Design
    sums_: FoldedMoments | None
    _widest: Design | None
    _solved: Fit
    _sums_wanted = False

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
            self._require_sums(f"save with {option('sums', True)}")  # type: ignore[attr-defined]
        write(self, path, self._to_state(sums))

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

    def _to_state(self, sums: bool) -> dict[str, Any]:
        fit = self._refresh()  # type: ignore[attr-defined]
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        require_own(parameters)
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
        require_fit(state, outputs)
        given = type(basis)(**basis.get_params(deep=False)) if state["basis_given"] else None
        model = made_of(cls, {**state["parameters"], "basis": given})
        require_steps(model.solver, state["training"], basis.map_.units.number)
        require_fitted(state["fitted"], basis, outputs)
        keep_fitted(model, state["fitted"], outputs)
        posterior = None
        if sums is not None:
            require_sums(sums, (widest or design).n_components, outputs)
            unit = Chosen(solution.alpha, state["penalty"]).unit
            posterior = PrimalPosterior(sums, design.scale_, solution.alpha, bool(model.fit_intercept), unit)
        if widest is not None and (model.max_coefficient is not None or model.alpha == "loo"):
            raise ValueError("sums alone are solved without max_coefficient, and without leave-one-out")
        model.design_, model.sums_, model._widest = design, sums, widest
        told = {name: state[name] for name in ("intercept", "noise", "training")}
        solution = replace(solution, posterior=posterior, **told)
        model._solved = Fit(solution, state["penalty"], state["validated"], state["end"])
        model._stale = widest is not None  # what belongs to the first columns alone is made again from the sums
        return model


def write(model: Any, path: str | os.PathLike[str], state: dict[str, Any], parts: tuple[type, ...] = PARTS) -> None:
    """Write a model to a file, once it is sure that it can be read again."""
    tree = {"model": type(model).__name__, "state": state}
    storage.save(path, KIND, VERSION, tree, parts, lambda again: type(model)._from_state(again["state"]))


def require_own(parameters: dict[str, Any]) -> None:
    """Refuse to write a loss or a solver that no reader would know."""
    for name in ("loss", "solver"):
        value = parameters.get(name)
        if value is not None and not isinstance(value, str) and type(value) not in PARTS:
            raise ValueError(
                f"nothing is written: its {name} is an object of your own class {type(value).__name__}, and a file "
                f"holds bochner's own classes alone; predictions do not need it, so set_params({name}=...) to one of "
                "those before saving, or pickle the model."
            )


def made_of(cls: Any, parameters: dict[str, Any]) -> Any:
    """A model of sound parameters, not fitted yet."""
    require_sound(parameters, PARAMETERS)
    model = cls(**parameters)
    model._check_parameters()
    return model


def keep_fitted(model: Any, fitted: dict[str, Any], outputs: int) -> None:
    """Give a model what was fitted, if that goes with so many outputs."""
    model.__dict__.update(fitted)
    if "classes_" in fitted:
        model._outputs = tuple(model.classes_.tolist())
    model._require_outputs(outputs)


def columns_made(fitted: dict[str, Any]) -> int:
    """How many columns the rows of a model have, once its recipe, if there is one, has made them."""
    recipe, given = fitted.get("recipe_"), fitted["n_features_in_"]
    if recipe is None:
        return int(given)
    require_kind(recipe, Recipe | SparseRecipe)
    if recipe.n_inputs != given:
        raise ValueError("the model and its recipe have different columns")
    return int(recipe.n_columns)


def require_fit(state: dict[str, Any], outputs: int) -> None:
    """Refuse parts of a fit that no fit of so many outputs gives."""
    table = {**fit_fields(outputs), "basis_given": flag}
    require_fields({name: state[name] for name in table}, table)
    if state["training"] is not None:
        require_kind(state["training"], Training)
        require_fields(vars(state["training"]), TRAINING)
        if state["training"].units is not None:
            require_kind(state["training"].units, Units)
            require_fields(vars(state["training"].units), units_fields(outputs))
    if state["validated"] is not None:
        require_kind(state["validated"], CrossValidated)
        require_fields(vars(state["validated"]), VALIDATED)


def require_fitted(fitted: dict[str, Any], basis: Basis, outputs: int) -> None:
    require_present(fitted, ["n_features_in_"])
    table = fitted_fields(fitted["n_features_in_"], outputs)
    others = OF_NUMBERS if "classes_" in fitted else OF_CLASSES
    require_fields(fitted, {name: table[name] for name in table if name not in others}, OPTIONAL)
    if basis.n_features_in_ != columns_made(fitted):
        raise ValueError("the model and its basis have different columns")
    matrix = fitted["_metric"].matrix
    if matrix is not None and set(matrix.shape) != {int(basis.n_features_in_)}:
        raise ValueError("the model and its metric have different columns")


def require_design(design: Any) -> None:
    require_kind(design, Design)
    require_kind(design.basis, Basis)
    columns = int(design.basis.n_features_in_)
    if design.scaler is not None:
        require_scaler(design.scaler, columns)
    if design.linear is not None:
        require_kind(design.linear, LinearPart)
        require_fields(vars(design.linear), column_fields(columns, "center", "spread", "weight", "unit"))
    if design.metric is not None:
        require_sound({"metric": design.metric}, {"metric": either(numbers(columns), numbers(columns, columns))})


def require_scaler(scaler: Any, columns: int) -> None:
    require_kind(scaler, ColumnScaler)
    require_fields(vars(scaler), column_fields(columns, "center", "spread", "low", "high", "clip"))


def require_widest(widest: Any, design: Design, sums: Any) -> None:
    """The design whose sums a file holds must begin with the columns of the model's own."""
    if widest is None:
        return
    require_design(widest)
    if sums is None or widest.truncated(int(design.basis.n_components)).identity() != design.identity():
        raise ValueError("the sums belong to another basis")
