"""Learning on distributions where the answer is known: the entropy of a marginal of rotated Gaussians.

A bag holds points of N(0, R S R'), R a rotation by an angle of its own and S = diag(1, 0.15); its target is the entropy
of the first coordinate, log(2 pi e v)/2 with v = (R S R')_11. It stands in where there are no aerosol bags.
"""

from __future__ import annotations

import numpy as np

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .two_stages import FREQUENCIES, Bags, DistributionRegressor, Outcome, regressed, two_stages

SHAPE = np.diag([1.0, 0.15])
BAGS, TEST_BAGS, POINTS, SEEDS = 200, 200, 200, 10
SIZES = (10, FREQUENCIES)


def rotated_gaussians(bags: int, points: int, generator: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Bags of (points, 2), and the entropies of their first coordinates."""
    angle = generator.uniform(0.0, np.pi, bags)
    cos, sin = np.cos(angle), np.sin(angle)
    rotation = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    factor = rotation @ np.sqrt(SHAPE)
    X = generator.standard_normal((bags, points, 2)) @ factor.transpose(0, 2, 1)
    return list(X), 0.5 * np.log(2 * np.pi * np.e * np.sum(factor[:, 0] ** 2, axis=1))


def plug_in(bags: list[np.ndarray]) -> np.ndarray:
    """The entropy of a Gaussian with the variance of the points: what one does who knows the family."""
    return np.array([0.5 * np.log(2 * np.pi * np.e * np.var(bag[:, 0])) for bag in bags])


def run(job: Job) -> Findings:
    bags, test_bags, points, seeds = (60, 30, 40, 2) if job.quick else (BAGS, TEST_BAGS, POINTS, SEEDS)
    sizes, generator = (4, 10) if job.quick else SIZES, np.random.default_rng(0)
    drawn = Bags(*rotated_gaussians(bags, points, generator), *rotated_gaussians(test_bags, points, generator))
    known = float(np.sqrt(np.mean((plug_in(drawn.test) - drawn.y_test) ** 2)))
    found = {}
    for size in sizes:
        for name in ("learned", "random"):
            found[name, size] = regressed(drawn, name == "learned", seeds, size)
            job.say(f"{size} {name} frequencies a stage: {found[name, size].told('nats')}")
    last, few = sizes[-1], sizes[0]
    model = two_stages(DistributionRegressor, last, True, 0).fit(drawn.train, drawn.y)
    return Findings(
        settings={"bags": bags, "test bags": test_bags, "points of a bag": points, "seeds": seeds,
                  "frequencies of each stage": list(sizes)},
        comparisons=[
            *(Comparison(f"RMSE, {size} {name} frequencies a stage", None, float(outcome.errors.mean()), "nats",
                         spread=float(outcome.errors.std())) for (name, size), outcome in found.items()),
            Comparison("RMSE, the variance put into the formula", None, known, "nats"),
        ],
        claims=claims(found, few, last),
        charts=[
            Chart("Entropy of the test bags", predictions(drawn, model.predict(drawn.test)), "true", "predicted",
                  kind="point"),
            Chart("Error by frequencies", [
                {"frequencies of a stage": size, "RMSE, nats": float(error), "way": name}
                for (name, size), outcome in found.items() for error in outcome.errors
            ], "frequencies of a stage", "RMSE, nats", "way", "point"),
        ],
    )  # fmt: skip


def claims(found: dict[tuple[str, int], Outcome], few: int, last: int) -> list[Claim]:
    return [
        Claim(
            f"learned and random frequencies give similar errors with {last} of each stage",
            bool(0.5 < found["learned", last].errors.mean() / found["random", last].errors.mean() < 1.5),
            f"learned {found['learned', last].told('nats')}, random {found['random', last].told('nats')}",
        ),
        Claim(
            f"ours: learned frequencies do better where there are few, {few} of each stage",
            bool(found["learned", few].errors.mean() < found["random", few].errors.mean()),
            f"learned {found['learned', few].told('nats')}, random {found['random', few].told('nats')}",
            "ours",
        ),
    ]


def predictions(drawn: Bags, predicted: np.ndarray) -> list[dict[str, object]]:
    return [
        {"true": round(float(y), 4), "predicted": round(float(f), 4)}
        for y, f in zip(drawn.y_test, predicted, strict=True)
    ]


EXPERIMENT = Experiment(
    "learned-entropy", "kernel_learning_random_fourier", "Two stages: the entropy of rotated Gaussians", run
)
