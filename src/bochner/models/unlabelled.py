"""Rows without targets, as arrays or Blocks: checked, and sampled to settle a basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from ..arrays import arange, empty, is_torch
from ..bases import Basis, BasisUnion, RandomFourier
from ..bases.checking import sound_tensor
from ..bases.design import Design
from ..bases.heuristics import draw_seed
from ..blocks import Aggregate, Block, Blocks, MemoryBlocks, RowsLike, SumOf
from ..blocks.memory import is_mapped
from ..lazy import is_lazy
from ..moments import Moments, Rows
from ..typing import Matrix, RandomStateLike
from ..validation import require_choice, require_finite, require_numbers, require_squares
from .checks import Dtypes, collected, dtypes_for
from .sampling import Sample
from .trials import Choice, design_of

LOT = 1 << 20  # numbers looked at together, whatever the memory budget


def require_basis(basis: object) -> None:
    if basis is not None and not isinstance(basis, Basis):
        raise ValueError(f"basis must be one of bochner's bases; got {basis!r}.")
    require_no_union(basis)


def require_no_union(basis: object) -> None:
    """Refuse several bases in one, whose columns have factors of their own."""
    if isinstance(basis, BasisUnion):
        raise ValueError(
            "a BasisUnion is for RandomFeatureRegressor and RandomFeatureClassifier: give one of its parts."
        )


def require_scale(scale: str | None) -> None:
    if scale is not None:
        require_choice("scale", scale, ["auto", "robust", "standard"])


def chosen_scale(scale: str | None, basis: Basis | None, *rows: RowsLike) -> str | None:
    """How columns are scaled. There are no targets to judge by, so "auto" is robust, unless a number was given in the
    units of x, or all rows (as they came, before they were checked) are of 8 bits and so share a unit.
    """
    if scale != "auto":
        return scale
    has_units = basis is not None and basis.has_units
    return None if has_units or all(has_bytes(some) for some in rows) else "robust"


def has_bytes(given: RowsLike) -> bool:
    """Whether all columns are of 8 bits."""
    X: Any = given
    if isinstance(X, Blocks):
        X = X.read(0, 1).X
    if is_lazy(X):  # the types of its columns are known without a pass
        X = X._meta
    kinds = list(X.dtypes) if hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    return all(getattr(kind, "itemsize", 8) == 1 for kind in kinds)


def in_blocks(given: RowsLike, dtypes: Dtypes, name: str = "X") -> RowsLike:
    """Blocks that are checked as they come; or, if they are in memory, the array that is to be checked as a whole."""
    X = collected(given, None, None)[0]
    if isinstance(X, MemoryBlocks) and X.recipe is None and X.weight is None:
        X = X.X
    if is_mapped(X) and X.dtype not in dtypes:  # a block at a time, never converted as a whole
        X = MemoryBlocks(X).in_blocks()
    if not isinstance(X, Blocks):
        return X
    if X.n_rows == 0:
        raise ValueError(f"{name} has no rows: at least one is needed.")

    return X.map(CheckedUnlabelled(tuple(dtypes), name))


@dataclass(frozen=True)
class CheckedUnlabelled:
    """A block of finite numbers of a type that features are made of, without targets and weights."""

    dtypes: tuple[type[np.generic], ...]
    name: str

    def __call__(self, block: Block) -> Block:
        if block.weight is not None:
            raise ValueError(f"{self.name} has weights, which are not taken here: read it without them.")
        rows = block.X if block.X.dtype in self.dtypes else block.X.astype(np.float64)
        require_finite(rows, f"{self.name}, in the block from row {block.start} on,")
        return Block(rows, None, None, block.start)


def valid_rows(given: RowsLike, name: str, basis: Basis | None) -> Blocks:
    """Rows that no estimator remembers, checked: arrays at once, Blocks as they come."""
    dtypes = dtypes_for(getattr(basis, "precision", None))
    X = in_blocks(given, dtypes, name)
    if isinstance(X, Blocks):
        return X
    if is_torch(X):
        tensor = sound_tensor(X, [np.dtype(kind).name for kind in dtypes])
        require_finite(tensor, name)
        return MemoryBlocks(tensor)
    require_numbers(X)
    X = check_array(
        X, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False, ensure_min_samples=0, input_name=name
    )
    if X.shape[0] == 0:
        raise ValueError(f"{name} has no rows: at least one is needed.")
    require_finite(X, name)
    return MemoryBlocks(X)


def sample_of(blocks: Blocks, most: int, first: int = 0) -> Sample:
    """The sample of these rows, which are numbered from `first` on; on the host."""
    found: Sample = blocks.reduce(SampleOf(blocks.n_columns, most, first), title="survey")
    return found.on_host()


@dataclass(frozen=True)
class SampleOf(SumOf):
    """The sample of rows that are numbered from `first` on."""

    columns: int
    most: int
    first: int = 0

    @property
    def rows(self) -> int:
        return rows_of_lot(self.columns)

    def of(self, block: Block) -> Sample:
        return Sample.of(block.X, self.first + block.start + arange(block.X.shape[0], block.X), self.most)


@dataclass(frozen=True)
class FeatureMoments(Aggregate[Moments]):
    """The moments of features without targets."""

    design: Design

    @property
    def width(self) -> float:
        return 3.0 * int(self.design.n_components)

    @property
    def partial_bytes(self) -> int:
        return 8 * int(self.design.n_components) ** 2

    @property
    def is_parallel(self) -> bool:
        return True

    def step(self, partial: Moments | None, block: Block) -> Moments:
        return Moments.plus_rows(partial, Rows(self.design.features(block.X), empty((block.X.shape[0], 0), block.X)))


def rows_of_lot(columns: int) -> int:
    """Rows that are looked at together."""
    return max(1, min(1 << 14, LOT // max(columns, 1)))


def settle(
    rows: Matrix, largest: float, basis: Basis | None, random_state: RandomStateLike, scale: str | None
) -> Design:
    """The basis fitted to sampled rows, scaled as it says; without one, a thousand Fourier features."""
    basis = RandomFourier(1000) if basis is None else clone(basis)
    if scale is not None:
        require_squares(largest, "X")
    seed = draw_seed(random_state if basis.random_state is None else basis.random_state)
    return design_of(Choice(scale, 0.0, ""), basis.set_params(random_state=seed), rows, largest)
