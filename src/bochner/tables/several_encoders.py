"""Several fitted encoders of one table as a recipe, and rows of files as a frame that encoders take."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import storage
from ..typing import MatrixLike
from .chunk import Chunk, Text
from .encoder_recipe import EncoderRecipe, columns_of, recipe_of
from .recipe import Recipe
from .tokens import UNITS

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, eq=False)
class EncodersRecipe(EncoderRecipe):
    """The recipe that several encoders of one table are: what they make of a row stands side by side.

    The first of them is `encoder`; they have learned the same columns, of the same kinds.
    """

    encoders: tuple[Any, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns that come out, of all encoders."""
        return sum(len(encoder.column_of_) for encoder in self.encoders)

    def column_names(self) -> list[str]:
        """Return the names of the columns that come out, encoder by encoder."""
        return [str(name) for encoder in self.encoders for name in encoder.get_feature_names_out()]

    def column_origins(self) -> np.ndarray:
        """Return the index of the column that each one came from."""
        return np.concatenate([encoder.column_of_ for encoder in self.encoders])

    def encode(self, rows: MatrixLike) -> np.ndarray:
        """Turn the rows of a frame or an array into numbers."""
        return np.hstack([recipe_of(encoder, *self.reading).encode(rows) for encoder in self.encoders])

    def encode_chunk(self, chunk: Chunk, start: int = 0, rows: int | None = None) -> np.ndarray:
        """Turn the rows of a chunk into numbers."""
        first = super().encode_chunk(chunk, start, rows)  # which checks them
        return np.hstack([first, *(other._encode(columns_of(self, chunk)) for other in self.encoders[1:])])

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """What each encoder has made, of what stands side by side."""
        ends = np.cumsum([len(encoder.column_of_) for encoder in self.encoders])
        return np.split(rows, ends[:-1], axis=1)

    @property
    def reading(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """How files are read: what becomes of missing values, and how numbers are written."""
        return self.missing, self.commas, self.groups

    def digest(self) -> str:
        """Return a checksum of the recipe, and of all that the encoders have learned."""
        arrays: list[np.ndarray] = []
        tree = storage.pack([encoder.to_state() for encoder in self.encoders], arrays, {})
        return storage.checksum({"reading": repr(self.reading), "encoders": json.dumps(tree)}, arrays)


def recipe_of_several(
    encoders: Iterable[Any], missing: str = "mean", commas: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> EncodersRecipe:
    """The recipe of encoders that were fitted to one table."""
    several = tuple(encoders)
    first = recipe_of(several[0], missing, commas, groups)
    return EncodersRecipe(**vars(first), encoders=several)


def frame_of_chunks(recipe: Recipe, chunks: Iterable[Chunk]) -> pyarrow.Table:
    """Rows that a recipe knows how to read as an Arrow table: numbers, dates, and text as categories."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError('a table of files as a frame needs pyarrow: pip install "bochner[files]"') from None

    def column(given: Text | np.ndarray, name: str) -> pyarrow.Array:
        values: Any = given
        if name in recipe.texts:
            codes = pa.array(values.codes, mask=values.codes < 0)
            return pa.DictionaryArray.from_arrays(codes, pa.array(values.values, pa.string()))
        if name in recipe.dates:
            values = np.where(np.isnan(values), np.nan, np.rint(values * UNITS["us"]))
            return pa.array(values, from_pandas=True).cast(pa.int64()).cast(pa.timestamp("us"))
        return pa.array(values)

    def table(chunk: Chunk) -> pyarrow.Table:
        made = [column(*pair) for pair in zip(columns_of(recipe, chunk), recipe.names, strict=True)]
        return pa.table(made, list(recipe.names))

    return pa.concat_tables(map(table, chunks)).unify_dictionaries()
