"""Rows as encoders make them, and folds: who judges whom, and what those who are judged may know.

The effects of columns on the targets are learned from targets. So rows have as many versions as there are folds: in the
version of a fold its rows get effects by all others, as new rows do, and these get effects that no row of the fold, nor
their own target, has a part in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...streams import row_hashes
from ...tables import TableEncoder
from ...typing import MatrixLike
from .effect_encoder import EffectEncoder
from .pictures import PixelEncoder

FOLDS = 5
JUDGED = 10_000  # rows that are enough to judge by
WHOLE = 1500  # rows up to which every fold is judged; of more, fold 0 alone
POOL = 20_000  # rows by which a sample gets its effects
OFTEN = 0.1  # share of different rows up to which rows come again and again
NOISE = 0.05  # share of the variance of targets among equal rows, from which these are no copies


class Tables:
    """A table by how its numbers are scaled: "robust", "normal", None for not at all; "effects" has those too.

    Pictures have one more version, "pixels": all of these, in the numbers that were given.
    """

    whole = WHOLE  # rows up to which every fold is judged where the search is made

    def __init__(self, X: MatrixLike, y: np.ndarray, Y: np.ndarray, shape: tuple[int, ...] | None = None) -> None:
        """`y` are targets as they are given, Y (n, outputs) coded ones of mean zero; `shape` that of pictures."""
        self.Y, self.shape = Y, shape
        first = TableEncoder("robust", random_state=0)
        self._columns, self._targets = first._learn(X, y)
        self.encoders: dict[str, Any] = {"robust": first}
        self._tables: dict[str, np.ndarray] = {}
        if shape is not None:
            self.encoders["pixels"] = PixelEncoder(shape)
            self._tables["pixels"] = self.encoders["pixels"].transform(X)
        self.folds = row_folds(self("robust"), Y)

    def __call__(self, numbers: str | None) -> np.ndarray:
        name = str(numbers)
        if name not in self._tables:
            self._tables[name] = self._with_effects() if name == "effects" else self._plain(numbers)
        return self._tables[name]

    def _plain(self, numbers: str | None) -> np.ndarray:
        encoder = self.encoders.setdefault(str(numbers), self.encoders["robust"].rescaled(numbers))
        return np.ascontiguousarray(encoder._encode(self._columns, self._targets), dtype=np.float64)

    def _with_effects(self) -> np.ndarray:
        encoder = self.encoders["effects"] = EffectEncoder.of(self.encoders["robust"])
        self._codes = encoder.codes(self._columns)
        seen = np.ones(len(self.Y), dtype=bool) if len(self.Y) <= self.whole else self.folds != 0
        return encoder.fit_transform(self._codes, self("robust"), self.Y, seen)

    def versions(self, numbers: str | None, rows: np.ndarray, pool: np.ndarray, folds: np.ndarray) -> list[np.ndarray]:
        """Some rows as those see them who have not seen a fold, for each fold; pool has the rows that effects are
        learned from, and `folds` one for each of the pool. Where all versions are the same there are none."""
        if numbers != "effects":
            return []
        self(numbers)
        place = np.full(len(self.Y), -1)
        place[pool] = np.arange(len(pool))
        codes, X, Y = [code[pool] for code in self._codes], self("robust")[pool], self.Y[pool]
        main, found = self.encoders["effects"], []
        for fold in range(int(folds.max()) + 1):
            encoder = EffectEncoder(main.encoder, main.bins)
            found.append(encoder.fit_transform(codes, X, Y, folds != fold, kept=main.spreads > 0)[place[rows]])
        return found


def row_folds(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The fold of each row; fold 0 has no more rows than judging needs.

    Copies of a row share a fold, which is a hash of what the row holds. Where a few different rows come again and again
    with different targets, as in a table of a few categories, they are no copies, and folds are drawn at random.
    """
    count = max(FOLDS, -(-len(X) // JUDGED))
    folds = np.asarray(ops.row_folds(X, count))
    if len(np.unique(folds[folds < FOLDS])) < 2 or are_observations(X, Y):
        return np.random.default_rng(0).permutation(len(X)) % count
    return folds


def are_observations(X: np.ndarray, Y: np.ndarray) -> bool:
    """Whether equal rows are many, and their targets differ: then they were observed, not copied."""
    groups, of = np.unique(row_hashes(X), return_inverse=True)
    if len(groups) > OFTEN * len(X):
        return False
    sizes = np.bincount(of)
    means = np.stack([np.bincount(of, y) / sizes for y in Y.T], axis=1)
    return bool(np.sum((Y - means[of]) ** 2) > NOISE * np.sum((Y - Y.mean(axis=0)) ** 2))
