"""Numbers as a reader wants them: as many digits as the error of each has; without an error as printed, or three."""

from __future__ import annotations

import math
from typing import Any

MINUS, NOTHING, FIXED = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NO-BREAK SPACE}"


def cells(comparison: dict[str, Any]) -> dict[str, str]:
    """`printed`, `ours` and `difference` of a comparison as text."""
    unit, printed, spread = comparison["unit"], comparison["printed"], comparison["printed_spread"]
    theirs = None if printed is None else places(printed, spread, as_printed(printed))
    ours = places(comparison["ours"], comparison["spread"], theirs)
    if theirs is not None and not comparison["spread"]:
        ours = min(max(ours, figures(comparison["ours"], 2)), theirs + 2)
    coarser = ours if theirs is None else min(ours, theirs)
    difference = comparison["difference"]
    if difference is not None and abs(difference) < 1e-9 * abs(comparison["ours"]):
        difference = 0.0  # rounding of the last digit of a float
    return {
        "printed": with_spread(printed, spread, theirs or 0, unit),
        "ours": with_spread(comparison["ours"], comparison["spread"], ours, unit),
        "difference": signed(difference, coarser),
    }


def places(value: float, spread: float | None, otherwise: int | None) -> int:
    """Decimals: to the first figure of the spread, to the second if that is a one."""
    if spread:
        first = figures(spread, 1)
        return min(first + (1 if round(spread * 10**first) == 1 else 0), 6)
    return min(figures(value, 3), 6) if otherwise is None else otherwise


def as_printed(value: float) -> int:
    """Decimals that a number has, if it is one that people print: of a measured one they would be no use."""
    text = f"{value:.10g}"
    digits = 0 if "e" in text else len(text.partition(".")[2])
    return digits if digits <= max(figures(value, 4), 0) else figures(value, 3)


def figures(value: float, count: int) -> int:
    """Decimals that show so many figures of a value."""
    return max(0, count - 1 - math.floor(math.log10(abs(value)))) if value else 0


def with_spread(value: float | None, spread: float | None, decimals: int, unit: str) -> str:
    if value is None:
        return NOTHING
    # A line may break before the spread, never between a number and its sign or unit.
    text = plain(value, decimals) + ("" if not spread else f" ±{FIXED}{plain(spread, decimals)}")
    return f"{text}{FIXED}{unit}".rstrip()


def signed(value: float | None, decimals: int) -> str:
    if value is None:
        return NOTHING
    text = plain(value, decimals)
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def plain(value: float, decimals: int) -> str:
    if value and not 1e-5 <= abs(value) < 1e9:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.{decimals}f}"
    return text.replace("-", MINUS) if text.strip("-0.,") else text.lstrip("-")


def said(value: Any) -> str:
    """A setting in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {said(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(said(item) for item in value)
    return "none" if value is None else str(value)


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
