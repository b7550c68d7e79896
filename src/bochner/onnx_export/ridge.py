"""Ridge functions in ONNX: an activation of a projection, or its table."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from ..maps import RidgeMap
from . import integers
from .graph import Graph

OPERATORS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def ridge(graph: Graph, feature_map: RidgeMap, rows: str, dtype: DTypeLike) -> str:
    activation = feature_map.activation
    if callable(activation) and not feature_map.is_integer:
        raise ValueError(
            "the activation is a Python function, which ONNX cannot hold: use 'sigmoid', 'tanh' or 'relu', or an "
            "integer precision, which tabulates it."
        )
    directions, offsets, *table = feature_map.weights(dtype=dtype)
    projections = graph.project(rows, directions)
    if feature_map.is_integer:
        return integers.lookup(graph, projections, feature_map.multiplier, feature_map.table_shift, offsets, table[0])
    features = graph(OPERATORS[str(activation)], graph("Add", projections, graph.double(offsets)))
    return graph.scaled(features, 1.0 / np.sqrt(feature_map.columns), feature_map.columns, dtype)
