"""All that is learned of a table: what each column holds, the statistics of each, and the targets."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from ..fields import either, instance, names, nothing, require_fields, several
from ..typing import VectorLike
from .columns import categories_of, kind_of, numbers_of, target_values
from .statistics import CategoryStatistics, NumberStatistics
from .targets import Targets

PAIRS = (("category", ""), ("number", "number"), ("boolean", "number"), ("date", "date"))  # kinds of columns, and how
MOST_COLUMNS = 1 << 20
STATE = {
    "names": names(),
    "kinds": several(lambda pair: pair in PAIRS, MOST_COLUMNS),
    "statistics": several(instance(dict), MOST_COLUMNS),
    "targets": either(nothing, instance(dict)),
}


class LearnedTable:
    """Columns by name, the kind of each and how its numbers are written in text, their statistics, and the targets."""

    def __init__(self, names: list[str], kinds: list[tuple[str, str]]) -> None:
        self.names, self.kinds = names, kinds
        self.targets: Targets | None = None
        self.statistics: list[Any] = [
            CategoryStatistics() if kind == "category" else NumberStatistics() for kind, _ in kinds
        ]

    @classmethod
    def begin(cls, names: list[str], columns: list[Any], categorical: set[int]) -> LearnedTable:
        """What columns hold, by their first rows; some are said to hold categories."""
        named = enumerate(zip(names, columns, strict=True))
        return cls(
            names, [("category", "") if k in categorical else kind_of(column, name) for k, (name, column) in named]
        )

    def read(self, columns: list[Any]) -> list[Any]:
        """Columns of a frame or an array as numbers and categories."""
        return [
            categories_of(column) if kind == "category" else numbers_of(column, name, how)
            for column, name, (kind, how) in zip(columns, self.names, self.kinds, strict=True)
        ]

    def target_columns(self, y: VectorLike | None, rows: int, target_type: str, first: bool) -> np.ndarray | None:
        """Targets as columns of numbers, if categories have a use for them; the first ones say what they are."""
        if not any(kind == "category" for kind, _ in self.kinds):
            return None
        if y is None:
            if self.targets is not None:
                raise ValueError("the first call of partial_fit had targets: give y.")
            return None
        values = checked_targets(y, rows)
        if first:
            self.targets = Targets.begin(values, target_type)
        if self.targets is None:
            raise ValueError("the first call of partial_fit had no targets: fit again, with y in each call.")
        return self.targets.columns(values)

    def add(self, columns: list[Any], targets: np.ndarray | None) -> None:
        """Take in rows, as `read` and `target_columns` gave them."""
        if self.targets is not None and targets is not None:
            self.targets.add(targets)
        for found, column in zip(self.statistics, columns, strict=True):
            found.add(column, *([targets] if isinstance(found, CategoryStatistics) else []))

    def merge(self, other: LearnedTable) -> None:
        """Take in all that was learned of other rows."""
        self._require_same(other)
        other = deepcopy(other) if other is self else other
        places, shift, outputs = np.empty(0, dtype=np.int64), np.empty(0), 0
        if self.targets is not None and other.targets is not None:
            places, shift = self.targets.aligned(other.targets)
            outputs = self.targets.outputs
            sums = next(s.sums.sum(axis=0) for s in other.statistics if isinstance(s, CategoryStatistics))
            self.targets.merge(other.targets, places, shift, sums)
        for mine, theirs in zip(self.statistics, other.statistics, strict=True):
            mine.merge(theirs, *([outputs, places, shift] if isinstance(mine, CategoryStatistics) else []))

    def _require_same(self, other: LearnedTable) -> None:
        if self.names != other.names:
            raise ValueError("the two encoders have different columns.")
        for name, mine, theirs in zip(self.names, self.kinds, other.kinds, strict=True):
            if mine != theirs:
                raise ValueError(
                    f"column {name!r} holds {mine[0]} values in one encoder, and {theirs[0]} in the other."
                )
        if (self.targets is None) != (other.targets is None):
            raise ValueError("one of the two encoders has seen targets, and the other has not.")

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {
            "names": np.array(self.names, dtype=object),
            "kinds": tuple(self.kinds),
            "statistics": tuple(found.to_state() for found in self.statistics),
            "targets": None if self.targets is None else self.targets.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LearnedTable:
        """What was learned, from what a file kept; what no rows give is refused."""
        require_fields(state, STATE)
        kinds = state["kinds"]
        if not kinds or not len(kinds) == len(state["statistics"]) == len(state["names"]):
            raise ValueError("the encoder has different numbers of columns and of what it learned of them")
        table = cls(state["names"].tolist(), list(kinds))
        targets = table.targets = None if state["targets"] is None else Targets.from_state(state["targets"])
        table.statistics = [
            CategoryStatistics.from_state(found, targets) if kind == "category" else NumberStatistics.from_state(found)
            for (kind, _), found in zip(kinds, state["statistics"], strict=True)
        ]
        rows = {found.rows for found in table.statistics} | ({targets.rows} if targets is not None else set())
        if len(rows) != 1 or 0 in rows:
            raise ValueError("the columns of the encoder have different numbers of rows")
        return table


def checked_targets(y: VectorLike | None, rows: int) -> np.ndarray:
    """Targets as an array, one for each row and none of them missing."""
    values = target_values(y)
    if len(values) != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(values)}]")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y has missing or infinite values: leave those rows out.")
    if values.dtype.kind == "O" and any(value is None or value != value for value in values.ravel().tolist()):
        raise ValueError("y has missing values: leave those rows out.")
    return values


def rows_of(columns: list[Any]) -> int:
    """How many rows columns have, once they are read."""
    return len(columns[0].codes if hasattr(columns[0], "codes") else columns[0])
