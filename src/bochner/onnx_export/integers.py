"""The integer pipeline in ONNX, bit for bit.

Integers are carried in doubles, which hold them exactly below 2^53; only fixed-point products need int64. ONNX's
integer Div rounds towards zero and its BitShift has no sign, so shifts to the right are made of Mod, whose result is
never negative.
"""

from __future__ import annotations

import numpy as np

from ..maps.quantize import Quantizer
from .graph import Graph


def codes(graph: Graph, rows: str, quantizer: Quantizer) -> str:
    """round((x - center)/step), halves to even, saturated."""
    steps = graph("Div", graph("Sub", rows, quantizer.center), np.float64(quantizer.step))
    return graph("Clip", graph("Round", steps), np.float64(quantizer.low), np.float64(quantizer.high))


def shift_right(graph: Graph, values: str, bits: int) -> str:
    """floor(v / 2^bits) of int64."""
    divisor = np.int64(1 << bits)
    return graph("Div", graph("Sub", values, graph("Mod", values, divisor)), divisor)


def fixed_point(
    graph: Graph, values: str, multiplier: int | np.ndarray, shift: int, offsets: int | np.ndarray = 0
) -> str:
    """round((v multiplier + offset) / 2^shift), halves upwards; doubles in and out."""
    product = graph("Mul", graph.integer(values), np.asarray(multiplier, dtype=np.int64))
    rounded = graph("Add", product, np.asarray(offsets, dtype=np.int64) + np.int64(1 << (shift - 1)))
    return graph.double(shift_right(graph, rounded, shift))


def rescale(graph: Graph, values: str, multiplier: int, shift: int, limit: int) -> str:
    scaled = fixed_point(graph, values, multiplier, shift)
    return graph("Clip", scaled, np.float64(-limit), np.float64(limit))


def lookup(graph: Graph, values: str, multiplier: int, shift: int, offsets: np.ndarray, table: np.ndarray) -> str:
    """table[round((v multiplier + offset) / 2^shift) + half its length], saturated at its ends."""
    index = graph("Add", fixed_point(graph, values, multiplier, shift, offsets), np.float64(len(table) // 2))
    index = graph("Clip", index, np.float64(0), np.float64(len(table) - 1))
    return graph("Gather", graph.double(table), graph.integer(index))


def phase(graph: Graph, projections: str, multipliers: np.ndarray) -> str:
    """P M, of which the last 32 bits are the phase. Signed multipliers keep it below 2^62."""
    return graph("Mul", graph.integer(projections), graph.integer(multipliers.view(np.int32)))


def project_phase(graph: Graph, rows: str, frequencies: np.ndarray) -> str:
    """x F', of which the last 32 bits are the phase: the 16-bit halves of F in double, as in ops.project_phase."""
    low = graph.integer(graph.project(rows, frequencies.astype(np.uint16)))
    high = graph.integer(graph.project(rows, (frequencies >> np.uint32(16)).astype(np.uint16)))
    return graph("Add", low, graph("Mul", high, np.int64(1 << 16)))


def cosines(graph: Graph, phases: str, table: np.ndarray) -> str:
    """The table at phases in units of 2^-32 turns, rounded to as many bits as the table has."""
    step = 2**32 // len(table)
    wrapped = graph("Mod", graph("Add", phases, np.int64(step // 2)), np.int64(2**32))
    return graph("Gather", graph.double(table), graph("Div", wrapped, np.int64(step)))
