"""Theorem 1 beside what is measured: the bound on the excess risk, and the risk of bounded coefficients on adult.

The bound is for coefficients |a_k| <= C/K. The best risk over all of them is not known; that of the most stumps stands
in, which is above it, so that the measured excess is, if anything, too small to be held against the bound.
"""

from __future__ import annotations

import numpy as np

from bochner import RandomFeatureClassifier, RandomStumps, data
from bochner.data import Split
from bochner.theory import kitchen_sinks_bound

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from ..plain import AS_IN_PAPERS
from .racing import breast_cancer

COUNTS, BOUNDS, DELTA = (25, 50, 100, 200), (1.0, 10.0), 0.05


def run(job: Job) -> Findings:
    split, counts = (breast_cancer(), (10, 40)) if job.quick else (data.adult().standardized(), COUNTS)
    rows: list[dict[str, object]] = []
    found = Findings({"K": list(counts), "C": list(BOUNDS), "delta": DELTA, "rows": len(split.y), "loss":
                      "squared hinge, whose slope is bounded on [-C, C]"})  # fmt: skip
    for bound in BOUNDS:
        risks = job.part(f"C = {bound:g}", risks_of, split, counts, bound)
        promised = [
            kitchen_sinks_bound(len(split.y), k, max_coefficient=bound, loss="squared_hinge", delta=DELTA).total
            for k in counts
        ]
        for k, risk, above in zip(counts, risks, promised, strict=True):
            found.comparisons.append(Comparison(f"risk on test rows, C = {bound:g}, K = {k:,}", None, risk, ""))
            rows.append({"K": k, "excess risk": above, "what": f"C = {bound:g}", "whose": "bound of Theorem 1"})
            if risk > risks[-1]:
                rows.append({"K": k, "excess risk": risk - risks[-1], "what": f"C = {bound:g}", "whose": "measured"})
        excess = [risk - risks[-1] for risk in risks]
        found.claims.append(Claim(
            f"Theorem 1 with C = {bound:g}: the excess risk is below the bound",
            all(e <= above for e, above in zip(excess, promised, strict=True)),
            ", ".join(f"K = {k:,}: {e:.3f} measured, {above:.3g} promised"
                      for k, e, above in zip(counts, excess, promised, strict=True)),
        ))  # fmt: skip
        job.say(found.claims[-1].evidence)
    found.charts.append(
        Chart("Excess risk against the number of stumps", rows, "K", "excess risk", "what", "line", True, True,
              style="whose")
    )  # fmt: skip
    return found


def risks_of(split: Split, counts: tuple[int, ...], bound: float) -> list[float]:
    """Mean loss on the test rows. The stumps of the paper are -1 and +1, ours that over sqrt(K), so C is for theirs."""
    y = np.where(split.y_test == np.unique(split.y)[1], 1.0, -1.0)
    risks = []
    for count in counts:
        model = RandomFeatureClassifier(
            RandomStumps(count, thresholds="normal", random_state=0), loss="squared_hinge", solver="box",
            max_coefficient=bound * count**0.5, alpha=1e-6, fit_intercept=False, **AS_IN_PAPERS,
        )  # fmt: skip
        scores = np.ravel(model.fit(split.X, split.y).decision_function(split.X_test))
        risks.append(float(np.mean(np.maximum(0.0, 1.0 - y * scores) ** 2)))
    return risks


EXPERIMENT = Experiment(
    "kitchen-sinks-bound", "weighted_sums_of_random_kitchen_sinks",
    "Theorem 1: the bound beside the measured risk", run, ("adult",),
)  # fmt: skip
