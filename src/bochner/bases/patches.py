"""Convolutional random features: a basis on the patches of pictures, pooled over a grid."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Rows, cast
from ..fields import (
    LARGEST,
    Check,
    either,
    flag,
    instance,
    names,
    nothing,
    number,
    numbers,
    require_fields,
    several,
    text,
    whole,
)
from ..maps import PRECISIONS, PatchMap, ThresholdMap, UnitMap
from ..maps.patches import CODES, POOLINGS, Geometry
from ..maps.quantize import Quantizer, choose_quantizer
from ..maps.rows import to_dense
from ..ops import threads
from ..streams import Stream
from ..typing import MatrixLike, RandomStateLike
from ..validation import require_choice, require_integer, require_positive
from .base import MOST_COLUMNS, Basis, Bounds
from .checking import laid_in_rows
from .heuristics import different_rows, draw_seed

SAMPLED = 40_000  # patches from which the whitening is learned
REGULARIZED = 0.1  # what is added to the variances of normalized patches before they are whitened
RANGE = 255.0  # of pixels, in whose units the contrast is given
COPIES = ("mirrored", "shifted", "both")
SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))  # of a picture and its shifted copies, down and across
AT_ONCE = 64  # pictures whose pooled columns are held at a time, where their spread is measured
BULK = 0.999  # this quantile of |x| is the range of pixels that are not bytes
LEAST_SPREAD = 1e-3  # of a column, in units of the usual one: what hardly varies is not blown up


class PatchFeatures(Basis):
    """Random features of the patches of pictures, pooled over the cells of a grid: a convolutional kernel machine.

    Every patch of `patch_size` x `patch_size` pixels loses its mean and its contrast and is whitened (ZCA). A basis
    makes features of it, which are pooled over the patches of each cell of `grid` x `grid`; then every column is
    centred and brought to one spread. With `filters="patches"`, directions are sampled training patches, whitened.
    Whatever has several patch sizes is a union: `PatchFeatures(..., patch_size=5) + PatchFeatures(..., patch_size=9)`.

    Parameters
    ----------
    basis : Basis, default=None
        Features of a patch: RandomMaxout, RandomRidge('relu'), GatedLinear, RandomFourier or any other basis. None is
        thresholds on both sides, max(0, z - 1/2) and max(0, -z - 1/2).
    image_shape : tuple of int
        Height and width of a picture, or height, width and channels. A row of X is a picture, flattened in this order.
    patch_size : int, default=6
        Height and width of a patch.
    grid : int, default=4
        Cells along each side of a picture.
    n_filters : int, default=1000
        Number of filters: directions of thresholds, pools of maxout, gates, frequencies. A filter of thresholds,
        frequencies or gates makes several columns, of each of which there is one for every cell.
    filters : {'patches', 'random'}, default='patches'
        Where directions come from: sampled training patches, or a seed. Bases that draw no normal directions
        (RandomFourier, Fastfood, RandomStumps, RandomBins, RandomCells) take 'random'.
    stride : int, default=1
        Pixels between neighbouring patches.
    mirrored : bool, default=False
        Whether the patches of the mirror image stand in the bags too: then a picture and its mirror image have the same
        features, in fit and predict alike, for twice the work on patches and none on sums.
    copies : {None, 'mirrored', 'shifted', 'both'}, default=None
        Copies of each picture that models are fitted to as further rows: its mirror image, the picture shifted by one
        pixel to each of four sides, or all of these. Predictions are means of the scores of all copies. For
        loss='squared', whose sums add; `transform` makes the features of the picture alone.
    pooling : {'auto', 'mean', 'root', 'max'}, default='auto'
        Mean over a cell, its square root, or the largest. 'auto' is the root for thresholds and ReLU, which are never
        negative, else the mean.
    contrast : float or None, default=10.0
        What is added to the variance of a patch before it is divided by its root, for pixels from 0 to 255 (and in
        proportion for others): noise in flat patches stays small. None leaves the contrast as it is.
    whiten : bool, default=True
        Whether patches are whitened.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    map_ : FeatureMap
        The feature map: immutable, and callable as `map_(X)`.
    filter_places_ : ndarray of shape (n_directions, 2)
        Which patch of which picture each filter was, among the different pictures of the sample that the fit looked
        at, in the order of their pixels; empty for filters='random'.
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    scale_ : float
        Factor of integer features; 1 for floats.
    n_features_in_ : int
        Number of columns of X: pixels.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.

    See Also
    --------
    RandomMaxout : The features that the paper on random maxout puts on whole pictures.
    DistributionRegressor : The same idea for bags of points.

    References
    ----------
    Coates, Ng and Lee, An Analysis of Single-Layer Networks in Unsupervised Feature Learning, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner import PatchFeatures, RandomFeatureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> basis = PatchFeatures(image_shape=(8, 8), patch_size=4, grid=2, n_filters=100, random_state=0)
    >>> model = RandomFeatureClassifier(basis).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    kind = PatchMap  # type: ignore[assignment]
    map_: PatchMap  # type: ignore[assignment]

    def __init__(
        self,
        basis: Basis | None = None,
        *,
        image_shape: tuple[int, ...],
        patch_size: int = 6,
        grid: int = 4,
        n_filters: int = 1000,
        filters: str = "patches",
        stride: int = 1,
        mirrored: bool = False,
        copies: str | None = None,
        pooling: str = "auto",
        contrast: float | None = 10.0,
        whiten: bool = True,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.basis = basis
        self.image_shape = image_shape
        self.patch_size = patch_size
        self.grid = grid
        self.n_filters = n_filters
        self.filters = filters
        self.stride = stride
        self.mirrored = mirrored
        self.copies = copies
        self.pooling = pooling
        self.contrast = contrast
        self.whiten = whiten
        self.precision = precision
        self.random_state = random_state

    # ---- sizes ----

    @property
    def _columns_of_filter(self) -> int:
        """Columns that one filter makes in one cell."""
        if self.basis is None:
            return 2
        pairs = 2 if getattr(self.basis, "pairs", False) else 1
        return pairs * self.basis._together

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of columns: filters, what each makes, and cells."""
        return int(self.n_filters) * self._columns_of_filter * int(self.grid) ** 2

    @property
    def _together(self) -> int:
        return self._columns_of_filter * int(self.grid) ** 2

    def sized(self, n_components: int) -> PatchFeatures:
        """Return an unfitted copy with another number of features.

        Parameters
        ----------
        n_components : int
            Number of features; it is rounded down to whole filters, of which there is at least one.

        Returns
        -------
        PatchFeatures
            The copy, not fitted.
        """
        return clone(self).set_params(n_filters=max(1, n_components // self._together))

    @property
    def has_units(self) -> bool:
        """Whether columns of X are taken as they are: pixels share a unit."""
        return True

    @property
    def quantizes_input(self) -> bool:
        """Whether integer precisions work on 8-bit codes of x."""
        return True

    @property
    def is_of_pictures(self) -> bool:
        """Whether a row is a picture, which may also come as an array of its height, width and channels."""
        return True

    @property
    def copied_places(self) -> np.ndarray | None:
        """Which pixel stands where in the copies of a picture; beyond an edge stands the edge again."""
        if self.copies is None:
            return None
        height, width = self.image_shape[:2]
        numbers = np.arange(int(np.prod(self.image_shape))).reshape(height, width, -1)
        down, across = np.arange(height)[:, None], np.arange(width)
        steps = SHIFTS if self.copies in ("shifted", "both") else SHIFTS[:1]
        found = [numbers[(down + y).clip(0, height - 1), (across + x).clip(0, width - 1)] for y, x in steps]
        if self.copies in ("mirrored", "both"):
            found += [picture[:, ::-1] for picture in found]
        return np.stack([picture.ravel() for picture in found])

    # ---- fit ----

    def _geometry(self, columns: int) -> Geometry:
        shape = tuple(self.image_shape)
        if len(shape) not in (2, 3):
            raise ValueError(
                f"image_shape must be (height, width) or (height, width, channels); got {self.image_shape!r}."
            )
        height, width, *rest = (require_integer("image_shape", side) for side in shape)
        channels = rest[0] if rest else 1
        given = (self.patch_size, self.stride, self.grid)
        patch_size, stride, grid = map(require_integer, ("patch_size", "stride", "grid"), given)
        pixels = height * width * channels
        if pixels != columns:
            raise ValueError(f"image_shape={self.image_shape!r} has {pixels} pixels; X has {columns} columns.")
        return Geometry(height, width, channels, patch_size, stride, grid, bool(self.mirrored))

    def _fit_rows(self, rows: Rows, largest: float) -> Self:
        require_integer("n_filters", self.n_filters)
        require_choice("filters", self.filters, ["patches", "random"])
        require_choice("pooling", self.pooling, ["auto", *POOLINGS])
        if self.copies is not None:
            require_choice("copies", self.copies, COPIES)
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        if self.basis is not None and not (isinstance(self.basis, Basis) and issubclass(self.basis.kind, UnitMap)):
            raise ValueError(f"basis must be one of bochner's bases, or None; got {self.basis!r}.")
        geometry = self._geometry(int(self.n_features_in_))
        self.seed_ = draw_seed(self.random_state)
        rows = to_dense(different_rows(rows))
        quantizer = choose_quantizer(rows, may_shift=False) if self.is_integer else None
        pixels = rows.astype(np.float64) if quantizer is None else cast(quantizer(rows), "float64")
        start = self._first_map(pixels, geometry, quantizer)
        self._keep(self._with_spread(self._with_filters(start, pixels), rows))
        return self

    def _first_map(self, pixels: Array, geometry: Geometry, quantizer: Quantizer | None) -> PatchMap:
        """The map of random filters, with contrast and whitening of sampled patches; columns have no spread yet."""
        bytes_given = quantizer is not None and quantizer.high == 255
        reach = RANGE if bytes_given else float(np.quantile(np.abs(pixels), BULK)) or 1.0
        chosen = self._sampled(pixels, geometry, "whitening", SAMPLED)
        patches = pixels[chosen[:, 0, None], geometry.places[chosen[:, 1]]]
        patches = patches - patches.mean(axis=1, keepdims=True)
        if self.contrast is None:
            contrast, floor = 0.0, float(np.square(patches).mean()) or 1.0
        else:
            contrast, floor = 1.0, require_positive("contrast", self.contrast) * (reach / RANGE) ** 2
        patches /= np.sqrt(contrast * np.square(patches).mean(axis=1, keepdims=True) + floor)
        whitening, offset = (
            whitening_of(patches) if self.whiten else (np.eye(patches.shape[1]), np.zeros(patches.shape[1]))
        )
        inner = self._inner_map(patches @ whitening.T - offset)
        columns = inner.columns * geometry.cell_count
        return PatchMap(
            map=inner, geometry=geometry, pooling=self._settled_pooling(), whitening=whitening, offset=offset,
            contrast=contrast, floor=floor, centre=np.zeros(columns), spread=np.ones(columns), quantizer=quantizer,
        )  # fmt: skip

    def _settled_pooling(self) -> str:
        if self.pooling != "auto":
            if self.pooling == "root" and not self._is_positive:
                raise ValueError("pooling='root' is for features that are never negative: thresholds and ReLU.")
            return str(self.pooling)
        return "root" if self._is_positive else "mean"

    @property
    def _is_positive(self) -> bool:
        """Whether features of patches are never negative."""
        return self.basis is None or getattr(self.basis, "activation", None) in ("relu", "sigmoid")

    def _sampled(self, pixels: Array, geometry: Geometry, name: str, most: int) -> np.ndarray:
        """Pairs (picture, patch), each pair at most once, drawn from a stream."""
        pairs = len(pixels) * geometry.count
        order = np.argsort(Stream(self.seed_, name).bits(0, pairs)[:, 0], kind="stable")[: min(most, pairs)]
        return np.stack(np.divmod(order, geometry.count), axis=1)

    def _inner_map(self, whitened: np.ndarray) -> UnitMap:
        """The map of whitened patches; in integers it works on their codes."""
        columns = int(self.n_filters) * self._columns_of_filter
        if self.basis is None:
            codes = Quantizer(step=1.0 / CODES) if self.is_integer else None
            return ThresholdMap.of(columns, whitened.shape[1], self.seed_, self.precision, codes)
        inner = clone(self.basis).set_params(n_components=columns, precision=self.precision, random_state=self.seed_)
        few = whitened[:1000]
        if self.is_integer:
            few = np.clip(np.rint(CODES * few), -127, 127).astype(np.int8)
        return inner.fit_sample(few, float(np.abs(few).max())).map_

    def _with_filters(self, start: PatchMap, pixels: Array) -> PatchMap:
        """The map with sampled patches as its directions, if asked for: whitened, and as long as normal ones."""
        self.filter_places_ = np.empty((0, 2), dtype=np.int64)
        if self.filters == "random":
            return start
        if not start.map.takes_directions:
            raise ValueError(
                f"{start.map.name} draws no normal directions that patches could stand in for: filters='random'."
            )
        wanted = start.map.units.number * len(start.map.draw(0, 1)[0])
        chosen = self._sampled(pixels, start.geometry, "filters", max(SAMPLED, 4 * wanted))
        patches = pixels[chosen[:, 0, None], start.geometry.places[chosen[:, 1]]]
        lively = patches.var(axis=1) > start.floor  # a flat patch is no pattern, unless there are no others
        order = np.argsort(~lively, kind="stable")
        order = order[np.arange(wanted) % len(order)]
        self.filter_places_ = chosen[order]
        patches = patches[order] - patches[order].mean(axis=1, keepdims=True)
        patches /= np.sqrt(start.contrast * np.square(patches).mean(axis=1, keepdims=True) + start.floor)
        whitened = patches @ start.whitening.T - start.offset
        lengths = np.linalg.norm(whitened, axis=1, keepdims=True)
        directions = whitened / np.where(lengths > 0, lengths, 1.0) * np.sqrt(whitened.shape[1])
        return start.with_filters(directions)

    def _with_spread(self, start: PatchMap, rows: Array) -> PatchMap:
        """The map with the centre and spread that its columns have on sampled pictures."""
        # Sums of differences from what a few pictures have, which are small.
        first = start.pooled_values(rows[:AT_ONCE]).mean(axis=0)
        places = range(0, len(rows), AT_ONCE)
        sums: list[Any] = [None] * len(places)

        def add(number: int, at: int) -> None:
            values = start.pooled_values(rows[at : at + AT_ONCE]) - first
            sums[number] = values.sum(axis=0), np.square(values).sum(axis=0)

        tasks: list[Callable[[], Any]] = [partial(add, number, at) for number, at in enumerate(places)]
        if start.is_integer:  # floats have the bits of all threads that BLAS has
            threads.run(tasks)
        else:
            for task in tasks:
                task()
        total, squares = np.zeros_like(first), np.zeros_like(first)
        for one, other in sums:  # in order, so that the bits do not hang on threads
            total += one
            squares += other
        mean = total / len(rows)
        centre, spread = first + mean, np.sqrt((squares / len(rows) - mean**2).clip(min=0.0))
        usual = float(np.median(spread[spread > 0])) if (spread > 0).any() else 1.0
        # In few digits, so that they do not hang on the last bits of a sum.
        spread = np.maximum(spread, LEAST_SPREAD * usual).astype(np.float32)
        return start.with_spread(centre.astype(np.float32), spread)

    def _keep(self, made: PatchMap) -> None:
        self.map_ = made
        self.scale_, self._n_features_out = made.scale, made.columns

    def _settle(self, rows: Rows, largest: float) -> None:
        raise NotImplementedError("patches are fitted as a whole")

    def _own_fields(self) -> dict[str, Any]:
        raise NotImplementedError("patches are fitted as a whole")

    @property
    def bounds(self) -> Bounds:
        raise ValueError("there is no bound for pooled features of patches: ask the basis on patches.")

    def _checked(self, X: MatrixLike, reset: bool = False) -> Rows:
        return super()._checked(laid_in_rows(self, X), reset)

    def _with_map(self, resized: Any) -> Self:
        other = copy(self)
        other.n_filters = resized.columns // self._together
        other._keep(resized)
        return other

    # ---- equality and files ----

    def identity(self) -> tuple[Any, ...]:
        check_is_fitted(self)
        return type(self), self.map_.identity()

    def to_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        parameters = {**self.get_params(deep=False), "basis": None, "random_state": self.seed_}
        inner = None if self.basis is None else type(self.basis)(**self.basis.get_params(deep=False))
        kept = {name: getattr(self, name, None) for name in ("n_features_in_", "feature_names_in_", "filter_places_")}
        return {
            "parameters": {**parameters, "image_shape": tuple(self.image_shape)}, **kept, "map_": self.map_,
            "basis": None if inner is None else (type(inner).__name__, parameters_of(inner)),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        require_fields(state, FIELDS)
        require_fields(state["parameters"], PARAMETERS)
        made: PatchMap = state["map_"]
        made.require_sound()
        basis = cls(**{**state["parameters"], "basis": basis_from(state["basis"])})
        geometry = basis._geometry(state["n_features_in_"])
        pooling = basis._settled_pooling()
        if (geometry, pooling, basis.precision, basis._m) != (
            made.geometry,
            made.pooling,
            made.precision,
            made.columns,
        ):
            raise ValueError("the parameters of these features belong to others")
        if state["feature_names_in_"] is not None and len(state["feature_names_in_"]) != geometry.pixels:
            raise ValueError("the names belong to other columns")
        kept = {name: state[name] for name in ("n_features_in_", "feature_names_in_", "filter_places_")}
        basis.__dict__.update({name: value for name, value in kept.items() if value is not None})
        basis.seed_ = int(basis.random_state)  # type: ignore[arg-type]
        basis._keep(made)
        return basis


FIELDS: dict[str, Check] = {
    "parameters": instance(dict), "n_features_in_": whole(1, MOST_COLUMNS),
    "feature_names_in_": either(nothing, names()), "filter_places_": numbers(None, 2, dtypes=("int64",)),
    "map_": instance(PatchMap), "basis": either(nothing, instance(tuple)),
}  # fmt: skip
SIDE = whole(1, 1 << 20)
PARAMETERS: dict[str, Check] = {
    "basis": nothing, "image_shape": several(SIDE, 3), "patch_size": SIDE, "grid": SIDE,
    "n_filters": whole(1, MOST_COLUMNS), "filters": text("patches", "random"), "stride": SIDE, "mirrored": flag,
    "copies": either(nothing, text(*COPIES)),
    "pooling": text("auto", *POOLINGS), "contrast": either(nothing, number(1.0 / LARGEST, LARGEST)), "whiten": flag,
    "precision": either(nothing, text(*PRECISIONS)), "random_state": whole(-(1 << 64), 1 << 64),
}  # fmt: skip


def parameters_of(basis: Basis) -> dict[str, Any]:
    """Its parameters; a drawn seed is that of the patches, so a generator is not kept."""
    return {**basis.get_params(deep=False), "random_state": None}


def basis_from(state: tuple[str, dict[str, Any]] | None) -> Basis | None:
    """The basis of patches, not fitted: what `parameters_of` kept of it."""
    if state is None:
        return None
    from . import REGISTRY  # which this basis is beside

    kinds = {kind.__name__: kind for kind in REGISTRY.values()}
    name, parameters = state
    return kinds[name](**parameters)


def whitening_of(patches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z = U (L + 0.1)^(-1/2) U' for the covariance U L U' of normalized patches (ZCA), and Z times their mean."""
    mean = patches.mean(axis=0)
    centred = patches - mean
    values, vectors = np.linalg.eigh(centred.T @ centred / len(patches))
    whitening = (vectors / np.sqrt(values.clip(min=0.0) + REGULARIZED)) @ vectors.T
    return whitening, whitening @ mean
