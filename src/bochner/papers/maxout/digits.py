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

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .prefixes import Linear, fit_prefixes

POOL_SIZES = (1, 2, 4, 8, 16)
SHARES = (1e-4, 1e-3, 1e-2)  # penalties, over the mean of diag(Z'Z)
PRINTED = {  # mean and standard deviation, for m = 100, 500, 1000, 5000, 10000
    1: ((17.68, 0.28), (14.76, 0.23), (14.64, 0.08), (15.02, 0.64), (15.12, 0.58)),
    2: ((16.95, 0.5321), (7.98, 0.22), (5.62, 0.18), (2.86, 0.11), (2.35, 0.04)),
    4: ((18.24, 0.39), (7.70, 0.24), (5.50, 0.16), (2.78, 0.07), (2.23, 0.07)),
    8: ((18.9, 0.28), (7.98, 0.47), (5.59, 0.19), (2.81, 0.10), (2.32, 0.09)),
    16: ((20.57, 0.76), (8.19, 0.21), (5.66, 0.15), (2.87, 0.12), (2.58, 0.04)),
}
NEIGHBOUR = 3.09
CLOSE = 0.35  # points within which two errors agree, whatever their spreads


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
    begun = time.perf_counter()
    printed = {q: errors_of(plan, AS_PRINTED, q, plan.seeds, job) for q in POOL_SIZES}
    seconds = time.perf_counter() - begun
    centred = {q: errors_of(plan, CENTRED, q, plan.centred_seeds, job) for q in POOL_SIZES}
    job.say("nearest neighbours")
    neighbours = neighbour_errors(plan.split)
    return Findings(
        settings={
            "rows": len(plan.split.y), "test rows": len(plan.split.y_test), "pixels": "bytes as they are, no unit norm",
            "features": "8-bit integers", "penalties": "hold-out of the last "
            f"{plan.held_out:,} training rows on the first seed, among {SHARES} times the mean of diag(Z'Z)",
            "seeds": plan.seeds, "seeds of the centred version": plan.centred_seeds,
            "seconds of the table": round(seconds, 1),
        },
        comparisons=[
            *cells(plan, printed, job.quick), *centred_cells(plan, centred),
            Comparison("1 nearest neighbour", None if job.quick else NEIGHBOUR, neighbours[1], tolerance=0.02),
            Comparison("3 nearest neighbours", None, neighbours[3]),
        ],
        claims=claims(plan, printed, centred, seconds, job.quick),
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
        features = basis.features(plan.split.X)
        if seed == 0:
            total, shares = choose_shares(features, codes, plan, version)
        else:
            total = Moments.of(features, codes)
        del features
        models: dict[int, Linear] = {}
        for share in sorted(set(shares.values())):
            models |= fit_prefixes(total, [k for k in plan.columns if shares[k] == share], share, version.intercept)
        features = basis.features(plan.split.X_test)
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


def cells(plan: Plan, table: dict[int, np.ndarray], quick: bool) -> list[Comparison]:
    found = []
    for q, errors in table.items():
        for k, (m, printed) in enumerate(zip(plan.columns, PRINTED[q], strict=True)):
            ours, spread = float(errors[:, k].mean()), float(errors[:, k].std(ddof=1))
            tolerance = max(CLOSE, 3 * float(np.hypot(printed[1], spread)))
            known = (None, None) if quick else printed
            found.append(Comparison(
                f"q = {q}, m = {m:,}", known[0], ours, printed_spread=known[1], spread=spread, tolerance=tolerance,
                why="" if quick or abs(ours - printed[0]) <= tolerance
                else "the paper does not say how pixels were scaled nor which penalties were tried",
            ))  # fmt: skip
    return found


def centred_cells(plan: Plan, centred: dict[int, np.ndarray]) -> list[Comparison]:
    return [
        Comparison(f"q = {q}, m = {m:,}, centred", None, float(errors[:, k].mean()))
        for q, errors in centred.items()
        for k, m in enumerate(plan.columns)
    ]


def claims(
    plan: Plan, printed: dict[int, np.ndarray], centred: dict[int, np.ndarray], seconds: float, quick: bool
) -> list[Claim]:
    last = {q: float(errors[:, -1].mean()) for q, errors in printed.items()}
    best = min(last, key=lambda q: last[q])
    gains = [float(printed[q][:, -1].mean() - centred[q][:, -1].mean()) for q in POOL_SIZES[1:]]
    m, fits = plan.columns[-1], plan.seeds * len(POOL_SIZES) * len(plan.columns)
    found = [
        Claim(f"q = 4 is the best pool size at m = {m:,}", best == 4, said(last)),
        Claim("one projection per unit stays a linear classifier, far behind", last[1] > 2 * last[2], said(last)),
        Claim(f"centring and an intercept lower the error at m = {m:,}", min(gains) > 0,
              "points for q = 2, 4, 8, 16: " + ", ".join(f"{gain:.2f}" for gain in gains)),
        Claim(f"{fits} fits take less than 15 minutes", seconds < 900, f"{seconds:.0f} seconds, feature maps included"),
    ]  # fmt: skip
    if not quick:
        agree = sum(cell.verdict == "agrees" for cell in cells(plan, printed, quick))
        found.insert(
            0, Claim("every cell is within 3 standard deviations or 0.35 points", agree == 25, f"{agree} of 25")
        )
    return found


def said(errors: dict[int, float]) -> str:
    return ", ".join(f"q = {q}: {error:.2f} %" for q, error in errors.items())


def rows_of_chart(plan: Plan, *tables: dict[int, np.ndarray]) -> list[dict[str, object]]:
    return [
        {"features": m, "test error (%)": float(errors[:, k].mean()), "version": f"q = {q}, {version.name}"}
        for version, table in zip((AS_PRINTED, CENTRED), tables, strict=True)
        for q, errors in table.items()
        for k, m in enumerate(plan.columns)
    ]


EXPERIMENT = Experiment(
    "maxout-digits", "random_maxout_features", "Table 1: random maxout features on MNIST", run, ("mnist",)
)
