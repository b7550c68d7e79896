"""The page: a template, its style, Vega once, and the charts as data that one short script draws.

The page's own policy forbids whatever is not in the file: no address is asked for anything, and no script runs but the
two whose digests the policy gives, so text of a record could not become one even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import altair
import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bochner.storage import replacing

from . import story
from .charts import drawing, methods
from .colours import assigned
from .numbers import cells, duration, said
from .records import Record, by_paper, counts, failures, heading, in_short, made, tally

PARTS = Path(__file__).parent / "page"


def write_report(records: Sequence[Record], path: Path) -> Path:
    """Write the page of some records; the file appears when it is complete."""
    text = page(records)
    with replacing(path) as file:
        file.write(text.encode())
    return path


def page(records: Sequence[Record]) -> str:
    """The HTML of some records."""
    scripts = [vega(), part("draw.js")]
    everything = list(records)
    environment = Environment(
        loader=FileSystemLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(said=said, duration=duration, short=short)
    environment.globals.update(
        cells=cells, drawing=drawing, heading=heading, notes=notes, tally=tally, grid=grid, story=story,
        in_short=in_short, colours=assigned([methods(chart) for record in everything for chart in record["charts"]]),
        names={record["name"] for record in everything},
    )  # fmt: skip
    return environment.get_template("report.html").render(
        papers=by_paper(everything),
        records=everything,
        total=counts(everything),
        lost=[(r, c) for r in everything for c in r["claims"] if c["whose"] == "contest" and c["holds"] is False],
        shown=story.highlights(everything),
        failed=failures(everything),
        made=made(everything),
        style=Markup(part("style.css")),
        scripts=[Markup(script) for script in scripts],
        digests=[digest(script) for script in scripts],
    )


def part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


@cache  # making it takes seconds
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script, of the version that the specifications are written for."""
    version = ".".join(altair.SCHEMA_VERSION.split(".")[:2])
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def notes(record: Record) -> dict[tuple[str, str, str], int]:
    """Reasons for differences, each once, numbered as they come."""
    reasons = dict.fromkeys(
        (number["why"], number["tested"], number["by"]) for number in record["comparisons"] if number["why"]
    )
    return {reason: number for number, reason in enumerate(reasons, 1)}


class Grid(NamedTuple):
    """Numbers of a record by row and column, and how many of them agree."""

    columns: list[str]
    rows: dict[str, dict[str, dict[str, Any]]]
    words: str


def grid(record: Record) -> Grid | None:
    """The table of rows and columns that a record's numbers make, if they say their places."""
    placed = [number for number in record["comparisons"] if number["grid"]]
    if not placed:
        return None
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for number in placed:
        rows.setdefault(number["grid"][0], {})[number["grid"][1]] = number
    judged = [number for number in placed if number["printed"] is not None]
    agreeing = sum(number["verdict"] == "agrees" for number in judged)
    words = f"{agreeing} of {len(judged)} cells agree with the printed ones." if judged else ""
    return Grid(list(dict.fromkeys(number["grid"][1] for number in placed)), rows, words)


def short(text: str) -> str:
    """A number without its unit, for a narrow cell."""
    return text.rstrip("% ").rstrip("\N{NO-BREAK SPACE}")
