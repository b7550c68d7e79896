"""Maxout and gated linear units in ONNX: the largest of a pool of projections, or what its winner lets through."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bases import GatedLinear, RandomMaxout
from ..bases.hadamard import Expansion, padded_size
from ..bases.maxout import CALIBRATION_SHIFT
from ..bases.quantize import round_digits
from ..kernels import maximum_mean
from ..streams import int8_normal_deviation
from . import integers
from .graph import Graph
from .hadamard import expand


def maxout(graph: Graph, basis: RandomMaxout, rows: str, dtype: Any) -> str:
    largest = (_structured if basis.structured else _dense)(graph, basis, rows, dtype)
    if basis.center:
        largest = graph("Sub", largest, _centre(graph, basis, rows))
    if basis._is_integer:
        return integers.rescale(graph, largest, basis.multiplier_, basis.rescale_shift_, basis._limit)
    return graph.scaled(largest, 1.0 / np.sqrt(basis._m), basis._m, dtype)


def _dense(graph: Graph, basis: RandomMaxout, rows: str, dtype: Any) -> str:
    directions, *choices = basis._weights(0, basis._units()[0], dtype)
    projections = graph.project(rows, directions)
    if choices:  # each unit's members of the shared pool, side by side
        projections = graph.columns(projections, choices[0].ravel())
    return _largest(graph, graph.shaped(projections, basis._m, basis._q))


def _structured(graph: Graph, basis: RandomMaxout, rows: str, dtype: Any) -> str:
    *drawn, calibration, _ = basis._weights(0, basis._units()[0], dtype)
    groups, size = basis._units()[0], padded_size(basis.n_features_in_)
    shift = basis.shift_ if basis._is_integer else 0
    projections = expand(graph, rows, Expansion(*drawn), basis.n_features_in_, shift)
    if basis._is_integer:
        projections = integers.fixed_point(graph, projections, calibration.ravel(), CALIBRATION_SHIFT)
    else:
        projections = graph("Mul", projections, graph.double(calibration.ravel()))
    blocks = graph("Transpose", graph.shaped(projections, groups, basis._q, size), perm=[0, 1, 3, 2])
    units = graph.shaped(_largest(graph, blocks, axis=3), groups * size)
    return graph("Slice", units, np.array([0]), np.array([basis._m]), np.array([1]))


def _largest(graph: Graph, pools: str, axis: int = 2) -> str:
    return graph("ReduceMax", pools, np.array([axis]), keepdims=0)


def _centre(graph: Graph, basis: RandomMaxout, rows: str) -> str:
    """The mean mu_q |x|, as a column; of integers rounded as the basis does it."""
    norms = graph("Sqrt", graph("ReduceSum", graph("Mul", rows, rows), np.array([1]), keepdims=1))
    mean = maximum_mean(basis._q)
    if not basis._is_integer:
        return graph("Mul", norms, np.float64(mean))
    mean = round_digits(mean, 12) if basis._q > 1 else 0.0
    return graph("Round", graph("Mul", norms, np.float64(int8_normal_deviation() * mean)))


def gated(graph: Graph, basis: GatedLinear, rows: str, dtype: Any) -> str:
    gates, values = basis._weights(0, basis._units()[0], dtype)
    units, q = basis._unit_count, basis._q
    winners = graph("ArgMax", graph.shaped(graph.project(rows, gates), units, q), axis=2, keepdims=1)
    through = graph.project(rows, values)
    if basis._is_integer:
        through = integers.rescale(graph, through, basis.multiplier_, basis.rescale_shift_, basis._limit)
    else:
        through = graph.scaled(through, 1.0 / np.sqrt(units), units, dtype)
    is_open = graph.double(graph("Equal", winners, np.arange(q)))
    return graph.shaped(graph("Mul", is_open, graph.shaped(through, units, 1)), units * q)
