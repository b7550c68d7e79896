"""Table 3: many maxout units over a shared pool of projections, and random Fourier features, on the same phones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bochner import RandomFourier, RandomMaxout

from ...findings import Claim, Comparison, Experiment, Findings, Job
from .plan import ALPHA, Plan, plan_of
from .recognition import Recognised, Task, recognise

POOL_SIZE = 4
FACTORS = (0.5, 1.0)  # bandwidths of Fourier features, over the median distance of frames


class Row(NamedTuple):
    """A row of the table, with sizes in units of the smallest; no projections means Fourier features."""

    features: float
    projections: float | None
    printed: float


ROWS = (  # the paper's unit is 15,000
    Row(1, 1, 23.1), Row(4, 1, 22.7), Row(4, 4, 22.8), Row(400 / 15, 1, 22.4), Row(20, 20, 22.1),
    Row(400 / 15, None, 21.3),
)  # fmt: skip
SMALL = (*ROWS[:3], Row(4, None, 21.3))  # without the rows that need 300,000 features and more


def run(job: Job) -> Findings:
    plan = plan_of(job)
    unit = 15_000 if plan.is_timit else plan.columns[0]
    rows = ROWS if plan.is_timit else SMALL
    errors = {}
    for row in rows:
        errors[row] = np.array(job.part(named(row, unit), errors_of, plan, row, unit))
        job.say(f"{named(row, unit)}: {errors[row].mean():.1f} %")
    return Findings(
        settings={**plan.settings(), "pool size": POOL_SIZE},
        comparisons=[
            Comparison(named(row, unit), None if job.quick else row.printed, float(found.mean()),
                       spread=float(found.std(ddof=1)) if len(found) > 1 else None, tolerance=0.5,
                       why=plan.caution, kind=plan.kind)
            for row, found in errors.items()
        ],
        claims=claims({row: float(found.mean()) for row, found in errors.items()}, unit),
    )  # fmt: skip


def errors_of(plan: Plan, row: Row, unit: int) -> list[float]:
    found = []
    for task in plan.tasks:
        for seed in range(plan.seeds):
            found.append(recognised(plan, task, row, unit, seed).phone_error)
    return found


def recognised(plan: Plan, task: Task, row: Row, unit: int, seed: int) -> Recognised:
    """By Fourier features of the bandwidth that is best on the development speakers; maxout has none to choose."""
    features = round(row.features * unit)
    if row.projections is not None:
        pool = round(row.projections * unit)
        basis = RandomMaxout(features, pool_size=POOL_SIZE, shared_projections=pool, random_state=seed)
        return recognise(task, plan.softmax(basis))
    frames = task.train[0].rows
    median = RandomFourier(2, random_state=0).fit(frames).bandwidth_
    # Maxout features are as long as a frame, about, and Fourier features have length one: the penalty must follow.
    alpha = ALPHA / float(np.mean(np.sum(frames**2, axis=1)))
    tried = [
        recognise(task, plan.softmax(RandomFourier(features, bandwidth=factor * median, random_state=seed), alpha))
        for factor in FACTORS
    ]
    return min(tried, key=lambda one: one.development_error)


def named(row: Row, unit: int) -> str:
    features = f"{round(row.features * unit):,} features"
    if row.projections is None:
        return f"Fourier, {features}"
    return f"maxout, {features} of {round(row.projections * unit):,} shared projections"


def claims(errors: dict[Row, float], unit: int) -> list[Claim]:
    few, shared, own, *_, fourier = errors
    listed = ", ".join(f"{named(row, unit)}: {error:.1f} %" for row, error in errors.items())
    return [
        Claim("more units over the same projections lower the error", errors[shared] < errors[few], listed),
        Claim("units that share projections are about as good as units with four times as many (within a point)",
              abs(errors[shared] - errors[own]) < 1.0, listed),
        Claim("maxout features are at most two points behind Fourier features",
              min(errors[shared], errors[own]) - errors[fourier] < 2.0, listed),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    "maxout-shared", "random_maxout_features", "Table 3: phone recognition with shared projections", run
)
