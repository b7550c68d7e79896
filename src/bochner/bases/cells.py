"""Random cells: their thresholds are settled here, `maps/cells.py` has the formula and the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Rows, is_csr
from ..fields import numbers, require_sound
from ..maps.cells import DEEPEST, SPARSE_DEPTH, AxisCellsMap, CellsMap, ObliqueCellsMap
from ..maps.quantize import round_digits
from ..maps.rows import to_dense
from ..typing import RandomStateLike
from ..validation import require_choice, require_finite, require_integer
from .base import Basis, Bounds

TABLE, FEWEST, MOST = 1 << 14, 4, 256  # numbers of all thresholds, about; and the thresholds of a column
FIRST = 0.6180339887  # share of the first of two rows in an anchor: no row of a grid of numbers is one
EVEN = 0.05  # share of comparisons that are spread evenly over columns where weights are their spreads
TOGETHER = 1 << 22  # numbers of sparse rows that are looked at together


class RandomCells(Basis):
    """Random cells: which of a few comparisons of a row hold, in many random trees.

    A tree makes `depth` comparisons x_k > t, the same ones for all rows (a fern), and has 2^depth columns, one for each
    cell; that of the row's cell is filled, and the others are 0. Columns k are random, thresholds t lie between values
    of sampled rows. The kernel is the chance that a tree does not tell x and z apart: what trees have and smooth
    features lack, jumps and interactions of columns, solved exactly by a linear model. It takes many cells, tens of
    thousands.

    Features of depth 3 and more are a CSR matrix. A change of scale of a column does not change the cells.

    Parameters
    ----------
    n_components : int, default=4096
        Number of columns: 2^depth for each tree. The last tree has fewer where 2^depth does not divide it.
    depth : int, default=4
        Comparisons of a tree: the more, the smaller the cells, and the more of them interact.
    oblique : bool, default=False
        Whether a comparison is <v, x> > <v, r>, with v a random direction and r near sampled rows, so that cells have
        borders of all directions. After a learned metric these are directions in that metric.
    column_weights : array-like of shape (n_features,) or 'spread', default=None
        Columns are compared in proportion to these. None takes all alike. 'spread' takes their standard deviations,
        which after a learned metric say how much each matters. Not for oblique cells.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_features_in_, n_thresholds)
        Numbers between values of each column in sampled rows, at most 256, of which thresholds are drawn; not of
        oblique cells.
    column_weights_ : ndarray of shape (n_features_in_,) or None
        Weights that were given, or found by looking at X; not of oblique cells.
    anchors_ : ndarray of shape (n_anchors, n_features_in_)
        Points between two sampled rows, at most 256, of which r is drawn; only of oblique cells.
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    map_ : FeatureMap
        The feature map: small, immutable, and callable as `map_(X)`.
    scale_ : float
        Factor after which integer features have `<phi(x), phi(z)> ~ k(x, z)`; 1.0 for floats.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    quantizer_ : Quantizer
        How X is rounded to 8 bits; only for integer precisions of oblique cells.
    clipped_fraction_ : float
        Share of the sampled numbers that rounding clips; only for integer precisions of oblique cells.

    See Also
    --------
    RandomStumps : Single comparisons, whose kernel has no interactions.
    RandomBins : Cells of random grids, whose kernel is the Laplacian one.

    References
    ----------
    Ozuysal, Calonder, Lepetit and Fua, Fast Keypoint Recognition Using Random Ferns, 2010.
    Breiman, Some Infinity Theory for Predictor Ensembles, 2000.

    Examples
    --------
    >>> from bochner import RandomCells
    >>> Z = RandomCells(64, depth=3, random_state=0).fit_transform([[0.0, 1.0], [5.0, 2.0], [3.0, 3.0]])
    >>> Z.shape, Z.nnz
    ((3, 64), 24)
    """

    def __init__(
        self,
        n_components: int = 4096,
        *,
        depth: int = 4,
        oblique: bool = False,
        column_weights: Sequence[float] | np.ndarray | None = None,
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.depth = depth
        self.oblique = oblique
        self.column_weights = column_weights
        self.precision = precision
        self.random_state = random_state

    @property
    def kind(self) -> type[CellsMap]:  # type: ignore[override]
        """The kind of map that `fit` makes."""
        return ObliqueCellsMap if self.oblique else AxisCellsMap

    @property
    def _cells(self) -> int:
        return 1 << int(self.depth)

    @property
    def entries(self) -> int:
        """Numbers that the features of a row take in memory: for CSR output, values and where they are."""
        return 2 * -(-self._m // self._cells) if self.depth >= SPARSE_DEPTH else self._m

    def _settle(self, rows: Rows, largest: float) -> None:
        require_integer("depth", self.depth)
        if self.depth > DEEPEST:
            raise ValueError(f"depth must be at most {DEEPEST}; got {self.depth}.")
        if self.oblique not in (True, False):
            raise ValueError(f"oblique must be True or False; got {self.oblique!r}.")
        if self.oblique and self.column_weights is not None:
            raise ValueError("column_weights are for comparisons of columns, which oblique cells do not make.")
        if self.oblique:
            self.anchors_ = between_rows(to_dense(rows).astype(np.float64))
        else:
            self.thresholds_ = threshold_table(rows)
            self.column_weights_ = self._settled_weights(rows)
        self.scale_ = float(np.sqrt(self._cells / self._m)) if self.is_integer else 1.0

    def _settled_weights(self, rows: Rows) -> np.ndarray | None:
        if self.column_weights is None:
            return None
        if isinstance(self.column_weights, str):
            require_choice("column_weights", self.column_weights, ["spread"])
            return spreads(rows)
        weights = np.array(self.column_weights, dtype=np.float64)
        if weights.shape != (self.n_features_in_,):
            raise ValueError(f"column_weights must be {self.n_features_in_} numbers; its shape is {weights.shape}.")
        require_finite(weights, "column_weights")
        if (weights < 0).any() or not weights.any():
            raise ValueError("column_weights must not be negative, nor all zero.")
        return weights

    def _own_fields(self) -> dict[str, Any]:
        if self.oblique:
            return {"depth": int(self.depth), "anchors": self.anchors_}
        return {"depth": int(self.depth), "thresholds": self.thresholds_, "column_weights": self.column_weights_}

    @property
    def bounds(self) -> Bounds:
        # The indicator that two rows share a cell of a tree has variance 1/4 at most.
        return Bounds(columns=self._cells, product=1.0, second_moment=0.25)

    def _require_settled(self, example: Basis) -> None:
        tables = {name: numbers(None, None) for name in ("thresholds_", "anchors_") if name in vars(self)}
        if getattr(self, "column_weights_", None) is not None:
            tables["column_weights_"] = numbers(int(self.n_features_in_), low=0.0)
        require_sound(vars(self), tables)
        self.map_.require_sound()

    def _example_columns(self, columns: int) -> int:
        given = None if isinstance(self.column_weights, str) else self.column_weights
        return super()._example_columns(columns) if given is None else len(given)


def thresholds_of_column(columns: int) -> int:
    """How many thresholds a column has in a table of bounded size."""
    return int(np.clip(TABLE // max(columns, 1), FEWEST, MOST))


def threshold_table(rows: Rows) -> np.ndarray:
    """Thresholds (d, K) of each column: in the middle between one of its values and the next larger one, evenly out of
    all rows; on a value itself the last bits of x would decide."""
    n, d = rows.shape
    count = min(thresholds_of_column(d), n)
    table = np.empty((d, count))
    sparse = is_csr(rows)
    rows, step = rows.tocsc() if is_csr(rows) else rows, max(1, TOGETHER // n)
    for start in range(0, d, step):
        part = rows[:, start : start + step]
        ordered = np.sort((part.toarray() if sparse else part).astype(np.float64), axis=0).T
        for table_row, values in zip(table[start : start + step], ordered, strict=True):
            below = max(np.searchsorted(values, values[-1]), 1)  # no row is above the largest value
            chosen = values[((np.arange(count) + 0.5) / count * below).astype(np.int64)]
            larger = np.minimum(np.searchsorted(values, chosen, side="right"), n - 1)
            table_row[:] = 0.5 * chosen + 0.5 * values[larger]
    return table


def between_rows(rows: np.ndarray) -> np.ndarray:
    """Points (K, d) between one sampled row and another, evenly out of all; a border through a row itself would leave
    the side of that row to rounding."""
    count = min(thresholds_of_column(rows.shape[1]), len(rows))
    places = ((np.arange(count) + 0.5) / count * len(rows)).astype(np.int64)
    others = (places + len(rows) // 2) % len(rows)
    return FIRST * rows[places] + (1.0 - FIRST) * rows[others]


def spreads(rows: Rows) -> np.ndarray:
    """Standard deviations of columns to eight digits, so that they do not hang on the last bits of a sum, and a little
    for all of them; ones if no column varies."""
    dense = to_dense(rows).astype(np.float64)
    found = dense.std(axis=0)
    if not np.isfinite(found).all():
        raise ValueError("the spread of a column overflows: rescale X, or give column_weights as numbers.")
    found = (1.0 - EVEN) * found + EVEN * found.mean()
    return np.array([round_digits(s, 8) if s > 0 else 0.0 for s in found]) if found.any() else np.ones(len(found))
