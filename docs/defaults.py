"""docs/defaults.json and docs/defaults.md: fits without settings on every real set under BOCHNER_DATA."""

import json
import sys
from pathlib import Path

from bochner.bench.defaults import judge, some_rows
from bochner.data.tables import REAL
from bochner.machine import machine

HERE = Path(__file__).parent
HEAD = """# What the defaults reach

Made by `make defaults`: `RandomFeatureRegressor()` or `RandomFeatureClassifier()`, no argument but a seed, on every
real set that the project has (of larger ones 20,000 rows at random), beside ridge on standardised columns, its penalty
by leave-one-out and beside the mean, or the commonest label. Errors are squared errors relative to the variance of the
targets, or shares of wrong labels; "expected" is what the fit itself said it would be, from rows left out. "Covered" is
the share of new targets within 1.96 standard deviations of `predict(X, return_std=True)`.

| set | rows | columns | error | expected | ridge | nothing | error / ridge | rows are | covered | seconds |
|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|
"""


def line(name, e):
    prepared = (e["scale"] or "as they are") + (", linear part" if e["linear"] else "")
    covered = f"{e['covered']:.1%}" if "covered" in e else ""
    numbers = " | ".join(f"{e[key]:.4f}" for key in ("error", "expected", "ridge", "nothing"))
    ratio = e["error"] / max(min(e["ridge"], e["nothing"]), 1e-12)
    shown = f"{e['rows']:,} | {e['columns']} | {numbers} | {ratio:.2f} | {prepared} | {covered} | {e['seconds']:.1f}"
    return f"| {name} | {shown} |"


def main(names):
    found = {}
    for name in names or REAL:
        found[name] = judge(some_rows(REAL[name]()))
        print(line(name, found[name]), flush=True)
    record = {"machine": machine(), "sets": found}
    (HERE / "defaults.json").write_text(json.dumps(record, indent=1) + "\n")
    worse = [n for n, e in found.items() if e["error"] > 1.05 * min(e["ridge"], e["nothing"])]
    tail = f"\nWorse than 1.05 times the better of ridge and nothing: {', '.join(worse) or 'none'}.\n"
    (HERE / "defaults.md").write_text(HEAD + "\n".join(line(n, e) for n, e in found.items()) + "\n" + tail)


if __name__ == "__main__":
    main(sys.argv[1:])
