"""Columns as an encoder has them, and beside them what the value of each column says of the targets by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...fields import numbers, require_fields, several
from ...tables import TableEncoder
from ...tables.column_effects import Bins, EffectSums
from ...tables.learned import MOST_COLUMNS, LearnedTable
from ...tables.statistics import FARTHEST
from ...typing import MatrixLike
from .fits import beside

FOLDS = 5  # by the other four of which a row gets the effects of its values
MOST_EFFECTS = 200  # columns, those that vary most
END = 5.0  # deviations that an effect approaches and never passes


class EffectEncoder:
    """Numbers as a `TableEncoder` makes them and the effect of every column on every output; categories are their
    effects alone."""

    def __init__(self, encoder: TableEncoder, bins: list[Bins]) -> None:
        self.encoder, self.bins = encoder, bins
        kinds = encoder._learned.kinds
        self._plain = np.array([kinds[of][0] != "category" for of in encoder.column_of_], dtype=bool)
        self.tables: list[np.ndarray] = []  # effects (bins, outputs) of each column
        self.spreads = np.empty(0)  # of effects (columns times outputs); 0 for those that are left out

    @classmethod
    def of(cls, encoder: TableEncoder) -> EffectEncoder:
        """One for the columns of an encoder, which has not seen any targets yet."""
        learned = encoder._learned
        return cls(encoder, [Bins.of_column(found) for found in learned.statistics])

    def fit_transform(
        self, codes: list[np.ndarray], X: np.ndarray, Y: np.ndarray, seen: np.ndarray, kept: np.ndarray | None = None
    ) -> np.ndarray:
        """Learn the effects by the rows `seen`, and turn all rows into numbers, none by its own target.

        codes : the bins of each column; X : the rows as the encoder makes them; Y : targets (n, outputs); kept : which
        effects become columns, None for those that vary most.
        """
        rows, folds = np.flatnonzero(seen), np.random.default_rng(0).permutation(len(Y)) % FOLDS
        Y, folds = Y[rows], folds[rows]
        sums = each(lambda k: EffectSums.of(codes[k][rows], Y, folds, self.bins[k].levels()), len(codes))
        self.tables = [found.effects() for found in sums]
        self.spreads = np.concatenate([spreads_of(*pair) for pair in zip(sums, self.tables, strict=True)])
        noise = 1e-9 * float(np.abs(Y).max(initial=0.0))
        if kept is None:
            kept = self._most_varying(noise)
        self.spreads = np.where(kept, np.where(self.spreads > noise, self.spreads, np.inf), 0.0)
        outputs = [np.flatnonzero(of) for of in kept.reshape(len(codes), -1)]

        def own(k: int) -> np.ndarray:
            found = self.tables[k][:, outputs[k]][codes[k]]
            if len(outputs[k]):
                found[rows] = sums[k].of_rows(codes[k][rows], folds, outputs[k])
            return found

        return self._beside(X, np.hstack(each(own, len(codes))))

    def _most_varying(self, noise: float) -> np.ndarray:
        """The effects that become columns: not those of two values, which numbers say as well."""
        outputs = len(self.spreads) // len(self.bins)
        numbers = np.array([bins.places is None and bins.count <= 3 for bins in self.bins])
        spreads = np.where(np.repeat(numbers, outputs), 0.0, self.spreads)
        kept = spreads > noise
        kept[np.argsort(-spreads, kind="stable")[min(MOST_EFFECTS, 2 * len(self.bins) + 16) :]] = False
        return kept

    def read(self, X: MatrixLike) -> list[Any]:
        """The columns of a table as numbers and categories."""
        return self._learned.read(self.encoder._columns(X, reset=False))

    def codes(self, columns: list[Any]) -> list[np.ndarray]:
        """The bin of each row, column by column, as columns are read."""
        return each(lambda k: self.bins[k](columns[k]), len(columns))

    def _encode(self, columns: list[Any]) -> np.ndarray:
        kept = (self.spreads > 0).reshape(len(columns), -1)
        looked_up = zip(self.tables, self.codes(columns), kept, strict=True)
        return self._beside(self.encoder._encode(columns), np.hstack([t[:, of][c] for t, c, of in looked_up]))

    def _beside(self, X: np.ndarray, effects: np.ndarray) -> np.ndarray:
        z = effects / self.spreads[self.spreads > 0]
        return np.hstack([X[:, self._plain], z / np.sqrt(1.0 + (z / END) ** 2)])

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Turn rows into numbers."""
        return self._encode(self.read(X))

    # ---- what recipes ask of an encoder ----

    @property
    def _learned(self) -> LearnedTable:
        return self.encoder._learned

    @property
    def _outputs(self) -> int:
        return self.tables[0].shape[1]

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.encoder.n_features_in_

    @property
    def column_of_(self) -> np.ndarray:
        """The index of the column of X that each column came from."""
        effects = np.flatnonzero(self.spreads > 0) // self._outputs
        return np.concatenate([self.encoder.column_of_[self._plain], effects])

    def get_feature_names_out(self) -> np.ndarray:
        """The names of the columns that come out."""
        names, kept = self.encoder._input_names(), np.flatnonzero(self.spreads > 0)
        ends = [f" on {k}" if self._outputs > 1 else "" for k in range(self._outputs)]
        effects = [f"{names[k // self._outputs]} effect{ends[k % self._outputs]}" for k in kept]
        return np.array([*self.encoder.get_feature_names_out()[self._plain], *effects], dtype=object)

    # ---- files ----

    def to_state(self) -> dict[str, Any]:
        """What a file keeps beside the encoder."""
        return {
            "edges": tuple(bins.edges for bins in self.bins), "tables": tuple(self.tables), "spreads": self.spreads,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any], encoder: TableEncoder, outputs: int) -> EffectEncoder:
        """One from what a file kept; what no fit gives is refused."""
        learned, columns = encoder._learned, len(encoder._learned.names)
        table = {
            "edges": several(numbers(None, low=-FARTHEST, high=FARTHEST), MOST_COLUMNS),
            "tables": several(numbers(None, outputs), MOST_COLUMNS),
            "spreads": numbers(columns * outputs, low=0.0),
        }  # fmt: skip
        require_fields(state, table)
        if not columns == len(state["edges"]) == len(state["tables"]):
            raise ValueError("the effects belong to other columns")
        known = zip(learned.statistics, state["edges"], strict=True)
        found = cls(encoder, [Bins.of_column(statistics, edges) for statistics, edges in known])
        for bins, effects in zip(found.bins, state["tables"], strict=True):
            if len(effects) != bins.count or not (np.diff(bins.edges) > 0).all():
                raise ValueError("the effects belong to other bins")
        found.tables, found.spreads = list(state["tables"]), state["spreads"]
        return found


def each(function: Callable[[int], Any], number: int) -> list[Any]:
    """What a function returns for 0, 1, ..., beside one another."""
    return beside([partial(function, k) for k in range(number)])


def spreads_of(sums: EffectSums, table: np.ndarray) -> np.ndarray:
    """The deviation of the effect on each output over the rows."""
    counts = sums.counts.sum(axis=0)
    mean = counts @ table / max(counts.sum(), 1)
    return np.sqrt(counts @ (table - mean) ** 2 / max(counts.sum(), 1))
