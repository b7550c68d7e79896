"""Scores of predictions, for rows as arrays, tensors and Blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from ..arrays import Array, cast, constant, is_torch, like, namespace
from ..blocks import Blocks, RowsLike, rows_per_block
from ..lazy import is_lazy
from ..typing import VectorLike
from .checks import check_weights


def score_of_rows(
    predict: Callable[[Any], Array],
    X: RowsLike,
    y: VectorLike | None,
    sample_weight: VectorLike | None,
    classifies: bool,
) -> float:
    """Accuracy of the labels, or R^2 (the mean over outputs), as scikit-learn has them; Blocks have their own y."""
    if is_lazy(X):  # rows stay where they are; targets and predictions come here
        y, sample_weight = (None if part is None else np.asarray(part) for part in (y, sample_weight))
    if isinstance(X, Blocks):
        parts = [(block.y, block.weight) for block in X.stream(0, rows_per_block(X.n_columns))]
        if y is not None or parts[0][0] is None:
            raise ValueError("blocks have their own targets: leave out y, and name the target in bochner.read.")
        y = np.concatenate([target for target, _ in parts])
        sample_weight = None if parts[0][1] is None else np.concatenate([weight for _, weight in parts])
    found = predict(X)
    found = np.asarray(found) if is_lazy(found) else found
    if is_torch(found):
        weight = like(check_weights(sample_weight, len(found)), X)
        return tensor_score(found, like(y, X), weight, classifies)
    score = accuracy_score if classifies else r2_score
    return float(score(y, found, sample_weight=sample_weight))


def tensor_score(found: Array, y: Array, weight: Array | None, classifies: bool) -> float:
    """The same of tensors, which scikit-learn would turn into arrays."""
    weight = constant(1.0, (len(found),), found) if weight is None else weight
    if classifies:
        return float(weight @ cast(found == y.reshape(-1), "float64") / weight.sum())
    found, y = (cast(part, "float64").reshape(len(weight), -1) for part in (found, y))
    missed, size = weight @ (found - y) ** 2, weight @ (y - weight @ y / weight.sum()) ** 2
    where, varies = namespace(y).where, size > 0
    level = 1.0 - cast(missed > 0, "float64")  # of an output that does not vary: right or wrong
    return float(where(varies, 1.0 - missed / where(varies, size, 1.0), level).mean())
