"""What a round of metric learning costs beside a fit: a million rows of 100 columns, of which five matter."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from ..bases import RandomFourier
from ..models import RandomFeatureRegressor
from .timing import Entry, check

ROWS, COLUMNS, FEATURES = 1_000_000, 100, 4096
QUICK = (20_000, 20, 256)
TESTED = 10_000  # rows beside these, by which fits are judged
Kind = Literal["diagonal", "full"]


def bench_metric(quick: bool = False) -> list[Entry]:
    """One fit, and the same fit after one round of either metric."""
    rows, columns, features = QUICK if quick else (ROWS, COLUMNS, FEATURES)
    X, y = made(rows + TESTED, columns)
    work, entries = f"{rows:,} x {columns}, {features:,} features", list[Entry]()
    kinds: tuple[Kind | None, ...] = (None, "diagonal", "full")
    for metric in kinds:
        model = RandomFeatureRegressor(RandomFourier(features), metric=metric, metric_rounds=1, random_state=0)
        begun = time.perf_counter()
        model.fit(X[:rows], y[:rows])
        seconds = time.perf_counter() - begun
        error = 1.0 - model.score(X[rows:], y[rows:])
        check(f"a fit with metric={metric}", error < 1.0)
        more = f", {seconds / entries[0].seconds:.2f} times the fit without" if entries else ""
        who = "bochner, no metric" if metric is None else f"bochner, one round of a {metric} metric"
        entries.append(Entry(work, who, "ours", seconds, rows / seconds, "rows/s", f"1 - R² {error:.4f}{more}"))
    return entries


def made(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns in float32, and a target that bends along five of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * X[:, 4]
    return X, y + 0.3 * rng.standard_normal(rows, dtype=np.float32)
