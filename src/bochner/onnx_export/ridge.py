"""Ridge functions in ONNX: an activation of a projection, or its table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bases import RandomRidge
from . import integers
from .graph import Graph

OPERATORS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def ridge(graph: Graph, basis: RandomRidge, rows: str, dtype: Any) -> str:
    activation = basis.activation
    if callable(activation) and not basis._is_integer:
        raise ValueError(
            "the activation is a Python function, which ONNX cannot hold: use 'sigmoid', 'tanh' or 'relu', or an "
            "integer precision, which tabulates it."
        )
    directions, offsets, *table = basis._weights(0, basis._units()[0], dtype)
    projections = graph.project(rows, directions)
    if basis._is_integer:
        return integers.lookup(graph, projections, basis.multiplier_, basis.table_shift_, offsets, table[0])
    features = graph(OPERATORS[str(activation)], graph("Add", projections, graph.double(offsets)))
    return graph.scaled(features, 1.0 / np.sqrt(basis._m), basis._m, dtype)
