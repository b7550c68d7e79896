"""What is learned of each column from its rows: counts, sums and quantiles, all of which add."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import LARGEST, MOST, flag, names, number, numbers, require_fields, whole
from .chunk import Text
from .sketch import QuantileSketch
from .survey import Sums
from .targets import Targets, widened

FARTHEST = 1e150  # beyond which a number is taken for infinite, as its square nearly is


class NumberStatistics:
    """A column of numbers: quantiles, mean and deviation; how many are missing or infinite; whether all are whole."""

    def __init__(self) -> None:
        self.sketch, self.sums = QuantileSketch(), Sums(1)
        self.missing = self.infinite = 0
        self.is_whole = True
        self.low, self.high = FARTHEST, -FARTHEST

    def add(self, values: np.ndarray) -> None:
        finite = values[np.abs(values) <= FARTHEST]
        missing = int(np.count_nonzero(np.isnan(values)))
        self.missing += missing
        self.infinite += len(values) - len(finite) - missing
        if not len(finite):
            return
        values, counts = np.unique(finite, return_counts=True)  # in order: how the rows came does not count
        self.low, self.high = min(self.low, float(values[0])), max(self.high, float(values[-1]))
        self.is_whole = self.is_whole and bool((values == np.rint(values)).all())
        self.sketch.add_counted(values, counts)
        mean = (values * counts).sum() / len(finite)
        square = (counts * (values - mean) ** 2).sum()
        self.sums.join(np.array([float(len(finite))]), np.array([mean]), np.array([square]))

    def merge(self, other: NumberStatistics) -> None:
        self.sketch.merge(other.sketch)
        self.sums.join(other.sums.count, other.sums.mean, other.sums.square)
        self.missing, self.infinite = self.missing + other.missing, self.infinite + other.infinite
        self.is_whole = self.is_whole and other.is_whole
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    @property
    def count(self) -> int:
        """Finite numbers."""
        return self.sketch.count

    @property
    def rows(self) -> int:
        return self.count + self.missing + self.infinite

    @property
    def is_twofold(self) -> bool:
        """Whether there are two different values."""
        return self.sketch.is_exact and len(self.sketch.values) == 2

    @property
    def is_identifier(self) -> bool:
        """Whether whole numbers count the rows, or are spread as evenly as if they did."""
        span = self.high - self.low
        if not self.is_whole or self.rows < MANY or not 0.9 * self.count < span + 1.0 < 1.1 * self.count:
            return False
        shares = np.linspace(0.0, 1.0, 21)
        return bool(np.abs(self.sketch.quantiles(shares) - self.low - shares * span).max() < 0.01 * span)

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        sums = {name: float(getattr(self.sums, name)[0]) for name in ("mean", "square")}
        return {**vars(self), "sketch": self.sketch.to_state(), "sums": sums}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> NumberStatistics:
        """Statistics from what a file kept; what no rows give is refused."""
        require_fields(state, NUMBER_FIELDS)
        require_fields(state["sums"], {"mean": number(-FARTHEST, FARTHEST), "square": number(0.0, 1e308)})
        found = cls()
        found.__dict__.update(state, sketch=QuantileSketch.from_state(state["sketch"]), sums=found.sums)
        found.sums.join(*(np.array([value]) for value in (found.count, state["sums"]["mean"], state["sums"]["square"])))
        values = found.sketch.weighted()[0]
        ends = (values[0], values[-1], found.sums.mean[0]) if len(values) else (FARTHEST, -FARTHEST)
        sound = all(found.low <= end <= found.high for end in ends) if len(values) else (found.low, found.high) == ends
        if not sound:
            raise ValueError("the numbers of a column lie beyond its ends")
        return found


MANY = 50  # rows that can tell an identifier
NUMBER_FIELDS = {
    "sketch": lambda value: isinstance(value, dict), "sums": lambda value: isinstance(value, dict), "missing": whole(),
    "infinite": whole(), "is_whole": flag, "low": number(-FARTHEST, FARTHEST), "high": number(-FARTHEST, FARTHEST),
}  # fmt: skip


class CategoryStatistics:
    """A column of categories: how many rows each has, and the sums of their targets. Slot 0 is the missing value."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.counts = np.zeros(1, dtype=np.int64)
        self.sums = np.zeros((1, 0))

    def slots(self, column: Text) -> np.ndarray:
        """The slot of each row; 0 for values that are not known, too."""
        places = [self.places.get(value, 0) for value in column.values]
        return np.array([*places, 0], dtype=np.int64)[column.codes]

    def add(self, column: Text, targets: np.ndarray | None) -> None:
        """Take in rows; `targets` (n, outputs) if there are any."""
        for value in column.values:
            self.places.setdefault(value, len(self.places) + 1)
        slots, number = self.slots(column), len(self.places) + 1
        self._widen(number, 0 if targets is None else targets.shape[1])
        self.counts += np.bincount(slots, minlength=number)
        if targets is not None:
            self.sums += np.stack([np.bincount(slots, column, minlength=number) for column in targets.T], axis=-1)

    def _widen(self, slots: int, outputs: int) -> None:
        self.counts = np.pad(self.counts, (0, slots - len(self.counts)))
        self.sums = widened(self.sums, max(outputs, self.sums.shape[1]))
        self.sums = np.pad(self.sums, ((0, slots - len(self.sums)), (0, 0)))

    def merge(self, other: CategoryStatistics, outputs: int, places: np.ndarray, shift: np.ndarray) -> None:
        """Join the counts and sums of another column; `places` and `shift` as of `Targets.aligned`."""
        slots = [0, *(self.places.setdefault(value, len(self.places) + 1) for value in other.places)]
        self._widen(len(self.places) + 1, outputs)
        self.counts[slots] += other.counts
        self.sums[np.ix_(np.array(slots), places)] += other.sums[:, : len(places)] + other.counts[:, None] * shift

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        return int(self.counts[0])

    @property
    def is_identifier(self) -> bool:
        """Whether hardly any value occurs twice."""
        return self.rows - self.missing >= MANY and len(self.places) > 0.95 * (self.rows - self.missing)

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {"values": np.array(list(self.places), dtype=object), "counts": self.counts, "sums": self.sums}

    @classmethod
    def from_state(cls, state: dict[str, Any], targets: Targets | None) -> CategoryStatistics:
        """Statistics from what a file kept; what no rows give is refused."""
        outputs = 0 if targets is None else targets.outputs
        table = {
            "values": names(), "counts": numbers(None, dtypes=("int64",), low=0, high=MOST),
            "sums": numbers(None, None, low=-LARGEST, high=LARGEST),
        }  # fmt: skip
        require_fields(state, table)
        found = cls()
        found.places = {value: k + 1 for k, value in enumerate(state["values"].tolist())}
        slots = len(state["values"]) + 1
        sums = widened(state["sums"], max(outputs, state["sums"].shape[1]))
        if len(found.places) + 1 != slots or state["counts"].shape != (slots,) or sums.shape != (slots, outputs):
            raise ValueError("these are no counts of categories")
        found.counts, found.sums = state["counts"], sums
        return found
