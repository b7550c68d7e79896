"""What one pass over a table learns: means and deviations, categories of text, and which text is numbers after all."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ..validation import option
from .chunk import Chunk, Text
from .recipe import refuse, require_sound
from .tokens import (
    CODE,
    COMMA,
    GROUPED,
    GROUPED_COMMA,
    NAMES,
    SHARE,
    SHOWN,
    SLASHED,
    THOUSANDS,
    is_missing,
    listed,
    parse,
    tell_of,
)

HOWS = ("number", "comma", "date", "grouped number", "grouped comma")
WRITTEN = {"number": "1.5", "comma": "1,5", "grouped number": "1,234.5", "grouped comma": "1.234,5"}
DECIMALS = {".": ("number", "grouped number"), ",": ("comma", "grouped comma")}
NOWHERE = 1 << 62
MANY = 20  # different whole numbers are no labels, but numbers


def is_grouped(token: str) -> bool:
    """Whether the digits of a number are parted by threes, and not by the sign of a fraction."""
    parted = GROUPED.fullmatch(token) or GROUPED_COMMA.fullmatch(token)
    return bool(parted) and token.count(",") + token.count(".") > 1


class Sums:
    """Numbers of values, means and sums of squares of columns, NaN left out."""

    def __init__(self, columns: int) -> None:
        self.count, self.mean, self.square = (np.zeros(columns) for _ in range(3))

    def add(self, values: np.ndarray) -> None:
        there = ~np.isnan(values)
        count = there.sum(axis=0)
        mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
        self.join(count, mean, (np.where(there, values - mean, 0.0) ** 2).sum(axis=0))

    def join(self, count: np.ndarray, mean: np.ndarray, square: np.ndarray) -> None:
        """Two lots of rows joined: the update of Chan, Golub and LeVeque."""
        total, shift = np.maximum(self.count + count, 1), mean - self.mean
        self.square += square + shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.count += count

    def deviations(self) -> np.ndarray:
        """Standard deviations; 1 for a column that does not vary, which then becomes 0."""
        deviation = np.sqrt(self.square / np.maximum(self.count, 1))
        return np.where(deviation > 8 * np.finfo(np.float64).eps * np.abs(self.mean), deviation, 1.0)


class Said:
    """What a column of text would be as numbers of one kind: their sums, and what else is written there."""

    def __init__(self, how: str) -> None:
        self.how, self.sums = how, Sums(1)
        self.strange: Counter[str] = Counter()  # the first few, and how often
        self.strange_rows, self.first_strange, self.infinite = 0, NOWHERE, 0

    def add(self, text: Text, counts: np.ndarray, gaps: np.ndarray, start: int) -> None:
        said = parse(text.values, self.how)
        self.infinite += int(counts[np.isinf(said)].sum())
        strange = np.isnan(said) & ~gaps
        self.sums.add(np.append(np.where(np.isinf(said), np.nan, said), np.nan)[text.codes][:, None])
        if strange.any():
            self.first_strange = min(self.first_strange, start + int(np.argmax(np.append(strange, False)[text.codes])))
        for k in np.flatnonzero(strange):
            self.strange_rows += int(counts[k])
            if text.values[k] in self.strange or len(self.strange) <= SHOWN:
                self.strange[text.values[k]] += int(counts[k])

    @property
    def count(self) -> int:
        return int(self.sums.count[0]) + self.infinite


class TextSurvey:
    """A column of text: what it would be as numbers, in every way that is open."""

    def __init__(self, name: str, hows: Iterable[str] = HOWS) -> None:
        self.name, self.said = name, {how: Said(how) for how in hows}
        self.present, self.rows, self.first_gap = 0, 0, NOWHERE
        self.gaps: Counter[str] = Counter()  # texts that stand for a missing value
        self.codes = self.sure_commas = False  # zeros in front; commas that are not those of thousands
        self.example = self.grouped = ""  # a value with a comma, and one whose digits are surely parted by threes
        self.nulls, self.first_null = 0, NOWHERE  # values that are not there at all, or were taken for none before
        self.slashed = 0  # rows with dates whose day and month cannot be told apart
        self.distinct: set[str] = set()

    def add(self, text: Text) -> None:
        counts = np.bincount(text.codes[text.codes >= 0], minlength=len(text.values))
        gaps = np.array([is_missing(value) for value in text.values], dtype=bool)
        self.present += int(counts[~gaps].sum())
        nulls = text.codes < 0
        if nulls.any():
            self.nulls += int(np.count_nonzero(nulls))
            self.first_null = min(self.first_null, self.rows + int(np.argmax(nulls)))
        for k in np.flatnonzero(gaps):
            self.gaps[text.values[k]] += int(counts[k])
        if gaps.any():
            self.first_gap = min(self.first_gap, self.rows + int(np.argmax(np.append(gaps, False)[text.codes])))
        for said in self.said.values():
            said.add(text, counts, gaps, self.rows)
        values = [value.strip() for value in text.values]
        self.codes = self.codes or any(CODE.fullmatch(value) for value in values)
        commas = [value for value in values if "," in value and COMMA.fullmatch(value)]
        self.example = self.example or next(iter(commas), "")
        self.sure_commas = self.sure_commas or any(not THOUSANDS.fullmatch(value) for value in commas)
        self.grouped = self.grouped or next((value for value in values if is_grouped(value)), "")
        self.slashed += sum(int(counts[k]) for k, value in enumerate(values) if SLASHED.fullmatch(value))
        if len(self.distinct) <= MANY:
            self.distinct.update(values[: MANY + 1])
        self.rows += len(text.codes)

    def how(self, decimal: str | None, typed: bool) -> str | None:
        """The kind of numbers that this column holds, or None for text. `typed` text may hold codes such as 007."""
        enough = [h for h, said in self.said.items() if said.count and said.count >= SHARE * self.present]
        if not enough or (typed and self.codes):
            return None
        best = max(enough, key=lambda h: self.said[h].count)  # the first of equals: plain numbers
        if decimal is None or best not in WRITTEN:
            return best
        asked = max(DECIMALS[decimal], key=lambda h: self.said[h].count)
        if self.said[asked].count < self.said[best].count:
            given, text = option("decimal", decimal), option("text_columns", [self.name])
            raise ValueError(
                f"column {self.name!r} holds numbers such as {WRITTEN[best]!r}, and {given} was given: "
                f"leave that out, or take the column for text with {text}."
            )
        return asked

    @property
    def is_slashed(self) -> bool:
        """Whether nearly all of it are dates whose day and month cannot be told apart."""
        return self.slashed > 0 and self.slashed >= SHARE * self.present

    def tell_signs(self, how: str) -> None:
        """Say where commas were found, and what they were taken for; refuse to guess what 1,234 is."""
        if how == "comma" and not self.sure_commas:  # a comma there is, or these would be plain numbers
            raise ValueError(
                f"column {self.name!r} holds {self.example!r}, where the comma may be that of a fraction or one of "
                f"thousands: give {option('decimal', ',')} for the former, {option('decimal', '.')} for the latter."
            )
        if how == "comma":
            warnings.warn(f"column {self.name!r} is read with decimal commas, such as {self.example!r}.", stacklevel=2)
        if how in ("grouped number", "grouped comma"):
            sign = "comma" if how == "grouped number" else "point"
            warnings.warn(
                f"column {self.name!r} is read with a {sign} between thousands, such as {self.grouped!r}.", stacklevel=2
            )

    def settle(self, how: str, missing: str) -> None:
        """Refuse or report what is no number in a column of numbers."""
        said = self.said[how]
        tokens = [*self.gaps, *said.strange]
        spoken = sum(self.gaps.values()) + said.strange_rows
        count = self.nulls + spoken
        if said.strange_rows and not said.count:
            raise ValueError(f"column {self.name!r} holds text here, and {NAMES[how]} in the fit.")
        if said.infinite:
            raise ValueError(f"column {self.name!r} has {said.infinite:,} infinite values: clean it first.")
        if count and missing == "refuse":
            some = f", {spoken:,} of them" if self.nulls else ","
            written = f"{some} written {', '.join(map(repr, tokens[:SHOWN]))}" if spoken else ""
            refuse(self.name, "missing", count, min(self.first_null, self.first_gap, said.first_strange), written)
        if spoken:
            tell_of(self.name, count, tokens, how, self.nulls)

    def settle_target(self, decimal: str | None) -> str | None:
        """How the texts of a target are numbers, or None if they are labels; numbers must not be missing."""
        how = self.how(decimal, typed=False)
        if how not in WRITTEN:
            return None
        said = self.said[how]
        count = sum(self.gaps.values()) + said.strange_rows
        if count and len(self.distinct) > MANY:
            tokens = listed([*self.gaps, *said.strange])
            raise ValueError(
                f"the target {self.name!r} has {count:,} missing values, written {tokens}: leave those rows out."
            )
        if how == "number" or count:
            return None
        if decimal is None:
            self.tell_signs(how)
        return how


class Surveyed(Protocol):
    """A table as far as a summary knows it."""

    names: list[str]
    texts: list[str]
    target: Any
    undecided: Sequence[str]
    typed: bool
    target_how: str | None

    @property
    def numbers(self) -> list[str]: ...


class Summary:
    """What one pass over a table learns: means and deviations, and categories as long as they are not too many.

    `given` says of texts that are to be numbers what they say, where a recipe knows.
    """

    def __init__(self, table: Surveyed, limit: int, missing: str, given: dict[str, str] | None = None) -> None:
        self.numbers, self.limit, self.missing, self.given = table.numbers, limit, missing, given
        self.rows = 0
        self.sums = Sums(len(self.numbers))
        self.categories: dict[str, set[str]] = {name: set() for name in table.texts}
        self.first_gaps = np.full(len(self.numbers), NOWHERE)  # the first row of each column that has no number
        self.gaps: dict[str, tuple[int, int]] = {}  # how many rows have no text, and the first of them
        hows = dict.fromkeys(table.undecided, HOWS) if given is None else {name: (how,) for name, how in given.items()}
        self.open = {name: TextSurvey(name, kinds) for name, kinds in hows.items()}
        self.target = None if table.target is None else TextSurvey(str(table.target))

    def add(self, chunk: Chunk) -> None:
        if self.given is None:
            if require_sound(chunk.numbers, self.numbers, "mean", self.rows):
                gaps = np.isnan(chunk.numbers)
                first = np.where(gaps.any(axis=0), self.rows + gaps.argmax(axis=0), NOWHERE)
                self.first_gaps = np.minimum(self.first_gaps, first)
            self.sums.add(chunk.numbers.astype(np.float64))
        for name, seen in self.categories.items():
            text = chunk.text[name]
            if (text.codes < 0).any():
                count, first_gap = self.gaps.get(name, (0, self.rows + int(np.argmax(text.codes < 0))))
                self.gaps[name] = count + int(np.count_nonzero(text.codes < 0)), first_gap
            if self.given is None and len(seen) <= self.limit:
                seen.update(text.values)
            if name in self.open:
                self.open[name].add(text)
        if self.target is not None and getattr(chunk.target, "dtype", np.dtype(float)).kind == "U":
            values, codes = np.unique(chunk.target, return_inverse=True)
            self.target.add(Text(codes, values.tolist()))
        self.rows += len(chunk.numbers)

    def settle(self, table: Surveyed, decimal: str | None) -> dict[str, str]:
        """Which columns of text are numbers, and of what kind; what is none among them is refused or reported."""
        found = {name: survey.how(decimal, table.typed) for name, survey in self.open.items()}
        hows = {name: how for name, how in found.items() if how is not None}
        if self.missing == "refuse":
            self._refuse_gaps(hows)
        for name, how in hows.items():
            if decimal is None:
                self.open[name].tell_signs(how)
            self.open[name].settle(how, self.missing)
        self._settle_target(table, decimal)
        sums = dict(zip(self.numbers, np.column_stack([self.sums.count, self.sums.mean, self.sums.deviations()]),
                        strict=True))  # fmt: skip
        for name, how in hows.items():
            said = self.open[name].said[how].sums
            sums[name] = np.array([said.count[0], said.mean[0], said.deviations()[0]])
        order = [name for name in table.names if name in sums]
        self.count, self.mean, self.deviations = np.array([sums[name] for name in order]).reshape(-1, 3).T.copy()
        return hows

    def _refuse_gaps(self, hows: dict[str, str]) -> None:
        """Refuse columns that have missing values, once all of them are counted."""
        for name, there, first in zip(self.numbers, self.sums.count, self.first_gaps, strict=True):
            if first < NOWHERE:
                refuse(name, "missing", self.rows - int(there), int(first))
        for name, (count, first) in self.gaps.items():
            if name not in hows:
                refuse(name, "missing", count, first)

    def tell_dates(self, table: Surveyed, widths: dict[str, int]) -> None:
        """Say which dates became text, and of how many columns, since day and month cannot be told apart."""
        names = [name for name, survey in self.open.items() if name in table.texts and survey.is_slashed]
        if names:
            became = ", ".join(f"{name!r} ({widths[name]:,} columns)" for name in names)
            drop, text = option("drop", names), option("text_columns", names)
            warnings.warn(
                f"{len(names):,} of {len(table.names):,} columns hold dates whose day and month cannot be told apart "
                f"and became text: {became}; write such dates as 2021-03-04, or give {drop} to leave them out, "
                f"{option('categories', 16)} for fewer columns, {text} if text is meant.",
                stacklevel=2,
            )

    def settle_as_given(self, table: Surveyed, missing: str, decimal: str | None) -> dict[str, str]:
        """The columns of text that a recipe takes for numbers."""
        assert self.given is not None
        for name, how in self.given.items():
            self.open[name].settle(how, missing)
        self._settle_target(table, decimal)
        return self.given

    def _settle_target(self, table: Surveyed, decimal: str | None) -> None:
        if self.target is not None and self.target.rows:
            table.target_how = self.target.settle_target(decimal)
