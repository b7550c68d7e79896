"""docs/defaults.json and docs/defaults.md: fits without settings on every real set under BOCHNER_DATA."""

import json
import sys
from pathlib import Path

from bochner.bench.defaults import judge, some_rows
from bochner.data.tables import REAL
from bochner.machine import machine

HERE = Path(__file__).parent
HEAD = """# What the defaults achieve

`make defaults` makes this page. `RandomFeatureRegressor()` or `RandomFeatureClassifier()`, with no argument but a seed,
is fitted to every real set that the project has (of larger ones, to 20,000 random rows). It is compared with ridge on
standardised columns, whose penalty is chosen by leave-one-out, and with a constant: the mean, or the most common label.
Errors are squared errors relative to the variance of the targets, or shares of wrong labels. "Expected" is the error
that the fit itself expected, from held-out rows. "Covered" is the share of new targets within 1.96 standard deviations
of `predict(X, return_std=True)`.

| set | rows | columns | error | expected | ridge | constant | error / ridge | scaling | covered | seconds |
|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|
"""


def line(name, e):
    prepared = (e["scale"] or "none") + (", linear part" if e["linear"] else "")
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
    tail = f"\nError above 1.05 times that of the better of ridge and the constant: {', '.join(worse) or 'none'}.\n"
    (HERE / "defaults.md").write_text(HEAD + "\n".join(line(n, e) for n, e in found.items()) + "\n" + tail)


if __name__ == "__main__":
    main(sys.argv[1:])
