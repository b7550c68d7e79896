"""Figure 3: the race of random stumps and AdaBoost on adult again, with uniform thresholds."""

from __future__ import annotations

from bochner import data

from ..findings import Experiment, Findings, Job
from ..kitchen_sinks.racing import Point, breast_cancer, charts
from ..kitchen_sinks.stumps_and_boosting import GIVEN, claims, raced, settings_of

RANDOM, BOOSTED = (50, 100, 250, 500, 1000, 2000, 4000), (1, 5, 10, 25, 50, 100, 250)


def run(job: Job) -> Findings:
    name, split = ("breast cancer", breast_cancer()) if job.quick else ("adult", data.adult())
    counts = ((10, 50, 200), (1, 10, 50)) if job.quick else (RANDOM, BOOSTED)
    job.say(f"{name}: {len(split.X):,} rows of {split.X.shape[1]} columns")
    runs = job.part(name, raced, split, "uniform", counts)
    points = {method: [Point(*point) for point in run] for method, run in runs.items()}
    return Findings(
        settings_of("uniform", counts, "zeros and ones"),
        claims=claims(name, points, "random-bases-stumps"),
        charts=charts(name, {method: run for method, run in points.items() if method != GIVEN}),
        remarks=[
            "Columns are left as zeros and ones, so a = 1 and every second stump (those with a threshold above 0) "
            "tells rows apart. Standardised, a rare indicator reaches 180 deviations, and hardly any threshold on "
            "[-180, 180] would fall where a column has something to split."
        ],
    )


EXPERIMENT = Experiment(
    "random-bases-stumps", "uniform_approximation_with_random_bases",
    "Figure 3: random stumps with uniform thresholds and AdaBoost on adult", run, ("adult",),
)  # fmt: skip
