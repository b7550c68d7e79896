"""The few hot loops, and dense linear algebra. Each op has one slow obvious meaning and may have fast versions.

`ops.fwht(x)` is served by whichever backend takes the array x: numpy arrays by native code where it takes their dtype
and layout, else by the definitions in `reference`, `reference_sums`, `reference_pictures` and `linear_algebra`; torch
tensors by `torch_reference` and `torch_linear_algebra`, on their device, which are imported with the first tensor that
comes. The environment variable BOCHNER_BACKEND (say "reference") or `backend_context` narrows the choice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import streams
from ..arrays import Array, dtype_name
from . import devices, dispatch, linear_algebra, native, reference
from .dispatch import (
    BACKENDS,
    OPS,
    Backend,
    Op,
    Tiles,
    backend_context,
    has_fast,
    library_of,
    register,
    tiles_for,
    unregister,
    use_backends,
)
from .linear_algebra import Factor, TridiagonalForm
from .reference import NotFiniteError, cosine_table

__all__ = [
    "BACKENDS", "OPS", "Backend", "Factor", "NotFiniteError", "Op", "Tiles", "TridiagonalForm", "backend_context",
    "cosine_table", "describe", "devices", "has_fast", "library_of", "linear_algebra", "native", "projects_dense",
    "reference", "register", "tiles_for", "unregister", "use_backends",
]  # fmt: skip

for backend in (native.BACKEND, dispatch.REFERENCE):
    register(backend)
globals().update(OPS)
streams.generate = OPS["philox"]  # type: ignore[assignment]  # streams stand below ops, so they are told

if os.environ.get("BOCHNER_BACKEND"):
    use_backends(*os.environ["BOCHNER_BACKEND"].split(","))

if TYPE_CHECKING:  # every op is declared beside its definition, by `@op`

    def __getattr__(name: str) -> Callable[..., Any]: ...


def projects_dense(rows: Array) -> bool:
    """Whether float projections of such rows are used up while they are in cache, and never kept."""
    if library_of(rows) == "torch":
        return dtype_name(rows) == "float32" and has_fast("dense_cos_sin", rows)
    return has_fast("dense_cos_sin") and native.projects(rows.dtype)


def describe() -> dict[str, Any]:
    """What serves each op, for numpy arrays and, if torch is imported, for tensors; and which instructions are used."""
    served = dispatch.described()
    return {
        "ops": served["numpy"],
        **({"torch": served["torch"]} if "torch" in served else {}),
        "instruction_set": native.instruction_set(),
        "available": native.instruction_sets(),
    }
