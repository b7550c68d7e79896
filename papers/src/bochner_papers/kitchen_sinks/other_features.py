"""The remarks of section 4: other features, the hinge loss, and features fitted jointly by conjugate gradients."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner import RandomFourier, RandomRidge, RandomStumps, data
from bochner.data import Split

from ..findings import Cause, Claim, Experiment, Findings, Job
from .jointly_fitted import JointlyFitted
from .racing import Point, best, boosted_stumps, breast_cancer, charts, error, random_features, soonest

COUNTS, BOOSTED = (25, 50, 100, 250, 500, 1000, 2000), (1, 5, 10, 25, 50, 100)
JOINT, ITERATIONS, HINGED = (5, 20, 50), 200, 500
NEAR = 0.5  # points of error
LOSSES = ("squared", "hinge", "squared_hinge")


def run(job: Job) -> Findings:
    split = breast_cancer() if job.quick else data.adult().standardized()
    counts, boosted, joint = ((10, 50, 200), (1, 10, 30), (2, 5)) if job.quick else (COUNTS, BOOSTED, JOINT)
    iterations, hinged = (10, 50) if job.quick else (ITERATIONS, HINGED)
    bases = families(split.X.shape[1])
    runs: dict[str, Sequence[Point]] = {"AdaBoost": boosted_stumps(split, boosted)}
    for name, basis in bases.items():
        job.say(name)
        runs[name] = random_features(split, basis, counts)
    job.say("conjugate gradients on all parameters")
    runs["cosines fitted jointly"] = jointly_fitted(split, joint, iterations)
    job.say("hinge loss")
    losses = {loss: random_features(split, bases["random stumps"], [hinged], loss=loss)[0] for loss in LOSSES}
    return Findings(
        settings={
            "data": "breast cancer" if job.quick else "adult, standardised", "K": list(counts),
            "K of AdaBoost": list(boosted), "K fitted jointly": list(joint), "iterations": iterations,
            "Fourier": "Gaussian kernel, bandwidth the median distance",
            "sigmoid": "weights of deviation 1/sqrt(columns)",
        },
        claims=[
            *(beside_boosting(name, runs[name], runs["AdaBoost"]) for name in ("Fourier", "sigmoid")),
            *about_hinge(losses["squared"], losses["hinge"], losses["squared_hinge"]),
            beside_joint(runs["Fourier"], runs["cosines fitted jointly"]),
        ],
        charts=charts("Other features", runs),
    )  # fmt: skip


def families(columns: int) -> dict[str, Any]:
    """The features of the paper's remarks, beside its stumps."""
    return {
        "random stumps": RandomStumps(thresholds="normal", precision="int8", random_state=0),
        "Fourier": RandomFourier(precision="int8", random_state=0),
        "sigmoid": RandomRidge(scale=float(columns**-0.5), precision="int8", random_state=0),
    }


def jointly_fitted(split: Split, counts: Sequence[int], iterations: int) -> list[Point]:
    """Equation 2 for each K, from the frequencies that random features would keep."""
    points = []
    scale = 1.0 / float(np.sqrt(2.0 * split.X.shape[1]))  # about the median distance of standardised rows
    for count in counts:
        begun = time.perf_counter()
        model = JointlyFitted(count, scale=scale, iterations=iterations).fit(split.X, split.y)
        predicted = model.predict(split.X_test)
        points.append(Point(count, error(predicted, split.y_test), time.perf_counter() - begun))
    return points


def beside_boosting(name: str, ours: Sequence[Point], theirs: Sequence[Point]) -> Claim:
    peer, mine = best(theirs), soonest(ours, best(theirs).error + NEAR)
    reached = f"the best is {best(ours).error:.2f} %" if mine is None else told(mine)
    return Claim(
        f"{name} features give similar results as stumps: within {NEAR} points of AdaBoost, an order faster",
        mine is not None and mine.seconds <= peer.seconds / 10,
        f"AdaBoost {told(peer)}; ours {reached}",
    )


def about_hinge(squared: Point, hinge: Point, smooth: Point) -> list[Claim]:
    ratio = hinge.seconds / squared.seconds
    return [
        Claim(
            "no substantial difference in quality under the hinge loss", abs(hinge.error - squared.error) <= NEAR,
            f"quadratic {told(squared)}; hinge {told(hinge)}",
        ),
        Claim(
            "the hinge loss is slower by a factor of 2 to 10", 2.0 <= ratio <= 10.0,
            f"{ratio:.1f} times, by the method of multipliers with a certified gap, penalty chosen in both; "
            f"{smooth.seconds / squared.seconds:.1f} times by Newton's method on the squared hinge loss "
            f"({smooth.error:.2f} %)",
            why=Cause("the kink: multipliers solve a problem for each step to a certified gap, where least squares is "
                      "solved once", "the squared hinge loss, which has no kink, was run beside it",
                      "kitchen-sinks-other-features"),
        ),
    ]  # fmt: skip


def beside_joint(ours: Sequence[Point], joint: Sequence[Point]) -> Claim:
    """Equally accurate with many more features in much less time."""
    peer = best(joint)
    mine = soonest(ours, peer.error + NEAR)
    reached = f"the best is {told(best(ours))}" if mine is None else told(mine)
    return Claim(
        "random features are as accurate as jointly fitted ones with many more of them, in much less time",
        mine is not None and mine.terms > 3 * peer.terms and mine.seconds < peer.seconds / 3,
        f"fitted jointly {told(peer)}; random {reached}",
    )


def told(point: Point) -> str:
    return f"{point.error:.2f} % in {point.seconds:.2f} s (K = {point.terms})"


EXPERIMENT = Experiment(
    "kitchen-sinks-other-features", "weighted_sums_of_random_kitchen_sinks",
    "Section 4: Fourier and sigmoid features, hinge loss, joint fitting", run, ("adult",),
)  # fmt: skip
