"""What a piece of text says: a number, one with a decimal comma, a date, or nothing at all."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

SHARE = 0.95  # of the texts that say something must be numbers for a column of text to be one of numbers
MISSING = frozenset(
    {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "#na", "<na>", "nan", "nat", "null", "none", "nil", "missing"}
)
END = r"([eE][+-]?\d+)?|[+-]?(inf|infinity)"
NUMBER = re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){END}", re.ASCII | re.IGNORECASE)
COMMA = re.compile(rf"[+-]?(\d+,?\d*|,\d+){END}", re.ASCII | re.IGNORECASE)
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)  # 1,234,567.8
GROUPED_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?", re.ASCII)  # 1.234.567,8
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)  # 1,234 may be more than a thousand, or a little over 1
CODE = re.compile(r"0\d+", re.ASCII)  # such as 00501, which would lose its zeros
SLASHED = re.compile(r"\d{1,2}([/.-])\d{1,2}\1(\d{4}|\d\d)( .*)?", re.ASCII)  # 03/04/2021: the 4th of March, or not
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?", re.ASCII)
DAY = timedelta(days=1)
UNITS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}  # in a day
SHOWN = 5  # tokens, in a message
NAMES = {
    "number": "numbers", "comma": "numbers", "date": "dates", "grouped number": "numbers", "grouped comma": "numbers",
}  # fmt: skip


def is_missing(token: str) -> bool:
    """Whether a text is one of those that people write where there is no value."""
    return token.strip().lower() in MISSING


def number(token: str) -> float:
    return float(token) if NUMBER.fullmatch(token) else np.nan


def comma_number(token: str) -> float:
    return float(token.replace(",", ".")) if COMMA.fullmatch(token) else np.nan


def grouped_number(token: str) -> float:
    """One that may have a comma after every three digits."""
    return float(token.replace(",", "")) if GROUPED.fullmatch(token) else number(token)


def grouped_comma_number(token: str) -> float:
    """One with a decimal comma that may have a point after every three digits."""
    return comma_number(token.replace(".", "") if GROUPED_COMMA.fullmatch(token) else token)


def date(token: str) -> float:
    """Days since 1970 of an ISO date or time; one without a zone is as it stands."""
    if not DATE.fullmatch(token):
        return np.nan
    try:
        found = datetime.fromisoformat(token.replace(" Z", "Z").replace(" +", "+").replace(" -", "-"))
    except ValueError:  # such as the 30th of February
        return np.nan
    days, rest = divmod(found - datetime(1970, 1, 1, tzinfo=None if found.tzinfo is None else UTC), DAY)
    return days + rest / DAY  # as days_of does, to the bit


def days_of(values: np.ndarray, per_day: int) -> np.ndarray:
    """Whole numbers of a unit of which a day has `per_day`, as days: the same bits for any unit."""
    return values // per_day + (values % per_day) / per_day


PARSERS: dict[str, Callable[[str], float]] = {
    "number": number, "comma": comma_number, "date": date, "grouped number": grouped_number,
    "grouped comma": grouped_comma_number,
}  # fmt: skip


def parse(tokens: list[str], how: str) -> np.ndarray:
    """Numbers, NaN for whatever else the tokens say."""
    parser = PARSERS[how]
    return np.array([parser(token.strip()) for token in tokens], dtype=np.float64)


def tell_of(column: str, count: int, tokens: Iterable[str], how: str, empty: int = 0) -> None:
    """Say once that some texts of a column of numbers are none; `empty` of them say nothing at all."""
    some = f"{count:,} of its values say" if count > 1 else "one of its values says"
    some = f"{count:,} of its values are empty or say" if empty else some
    warnings.warn(
        f"column {column!r} holds {NAMES[how]}, but {some} something else ({listed(tokens)}): taken for missing.",
        stacklevel=2,
    )


def listed(tokens: Iterable[str]) -> str:
    """The first few, as they were written."""
    few = list(islice(tokens, SHOWN + 1))
    return ", ".join(repr(token[:40]) for token in few[:SHOWN]) + (", ..." if len(few) > SHOWN else "")
