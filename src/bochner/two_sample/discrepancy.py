"""Do two samples have one law? The maximum mean discrepancy: the distance between their mean features."""

from __future__ import annotations

import numpy as np

from ..bases import Basis
from ..bases.design import Design
from ..bases.heuristics import SAMPLE
from ..blocks import Blocks, RowsLike
from ..models.placing import blocks_on, device_for
from ..models.unlabelled import chosen_scale, require_basis, require_scale, settle, valid_rows
from ..ops.devices import named_device, room_on
from ..typing import RandomStateLike
from ..validation import require_choice, require_integer
from .nulls import asymptotic, permuted, wild
from .pooled import pooled
from .result import TwoSampleResult
from .tail import chi_square_tail
from .tally import Tally, tally_of

SLACK, FLOOR = 1e-6, 1e-12  # statistics nearer than this are equal: relative, and of the squared length of the means


def mmd(
    X: RowsLike,
    Y: RowsLike,
    *,
    basis: Basis | None = None,
    unbiased: bool = True,
    scale: str | None = "auto",
    random_state: RandomStateLike = None,
    device: str | None = None,
) -> float:
    """Estimate the squared maximum mean discrepancy (MMD) between two samples.

    It is the squared distance between the means of their features, 0 if both have one distribution. Rows are read once,
    and memory does not grow with their number.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples_x, n_features)
        Rows of the first sample.
    Y : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples_y, n_features)
        Rows of the second sample.
    basis : Basis, default=None
        The random features whose kernel compares the samples; None is `RandomFourier(1000)`. It is fitted to rows of
        both samples.
    unbiased : bool, default=True
        Whether products of a row with itself are left out. If False the result is the squared distance between mean
        features, which is never negative.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How columns are scaled, as learned from both samples together: 'robust' by medians and quartiles, with outliers
        smoothly clipped; 'standard' by means and standard deviations; None not at all. 'auto' is 'robust', but None
        where a bandwidth or radius is given as a number or columns have 8 bits.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the basis, where that has none of its own.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features and their sums are made; None is where the rows are: tensors stay on their device.

    Returns
    -------
    float
        The squared MMD.

    See Also
    --------
    mmd_test : Is it larger than chance would have it?

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import mmd
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(300, 2)), rng.normal(1.0, 1.0, size=(300, 2))
    >>> bool(mmd(X, Y, random_state=0) > 10 * abs(mmd(X[:150], X[150:], random_state=0)))
    True
    """
    with room_on(device_for(device, X, Y)):
        first, second, design = prepare(X, Y, basis, scale, random_state, device, least=2 if unbiased else 1)
        mine, other = (tally_of(blocks, design) for blocks in (first, second))
    return (unbiased_square if unbiased else biased_square)(mine, other, float(design.scale_))


def mmd_test(
    X: RowsLike,
    Y: RowsLike,
    *,
    basis: Basis | None = None,
    null: str = "permutation",
    n_resamples: int = 499,
    block_length: int = 1,
    scale: str | None = "auto",
    random_state: RandomStateLike = None,
    device: str | None = None,
) -> TwoSampleResult:
    """Test whether two samples have one distribution.

    Rows are read once, and memory does not grow with their number.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples_x, n_features)
        Rows of the first sample.
    Y : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples_y, n_features)
        Rows of the second sample.
    basis : Basis, default=None
        The random features whose kernel compares the samples; None is `RandomFourier(1000)`. It is fitted to rows of
        both samples.
    null : {'permutation', 'wild', 'asymptotic'}, default='permutation'
        Distribution of the statistic if both samples have one distribution. 'permutation' exchanges rows between
        samples at random: for independent rows, however few. 'wild' gives random signs to groups of block_length
        neighbouring rows: for rows that depend on those nearby, as in time series. 'asymptotic' is a weighted sum of
        chi-squares: for hundreds of independent rows or more, and the only one whose p-values may be tiny.
    n_resamples : int, default=499
        Number of resamples of the first two; the smallest p-value is 1 / (n_resamples + 1).
    block_length : int, default=1
        For 'wild', how many neighbouring rows share a sign; it should be well above the reach of their dependence.
    scale : {'auto', 'robust', 'standard'} or None, default='auto'
        How columns are scaled, as learned from both samples together: 'robust' by medians and quartiles, with outliers
        smoothly clipped; 'standard' by means and standard deviations; None not at all. 'auto' is 'robust', but None
        where a bandwidth or radius is given as a number or columns have 8 bits.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the basis, where that has none of its own.
    device : {'cpu', 'cuda', 'cuda:1', ...} or None, default=None
        Where features and their sums are made; None is where the rows are: tensors stay on their device.

    Returns
    -------
    TwoSampleResult
        The result, with `statistic`, `pvalue`, `witness(X)` and more.

    See Also
    --------
    mmd : The discrepancy alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> result = mmd_test(rng.normal(size=(200, 2)), rng.normal(0.5, 1.0, size=(300, 2)), random_state=0)
    >>> result.pvalue
    0.002
    >>> result.witness([[-2.0, -2.0], [2.0, 2.0]]) > 0
    array([ True, False])
    """
    require_choice("null", null, ["permutation", "wild", "asymptotic"])
    require_integer("n_resamples", n_resamples)
    require_integer("block_length", block_length)
    with room_on(device_for(device, X, Y)):
        first, second, design = prepare(X, Y, basis, scale, random_state, device, least=2)
        mine, other, differences, variances = compared(first, second, design, null, n_resamples, block_length)
    unit, statistics = float(design.scale_), None
    if null == "asymptotic":
        pvalue = chi_square_tail(unit**2 * variances, least_reached(mine, other, unit))
        how = "asymptotic law"
    else:
        statistics = unit**2 * np.sum(differences**2, axis=1)
        pvalue = (1 + np.count_nonzero(statistics >= least_reached(mine, other, unit))) / (n_resamples + 1)
        how = f"{n_resamples} {'permutations' if null == 'permutation' else 'wild relabelings'}"
    difference = mine.mean() - other.mean()
    errors = np.sqrt(mine.variances() / mine.rows + other.variances() / other.rows)
    return TwoSampleResult(
        statistic=biased_square(mine, other, unit),
        pvalue=float(pvalue),
        unbiased=unbiased_square(mine, other, unit),
        null=how,
        rows=(mine.rows, other.rows),
        design=design,
        difference=unit * difference,
        scores=np.divide(difference, errors, out=np.zeros_like(errors), where=errors > 0),
        null_statistics=statistics,
        recipe=first.recipe,
    )


