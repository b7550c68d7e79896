"""How a column becomes numbers, once that is settled: small immutable objects, each of which says what it does and why.

robust     z / sqrt(1 + (z/3)^2), z = (x - median) / spread: the shape of the middle stays, nothing passes 3
normal     the normal quantile of the rank of x
standard   (x - mean) / deviation
piecewise  for each two neighbouring quantiles a < b: (x - a) / (b - a), put between 0 and 1
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from .categories import write_hashed, write_onehot
from .chunk import Text
from .statistics import CategoryStatistics, NumberStatistics

CLIP = 3.0  # deviations that a robustly scaled number approaches and never passes
FAR = 1e6  # deviations beyond which nothing more is told apart
# Shares of rows between which a column is measured, and how many deviations of a normal law lie between; the first
# that is not zero counts, for a column may be mostly one value. The models' own scaling has the same.
RANGES = ((0.25, 0.75, 1.349), (0.1, 0.9, 2.563), (0.02, 0.98, 4.107))
WEEK, YEAR = 7.0, 365.2425  # days
METHODS = ("robust", "normal", "standard", "piecewise")


def clipped(z: np.ndarray) -> np.ndarray:
    """z / sqrt(1 + (z/3)^2)."""
    z = np.clip(z, -FAR, FAR)
    return z / np.sqrt(1.0 + (z / CLIP) ** 2)


class Encoding:
    """What becomes of one column. `reason` is told by the report."""

    reason: str = ""
    has_indicator: bool = False  # one more column says where a value is missing
    ends: tuple[str, ...] = ()  # what the names of its columns end in

    @property
    def width(self) -> int:
        return len(self.ends) + self.has_indicator

    def names(self, name: str) -> list[str]:
        return [name + end for end in (*self.ends, *([" is missing"] if self.has_indicator else []))]

    def write(self, column: Any, out: np.ndarray) -> None:
        """Fill (n, width), which is 0."""


@dataclass(frozen=True)
class Dropped(Encoding):
    """A column of which nothing comes out."""

    reason: str = ""


@dataclass(frozen=True, eq=False)
class NumberEncoding(Encoding):
    """A column of numbers; what is missing takes the median. Without a spread there is nothing but the indicator."""

    method: str | None
    median: float
    center: float
    spread: float
    low: float
    high: float
    knots: np.ndarray
    scores: np.ndarray
    is_constant: bool
    has_indicator: bool
    reason: str

    @property
    def ends(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.is_constant:
            return ()
        if self.method != "piecewise":
            return ("",)
        return tuple(f"[{a:g}..{b:g}]" for a, b in zip(self.knots[:-1], self.knots[1:], strict=True))

    def write(self, column: np.ndarray, out: np.ndarray) -> None:
        gaps = np.isnan(column)
        if self.has_indicator:
            out[:, -1] = gaps
        if not self.is_constant:
            self.write_values(np.where(gaps, self.median, column), out[:, : len(self.ends)])

    def write_values(self, x: np.ndarray, out: np.ndarray) -> None:
        if self.method == "piecewise":
            low, high = self.knots[:-1], self.knots[1:]
            with np.errstate(over="ignore"):
                out[:] = np.clip((x[:, None] - low) / (high - low), 0.0, 1.0)
        elif self.method == "normal":
            out[:, 0] = np.interp(x, self.knots, self.scores)
        elif self.method == "robust":
            with np.errstate(over="ignore"):
                out[:, 0] = clipped((x - self.center) / self.spread)
        else:
            x = np.where(np.isinf(x), np.where(x > 0, self.high, self.low), x)
            out[:, 0] = (x - self.center) / self.spread


@dataclass(frozen=True, eq=False)
class DateEncoding(Encoding):
    """A column of dates, in days: as a number, and as the angles of the cycles that its range shows."""

    number: NumberEncoding
    cycles: tuple[tuple[str, float], ...]
    reason: str

    @property
    def has_indicator(self) -> bool:  # type: ignore[override]
        return self.number.has_indicator

    @property
    def ends(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.number.ends, *(f" {wave} of {name}" for name, _ in self.cycles for wave in ("sine", "cosine")))

    def write(self, column: np.ndarray, out: np.ndarray) -> None:
        gaps, width = np.isnan(column), len(self.number.ends)
        if self.has_indicator:
            out[:, -1] = gaps
        if width:
            replace(self.number, has_indicator=False).write(column, out[:, :width])
        there = np.where(np.isfinite(column), column, self.number.median)
        for k, (_, days) in enumerate(self.cycles):
            angle = 2.0 * np.pi * (np.mod(there, days) / days)
            out[:, width + 2 * k] = np.where(gaps, 0.0, np.sin(angle))
            out[:, width + 2 * k + 1] = np.where(gaps, 0.0, np.cos(angle))


@dataclass(frozen=True, eq=False)
class CategoryEncoding(Encoding):
    """A column of categories: a column for each, hashed columns, and their effects on the target, as it has them.

    An unknown category has zeros everywhere, and so has a missing one but for the indicator and its own effect.
    """

    name: str
    onehot: tuple[str, ...]
    hash_columns: int
    outputs: tuple[str, ...]  # of the target
    statistics: CategoryStatistics
    effects: np.ndarray
    has_indicator: bool
    reason: str

    kinds: ClassVar[tuple[str, ...]] = ("auto", "onehot", "hash", "target")

    @property
    def ends(self) -> tuple[str, ...]:  # type: ignore[override]
        hashed = (f"=hash {k}" for k in range(self.hash_columns))
        return (*(f"={value}" for value in self.onehot), *(f" effect{end}" for end in self.outputs), *hashed)

    def write(self, column: Text, out: np.ndarray, effects: np.ndarray | None = None) -> None:
        """`effects` (n, outputs) are those of the rows, if they are not to be looked up."""
        first, last = len(self.onehot), len(self.onehot) + len(self.outputs)
        if self.has_indicator:
            out[:, -1] = column.codes < 0
        if self.onehot:
            write_onehot(column, list(self.onehot), out[:, :first])
        if self.outputs:
            out[:, first:last] = clipped(self.looked_up(column) if effects is None else effects)
        if self.hash_columns:
            write_hashed(self.name, column, out[:, last : last + self.hash_columns])

    def looked_up(self, column: Text) -> np.ndarray:
        slots = self.statistics.slots(column)
        found = self.effects[slots]
        found[(slots == 0) & (column.codes >= 0)] = 0.0  # slot 0 is the missing value, and not the unknown
        return found


# ---- from statistics ----


def number_encoding(found: NumberStatistics, method: str | None, pieces: int, what: str = "numbers") -> Encoding:
    """Settle how a column of numbers is encoded."""
    constant = found.low >= found.high
    notes = [note for note in (gap_note(found), infinite_note(found)) if note]
    if constant:
        why = "there are no values" if not found.count else f"all its values are {found.low:g}"
        if not found.missing or not found.count:
            return Dropped("; ".join([f"dropped: {why}", *notes]))
        nothing = np.empty(0)
        reason = "; ".join([f"{why}, so that only the indicator is left", *notes])
        return NumberEncoding(method, found.low, 0.0, 1.0, found.low, found.high, nothing, nothing, True, True, reason)
    median = float(found.sketch.quantiles(0.5))
    center, spread = {"robust": robust_scale, "standard": standard_scale}.get(method or "", plain_scale)(found)
    knots, scores = np.empty(0), np.empty(0)
    if method == "piecewise":
        knots = np.unique([found.low, *found.sketch.quantiles(np.linspace(0.0, 1.0, pieces + 1)[1:-1]), found.high])
    if method == "normal":
        knots, weights = found.sketch.weighted()
        scores = ndtri((np.cumsum(weights) - weights / 2.0) / weights.sum())
    if found.is_identifier:
        notes.insert(0, "they look like an identifier: whole numbers that count the rows")
    reason = "; ".join([f"{what}, {described(method, center, spread, knots, found.is_twofold)}", *notes])
    return NumberEncoding(
        method, median, center, spread, found.low, found.high, knots, scores, False, found.missing > 0, reason
    )


def robust_scale(found: NumberStatistics) -> tuple[float, float]:
    """Median, and a spread that a few far-out numbers do not move; two values are as far apart as two categories."""
    if found.is_twofold:
        return (found.low + found.high) / 2.0, float((found.high - found.low) / np.sqrt(2.0))
    for low, high, deviations in RANGES:
        below, center, above = found.sketch.quantiles([low, 0.5, high])
        if above > below:
            return float(center), float((above - below) / deviations)
    return float(center), standard_scale(found)[1]


def standard_scale(found: NumberStatistics) -> tuple[float, float]:
    return float(found.sums.mean[0]), float(found.sums.deviations()[0])


def plain_scale(found: NumberStatistics) -> tuple[float, float]:
    return 0.0, 1.0


def described(method: str | None, center: float, spread: float, knots: np.ndarray, two: bool) -> str:
    if method == "robust" and two:
        return "which are two, put as far apart as two categories"
    if method == "robust":
        return f"less the median {center:g}, in spreads of {spread:g}, smoothly clipped at {CLIP:g} of them"
    if method == "standard":
        return f"less the mean {center:g}, in deviations of {spread:g}"
    if method == "normal":
        return "as normal scores of their ranks"
    return "as they are" if method is None else f"piecewise linear between {len(knots)} quantiles"


def gap_note(found: NumberStatistics | CategoryStatistics) -> str:
    return f"{found.missing:,} of {found.rows:,} rows are missing" if found.missing else ""


def infinite_note(found: NumberStatistics) -> str:
    return f"{found.infinite:,} infinite values are taken for far-out ones" if found.infinite else ""


def date_encoding(found: NumberStatistics, method: str | None, pieces: int) -> Encoding:
    """Settle how a column of dates is encoded; a cycle is there if the dates see enough of it."""
    number = number_encoding(found, method, pieces, "dates as days since 1970")
    if not isinstance(number, NumberEncoding) or number.is_constant:
        return number
    span = found.high - found.low
    shown = (("year", YEAR, span > YEAR / 4), ("week", WEEK, span > 2), ("day", 1.0, not found.is_whole))
    cycles = tuple((name, days) for name, days, there in shown if there)
    told = f"; cycles of {', '.join(name for name, _ in cycles)}" if cycles else ""
    return DateEncoding(number, cycles, number.reason + told)
