"""`bochner data`: the data sets of the experiments, and whether their files are whole."""

from __future__ import annotations

from typing import Any

from cyclopts import App
from rich.table import Table

from ..data import catalogue
from .app import Printing, app, show

data = App(name="data", help="The data sets of the experiments, in the folder that BOCHNER_DATA names.")
app.command(data)


@data.command(name="list")
def list_sets(*, printing: Printing = Printing()) -> None:  # noqa: B008
    """List the data sets of the manifest: name, task, rows, and whether all files are there."""
    root = catalogue.folder()
    rows = [
        {"name": s.name, "task": s.task, "rows": s.rows, "missing": s.missing(root), "licence": s.licence}
        for s in catalogue.data_sets(root)
    ]
    table = Table("name", "task", "rows", "files", title=f"Data sets in {root}")
    for row in rows:
        there = "all there" if not row["missing"] else f"{len(row['missing'])} missing"
        table.add_row(str(row["name"]), str(row["task"]), str(row["rows"]), there)
    show(printing, rows, table)


@data.command
def check(*, printing: Printing = Printing()) -> None:  # noqa: B008
    """Compare the checksum of every file with the manifest; exit with 1 if one is missing or different."""
    root = catalogue.folder()
    rows: list[dict[str, Any]] = [
        {"name": s.name, "missing": s.missing(root), "broken": s.broken(root), "files": len(s.files)}
        for s in catalogue.data_sets(root)
    ]
    table = Table("name", "files", "found", title=f"Data sets in {root}")
    for row in rows:
        faults = [f"{name} is missing" for name in row["missing"]] + [f"{name} is different" for name in row["broken"]]
        table.add_row(str(row["name"]), str(row["files"]), "; ".join(faults) or "as the manifest says")
    show(printing, rows, table)
    if any(row["missing"] or row["broken"] for row in rows):
        raise ValueError("some files are missing or different.")
