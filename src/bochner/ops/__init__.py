"""The few hot loops. Each has one slow obvious meaning in `reference` and may have fast versions.

`TABLE[op, backend]` is the function; calling `ops.fwht(...)` takes the first backend in ORDER that has it. The choice
can be narrowed by the environment variable BOCHNER_BACKEND (say "reference") or by `backend_context`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import streams
from . import native, reference

ORDER = ("native", "reference")
NAMES = (
    "fwht", "fastfood", "maxout", "winners", "gates", "stumps", "cos_sin", "bins", "fastfood_cos_sin", "binned",
    "dense_cos_sin", "dense_maxout", "dense_winners",
    "quantize", "project", "project_phase", "phase", "cos_sin_integer", "fastfood_integer", "calibrate", "rescale",
    "lookup",
    "project_cos_sin", "project_maxout", "project_winners", "project_lookup", "fastfood_cos_sin_integer",
    "gram", "float_gram", "cross", "scores", "philox",
)  # fmt: skip
TABLE: dict[tuple[str, str], Callable[..., Any]] = {(name, "reference"): getattr(reference, name) for name in NAMES}
TABLE.update({(name, "native"): function for name, function in native.FUNCTIONS.items()})

_allowed: tuple[str, ...] = ORDER


def use_backends(*backends: str) -> None:
    """Allow only these backends; the reference is always among them, because it is the meaning of an op."""
    global _allowed
    unknown = [b for b in backends if b not in ORDER]
    if unknown:
        raise ValueError(f"BOCHNER_BACKEND or use_backends: {unknown[0]!r} is not one of {', '.join(ORDER)}.")
    if "native" in backends and not native.FUNCTIONS:
        raise ValueError("the native backend was asked for, but the extension is not installed.")
    _allowed = tuple(b for b in ORDER if b in backends or b == "reference")


@contextmanager
def backend_context(*backends: str) -> Iterator[None]:
    global _allowed
    before = _allowed
    use_backends(*backends)
    try:
        yield
    finally:
        _allowed = before


def has_fast(name: str) -> bool:
    """Whether an op is served by more than its definition."""
    return any((name, backend) in TABLE for backend in _allowed if backend != "reference")


def projects_dense(dtype: Any) -> bool:
    """Whether float projections of that dtype are used up while they are in cache, and never kept."""
    return has_fast("dense_cos_sin") and native.projects(dtype)


def describe() -> dict[str, Any]:
    """Which backend serves each op, and which instruction set the native code uses."""
    chosen = {name: next(b for b in _allowed if (name, b) in TABLE) for name in NAMES}
    return {
        "ops": chosen,
        "instruction_set": native.instruction_set(),
        "available": native.instruction_sets(),
    }


class Op:
    """A name that looks its function up at each call, so that a change of backend takes effect everywhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = getattr(reference, name).__doc__

    def __call__(self, *arguments: Any) -> Any:
        for backend in _allowed:
            function = TABLE.get((self.name, backend))
            if function is not None:
                return function(*arguments)
        raise LookupError(f"no backend has the op {self.name!r}.")


fwht, fastfood, maxout, winners, gates, stumps, cos_sin, bins, fastfood_cos_sin, binned = map(Op, NAMES[:10])
dense_cos_sin, dense_maxout, dense_winners = map(Op, NAMES[10:13])
quantize, project, project_phase, phase, cos_sin_integer, fastfood_integer, calibrate, rescale, lookup = map(
    Op, NAMES[13:22]
)
project_cos_sin, project_maxout, project_winners, project_lookup, fastfood_cos_sin_integer = map(Op, NAMES[22:27])
gram, float_gram, cross, scores, philox = map(Op, NAMES[27:])
cosine_table, NotFiniteError = reference.cosine_table, reference.NotFiniteError
streams.generate = philox  # streams stand below ops, so they are told

if os.environ.get("BOCHNER_BACKEND"):
    use_backends(*os.environ["BOCHNER_BACKEND"].split(","))
