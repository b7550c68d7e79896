"""What the tables of files have in common: pieces (a file, or a part of one) that are read in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...tables.chunk import Chunk
from ...tables.survey import Summary
from ...validation import option
from ..paths import file_system, is_address


class Choice(NamedTuple):
    """Which columns are wanted (None is all others), which are targets and weights, and which to leave out."""

    wanted: list[str] | None
    target: Any
    weight: Any
    drop: list[Any]
    texts: list[str]  # columns to be taken as text, whatever they look like
    loose: tuple[str, ...] = ()  # columns of CSV that are read as text first, whatever their first rows look like
    all_loose: bool = False  # so are all columns that look like numbers


class Csv(NamedTuple):
    """How a CSV file is written."""

    header: bool = True
    delimiter: str = ","
    encoding: str = "utf-8"


class MisreadError(ValueError):
    """A column of a text file that is not what its first rows look like."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column = column


class Table(ABC):
    """Rows of named columns. `numbers` and `texts` are the columns to learn from, in the order of the file."""

    names: list[str]
    texts: list[str]
    target: Any
    weight: Any
    dtype: str  # in which the numbers lose nothing
    counts: list[int | None]  # rows of each piece; None until a pass has counted them
    typed = True  # whether text is text because someone said so, not by the look of it
    hows: Mapping[str, str] = MappingProxyType({})  # of texts that are to be numbers, what they say
    dates: Sequence[str] = ()  # columns of dates
    undecided: Sequence[str] = ()  # columns of text that may be numbers
    target_how: str | None = None  # what a target of text says, if it is no label
    travels = False  # whether a worker process can be sent the table, to read the files there

    def settle(self, hows: dict[str, str]) -> None:
        """Take some columns of text for numbers from now on."""
        if hows:
            self.hows, self.dtype = hows, "float64"
            self.texts = [name for name in self.texts if name not in hows]

    def loosen(self, column: int) -> None:
        """Read a column as text, whose first rows looked like something else."""
        raise NotImplementedError

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.names if name not in self.texts]

    @abstractmethod
    def chunks_of(self, piece: int, start: int, rows: int) -> Iterator[Chunk]:
        """The rows of one piece from its row `start` on, at most `rows` at a time."""

    @abstractmethod
    def sizes(self) -> list[Any]:
        """Names, sizes and times of the files, to tell them from others."""

    def chunks(self, start: int, rows: int) -> Iterator[Chunk]:
        """All rows from `start` on, in the order of the pieces."""
        for piece, count in enumerate(self.counts):
            if count is not None and start >= count:
                start -= count
                continue
            seen = start
            for chunk in self.chunks_of(piece, start, rows):
                seen += len(chunk.numbers)
                yield chunk
            self.counts[piece] = seen
            start = 0

    def summaries(self, summary: Summary, rows: int) -> Iterator[Summary]:
        """The summary with more and more chunks of rows, the last one with all."""
        for chunk in self.chunks(0, rows):
            summary.add(chunk)
            yield summary

    def parts(self, numbers: np.ndarray, rows: int) -> Iterator[tuple[int, Chunk]]:
        """Chunks, with the numbers of their first rows, that hold all rows of these numbers, which ascend."""
        first = 0
        for piece, count in enumerate(self.counts):
            if count is None:
                raise ValueError("the rows have not been counted.")
            inside = numbers[(numbers >= first) & (numbers < first + count)]
            if len(inside):
                start = int(inside[0])
                for chunk in self.chunks_of(piece, start - first, rows):
                    yield start, chunk
                    start += len(chunk.numbers)
                    if start > inside[-1]:
                        break
            first += count

    def kept(self, names: list[str], rows: int) -> Iterator[dict[str, Any]]:
        """Columns as they stand in the files, to be carried beside predictions, `rows` rows at a time."""
        raise ValueError("only tables have columns to keep.")

    def with_target(self, name: str) -> Table:
        """The same rows with another column as the target, and as little else as there is."""
        other = copy(self)
        other.names, other.weight, other.target = self.names[:1], None, self.column_name(name)
        other.texts, other.counts = [text for text in self.texts if text in other.names], list(self.counts)
        other.target_how = None
        return other

    @abstractmethod
    def column_name(self, name: str) -> str:
        """The name by which this table knows a column; one that it does not have is refused."""

    @property
    def n_rows(self) -> int:
        """All rows, once they have been counted."""
        return sum(count or 0 for count in self.counts)


def stamp(file: str) -> tuple[str, int, int | str]:
    """What tells a file from one of the same name: size and time of the last change."""
    if is_address(file):
        system, path = file_system(file)
        told = system.info(path)
        return path, int(told["size"] or 0), str(told.get("ETag") or told.get("mtime") or told.get("created") or "")
    status = Path(file).stat()
    return Path(file).name, status.st_size, status.st_mtime_ns


def pick_columns(present: list[str], choice: Choice, where: str) -> list[str]:
    """The columns to learn from: those wanted, or all but target, weight and those to drop."""
    others = [choice.target, choice.weight, *choice.drop]
    if len(set(present)) < len(present):
        twice = next(name for name in present if present.count(name) > 1)
        raise ValueError(f"{where} has two columns named {twice!r}.")
    for name in [*(choice.wanted or []), *others]:
        if name is not None and name not in present:
            shown = ", ".join(map(repr, present[:8])) + (", ..." if len(present) > 8 else "")
            sign = next((c for c in ";\t|," if c in present[0]), "") if len(present) == 1 else ""
            hint = f" Is the delimiter another one, {option('delimiter', sign)}?" if sign else ""
            raise ValueError(f"{where} has no column {name!r}; it has {shown}.{hint}")
    names = choice.wanted or [name for name in present if name not in others]
    if "" in names:
        unnamed = option("drop", [""])
        raise ValueError(f"{where} has a column without a name, perhaps an index: leave it out with {unnamed}.")
    if not names:
        raise ValueError(f"{where} has no columns left to learn from.")
    return names
