"""Section 4.2: Adult with learned and with random frequencies."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from bochner import LearnedFourierClassifier, RandomFeatureClassifier, RandomFourier, data

from ..findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job, beyond_noise
from ..plain import AS_IN_PAPERS
from .census import FREQUENCIES, census, error, papers_network

PRINTED_LEARNED, PRINTED_RANDOM = 15.5, 14.7
FEW, MANY, MOST = 10, 100, 1000  # features; the paper's 500 random frequencies at most are 1000
SEEDS, CHOOSING_ROWS = 10, 8_000
BANDWIDTH = 0.5**-0.5  # of frequencies with the variance 0.5 that the paper chose

LOCAL = Cause(
    "with standardised columns a variance of 0.5 is too local a kernel",
    "the same features with the median distance as bandwidth agree", "learned-adult",
)  # fmt: skip

Maker = Callable[[int], Any]


class Result(NamedTuple):
    """Test errors over seeds, and the mean seconds of a fit."""

    errors: np.ndarray
    seconds: float


def run(job: Job) -> Findings:
    split, seeds = census(job.quick), 2 if job.quick else SEEDS
    few, many, most = (4, 10, 40) if job.quick else (FEW, MANY, MOST)
    results = {}
    for name, maker in makers(split, few, many, most, 5 if job.quick else FREQUENCIES).items():
        errors, seconds = job.part(name, measured, maker, split, seeds)
        found = results[name] = Result(np.array(errors), seconds)
        job.say(f"{name}: test error {found.errors.mean():.2f} %, {found.seconds:.1f} s")
    learned_error, random_error = (None, None) if job.quick else (PRINTED_LEARNED, PRINTED_RANDOM)
    return Findings(
        settings={
            "rows": len(split.y), "test rows": len(split.y_test), "columns": split.X.shape[1], "seeds": seeds,
            "penalties": f"chosen on {CHOOSING_ROWS:,} rows for the first seed; none for the paper's network",
            "seconds of a fit": {name: round(found.seconds, 1) for name, found in results.items()},
        },
        comparisons=[
            compared("the paper's network", results, learned_error, 0.5, "its best of 120 settings, ours is one"),
            compared(f"{many} learned", results, learned_error, 0.3,
                     "second-order steps reach what its stochastic ones did not"),
            compared(f"{few} learned", results, learned_error, 0.3, "the same, with a twentieth of its features"),
            compared(f"{most} random, variance 0.5", results, random_error, 0.3, LOCAL),
            *(compared(f"{m} random", results, random_error if m == most else None, 0.3,
                       "the bandwidth is the median of distances") for m in (few, many, most)),
        ],
        claims=claims(results, few, many, most),
        charts=[Chart("Test error over seeds", rows(results, learned_error, random_error), "test error, %", "model",
                      "method", "point", style="whose")],
    )  # fmt: skip


def makers(split: data.Split, few: int, many: int, most: int, frequencies: int) -> dict[str, Maker]:
    """Models by name, each for a seed."""
    found: dict[str, Maker] = {"the paper's network": lambda seed: papers_network(frequencies, seed)}
    for m in (few, many):
        found[f"{m} learned"] = learned(split, m)
    for m in (few, many, most):
        found[f"{m} random"] = partial(random, m, "median")
    found[f"{most} random, variance 0.5"] = partial(random, most, BANDWIDTH)
    return found


def random(features: int, bandwidth: Any, seed: int) -> RandomFeatureClassifier:
    return RandomFeatureClassifier(RandomFourier(features, bandwidth=bandwidth), random_state=seed, **AS_IN_PAPERS)


def learned(split: data.Split, features: int) -> Maker:
    """Second-order steps, with penalties that some of the rows choose once."""
    model = LearnedFourierClassifier(features, alpha="auto", frequency_alpha="auto", max_iter=50, random_state=0)
    model.fit(split.X[:CHOOSING_ROWS], split.y[:CHOOSING_ROWS])
    model.set_params(alpha=model.alpha_, frequency_alpha=model.frequency_alpha_)
    return lambda seed: clone(model).set_params(random_state=seed)


def measured(maker: Maker, split: data.Split, seeds: int) -> tuple[list[float], float]:
    """Errors over seeds, and the mean seconds of a fit."""
    errors, begun, predicting = [], time.perf_counter(), 0.0
    for seed in range(seeds):
        model = maker(seed).fit(split.X, split.y)
        before = time.perf_counter()
        errors.append(error(model, split))
        predicting += time.perf_counter() - before
    return errors, (time.perf_counter() - begun - predicting) / seeds


def compared(
    name: str, results: dict[str, Result], printed: float | None, tolerance: float, why: str | Cause
) -> Comparison:
    errors = results[name].errors
    return Comparison(
        f"test error, {name}", printed, float(errors.mean()), spread=float(errors.std(ddof=1)), tolerance=tolerance,
        why=why,
    )  # fmt: skip


def claims(results: dict[str, Result], few: int, many: int, most: int) -> list[Claim]:
    def told(*names: str) -> str:
        return "; ".join(
            f"{name}: {results[name].errors.mean():.2f} +- {results[name].errors.std(ddof=1):.2f} % in "
            f"{results[name].seconds:.1f} s" for name in names
        )  # fmt: skip

    network, drawn = results["the paper's network"], results[f"{most} random"]
    same = results[f"{many} learned"], results[f"{many} random"]
    return [
        Claim(
            "learned and random frequencies give similar accuracy, random ones slightly better",
            bool(0 <= network.errors.mean() - drawn.errors.mean() < 1.5),
            told("the paper's network", f"{most} random"),
        ),
        Claim(
            "learned frequencies have the lower variance",
            beyond_noise(same[1].errors.std(ddof=1) - same[0].errors.std(ddof=1), noise_of_deviations(*same)),
            told(f"{many} learned", f"{many} random"),
        ),
        Claim(
            "random frequencies are much faster",
            bool(10 * same[1].seconds < same[0].seconds),
            told(f"{many} learned", f"{many} random", "the paper's network", f"{most} random"),
        ),
        Claim(
            f"ours: {few} learned features do better than {many} random ones",
            bool(results[f"{few} learned"].errors.max() < results[f"{many} random"].errors.min()),
            told(f"{few} learned", f"{many} random"),
            "ours",
        ),
    ]


def noise_of_deviations(*found: Result) -> float:
    """A standard deviation over n seeds is known to one part in sqrt(2 (n - 1))."""
    return float(np.hypot(*(f.errors.std(ddof=1) / np.sqrt(2 * (len(f.errors) - 1)) for f in found)))


def rows(results: dict[str, Result], learned: float | None, random: float | None) -> list[dict[str, object]]:
    def row(name: str, error: float, whose: str) -> dict[str, object]:
        method = next((word for word in ("learned", "random") if word in name), "network")
        return {"model": name, "test error, %": error, "method": method, "whose": whose}

    found = [row(name, float(error), "ours") for name, made in results.items() for error in made.errors]
    printed = {"the paper's network": learned, f"{MOST} random, variance 0.5": random}
    return found + [row(name, value, "printed") for name, value in printed.items() if value]


EXPERIMENT = Experiment(
    "learned-adult", "kernel_learning_random_fourier", "Adult: learned against random frequencies", run, ("adult",)
)
