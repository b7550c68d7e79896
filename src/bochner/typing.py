"""Types of what callers give, for the signatures of public names; nothing is imported that they have not imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

__all__ = [
    "ArrayLike",
    "ClassWeight",
    "Column",
    "Frame",
    "Matrix",
    "MatrixLike",
    "Penalty",
    "RandomStateLike",
    "SparseMatrix",
    "Tensor",
    "VectorLike",
]


class SparseMatrix(Protocol):
    """A matrix or an array of scipy.sparse."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def tocsr(self, copy: bool = False) -> scipy.sparse.csr_matrix: ...


class Column(Protocol):
    """A column of a table, of pandas, polars or Arrow: what all have, and what some have beside it."""

    @property
    def to_numpy(self) -> Callable[..., np.ndarray]: ...


class Frame(Protocol):
    """A table with columns of names: of pandas, polars or Arrow."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> Column: ...


class Tensor(Protocol):
    """A tensor of torch."""

    @property
    def device(self) -> object: ...
    def detach(self) -> Tensor: ...


Matrix: TypeAlias = np.ndarray | scipy.sparse.csr_matrix  # rows that were checked, in numpy
MatrixLike: TypeAlias = ArrayLike | SparseMatrix | Frame | Tensor  # rows that estimators take
VectorLike: TypeAlias = ArrayLike | Tensor  # targets, weights and labels, one for each row
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
ClassWeight: TypeAlias = Mapping[Any, float] | str | None  # weights by label, "balanced", or 1 for each
Penalty: TypeAlias = float | Sequence[float] | np.ndarray | str  # a number, candidates, or how it is to be chosen
