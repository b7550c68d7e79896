"""`bochner bench`: speed beside peers and limits, in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

from ..bench import ALL, BENCHES, Entry, machine
from ..storage import replacing
from .app import Printing, app, show


@app.command
def bench(
    what: Literal[
        "cluster",
        "pictures",
        "metric",
        "gpu",
        "gpu-shared",
        "limits",
        "fwht",
        "features",
        "gram",
        "fit",
        "softmax",
        "all",
    ],
    /,
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    out: Path | None = None,
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Measure ours, each peer that is installed, and a limit, in one run; refuse if a result is wrong.

    Peers: fht-cpu, scikit-learn, torch, LightGBM, numpy and BLAS.

    Parameters
    ----------
    what
        cluster (Dask workers on this machine; minutes), pictures (MNIST and Fashion-MNIST, each peer for as many
        seconds as ours; minutes), metric (a round of metric learning beside a fit; minutes), gpu (fits, transforms and
        pictures on a GPU), gpu-shared (400,000 features that share projections, on a GPU), limits (of the machine),
        fwht, features, gram, fit and softmax (on MNIST, whose files are in BOCHNER_DATA), or all but the first five.
    quick
        Smaller work, for a first look.
    out
        Write the results here too, as JSON with commit and hardware.
    """
    with printing.settings():
        names = list(ALL) if what == "all" else [what]
        entries = {name: BENCHES[name](quick) for name in names}
    result: dict[str, Any] = {"machine": machine(), "quick": quick}
    result["results"] = {name: [entry.to_json() for entry in found] for name, found in entries.items()}
    if out is not None:
        with replacing(out) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())
    for k, found in enumerate(entries.values()):
        show(printing, result, table_of(found)) if not printing.as_json or k == 0 else None


def table_of(entries: list[Entry]) -> Table:
    """One block per kind of work; ratios are to our best entry of the same work."""
    table = Table("work", "who", title="ours / this: times as fast; of a limit, the share that ours reaches")
    for name in ("seconds", "speed", "ours / this"):
        table.add_column(name, justify="right")
    table.add_column("note")
    last = ""
    for entry in entries:
        ours = max((e.amount for e in entries if e.work == entry.work and e.kind == "ours"), default=0.0)
        ratio = "" if entry.kind == "ours" else f"{ours / entry.amount:.2f}"
        speed = f"{entry.amount:,.3g} {entry.unit}"
        work = entry.work if entry.work != last else ""
        table.add_row(work, entry.who, f"{entry.seconds:.4g}", speed, ratio, entry.note)
        last = entry.work
    return table
