"""Figure 1: distances after the maxout map grow with those before while small, and saturate earlier for larger q."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from bochner import RandomMaxout

from ..findings import Chart, Claim, Experiment, Findings, Job

POINTS, FEATURES, POOL_SIZES = 100, 1000, (8, 32)


def run(job: Job) -> Findings:
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, POINTS)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    before, rows, bends = pdist(circle), [], {}
    for q in POOL_SIZES:
        after = pdist(RandomMaxout(FEATURES, pool_size=q, center=False, random_state=0).fit_transform(circle))
        shown = np.arange(0, len(before), 10)
        rows += [{"before": before[k], "after": after[k], "q": f"q = {q}"} for k in shown]
        bends[q] = share_of_slope(before, after)
    return Findings(
        settings={"points": POINTS, "features": FEATURES, "pool sizes": list(POOL_SIZES)},
        claims=[
            Claim(
                "distances are proportional when small and saturate when large; earlier for q = 32 than for q = 8",
                bends[32] < bends[8] < 0.9,
                f"slope beyond 1.5 over slope below 0.3: {bends[8]:.2f} for q = 8, {bends[32]:.2f} for q = 32",
            )
        ],
        charts=[Chart("Distances before and after the map", rows, "before", "after", "q", kind="point")],
    )


def share_of_slope(before: np.ndarray, after: np.ndarray) -> float:
    """How much flatter the far end is: the slope of a line through far pairs over that through near ones."""
    near, far = before < 0.3, before > 1.5
    return float(np.polyfit(before[far], after[far], 1)[0] / np.polyfit(before[near], after[near], 1)[0])


EXPERIMENT = Experiment(
    "maxout-distances", "random_maxout_features", "Figure 1: distances before and after the maxout map", run
)
