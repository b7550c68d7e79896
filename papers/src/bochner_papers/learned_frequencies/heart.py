"""Figure 1: five optimisers on SAheart from 48 starts each, timed to the same objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner import data

from ..findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job
from .descents import DESCENTS, STEP, Watch, descend
from .network import FourierNetwork
from .small_data import halves, tumours

STARTS, SIZES, ALLOWED = 48, (8, 64), 2.0
LEVELS = (0.2, 0.15, 0.1, 0.05, 0.02)
COMPARED = 0.1  # the objective at which errors, and the times beside the printed ones, are taken
PRINTED = {  # seconds and their spread, m = 64
    "quasi-Newton": (176.0, 4.0), "gradient descent": (53.3, 0.7), "stochastic gradient descent": (27.0, 8.0),
}  # fmt: skip
PACKAGED = ("quasi-Newton", "trust region", "Nelder-Mead")
ENDS = Cause(
    "the paper does not say where its optimisers stopped; to the same objective the order is another",
    "each was run to the same five objectives", "learned-heart",
)  # fmt: skip

Run = dict[str, Any]  # of one start: seconds to each level that is reached, and what was wrong there
Runs = dict[tuple[str, int], list[Run]]


def run(job: Job) -> Findings:
    starts, sizes, allowed = (3, (2, 4), 0.1) if job.quick else (STARTS, SIZES, ALLOWED)
    split = halves(*(tumours() if job.quick else data.heart_disease()), seed=0)
    runs: Runs = {}
    for size in sizes:
        for name in DESCENTS:
            runs[name, size] = job.part(f"{name}, {size}", runs_of, name, size, split, starts, allowed)
            job.say(f"m = {size}, {name}: {told(runs[name, size])}")
    last = {name: runs[name, sizes[-1]] for name in DESCENTS}
    return Findings(
        settings={
            "rows": len(split.y), "test rows": len(split.y_test), "columns": split.X.shape[1], "starts": starts,
            "m, numbers of frequencies": list(sizes), "penalties": 0, "step": STEP,
            "time": "of the processor, so that other work does not count",
            "end": f"mean squared error below {LEVELS[-1]:g}, or {allowed:g} seconds",
        },
        comparisons=[] if job.quick else [seconds_compared(name, last[name]) for name in PRINTED],
        claims=claims(last),
        charts=[
            Chart(f"Seconds to a mean squared error, m = {sizes[-1]}", by_level(last), "mean squared error", "seconds",
                  "optimiser", "line", True, True),
            Chart(f"Seconds to a mean squared error of {COMPARED:g}", by_size(runs, "seconds"), "m", "seconds",
                  "optimiser", "line", True, True),
            Chart(f"Training error there, {starts} starts", errors(runs, "training error, %", 1), "m",
                  "training error, %", "optimiser", "point", True),
            Chart(f"Test error there, {starts} starts", errors(runs, "test error, %", 2), "m", "test error, %",
                  "optimiser", "point", True),
        ],
        remarks=[
            "The paper names m = 64 alone and says neither when its optimisers end nor on which machine. A start that "
            "does not reach an objective within the time counts as slower than all that do.",
        ],
    )  # fmt: skip


def runs_of(name: str, size: int, split: data.Split, starts: int, allowed: float) -> list[Run]:
    network, found = FourierNetwork(size, split.X.shape[1]), []
    for seed in range(starts):
        start = network.random_start(np.random.default_rng(seed))
        watch = descend(name, Watch(network, split.X, split.y, LEVELS, allowed), start)
        found.append({
            f"{level:g}": (
                seconds, network.error(vector, split.X, split.y), network.error(vector, split.X_test, split.y_test)
            )
            for level, (seconds, vector) in zip(LEVELS, watch.reached, strict=False)
        })  # fmt: skip
    return found


def at(runs: list[Run], level: float, what: int) -> np.ndarray:
    """Seconds (0), training errors (1) or test errors (2) of the starts that reached a level."""
    return np.array([run[f"{level:g}"][what] for run in runs if f"{level:g}" in run])


def median_seconds(runs: list[Run], level: float) -> float:
    """Over all starts; infinite if half of them do not get there."""
    seconds = at(runs, level, 0)
    return float(np.median(np.append(seconds, np.full(len(runs) - len(seconds), np.inf))))


def told(runs: list[Run]) -> str:
    return ", ".join(
        f"{level:g} by {len(at(runs, level, 0))} in {median_seconds(runs, level):.2g} s" for level in LEVELS
    )


def seconds_compared(name: str, runs: list[Run]) -> Comparison:
    seconds, (printed, spread) = at(runs, COMPARED, 0), PRINTED[name]
    return Comparison(
        f"seconds, m = 64, {name}, to a mean squared error of {COMPARED:g}", printed, float(seconds.mean()), "s",
        spread, float(seconds.std()), kind="timing", why="a machine of another time, and the paper's end is unknown",
    )  # fmt: skip


def claims(last: dict[str, list[Run]]) -> list[Claim]:
    stochastic = last["stochastic gradient descent"]
    fastest = {level: min(last, key=lambda name: median_seconds(last[name], level)) for level in LEVELS}
    reached = [level for level in LEVELS if np.isfinite(median_seconds(last[fastest[level]], level))]
    spreads = {name: at(runs, COMPARED, 1) for name, runs in last.items() if len(at(runs, COMPARED, 1)) > 1}
    tests = {name: at(runs, COMPARED, 2) for name, runs in last.items() if len(at(runs, COMPARED, 2)) > 1}
    return [
        *(against(name, last["gradient descent"], last[name]) for name in PACKAGED),
        Claim(
            "stochastic gradient descent is the fastest",
            bool(reached) and all(fastest[level] == "stochastic gradient descent" for level in reached),
            "; ".join(f"{name} {listed(runs, reached)}" for name, runs in last.items()), why=ENDS,
        ),
        spread_claim(spreads),
        Claim(
            "which does not hurt the test error",
            len(at(stochastic, COMPARED, 2)) > 1 and not hurt(tests),
            f"at a mean squared error of {COMPARED:g}: "
            + ", ".join(f"{name} {found.mean():.1f} ± {found.std():.1f} %" for name, found in tests.items()),
        ),
    ]  # fmt: skip


def against(name: str, descent: list[Run], packaged: list[Run]) -> Claim:
    """Over the objectives that either of them reaches."""
    seconds = {level: (median_seconds(descent, level), median_seconds(packaged, level)) for level in LEVELS}
    shared = [level for level, both in seconds.items() if np.isfinite(min(both))]
    faster = sum(seconds[level][0] < seconds[level][1] for level in shared)
    return Claim(
        f"gradient descent is faster than {name}", bool(shared) and faster == len(shared),
        f"at {faster} of {len(shared)} objectives ({', '.join(f'{level:g}' for level in shared)}), medians: gradient "
        f"descent {listed(descent, shared)}; {name} {listed(packaged, shared)}", why=ENDS,
    )  # fmt: skip


def listed(runs: list[Run], levels: list[float]) -> str:
    seconds = (median_seconds(runs, level) for level in levels)
    return ", ".join(f"{value:.2g} s" if np.isfinite(value) else "never" for value in seconds)


def spread_claim(spreads: dict[str, np.ndarray]) -> Claim:
    """A standard deviation over n starts is itself known to one part in sqrt(2 n): within that, it is undecided."""
    deviations = {name: float(found.std()) for name, found in spreads.items()}
    mine = deviations.pop("stochastic gradient descent", 0.0)
    largest = max(deviations.values(), default=0.0)
    noise = float(np.hypot(mine, largest)) / np.sqrt(2 * min(map(len, spreads.values()), default=1))
    holds = None if abs(mine - largest) <= noise else mine > largest
    told = ", ".join(f"{name} {found.std():.2f}" for name, found in spreads.items())
    return Claim(
        "the training error spreads most with stochastic gradient descent", holds,
        f"standard deviations over starts at a mean squared error of {COMPARED:g}, points: {told}",
        why=Cause("at the same objective all are as well fitted; spreads differ where descents stop at different ones",
                  "errors were taken when each first reached the same objective", "learned-heart"),
    )  # fmt: skip


def hurt(tests: dict[str, np.ndarray]) -> bool:
    mine = tests["stochastic gradient descent"]
    return bool(mine.mean() > min(found.mean() for found in tests.values()) + mine.std())


def by_level(last: dict[str, list[Run]]) -> list[dict[str, object]]:
    return [
        {"mean squared error": level, "seconds": median_seconds(runs, level), "optimiser": name}
        for name, runs in last.items() for level in LEVELS if np.isfinite(median_seconds(runs, level))
    ]  # fmt: skip


def by_size(runs: Runs, unit: str) -> list[dict[str, object]]:
    return [
        {"m": size, unit: median_seconds(found, COMPARED), "optimiser": name}
        for (name, size), found in runs.items() if np.isfinite(median_seconds(found, COMPARED))
    ]  # fmt: skip


def errors(runs: Runs, unit: str, what: int) -> list[dict[str, object]]:
    return [
        {"m": size, unit: round(float(value), 3), "optimiser": name}
        for (name, size), found in runs.items() for value in at(found, COMPARED, what)
    ]  # fmt: skip


EXPERIMENT = Experiment(
    "learned-heart", "kernel_learning_random_fourier", "Figure 1: optimisers on SAheart", run, ("saheart",)
)
