"""docs/metric.json and docs/metric.md: what a learned metric gains on real tables under BOCHNER_DATA.

python docs/metric.py [SET ...] measures these sets, or all, and writes the page from all that were ever measured.
"""

import json
import sys
from pathlib import Path

from bochner import RandomFourier
from bochner.bench.defaults import judge, some_rows
from bochner.data.tables import REAL
from bochner.machine import machine

HERE = Path(__file__).parent
SETS = ("airfoil", "concrete", "parkinsons", "phoneme", "pol", "sml", "splice")
KERNELS, METRICS, FEATURES = ("gaussian", "laplacian"), (None, "auto"), 1000
HEAD = """# Learning the metric

A kernel machine takes every direction of x for as important as any other, and loses to trees on tables where few
columns matter. `metric="diagonal"`, `"full"` or `"auto"` of `RandomFeatureRegressor` and `RandomFeatureClassifier`
learns how much each counts, from the sums that a fit has already:

```python
import numpy as np
from bochner import RandomFeatureRegressor, RandomFourier

rng = np.random.default_rng(0)
X = rng.random((2000, 50))  # of fifty columns, three matter
y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + rng.normal(size=2000)
model = RandomFeatureRegressor(RandomFourier(300), metric="diagonal", random_state=0).fit(X, y)
print(sorted(model.feature_importances_.argsort()[-3:]))  # 0, 1, 2
print(model.explain_fit())  # among the rest, the rounds and their errors
```

For a model f(x) = sum_j a_j cos(w_j.x) + b_j sin(w_j.x) and the second moments A of its features, split in those of
cosines and sines,

    M = (1/n) sum_i grad f(x_i) grad f(x_i)'
      = W' [(a a') o A_ss + (b b') o A_cc - (a b') o A_sc - (b a') o A_cs] W:

the average gradient outer product (Radhakrishnan et al., Science 2024) without reading a row again, exact after `merge`
and `forget`. Where frequencies have heavy tails, sin(h W)/h for W makes it that of differences of step h = 0.5. One
round: fit, M, features of x R with R = (M / max diag M + 1e-6 I)^(1/2), fit again. M is in the units of the scaled
columns (in the spreads of columns that are not scaled), whatever metric the fit was in. In each round sampled rows
decide whether M itself serves better or what is half way to it, M^(1/2); and the bandwidth: the median distance in the
new metric, its half or its double. Of `metric_rounds` rounds, and of none, the one of smallest held-out error is kept,
a simpler one where the difference is noise.

- `metric_`: M in force, its largest diagonal entry 1: a diagonal, or a matrix whose eigenvectors are the directions
  that matter; None if none was better than none. `feature_importances_`: diag(M) times the variances, as shares.
- Rounds take at most 16,384 rows (fewer of wide tables) and 2,048 features, in floats; the fit that follows takes all.
- The errors of rounds are those of a fifth of the rows that the metric does not know. The folds behind `cv_score_` and
  the penalty of the fit itself do know it: with a full metric of many columns and few rows they promise too much, and
  'auto' tries a full one only where the rows outnumber the square of the columns.
- Other bases: gradients of sampled rows for `RandomMaxout`, `GatedLinear` and `RandomRidge`, differences of scores for
  `RandomStumps` and `RandomBins` (at most 512 columns). Other losses than the squared one: gradients, and the loss of a
  held-out fifth. A full metric takes at most 2,048 columns.
- `partial_fit`, `merge`, `forget` and `grow` leave the metric as the first rows made it; `refit_metric(X, y)` learns it
  again from the sums at hand, and fits to the rows. Integer precisions stay exact: x R is computed in integers.

What it gains, {features:,} features, the first fixed split (or 30 % of rows, stratified), error of the default model
and with `metric="auto"`; "expected" is what the folds of the fit said. Made by `python docs/metric.py`.

| set | kernel | error | with metric | ratio | expected | kept | seconds without, with |
|---|---|---:|---:|---:|---:|---|---:|
"""


def measured(name):
    split, found = some_rows(REAL[name]()), {}
    for kernel in KERNELS:
        for metric in METRICS:
            how = judge(split, RandomFourier(FEATURES, kernel=kernel), metric=metric)
            found[f"{kernel} {metric}"] = {key: how[key] for key in ("error", "expected", "seconds", "metric")}
            print(name, kernel, metric, found[f"{kernel} {metric}"], flush=True)
    return found


def line(name, kernel, found):
    plain, learned = (found[f"{kernel} {metric}"] for metric in METRICS)
    ratio = learned["error"] / max(plain["error"], 1e-12)
    errors = f"{plain['error']:.4f} | {learned['error']:.4f} | {ratio:.2f} | {learned['expected']:.4f}"
    return f"| {name} | {kernel} | {errors} | {learned['metric']} | {plain['seconds']:.1f}, {learned['seconds']:.1f} |"


def main(names):
    file = HERE / "metric.json"
    record = json.loads(file.read_text()) if file.exists() else {"sets": {}}
    for name in names or SETS:
        record["sets"][name] = measured(name)
        record["machine"] = machine()
        file.write_text(json.dumps(record, indent=1) + "\n")
    lines = [line(name, kernel, record["sets"][name]) for name in sorted(record["sets"]) for kernel in KERNELS]
    (HERE / "metric.md").write_text(HEAD.replace("{features:,}", f"{FEATURES:,}") + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
