"""What a fitted basis from a file may hold."""

from __future__ import annotations

from ..fields import LARGEST, Check, flag, number, shown, whole

SEEDS = 1 << 64
NARROW = 1e30  # of numbers by which float32 is multiplied or divided
# Parameters of bases that their `fit` does not look at.
PARAMETERS: dict[str, Check] = {
    "pairs": flag,
    "center": flag,
    "structured": flag,
    "sparse_output": flag,
    "scale": number(1.0 / NARROW, NARROW),
    "bias_scale": number(0.0, NARROW),
    "random_state": whole(-SEEDS, SEEDS),
}
# Fitted numbers, by their names: those of floats are lengths and scales, which are multiplied and divided by.
FITTED: dict[str, Check] = {
    "seed_": whole(-SEEDS, SEEDS),
    "shift_": whole(0, 62),
    "rescale_shift_": whole(1, 62),
    "table_shift_": whole(1, 62),
    "clipped_fraction_": number(0.0, 1.0),
}


def largest_factor(precision: str | None) -> float:
    """The largest number from a file that features are multiplied or divided by."""
    return NARROW if precision == "float32" else LARGEST


def require_like(name: str, value: object, expected: object, precision: str | None) -> None:
    """Refuse a fitted value from a file that is not of the kind that a fit gives."""
    widest = largest_factor(precision)
    sound = type(value) is type(expected)
    if name in FITTED:
        sound = sound and FITTED[name](value)
    elif isinstance(value, float):
        sound = sound and 1.0 / widest <= value <= widest
    elif isinstance(value, int):
        sound = sound and 0 <= value < 2**31
    if not sound:
        raise ValueError(f"{name} is {shown(value)}, which no fit gives")
