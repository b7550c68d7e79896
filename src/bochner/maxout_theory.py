"""The bounds of the maxout paper: Lemma 2, Theorem 2 and Remark 2, with the constants that its proofs leave open.

sup |phi(x, W)| over a set of rows is the heart: phi(x, W) = max over j <= q of <w_j, x> is not bounded, but on a set of
intrinsic dimension d_M it is, but for a probability delta. The proof, with its constants written out:

    a net of T <= (2 diam / r)^d_M balls of radius r covers the set;
    at a centre P(|phi| >= t/2) <= (q + 1) exp(-t^2/8), since |x| <= 1;
    between them phi moves by max_j |w_j| r at most, and P(max_j |w_j| >= sqrt(d) + s) <= q exp(-s^2/2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernels import maximum_moment
from .losses import CLASSIFYING, loss_of
from .validation import require_integer, require_positive


@dataclass(frozen=True)
class RiskBound:
    """A bound on the excess risk, 2 estimation + approximation, that holds with probability 1 - 2 delta or more.

    Attributes
    ----------
    estimation : float
        What n rows cost.
    approximation : float
        What m features cost.

    Examples
    --------
    >>> from bochner.theory import RiskBound
    >>> RiskBound(estimation=0.1, approximation=0.3).total
    0.5
    """

    estimation: float
    approximation: float

    @property
    def total(self) -> float:
        """The bound itself: 2 estimation + approximation."""
        return 2.0 * self.estimation + self.approximation


def maxout_supremum(
    *,
    pool_size: int,
    intrinsic_dimension: float,
    dimension: int,
    diameter: float = 2.0,
    radius: float = 1.0,
    units: int = 1,
    delta: float = 0.05,
) -> float:
    """Bound the largest |max_j <w_j, x>| over a set of rows (Lemma 2 of the maxout paper, with its constants).

        R t,   t^2 = 8 (d_M log(4 diam (sqrt(d) + sqrt(2 log(2 q/delta)))) + log(2 (q + 1)/delta)),

    for |x| <= R and d_M the Assouad dimension. The printed bound takes one of the q vectors for all in its last step.

    Parameters
    ----------
    pool_size : int
        Number q of projections of a unit.
    intrinsic_dimension : float
        Dimension d_M of the set that rows lie on.
    dimension : int
        Number d of columns.
    diameter : float, default=2.0
        Largest distance of two rows, over R; 2 is that of the sphere.
    radius : float, default=1.0
        Largest |x|, the number R of Remark 2.
    units : int, default=1
        Number of units for which it holds at once: delta is shared among them.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from bochner.theory import maxout_supremum
    >>> round(maxout_supremum(pool_size=4, intrinsic_dimension=2.0, dimension=100), 1)
    10.8
    """
    require_delta(delta)
    q, share = require_integer("pool_size", pool_size), delta / require_integer("units", units)
    for name, value in (("diameter", diameter), ("radius", radius), ("intrinsic_dimension", intrinsic_dimension)):
        require_positive(name, value)
    longest = np.sqrt(require_integer("dimension", dimension)) + np.sqrt(2.0 * np.log(2.0 * q / share))
    net = intrinsic_dimension * np.log(max(4.0 * diameter * longest, 1.0))
    return float(radius * np.sqrt(8.0 * (net + np.log(2.0 * (q + 1) / share))))


def maxout_bound(
    n: int,
    m: int,
    *,
    pool_size: int,
    intrinsic_dimension: float,
    dimension: int,
    max_coefficient: float,
    loss: str | None = None,
    lipschitz: float | None = None,
    loss_at_zero: float = 1.0,
    largest_loss: float = 1.0,
    diameter: float = 2.0,
    radius: float = 1.0,
    delta: float = 0.05,
) -> RiskBound:
    """Bound the excess risk of maxout features with |a_k| <= C / m (Theorem 2 and Remark 2 of the maxout paper).

        estimation    = (2 L C R sigma(q) + |V(0)| + B sqrt(2 log(2/delta))) / sqrt(n),
        approximation = L C M (1 + sqrt(2 log(1/delta))) / sqrt(m),

    M the bound of `maxout_supremum` for all m units at once. It fails with probability 3 delta at most. Remark 2
    multiplies all by R B; R belongs to the first and the last term alone, and B to the third.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int
        Number of features.
    pool_size : int
        Number q of projections of a unit.
    intrinsic_dimension : float
        Dimension d_M of the set that rows lie on.
    dimension : int
        Number d of columns.
    max_coefficient : float
        The number C.
    loss : str, default=None
        Name of a loss, whose slope is taken on [-C M, C M]; None where its constants are given.
    lipschitz : float, default=None
        Lipschitz constant L of the loss.
    loss_at_zero : float, default=1.0
        Loss V(0), where `lipschitz` is given.
    largest_loss : float, default=1.0
        Largest value B of the loss.
    diameter : float, default=2.0
        Largest distance of two rows, over R.
    radius : float, default=1.0
        Largest |x|.
    delta : float, default=0.05
        Probability that each of the three parts fails.

    Returns
    -------
    RiskBound
        The two parts and their sum.

    Examples
    --------
    >>> from bochner.theory import maxout_bound
    >>> bound = maxout_bound(
    ...     10**6, 10**6, pool_size=4, intrinsic_dimension=2.0, dimension=100, max_coefficient=1.0, lipschitz=1.0
    ... )
    >>> round(bound.total, 3)
    0.065
    """
    largest = maxout_supremum(
        pool_size=pool_size, intrinsic_dimension=intrinsic_dimension, dimension=dimension, diameter=diameter,
        radius=radius, units=m, delta=delta,
    )  # fmt: skip
    lipschitz, loss_at_zero = constants_of(loss, lipschitz, loss_at_zero, max_coefficient * largest)
    scale = lipschitz * max_coefficient
    spread = radius * np.sqrt(maximum_moment(pool_size, 2))
    chance = largest_loss * np.sqrt(2.0 * np.log(2.0 / delta))
    return RiskBound(
        estimation=float((2.0 * scale * spread + abs(loss_at_zero) + chance) / np.sqrt(require_integer("n", n))),
        approximation=float(scale * largest * (1.0 + np.sqrt(2.0 * np.log(1.0 / delta))) / np.sqrt(m)),
    )


def maxout_features(
    n: int, *, pool_size: int, intrinsic_dimension: float, dimension: int, diameter: float = 2.0, delta: float = 0.05
) -> int:
    """Return the features whose approximation costs no more than n rows do (Remark 2, second part).

    The smallest m >= n M^2, M the bound of `maxout_supremum` for m units: of order n d_M log(d), as the paper says, and
    log(m) more, for a union over the units.

    Parameters
    ----------
    n : int
        Number of rows.
    pool_size : int
        Number q of projections of a unit.
    intrinsic_dimension : float
        Dimension d_M of the set that rows lie on.
    dimension : int
        Number d of columns.
    diameter : float, default=2.0
        Largest distance of two rows, over the largest |x|.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    int
        Number of features.

    Examples
    --------
    >>> from bochner.theory import maxout_features
    >>> maxout_features(1000, pool_size=4, intrinsic_dimension=2.0, dimension=100) // 1000
    218
    """
    m, before = require_integer("n", n), 0
    while m > before:  # M grows like the root of log m: a few rounds
        before = m
        largest = maxout_supremum(
            pool_size=pool_size, intrinsic_dimension=intrinsic_dimension, dimension=dimension, diameter=diameter,
            units=m, delta=delta,
        )  # fmt: skip
        m = max(m, int(np.ceil(n * largest**2)))
    return m


def maxout_rate(
    n: int, m: int, *, pool_size: int, intrinsic_dimension: float, dimension: int, delta: float = 0.05
) -> dict[str, float]:
    """Return the rates of Theorem 2 of the maxout paper, without its constants, which are not given.

        estimation ~ sqrt(sigma^2(q) / n);   approximation ~ sqrt((d_M log(sqrt(d)/delta) + log(q + 1) + log m) / m),

    with the union over the m units (log m) that its Lemma 3 leaves out.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int
        Number of features.
    pool_size : int
        Number q of projections of a unit.
    intrinsic_dimension : float
        Dimension d_M of the set that rows lie on.
    dimension : int
        Number d of columns.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    dict
        'estimation' and 'approximation'.

    Examples
    --------
    >>> from bochner.theory import maxout_rate
    >>> sorted(maxout_rate(10_000, 1000, pool_size=4, intrinsic_dimension=5.0, dimension=20))
    ['approximation', 'estimation']
    """
    require_delta(delta)
    complexity = intrinsic_dimension * np.log(np.sqrt(dimension) / delta) + np.log(pool_size + 1) + np.log(m)
    return {
        "estimation": float(np.sqrt(maximum_moment(pool_size, 2) / n)),
        "approximation": float(np.sqrt(complexity / m)),
    }


def constants_of(loss: str | None, lipschitz: float | None, loss_at_zero: float, reach: float) -> tuple[float, float]:
    """L and c(0): those of a named loss on [-reach, reach], or those that are given."""
    if (loss is None) == (lipschitz is None):
        raise ValueError("give either a loss or its Lipschitz constant.")
    if loss is not None:
        known = loss_of(loss, CLASSIFYING)
        return known.lipschitz(reach), known.at_zero()
    assert lipschitz is not None
    return lipschitz, loss_at_zero


def require_delta(delta: float) -> None:
    """A probability of failure lies strictly between 0 and 1."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between 0 and 1; got {delta!r}.")
