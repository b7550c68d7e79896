"""Table 1: least squares on random maxout features of MNIST, for 5 pool sizes, 5 numbers of features and 5 seeds.

As printed: codes of +-1, features that are not centred, no intercept, penalty by hold-out. Features are 8-bit integers,
whose Gram matrices are exact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from bochner import RandomMaxout, data
from bochner.moments import Moments

from ..findings import Chart, Comparison, Experiment, Findings, Job
from .digits_printed import cells, claims, rows_of_chart, speed
from .prefixes import Linear, fit_prefixes

POOL_SIZES = (1, 2, 4, 8, 16)
SHARES = (1e-4, 1e-3, 1e-2)  # penalties, over the mean of diag(Z'Z)
NEIGHBOUR = 3.09


@dataclass(frozen=True)
class Plan:
    """What is run: pixels as bytes, numbers of features, rows held out for the penalty, penalties, seeds."""

    split: data.Split
    columns: tuple[int, ...]
    held_out: int
    seeds: int
    shares: tuple[float, ...] = SHARES  # over the mean of diag(Z'Z)


@dataclass(frozen=True)
class Version:
    """A way to do the same: with or without centring and intercept."""

    name: str
    center: bool
    intercept: bool


AS_PRINTED = Version("as printed", False, False)


def plan_of(job: Job) -> Plan:
    if not job.quick:
        return Plan(data.mnist(), (100, 500, 1000, 5000, 10_000), 10_000, 5)
    X, y = load_digits(return_X_y=True)
    split = data.Split(X[:1400].astype(np.uint8), y[:1400], X[1400:].astype(np.uint8), y[1400:])
    return Plan(split, (20, 50, 100, 200, 300), 300, 2)


def run(job: Job) -> Findings:
    plan = plan_of(job)
    found = {q: errors_of(plan, AS_PRINTED, q, job) for q in POOL_SIZES}
    printed = {q: errors for q, (errors, _, _) in found.items()}
    seconds, busy = sum(made[1] for made in found.values()), sum(made[2] for made in found.values())
    fits = plan.seeds * len(POOL_SIZES) * len(plan.columns)
    job.say("nearest neighbours")
    one, three = job.part("nearest neighbours", neighbour_errors, plan.split)
    return Findings(
        settings={
            "rows": len(plan.split.y), "test rows": len(plan.split.y_test), "pixels": "bytes as they are, no unit norm",
            "features": "8-bit integers", "penalties": "hold-out of the last "
            f"{plan.held_out:,} training rows on the first seed, among {plan.shares} times the mean of diag(Z'Z)",
            "seeds": plan.seeds,
        },
        comparisons=[
            *cells(plan.columns, printed, job.quick),
            Comparison("1 nearest neighbour", None if job.quick else NEIGHBOUR, one, tolerance=0.02),
            Comparison("3 nearest neighbours", None, three),
        ],
        claims=[*claims(plan.columns, printed, job.quick), speed(fits, seconds, busy)],
        charts=[Chart("Test error by number of features", rows_of_chart(plan.columns, printed, job.quick), "m",
                      "test error, %", "pool size", "line", True, True, style="whose")],
    )  # fmt: skip


def errors_of(plan: Plan, version: Version, q: int, job: Job) -> tuple[np.ndarray, float, float]:
    """Test errors (seeds, numbers of features), and the seconds of the clock and of the processor that they took."""
    table: list[dict[str, Any]] = []
    for seed in range(plan.seeds):
        shares = {k: table[0]["shares"][str(k)] for k in plan.columns} if table else None
        table.append(job.part(f"{version.name}, q = {q}, seed {seed}", errors_of_seed, plan, version, q, seed, shares))
        told = ", ".join(f"{error:.2f}" for error in table[-1]["errors"])
        job.say(f"{version.name}, q = {q}, seed {seed}: {told}")
    clock, busy = (float(sum(row[name] for row in table)) for name in ("seconds", "busy"))
    return np.array([row["errors"] for row in table]), clock, busy


def errors_of_seed(plan: Plan, version: Version, q: int, seed: int, shares: dict[int, float] | None) -> dict[str, Any]:
    """Errors by number of features; the penalty of each is chosen on the first seed."""
    begun, worked = time.perf_counter(), time.process_time()
    codes = np.where(plan.split.y[:, None] == np.unique(plan.split.y), 1, -1).astype(np.int8)
    basis = RandomMaxout(
        max(plan.columns), pool_size=q, center=version.center, precision="int8", random_state=seed
    ).fit(plan.split.X)  # fmt: skip
    features = np.asarray(basis.features(plan.split.X))
    if shares is None:
        total, shares = choose_shares(features, codes, plan, version)
    else:
        total = Moments.of(features, codes)
    del features
    models: dict[int, Linear] = {}
    for share in sorted(set(shares.values())):
        models |= fit_prefixes(total, [k for k in plan.columns if shares[k] == share], share, version.intercept)
    features = np.asarray(basis.features(plan.split.X_test))
    return {
        "errors": [models[k].error(features, plan.split.y_test) for k in plan.columns],
        "shares": {str(k): share for k, share in shares.items()},
        "seconds": time.perf_counter() - begun, "busy": time.process_time() - worked,
    }  # fmt: skip


def choose_shares(
    features: np.ndarray, codes: np.ndarray, plan: Plan, version: Version
) -> tuple[Moments, dict[int, float]]:
    """The sums of all rows, and the penalty of smallest error on the last rows by models of the others, for each k."""
    out, y = slice(-plan.held_out, None), plan.split.y
    rest = Moments.of(features[: -plan.held_out], codes[: -plan.held_out])
    errors = np.array([
        [model.error(features[out], y[out]) for model in models.values()]
        for models in (fit_prefixes(rest, plan.columns, share, version.intercept) for share in plan.shares)
    ])  # fmt: skip
    rest += Moments.of(features[out], codes[out])
    return rest, {k: plan.shares[int(best)] for k, best in zip(plan.columns, errors.argmin(axis=0), strict=True)}


def neighbour_errors(split: data.Split) -> list[float]:
    """Per cent of wrong labels of the nearest, and of the three nearest training rows."""
    model = KNeighborsClassifier(algorithm="brute").fit(split.X.astype(np.float32), split.y)
    return [
        100.0 * (1.0 - float(model.set_params(n_neighbors=k).score(split.X_test.astype(np.float32), split.y_test)))
        for k in (1, 3)
    ]


EXPERIMENT = Experiment(
    "maxout-digits", "random_maxout_features", "Table 1: random maxout features on MNIST", run, ("mnist",)
)
