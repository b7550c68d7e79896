"""The report in a real browser without a network: `make browser` installs Chromium and runs this.

Pictures of what it saw are left in build/browser.
"""

from pathlib import Path

import pytest

from bochner_papers import EXPERIMENTS, Job
from bochner_papers.performing import perform
from bochner_papers.report import read_records, story, write_report
from bochner_papers.report.charts import drawable, drawing, renamed
from chromium import browser
from records import HOSTILE, record

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "browser"
KEPT = ROOT / "docs" / "reproduction"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Pages of: the quick version of every experiment; the records that are kept; every kind of chart."""
    folder = tmp_path_factory.mktemp("reports")
    pages = {
        "quick": [perform(experiment, Job(quick=True)) for experiment in EXPERIMENTS.values()],
        "every kind": [record(), record("other", HOSTILE, HOSTILE, quick=True)],
    }
    if list(KEPT.glob("*.json")):
        pages["kept"] = read_records(KEPT, order=list(EXPERIMENTS))
    return {name: (write_report(records, folder / f"{name}.html"), records) for name, records in pages.items()}


def drawn_rows(chart):
    """How many rows have a place in a chart."""
    rows = [renamed(row, chart) for row in chart["rows"]]
    return sum(drawable(row, chart) and None not in (row["x"], row["y"]) for row in rows)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", ["quick", "every kind", "kept"])
def test_report(reports, page, width, scheme):
    """Every chart is drawn, nothing is complained of, asked for, cut or wider than the page."""
    if page not in reports:
        pytest.skip("no records are kept")
    path, records = reports[page]
    with browser() as window:
        seen = window.open(path, width, scheme=scheme)
        PICTURES.mkdir(parents=True, exist_ok=True)
        window.picture(PICTURES / f"{page}-{width}-{scheme}.png")
        charts = [chart for _, chart, _ in story.highlights(records)]  # shown above, and again in their records
        charts += [chart for record in records for chart in record["charts"]]
        rows = [drawn_rows(chart) for chart in charts if drawing(chart).specification]
        for chart, number in zip(seen["charts"], rows, strict=True):
            assert chart["drawn"]
            assert chart["marks"] >= number > 0
            assert 100 < chart["height"] < 1000
            assert 100 < chart["width"] <= width
        assert seen["overflow"] <= 0
        assert seen["cut"] == []
        one_colour_a_method(seen["charts"])
        assert window.complaints == []
        assert window.requests == [path.as_uri()]
        assert window.dialogs == 0


def one_colour_a_method(charts):
    """A name has one colour wherever it stands, that colour is drawn, and no other name of its chart has it."""
    colours = {}
    for chart in charts:
        assert chart["missing"] == []
        assert len(set(chart["colours"].values())) == len(chart["colours"])
        for name, colour in chart["colours"].items():
            assert colours.setdefault(name, colour) == colour


def test_a_page_follows_its_window_and_the_readers_colours(reports):
    path, _ = reports["every kind"]
    with browser() as window:
        wide = window.open(path, 1280)
        window.resize(390)
        window.colours("dark")
        narrow = window.wait(lambda seen: all(chart["width"] < 390 for chart in seen["charts"]))
        assert narrow["overflow"] <= 0
        assert len(narrow["charts"]) == len(wide["charts"])
        assert max(chart["width"] for chart in wide["charts"]) > 390
        assert window.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
        assert window.complaints == []


def test_colours_that_change_would_be_seen():
    good = {"missing": [], "colours": {"a": "red", "b": "blue"}}
    one_colour_a_method([good, {"missing": [], "colours": {"b": "blue"}}])
    for bad in ({"a": "blue"}, {"c": "red", "d": "red"}):
        with pytest.raises(AssertionError):
            one_colour_a_method([good, {"missing": [], "colours": bad}])


def test_faults_would_be_seen(tmp_path):
    """What the tests above rely on: a fault in a page is noticed."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><meta name=viewport content='width=device-width'><body data-drawn=yes>"
        "<div class=chart></div><div style='width:2000px'>wide</div>"
        "<div style='overflow:auto;width:80px'><span style='white-space:nowrap'>a box that hides its end</span></div>"
        "<table style='table-layout:fixed;width:90px'><td>cellwithoutabreak<td>other</table><img src='http://localhost:9/x.png'>"
        "<script>console.error('trouble'); setTimeout(() => alert(1)); missing()</script>"
    )
    with browser() as window:
        seen = window.open(page, 390)
        assert seen["overflow"] > 0
        assert not seen["charts"][0]["drawn"]
        assert any("hides its end" in text for text in seen["cut"])
        assert any(text.startswith("cell: cellwithout") for text in seen["cut"])
        assert "http://localhost:9/x.png" in window.requests
        assert any("trouble" in complaint for complaint in window.complaints)
        assert any("Uncaught" in complaint for complaint in window.complaints)
        assert window.dialogs == 1
