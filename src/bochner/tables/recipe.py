"""How the columns of a table become numbers: a rule that is learned once, saved with the model and used ever after.

A number x becomes (x - mean) / deviation. Text becomes one column of 0 and 1 per category, in sorted order; where there
are too many categories, a signed 1 in one of a few columns, chosen by a hash. A category that was not there when the
rule was learned has zeros in all its columns. A missing number is refused, or takes the mean of its column; missing
text is refused, or has zeros in all its columns. Text of which nearly all are numbers or dates is taken for that, the
rest being missing; a date is the number of days since 1970.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..typing import Matrix, MatrixLike
from ..validation import is_option, option
from .categories import write_hashed, write_onehot
from .chunk import Chunk, Text, chunk_of_frame, has_columns

MOST_COLUMNS = 1 << 20  # for hashed text


@dataclass(frozen=True, eq=False)
class Recipe:
    """How the columns of a table become numbers: learned once, saved with the model and used ever after.

    Parameters
    ----------
    names : tuple of str
        The columns, in order.
    texts : tuple of str
        Those that hold text.
    means : ndarray of shape (n_numbers,)
        Means of the numbers.
    deviations : ndarray of shape (n_numbers,)
        Standard deviations of the numbers.
    categories : tuple of ndarray
        Categories of each text, empty if it is hashed.
    hash_columns : int
        Columns that text is hashed to.
    missing : {'refuse', 'mean'}
        What becomes of missing values.
    standardize : bool
        Whether numbers get mean 0 and variance 1.
    dtype : str
        Type of the numbers that come out.
    commas : tuple of str, default=()
        Numbers that have decimal commas where they come as text.
    dates : tuple of str, default=()
        Numbers that are dates.
    groups : tuple of str, default=()
        Numbers whose digits are grouped by threes, as in 1,234,567.

    Examples
    --------
    >>> import pandas
    >>> from bochner import read
    >>> frame = pandas.DataFrame({"a": [1.0, 3.0], "b": ["x", "y"]})
    >>> read(frame).recipe.encode(frame)
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]
    means: np.ndarray
    deviations: np.ndarray
    categories: tuple[np.ndarray, ...]
    hash_columns: int
    missing: str
    standardize: bool
    dtype: str
    commas: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    is_exportable: ClassVar[bool] = True  # whether a graph of ONNX can do the same to numbers

    def __post_init__(self) -> None:
        count = len(self.names) - len(self.texts)
        arrays = (self.means, self.deviations)
        sound = (
            all(isinstance(name, str) for name in (*self.names, *self.texts))
            and set(self.texts) <= set(self.names)
            and set(self.commas) | set(self.dates) | set(self.groups) <= set(self.names) - set(self.texts)
            and all(a.shape == (count,) and a.dtype == np.float64 and np.isfinite(a).all() for a in arrays)
            and bool((self.deviations > 0).all())
            and len(self.categories) == len(self.texts)
            and all(a.dtype == object and a.ndim == 1 for a in self.categories)
            and type(self.hash_columns) is int
            and 0 < self.hash_columns <= MOST_COLUMNS
            and self.missing in ("refuse", "mean")
            and isinstance(self.standardize, bool | int)
            and self.dtype in ("float64", "float32", "uint8", "int8")
        )
        if not sound:
            raise ValueError("this is no recipe")

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for name in self.names if name not in self.texts]

    def how(self, name: str) -> str:
        """Say what the text of a column of numbers is.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        str
            'number', 'comma' (either of them 'grouped') or 'date'.
        """
        kind = "comma" if name in self.commas else "date" if name in self.dates else "number"
        return f"grouped {kind}" if name in self.groups else kind

    @property
    def n_inputs(self) -> int:
        """Number of columns of the table."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Number of columns that come out."""
        return len(self.means) + sum(map(self._width, self.categories))

    def column_names(self) -> list[str]:
        """Return the names of the columns that come out: numbers, then text.

        Returns
        -------
        list of str
            The names; those of categories are 'column=category'.
        """
        out = self.numbers
        for name, categories in zip(self.texts, self.categories, strict=True):
            ends = categories if len(categories) else [f"hash {k}" for k in range(self.hash_columns)]
            out += [f"{name}={end}" for end in ends]
        return out

    def column_origins(self) -> np.ndarray:
        """Return the index of the column of the table that each column that comes out was made from.

        Returns
        -------
        ndarray of shape (n_columns,)
            The indices.
        """
        origins = [self.names.index(name) for name in self.numbers]
        for name, categories in zip(self.texts, self.categories, strict=True):
            origins += [self.names.index(name)] * self._width(categories)
        return np.array(origins, dtype=np.int64)

    def _width(self, categories: np.ndarray) -> int:
        return len(categories) or self.hash_columns

    def encode(self, rows: MatrixLike) -> np.ndarray:
        """Turn rows into numbers.

        Parameters
        ----------
        rows : frame or array-like of shape (n_samples, n_inputs)
            A frame, whose columns are found by name; or an array of numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            The numbers.
        """
        return self.encode_chunk(chunk_of_frame(rows, self) if has_columns(rows) else self._chunk(rows))

    def _refuse_arrays(self) -> None:
        for kind, names in (("text", self.texts), ("dates", self.dates)):
            if names:
                raise ValueError(f"the column {names[0]!r} holds {kind}: give a frame with the columns' names.")

    def _chunk(self, rows: MatrixLike) -> Chunk:
        self._refuse_arrays()
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        if rows.dtype.kind not in "biuf":
            raise ValueError(f"X must hold numbers; its type is {rows.dtype}.")
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise ValueError(
                f"X has shape {rows.shape}; the model was fitted to {len(self.names)} columns. Reshape your data."
            )
        return Chunk(rows, {})

    def encode_chunk(self, chunk: Chunk, start: int = 0, rows: int | None = None) -> np.ndarray:
        """Turn the rows of a chunk into numbers.

        What is refused is counted in the chunk: if there are more rows, there may be more of it.

        Parameters
        ----------
        chunk : Chunk
            Numbers and text.
        start : int, default=0
            Number of its first row.
        rows : int, default=None
            How many rows there are in all; None is those of the chunk.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            The numbers.
        """
        out = np.zeros((len(chunk.numbers), self.n_columns), dtype=self.dtype)
        more = rows is not None and rows > len(chunk.numbers)
        self._encode_numbers(chunk.numbers, out[:, : len(self.means)], start, more)
        place = len(self.means)
        for name, categories in zip(self.texts, self.categories, strict=True):
            width = self._width(categories)
            if self.missing == "refuse":
                require_text(name, chunk.text[name], start, more)
            part = out[:, place : place + width]
            if len(categories):
                write_onehot(chunk.text[name], categories.tolist(), part)
            else:
                write_hashed(name, chunk.text[name], part)
            place += width
        return out

    def _encode_numbers(self, values: np.ndarray, out: np.ndarray, start: int, more: bool) -> None:
        if require_sound(values, self.numbers, self.missing, start, more):
            values = np.where(np.isnan(values), self.means, values)
        out[:] = (values.astype(np.float64) - self.means) / self.deviations if self.standardize else values

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps, where names of columns are text apart: there may be many.

        Commas, dates and groups are there only if there are any, so that other files are as they always were.

        Returns
        -------
        dict
            Values by name.
        """
        names = {name: np.array(getattr(self, name), dtype=object) for name in ("names", "texts", *LATER)}
        return {name: value for name, value in {**vars(self), **names}.items() if name not in LATER or len(value)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Recipe:
        """Make a recipe of what a file kept, and refuse what is none.

        Parameters
        ----------
        state : dict
            What `to_state` returned.

        Returns
        -------
        Recipe
            The recipe.
        """
        names = {name: tuple(state[name].tolist()) for name in ("names", "texts", *LATER) if name in state}
        return cls(**{**state, **names})

    def digest(self) -> str:
        """Return a checksum of the recipe.

        Returns
        -------
        str
            The same for equal recipes.
        """
        plain = [self.names, self.texts, self.hash_columns, self.missing, self.standardize, self.dtype]
        plain += [part for part in (self.commas, self.dates) if part]
        plain += [("groups", self.groups)] if self.groups else []
        words = hashlib.sha256(repr(plain).encode())
        for part in (self.means, self.deviations):
            words.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        words.update(repr([categories.tolist() for categories in self.categories]).encode())
        return words.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Recipe) and self.digest() == other.digest())

    def __hash__(self) -> int:
        return hash(self.digest())


LATER = ("commas", "dates", "groups")  # which the first files did not have


@dataclass(frozen=True)
class SparseRecipe:
    """What rows of "index:value" mean: how many columns there are, and the index of the first, 0 or 1."""

    n_columns: int
    first: int

    standardize, texts, missing, names, is_exportable = False, (), "refuse", (), True

    @property
    def n_inputs(self) -> int:
        """Number of columns of the rows."""
        return self.n_columns

    def __post_init__(self) -> None:
        if type(self.n_columns) is not int or self.n_columns < 1 or self.first not in (0, 1):
            raise ValueError("this is no recipe")

    def encode(self, given: MatrixLike) -> Matrix:
        """A CSR matrix or an array of as many columns."""
        rows = given.tocsr().astype(np.float64) if hasattr(given, "tocsr") else np.asarray(given, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_columns:
            raise ValueError(f"X has shape {rows.shape}; the model was fitted to {self.n_columns} columns.")
        return rows

    def digest(self) -> str:
        """A checksum: the same for equal recipes."""
        return repr(self)


def require_sound(values: np.ndarray, names: list[str], missing: str, start: int, more: bool = False) -> bool:
    """Refuse infinite numbers, and missing ones unless they are to be imputed; whether there are any to impute.

    `more` says that there are rows beside these.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return False
    for kind, bad in (("infinite", np.isinf(values)), ("missing", np.isnan(values))):
        if bad.any() and (kind == "infinite" or missing == "refuse"):
            row, column = np.argwhere(bad)[0]
            refuse(names[column], kind, int(np.count_nonzero(bad[:, column])), start + int(row), more=more)
    return bool(np.isnan(values).any())


def require_text(name: str, text: Text, start: int, more: bool) -> None:
    """Refuse missing text."""
    gaps = text.codes < 0
    if gaps.any():
        refuse(name, "missing", int(np.count_nonzero(gaps)), start + int(np.argmax(gaps)), more=more)


def refuse(column: str, kind: str, count: int, row: int, written: str = "", more: bool = False) -> None:
    """Say what a column has that it must not have, and what can be done where the reader is.

    written : how it stands there. more : whether there may be more of it in rows that were not looked at.
    """
    some = f"{count:,} {kind} values" if count > 1 else f"{'an' if kind == 'infinite' else 'a'} {kind} value"
    some = f"{count:,} or more {kind} values" if more else some
    ways = []
    if kind == "missing" and is_option("missing"):
        ways.append(f"give {option('missing', 'mean')} to impute")
    if kind == "missing" and is_option("drop"):
        ways.append(f"leave the column out with {option('drop', [column])}")
    advice = ", or ".join(ways) or "clean it first"
    raise ValueError(f"column {column!r} has {some}{written} (first at row {row:,}): {advice}.")
