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

import altair
import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bochner.storage import replacing

from .charts import drawing
from .numbers import cells, duration, said
from .records import VERDICTS, Record, by_paper, heading, parted, tally

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
    environment = Environment(
        loader=FileSystemLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(said=said, duration=duration)
    environment.globals.update(cells=cells, drawing=drawing, heading=heading, notes=notes, tally=tally)
    return environment.get_template("report.html").render(
        papers=by_paper(records),
        records=list(records),
        total=tally(parted(records)[0]),
        contests=tally(parted(records)[1]),
        verdicts=VERDICTS[:4],
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


def notes(record: Record) -> dict[str, int]:
    """Reasons for differences, each once, numbered as they come."""
    reasons = dict.fromkeys(comparison["why"] for comparison in record["comparisons"] if comparison["why"])
    return {reason: number for number, reason in enumerate(reasons, 1)}
