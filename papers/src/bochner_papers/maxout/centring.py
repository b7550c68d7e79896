"""What centring does to Table 1: nothing, where sums are exact, the penalty is searched and an intercept is there.

Centring takes the mean mu_q |x| out of each feature. That removes one nearly unpenalised direction, which matters where
sums or features have few bits. Here sums are exact, so both sides should err alike: five seeds of each, and penalties
wide enough on both that no choice is at an end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job, beyond_noise
from .digits import Version, errors_of, plan_of

POOL_SIZE, COLUMNS = 4, (1000, 5000, 10_000)
SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
PLAIN, CENTRED = Version("plain", False, True), Version("centred", True, True)


def run(job: Job) -> Findings:
    plan = replace(plan_of(job), shares=SHARES)
    plan = plan if job.quick else replace(plan, columns=COLUMNS)
    found = {version.name: errors_of(plan, version, POOL_SIZE, job)[0] for version in (PLAIN, CENTRED)}
    plain, centred = found[PLAIN.name], found[CENTRED.name]
    gains = plain.mean(axis=0) - centred.mean(axis=0)
    noise = np.hypot(plain.std(axis=0, ddof=1), centred.std(axis=0, ddof=1))
    return Findings(
        settings={"pool size": POOL_SIZE, "m": list(plan.columns), "seeds of each": plan.seeds,
                  "penalties": f"{SHARES} times the mean of diag(Z'Z)", "intercept": "on both sides",
                  "sums": "exact, of 8-bit features"},
        comparisons=[
            Comparison(f"{name}, m = {m:,}", None, float(errors[:, k].mean()), spread=float(errors[:, k].std(ddof=1)),
                       grid=(name, f"m = {m:,}"))
            for name, errors in found.items() for k, m in enumerate(plan.columns)
        ],
        claims=[
            Claim(
                f"centring lowers the error at m = {m:,}", beyond_noise(float(gain), float(spread)),
                f"points gained: {gain:.2f} ± {spread:.2f}", "ours",
                Cause("with exact sums an intercept and the penalty take care of the mean by themselves",
                      "five seeds of each, with penalties from 1e-6 to 0.1 on both", "maxout-centring"),
            )
            for m, gain, spread in zip(plan.columns, gains, noise, strict=True)
        ],
        charts=[Chart("Test error, plain and centred", [
            {"m": m, "test error, %": float(error), "features": f"maxout, {name}"}
            for name, errors in found.items() for k, m in enumerate(plan.columns) for error in errors[:, k]
        ], "m", "test error, %", "features", "point", True, True)],
    )  # fmt: skip


EXPERIMENT = Experiment(
    "maxout-centring", "random_maxout_features", "Beyond Table 1: what centring does", run, ("mnist",)
)
