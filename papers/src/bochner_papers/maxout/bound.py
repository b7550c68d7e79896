"""Lemma 2 and Theorem 2 with their constants: the largest feature beside its bound, and what the bound on the risk is.

Rows are MNIST's digits on the unit sphere; the Assouad dimension cannot be estimated, so the dimension of Levina and
Bickel stands in, which is below it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from bochner import data
from bochner.theory import intrinsic_dimension, maxout_bound, maxout_features, maxout_supremum

from ..findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job

ROWS, DRAWS, POOL_SIZES, DELTA = 2000, 200, (1, 2, 4, 8, 16), 0.05

VACUOUS = Cause(
    "a bound over all laws of the data, for every function of the class at once, is far above what happens",
    "its parts were computed with all constants: the features' part is the larger", "maxout-bound",
)  # fmt: skip


def run(job: Job) -> Findings:
    rows = load_digits().data if job.quick else data.mnist().X[:ROWS].astype(np.float64)
    draws = 20 if job.quick else DRAWS
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    n, dimension, inner, diameter = 60_000, rows.shape[1], intrinsic_dimension(rows), float(pdist(rows[:500]).max())
    seen, promised, risks = {}, {}, {}
    for q in POOL_SIZES:
        known = {"pool_size": q, "intrinsic_dimension": inner, "dimension": dimension, "diameter": diameter}
        seen[q] = np.array(job.part(f"q = {q}", largest_features, rows, q, draws))
        promised[q] = maxout_supremum(**known, delta=DELTA)
        risks[q] = maxout_bound(n, 10_000, **known, max_coefficient=1.0, lipschitz=1.0, delta=DELTA).total
    needed = maxout_features(n, pool_size=4, intrinsic_dimension=inner, dimension=dimension, diameter=diameter)
    quantile = {q: float(np.quantile(found, 1 - DELTA)) for q, found in seen.items()}
    return Findings(
        settings={"rows": len(rows), "columns": dimension, "intrinsic dimension": round(inner, 1), "diameter":
                  round(diameter, 2), "draws": draws, "delta": DELTA, "C": 1, "L": 1, "V(0)": 1, "R": 1, "B": 1},
        comparisons=[
            *(Comparison(f"largest |feature|, q = {q}, in all but {DELTA:.0%} of the draws", None, value, "")
              for q, value in quantile.items()),
            Comparison("bound on the excess risk, q = 4, m = 10,000, n = 60,000", None, risks[4], ""),
        ],
        claims=[
            Claim(
                "Lemma 2: the largest feature is below its bound",
                all(np.mean(seen[q] > promised[q]) <= DELTA for q in seen),
                ", ".join(f"q = {q}: {quantile[q]:.1f} seen, {promised[q]:.1f} promised" for q in seen),
            ),
            Claim(
                "the bound on the largest feature grows slowly with q", promised[16] < 1.5 * promised[1],
                f"{promised[1]:.1f} for q = 1, {promised[16]:.1f} for q = 16",
            ),
            Claim(
                "ours: Theorem 2 says something about a loss of at most 1 at the sizes of Table 1", risks[4] < 1.0,
                f"{risks[4]:.1f} for q = 4, m = 10,000; {needed:,} features would cost as little as {n:,} rows do",
                "ours", why=VACUOUS,
            ),
        ],
        charts=[Chart("Largest feature over the rows", [
            {"q": q, "largest feature": value, "what": "maxout", "whose": whose}
            for whose, of in (("measured", quantile), ("bound of Lemma 2", promised)) for q, value in of.items()
        ], "q", "largest feature", "what", "line", True, style="whose")],
    )  # fmt: skip


def largest_features(rows: np.ndarray, q: int, draws: int) -> list[float]:
    """max over rows of |max_j <w_j, x>|, for each draw of one unit."""
    generator = np.random.default_rng(q)
    return [
        float(np.abs((rows @ generator.standard_normal((rows.shape[1], q))).max(axis=1)).max()) for _ in range(draws)
    ]


EXPERIMENT = Experiment(
    "maxout-bound", "random_maxout_features", "Lemma 2 and Theorem 2: the bounds with their constants", run, ("mnist",)
)
