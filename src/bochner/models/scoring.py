"""Scores of predictions that are tensors, which scikit-learn would turn into arrays."""

from __future__ import annotations

from ..arrays import Array, cast, constant, namespace


def tensor_score(found: Array, y: Array, weight: Array | None, classifies: bool) -> float:
    """Share of right labels, or R^2 (the mean over outputs), as scikit-learn has it for arrays."""
    weight = constant(1.0, (len(found),), found) if weight is None else weight
    if classifies:
        return float(weight @ cast(found == y.reshape(-1), "float64") / weight.sum())
    found, y = (cast(part, "float64").reshape(len(weight), -1) for part in (found, y))
    missed, size = weight @ (found - y) ** 2, weight @ (y - weight @ y / weight.sum()) ** 2
    where, varies = namespace(y).where, size > 0
    level = 1.0 - cast(missed > 0, "float64")  # of an output that does not vary: right or wrong
    return float(where(varies, 1.0 - missed / where(varies, size, 1.0), level).mean())
