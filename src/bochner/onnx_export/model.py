"""The whole file: rows to features, features to scores, scores to predictions or labels."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from numpy.typing import DTypeLike
from onnx import ModelProto, ValueInfoProto, helper
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays import to_numpy
from ..bases.design import Design
from ..maps import FeatureMap
from ..moments import times_columns
from .exact import kernel_scores
from .graph import Graph, require_room
from .maps import columns_of, require_form, stored_bytes
from .preparation import encoded

OPSET, IR_VERSION = 18, 8  # reductions over given axes and adding scatters; the format that came with them


def build(model: BaseEstimator, dtype: str) -> ModelProto:
    graph = Graph()
    if getattr(model, "recipe_", None) is not None and model.recipe_.texts:
        raise ValueError(f"column {model.recipe_.texts[0]!r} holds text, which the ONNX file cannot encode.")
    if hasattr(model, "dual_coef_"):
        scores = kernel_scores(graph, model)
    elif hasattr(type(model), "coef_"):
        check_is_fitted(model, "basis_")
        _refuse_early(model, dtype)
        scores = _scores(graph, model, _features(graph, model, dtype))
    else:
        raise ValueError(
            f"to_onnx takes a model of random or learned features or of an exact kernel; got a {type(model).__name__}."
        )
    outputs = (_classify if is_classifier(model) else _regress)(graph, model, scores, dtype)
    inputs = [_described("X", dtype, model.n_features_in_)]
    return _packed(graph, type(model).__name__, inputs, outputs, _properties(model))


def build_features(feature_map: FeatureMap, dtype: str) -> ModelProto:
    """The graph of a map alone: its output is `features`, in double."""
    graph = Graph()
    require_form(feature_map)
    require_room(stored_bytes(feature_map, dtype))
    graph("Identity", columns_of(graph, feature_map, graph.double("X"), np.dtype(dtype)), name="features")
    inputs = [_described("X", dtype, feature_map.inputs)]
    outputs = [_described("features", np.float64, feature_map.columns)]
    return _packed(graph, type(feature_map).__name__, inputs, outputs, {"precision": feature_map.precision or "float"})


def _features(graph: Graph, model: BaseEstimator, dtype: str) -> str:
    recipe = getattr(model, "recipe_", None)
    if hasattr(model, "frequencies_"):  # which computes in float64, whatever X is
        rows, working = encoded(graph, "X", recipe, np.dtype(np.float64))
        return features(graph, Design(model.basis_, model.scaler_).map, rows, working)
    rows, working = encoded(graph, "X", recipe, np.dtype(dtype))
    return features(graph, model.design_.map, rows, working, model.basis_.copied_places)


def features(
    graph: Graph, feature_map: FeatureMap, rows: str, working: np.dtype, copies: np.ndarray | None = None
) -> str:
    """The tensor `features` (n, columns), in double; integers of integer maps as they are. Of copies it is the mean."""
    rows = graph.double(rows)
    if copies is None:
        return graph("Identity", columns_of(graph, feature_map, rows, working), name="features")
    rows = graph("Concat", *(graph.columns(rows, places) for places in copies), axis=0)
    shape = np.array([len(copies), -1, feature_map.columns])
    columns = graph("Reshape", columns_of(graph, feature_map, rows, working), shape)
    total = graph("ReduceSum", columns, np.array([0]), keepdims=0)
    return graph("Div", total, np.float64(len(copies)), name="features")


def _refuse_early(model: BaseEstimator, dtype: str) -> None:
    """What cannot be written is refused before the weights are drawn."""
    basis = model.basis_
    require_form(basis.map_)
    if is_classifier(model):
        _labels(model.classes_)
    require_room(stored_bytes(basis.map_, dtype) + model.coef_.nbytes)


def _scores(graph: Graph, model: BaseEstimator, columns: str) -> str:
    """features b + intercept (n, outputs), in double."""
    if hasattr(model, "design_"):
        weights = to_numpy(times_columns(model.design_.scale_, model.solution_.coefficients))
    else:
        weights = float(model.basis_.scale_) * np.atleast_2d(model.coef_).T
    return graph("Add", graph("MatMul", columns, weights), np.atleast_1d(np.float64(to_numpy(model.intercept_))))


def _regress(graph: Graph, model: BaseEstimator, scores: str, dtype: str) -> list[ValueInfoProto]:
    shape = model._targets.shape
    if not shape:
        scores = graph("Squeeze", scores, np.array([1]))
    graph("Cast", scores, to=_element(dtype), name="predictions")
    return [_described("predictions", dtype, *shape)]


def _classify(graph: Graph, model: BaseEstimator, scores: str, dtype: str) -> list[ValueInfoProto]:
    labels = _labels(model.classes_)
    if len(labels) == 2:
        scores = graph("Squeeze", scores, np.array([1]))
        winners = graph.integer(graph("Greater", scores, np.float64(0)))
    else:
        winners = graph("ArgMax", scores, axis=1, keepdims=0)
    graph("Gather", labels, winners, name="label")
    graph("Cast", scores, to=_element(dtype), name="scores")
    shape = () if len(labels) == 2 else (len(labels),)
    return [_described("label", labels.dtype), _described("scores", dtype, *shape)]


def _labels(classes: np.ndarray) -> np.ndarray:
    """Classes as int64 or text."""
    if classes.dtype.kind in "iu" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    if classes.dtype.kind in "OUT" and all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise ValueError(
        f"ONNX labels are integers or text, and the classes are {classes.dtype} ({classes.tolist()[0]!r}): encode them."
    )


def _element(dtype: DTypeLike) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _described(name: str, dtype: DTypeLike, *shape: int) -> ValueInfoProto:
    """A tensor of any number of rows."""
    return helper.make_tensor_value_info(name, _element(dtype), ["n", *shape])


def _packed(
    graph: Graph, name: str, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto], properties: dict[str, str]
) -> ModelProto:
    whole = helper.make_graph(graph.nodes, name, inputs, outputs, initializer=graph.constants)
    packed = helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="bochner",
        producer_version=version("bochner"),
    )  # fmt: skip
    helper.set_model_props(packed, properties)
    return packed


def _properties(model: BaseEstimator) -> dict[str, str]:
    """What the file says about itself."""
    if hasattr(model, "dual_coef_"):
        return {"kernel": repr(model.kernel_), "rows": str(len(model.X_fit_))}
    basis = model.basis_
    return {
        "basis": type(basis).__name__,
        "seed": str(basis.seed_),
        "precision": basis.precision or "float",
        "n_components": str(basis.map_.columns),
    }
