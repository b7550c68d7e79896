"""What stands before and beside a basis, as nodes: scaled columns, and the columns themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.design import DesignMap
from ..maps.linear import DIGIT, LARGEST, PARTS, REACH, STEP
from ..maps.scaling import FAR, ColumnScaler
from .graph import Graph


def encoded(graph: Graph, rows: str, recipe: Any, working: np.dtype) -> tuple[str, np.dtype]:
    """Columns of numbers as a recipe makes them, if there is one, and the type that they have then."""
    if recipe is not None and not recipe.is_exportable:
        raise ValueError("the rows were made by a TableEncoder, which the ONNX file cannot hold: encode them first.")
    if recipe is not None and recipe.missing == "mean":
        rows = graph("Where", graph("IsNaN", graph.double(rows)), recipe.means, graph.double(rows))
        rows = graph.cast(rows, working)
    if recipe is not None and recipe.standardize:
        rows = graph("Div", graph("Sub", graph.double(rows), recipe.means), recipe.deviations)
        working = np.dtype(recipe.dtype)
        rows = graph.cast(rows, working)
    return rows, working


def scaled(graph: Graph, rows: str, scaler: ColumnScaler, working: np.dtype) -> tuple[str, np.dtype]:
    """Rows in double as the scaler makes them, and the type that they have then."""
    working = np.dtype(np.float32 if working == np.float32 else np.float64)
    z = graph("Div", graph("Sub", within(graph, rows, scaler), scaler.center), scaler.spread)
    z = graph("Clip", z, np.float64(-FAR), np.float64(FAR))
    if scaler.clip:
        share = graph("Div", z, np.float64(scaler.clip))
        z = graph("Div", z, graph("Sqrt", graph("Add", np.float64(1.0), graph("Mul", share, share))))
    return graph.cast(z, working), working


def within(graph: Graph, rows: str, scaler: ColumnScaler) -> str:
    return graph("Max", graph("Min", rows, scaler.high), scaler.low)


def linear(graph: Graph, rows: str, design: DesignMap) -> str:
    """The columns of the linear part, in double: weighted numbers, or codes where features are integers."""
    part = design.linear
    assert part is not None
    rows = rows if design.scaler is None else within(graph, rows, design.scaler)
    z, has_bytes = graph("Div", graph("Sub", rows, part.center), part.spread), design.linear_columns > design.inputs
    if has_bytes and part.unit is not None:
        units = graph("Clip", graph("Div", z, part.unit), np.float64(-LARGEST), np.float64(LARGEST))
        whole = graph("Round", units)
        parts = graph("Round", graph("Mul", graph("Sub", units, whole), np.float64(PARTS)))
        return graph("Concat", whole, parts, axis=1)
    reach = np.float64(REACH if design.is_integer else FAR)
    z = graph("Clip", z, -reach, reach)
    if not design.is_integer:
        return graph("Mul", z, part.weight)
    code = graph("Round", graph("Div", z, np.float64(STEP)))
    if not has_bytes:
        return code
    high = graph.double(graph.integer(graph("Div", code, np.float64(DIGIT))))  # toward zero
    return graph("Concat", high, graph("Sub", code, graph("Mul", high, np.float64(DIGIT))), axis=1)
