"""The native backend: each of its functions says beside itself what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch import Backend, Function
from .instruction_sets import _native

BACKEND = Backend("native")
FLOATS, CODES = ("float32", "float64"), ("int8", "uint8")
NUMBERS = (*FLOATS, "int32")  # that transforms and pools are compiled for
FEATURES = ("int8", "int16")


def serves(name: str | None = None, **takes: Any) -> Callable[[Function], Function]:
    """As Backend.serves, if the extension is there."""
    return BACKEND.serves(name, **takes) if _native is not None else lambda function: function
