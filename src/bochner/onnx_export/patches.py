"""Patches of pictures in ONNX: a gather for the places, the map of a patch, and a product that pools over cells.

In float32, two-sided thresholds are a convolution (runtimes have none of doubles): the filters, whitening and the mean
of a patch are one linear map of its pixels, and what divides them is a convolution of squares. Integers go patch by
patch, in doubles, bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..maps import PatchMap, ThresholdMap
from ..maps.patches import CODES
from .graph import Graph
from .integers import codes

if TYPE_CHECKING:
    from collections.abc import Callable


def threshold(graph: Graph, feature_map: ThresholdMap, rows: str, dtype: np.dtype) -> str:
    """max(0, z - t) and max(0, -z - t) of projections."""
    (directions,) = feature_map.weights(dtype=dtype)
    z = graph.project(rows, directions)
    if not feature_map.is_integer:
        z = graph("Mul", z, np.full(len(directions), 1.0 / np.sqrt(feature_map.inputs)))
        factor = 1.0 / np.sqrt(feature_map.columns // 2)
        return graph("Mul", _both_sides(graph, z, feature_map.least, np.inf), np.full(feature_map.columns, factor))
    shift, least, limit = feature_map.integers
    v = graph("Floor", graph("Div", graph("Add", z, np.float64((1 << shift) >> 1)), np.float64(1 << shift)))
    return _both_sides(graph, v, float(least), float(limit))


def _both_sides(graph: Graph, z: str, least: float, limit: float) -> str:
    """Pairs of columns: what z has above `least`, and what -z has."""
    apart = graph("Unsqueeze", z, np.array([2]))
    sides = graph("Concat", apart, graph("Neg", apart), axis=2)
    above = graph("Clip", graph("Sub", sides, np.float64(least)), np.float64(0.0), np.float64(limit))
    return graph("Flatten", above, axis=1)


def patches(graph: Graph, feature_map: PatchMap, rows: str, dtype: np.dtype, inner: Callable[..., str]) -> str:
    """All columns of pictures; `inner` writes the map of their patches."""
    geometry = feature_map.geometry
    if feature_map.is_integer:
        whitened = _codes_of_patches(graph, feature_map, rows)
        features = inner(graph, feature_map.map, whitened, dtype)
    elif isinstance(feature_map.map, ThresholdMap) and dtype == np.float32:
        features = _convolved(graph, feature_map, rows)
    else:
        features = inner(graph, feature_map.map, _whitened(graph, feature_map, rows), dtype)
    bags = graph("Reshape", graph.double(features), np.array([-1, geometry.count, feature_map.map.columns]))
    return _finished(graph, feature_map, _pooled(graph, feature_map, bags))


def _gathered(graph: Graph, feature_map: PatchMap, rows: str) -> str:
    """Patches (n, count, pixels) of pictures."""
    return graph("Gather", rows, feature_map.geometry.places.astype(np.int64), axis=1)


def _codes_of_patches(graph: Graph, feature_map: PatchMap, rows: str) -> str:
    """As `ops.patches` has them; integers below 2^53 are exact in doubles."""
    assert feature_map.quantizer is not None
    p = _gathered(graph, feature_map, codes(graph, rows, feature_map.quantizer))
    size = feature_map.geometry.pixels_of_patch
    matrix, factor, floor = feature_map.integer_whitening
    last = np.array([2])
    total = graph("ReduceSum", p, last, keepdims=1)
    squares = graph("Mul", graph("ReduceSum", graph("Mul", p, p), last, keepdims=1), np.float64(size))
    spread = graph("Sub", squares, graph("Mul", total, total))
    divisor = _divisor(graph, spread, feature_map.contrast, floor)
    gain = graph("Div", np.float64(factor), divisor)
    scaled = graph("Mul", graph("MatMul", p, graph.double(matrix.T)), gain)
    rounded = graph("Round", graph("Sub", scaled, CODES * feature_map.offset))
    return _as_rows(graph, graph("Clip", rounded, np.float64(-127.0), np.float64(127.0)), size)


def _divisor(graph: Graph, spread: str, contrast: float, floor: float) -> str:
    return graph("Sqrt", graph("Add", graph("Mul", spread, np.float64(contrast)), np.float64(floor)))


def _whitened(graph: Graph, feature_map: PatchMap, rows: str) -> str:
    """Normalized, whitened patches as rows, in floats."""
    p, size = _gathered(graph, feature_map, rows), feature_map.geometry.pixels_of_patch
    last = np.array([2])
    p = graph("Sub", p, graph("ReduceMean", p, last, keepdims=1))
    spread = graph("ReduceMean", graph("Mul", p, p), last, keepdims=1)
    divisor = _divisor(graph, spread, feature_map.contrast, feature_map.floor)
    scaled = graph("MatMul", graph("Div", p, divisor), graph.double(feature_map.whitening.T))
    return _as_rows(graph, graph("Sub", scaled, feature_map.offset), size)


def _as_rows(graph: Graph, bags: str, size: int) -> str:
    return graph("Reshape", bags, np.array([-1, size]))


def _convolved(graph: Graph, feature_map: PatchMap, rows: str) -> str:
    """Thresholds of z = conv(x, K)/s - c: K takes out the mean, whitens and projects; s comes from two convolutions."""
    geometry, inner = feature_map.geometry, feature_map.map
    size, shape = geometry.pixels_of_patch, (geometry.size, geometry.size, geometry.channels)
    (directions,) = inner.weights(dtype=np.float64)
    kernels = directions @ feature_map.whitening
    kernels -= kernels.mean(axis=1, keepdims=True)

    def convolution(pictures: str, kernels: np.ndarray) -> str:
        weights = kernels.reshape(-1, *shape).transpose(0, 3, 1, 2)
        made = graph("Conv", pictures, np.ascontiguousarray(weights, dtype=np.float32), strides=[geometry.stride] * 2)
        return graph.double(made)

    as_pictures = graph("Reshape", rows, np.array([-1, geometry.height, geometry.width, geometry.channels]))
    pictures = graph.cast(graph("Transpose", as_pictures, perm=[0, 3, 1, 2]), np.float32)
    means = np.full((1, size), 1.0 / size)
    mean = convolution(pictures, means)
    spread = graph("Sub", convolution(graph("Mul", pictures, pictures), means), graph("Mul", mean, mean))
    spread = graph("Max", spread, np.float64(0.0))
    divisor = _divisor(graph, spread, feature_map.contrast, feature_map.floor)
    z = graph("Div", convolution(pictures, kernels), divisor)
    z = graph("Reshape", graph("Transpose", z, perm=[0, 2, 3, 1]), np.array([0, geometry.count, len(directions)]))
    z = graph("Sub", graph("Gather", z, geometry.order.astype(np.int64), axis=1), directions @ feature_map.offset)
    z = graph("Mul", _as_rows(graph, z, len(directions)), np.full(len(directions), 1.0 / np.sqrt(size)))
    assert isinstance(inner, ThresholdMap)
    factor = np.full(inner.columns, 1.0 / np.sqrt(inner.columns // 2))
    return graph("Mul", _both_sides(graph, z, inner.least, np.inf), factor)


def _pooled(graph: Graph, feature_map: PatchMap, bags: str) -> str:
    """(n, columns, cells) of (n, patches, columns): sums of integers, means of floats, or the largest."""
    cells, count = feature_map.geometry.cells, feature_map.geometry.cell_count
    if feature_map.pooling == "max":
        parts = [
            graph("ReduceMax", graph("Gather", bags, np.flatnonzero(cells == cell), axis=1), np.array([1]), keepdims=1)
            for cell in range(count)
        ]
        return graph("Transpose", graph("Concat", *parts, axis=1), perm=[0, 2, 1])
    members = (cells[:, None] == np.arange(count)).astype(np.float64)
    if not feature_map.is_integer:
        members *= feature_map.geometry.shares
    return graph("MatMul", graph("Transpose", bags, perm=[0, 2, 1]), members)


def _finished(graph: Graph, feature_map: PatchMap, pooled: str) -> str:
    """Roots, if asked for, and columns of one spread."""
    values = graph("Reshape", pooled, np.array([-1, feature_map.columns]))
    if feature_map.pooling == "root":
        values = graph("Sqrt", values)
    values = graph("Sub", values, feature_map.centre)
    if not feature_map.is_integer:
        return graph("Mul", values, 1.0 / (feature_map.spread * np.sqrt(feature_map.columns)))
    scaled = graph("Mul", values, feature_map.codes_per_deviation / feature_map.spread)
    limit = np.float64(feature_map.limit)
    return graph("Clip", graph("Round", scaled), -limit, limit)
