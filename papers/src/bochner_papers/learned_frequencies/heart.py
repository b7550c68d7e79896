"""Figure 1: quasi-Newton, gradient descent and stochastic gradient descent on SAheart, from 48 starts each."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from bochner import data

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .descents import DESCENTS, GAIN, PATIENCE, STEP
from .network import FourierNetwork
from .small_data import halves, tumours

STARTS, SIZES, PASSES = 48, (8, 64), 300
PRINTED = {  # seconds and their spread, m = 64
    "quasi-Newton": (176.0, 4.0), "gradient descent": (53.3, 0.7), "stochastic gradient descent": (27.0, 8.0),
}  # fmt: skip


class Tally(NamedTuple):
    """One row a start: objective, training error, test error, passes, seconds."""

    objective: np.ndarray
    training: np.ndarray
    test: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray


def run(job: Job) -> Findings:
    starts, sizes, passes = (3, (2, 4), 30) if job.quick else (STARTS, SIZES, PASSES)
    split = halves(*(tumours() if job.quick else data.heart_disease()), seed=0)
    tallies = {}
    for size in sizes:
        for name in DESCENTS:
            tally = tallies[name, size] = tallied(name, size, split, starts, passes)
            job.say(
                f"m = {size}, {name}: training error {tally.training.mean():.1f} %, test error {tally.test.mean():.1f} "
                f"%, {tally.seconds.mean():.2f} s"
            )
    largest = {name: tallies[name, sizes[-1]] for name in DESCENTS}
    return Findings(
        settings={
            "rows": len(split.y), "test rows": len(split.y_test), "columns": split.X.shape[1], "starts": starts,
            "frequencies": list(sizes), "penalties": 0, "step": STEP, "passes at most": passes,
            "time": "of the processor, so that other work does not count",
            "end": f"mean squared error below 0.01, or less than {GAIN:.0%} gained in {PATIENCE} passes",
        },
        comparisons=[seconds_compared(name, tally, sizes[-1]) for name, tally in largest.items()]
        + [c for (name, size), tally in tallies.items() for c in errors_compared(name, size, tally)],
        claims=claims(largest),
        charts=[
            Chart(f"{title}, {starts} starts", rows(tallies, field, unit), "frequencies", unit, "optimizer", "point")
            for title, field, unit in (
                ("Training error", "training", "training error, %"), ("Test error", "test", "test error, %"),
                ("Time", "seconds", "seconds"),
            )
        ],
        remarks=["The paper says neither when its optimisers end nor on which machine: the order of times matters."],
    )  # fmt: skip


def tallied(name: str, size: int, split: data.Split, starts: int, passes: int) -> Tally:
    network, found = FourierNetwork(size, split.X.shape[1]), []
    for seed in range(starts):
        start = network.random_start(np.random.default_rng(seed))
        begun = time.process_time()
        descent = DESCENTS[name](network, start, split.X, split.y, passes)
        seconds = time.process_time() - begun
        found.append((
            network.objective(descent.vector, split.X, split.y)[0], network.error(descent.vector, split.X, split.y),
            network.error(descent.vector, split.X_test, split.y_test), len(descent.values), seconds,
        ))  # fmt: skip
    return Tally(*np.array(found, dtype=float).T)


def seconds_compared(name: str, tally: Tally, size: int) -> Comparison:
    printed, spread = PRINTED[name] if size == 64 else (None, None)
    return Comparison(
        f"time, m = {size}, {name}", printed, float(tally.seconds.mean()), "s", spread, float(tally.seconds.std()),
        why="another machine and another end of the descent",
    )  # fmt: skip


def errors_compared(name: str, size: int, tally: Tally) -> list[Comparison]:
    where = f"m = {size}, {name}"
    return [
        Comparison(f"training error, {where}", None, float(tally.training.mean()), spread=float(tally.training.std())),
        Comparison(f"test error, {where}", None, float(tally.test.mean()), spread=float(tally.test.std())),
        Comparison(f"mean squared error reached, {where}", None, float(tally.objective.mean()), "",
                   spread=float(tally.objective.std())),
    ]  # fmt: skip


def claims(tallies: dict[str, Tally]) -> list[Claim]:
    newton, descent, stochastic = tallies.values()
    times = ", ".join(f"{name} {tally.seconds.mean():.2f} s" for name, tally in tallies.items())
    passes = ", ".join(f"{name} {tally.passes.mean():.0f}" for name, tally in tallies.items())
    spreads = ", ".join(f"{name} {tally.training.std():.2f}" for name, tally in tallies.items())
    tests = ", ".join(f"{name} {tally.test.mean():.1f} +- {tally.test.std():.1f} %" for name, tally in tallies.items())
    return [
        Claim(
            "gradient descent is much faster than quasi-Newton",
            bool(descent.seconds.mean() < 0.5 * newton.seconds.mean()),
            f"{times}; passes: {passes}; mean squared error reached: {descent.objective.mean():.3f} and "
            f"{newton.objective.mean():.3f}",
        ),
        Claim(
            "stochastic gradient descent is the fastest",
            bool(stochastic.seconds.mean() < min(newton.seconds.mean(), descent.seconds.mean())),
            times,
        ),
        Claim(
            "the training error spreads most with stochastic gradient descent",
            bool(stochastic.training.std() > max(newton.training.std(), descent.training.std())),
            f"standard deviations over starts, points: {spreads}",
        ),
        Claim(
            "which does not hurt the test error",
            bool(stochastic.test.mean() < min(newton.test.mean(), descent.test.mean()) + stochastic.test.std()),
            tests,
        ),
    ]


def rows(tallies: dict[tuple[str, int], Tally], field: str, unit: str) -> list[dict[str, object]]:
    return [
        {"frequencies": size, unit: round(float(value), 4), "optimizer": name}
        for (name, size), tally in tallies.items() for value in getattr(tally, field)
    ]  # fmt: skip


EXPERIMENT = Experiment(
    "learned-heart", "kernel_learning_random_fourier", "Figure 1: optimisers on SAheart", run, ("saheart",)
)
