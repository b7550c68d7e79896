"""Table 2: phone error rate by number of maxout features and pool size, against the frames themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from bochner import RandomMaxout

from ...findings import Chart, Claim, Comparison, Experiment, Findings, Job, beyond_noise
from .plan import MADE_UP, Plan, plan_of
from .recognition import Recognised, Task, recognise

PRINTED = {
    1250: {2: (24.7, 0.2), 4: (24.4, 0.2), 8: (25.6, 0.2), 16: (26.0, 0.2)},
    2500: {2: (24.0, 0.2), 4: (23.3, 0.3), 8: (24.7, 0.3), 16: (25.3, 0.3)},
    5000: {2: (23.5, 0.1), 4: (22.9, 0.2), 8: (24.7, 0.2), 16: (24.7, 0.4)},
    10_000: {2: (23.2, 0.1), 4: (22.5, 0.2), 8: (24.5, 0.2), 16: (24.7, 0.4)},
    20_000: {2: (23.1, 0.1), 4: (22.3, 0.2), 8: (24.3, 0.2), 16: (24.5, 0.2)},
}
RAW = (33.1, 0.1)
PENALTIES = (1e-2, 1e-1)  # C of the baseline; the better on the development speakers is taken

Cells = dict[tuple[int, int], np.ndarray]


def run(job: Job) -> Findings:
    plan = plan_of(job)
    raw = np.array(job.part("frames", frames_of, plan))
    job.say(f"frames themselves: {raw.mean():.1f} %")
    cells: Cells = {}
    for m in plan.columns:
        for q in plan.pool_sizes:
            cells[m, q] = np.array(job.part(f"m = {m}, q = {q}", errors_of, plan, m, q))
            job.say(f"m = {m}, q = {q}: {cells[m, q].mean():.1f} %")
    return Findings(
        settings=plan.settings(),
        comparisons=comparisons(plan, raw, cells),
        claims=claims(plan, raw, cells),
        charts=[Chart("Phone error rate", rows_of_chart(raw, cells, plan), "m", "phone error rate, %", "pool size",
                      "line", True, style="whose")],
    )  # fmt: skip


def frames_of(plan: Plan) -> list[float]:
    return [linear(task).phone_error for task in plan.tasks]


def errors_of(plan: Plan, m: int, q: int) -> list[float]:
    return [
        recognise(task, plan.softmax(RandomMaxout(m, pool_size=q, random_state=seed))).phone_error
        for task in plan.tasks
        for seed in range(plan.seeds)
    ]


def linear(task: Task) -> Recognised:
    """Multinomial logistic regression on the frames, with the better of some penalties."""
    with threadpool_limits(1):  # two threads were six times slower than one
        tried = [recognise(task, LogisticRegression(C=c, tol=1e-3, max_iter=300)) for c in PENALTIES]
    return min(tried, key=lambda found: found.development_error)


def comparisons(plan: Plan, raw: np.ndarray, cells: Cells) -> list[Comparison]:
    quick = plan.name == MADE_UP
    found = [comparison("frames themselves", None if quick else RAW, raw, plan)]
    for (m, q), errors in cells.items():
        printed = None if quick else PRINTED.get(m, {}).get(q)
        place = (f"q = {q}", f"m = {m:,}")
        found.append(replace(comparison(", ".join(place), printed, errors, plan), grid=place))
    return found


def comparison(what: str, printed: tuple[float, float] | None, errors: np.ndarray, plan: Plan) -> Comparison:
    """Beside the printed number, which is of much more speech unless this is TIMIT."""
    known = printed or (None, None)
    spread = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    tolerance = 3 * float(np.hypot(known[1] or 0.0, spread))
    return Comparison(what, known[0], float(errors.mean()), printed_spread=known[1], spread=spread,
                      tolerance=tolerance, why=plan.caution, kind=plan.kind)  # fmt: skip


def claims(plan: Plan, raw: np.ndarray, cells: Cells) -> list[Claim]:
    """Folds differ more than pool sizes do, so pools are compared fold by fold."""
    means = {cell: float(errors.mean()) for cell, errors in cells.items()}
    best = min(means, key=lambda cell: means[cell])
    by_size = {m: float(np.mean([means[m, q] for q in plan.pool_sizes])) for m in plan.columns}
    by_pool = {q: np.mean([cells[m, q] for m in plan.columns], axis=0) for q in plan.pool_sizes}
    small, large = (min((by_pool[q] for q in plan.pool_sizes if (q <= 4) == few), key=np.mean, default=None)
                    for few in (True, False))  # fmt: skip
    gain = np.zeros(1) if small is None or large is None else large - small
    return [
        Claim("maxout features are far better than the frames themselves (paper: 33.1 % to 22.3 %)",
              means[best] < 0.9 * float(raw.mean()),
              f"{raw.mean():.1f} % to {means[best]:.1f} % at m = {best[0]:,}, q = {best[1]}", why=plan.caution),
        Claim("even the smallest map is better than the frames themselves",
              max(means[plan.columns[0], q] for q in plan.pool_sizes) < float(raw.mean()),
              listed(means, plan.columns[0]), why=plan.caution),
        Claim("errors fall with the number of features (means over pool sizes)",
              list(by_size.values()) == sorted(by_size.values(), reverse=True),
              ", ".join(f"m = {m:,}: {error:.1f} %" for m, error in by_size.items()), why=plan.caution),
        Claim("a small pool, q = 2 or 4, is best (means over numbers of features)",
              beyond_noise(float(gain.mean()), float(gain.std(ddof=1)) if len(gain) > 1 else 0.0),
              ", ".join(f"q = {q}: {errors.mean():.1f} %" for q, errors in by_pool.items())
              + f"; gained fold by fold: {gain.mean():.1f} points", why=plan.caution),
    ]  # fmt: skip


def listed(means: dict[tuple[int, int], float], m: int) -> str:
    return ", ".join(f"q = {q}: {error:.1f} %" for (size, q), error in means.items() if size == m)


def rows_of_chart(raw: np.ndarray, cells: Cells, plan: Plan) -> list[dict[str, object]]:
    def row(m: int, error: float, name: str, whose: str) -> dict[str, object]:
        return {"m": m, "phone error rate, %": error, "pool size": name, "whose": whose}

    sizes = sorted({m for m, _ in cells})
    rows = [row(m, float(errors.mean()), f"q = {q}", "ours") for (m, q), errors in cells.items()]
    rows += [row(m, float(raw.mean()), "frames", "ours") for m in (sizes[0], sizes[-1])]
    if plan.name != MADE_UP:
        rows += [row(m, error, f"q = {q}", "printed") for m, of in PRINTED.items() for q, (error, _) in of.items()]
        rows += [row(m, RAW[0], "frames", "printed") for m in (min(PRINTED), max(PRINTED))]
    return rows


EXPERIMENT = Experiment(
    "maxout-phones", "random_maxout_features", "Table 2: phone recognition by number of features and pool size", run
)
