"""Pictures as bags of patches: features of patches, pooled over the cells of a coarse grid, each column of one spread.

A patch p of D pixels, at every place `stride` apart, becomes y = Z n - b with n = (p - mean) / sqrt(contrast variance +
floor): its contrast is taken out, and Z whitens. The map inside makes features of y; over the patches of each cell of
grid x grid their mean is taken, its root, or the largest; columns are centred and brought to one spread. The mean
features of a bag are its mean embedding, so this is distribution regression on patches: a convolutional kernel machine.
Columns go feature by feature, with the cells of one side by side, so that fewer filters are a prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .. import ops
from ..arrays import Array, Rows, cast, dtype_name, empty, is_torch, like, namespace
from ..fields import LARGEST, flag, number, numbers, require_sound, text, whole
from ..ops import threads
from ..validation import require_integer
from .base import FeatureMap, read_only
from .quantize import Quantizer
from .rows import require_arrays, to_dense
from .units import UnitMap, Units

POOLINGS = ("mean", "root", "max")
CODES = 32.0  # codes of a deviation: of whitened pixels, and of 8-bit features; four deviations are within reach
FINE = 2048.0  # the same for 14-bit features
AT_ONCE = 1 << 21  # numbers of the patches of some pictures, and of their features in floats: they stay in a cache
KEPT = 1 << 27  # bytes of patches that all tiles of columns share
LEAST = 4  # pictures that are worth a thread
MOST_WHITENING = 32767  # of an integer of 16 bits


@dataclass(frozen=True)
class Geometry:
    """Where the patches of a picture are, and in which cell of the grid each lies."""

    height: int
    width: int
    channels: int
    size: int
    stride: int
    grid: int
    mirrored: bool = False  # whether the patches of the mirror image are among them, each in its cell there

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "mirrored":
                require_integer(name, value)
        if self.size > min(self.height, self.width):
            raise ValueError(f"patches of {self.size} pixels do not fit into {self.height} x {self.width}.")
        if self.grid > min(self.down, self.across):
            raise ValueError(f"a picture has {self.down} x {self.across} patches, too few for a grid of {self.grid}.")

    @property
    def down(self) -> int:
        """Rows of patches."""
        return (self.height - self.size) // self.stride + 1

    @property
    def across(self) -> int:
        """Patches in a row of them."""
        return (self.width - self.size) // self.stride + 1

    @property
    def pixels(self) -> int:
        return self.height * self.width * self.channels

    @property
    def pixels_of_patch(self) -> int:
        return self.size * self.size * self.channels

    @property
    def count(self) -> int:
        """Patches of a picture."""
        return self.down * self.across * (2 if self.mirrored else 1)

    @property
    def cell_count(self) -> int:
        return self.grid * self.grid

    @cached_property
    def order(self) -> np.ndarray:
        """The patches, numbered row by row, cell by cell: those of a cell are neighbours and add up in registers."""
        return np.argsort(self._cells_row_by_row, kind="stable")

    @cached_property
    def places(self) -> np.ndarray:
        """The pixels of each patch, int32 (count, pixels_of_patch); a picture goes by height, width and channel."""
        numbers = np.arange(self.pixels, dtype=np.int32).reshape(self.height, self.width, self.channels)
        found = []
        for picture in (numbers, numbers[:, ::-1])[: 2 if self.mirrored else 1]:
            windows = np.lib.stride_tricks.sliding_window_view(picture, (self.size, self.size), axis=(0, 1))
            chosen = windows[:: self.stride, :: self.stride].transpose(0, 1, 3, 4, 2)
            found.append(chosen.reshape(-1, self.pixels_of_patch))
        return np.ascontiguousarray(np.concatenate(found)[self.order])

    @cached_property
    def cells(self) -> np.ndarray:
        """The cell of each patch, int32: cells are as equal as whole patches allow."""
        return self._cells_row_by_row[self.order]

    @property
    def _cells_row_by_row(self) -> np.ndarray:
        down = np.arange(self.down) * self.grid // self.down
        across = np.arange(self.across) * self.grid // self.across
        cells = (down[:, None] * self.grid + across).astype(np.int32)
        return np.tile(cells.ravel(), 2 if self.mirrored else 1)

    @cached_property
    def shares(self) -> np.ndarray:
        """One over the number of patches of each cell."""
        return 1.0 / np.bincount(self.cells, minlength=self.cell_count)


@dataclass(frozen=True, eq=False, kw_only=True)
class PatchMap(FeatureMap):
    """The map of PatchFeatures.

    map : of whitened patches. whitening, offset, contrast, floor : of y, as above. centre, spread : of the pooled
    columns; those of integer maps are of sums and roots of sums. quantizer : codes of the pixels, for integers.
    """

    map: UnitMap
    geometry: Geometry
    pooling: str
    whitening: np.ndarray
    offset: np.ndarray
    contrast: float
    floor: float
    centre: np.ndarray
    spread: np.ndarray
    quantizer: Quantizer | None = None

    columns: int = field(init=False)
    inputs: int = field(init=False)
    precision: str | None = field(init=False)
    scale: float = field(init=False)

    name = "PatchFeatures"
    quantizes_input = True

    def __post_init__(self) -> None:
        for name in ("whitening", "offset", "centre", "spread"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        columns = self.map.columns * self.geometry.cell_count
        derived = {"columns": columns, "inputs": self.geometry.pixels, "precision": self.map.precision}
        unit = 1.0 / (self.codes_per_deviation * float(np.sqrt(columns))) if self.map.is_integer else 1.0
        for name, value in {**derived, "scale": unit}.items():
            object.__setattr__(self, name, value)

    # ---- patches ----

    def patches(self, X: Array) -> Array:
        """Compute the whitened patches of pictures: rows that the map inside takes.

        Parameters
        ----------
        X : ndarray or tensor of shape (n_pictures, inputs)
            Pictures, as `rows` makes them.

        Returns
        -------
        ndarray or tensor of shape (n_pictures * n_patches, n_pixels_of_patch)
            Codes of CODES to the deviation for integers, else floats.
        """
        if self.is_integer:
            assert self.quantizer is not None
            matrix, factor, floor = self.integer_whitening
            places = self.geometry.places
            return ops.patches(self.quantizer(X), places, matrix, factor, self.contrast, floor, CODES * self.offset)
        scaled = self._normalized(X)[0]
        whitened = scaled @ like(self.whitening.T.astype(dtype_name(X)), X)
        return (whitened - like(self.offset.astype(dtype_name(X)), X)).reshape(-1, self.geometry.pixels_of_patch)

    def _normalized(self, X: Array) -> tuple[Array, Array]:
        """Patches (n, count, pixels) without their mean and contrast, and what they were divided by."""
        p = X[:, like(self.geometry.places.astype(np.int64), X)]
        p = p - p.mean(axis=2, keepdims=True)
        size = namespace(p).sqrt(self.contrast * (p * p).mean(axis=2, keepdims=True) + self.floor)
        return p / size, size

    @cached_property
    def integer_whitening(self) -> tuple[np.ndarray, float, float]:
        """Z in integers of 16 bits, whose rows add up to zero; what brings products to codes; the floor of D^2 v."""
        size = self.geometry.pixels_of_patch
        centred = self.whitening - self.whitening.mean(axis=1, keepdims=True)
        # Sums of 255 times a row must stay below 2^31.
        most = min(MOST_WHITENING, int((2**31 - 1) // (255 * size)) - 1)
        step = max(float(np.abs(centred).max()) / most, float(np.finfo(np.float64).tiny))
        matrix = np.rint(centred / step).astype(np.int64)
        for row in matrix:  # rounding leaves a few units, which the largest entries hardly feel
            left = int(row.sum())
            order = np.argsort(-np.abs(row), kind="stable")
            largest = order[np.abs(row[order] - np.sign(left)) <= most][: abs(left)]  # the end itself cannot grow
            row[largest] -= np.sign(left)
        return matrix.astype(np.int16), CODES * step * size, self.floor * size * size

    # ---- features ----

    @property
    def units(self) -> Units:
        """Those of the map inside, each of which makes columns for every cell."""
        return self.map.units

    @property
    def codes_per_deviation(self) -> float:
        """What one deviation of a column is in integer features."""
        return CODES if self.map.limit <= 127 else FINE

    def evaluate(self, X: Rows) -> Rows:
        return self._of_units(to_dense(X), 0, self.map.units.number)

    def _of_units(self, X: Array, first: int, last: int, kept: Array | None = None) -> Array:
        """The columns of units first..last-1 of the map inside; `kept` has the patches, if they are made already."""
        pictures, count = self._pictures_at_once(X, first, last), self.geometry.count

        def made(start: int, stop: int) -> Array:
            here = self.patches(X[start:stop]) if kept is None else kept[start * count : stop * count]
            return self._finished(self.pool(here, first, last), first, last)

        n, columns, dtype = X.shape[0], self._column(last) - self._column(first), self.output_dtype(X).name
        if is_torch(X):
            if n <= pictures:
                return made(0, n)
            out = empty((columns, n + -n % 16), X, dtype).T[:n]  # as sums want it, and backends of GPUs make it
        else:
            out = empty((n, columns), X, dtype)

        def some(rows: slice) -> None:
            for row in range(rows.start, rows.stop, pictures):
                stop = min(row + pictures, rows.stop)
                out[row:stop] = made(row, stop)

        if is_torch(X):
            some(slice(0, n))
        else:
            with threads.blas_limited():
                threads.over_rows(some, n, LEAST)
        return out

    def _pictures_at_once(self, X: Array, first: int, last: int) -> int:
        """Pictures whose patches stay in a cache; on a device that pools as it projects, as many as have room."""
        columns = self.map.first_column(last - first)
        wide = 1 if self.map.pools_at_once else 3 * columns  # projections and features
        numbers = self.geometry.count * (self.geometry.pixels_of_patch + wide)
        if is_torch(X) and ops.has_fast("pooled_threshold", X):
            return max(1, ops.tiles_for(X).numbers // max(numbers, columns * self.geometry.cell_count))
        return max(1, AT_ONCE // numbers)

    def _column(self, unit: int) -> int:
        return self.map.first_column(unit) * self.geometry.cell_count

    def pool(self, patches: Array, first: int, last: int) -> Array:
        """Compute the features of patches by units first..last-1 of the map inside, pooled but not yet of one spread.

        Parameters
        ----------
        patches : ndarray or tensor of shape (n_pictures * n_patches, n_pixels_of_patch)
            What `patches` made.
        first : int
            Number of the first unit.
        last : int
            Number after the last one.

        Returns
        -------
        ndarray or tensor of shape (n_pictures, n_columns)
            Sums or the largest, as integers; means, their roots or the largest, as floats.
        """
        weights = self.map.weights_beside(patches, first, last)
        cells = like(self.geometry.cells, patches)
        values = self.map.apply_pooled(patches, weights, cells, self.geometry.cell_count, self.pooling == "max")
        if self.is_integer or self.pooling == "max":
            return values
        shares = np.tile(self.geometry.shares, values.shape[1] // self.geometry.cell_count)
        values = values * like(shares.astype(dtype_name(values)), values)
        return namespace(values).sqrt(values) if self.pooling == "root" else values

    def pooled_values(self, X: Rows) -> Array:
        """Compute the columns before they are of one spread: what their centre and spread are measured by.

        Parameters
        ----------
        X : array-like of shape (n_pictures, inputs)
            Pictures.

        Returns
        -------
        ndarray of shape (n_pictures, columns)
            Means, roots or the largest; of integers sums, and roots of sums.
        """
        values = self.pool(self.patches(self.rows(X)), 0, self.map.units.number)
        values = cast(values, "float64")
        return np.sqrt(values) if self.is_integer and self.pooling == "root" else values

    def with_filters(self, filters: np.ndarray) -> PatchMap:
        """Return the map with other directions inside.

        Parameters
        ----------
        filters : ndarray of shape (n_directions, n_pixels_of_patch)
            The directions, of about the length of normal ones.

        Returns
        -------
        PatchMap
            The map.
        """
        return replace(self, map=replace(self.map, filters=filters))

    def with_spread(self, centre: np.ndarray, spread: np.ndarray) -> PatchMap:
        """Return the map with another centre and spread of its columns.

        Parameters
        ----------
        centre : ndarray of shape (columns,)
            The centres.
        spread : ndarray of shape (columns,)
            The spreads.

        Returns
        -------
        PatchMap
            The map.
        """
        return replace(self, centre=centre, spread=spread)

    def _finished(self, pooled: Array, first: int, last: int) -> Array:
        """Columns of one spread: CODES or FINE codes to the deviation, or floats over the root of the columns."""
        part = slice(self._column(first), self._column(last))
        if self.is_integer:
            factor = self.codes_per_deviation / self.spread[part]
            return ops.standardize(pooled, self.pooling == "root", self.centre[part], factor, self.limit)
        dtype = dtype_name(pooled)
        factor = like((1.0 / (self.spread[part] * np.sqrt(self.columns))).astype(dtype), pooled)
        return (pooled - like(self.centre[part].astype(dtype), pooled)) * factor

    def rows(self, X: Rows, finite: bool = True) -> Rows:
        X = super().rows(X, finite)
        return X if self.is_integer or dtype_name(X) in ("float32", "float64") else cast(X, "float64")

    @property
    def rounds_input(self) -> bool:
        return self.is_integer

    # ---- columns a tile at a time, prefixes ----

    def tile_count(self, columns: int) -> int:
        return -(-self.map.units.number // self._units_per_tile(columns))

    def tiles(self, X: Rows, columns: int, first: int = 0) -> Iterator[tuple[slice, Any]]:
        rows, count, step = to_dense(self.rows(X)), self.map.units.number, self._units_per_tile(columns)
        size = rows.shape[0] * self.geometry.count * self.geometry.pixels_of_patch
        room = max(KEPT, ops.tiles_for(rows).numbers) if is_torch(rows) else KEPT
        kept = self.patches(rows) if size * (1 if self.is_integer else 8) <= room and count > step else None
        for start in range(first * step, count, step):
            stop = min(start + step, count)
            yield slice(self._column(start), self._column(stop)), self._of_units(rows, start, stop, kept)

    def _units_per_tile(self, columns: int) -> int:
        return max(1, columns * self.map.units.number // self.columns)

    @property
    def has_prefixes(self) -> bool:
        return False  # the spread of columns that are added would have to be measured

    def truncated(self, columns: int) -> PatchMap:
        cells = self.geometry.cell_count
        inner, left = divmod(require_integer("n_components", columns), cells)
        if left or columns > self.columns:
            raise ValueError(
                f"{self.columns} columns of {cells} cells a feature cannot be cut to their first {columns}."
            )
        smaller = self.map.truncated(inner)
        # Float features of fewer units are larger each.
        larger = 1.0 if self.is_integer else float(np.sqrt(self.map.columns / smaller.columns))
        larger = larger**0.5 if self.pooling == "root" else larger
        centre, spread = larger * self.centre[:columns], larger * self.spread[:columns]
        return replace(self, map=smaller, centre=centre, spread=spread)

    def enlarged(self, columns: int) -> PatchMap:
        if columns == self.columns:
            return self
        raise ValueError("PatchFeatures cannot grow: the spread of new columns is not known. Fit it anew.")

    def prefix_scale(self, widest: Self) -> float:
        return self.scale * (1.0 if self.is_integer else float(np.sqrt(widest.columns / self.columns)))

    # ---- functions of the features ----

    def exact_gram(self, X: Rows, Z: Rows = None) -> np.ndarray:
        raise ValueError("PatchFeatures has no exact kernel: its columns are pooled and brought to one spread.")

    def slopes(self, X: Rows, coefficients: Array) -> Array:
        """Compute the gradients at pictures of a linear function of the features: which pixels matter.

        Parameters
        ----------
        X : array-like of shape (n_pictures, inputs)
            The pictures.
        coefficients : ndarray of shape (columns, n_outputs)
            Coefficients of the features.

        Returns
        -------
        ndarray of shape (n_pictures, inputs, n_outputs)
            The gradients.
        """
        require_arrays(X, "gradients of pictures: torch differentiates nn.PatchLayer")
        if self.is_integer or not self.map.has_slopes:
            raise ValueError("gradients need float features of patches that have slopes.")
        if self.pooling == "max":
            raise ValueError("gradients need pooling='mean' or 'root'.")
        return np.stack([self._slope(row, coefficients) for row in to_dense(self.rows(X)).astype(np.float64)])

    def _slope(self, picture: np.ndarray, coefficients: Array) -> np.ndarray:
        """Back through the spread, the pooling, the features of each cell, the whitening and the contrast."""
        geometry, size = self.geometry, self.geometry.pixels_of_patch
        normalized, divisor = (part[0] for part in self._normalized(picture[None]))
        patches = self.patches(picture[None])
        pooled = self.pool(patches, 0, self.map.units.number)[0]
        steep = coefficients / (self.spread * np.sqrt(self.columns))[:, None]
        if self.pooling == "root":
            steep = steep / np.where(pooled > 0, 2.0 * pooled, np.inf)[:, None]
        steep = steep.reshape(-1, geometry.cell_count, coefficients.shape[1]) * geometry.shares[:, None]
        of_patches = np.empty((geometry.count, size, coefficients.shape[1]))
        for cell in range(geometry.cell_count):
            inside = geometry.cells == cell
            of_patches[inside] = self.map.slopes(patches[inside], steep[:, cell])
        slopes = np.einsum("ij,nik->njk", self.whitening, of_patches)
        along = np.einsum("nj,njk->nk", normalized, slopes)[:, None] * normalized[:, :, None] / size
        slopes = (slopes - self.contrast * along) / divisor[:, :, None]
        slopes -= slopes.mean(axis=1, keepdims=True)
        out = np.zeros((geometry.pixels, coefficients.shape[1]))
        np.add.at(out, geometry.places, slopes)
        return out

    def require_sound(self) -> None:
        """Refuse numbers that no fit gives."""
        super().require_sound()
        size = self.geometry.pixels_of_patch
        positive = 1.0 / LARGEST
        checks = {
            "pooling": text(*POOLINGS), "contrast": number(0.0, 1.0), "floor": number(positive, LARGEST),
            "whitening": numbers(size, size), "offset": numbers(size), "centre": numbers(self.columns),
            "spread": numbers(self.columns, low=positive, high=LARGEST),
        }  # fmt: skip
        require_sound(vars(self), checks)
        sides = [name for name in vars(self.geometry) if name in Geometry.__dataclass_fields__ and name != "mirrored"]
        require_sound(vars(self.geometry), {**dict.fromkeys(sides, whole(1, 1 << 20)), "mirrored": flag})
        self.map.require_sound()
        if self.map.inputs != size or (self.quantizer is not None) != self.is_integer:
            raise ValueError("the map inside is of other patches")
