"""Numbers as a reader wants them: as many decimals as were printed, or three figures; one number of decimals a row."""

from __future__ import annotations

import math
from typing import Any

MINUS, NOTHING, FIXED = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NO-BREAK SPACE}"


def cells(comparison: dict[str, Any]) -> dict[str, str]:
    """`printed`, `ours` and `difference` of a comparison as text."""
    places = decimals(comparison)
    unit = comparison["unit"]
    return {
        "printed": with_spread(comparison["printed"], comparison["printed_spread"], places, unit),
        "ours": with_spread(comparison["ours"], comparison["spread"], places, unit),
        "difference": signed(comparison["difference"], places),
    }


def decimals(comparison: dict[str, Any]) -> int:
    """Enough for what was printed, for three figures of the larger and two of ours, and for the first of a spread."""
    larger = max(abs(comparison["ours"]), abs(comparison["printed"] or 0.0))
    needed = [figures(larger, 3), figures(comparison["ours"], 2)]
    needed += [as_printed(comparison[part]) for part in ("printed", "printed_spread") if comparison[part] is not None]
    if comparison["spread"]:
        needed.append(figures(comparison["spread"], 1))
    return min(max(needed), 6)


def as_printed(value: float) -> int:
    """Decimals that a number has, if it is one that people print: of a measured one they would be no use."""
    text = f"{value:.10g}"
    places = 0 if "e" in text else len(text.partition(".")[2])
    return places if places <= figures(value, 4) else 0


def figures(value: float, count: int) -> int:
    """Decimals that show so many figures of a value."""
    return max(0, count - 1 - math.floor(math.log10(abs(value)))) if value else 0


def with_spread(value: float | None, spread: float | None, places: int, unit: str) -> str:
    if value is None:
        return NOTHING
    # A line may break before the spread, never between a number and its sign or unit.
    text = plain(value, places) + ("" if spread is None else f" ±{FIXED}{plain(spread, places)}")
    return f"{text}{FIXED}{unit}".rstrip()


def signed(value: float | None, places: int) -> str:
    if value is None:
        return NOTHING
    text = plain(value, places)
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def plain(value: float, places: int) -> str:
    if value and not 1e-5 <= abs(value) < 1e9:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.{places}f}"
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
