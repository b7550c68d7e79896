"""The door to the C++ kernels: numpy arrays in, numpy arrays out. Empty if the extension was not built.

The C++ functions take contiguous arrays, work on one thread and release the GIL. The best instruction set of this
machine is chosen at import; BOCHNER_INSTRUCTION_SET (avx512, avx2, baseline) asks for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from bochner.ops import _native  # type: ignore[attr-defined]
except ImportError:
    _native = None


def instruction_sets() -> list[str]:
    """Those that are compiled in and that this machine can run, best first."""
    return list(_native.instruction_sets()) if _native else []


def instruction_set() -> str | None:
    return str(_native.instruction_set()) if _native else None


def use_instruction_set(name: str) -> None:
    if name not in instruction_sets():
        raise ValueError(f"instruction set {name!r} is not available here: choose from {instruction_sets()}.")
    _native.use_instruction_set(name)


def fwht(x: np.ndarray) -> np.ndarray:
    out = np.array(x, order="C")
    _native.fwht(out.reshape(-1, out.shape[-1]))
    return out


def fastfood(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, calibration: np.ndarray
) -> np.ndarray:
    out = np.empty((len(x), signs.size), dtype=x.dtype)
    weights = (np.ascontiguousarray(w, dtype=x.dtype) for w in (gaussian, calibration))
    _native.fastfood(np.ascontiguousarray(x), signs, permutation, *weights, out)
    return out


def fastfood_integer(
    x: np.ndarray, signs: np.ndarray, permutation: np.ndarray, gaussian: np.ndarray, shift: int
) -> np.ndarray:
    out = np.empty((len(x), signs.size), dtype=np.int32)
    _native.fastfood_integer(np.ascontiguousarray(x, dtype=np.int32), signs, permutation, gaussian, shift, out)
    return out


def maxout(projections: np.ndarray, pool_size: int) -> np.ndarray:
    out = np.empty((len(projections), projections.shape[1] // pool_size), dtype=projections.dtype)
    _native.maxout(np.ascontiguousarray(projections), pool_size, out)
    return out


def winners(projections: np.ndarray, pool_size: int) -> np.ndarray:
    out = np.empty((len(projections), projections.shape[1] // pool_size), dtype=np.int32)
    _native.winners(np.ascontiguousarray(projections), pool_size, out)
    return out


def stumps(x: np.ndarray, coordinates: np.ndarray, thresholds: np.ndarray, height: np.number) -> np.ndarray:
    out = np.empty((len(x), len(coordinates)), dtype=height.dtype)
    _native.stumps(
        np.ascontiguousarray(x),
        coordinates,
        np.ascontiguousarray(thresholds, dtype=x.dtype),
        height.item(),
        out,
    )
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {}
if _native is not None:
    FUNCTIONS = {f.__name__: f for f in (fwht, fastfood, fastfood_integer, maxout, winners, stumps)}
    if os.environ.get("BOCHNER_INSTRUCTION_SET"):
        use_instruction_set(os.environ["BOCHNER_INSTRUCTION_SET"])
