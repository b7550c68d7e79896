"""A fitted `TableEncoder` as the recipe of files: learned from their chunks, and used wherever a recipe is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .. import storage
from ..fields import instance, require_fields, several, text
from ..typing import MatrixLike
from .chunk import Chunk
from .columns import is_frame
from .encoder import TableEncoder
from .learned import LearnedTable
from .recipe import Recipe, require_sound, require_text


@dataclass(frozen=True, eq=False)
class EncoderRecipe(Recipe):
    """The recipe that a fitted encoder is. Of the fields of a recipe it uses those that say how columns are read."""

    encoder: Any = None

    is_exportable: ClassVar[bool] = False

    @property
    def n_columns(self) -> int:
        """Number of columns that come out."""
        return len(self.encoder.column_of_)

    def column_names(self) -> list[str]:
        """Return the names of the columns that come out, as the encoder has them."""
        return self.encoder.get_feature_names_out().tolist()

    def column_origins(self) -> np.ndarray:
        """Return the index of the column that each one came from."""
        return self.encoder.column_of_

    def encode(self, rows: MatrixLike) -> np.ndarray:
        """Turn the rows of a frame, whose columns are found by name, or of an array into numbers."""
        if not is_frame(rows):
            return super().encode(rows)
        present = {str(name): name for name in getattr(rows, "column_names", getattr(rows, "columns", ()))}
        for name in self.names:
            if name not in present:
                raise ValueError(f"the frame has no column {name!r}, which the model was fitted to.")
        return self.encoder._encode(self.encoder._learned.read([rows[present[name]] for name in self.names]))

    def encode_chunk(self, chunk: Chunk, start: int = 0, rows: int | None = None) -> np.ndarray:
        """Turn the rows of a chunk into numbers."""
        require_sound_chunk(self, chunk, start, rows)
        return self.encoder._encode(columns_of(self, chunk))

    def digest(self) -> str:
        """Return a checksum of the recipe, and of all that the encoder has learned."""
        arrays: list[np.ndarray] = []
        tree = storage.pack(self.encoder.to_state(), arrays, {})
        return storage.checksum({"recipe": super().digest(), "encoder": json.dumps(tree)}, arrays)

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps."""
        return {"encoder": self.encoder, "missing": self.missing, **{name: getattr(self, name) for name in WRITTEN}}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> EncoderRecipe:
        """Make a recipe of what a file kept, and refuse what is none."""
        names = several(text(), 1 << 20)
        table = {"encoder": instance(TableEncoder), "missing": text("refuse", "mean"), **dict.fromkeys(WRITTEN, names)}
        require_fields(state, table)
        return recipe_of(**state)


WRITTEN = ("commas", "groups")  # how numbers are written in text files


def recipe_of(
    encoder: TableEncoder, missing: str = "mean", commas: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> EncoderRecipe:
    """The recipe that a fitted encoder is."""
    learned = encoder._learned
    names = tuple(learned.names)
    kinds = dict(zip(names, (kind for kind, _ in learned.kinds), strict=True))
    texts = tuple(name for name in names if kinds[name] == "category")
    dates = tuple(name for name in names if kinds[name] == "date")
    numbers = len(names) - len(texts)
    nothing = tuple(np.empty(0, dtype=object) for _ in texts)
    unused = (np.zeros(numbers), np.ones(numbers), nothing, int(encoder.hash_columns))
    return EncoderRecipe(names, texts, *unused, missing, False, "float64", commas, dates, groups, encoder)


def learned_recipe(encoder: TableEncoder, plain: Recipe, chunks: Iterable[Chunk]) -> EncoderRecipe:
    """What an encoder learns from the chunks of a table that a plain recipe knows how to read; targets have no part.

    Each block is encoded by itself, so that effects on the target would have seen it.
    """
    encoder = clone(encoder).set_params(categorical_features=None)
    encoder._check_parameters()
    encoder._remember(list(plain.names))
    kind = {**dict.fromkeys(plain.texts, ("category", "")), **dict.fromkeys(plain.dates, ("date", "date"))}
    table = LearnedTable(list(plain.names), [kind.get(name, ("number", "number")) for name in plain.names])
    for chunk in chunks:
        table.add(columns_of(plain, chunk), None)
    encoder._settle(table)
    return recipe_of(encoder, plain.missing, plain.commas, plain.groups)


def require_sound_chunk(recipe: Recipe, chunk: Chunk, start: int, rows: int | None) -> None:
    """Refuse infinite numbers, and missing values unless the recipe takes them."""
    more = rows is not None and rows > len(chunk.numbers)
    require_sound(chunk.numbers, recipe.numbers, recipe.missing, start, more)
    if recipe.missing == "refuse":
        for name in recipe.texts:
            require_text(name, chunk.text[name], start, more)


def columns_of(recipe: Recipe, chunk: Chunk) -> list[Any]:
    """The columns of a chunk in the order of the table, as an encoder takes them."""
    places = {name: k for k, name in enumerate(recipe.numbers)}
    return [
        chunk.text[name] if name in recipe.texts else chunk.numbers[:, places[name]].astype(np.float64)
        for name in recipe.names
    ]
