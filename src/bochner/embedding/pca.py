"""Principal components of random features: kernel PCA whose cost and memory do not grow with the square of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..arrays import like, to_numpy
from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import SAMPLE
from ..blocks import Blocks, MemoryBlocks
from ..config import memory_budget
from ..models.base import RandomFeatureModel
from ..models.sampling import Sample
from ..models.unlabelled import (
    FeatureMoments,
    chosen_scale,
    dtypes_for,
    in_blocks,
    require_basis,
    require_scale,
    sample_of,
    settle,
)  # fmt: skip
from ..streams import Stream
from ..validation import require_choice, require_finite, require_integer, require_numbers
from .back import WayBack
from .picture import scatter
from .sums import Principal, SketchOf, principal_of_moments, principal_of_sketch

MATRICES = 48  # bytes for each number of Z'Z: sums, a part to add, centred, and what their eigenvectors need


class FeaturePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis of random features: kernel PCA that streams.

    The features of each block of rows are made once and only sums of them are kept, so memory does not grow with rows.
    Everything is that of scikit-learn's PCA fitted to `basis.transform(X)` (times `basis.scale_` for integer
    precisions, whose sums are exact), signs included: the largest number of each component is positive.

    Parameters
    ----------
    basis : one of bochner's bases; None is RandomFourier(1000).
    n_components : how many components.
    solver : "moments" makes the whole covariance of the m features. "randomized" makes its product with
        n_components + n_oversamples random columns (Nystrom's approximation), in memory O(m). "auto" takes moments
        where 48 m^2 bytes are within the memory budget.
    n_oversamples, n_passes : of "randomized". A further pass over the rows sharpens what the last one found: needed
        where variances fall off slowly. One pass is all that partial_fit has.
    kept_rows : how many sampled rows are kept for inverse_transform; 0 for none.
    scale : how columns are scaled before features are made of them: "robust" by medians and quartiles, with far-out
        numbers smoothly clipped; "standard" by means and deviations; None not at all, for columns that share a unit, as
        pixels do. "auto" is "robust", but None where a bandwidth or radius is given as a number or columns are of 8
        bits. inverse_transform gives rows in the units of X.
    random_state : seeds the basis if its own is None.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_ : as in scikit-learn.
    n_components_ ; n_samples_seen_ : rows so far. solver_ : what "auto" chose.
    design_ : how rows become features, design_.features(X); basis_ : its fitted basis, which is given scaled rows.

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
    _probe: np.ndarray | None  # the columns that a sketch multiplies
    _kept: Sample | None
    _solved: Principal | None
    _inverse: WayBack | None

    def __init__(
        self,
        basis: Any = None,
        n_components: int = 2,
        *,
        solver: str = "auto",
        n_oversamples: int = 100,
        n_passes: int = 1,
        kept_rows: int = 1000,
        scale: str | None = "auto",
        random_state: Any = None,
    ) -> None:
        self.basis = basis
        self.n_components = n_components
        self.solver = solver
        self.n_oversamples = n_oversamples
        self.n_passes = n_passes
        self.kept_rows = kept_rows
        self.scale = scale
        self.random_state = random_state

    # ---- fitting ----

    def fit(self, X: Any, y: Any = None) -> FeaturePCA:
        """Fit to the rows of X, an array or Blocks; y is ignored."""
        self._check_parameters()
        for name in [name for name in vars(self) if name.endswith("_") or name == "_sums"]:
            delattr(self, name)
        blocks = self._begin(X)
        self._sums = self._sum(blocks)
        for _ in range(self.n_passes - 1 if self._probe is not None else 0):
            self._probe = np.linalg.qr(self._sums.centered_image(self._probe))[0]
            self._sums = self._sum(blocks)
        self._principal()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> FeaturePCA:
        """Add rows: the first call settles the basis, later ones only add their sums; components are made when read."""
        self._check_parameters()
        if not hasattr(self, "_sums"):
            self._sums = self._sum(self._begin(X))
            return self
        blocks = self._ready(X, first=False)
        part = self._sum(blocks)
        if self._kept is not None:
            self._kept += sample_of(blocks, self._kept.most, first=self.n_samples_seen_)
        self._sums = self._sums + part
        self._solved = self._inverse = None
        return self

    def _begin(self, X: Any) -> Blocks:
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
        return blocks

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
        return self.design_.basis

    @property
    def components_(self) -> np.ndarray:
        return self._principal().components

    @property
    def explained_variance_(self) -> np.ndarray:
        return self._principal().variances

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        found = self._principal()
        return found.variances / found.total if found.total > 0 else np.zeros_like(found.variances)

    @property
    def singular_values_(self) -> np.ndarray:
        found = self._principal()
        return np.sqrt(found.variances * (found.rows - 1))

    @property
    def mean_(self) -> np.ndarray:
        return self._principal().mean

    @property
    def n_samples_seen_(self) -> int:
        check_is_fitted(self, "_sums")
        return int(self._sums.rows)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---- there and back ----

    def transform(self, X: Any) -> Any:
        """The components of the rows of X, an array or Blocks: (features - mean) times components."""
        check_is_fitted(self, "_sums")
        return like(self._project(X), X)

    def _project(self, X: Any) -> np.ndarray:
        found = self._principal()
        weights = float(self.design_.scale_) * found.components.T
        offset = found.components @ found.mean
        n, blocks = self._rows_to_predict(X, 2 * len(weights))
        out = np.empty((n, weights.shape[1]))
        for rows, part in blocks:
            out[rows] = self.design_.features(part) @ weights - offset
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows in the original columns whose components are about these.

        Few points of feature space are the features of a row, so there is no inverse, but a best guess: the expected
        row for given components. It is learned from the kept rows by kernel ridge regression on their components, its
        penalty chosen by rows left out, each column in units of its own, and held within the range of the kept rows.
        """
        self._principal()
        if self._kept is None:
            raise ValueError("inverse_transform needs sampled rows, and kept_rows=0 keeps none: give a larger number.")
        T = check_array(to_numpy(X), dtype=np.float64, ensure_all_finite=False)
        require_finite(T)
        if T.shape[1] != self.n_components_:
            raise ValueError(f"X has {T.shape[1]} columns; there are {self.n_components_} components.")
        rows = self._kept.rows
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        if self._inverse is None:
            images = self._project(MemoryBlocks(rows, recipe=self._recipe))
            self._inverse = WayBack.learned(images, dense, self.design_.scaler)
        return like(self._inverse(T), X)

    def plot(self, X: Any, labels: Any = None, *, ax: Any = None) -> Any:
        """Draw the first two components of the rows of X (10,000 sampled ones if there are more), coloured by labels.

        Gives the matplotlib axes, which are `ax` if that is given.
        """
        check_is_fitted(self, "_sums")
        if self.n_components_ < 2:
            raise ValueError("a picture needs two components; there is one.")
        return scatter(self._project(X), labels, self.explained_variance_ratio_, ax)

    # ---- checks ----

    _meet_blocks = RandomFeatureModel._meet_blocks
    _require_same_columns = RandomFeatureModel._require_same_columns
    _validate_rows = RandomFeatureModel._validate_rows
    _rows_to_predict = RandomFeatureModel._rows_to_predict

    def _check_parameters(self) -> None:
        require_basis(self.basis)
        require_scale(self.scale)
        require_integer("n_components", self.n_components)
        require_choice("solver", self.solver, ["auto", "moments", "randomized"])
        require_integer("n_oversamples", self.n_oversamples, minimum=0)
        require_integer("n_passes", self.n_passes)
        require_integer("kept_rows", self.kept_rows, minimum=0)

    def _dtypes(self) -> list[Any]:
        return dtypes_for(self.basis)

    @property
    def _recipe(self) -> Any:
        return getattr(self, "recipe_", None)

    def _ready(self, X: Any, first: bool) -> Blocks:
        """Valid rows in blocks; the first are remembered by their columns, later ones must be alike."""
        X = in_blocks(to_numpy(X), self._dtypes())
        if isinstance(X, Blocks):
            self._meet_blocks(X, first)
            return X
        if not first:
            return MemoryBlocks(self._validate_rows(X))
        require_numbers(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=self._dtypes(), ensure_all_finite=False)
        require_finite(X)
        return MemoryBlocks(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
