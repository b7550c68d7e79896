"""Lines of "label index:value index:value ...", as CSR matrices; read in chunks, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...tables.recipe import SparseRecipe
from ..base import Block, Blocks
from ..regroup import regroup
from .base import stamp

if TYPE_CHECKING:
    import scipy.sparse


BYTES = 1 << 23  # of text, at a time


class SvmlightBlocks(Blocks):
    """Sparse rows with their labels. Indices start at 1, or at 0 if there is one, unless a recipe says so."""

    recipe: SparseRecipe

    def __init__(self, files: list[str], n_columns: int | None = None, recipe: SparseRecipe | None = None) -> None:
        self.files = files
        self.n_rows, largest, lowest = 0, 0, 1
        for X, _ in self._chunks():
            self.n_rows += X.shape[0]
            if X.nnz:
                largest, lowest = max(largest, int(X.indices.max())), min(lowest, int(X.indices.min()))
        if self.n_rows == 0:
            raise ValueError(f"{files[0]!r} has no rows.")
        first = lowest if recipe is None else recipe.first
        wanted = n_columns if recipe is None else recipe.n_columns
        found = largest + 1 - first
        if wanted is not None and found > wanted:
            raise ValueError(f"{files[0]!r} has {found} columns; the model was fitted to {wanted}.")
        if lowest < first:
            raise ValueError(f"{files[0]!r} has the index 0, and the indices of the fit started at 1.")
        self.recipe = SparseRecipe(max(found, 1) if wanted is None else wanted, first)
        self.n_columns = self.recipe.n_columns

    def fingerprint(self) -> dict[str, Any]:
        sizes = [stamp(file) for file in self.files]
        return {**super().fingerprint(), "files": sizes}

    def part(self, start: int, stop: int, rows: int) -> list[Block] | None:
        return None

    def read(self, start: int, stop: int) -> Block:
        return next(self.stream(start, stop - start))

    def stream(self, start: int, rows: int) -> Iterator[Block]:
        pieces = ((self._shifted(X), y, None) for X, y in self._chunks())
        return regroup(pieces, start, rows, skip=start)

    def _shifted(self, X: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
        """The columns from the first index on, as many as there are."""
        X.indices -= self.recipe.first
        X.resize(X.shape[0], self.n_columns)
        return X

    def _chunks(self) -> Iterator[tuple[Any, np.ndarray]]:
        """CSR matrices whose columns are the indices as they stand."""
        from sklearn.datasets import load_svmlight_file

        for file in self.files:
            with open_text(file) as text:
                number = 0
                while lines := text.readlines(BYTES):
                    chunk = b"".join(lines)
                    try:
                        X, y = load_svmlight_file(io.BytesIO(chunk), zero_based=True)
                    except (ValueError, OverflowError) as error:
                        where = f"lines {number + 1:,} to {number + len(lines):,} of {file!r}"
                        raise ValueError(f"{where} are not svmlight: {str(error).splitlines()[0][:200]}") from None
                    number += len(lines)
                    if X.shape[0]:
                        yield X, y


def open_text(file: str) -> BinaryIO:
    if file.endswith(".gz"):
        return gzip.open(file)  # type: ignore[return-value]
    if file.endswith(".bz2"):
        return bz2.open(file)  # type: ignore[return-value]
    return open(file, "rb")
