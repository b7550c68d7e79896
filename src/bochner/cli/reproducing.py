"""`bochner reproduce`: the papers' tables and figures, by the package beside this one, `bochner_papers`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Annotated

from cyclopts import Parameter

from .app import Printing, app


@app.command
def reproduce(
    names: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    /,
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    out: Path = Path("reproduction"),
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    report_only: Annotated[bool, Parameter(negative="")] = False,
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Run experiments of the papers and show each printed number beside ours, with a verdict.

    Each experiment is written to NAME.json in the folder, and all that are there to one page, report.html, which needs
    no network. The experiments are a package of their own, in the folder papers of a clone of bochner.

    Parameters
    ----------
    names
        Experiments, or "all"; --list shows their names.
    quick
        Small versions that take seconds and need no data sets.
    out
        The folder to write to.
    list_
        Only list the experiments: names, papers, and the data sets that they need.
    report_only
        Run nothing; make the page again from the records in the folder.
    """
    command = papers_command()
    if list_:
        command.list_experiments(printing)
    elif report_only:
        command.remake_page(out, printing)
    else:
        command.reproduce(names, quick, out, printing)


def papers_command() -> ModuleType:
    """`bochner_papers.command`, imported only here and only when asked for: the library stands without the papers."""
    try:
        from bochner_papers import command
    except ModuleNotFoundError as error:
        if error.name != "bochner_papers":
            raise
        raise ImportError(
            "the experiments of the papers are a package of their own, which is not installed: "
            "in a clone of bochner, run `pip install ./papers`."
        ) from None
    return command