def compared(
    first: Blocks, second: Blocks, design: Design, null: str, n_resamples: int, block_length: int
) -> tuple[Tally, Tally, np.ndarray, np.ndarray]:
    """Sums of both samples; differences of means of relabelled rows, or the variances of the asymptotic law."""
    if null == "asymptotic":
        mine, other, variances = asymptotic(first, second, design)
        return mine, other, np.empty((0, 0)), variances
    relabelled = permuted if null == "permutation" else wild
    return *relabelled(first, second, design, n_resamples, block_length), np.empty(0)


# ---- estimates ----


def biased_square(mine: Tally, other: Tally, scale: float) -> float:
    """|mean z - mean z'|^2."""
    return scale**2 * float(np.sum((mine.mean() - other.mean()) ** 2))


def unbiased_square(mine: Tally, other: Tally, scale: float) -> float:
    """Means of products over different rows: (|sum z|^2 - sum |z|^2)/(n(n - 1)), twice, less 2 <mean z, mean z'>."""

    def within(tally: Tally) -> float:
        return float(np.sum(tally.sum_z**2) - np.sum(tally.squares)) / (tally.rows * (tally.rows - 1))

    return scale**2 * (within(mine) + within(other) - 2.0 * float(mine.mean() @ other.mean()))


def least_reached(mine: Tally, other: Tally, scale: float) -> float:
    """The biased estimate less what rounding may do: what is above has reached it."""
    means = float(np.sum(mine.mean() ** 2) + np.sum(other.mean() ** 2))
    return max((1 - SLACK) * biased_square(mine, other, scale) - FLOOR * scale**2 * means, 0.0)


# ---- checks ----


def prepare(
    X: RowsLike,
    Y: RowsLike,
    basis: Basis | None,
    scale: str | None,
    random_state: RandomStateLike,
    device: str | None,
    least: int,
) -> tuple[Blocks, Blocks, Design]:
    """Both samples as valid blocks, and the basis fitted to scaled rows of both."""
    require_basis(basis)
    require_scale(scale)
    names = [list(rows.columns) if hasattr(rows, "columns") else None for rows in (X, Y)]
    first, second = valid_rows(X, "X", basis), valid_rows(Y, "Y", basis)
    if first.n_columns != second.n_columns:
        raise ValueError(f"X has {first.n_columns} columns but Y has {second.n_columns}.")
    if names[0] is not None and names[1] is not None and names[0] != names[1]:
        raise ValueError("X and Y have columns of different names, or in another order.")
    if first.recipe != second.recipe:
        raise ValueError("X and Y were not read in the same way: read Y with bochner.read(..., recipe=X.recipe).")
    for blocks, name in ((first, "X"), (second, "Y")):
        if blocks.n_rows < least:
            raise ValueError(f"{name} has one row; at least two are needed.")
    sample = pooled(first, second, SAMPLE)
    how = chosen_scale(scale, basis, X, Y)
    design = settle(sample.rows, sample.largest, basis, random_state, how)
    first, second = (blocks_on(blocks, named_device(device)) for blocks in (first, second))
    return first, second, design
