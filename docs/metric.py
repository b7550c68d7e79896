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

A kernel machine treats all directions of x as equally important, and loses to trees on tables where few columns
matter. `metric="diagonal"`, `"full"` or `"auto"` of `RandomFeatureRegressor` and `RandomFeatureClassifier` learns how
much each direction matters, from the sums that a fit already has:

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

For a model f(x) = sum_j a_j cos(w_j.x) + b_j sin(w_j.x) and the second moments A of its features, split into those of
cosines and sines,

    M = (1/n) sum_i grad f(x_i) grad f(x_i)'
      = W' [(a a') o A_ss + (b b') o A_cc - (a b') o A_sc - (b a') o A_cs] W:

the average gradient outer product (Radhakrishnan et al., Science 2024). It is computed without reading a row again and
is exact after `merge` and `forget`. Where frequencies have heavy tails, sin(h W)/h takes the place of W, which gives
the same for differences of step h = 0.5 instead of gradients.

One round is: fit, compute M, compute the features of x R with R = (M / max diag M + 1e-6 I)^(1/2), fit again. M is in
the units of the scaled columns (in spreads for columns that are not scaled), whatever metric the fit used. In each
round sampled rows decide between M itself and M^(1/2), which is halfway to it, and choose the bandwidth: the median
distance in the new metric, half of it or twice it. Of `metric_rounds` rounds, and of none, the one with the smallest
held-out error is kept, or a simpler one if the difference is noise.

- `metric_` is the M in use, with largest diagonal entry 1: a diagonal, or a matrix whose eigenvectors are the
  directions that matter. It is None if no metric was better than none. `feature_importances_` is diag(M) times the
  variances, as shares.
- Rounds use at most 16,384 rows (fewer for wide tables) and 2,048 features, in floats; the fit that follows uses all.
- The errors of rounds are measured on a fifth of the rows, which the metric has not seen. It has seen the folds behind
  `cv_score_` and behind the penalty of the fit itself: with a full metric of many columns and few rows, these are too
  optimistic. 'auto' therefore tries a full metric only if there are more rows than the square of the number of columns.
- Other bases: M comes from gradients at sampled rows for `RandomMaxout`, `GatedLinear` and `RandomRidge`, and from
  differences of scores for `RandomStumps` and `RandomBins` (at most 512 columns). Losses other than the squared one: M
  comes from gradients, and rounds are compared by the loss on a held-out fifth. A full metric takes at most 2,048
  columns.
- `partial_fit`, `merge`, `forget` and `grow` keep the metric that the first rows determined. `refit_metric(X, y)`
  learns it again from the sums at hand, and refits to the rows. Integer precisions stay exact: x R is computed in
  integers.

The table shows the gain with {features:,} features on the first fixed split (or 30 % of rows, stratified): the error of
the default model and the error with `metric="auto"`. "Expected" is the error that the folds of the fit estimated.
`python docs/metric.py` makes this page. Choices of the method were made while looking at these very splits, so these
are gains on development data: other splits and other sets may show less.

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
