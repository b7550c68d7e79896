"""Stumps, trees of cells and bins in ONNX: comparisons and hashed cells, as exact as in the library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike
from onnx import numpy_helper

from ..maps import AxisCellsMap, BinsMap, ObliqueCellsMap, StumpsMap
from .graph import Graph
from .integers import shift_right

BASE = 1 << 16


def stumps(graph: Graph, feature_map: StumpsMap, rows: str, dtype: DTypeLike) -> str:
    coordinates, thresholds = feature_map.weights(dtype=dtype)
    height = np.float64(1.0 if feature_map.is_integer else np.dtype(dtype).type(1.0 / np.sqrt(feature_map.columns)))
    above = graph("Greater", graph.columns(rows, coordinates), graph.double(thresholds))
    return graph("Where", above, height, -height)


def axis_cells(graph: Graph, feature_map: AxisCellsMap, rows: str, dtype: DTypeLike) -> str:
    columns, thresholds, flips = feature_map.weights(dtype=dtype)
    return _filled(graph, feature_map, graph.columns(rows, columns.ravel()), (thresholds, flips), dtype)


def oblique_cells(graph: Graph, feature_map: ObliqueCellsMap, rows: str, dtype: DTypeLike) -> str:
    directions, *others = feature_map.weights(dtype=dtype)
    return _filled(graph, feature_map, graph.project(rows, directions), others, dtype)


def _filled(
    graph: Graph,
    feature_map: AxisCellsMap | ObliqueCellsMap,
    numbers: str,
    compared: Sequence[np.ndarray],
    dtype: DTypeLike,
) -> str:
    """A one in the column of each tree's cell, which is the sum of the bits of its comparisons; then the height."""
    (thresholds, flips), trees, depth = compared, feature_map.trees, feature_map.depth
    above = graph.double(graph("Greater", numbers, graph.double(thresholds.ravel())))
    turned = (flips[:, None] >> np.arange(depth)) & 1
    bits = graph("Abs", graph("Sub", above, turned.ravel().astype(np.float64)))
    worth = graph("Mul", graph.shaped(bits, trees, depth), 2.0 ** np.arange(depth))
    cell = graph("ReduceSum", worth, np.array([2]), keepdims=0)
    places = graph.integer(graph("Add", cell, (feature_map.cells_of_tree * np.arange(trees)).astype(np.float64)))
    shape = graph("Concat", graph("Shape", numbers, start=0, end=1), np.array([trees << depth]), axis=0)
    zeros = graph("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1)))
    ones = graph("Add", graph("Mul", cell, np.zeros(trees)), np.ones(trees))
    filled = graph("ScatterElements", zeros, places, ones, axis=1)
    if feature_map.columns < trees << depth:  # of the last tree
        filled = graph("Slice", filled, np.array([0]), np.array([feature_map.columns]), np.array([1]))
    if feature_map.is_integer:
        return filled
    return graph.scaled(filled, feature_map.height, feature_map.columns, dtype)


def bins(graph: Graph, feature_map: BinsMap, rows: str, dtype: DTypeLike) -> str:
    """Signs added into a dense row of zeros."""
    shift, pitch, multipliers = feature_map.weights(dtype=np.float64)
    code = _hash(graph, _cells(graph, rows, shift, pitch), multipliers)
    column = shift_right(graph, graph("Mul", shift_right(graph, code, 1), np.int64(feature_map.columns)), 31)
    parity = graph.double(graph("Mod", code, np.int64(2)))
    signs = graph("Sub", graph("Add", parity, parity), np.float64(1))
    count = graph("Shape", rows, start=0, end=1)
    shape = graph("Concat", count, np.array([feature_map.columns]), axis=0)
    zeros = graph("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1)))
    sums = graph("ScatterElements", zeros, column, signs, axis=1, reduction="add")
    if feature_map.is_integer:
        return graph("Clip", sums, np.float64(-127), np.float64(127))
    return graph.scaled(sums, 1.0 / np.sqrt(feature_map.n_grids), feature_map.columns, dtype)


def _cells(graph: Graph, rows: str, shift: np.ndarray, pitch: np.ndarray) -> str:
    """floor((x - shift)/pitch) modulo 2^32, (grids, n, d)."""
    offsets = graph("Sub", graph("Unsqueeze", rows, np.array([0])), shift[:, None])
    cells = graph("Floor", graph("Div", offsets, pitch[:, None]))
    cells = graph("Clip", cells, np.float64(-(2.0**62)), np.float64(2.0**62))
    return graph("Mod", graph.integer(cells), np.int64(2**32))


def _hash(graph: Graph, cells: str, multipliers: np.ndarray) -> str:
    """The top 32 bits of a_0 + sum_k a_k c_k modulo 2^64, (n, grids): multiplication by hand, in digits of 16 bits.

    So no sum leaves 53 bits, beyond which onnxruntime's ReduceSum of int64 is not exact (seen in 1.31).
    """
    digits = (multipliers[..., None] >> np.arange(0, 64, 16, dtype=np.uint64)).astype(np.uint16)
    matrix = graph.double(digits[:, 1:])
    halves = graph("Mod", cells, np.int64(BASE)), shift_right(graph, cells, 16)
    products = [graph.integer(graph("MatMul", graph.double(half), matrix)) for half in halves]
    products[0] = graph("Add", products[0], graph.integer(digits[:, :1]))
    total, found = graph.constant(np.zeros((1, 1), dtype=np.int64)), []
    for place in range(4):
        total = shift_right(graph, total, 16)
        for lower, product in enumerate(products[: place + 1]):
            total = graph("Add", total, graph("Gather", product, np.int64(place - lower), axis=2))
        found.append(graph("Mod", total, np.int64(BASE)))
    code = graph("Add", found[2], graph("Mul", found[3], np.int64(BASE)))
    return graph("Transpose", code, perm=[1, 0])
