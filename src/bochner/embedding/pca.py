"""Principal components of random features: kernel PCA whose cost and memory do not grow with the square of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .. import ops
from ..arrays import Array, contiguous, empty, is_torch, like, namespace, to_host
from ..bases import Basis
from ..bases.checking import sound_tensor
from ..bases.design import Design
from ..bases.heuristics import SAMPLE
from ..blocks import Blocks, MemoryBlocks, RowsLike
from ..config import memory_budget
from ..lazy import by_partitions
from ..models.checks import Dtypes, check_rows, check_tensor, dtypes_for, meet_blocks, recipe_of, rows_to_predict
from ..models.placing import beside, blocks_on, device_for
from ..models.sampling import Sample
from ..models.unlabelled import (
    FeatureMoments,
    chosen_scale,
    in_blocks,
    require_basis,
    require_scale,
    sample_of,
    settle,
)  # fmt: skip
from ..ops.devices import named_device, placed, require_device, room_on
from ..streams import Stream
from ..typing import RandomStateLike, VectorLike
from ..validation import require_choice, require_finite, require_integer, require_numbers
from .back import WayBack
from .picture import scatter
from .sums import Principal, SketchOf, principal_of_moments, principal_of_sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MATRICES = 48  # bytes for each number of Z'Z: sums, a part to add, centred, and what their eigenvectors need


class FeaturePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis of random features: kernel PCA that streams.

    The features of each block of rows are made once and only sums of them are kept, so that memory does not grow with
    rows. All is as in scikit-learn's PCA fitted to the features (times `scale_` for integer precisions), signs
    included: the largest number of each component is positive.

    Parameters
    ----------
    basis : Basis, default=None
        The random features; None is `RandomFourier(1000)`.
    n_components : int, default=2
        Number of components.
    solver : {'auto', 'moments', 'randomized'}, default='auto'
        'moments' makes the covariance of all features. 'randomized' makes its product with a few random columns
        (Nystrom's approximation), in less memory. 'auto' takes 'moments' where that is within the memory budget.
    n_oversamples : int, default=100
        Columns that 'randomized' takes besides n_components.
    n_passes : int, default=1
        Passes over the rows of 'randomized'; more are sharper where variances fall off slowly. `partial_fit` has one.
    kept_rows : int, default=1000
        Number of sampled rows to keep for `inverse_transform`; 0 is none.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How the columns of X are scaled before features are made of them: 'robust' by medians and quartiles, with
        outliers smoothly clipped; 'standard' by means and standard deviations; None not at all, for columns that share
        a unit, as pixels do. 'auto' is 'robust', but None where a bandwidth or radius is given as a number or X has
        8-bit columns.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the basis, where that has none of its own.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features, sums and eigenvectors are made. None is where the rows are: tensors stay on their device. Arrays
        and files go to 'cuda', and components come back as arrays.

    Attributes
    ----------
    components_ : ndarray or tensor of shape (n_components, n_random_features)
        Principal axes in the space of features.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each axis.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each axis in the whole variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred features.
    mean_ : ndarray or tensor of shape (n_random_features,)
        Mean of the features.
    n_components_ : int
        Number of components.
    n_samples_seen_ : int
        Number of rows so far.
    solver_ : str
        The solver that was given, or that 'auto' chose.
    basis_ : Basis
        The fitted basis. It takes rows scaled as `design_` scales them.
    design_ : Design
        From rows to features: `design_.features(X)` scales rows and applies the basis.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    recipe_ : Recipe
        How the columns of files became numbers; only if they had to.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import FeaturePCA, RandomFourier
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> rings = np.vstack([r * np.column_stack([np.cos(angle), np.sin(angle)]) for r in (1, 3)])
    >>> pca = FeaturePCA(RandomFourier(500, bandwidth=1.0), n_components=4, random_state=0).fit(rings)
    >>> pca.transform(rings).shape, pca.inverse_transform(pca.transform(rings)).shape
    ((120, 4), (120, 2))
    """

    design_: Design
    n_components_: int
    solver_: str
    _sums: Any  # Moments, or a Sketch
    _probe: Array | None  # the columns that a sketch multiplies
    _kept: Sample | None
    _solved: Principal | None
    _inverse: WayBack | None

    def __init__(
        self,
        basis: Basis | None = None,
        n_components: int = 2,
        *,
        solver: str = "auto",
        n_oversamples: int = 100,
        n_passes: int = 1,
        kept_rows: int = 1000,
        scale: str | None = "auto",
        random_state: RandomStateLike = None,
        device: str | None = None,
    ) -> None:
        self.basis = basis
        self.n_components = n_components
        self.solver = solver
        self.n_oversamples = n_oversamples
        self.n_passes = n_passes
        self.kept_rows = kept_rows
        self.scale = scale
        self.random_state = random_state
        self.device = device

    # ---- fitting ----

    def fit(self, X: RowsLike, y: object = None) -> FeaturePCA:
        """Fit the components to the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        FeaturePCA
            The model itself.
        """
        self._check_parameters()
        for name in [name for name in vars(self) if name.endswith("_") or name == "_sums"]:
            delattr(self, name)
        with room_on(device_for(self.device, X)):
            blocks = self._begin(X)
            self._sums = self._sum(blocks)
            for _ in range(self.n_passes - 1 if self._probe is not None else 0):
                image = self._sums.centered_image(self._probe)
                self._probe = namespace(image).linalg.qr(image)[0]
                self._sums = self._sum(blocks)
            self._principal()
        return self

    def partial_fit(self, X: RowsLike, y: object = None) -> FeaturePCA:
        """Add rows. The first call settles the basis; components are computed when they are read.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        FeaturePCA
            The model itself.
        """
        self._check_parameters()
        with room_on(device_for(self.device, X)):
            if not hasattr(self, "_sums"):
                self._sums = self._sum(self._begin(X))
                return self
            blocks = self._ready(X, first=False)
            part = self._sum(blocks_on(blocks, named_device(self.device)))
        if self._kept is not None:
            self._kept += sample_of(blocks, self._kept.most, first=self.n_samples_seen_)
        self._sums = self._sums + part.beside(self._sums)
        self._solved = self._inverse = None
        return self

    def _begin(self, X: RowsLike) -> Blocks:
        """Settle the basis, and the way to the components, from the first rows."""
        blocks = self._ready(X, first=True)
        sample = sample_of(blocks, max(SAMPLE, self.kept_rows))
        how = chosen_scale(self.scale, self.basis, X)
        self.design_ = settle(sample.shortened(SAMPLE).rows, sample.largest, self.basis, self.random_state, how)
        self._kept = sample.shortened(self.kept_rows) if self.kept_rows else None
        self._solved = self._inverse = self._probe = None
        m, self.n_components_ = int(self.design_.n_components), int(self.n_components)
        if self.n_components > m:
            raise ValueError(f"n_components={self.n_components} is more than the {m} features of the basis.")
        fits = MATRICES * m**2 <= memory_budget()
        self.solver_ = self.solver if self.solver != "auto" else "moments" if fits else "randomized"
        if self.solver_ == "randomized":
            columns = min(m, self.n_components_ + self.n_oversamples)
            self._probe = np.linalg.qr(Stream(self.design_.seed_, "sketch").normal(0, m, columns))[0]
        return blocks_on(blocks, named_device(self.device))

    def _sum(self, blocks: Blocks) -> Any:
        sums = FeatureMoments(self.design_) if self._probe is None else SketchOf(self.design_, self._probe)
        return blocks.reduce(sums, title=self.solver_)

    # ---- what was found ----

    def _principal(self) -> Principal:
        check_is_fitted(self, "_sums")
        if self._solved is None:
            rows, count = self._sums.rows, self.n_components_
            if rows < max(2, count):
                raise ValueError(f"{count} components need {max(2, count)} rows or more; there is {rows} sample(s).")
            scale = float(self.design_.scale_)
            if self._probe is None:
                self._solved = principal_of_moments(self._sums, scale, count)
            else:
                self._solved = principal_of_sketch(self._sums, self._probe, scale, count)
        return self._solved

    @property
    def basis_(self) -> Basis:
        """The fitted basis. It takes rows scaled as `design_` scales them."""
        return self.design_.basis

    @property
    def components_(self) -> Array:
        """Principal axes in the space of features, of shape (n_components, n_random_features)."""
        return self._principal().components

    @property
    def explained_variance_(self) -> np.ndarray:
        """Variance along each axis, of shape (n_components,)."""
        return self._principal().variances

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """Share of each axis in the whole variance, of shape (n_components,)."""
        found = self._principal()
        return found.variances / found.total if found.total > 0 else np.zeros_like(found.variances)

    @property
    def singular_values_(self) -> np.ndarray:
        """Singular values of the centred features, of shape (n_components,)."""
        found = self._principal()
        return np.sqrt(found.variances * (found.rows - 1))

    @property
    def mean_(self) -> Array:
        """Mean of the features, of shape (n_random_features,)."""
        return self._principal().mean

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows so far."""
        check_is_fitted(self, "_sums")
        return int(self._sums.rows)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---- there and back ----

    @by_partitions
    def transform(self, X: RowsLike) -> Array:
        """Compute the components of the rows of X: (features - mean) times components.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_components)
            The components; a torch tensor if X is one.
        """
        check_is_fitted(self, "_sums")
        return self._project(X)

    def _project(self, X: RowsLike) -> Array:
        found, device = self._principal(), require_device(self.device)
        weights = contiguous(float(self.design_.scale_) * found.components.T)
        offset = found.components @ found.mean
        columns = self.design_.n_features_in_
        with room_on(device_for(self.device, X)):
            n, blocks = rows_to_predict(self, X, self._dtypes, columns, 2 * len(weights))
            out = empty((n, weights.shape[1]), getattr(X, "X", X))
            for rows, part in blocks:
                features = self.design_.features(placed(part, device))
                weights, offset = beside(features, weights, offset)
                out[rows] = like(ops.scores(features, weights) - offset, out)
        return out

    @by_partitions
    def inverse_transform(self, X: RowsLike) -> Array:
        """Guess the rows that have given components.

        Few points of the space of features are the features of a row, so there is no inverse, but a best guess: the
        expected row. It is learned from the kept rows by kernel ridge regression on their components, and lies within
        their range.

        Parameters
        ----------
        X : array-like or tensor of shape (n_samples, n_components)
            Components.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_features)
            Rows in the original columns and units.
        """
        self._principal()
        if self._kept is None:
            raise ValueError("inverse_transform needs sampled rows, and kept_rows=0 keeps none: give a larger number.")
        if is_torch(X):
            valid = sound_tensor(X, ["float64"])
        else:
            valid = check_array(X, dtype=np.float64, ensure_all_finite=False)
        T = placed(valid, require_device(self.device))
        require_finite(T)
        if T.shape[1] != self.n_components_:
            raise ValueError(f"X has {T.shape[1]} columns; there are {self.n_components_} components.")
        rows = self._kept.rows
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        if self._inverse is None:
            there = MemoryBlocks(like(rows, self.components_), recipe=recipe_of(self))
            images = to_host(self._project(there))
            self._inverse = WayBack.learned(images, dense, self.design_.scaler)
        return like(self._inverse(T), valid)

    def plot(self, X: RowsLike, labels: VectorLike | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the first two components of the rows of X, or of 10,000 sampled ones.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows.
        labels : array-like of shape (n_samples,), default=None
            Labels or numbers to colour the rows by.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes new ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        check_is_fitted(self, "_sums")
        if self.n_components_ < 2:
            raise ValueError("plot needs two components; n_components is 1.")
        return scatter(self._project(X), labels, self.explained_variance_ratio_, ax)

    # ---- checks ----

    def _check_parameters(self) -> None:
        require_basis(self.basis)
        require_scale(self.scale)
        require_integer("n_components", self.n_components)
        require_choice("solver", self.solver, ["auto", "moments", "randomized"])
        require_integer("n_oversamples", self.n_oversamples, minimum=0)
        require_integer("n_passes", self.n_passes)
        require_integer("kept_rows", self.kept_rows, minimum=0)

    @property
    def _dtypes(self) -> Dtypes:
        return dtypes_for(getattr(self.basis, "precision", None))

    def _ready(self, X: RowsLike, first: bool) -> Blocks:
        """Valid rows in blocks; the first are remembered by their columns, later ones must be alike."""
        X = in_blocks(X, self._dtypes)
        if isinstance(X, Blocks):
            meet_blocks(self, X, None if first else self.design_.n_features_in_)
            return X
        if is_torch(X):
            device = require_device(self.device)
            return MemoryBlocks(check_tensor(self, placed(X, device), self._dtypes, reset=first))
        if not first:
            return MemoryBlocks(check_rows(self, X, self._dtypes))
        require_numbers(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=list(self._dtypes), ensure_all_finite=False)
        require_finite(X)
        return MemoryBlocks(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
