"""The leaderboard as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair


def leaderboard_chart(lines: list[dict[str, Any]]) -> altair.Chart:
    """A bar for each line, as long as its error, and as dark as its weight in the stack says."""
    try:
        import altair
    except ImportError:
        raise ImportError("plot_leaderboard needs altair: pip install altair") from None
    values = [{**line, "place": f"{place + 1}. {line['model']}"} for place, line in enumerate(lines)]
    return (
        altair.Chart(altair.Data(values=values), title="What was tried")
        .mark_bar()
        .encode(
            x=altair.X("error:Q", title="squared error of rows left out, relative to that of the mean"),
            y=altair.Y(
                "place:N", sort=[line["place"] for line in values], title=None, axis=altair.Axis(labelLimit=420)
            ),
            color=altair.Color(
                "weight:Q", title="weight in the stack", scale=altair.Scale(scheme="blues", domainMin=-0.3)
            ),
            tooltip=["model:N", "rows:Q", "centres:Q", "error:Q", "weight:Q", "seconds:Q"],
        )
    )
