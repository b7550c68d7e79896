"""Fourier and Fastfood in ONNX: each column is the cosine of a projection plus an angle of its own.

The sine of a pair is the cosine three quarters of a turn on, and cos t is written sin(t + a quarter): until 2026
onnxruntime had a sine of doubles and no cosine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from ..maps import FastfoodMap, FixedFourierMap, FourierMap
from ..maps.frequencies import TURN, WaveMap
from ..maps.hadamard import Expansion
from . import integers
from .graph import Graph
from .hadamard import expand


def fourier(graph: Graph, feature_map: FourierMap | FixedFourierMap, rows: str, dtype: DTypeLike) -> str:
    *directions, words = feature_map.weights(dtype=dtype)
    if not feature_map.is_integer:
        return _waves(graph, feature_map, graph.project(rows, directions[0]), words, dtype)
    if len(directions) == 1:
        return _integer_waves(graph, feature_map, integers.project_phase(graph, rows, directions[0]), words)
    phases = integers.phase(graph, graph.project(rows, directions[0]), directions[1])
    return _integer_waves(graph, feature_map, phases, words)


def fastfood(graph: Graph, feature_map: FastfoodMap, rows: str, dtype: DTypeLike) -> str:
    *drawn, calibration, words, _ = feature_map.weights(dtype=dtype)
    shift = feature_map.shift if feature_map.is_integer else 0
    projections = expand(graph, rows, Expansion(*drawn), feature_map.inputs, shift)
    if feature_map.is_integer:
        return _integer_waves(graph, feature_map, integers.phase(graph, projections, calibration.ravel()), words)
    return _waves(graph, feature_map, graph("Mul", projections, graph.double(calibration.ravel())), words, dtype)


def _layout(columns: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each column: its frequency, and its angle in units of 2^-32 turns."""
    pairs = (columns - len(words)) // 2
    frequencies = np.concatenate([np.repeat(np.arange(pairs), 2), pairs + np.arange(len(words))])
    return frequencies, np.concatenate([np.tile([0, 3 << 30], pairs), words]).astype(np.int64)


def _waves(graph: Graph, feature_map: WaveMap, projections: str, words: np.ndarray, dtype: DTypeLike) -> str:
    frequencies, angles = _layout(feature_map.columns, words)
    quarter_on = (angles + (1 << 30)) % 2**32 * (TURN * 2.0**-32)
    turned = graph("Add", graph.columns(projections, frequencies), quarter_on)
    return graph.scaled(graph("Sin", turned), np.sqrt(2.0 / feature_map.columns), feature_map.columns, dtype)


def _integer_waves(graph: Graph, feature_map: WaveMap, phases: str, words: np.ndarray) -> str:
    frequencies, angles = _layout(feature_map.columns, words)
    return integers.cosines(graph, graph("Add", graph.columns(phases, frequencies), angles), feature_map.cosine_table())
