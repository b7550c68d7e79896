"""The extension itself, if it was built, and which instruction set it uses."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_native: Any
try:
    _native = import_module("bochner.ops._native")
except ImportError:
    _native = None

PLAIN = "baseline"
EMULATED = "amx_emulated"  # the code of amx with tiles in plain C++: slow, for tests on machines without


def instruction_sets() -> list[str]:
    """Those that are compiled in and that this machine can run, best first."""
    return [name for name in _native.instruction_sets() if name != EMULATED] if _native else []


def instruction_set() -> str | None:
    return str(_native.instruction_set()) if _native else None


def use_instruction_set(name: str) -> None:
    if _native is None:
        raise ValueError("an instruction set was asked for, but the extension is not installed.")
    if name not in (*instruction_sets(), EMULATED):
        reason = f" ({_native.amx_refusal()})" if name == "amx" else ""
        raise ValueError(
            f"instruction set {name!r} is not available here{reason}: choose from {', '.join(instruction_sets())}."
        )
    _native.use_instruction_set(name)
