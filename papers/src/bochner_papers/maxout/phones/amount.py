"""How much of the gap to the paper is the amount of speech: errors with a quarter, half and all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner import RandomMaxout

from ...findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .plan import Plan, plan_of
from .recognition import Task, recognise
from .table_two import linear

PARTS, FEATURES, POOL_SIZE, FOLDS = (0.25, 0.5, 1.0), 2500, 4, 2


def run(job: Job) -> Findings:
    plan = plan_of(job)
    features = plan.columns[-1] if job.quick else FEATURES
    found = {}
    for part in PARTS:
        found[part] = job.part(f"{part:g} of the speech", errors_of, plan, part, features)
        job.say(f"{part:g}: frames {np.mean(found[part][0]):.1f} %, maxout {np.mean(found[part][1]):.1f} %")
    gains = [float(np.mean(raw) - np.mean(mapped)) for raw, mapped in found.values()]
    mapped = [float(np.mean(errors)) for _, errors in found.values()]
    told = ", ".join(
        f"{part:.0%}: {np.mean(raw):.1f} % by frames, {np.mean(made):.1f} % by maxout"
        for part, (raw, made) in found.items()
    )
    return Findings(
        settings={**plan.settings(), "m": features, "q": POOL_SIZE, "shares of the training utterances": list(PARTS)},
        comparisons=[
            Comparison(f"{part:.0%} of the speech, {name}", None, float(np.mean(errors)))
            for part, both in found.items() for name, errors in zip(("frames", "maxout"), both, strict=True)
        ],
        claims=[
            Claim("ours: errors fall with the amount of speech", mapped == sorted(mapped, reverse=True), told, "ours"),
            Claim("ours: the gain over the frames grows with the amount of speech", gains[-1] > gains[0],
                  f"points gained: {', '.join(f'{gain:.1f}' for gain in gains)}", "ours"),
        ],
        charts=[Chart("Phone error rate by amount of speech", [
            {"share of the speech": part, "phone error rate, %": float(np.mean(errors)), "method": name}
            for part, both in found.items() for name, errors in zip(("frames", "maxout"), both, strict=True)
        ], "share of the speech", "phone error rate, %", "method", "line", True)],
    )  # fmt: skip


def errors_of(plan: Plan, part: float, features: int) -> tuple[list[float], list[float]]:
    """Of the frames and of their features, for each fold."""
    tasks = [thinned(task, part) for task in plan.tasks[:FOLDS]]
    raw = [linear(task).phone_error for task in tasks]
    basis = RandomMaxout(features, pool_size=POOL_SIZE, random_state=0)
    return raw, [recognise(task, plan.softmax(basis)).phone_error for task in tasks]


def thinned(task: Task, part: float) -> Task:
    """Every so many-th training utterance; development, test and grammar stay."""
    return replace(task, train=task.train[:: round(1 / part)])


EXPERIMENT = Experiment(
    "maxout-phones-speech", "random_maxout_features", "Table 2: how much the amount of speech matters", run
)
