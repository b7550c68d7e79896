"""Maxout and gated linear units in ONNX: the largest of a pool of projections, or what its winner lets through."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from ..kernels import maximum_mean
from ..maps import GatedMap, MaxoutMap
from ..maps.hadamard import Expansion
from ..maps.maxout import CALIBRATION_SHIFT
from . import integers
from .graph import Graph
from .hadamard import expand


def maxout(graph: Graph, feature_map: MaxoutMap, rows: str, dtype: DTypeLike) -> str:
    largest = (_structured if feature_map.structured else _dense)(graph, feature_map, rows, dtype)
    if feature_map.center:
        largest = graph("Sub", largest, _centre(graph, feature_map, rows))
    if feature_map.is_integer:
        return integers.rescale(graph, largest, feature_map.multiplier, feature_map.rescale_shift, feature_map.limit)
    return graph.scaled(largest, 1.0 / np.sqrt(feature_map.columns), feature_map.columns, dtype)


def _dense(graph: Graph, feature_map: MaxoutMap, rows: str, dtype: DTypeLike) -> str:
    directions, *choices = feature_map.weights(dtype=dtype)
    projections = graph.project(rows, directions)
    if choices:  # each unit's members of the shared pool, side by side
        projections = graph.columns(projections, choices[0].ravel())
    return _largest(graph, graph.shaped(projections, feature_map.columns, feature_map.pool_size))


def _structured(graph: Graph, feature_map: MaxoutMap, rows: str, dtype: DTypeLike) -> str:
    *drawn, calibration, _ = feature_map.weights(dtype=dtype)
    groups, size = feature_map.units.number, feature_map.size
    shift = feature_map.shift if feature_map.is_integer else 0
    projections = expand(graph, rows, Expansion(*drawn), feature_map.inputs, shift)
    if feature_map.is_integer:
        projections = integers.fixed_point(graph, projections, calibration.ravel(), CALIBRATION_SHIFT)
    else:
        projections = graph("Mul", projections, graph.double(calibration.ravel()))
    blocks = graph("Transpose", graph.shaped(projections, groups, feature_map.pool_size, size), perm=[0, 1, 3, 2])
    units = graph.shaped(_largest(graph, blocks, axis=3), groups * size)
    return graph("Slice", units, np.array([0]), np.array([feature_map.columns]), np.array([1]))


def _largest(graph: Graph, pools: str, axis: int = 2) -> str:
    return graph("ReduceMax", pools, np.array([axis]), keepdims=0)


def _centre(graph: Graph, feature_map: MaxoutMap, rows: str) -> str:
    """The mean mu_q |x|, as a column; of integers rounded as the map does it."""
    norms = graph("Sqrt", graph("ReduceSum", graph("Mul", rows, rows), np.array([1]), keepdims=1))
    if not feature_map.is_integer:
        return graph("Mul", norms, np.float64(maximum_mean(feature_map.pool_size)))
    return graph("Round", graph("Mul", norms, np.float64(feature_map.integer_mean)))


def gated(graph: Graph, feature_map: GatedMap, rows: str, dtype: DTypeLike) -> str:
    gates, values = feature_map.weights(dtype=dtype)
    units, q = feature_map.unit_count, feature_map.pool_size
    winners = graph("ArgMax", graph.shaped(graph.project(rows, gates), units, q), axis=2, keepdims=1)
    through = graph.project(rows, values)
    if feature_map.is_integer:
        through = integers.rescale(graph, through, feature_map.multiplier, feature_map.rescale_shift, feature_map.limit)
    else:
        through = graph.scaled(through, 1.0 / np.sqrt(units), units, dtype)
    is_open = graph.double(graph("Equal", winners, np.arange(q)))
    return graph.shaped(graph("Mul", is_open, graph.shaped(through, units, 1)), units * q)
