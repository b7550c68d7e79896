"""Table 2: phone error rate by number of maxout features and pool size, against the frames themselves."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from bochner import RandomMaxout

from ...findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .plan import Plan, plan_of
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
    raw = np.array([linear(task).phone_error for task in plan.tasks])
    job.say(f"frames themselves: {raw.mean():.1f} %")
    cells: Cells = {}
    for m in plan.columns:
        for q in plan.pool_sizes:
            cells[m, q] = errors_of(plan, m, q)
            job.say(f"m = {m}, q = {q}: {cells[m, q].mean():.1f} %")
    return Findings(
        settings=plan.settings(),
        comparisons=comparisons(plan, raw, cells),
        claims=claims(plan, raw, cells),
        charts=[Chart("Phone error rate", rows_of_chart(raw, cells), "features", "phone error rate (%)", "q",
                      log_x=True)],
    )  # fmt: skip


def errors_of(plan: Plan, m: int, q: int) -> np.ndarray:
    return np.array([
        recognise(task, plan.softmax(RandomMaxout(m, pool_size=q, random_state=seed))).phone_error
        for task in plan.tasks
        for seed in range(plan.seeds)
    ])  # fmt: skip


def linear(task: Task) -> Recognised:
    """Multinomial logistic regression on the frames, with the better of some penalties."""
    with threadpool_limits(1):  # two threads were six times slower than one
        tried = [recognise(task, LogisticRegression(C=c, tol=1e-3, max_iter=300)) for c in PENALTIES]
    return min(tried, key=lambda found: found.development_error)


def comparisons(plan: Plan, raw: np.ndarray, cells: Cells) -> list[Comparison]:
    found = [comparison("frames themselves", RAW, raw, plan)]
    for (m, q), errors in cells.items():
        found.append(comparison(f"m = {m:,}, q = {q}", PRINTED.get(m, {}).get(q), errors, plan))
    return found


def comparison(what: str, printed: tuple[float, float] | None, errors: np.ndarray, plan: Plan) -> Comparison:
    """Beside the printed number, if it is one of the same speech."""
    known = printed if plan.is_timit and printed else (None, None)
    spread = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    tolerance = 3 * float(np.hypot(known[1] or 0.0, spread))
    return Comparison(what, known[0], float(errors.mean()), printed_spread=known[1], spread=spread,
                      tolerance=tolerance, why=plan.caution)  # fmt: skip


def claims(plan: Plan, raw: np.ndarray, cells: Cells) -> list[Claim]:
    means = {cell: float(errors.mean()) for cell, errors in cells.items()}
    best = min(means, key=lambda cell: means[cell])
    by_size = {m: float(np.mean([means[m, q] for q in plan.pool_sizes])) for m in plan.columns}
    by_pool = {q: float(np.mean([means[m, q] for m in plan.columns])) for q in plan.pool_sizes}
    return [
        Claim("maxout features are far better than the frames themselves (paper: 33.1 % to 22.3 %)",
              means[best] < 0.9 * float(raw.mean()),
              f"{raw.mean():.1f} % to {means[best]:.1f} % at m = {best[0]:,}, q = {best[1]}"),
        Claim("even the smallest map is better than the frames themselves",
              max(means[plan.columns[0], q] for q in plan.pool_sizes) < float(raw.mean()),
              listed(means, plan.columns[0])),
        Claim("errors fall with the number of features (means over pool sizes)",
              list(by_size.values()) == sorted(by_size.values(), reverse=True),
              ", ".join(f"m = {m:,}: {error:.1f} %" for m, error in by_size.items())),
        Claim("a small pool, q = 2 or 4, is best (means over numbers of features)",
              min(by_pool, key=lambda q: by_pool[q]) in (2, 4),
              ", ".join(f"q = {q}: {error:.1f} %" for q, error in by_pool.items())),
    ]  # fmt: skip


def listed(means: dict[tuple[int, int], float], m: int) -> str:
    return ", ".join(f"q = {q}: {error:.1f} %" for (size, q), error in means.items() if size == m)


def rows_of_chart(raw: np.ndarray, cells: Cells) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"features": m, "phone error rate (%)": float(errors.mean()), "q": f"q = {q}"}
        for (m, q), errors in cells.items()
    ]
    sizes = sorted({m for m, _ in cells})
    rows += [{"features": m, "phone error rate (%)": float(raw.mean()), "q": "frames"} for m in (sizes[0], sizes[-1])]
    return rows


EXPERIMENT = Experiment(
    "maxout-phones", "random_maxout_features", "Table 2: phone recognition by number of features and pool size", run
)
