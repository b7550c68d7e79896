"""Table 1: least squares on random maxout features of MNIST, for 5 pool sizes, 5 numbers of features and 5 seeds.

As printed: codes of +-1, features that are not centred, no intercept, penalty by hold-out. Then our centred features
with an intercept beside it. Features are 8-bit integers, whose Gram matrices are exact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from bochner import RandomMaxout, data
from bochner.moments import Moments

from ..findings import Chart, Comparison, Experiment, Findings, Job
from .digits_printed import Table, cells, centred_cells, claims, speed
from .prefixes import Linear, fit_prefixes

POOL_SIZES = (1, 2, 4, 8, 16)
SHARES = (1e-4, 1e-3, 1e-2)  # penalties, over the mean of diag(Z'Z)
NEIGHBOUR = 3.09


@dataclass(frozen=True)
class Plan:
    """What is run: pixels as bytes, numbers of features, rows held out for the penalty, seeds of each version."""

    split: data.Split
    columns: tuple[int, ...]
    held_out: int
    seeds: int
    centred_seeds: int


@dataclass(frozen=True)
class Version:
    """A way to do the same: with or without centring and intercept."""

    name: str
    center: bool
    intercept: bool


AS_PRINTED, CENTRED = Version("as printed", False, False), Version("centred", True, True)


def plan_of(job: Job) -> Plan:
    if not job.quick:
        return Plan(data.mnist(), (100, 500, 1000, 5000, 10_000), 10_000, 5, 1)
    X, y = load_digits(return_X_y=True)
    split = data.Split(X[:1400].astype(np.uint8), y[:1400], X[1400:].astype(np.uint8), y[1400:])
    return Plan(split, (20, 50, 100, 200, 300), 300, 2, 1)


def run(job: Job) -> Findings:
    plan = plan_of(job)
    begun, worked = time.perf_counter(), time.process_time()
    printed = {q: errors_of(plan, AS_PRINTED, q, plan.seeds, job) for q in POOL_SIZES}
    seconds, busy = time.perf_counter() - begun, time.process_time() - worked
    centred = {q: errors_of(plan, CENTRED, q, plan.centred_seeds, job) for q in POOL_SIZES}
    fits = plan.seeds * len(POOL_SIZES) * len(plan.columns)
    job.say("nearest neighbours")
    neighbours = neighbour_errors(plan.split)
    return Findings(
        settings={
            "rows": len(plan.split.y), "test rows": len(plan.split.y_test), "pixels": "bytes as they are, no unit norm",
            "features": "8-bit integers", "penalties": "hold-out of the last "
            f"{plan.held_out:,} training rows on the first seed, among {SHARES} times the mean of diag(Z'Z)",
            "seeds": plan.seeds, "seeds of the centred version": plan.centred_seeds,
        },
        comparisons=[
            *cells(plan.columns, printed, job.quick), *centred_cells(plan.columns, centred),
            Comparison("1 nearest neighbour", None if job.quick else NEIGHBOUR, neighbours[1], tolerance=0.02),
            Comparison("3 nearest neighbours", None, neighbours[3]),
        ],
        claims=[*claims(plan.columns, printed, centred, job.quick), speed(fits, seconds, busy)],
        charts=[Chart("Test error by number of features", rows_of_chart(plan, printed, centred), "features",
                      "test error (%)", "version", log_x=True, log_y=True)],
    )  # fmt: skip


def errors_of(plan: Plan, version: Version, q: int, seeds: int, job: Job) -> np.ndarray:
    """Test errors (seeds, numbers of features). The penalty of each number of features is chosen on the first seed."""
    codes = np.where(plan.split.y[:, None] == np.unique(plan.split.y), 1, -1).astype(np.int8)
    table: list[list[float]] = []
    shares: dict[int, float] = {}
    for seed in range(seeds):
        basis = RandomMaxout(
            max(plan.columns), pool_size=q, center=version.center, precision="int8", random_state=seed
        ).fit(plan.split.X)
        features = np.asarray(basis.features(plan.split.X))
        if seed == 0:
            total, shares = choose_shares(features, codes, plan, version)
        else:
            total = Moments.of(features, codes)
        del features
        models: dict[int, Linear] = {}
        for share in sorted(set(shares.values())):
            models |= fit_prefixes(total, [k for k in plan.columns if shares[k] == share], share, version.intercept)
        features = np.asarray(basis.features(plan.split.X_test))
        table.append([models[k].error(features, plan.split.y_test) for k in plan.columns])
        job.say(f"{version.name}, q = {q}, seed {seed}: " + ", ".join(f"{error:.2f}" for error in table[-1]))
    return np.array(table)


def choose_shares(
    features: np.ndarray, codes: np.ndarray, plan: Plan, version: Version
) -> tuple[Moments, dict[int, float]]:
    """The sums of all rows, and the penalty of smallest error on the last rows by models of the others, for each k."""
    out, y = slice(-plan.held_out, None), plan.split.y
    rest = Moments.of(features[: -plan.held_out], codes[: -plan.held_out])
    errors = np.array([
        [model.error(features[out], y[out]) for model in models.values()]
        for models in (fit_prefixes(rest, plan.columns, share, version.intercept) for share in SHARES)
    ])  # fmt: skip
    rest += Moments.of(features[out], codes[out])
    return rest, {k: SHARES[int(best)] for k, best in zip(plan.columns, errors.argmin(axis=0), strict=True)}


def neighbour_errors(split: data.Split) -> dict[int, float]:
    """Per cent of wrong labels of the nearest, and of the three nearest training rows."""
    model = KNeighborsClassifier(algorithm="brute").fit(split.X.astype(np.float32), split.y)
    found = {}
    for k in (1, 3):
        model.set_params(n_neighbors=k)
        found[k] = 100.0 * (1.0 - float(model.score(split.X_test.astype(np.float32), split.y_test)))
    return found


def rows_of_chart(plan: Plan, *tables: Table) -> list[dict[str, object]]:
    return [
        {"features": m, "test error (%)": float(errors[:, k].mean()), "version": f"q = {q}, {version.name}"}
        for version, table in zip((AS_PRINTED, CENTRED), tables, strict=True)
        for q, errors in table.items()
        for k, m in enumerate(plan.columns)
    ]


EXPERIMENT = Experiment(
    "maxout-digits", "random_maxout_features", "Table 1: random maxout features on MNIST", run, ("mnist",)
)
