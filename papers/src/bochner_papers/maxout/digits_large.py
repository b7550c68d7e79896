"""Beyond Table 1: 20,000 features on MNIST and Fashion-MNIST, with floats and with 8-bit integers.

All is chosen with 6,000 features, as integers, by the error on held-out training rows: the basis, the penalty, and how
far to smooth the pictures. Smoothing x by a symmetric S is drawing the weights of <w, x> smooth, since <w, S x> =
<S w, x>: white noise hardly sees that neighbouring pixels belong to one stroke. Pictures as they are run beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.datasets import load_digits

from bochner import RandomFeatureClassifier, RandomFourier, RandomMaxout, config_context, data
from bochner.moments import Centered, Moments
from bochner.solvers import solve_several

from ..findings import Cause, Claim, Comparison, Experiment, Findings, Job
from ..plain import AS_IN_PAPERS
from .prefixes import Linear

WIDTHS = (0.0, 0.5, 1.0, 1.5)  # of the smoothing Gaussian, in pixels
SHARES = (1e-3, 3e-3, 1e-2, 3e-2)  # penalties to try, over the mean of diag(Z'Z)


UNSMOOTHED = Cause(
    "white noise hardly sees that neighbouring pixels belong to one stroke",
    "the same features of smoothed pictures reach the target, as integers and as floats alike", "maxout-digits-large",
)  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """An error to reach, and the bases to choose from for given pictures."""

    name: str
    load: Callable[[], data.Split]
    target: float
    bases: Callable[[np.ndarray], dict[str, Any]]


@dataclass(frozen=True)
class Choice:
    """A model (`share` is its penalty over the mean of diag(Z'Z)), and its error on held-out rows."""

    name: str
    width: float
    basis: Any
    share: float
    error: float

    @property
    def pictures(self) -> str:
        return f"smoothed by {self.width:g} pixels" if self.width else "as they are"


def smoothed(X: np.ndarray, width: float) -> np.ndarray:
    """Square pictures under a Gaussian of that width, still 8-bit."""
    side = int(np.sqrt(X.shape[1]))
    pictures = X.reshape(-1, side, side).astype(np.float32)
    return np.rint(gaussian_filter(pictures, (0, width, width))).astype(np.uint8).reshape(X.shape)


def fourier(X: np.ndarray, factors: tuple[float, ...] = (0.7, 1.0)) -> dict[str, Any]:
    """Bandwidths at and below the median distance between rows."""
    median = RandomFourier(2, random_state=0).fit(X[:5000].astype(np.float32)).bandwidth_
    return {
        f"Fourier, {factor:g} of the median": RandomFourier(bandwidth=factor * median, random_state=0)
        for factor in factors
    }


def maxout(X: np.ndarray, pool_sizes: tuple[int, ...] = (4, 8)) -> dict[str, Any]:
    return {f"maxout, q = {q}": RandomMaxout(pool_size=q, random_state=0) for q in pool_sizes}


GOALS = (
    Goal("MNIST, Fourier", data.mnist, 1.75, fourier),
    Goal("MNIST, centred maxout", data.mnist, 1.95, maxout),
    Goal("Fashion-MNIST, Fourier", data.fashion_mnist, 10.7, fourier),
)


def small_digits() -> data.Split:
    X, y = load_digits(return_X_y=True)
    return data.Split(X[:1400].astype(np.uint8), y[:1400], X[1400:].astype(np.uint8), y[1400:])


QUICK_GOALS = (Goal("digits, Fourier", small_digits, 6.0, fourier), Goal("digits, maxout", small_digits, 6.0, maxout))


def run(job: Job) -> Findings:
    features, scouts, held_out = (500, 200, 300) if job.quick else (20_000, 6_000, 10_000)
    findings = Findings(
        settings={"features": features, "features to choose by": scouts, "rows held out to choose by": held_out}
    )
    for goal in QUICK_GOALS if job.quick else GOALS:
        split = goal.load()
        choices = list(scouted(goal, split, scouts, held_out, job))
        best = min(choices, key=lambda choice: choice.error)
        plain = min((choice for choice in choices if not choice.width), key=lambda choice: choice.error)
        for choice, precision in dict.fromkeys([(best, "int8"), (best, "float32"), (plain, "int8")]):
            error, seconds = fit_and_judge(split, choice, features, precision)
            what = f"{goal.name}, {choice.pictures}, {precision}"
            told = f"{error:.2f} % by {choice.name}, {seconds:.0f} s"
            job.say(f"{what}: {told}")
            findings.comparisons.append(Comparison(what, None, error))
            findings.claims.append(
                Claim(f"{what}: at most {goal.target:g} %", error <= goal.target, told, "ours", UNSMOOTHED)
            )
    return findings


def scouted(goal: Goal, split: data.Split, features: int, held_out: int, job: Job) -> Iterator[Choice]:
    """Every basis, width and penalty, judged on the last training rows by models of the others."""
    codes = np.where(split.y[:, None] == np.unique(split.y), 1, -1).astype(np.int8)
    rest, out = slice(None, -held_out), slice(-held_out, None)
    for width in WIDTHS:
        X = smoothed(split.X, width)
        for name, basis in goal.bases(X).items():
            Z = clone(basis).set_params(n_components=features, precision="int8").fit(X).features(X)
            problem = Moments.of(Z[rest], codes[rest]).centered()
            errors = [model.error(Z[out], split.y[out]) for model in ridge(problem, SHARES)]
            job.say(f"{name}, width {width:g}: held-out errors " + ", ".join(f"{error:.2f}" for error in errors))
            yield from (Choice(name, width, basis, *judged) for judged in zip(SHARES, errors, strict=True))


def ridge(problem: Centered, shares: tuple[float, ...]) -> Iterator[Linear]:
    diagonal = float(np.trace(problem.gram)) / len(problem.gram)
    for b in solve_several(problem.gram, problem.cross, [share * diagonal for share in shares]):
        if b is None:
            raise ValueError("Z'Z is not positive definite at one of the penalties.")
        yield Linear(np.asarray(b), problem.mean_y - problem.mean_z @ b)


def fit_and_judge(split: data.Split, choice: Choice, features: int, precision: str) -> tuple[float, float]:
    """Per cent of wrong test labels, and the seconds that the fit took."""
    X = smoothed(split.X, choice.width)
    basis = clone(choice.basis).set_params(n_components=features)
    # The penalty is a share of the mean of diag(Z'Z), which some rows tell well enough for both precisions.
    sample = clone(basis).fit_transform(X[:2000].astype(np.float32))
    alpha = choice.share * len(X) * float(np.mean(np.var(sample, axis=0)))
    model = RandomFeatureClassifier(basis, alpha=alpha, solver="cholesky", precision=precision, **AS_IN_PAPERS)
    begun = time.perf_counter()
    with config_context(memory="8GB"):
        model.fit(X, split.y)
        seconds = time.perf_counter() - begun
        return 100.0 * (1.0 - model.score(smoothed(split.X_test, choice.width), split.y_test)), seconds


EXPERIMENT = Experiment(
    "maxout-digits-large", "random_maxout_features", "Beyond Table 1: 20,000 features, integers and floats", run,
    ("mnist", "fashion_mnist"),
)  # fmt: skip
