"""Pictures: features of patches with an exact solution, as members of the stack beside kernels of whole pictures.

The size of patches, the grid of cells and whether mirror images count as the same are chosen with few filters on a
sample; what is best there is fitted to all pictures, with as many filters as the budget allows.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_array

from ... import ops
from ...arrays import Array
from ...bases import PatchFeatures
from ...config import memory_budget
from ...streams import sample_rows
from ...typing import MatrixLike
from .fits import Member, Rows
from .linear_fits import dual_least_squares, least_squares

SIDES = (0.2, 0.35, 0.5)  # of a patch, in sides of the picture
GRIDS = (3, 2, 4)
TRIED, SAMPLE = 1000, 1500  # columns, and pictures, by which patches and grids are compared
LEARNED = 2000  # pictures from which patches are sampled
FEWEST, MOST = 1000, 32_000  # columns
PLANNED = 4000  # columns where trials are counted, not seconds
MATRICES = 6  # of sums and their factors, held at a time
PROBED = 200  # pictures, and
FILTERS = 100  # filters by which the speed of a machine is measured


@dataclass(frozen=True)
class PatchSetting:
    """A map of patches before it has seen any: its sizes, its filters, and the penalty."""

    shape: tuple[int, ...]
    size: int
    grid: int
    mirrored: bool = False
    filters: int = 1
    alpha: float = 1e-2

    numbers: ClassVar[str] = "pixels"
    root: ClassVar[None] = None

    def fitting(self, columns: int) -> PatchSetting:
        """The setting with as many filters as make so many columns."""
        return replace(self, filters=max(1, columns // (2 * self.grid**2)))

    def fitted(self, pixels: Array, seed: int, precision: str) -> PatchFeatures:
        """The basis, its patches sampled from some pictures."""
        basis = PatchFeatures(
            image_shape=self.shape, patch_size=self.size, grid=self.grid, n_filters=self.filters,
            mirrored=self.mirrored, precision=precision, random_state=seed,
        )  # fmt: skip
        return basis.fit(pixels[sample_rows(len(pixels), LEARNED, seed)])

    def described(self) -> str:
        """The setting in words."""
        mirrored = ", mirror images alike" if self.mirrored else ""
        return f"patches of {self.size} x {self.size}, grid of {self.grid}{mirrored}"


@dataclass(frozen=True, eq=False)
class PatchExpansion:
    """A linear function of features of patches."""

    setting: PatchSetting
    basis: PatchFeatures
    coefficients: np.ndarray  # (columns, outputs)
    intercept: np.ndarray
    slopes_at: ClassVar[int] = 30  # pictures by which pixels are explained
    floats: PatchFeatures | None = None  # the same features unrounded, which have slopes; no file keeps them

    @property
    def centres(self) -> np.ndarray:
        """The sampled patches that filters are."""
        return self.basis.filter_places_

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Scores (n, outputs)."""
        rows = max(1, (1 << 26) // len(self.coefficients))
        parts = [X[start : start + rows] for start in range(0, len(X), rows)] or [X]
        return np.concatenate([ops.scores(self.basis.map_(part), self.coefficients) for part in parts]) + self.intercept

    def gradients(self, X: np.ndarray) -> np.ndarray:
        """Slopes (n, pixels, outputs) at pictures."""
        assert self.floats is not None
        return np.asarray(self.floats.map_.slopes(X.astype(np.float64), self.coefficients / self.basis.scale_))


class PixelEncoder:
    """Pictures as they are: rows of numbers, one for each pixel and channel."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.column_of_ = np.arange(int(np.prod(shape)))

    @property
    def n_features_in_(self) -> int:
        """Pixels of a picture, times channels."""
        return len(self.column_of_)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Check pictures, and lay each in a row."""
        return pixels_of(X, self.shape)

    def to_state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {"shape": self.shape}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(require_shape(state["shape"]))


def require_shape(shape: object) -> tuple[int, ...]:
    """(height, width) or (height, width, channels)."""
    sides = tuple(shape) if isinstance(shape, tuple | list) else ()
    if len(sides) not in (2, 3) or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
        raise ValueError(f"image_shape must be (height, width) or (height, width, channels); got {shape!r}.")
    if min(sides[:2]) < 2:
        raise ValueError(f"image_shape={shape!r} is a line: pictures have two rows and two columns of pixels or more.")
    return tuple(int(side) for side in sides)


def pixels_of(X: MatrixLike, shape: tuple[int, ...]) -> np.ndarray:
    """Pictures of a shape, which may be laid in rows already, as rows of finite numbers."""
    rows = np.asarray(X)
    if rows.ndim > 2 and rows.shape[1:] in (shape, (*shape, 1)):
        rows = rows.reshape(len(rows), -1)
    rows = check_array(rows, dtype="numeric", input_name="X")
    if rows.shape[1] != np.prod(shape):
        raise ValueError(f"image_shape={shape} has {int(np.prod(shape))} pixels; X has {rows.shape[1]} columns.")
    return rows


def settings(shape: tuple[int, ...]) -> Generator[list[PatchSetting], PatchSetting, None]:
    """What is compared, one choice after another; each begins at the best of the one before, which is sent in."""
    side = min(shape[:2])
    sizes = sorted({min(max(2, round(side * share)), side) for share in SIDES})
    best = yield [PatchSetting(shape, size, min(GRIDS[0], side - size + 1)) for size in sizes]
    best = yield [replace(best, grid=grid) for grid in GRIDS[1:] if grid <= side - best.size + 1]
    yield [replace(best, mirrored=True)]


def patch_fit(rows: Rows, setting: PatchSetting, seed: int, explained: bool = False) -> Member | None:
    """The member with these features of pictures, its penalty by the judged folds."""
    basis = setting.fitted(rows.X, seed, "int8")
    solve = dual_least_squares if basis.map_.columns > len(rows.X) else least_squares
    found = solve(rows, lambda at: np.asarray(basis.map_(rows.X[at])), setting.alpha)
    if found is None:
        return None
    floats = setting.fitted(rows.X, seed, "float64") if explained else None
    expansion = PatchExpansion(
        replace(setting, alpha=found.alpha), basis, found.coefficients, found.intercept, floats=floats
    )
    return Member(expansion, found.held_out, found.error)


def columns_within(seconds: float, rows: Rows, setting: PatchSetting, seed: int) -> int:
    """How many columns can be made of all pictures, summed and solved in so many seconds, as busy as the machine is."""
    basis = replace(setting, filters=FILTERS).fitted(rows.X, seed, "int8")
    begun = time.monotonic()
    features = basis.map_(rows.X[:PROBED])
    for_column = (time.monotonic() - begun) / min(PROBED, len(rows.X)) / features.shape[1]
    begun = time.monotonic()
    ops.gram(features)
    for_product = (time.monotonic() - begun) / features.shape[1] ** 2 / len(features)
    room = int((memory_budget() / (8 * MATRICES)) ** 0.5)
    columns = np.arange(FEWEST, max(min(MOST, room), FEWEST) + 1, 250, dtype=np.float64)
    # Some ten factors of the Gram matrix, each of about twenty times as many products of an integer sum's speed.
    sides = np.minimum(columns, len(rows.X))  # of the smaller of the matrices, Gram or kernel
    needed = len(rows.X) * (for_column + for_product * sides) * columns + 70.0 * for_product * sides**3
    return int(columns[max(int(np.searchsorted(needed, seconds)) - 1, 0)])
