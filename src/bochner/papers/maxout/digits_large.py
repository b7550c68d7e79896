"""Beyond Table 1: 20,000 features on MNIST and Fashion-MNIST, with floats and with 8-bit integers.

Basis and penalty are chosen with all of them, as integers, by the error on held-out training rows; floats are given
what the integers chose.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from bochner import RandomFeatureClassifier, RandomFourier, RandomMaxout, config_context, data
from bochner.moments import Centered, Moments
from bochner.solvers import solve_several

from ..findings import Claim, Comparison, Experiment, Findings, Job
from .prefixes import Linear

SHARES = (3e-3, 1e-2, 3e-2)  # penalties to try, over the mean of diag(Z'Z)
PRECISIONS = ("int8", "float32")


@dataclass(frozen=True)
class Goal:
    """An error to reach, and the bases to choose from."""

    name: str
    load: Callable[[], data.Split]
    target: float
    candidates: Callable[[np.ndarray], dict[str, Any]]


def fourier(X: np.ndarray, factors: tuple[float, ...] = (0.7, 0.85, 1.0)) -> dict[str, Any]:
    """Bandwidths at and below the median distance between rows."""
    median = RandomFourier(2, random_state=0).fit(X[:5000].astype(np.float32)).bandwidth_
    return {
        f"Fourier, {factor:g} of the median": RandomFourier(bandwidth=factor * median, random_state=0)
        for factor in factors
    }


def maxout(X: np.ndarray, pool_sizes: tuple[int, ...] = (3, 4, 6)) -> dict[str, Any]:
    return {f"maxout, q = {q}": RandomMaxout(pool_size=q, random_state=0) for q in pool_sizes}


def either(X: np.ndarray) -> dict[str, Any]:
    return {**fourier(X, (0.6, 0.7)), **maxout(X, (4,))}


GOALS = (
    Goal("MNIST, Fourier", data.mnist, 1.75, fourier),
    Goal("MNIST, centred maxout", data.mnist, 1.95, maxout),
    Goal("Fashion-MNIST", data.fashion_mnist, 10.7, either),
)


def small_digits() -> data.Split:
    X, y = load_digits(return_X_y=True)
    return data.Split(X[:1400].astype(np.uint8), y[:1400], X[1400:].astype(np.uint8), y[1400:])


QUICK_GOALS = (Goal("digits, Fourier", small_digits, 6.0, fourier), Goal("digits, maxout", small_digits, 6.0, maxout))


def run(job: Job) -> Findings:
    features, held_out = (500, 300) if job.quick else (20_000, 10_000)
    findings = Findings(settings={"features": features, "rows held out to choose by": held_out})
    for goal in QUICK_GOALS if job.quick else GOALS:
        split = goal.load()
        bases = {name: basis.set_params(n_components=features) for name, basis in goal.candidates(split.X).items()}
        name, alpha = choose(split, bases, held_out, job)
        for precision in PRECISIONS:
            error, seconds = fit_and_judge(split, bases[name], alpha, precision)
            told = f"{goal.name}: {error:.2f} % with {precision} by {name}, penalty {alpha:.3g}, {seconds:.0f} s"
            job.say(told)
            findings.comparisons.append(Comparison(f"{goal.name}, {precision}", None, error))
            findings.claims.append(
                Claim(f"{goal.name}: at most {goal.target:g} % with {precision}", error <= goal.target, told)
            )
    return findings


def choose(split: data.Split, bases: dict[str, Any], held_out: int, job: Job) -> tuple[str, float]:
    """The basis and penalty of smallest error on the last training rows, by models of the others."""
    codes = np.where(split.y[:, None] == np.unique(split.y), 1, -1).astype(np.int8)
    rest, out = slice(None, -held_out), slice(-held_out, None)
    found: dict[tuple[str, float], float] = {}
    for name, basis in bases.items():
        fitted = clone(basis).set_params(precision="int8").fit(split.X)
        features = fitted.features(split.X)
        problem = Moments.of(features[rest], codes[rest]).centered()
        alphas = [share * float(np.trace(problem.gram)) / len(problem.gram) for share in SHARES]
        errors = [model.error(features[out], split.y[out]) for model in models_of(problem, alphas)]
        job.say(f"{name}: held-out errors " + ", ".join(f"{error:.2f}" for error in errors))
        found |= {(name, alpha * float(fitted.scale_) ** 2): error for alpha, error in zip(alphas, errors, strict=True)}
    return min(found, key=lambda choice: found[choice])


def models_of(problem: Centered, alphas: list[float]) -> Iterator[Linear]:
    """Ridge at each penalty."""
    for b in solve_several(problem.gram, problem.cross, alphas):
        if b is None:
            raise ValueError("Z'Z is not positive definite at one of the penalties.")
        yield Linear(b, problem.mean_y - problem.mean_z @ b)


def fit_and_judge(split: data.Split, basis: Any, alpha: float, precision: str) -> tuple[float, float]:
    """Per cent of wrong test labels, and the seconds that the fit took."""
    model = RandomFeatureClassifier(basis, alpha=alpha, solver="cholesky", precision=precision)
    begun = time.perf_counter()
    with config_context(memory="8GB"):
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - begun
        return 100.0 * (1.0 - model.score(split.X_test, split.y_test)), seconds


EXPERIMENT = Experiment(
    "maxout-digits-large", "random_maxout_features", "Beyond Table 1: 20,000 features, integers and floats", run,
    ("mnist", "fashion_mnist"),
)  # fmt: skip
