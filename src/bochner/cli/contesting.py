"""`bochner contest`: ours beside others on real sets, the same seconds on the same cores for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from ..bench.contest import CONTESTANTS, Record, Score, Step, chosen, opened, run, scored, steps
from ..bench.contest.page import number, ratio_to_best
from ..bench.contest.process import Result
from ..bench.contest.scoring import Standing, best_peer
from ..data.frames import FRAMES, FrameSet, frame_sets
from .app import Printing, app, show

WIDE = 140  # characters
Tell = Callable[[Step, Result | None], None]
TITLES = {name: kind.title for name, kind in CONTESTANTS.items()}


@app.command
def contest(
    datasets: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    /,
    *,
    seconds: Annotated[float, Parameter(validator=Number(gt=0))] = 30.0,
    splits: Annotated[int, Parameter(validator=Number(gte=1, lte=10))] = 1,
    contestants: str = "",
    out: Path | None = None,
    redo: Annotated[bool, Parameter(negative="")] = False,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Let ours compete with LightGBM, XGBoost, CatBoost, xRFM, a network, an SVM and a random forest on real sets.

    Each has the same rows, and the same seconds on all cores in a process of its own; peers are tuned by random search.
    Peers that scikit-learn does not have come with `pip install "bochner[contest]"`.

    Parameters
    ----------
    datasets
        Data sets in the folder that BOCHNER_DATA names, or "all"; --list shows their names.
    seconds
        Seconds for each contestant on each split; one that takes half as many again is killed.
    splits
        How many splits of each set, from the first: tables with numbers to predict have ten, most others five.
    contestants
        Names with commas between, as --list shows them; by default, all that are installed.
    out
        Keep results here, as JSON with commit and hardware; a contest that has begun there goes on.
    redo
        Let the contestants named compete again on the sets and splits named, although their results are in the file.
    list_
        Only list the contestants, and the data sets with their splits.
    """
    if list_:
        listed(printing)
        return
    if not datasets:
        raise ValueError('name data sets, or "all"; `bochner contest --list` shows them.')
    data, entrants = frame_sets(datasets), chosen([name for name in contestants.split(",") if name])
    record = opened(out, seconds)
    plan = steps(data, splits, entrants)
    if redo:
        record.forget({s.data.name for s in plan}, {s.split for s in plan}, {s.contestant.name for s in plan})
    todo = [step for step in plan if not record.has(step.data.name, step.split, step.contestant.name)]
    with printing.settings(), telling(len(todo), printing) as tell:
        run(record, todo, out, tell)
    told(record, data, printing)


def listed(printing: Printing) -> None:
    people = [{"name": name, "title": kind.title, "missing": kind().missing()} for name, kind in CONTESTANTS.items()]
    sets = [{"name": found.name, "splits": found.splits} for found in FRAMES.values()]
    first = Table("contestant", "what", "", title="Contestants", title_justify="left")
    for one in people:
        first.add_row(one["name"], one["title"], str(one["missing"] or "ready").replace("[", r"\["))
    second = Table("set", "splits", title="Data sets", title_justify="left")
    for found in FRAMES.values():
        second.add_row(found.name, str(found.splits))
    show(printing, {"contestants": people, "datasets": sets}, Group(first, second))


@contextmanager
def telling(count: int, printing: Printing) -> Iterator[Tell]:
    """A bar with who is at work, on a terminal; and a line for each who is done."""
    console = Console(stderr=True)
    shown = not printing.quiet and not printing.as_json
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not (shown and sys.stderr.isatty()), transient=True) as bar:
        task = bar.add_task("", total=count)

        def tell(step: Step, result: Result | None) -> None:
            where = f"{step.data.name}, split {step.split}, {step.contestant.title}"
            if result is None:
                bar.update(task, description=where)
                return
            bar.advance(task)
            if shown:
                end = result.note if result.error is None else f"error {number(result.error)}"
                bar.console.print(Text(f"{where}: {result.status} in {result.seconds:.1f} s, {end}"))

        yield tell


def told(record: Record, data: list[FrameSet], printing: Printing) -> None:
    """The sets that were asked for, and the score over all that the record has."""
    score = scored(record, tuple(TITLES))
    result: dict[str, Any] = {
        "seconds": record.seconds, "machine": record.machine, "ours": score.ours,
        "datasets": record.datasets, "standings": {
            dataset: {name: vars(one) for name, one in found.items()} for dataset, found in score.standings.items()
        },
        "duels": [vars(duel) for duel in score.duels], "mean_ranks": score.ranks,
    }  # fmt: skip
    tables = Group(errors_table(record, score, [one.name for one in data]), duels_table(score))
    if printing.as_json:
        show(printing, result, tables)
    else:  # a file has no width: no column is to be cut there
        Console(width=None if sys.stdout.isatty() else WIDE).print(tables, highlight=False)


def errors_table(record: Record, score: Score, wanted: list[str]) -> Table:
    title = f"Errors with {record.seconds:g} s for each: wrong labels, or 1 - R2; ± a standard error"
    table = Table(Column("set", no_wrap=True), title=title, title_justify="left")
    for name in score.contestants:
        table.add_column(TITLES.get(name, name), justify="right", min_width=7)
    table.add_column("/ best peer", justify="right")
    for dataset in (name for name in wanted if name in score.standings):
        found = score.standings[dataset]
        least = min((one.error for one in found.values() if one.error is not None), default=None)
        times = ratio_to_best(found.get(score.ours), best_peer(found), record.datasets[dataset])
        cells = [error_text(found.get(name), least) for name in score.contestants]
        table.add_row(dataset, *cells, "" if times is None else f"{times:.2f}")
    return table


def error_text(found: Standing | None, least: float | None) -> Text:
    if found is None:
        return Text("")
    if found.error is None:
        return Text(found.status, style="red")
    spread = "" if found.standard_error is None else f"\n±{number(found.standard_error)}"
    return Text.assemble((number(found.error), "bold green" if found.error == least else ""), (spread, "dim"))


def duels_table(score: Score) -> Table:
    ours = TITLES.get(score.ours, "nobody of ours")
    table = Table(f"{ours} against", title="Over all sets of the record", title_justify="left")
    for name in ("wins", "ties", "losses", "ours / theirs", "mean rank"):
        table.add_column(name, justify="right")
    for duel in score.duels:
        counts = (str(len(one)) for one in (duel.wins, duel.ties, duel.losses))
        mean = "" if duel.ratio is None else f"{duel.ratio:.3f}"
        table.add_row(TITLES.get(duel.peer, duel.peer), *counts, mean, f"{score.ranks[duel.peer]:.2f}")
    if score.ours:
        table.add_row(ours, "", "", "", "", f"{score.ranks[score.ours]:.2f}")
    return table
