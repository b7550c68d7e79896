"""What the values in a file may be: a table has a line for each name, and one function checks all of them.

A check is a function that says whether a value is sound: of the right type and shape, finite, and in its range. What
has passed the checks of a table can be worked with, so that a file of right form and hostile content ends in one
sentence when it is loaded, and not in some error later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Check = Callable[[Any], bool]

LARGEST = 1e100  # of numbers whose squares are added up
SMALLEST = 1e-100  # of numbers that are divided by
MOST = 1 << 53  # of rows, steps and the like
FLOATS = ("float64", "float32")
TOGETHER = 1 << 22  # numbers of an array that are looked at together


def require_fields(values: object, table: Mapping[str, Check], optional: Iterable[str] = ()) -> None:
    """Refuse what a table does not name, what its checks find unsound, and what is missing."""
    if not isinstance(values, Mapping):
        raise ValueError(f"names and values are expected, and not {shown(values)}")
    unknown = [name for name in values if name not in table]
    if unknown:
        raise ValueError(f"{shown(unknown[0])} is not known here")
    require_present(values, set(table) - set(optional))
    require_sound(values, table)


def require_present(values: Mapping[str, Any], wanted: Iterable[str]) -> None:
    missing = set(wanted) - set(values)
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")


def require_sound(values: Mapping[str, Any], table: Mapping[str, Check]) -> None:
    """Refuse what the checks of a table find unsound; names that it does not have are left alone."""
    for name, value in values.items():
        check = table.get(name)
        if check is not None and not check(value):
            raise ValueError(f"{name} is {shown(value)}, which no fit gives")


def shown(value: object) -> str:
    """A value in few words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{value!r:.60}"


# ---- checks of single values ----


def number(low: float = -LARGEST, high: float = LARGEST) -> Check:
    """A number from low to high."""
    return lambda value: type(value) in (int, float) and low <= value <= high


def whole(low: int = 0, high: int = MOST) -> Check:
    """An integer from low to high."""
    return lambda value: type(value) is int and low <= value <= high


def text(*choices: str) -> Check:
    """Text; one of the choices, if there are any."""
    return lambda value: isinstance(value, str) and (not choices or value in choices)


def flag(value: object) -> bool:
    """True or False, or the numbers 1 and 0 for them."""
    return type(value) in (bool, int) and value in (0, 1)


def nothing(value: object) -> bool:
    return value is None


def instance(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def pairs(key: Check, value: Check) -> Check:
    """A dictionary of such keys and values."""
    return lambda given: type(given) is dict and all(key(k) and value(v) for k, v in given.items())


def several(check: Check, most: int = 8) -> Check:
    """A tuple of such values."""
    return lambda value: type(value) is tuple and len(value) <= most and all(map(check, value))


# ---- checks of arrays ----


def numbers(
    *shape: int | None, dtypes: tuple[str, ...] = ("float64",), low: float = -LARGEST, high: float = LARGEST
) -> Check:
    """An array of finite numbers from low to high; a length of None is any length."""

    def check(value: object) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.name not in dtypes or value.ndim != len(shape):
            return False
        if any(wanted not in (None, there) for wanted, there in zip(shape, value.shape, strict=True)):
            return False
        return lies_within(value, low, high)

    return check


def names(count: int | None = None) -> Check:
    """An array of text, one for each of so many columns."""

    def check(value: object) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "OU":
            return False
        return count in (None, len(value)) and all(isinstance(item, str) for item in value.tolist())

    return check


def labels(value: object) -> bool:
    """An array of at least two classes: text, truth values, or whole numbers."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
        return False
    if value.dtype.kind == "f":
        return lies_within(value, -LARGEST, LARGEST) and bool((value == np.rint(value)).all())
    return value.dtype.kind in "biuU" or names()(value)


def lies_within(array: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers are finite and from low to high; some rows at a time, since the array may fill the memory."""
    rows = max(1, TOGETHER * max(len(array), 1) // max(array.size, 1)) if array.ndim else 1
    parts = (array[start : start + rows] for start in range(0, len(array), rows)) if array.ndim else iter([array])
    if array.dtype.kind == "f":
        low, high = max(low, float(np.finfo(array.dtype).min)), min(high, float(np.finfo(array.dtype).max))
    # NaN fails both comparisons.
    return all(bool(((part >= low) & (part <= high)).all()) for part in parts)
