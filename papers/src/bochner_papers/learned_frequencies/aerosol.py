"""Section 4.4: aerosol optical depth from bags of satellite pixels, 700 bags to learn from and 100 to judge by."""

from __future__ import annotations

import numpy as np

from bochner import data

from ..findings import Claim, Comparison, Experiment, Findings, Job
from .entropy import rotated_gaussians
from .two_stages import FREQUENCIES, Bags, regressed

PRINTED_LEARNED, PRINTED_RANDOM = 0.091, 0.11
ROWS, SEEDS = 700, 10
TOLERANCE = 0.01  # one draw of 100 test bags moves an error by about a tenth of itself


def run(job: Job) -> Findings:
    bags = stand_in() if job.quick else parted(data.aerosol(), ROWS)
    frequencies, seeds = (5, 2) if job.quick else (FREQUENCIES, SEEDS)
    learned, random = (regressed(bags.standardized(), way, seeds, frequencies) for way in (True, False))
    job.say(f"learned {learned.told('')}, random {random.told('')}")
    return Findings(
        settings={"bags": len(bags.train), "test bags": len(bags.test), "columns": bags.train[0].shape[1],
                  "frequencies of each stage": frequencies, "seeds": seeds},
        comparisons=[
            Comparison(f"RMSE, {name} frequencies", None if job.quick else printed, float(found.errors.mean()), "",
                       spread=float(found.errors.std()), tolerance=TOLERANCE,
                       why="another choice of test bags and of penalties")
            for name, found, printed in (("learned", learned, PRINTED_LEARNED), ("random", random, PRINTED_RANDOM))
        ],
        claims=[
            Claim(
                "learned frequencies are a little better",
                bool(learned.errors.mean() < random.errors.mean()),
                f"learned {learned.told('')}, random {random.told('')}",
            ),
            Claim(
                "with a lower variance",
                bool(learned.errors.std() < random.errors.std()),
                f"standard deviations over seeds {learned.errors.std():.2g} and {random.errors.std():.2g}",
            ),
        ],
    )  # fmt: skip


def parted(labelled: data.LabelledBags, rows: int, seed: int = 0) -> Bags:
    """Some bags at random to learn from, and the others."""
    order = np.random.default_rng(seed).permutation(len(labelled.bags))
    (train, y), (test, y_test) = (
        ([labelled.bags[k] for k in part], labelled.y[part]) for part in (order[:rows], order[rows:])
    )
    return Bags(train, y, test, y_test)


def stand_in() -> Bags:
    """Bags that are drawn, for a quick run."""
    return parted(data.LabelledBags(*rotated_gaussians(60, 30, np.random.default_rng(0))), 40)


EXPERIMENT = Experiment(
    "learned-aerosol", "kernel_learning_random_fourier", "Aerosol bags: learned against random frequencies", run,
    ("aerosol",),
)  # fmt: skip
