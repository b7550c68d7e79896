"""A stack: the mean of members with weights that predict rows best which no member has seen.

Non-negative weights w minimise sum_i |y_i - sum_m w_m f_m(x_i)|^2 / s^2 + |w - w_0|^2 / t^2: s^2 is the mean squared
error of the best member, and w_0 are equal weights of the best few, from which few rows give little reason to part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from .expansion import Expansion
from .local import LocalExpansion
from .pictures import PatchExpansion
from .placing import HOST, Host

FEW = 3
NEAR = 1.1  # times the smallest error: who is among the best few
TRUST = 0.3  # t, how far weights may be from equal ones


class Stack(NamedTuple):
    """Members with their weights, and the level that targets are measured from."""

    members: Sequence[Expansion | LocalExpansion | PatchExpansion]
    weights: np.ndarray
    level: np.ndarray  # (outputs,)

    def scores(self, encoded: Callable[[str | None], np.ndarray], place: Host = HOST) -> np.ndarray:
        """Scores (n, outputs) of rows, encoded as each member wants them, made in some place."""
        pairs = zip(self.weights, self.members, strict=True)
        return sum((w * place.scores(m, encoded(m.setting.numbers)) for w, m in pairs), self.level)


def stack_weights(predictions: list[np.ndarray], Y: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Weights (members,) of predictions (rows, outputs) of rows left out, whose errors are relative to the mean's."""
    order = np.argsort(errors)
    few = [m for m in order[:FEW] if errors[m] <= NEAR * errors[order[0]]]
    equal = np.zeros(len(predictions))
    equal[few] = 1.0 / len(few)
    flat = np.stack([p.ravel() for p in predictions], axis=1)
    noise = float(np.mean((Y.ravel() - flat[:, order[0]]) ** 2))
    if not noise > 0:
        return equal
    # Normal equations, so that rows do not matter for the size of the problem.
    gram = flat.T @ flat / noise + np.eye(len(equal)) / TRUST**2
    cross = flat.T @ Y.ravel() / noise + equal / TRUST**2
    root = np.linalg.cholesky(gram)
    weights, _ = nnls(root.T, np.linalg.solve(root, cross))
    return np.where(weights > 1e-3, weights, 0.0)
