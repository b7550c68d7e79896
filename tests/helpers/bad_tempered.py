"""Data that users have and textbooks do not: heavy tails, wild scales, far-out rows, copies, few rows, many columns."""

from typing import Any, NamedTuple

import numpy as np

TRAIN, TEST = 400, 1500


class Data(NamedTuple):
    """Rows and targets to learn from and to be judged by, and weights of the former."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    weight: Any = None


def truth(Z):
    """Something bent, something crossed and something straight."""
    return np.sin(1.5 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.7 * Z[:, 3]


def lognormal(rng, n):
    Z = rng.standard_normal((n, 5))
    return np.exp(1.5 * Z), truth(Z) + noise(rng, n)


def student(degrees):
    def rows(rng, n):
        Z = rng.standard_t(degrees, (n, 5))
        return Z, truth(np.clip(Z, -3, 3)) + noise(rng, n)

    return rows


def line_of_heavy_tails(rng, n):
    Z = rng.standard_t(2.0, (n, 5))
    return Z, Z @ [1.0, 0.5, 0.2, 0.0, 0.0] + noise(rng, n)


def skewed_targets(rng, n):
    Z = rng.standard_normal((n, 5))
    return Z, np.exp(truth(Z) + noise(rng, n))


def wild_scales(rng, n):
    Z = rng.standard_normal((n, 5))
    return Z * [1e-6, 1.0, 1e3, 1e6, 1e9], truth(Z) + noise(rng, n)


def far_out_rows(rng, n):
    Z = rng.standard_normal((n, 5))
    X = Z.copy()
    far = rng.choice(n, max(2, n // 200), replace=False)
    X[far] += 1000.0 * rng.standard_normal((len(far), 5))
    return X, truth(Z) + noise(rng, n)


def far_out_targets(rng, n):
    Z = rng.standard_normal((n, 5))
    y = truth(Z) + noise(rng, n)
    if n == TRAIN:  # new rows are judged by what they should be
        far = rng.choice(n, max(2, n // 200), replace=False)
        y[far] += 100.0 * rng.standard_normal(len(far))
    return Z, y


def copies(rng, n):
    Z = rng.standard_normal((n, 5))
    y = truth(Z) + 3.0 * noise(rng, n)
    chosen = rng.integers(0, n // 4, n) if n == TRAIN else np.arange(n)
    return Z[chosen], y[chosen]


def idle_columns(rng, n):
    Z = rng.standard_normal((n, 5))
    return np.column_stack([Z, np.ones(n), 1e6 * rng.permutation(n)]), truth(Z) + noise(rng, n)


def plain(rng, n):
    Z = rng.standard_normal((n, 5))
    return Z, truth(Z) + noise(rng, n)


def many_columns(rng, n):
    Z = rng.standard_normal((n, 300))
    return Z, Z[:, :10] @ np.linspace(1.0, 0.1, 10) + noise(rng, n)


def noise(rng, n):
    return 0.3 * rng.standard_normal(n)


ROWS = {"few rows": 20, "many columns": 200}
KINDS = {
    "lognormal": lognormal, "student 1.5": student(1.5), "student 2": student(2.0), "heavy line": line_of_heavy_tails,
    "skewed targets": skewed_targets, "wild scales": wild_scales, "far-out rows": far_out_rows,
    "far-out targets": far_out_targets, "copies": copies, "idle columns": idle_columns, "few rows": plain,
    "many columns": many_columns, "rare classes": plain, "wild weights": plain,
}  # fmt: skip


def made(kind, labels, seed=0):
    """Data of a kind; targets become two classes by their median, or classes of 90, 8 and 2 per cent."""
    rng = np.random.default_rng(seed)
    count = ROWS.get(kind, TRAIN)
    X, y = KINDS[kind](rng, max(count, TRAIN))
    X_test, y_test = KINDS[kind](rng, TEST)
    if labels:
        cuts = np.quantile(y, [0.9, 0.98] if kind == "rare classes" else [0.5])
        y, y_test = np.searchsorted(cuts, y), np.searchsorted(cuts, y_test)
    weight = 10.0 ** rng.uniform(-3, 3, count) if kind == "wild weights" else None
    return Data(X[:count], y[:count], X_test, y_test, weight)
