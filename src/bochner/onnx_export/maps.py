"""Maps as nodes: one function per kind of units, and what composes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..maps import (
    AxisCellsMap,
    BinsMap,
    DesignMap,
    FastfoodMap,
    FeatureMap,
    FixedFourierMap,
    FourierMap,
    GatedMap,
    MaxoutMap,
    Metric,
    ObliqueCellsMap,
    PatchMap,
    RidgeMap,
    StumpsMap,
    ThresholdMap,
    Union,
    UnitMap,
)
from .cells import axis_cells, bins, oblique_cells, stumps
from .graph import Graph
from .integers import codes
from .patches import patches, threshold
from .pools import gated, maxout
from .preparation import linear, scaled
from .ridge import ridge
from .waves import fastfood, fourier

EXPORTERS: dict[type[FeatureMap], Callable[[Graph, Any, str, Any], str]] = {
    FourierMap: fourier,
    FixedFourierMap: fourier,
    FastfoodMap: fastfood,
    MaxoutMap: maxout,
    GatedMap: gated,
    StumpsMap: stumps,
    BinsMap: bins,
    AxisCellsMap: axis_cells,
    ObliqueCellsMap: oblique_cells,
    RidgeMap: ridge,
    ThresholdMap: threshold,
}


def columns_of(graph: Graph, feature_map: FeatureMap, rows: str, working: np.dtype) -> str:
    """The features of rows, in double, as are the rows; `working` is the type in which the library has them."""
    if isinstance(feature_map, DesignMap):
        return _design(graph, feature_map, rows, working)
    if isinstance(feature_map, Union):
        parts = [graph.double(columns_of(graph, one, rows, working)) for one in feature_map.maps]
        return graph("Concat", *parts, axis=1)
    if isinstance(feature_map, Metric):
        moved, working = _moved(graph, feature_map, rows, working)
        return columns_of(graph, feature_map.map, moved, working)
    if isinstance(feature_map, PatchMap):
        return patches(graph, feature_map, rows, working, _of_units)
    assert isinstance(feature_map, UnitMap)
    if feature_map.precision in ("float32", "float64"):
        working = np.dtype(feature_map.precision)
        rows = graph.double(graph.cast(rows, working))
    if feature_map.quantizer is not None:
        rows = codes(graph, rows, feature_map.quantizer)
    return _of_units(graph, feature_map, rows, working)


def _of_units(graph: Graph, feature_map: UnitMap, rows: str, working: np.dtype) -> str:
    """The features of rows as the units take them."""
    return EXPORTERS[type(feature_map)](graph, feature_map, rows, working)


def _design(graph: Graph, design: DesignMap, rows: str, working: np.dtype) -> str:
    given = rows
    if design.scaler is not None:
        rows, working = scaled(graph, given, design.scaler, working)
    columns = columns_of(graph, design.map, graph.double(rows), working)
    if design.linear is None:
        return columns
    return graph("Concat", linear(graph, given, design), graph.double(columns), axis=1)


def _moved(graph: Graph, metric: Metric, rows: str, working: np.dtype) -> tuple[str, np.dtype]:
    """x R in double, of integer maps bit for bit; and the type that the library has it in."""
    working = np.dtype(np.float32 if working == np.float32 else np.float64)
    if metric.quantizer is None:
        matrix = graph.double(metric.matrix.astype(working))
        moved = graph("Mul" if metric.matrix.ndim == 1 else "MatMul", rows, matrix)
        return graph.double(graph.cast(moved, working)), working
    whole, target, double = metric.integers, metric.target, np.dtype(np.float64)
    sums = graph.project(codes(graph, rows, metric.quantizer), whole.entries.T)
    sums = graph("Add", sums, whole.offset.astype(np.float64))
    if target is None:
        return graph("Mul", sums, np.float64(metric.quantizer.step * 2.0**-whole.shift)), double
    halves = graph("Add", sums, np.float64((1 << whole.shift) >> 1))
    code = graph("Floor", graph("Div", halves, np.float64(1 << whole.shift)))
    code = graph("Clip", code, np.float64(target.low), np.float64(target.high))
    return graph("Add", graph("Mul", code, np.float64(target.step)), target.center), double


def parts(feature_map: FeatureMap) -> list[FeatureMap]:
    """The maps that a map is composed of, down to those of units."""
    if isinstance(feature_map, Union):
        return [part for one in feature_map.maps for part in parts(one)]
    return parts(feature_map.map) if isinstance(feature_map, DesignMap | Metric | PatchMap) else [feature_map]


def require_form(feature_map: FeatureMap) -> None:
    for part in parts(feature_map):
        if type(part) not in EXPORTERS:
            names = ", ".join(kind.name for kind in EXPORTERS)
            raise ValueError(f"{part.name} cannot be exported to ONNX; those that can: {names}.")


def stored_bytes(feature_map: FeatureMap, dtype: str) -> int:
    """The bytes of weights that a file will hold."""
    width = 1 if feature_map.is_integer else np.dtype(dtype).itemsize
    units = [part.units for part in parts(feature_map) if isinstance(part, UnitMap)]
    return sum(count * drawn * width for count, drawn, _ in units)
