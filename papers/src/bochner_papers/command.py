"""What `bochner reproduce` does: run experiments, show each number beside the printed one, write records and a page."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

import bochner
from bochner.cli.app import Printing, show
from bochner.data import folder as data_folder

from . import EXPERIMENTS, Experiment, Job, report
from .performing import perform, write
from .report.numbers import cells, duration
from .report.records import Record, heading

COLOURS = {"agrees": "green", "better": "blue", "worse": "red", "differs": "yellow"}


def reproduce(names: tuple[str, ...], quick: bool, out: Path, printing: Printing) -> None:
    """Run these experiments; write their records and the page of all that are in the folder."""
    experiments = chosen(names)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is no folder.")
    with printing.settings():
        records, skipped = run_all(experiments, Job(quick, teller()), out, printing)
    page = str(make_page(out)) if records else None
    result = {"records": records, "skipped": skipped, "report": page}
    show(printing, result, f"the report: {page}" if page else "nothing could be run.")
    if skipped:
        raise FileNotFoundError(f"skipped, for want of data: {', '.join(skipped)}; see `bochner data list`.")


def remake_page(out: Path, printing: Printing) -> None:
    """Make the page again from the records in the folder."""
    page = make_page(out)
    show(printing, {"report": str(page)}, f"the report: {page}")


def chosen(names: tuple[str, ...]) -> list[Experiment]:
    """The experiments of these names, all of them for "all"."""
    if not names:
        raise ValueError('say which experiment to run, or "all"; `bochner reproduce --list` shows their names.')
    if "all" in names:
        return list(EXPERIMENTS.values())
    for name in names:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`bochner reproduce --list` shows their names."
            raise ValueError(f"there is no experiment {name!r}: {hint}")
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)]


def run_all(
    experiments: list[Experiment], job: Job, out: Path, printing: Printing
) -> tuple[list[Record], dict[str, str]]:
    """Records, and why those left out were: one experiment must have its data; several go on with the others."""
    records: list[Record] = []
    skipped: dict[str, str] = {}
    for experiment in experiments:
        job.say(experiment.title)
        try:
            record = perform(experiment, job, out)
        except FileNotFoundError as error:
            if len(experiments) == 1:
                raise
            skipped[experiment.name] = str(error)
            tell_now(printing, Text(f"skipped: {error}\n", "yellow"))
            continue
        write(record, out)
        records.append(record)
        tell_now(printing, described(record))
    return records, skipped


def tell_now(printing: Printing, part: RenderableType) -> None:
    """Each experiment as it ends; JSON is printed when all have."""
    if not printing.as_json:
        show(printing, None, part)


def teller() -> Callable[[str], None]:
    """Lines on the error stream, where progress is shown at all."""
    console = Console(stderr=True, quiet=not bochner.get_config()["progress"])
    return lambda text: console.print(Text(text, style="dim"))


def make_page(out: Path) -> Path:
    records = report.read_records(out, order=list(EXPERIMENTS))
    if not records:
        raise FileNotFoundError(f"there are no records in {str(out)!r}: `bochner reproduce all` makes them.")
    return report.write_report(records, out / "report.html")


def described(record: Record) -> Group:
    """A table of numbers, then claims and remarks; text is never taken for markup."""
    title = f"{record['title']}{' (quick)' if record['quick'] else ''}, {duration(record['seconds'])}"
    parts: list[RenderableType] = [Text(title, style="bold")]
    if record["comparisons"]:
        parts.append(numbers_table(record))
    for claim in record["claims"]:
        verdict = Text("holds", "green") if claim["holds"] else Text("does not hold", "red")
        parts.append(Text.assemble(verdict, f": {claim['text']} ({claim['evidence']})"))
    return Group(*parts, *(Text(f"· {remark}", "dim") for remark in record["remarks"]), "")


def numbers_table(record: Record) -> Table:
    table = Table("what")
    for name in (heading(record), "ours", "difference"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for comparison in record["comparisons"]:
        verdict, why = comparison["verdict"], comparison["why"]
        judged = Text.assemble((verdict, COLOURS.get(verdict, "dim")), f": {why}" if why else "")
        table.add_row(Text(comparison["what"]), *map(Text, cells(comparison).values()), judged)
    return table


def list_experiments(printing: Printing) -> None:
    root = data_folder()
    table = Table("name", "what", "data sets", title="Experiments; --quick needs no data sets")
    rows = []
    for experiment in EXPERIMENTS.values():
        missing = [name for name in experiment.needs if not (root / name).is_dir()]
        rows.append({
            "name": experiment.name, "paper": experiment.paper, "title": experiment.title,
            "needs": list(experiment.needs), "missing": missing,
        })  # fmt: skip
        needs = ", ".join(f"{name} (missing)" if name in missing else name for name in experiment.needs)
        what = Text.assemble(experiment.title, "\n", (experiment.paper.replace("_", " "), "dim"))
        table.add_row(experiment.name, what, needs or "none")
    show(printing, rows, table)
