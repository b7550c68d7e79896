"""A chart of a record as a Vega-Lite specification, drawn by the page in the width that it has.

Columns are renamed to x, y, color and label: names such as "a.b" or "n[0]" have a meaning of their own in Vega. The
title and the legend of a few colours are not drawn but written in the page, where they wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from .colours import assigned

FEW = 24  # more numbers than these are shown by a gradient of colour, not by one colour each
HEIGHT = 280
DASHES = [[1, 0], [5, 4], [2, 3]]  # of what is ours, of what was printed, of a third


@dataclass
class Drawing:
    """What the page needs of a chart: the specification, its methods, height over width, a note.

    The legend has a line for each method, with the number of its colour, and says what is hollow and dashed.
    """

    title: str
    specification: dict[str, Any] | None
    legend: list[str] = field(default_factory=list)
    colours: list[int] = field(default_factory=list)
    legend_title: str = ""
    styles: list[str] = field(default_factory=list)
    aspect: float | None = None
    note: str = ""
    pictures: list[tuple[str, str]] = field(default_factory=list)


def methods(chart: dict[str, Any]) -> list[str]:
    """The names that have colours in a chart."""
    return categories([row for row in (renamed(r, chart) for r in chart["rows"]) if drawable(row, chart)], chart)


def drawing(chart: dict[str, Any], colours: Mapping[str, int] | None = None) -> Drawing:
    """`colours` says which colour a method has on the page; without it, those of the chart alone are told apart."""
    rows = [renamed(row, chart) for row in chart["rows"]]
    kept = [row for row in rows if drawable(row, chart)]
    left_out = len(rows) - len(kept)
    note = f"{left_out} of {len(rows)} rows have no place on a logarithmic axis." if left_out else ""
    if not kept:
        return Drawing(chart["title"], None, note=note or "There is nothing to draw.")
    legend = categories(kept, chart)
    styles = list(dict.fromkeys(str(row["style"]) for row in kept)) if chart["style"] is not None else []
    picture = marked(alt.Chart(alt.Data(values=kept)), chart, axes(kept, chart), color(kept, chart, legend), styles)
    picture = picture.properties(
        width="container", height=HEIGHT, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    known = assigned([legend]) if colours is None else colours
    shape = len({row["y"] for row in kept}) / len({row["x"] for row in kept})
    return Drawing(
        chart["title"], picture.to_dict(), legend, [known[name] for name in legend],
        (chart["color"] or "") if legend else "", styles,
        min(max(shape, 0.2), 2.0) if chart["kind"] == "image" else None, note,
    )  # fmt: skip


def renamed(row: dict[str, Any], chart: dict[str, Any]) -> dict[str, Any]:
    return {part: row[chart[part]] for part in ("x", "y", "color", "label", "style") if chart[part] is not None}


def drawable(row: dict[str, Any], chart: dict[str, Any]) -> bool:
    """Whether a row has a place: nothing at or below zero has one on a logarithmic axis."""
    return not any(
        chart[f"log_{axis}"] and (not is_number(row[axis]) or row[axis] <= 0)
        for axis in ("x", "y")
        if row[axis] is not None
    )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def numeric(rows: list[dict[str, Any]], column: str) -> bool:
    return all(is_number(row[column]) for row in rows if row[column] is not None)


def categories(rows: list[dict[str, Any]], chart: dict[str, Any]) -> list[str]:
    """The values of the colour, if each gets a colour of its own: numbers in order, text as it comes."""
    if chart["color"] is None or chart["kind"] == "image":
        return []
    values = list(dict.fromkeys(row["color"] for row in rows if None not in (row["x"], row["y"])))
    if numeric(rows, "color"):
        if len(values) > FEW and chart["kind"] != "line":
            return []
        values.sort(key=lambda value: (value is None, value))
    for row in rows:
        row["color"] = str(row["color"])
    return [str(value) for value in values]


def axes(rows: list[dict[str, Any]], chart: dict[str, Any]) -> dict[str, Any]:
    channels = {"x": alt.X, "y": alt.Y}
    encoded: dict[str, Any] = {}
    for name, channel in channels.items():
        title, quantity = chart[name], numeric(rows, name) and chart["kind"] != "image"
        if not quantity:
            encoded[name] = channel(name, type="ordinal", sort=None, title=title, axis=names_axis(rows, name))
            continue
        scale = alt.Scale(type="log", nice=False) if chart[f"log_{name}"] else linear(chart)
        # About as many ticks as a phone has room for; Vega takes fewer where labels would touch.
        encoded[name] = channel(name, type="quantitative", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    encoded["tooltip"] = [
        alt.Tooltip(part, type="quantitative" if numeric(rows, part) else "nominal", title=chart[part],
                    **({"format": ",.4~g"} if numeric(rows, part) else {}))
        for part in ("label", "color", "style", "x", "y") if chart[part] is not None
    ]  # fmt: skip
    if chart["label"] is not None and chart["kind"] == "text":
        encoded["text"] = alt.Text("label", type="nominal")
    return encoded


def linear(chart: dict[str, Any]) -> Any:
    """Points and words need room beyond the outermost place."""
    return alt.Scale(zero=False, padding=0 if chart["kind"] == "line" else 12)


def names_axis(rows: list[dict[str, Any]], name: str) -> Any:
    """Numbers may give way to each other; words are all shown, slanted where they need more room than a phone has."""
    if numeric(rows, name):
        return alt.Axis(labelAngle=0, labelOverlap=True)
    slanted = name == "x" and sum(map(len, {str(row[name]) for row in rows})) > 36
    return alt.Axis(labelAngle=-40 if slanted else 0, labelOverlap=False, labelLimit=190)


def color(rows: list[dict[str, Any]], chart: dict[str, Any], legend: list[str]) -> dict[str, Any]:
    if chart["color"] is None:
        return {}
    if legend:
        return {"color": alt.Color("color", type="nominal", sort=None, legend=None, scale=alt.Scale(domain=legend))}
    if not numeric(rows, "color"):
        return {"color": alt.Color("color", type="nominal", title=chart["color"], legend=alt.Legend(orient="bottom"))}
    values = [row["color"] for row in rows if row["color"] is not None]
    both = bool(values) and min(values) < 0 < max(values)
    largest = max(map(abs, values), default=1.0)
    scale = alt.Scale(scheme="blueorange", domain=[-largest, largest]) if both else alt.Scale(scheme="viridis")
    bar = alt.Legend(orient="bottom", direction="horizontal", gradientLength=200, title=chart["color"])
    return {"color": alt.Color("color", type="quantitative", scale=scale, legend=bar)}


def marked(base: Any, chart: dict[str, Any], places: dict[str, Any], colour: dict[str, Any], styles: list[str]) -> Any:
    """The marks of a kind of chart; what a paper printed is hollow and dashed beside ours."""
    kind = "point" if chart["kind"] == "text" and chart["label"] is None else chart["kind"]
    if not styles:
        return MARKS[kind](base).encode(**places, **colour)
    dash = alt.StrokeDash("style", type="nominal", legend=None, scale=alt.Scale(domain=styles, range=DASHES))
    solid = alt.condition(alt.datum.style == styles[0], alt.value(1), alt.value(0))
    both = {"fill": alt.Fill(colour["color"].shorthand, **kept_of(colour)), "stroke": alt.Stroke(
        colour["color"].shorthand, **kept_of(colour))} if colour else {}  # fmt: skip
    dots = base.mark_point(size=46, strokeWidth=1.6, opacity=1).encode(**places, **both, fillOpacity=solid)
    if kind != "line":
        return dots
    line = base.mark_line(strokeWidth=2).encode(**places, **colour, strokeDash=dash)
    return alt.layer(line, dots)


def kept_of(colour: dict[str, Any]) -> dict[str, Any]:
    described = colour["color"].to_dict()
    return {"type": described["type"], "sort": None, "legend": None, "scale": alt.Scale(**described["scale"])}


def lines(chart: Any) -> Any:
    return chart.mark_line(point=alt.OverlayMarkDef(size=36, filled=True), strokeWidth=2)


def points(chart: Any) -> Any:
    return chart.mark_point(filled=True, size=26, opacity=0.65)


def cells(chart: Any) -> Any:
    return chart.mark_rect()


def words(chart: Any) -> Any:
    return chart.mark_text(fontSize=11, limit=110)


MARKS = {"line": lines, "point": points, "image": cells, "text": words}
