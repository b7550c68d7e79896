"""`bochner data`: the data sets of the experiments, how to get them, and whether their files are whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console, Group
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

import bochner

from ..data import catalogue, fetching
from .app import Printing, app, show

data = App(name="data", help="The data sets of the experiments, in the folder that BOCHNER_DATA names.")
app.command(data)


@data.command(name="list")
def list_sets(*, printing: Printing = Printing()) -> None:  # noqa: B008
    """List the data sets: name, task, rows, licence, and whether all files are there."""
    root = catalogue.folder()
    rows: list[dict[str, Any]] = [
        {"name": s.name, "title": s.title, "task": s.task, "rows": s.rows, "missing": s.missing(root),
         "licence": s.licence, "home": s.home}
        for s in catalogue.data_sets()
    ]  # fmt: skip
    table = Table("name", "what", "files", title=f"Data sets in {root}")
    for row in rows:
        there = "all there" if not row["missing"] else f"{len(row['missing'])} missing"
        what = Text.assemble(f"{row['title']}: {row['task']}; {row['rows']}\n", (f"licence: {row['licence']}", "dim"))
        table.add_row(row["name"], what, there)
    show(printing, rows, table)


@data.command
def check(*, printing: Printing = Printing()) -> None:  # noqa: B008
    """Compare the checksum of what every file holds with the catalogue; exit with 1 if one is missing or different."""
    root = catalogue.folder()
    rows: list[dict[str, Any]] = [
        {"name": s.name, "missing": s.missing(root), "broken": s.broken(root), "files": len(s.files)}
        for s in catalogue.data_sets()
    ]
    table = Table("name", "files", "found", title=f"Data sets in {root}")
    for row in rows:
        faults = [f"{name} is missing" for name in row["missing"]] + [f"{name} is different" for name in row["broken"]]
        table.add_row(row["name"], str(row["files"]), "; ".join(faults) or "checksums match")
    show(printing, rows, table)
    if any(row["missing"] or row["broken"] for row in rows):
        raise ValueError("some files are missing or different; `bochner data fetch` gets them.")


@data.command
def fetch(
    names: Annotated[tuple[str, ...], Parameter(negative="")],
    /,
    *,
    force: Annotated[bool, Parameter(negative="")] = False,
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Download data sets from their homes; a file appears only if its checksum is right.

    What is there already is left as it is. Where a set cannot be fetched, this says where to get it and where it goes.

    Parameters
    ----------
    names
        Names of data sets, as `bochner data list` shows them, or "all".
    force
        Replace files that hold something else.
    """
    root, wanted = catalogue.folder(), catalogue.named(names)
    rows = []
    with printing.settings(), bars() as tell:
        for found in wanted:
            outcomes = fetching.fetch(found, root, force=force, tell=tell)
            rows += [{"set": found.name, **asdict(outcome)} for outcome in outcomes]
    licences = {found.name: found.licence for found in wanted}
    show(printing, {"files": rows, "licences": licences}, told(rows, licences))
    absent = [row["file"] for row in rows if row["status"] not in ("there", "fetched")]
    if absent:
        raise ValueError(f"not fetched: {', '.join(absent)}.")


def told(rows: list[dict[str, Any]], licences: dict[str, str]) -> Group:
    """A line for each file; below it, what stands in the way."""
    lines = []
    for row in rows:
        well = row["status"] in ("there", "fetched")
        lines.append(Text.assemble(row["file"], ": ", (row["status"], "green" if well else "red")))
        if not well:
            lines.append(Text(f"  {row['detail']}"))
    return Group(*lines, *(Text(f"licence of {name}: {licence}", "dim") for name, licence in licences.items()))


@contextmanager
def bars() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar for each file, where progress is shown at all."""
    shown = bool(bochner.get_config()["progress"])
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as progress:
        tasks: dict[str, Any] = {}

        def tell(file: str, done: int, size: int | None) -> None:
            if file not in tasks:
                tasks[file] = progress.add_task(file, total=size)
            progress.update(tasks[file], completed=done, total=size)

        yield tell
