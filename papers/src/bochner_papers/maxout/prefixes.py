"""Ridge on the first k of m features, for several k: one Gram matrix and one Cholesky factor serve them all.

The first k features of m are those that would be drawn for k, and the factor of a leading block is the leading block of
the factor: G + alpha I = R'R gives (G + alpha I)[:k, :k] = R[:k, :k]'R[:k, :k].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bochner.moments import Moments
from bochner.solvers import factor_gram


class Linear(NamedTuple):
    """Scores of integer features: Z b + c, the largest of which is the class."""

    coefficients: np.ndarray
    intercept: np.ndarray

    def error(self, features: np.ndarray, y: np.ndarray) -> float:
        """Per cent of wrong labels. float32 holds the features, and no label hangs on the eighth digit of a score."""
        b = self.coefficients.astype(np.float32)
        scores = features[:, : len(b)].astype(np.float32) @ b + self.intercept.astype(np.float32)
        return 100.0 * float(np.mean(scores.argmax(axis=1) != y))


def fit_prefixes(moments: Moments, columns: Sequence[int], share: float, intercept: bool) -> dict[int, Linear]:
    """The models of the first k features for each k of `columns`; the penalty is `share` of the mean of diag(Z'Z)."""
    problem = moments.prefix(max(columns)).centered(intercept=intercept)
    factor = factor_gram(problem.gram, share * float(np.trace(problem.gram)) / len(problem.gram))
    if factor is None:
        raise ValueError(f"Z'Z is not positive definite at a penalty of {share:g} times its mean diagonal.")
    models = {}
    for k in columns:
        b = factor.leading(k).solve(problem.cross[:k])
        models[k] = Linear(np.asarray(b), problem.mean_y - problem.mean_z[:k] @ b)
    return models
