"""Fourier and Fastfood in ONNX: each column is the cosine of a projection plus an angle of its own.

The sine of a pair is the cosine three quarters of a turn on, and cos t is written sin(t + a quarter): until 2026
onnxruntime had a sine of doubles and no cosine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..bases import Basis, Fastfood, FixedFourier, RandomFourier
from ..bases.frequencies import TABLE_BITS, TURN
from ..bases.hadamard import Expansion
from . import integers
from .graph import Graph
from .hadamard import expand


def fourier(graph: Graph, basis: RandomFourier | FixedFourier, rows: str, dtype: Any) -> str:
    *directions, words = basis._weights(0, basis._units()[0], dtype)
    if not basis._is_integer:
        return _waves(graph, basis, graph.project(rows, directions[0]), words, dtype)
    if len(directions) == 1:
        return _integer_waves(graph, basis, integers.project_phase(graph, rows, directions[0]), words)
    phases = integers.phase(graph, graph.project(rows, directions[0]), directions[1])
    return _integer_waves(graph, basis, phases, words)


def fastfood(graph: Graph, basis: Fastfood, rows: str, dtype: Any) -> str:
    *drawn, calibration, words, _ = basis._weights(0, basis._units()[0], dtype)
    shift = basis.shift_ if basis._is_integer else 0
    projections = expand(graph, rows, Expansion(*drawn), basis.n_features_in_, shift)
    if basis._is_integer:
        return _integer_waves(graph, basis, integers.phase(graph, projections, calibration.ravel()), words)
    return _waves(graph, basis, graph("Mul", projections, graph.double(calibration.ravel())), words, dtype)


def _layout(columns: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each column: its frequency, and its angle in units of 2^-32 turns."""
    pairs = (columns - len(words)) // 2
    frequencies = np.concatenate([np.repeat(np.arange(pairs), 2), pairs + np.arange(len(words))])
    return frequencies, np.concatenate([np.tile([0, 3 << 30], pairs), words]).astype(np.int64)


def _waves(graph: Graph, basis: Basis, projections: str, words: np.ndarray, dtype: Any) -> str:
    frequencies, angles = _layout(basis._m, words)
    quarter_on = (angles + (1 << 30)) % 2**32 * (TURN * 2.0**-32)
    turned = graph("Add", graph.columns(projections, frequencies), quarter_on)
    return graph.scaled(graph("Sin", turned), np.sqrt(2.0 / basis._m), basis._m, dtype)


def _integer_waves(graph: Graph, basis: Basis, phases: str, words: np.ndarray) -> str:
    frequencies, angles = _layout(basis._m, words)
    table = ops.cosine_table(TABLE_BITS[str(basis.precision)], basis._limit)
    return integers.cosines(graph, graph("Add", graph.columns(phases, frequencies), angles), table)
