"""The report: what a record says is in the page and nothing of it is more than text; numbers read as they should."""

import json
import re
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from bochner_papers import EXPERIMENTS, Claim, Comparison, Job
from bochner_papers.performing import perform, write
from bochner_papers.report import html, page, read_records
from bochner_papers.report.charts import drawing
from bochner_papers.report.colours import COLOURS, assigned
from bochner_papers.report.numbers import cells, duration, said
from bochner_papers.report.records import by_paper, counts, failures, tally
from records import CHARTS, COMPARISONS, HOSTILE, record

FIXED = "\N{NO-BREAK SPACE}"
DOCS = Path(__file__).parents[2] / "docs"


class Reader(HTMLParser):
    """Elements, attributes and text of a page, as a browser takes them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.scripts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        last = self.elements[-1][0] if self.elements else ""
        {"script": self.scripts, "style": []}.get(last, self.words).append(data)

    def all(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag and wanted.items() <= a.items()]


@pytest.fixture(scope="module")
def pages():
    """One page of the hostile record, one of a quick run."""
    quick = perform(EXPERIMENTS["maxout-distances"], Job(quick=True))
    return page([record()]), page([quick, record("other", HOSTILE, HOSTILE)])


def test_everything_a_record_says_is_in_the_page(pages):
    read = Reader(pages[0])
    words = " ".join(" ".join(read.words).split())
    for part in ("Table 1: all there is", "m = 1,000", "5.20 ± 0.09 %", "a finer grid of penalties",
                 "another machine", "error falls with m", "at every q", "Inputs are divided by 255.", "60,000", "4, 8",
                 "12 min 14 s", "abc1234", "numpy 2.0", "An image", "2 of 8 rows have no place", "undecided",
                 "Why: a slip in its proof.", "Tested: by counting", "test_a_bound", "10 of 10 cells agree",
                 "how many random projections one feature takes the largest of"):  # fmt: skip
        assert part in words, part
    assert "torch" not in words
    assert words.count("a finer grid of penalties") == 2  # once above, and one note for two numbers
    assert "never shown" not in words  # a claim that holds needs no cause
    assert [a["id"] for t, a in read.elements if t == "article"] == ["trying"]
    targets = {a["id"] for _, a in read.elements if "id" in a}
    assert {a["href"].removeprefix("#") for a in read.all("a")} <= targets
    assert words.count("Quick runs are among these") == 0


def test_charts_are_data_that_survives(pages):
    places = Reader(pages[0]).all("div", **{"class": "chart"})
    assert len(places) == len(CHARTS)
    for place in places:
        specification = json.loads(place["data-specification"])
        assert specification["width"] == "container"
        assert specification["data"]["values"] if "values" in specification["data"] else specification["datasets"]


def test_hostile_text_stays_text(pages):
    for text in pages:
        read = Reader(text)
        assert HOSTILE in " ".join("".join(read.words).split())
        assert read.all("img") == []
        assert len(read.all("script")) == 2
        assert not [a for _, a in read.elements if any(name.startswith("on") for name in a)]
        assert "alert" not in "".join(read.scripts)
        assert "49" not in "".join(read.words)  # {{ 7 * 7 }} was not computed


def test_the_page_asks_for_nothing(pages):
    """No element has an address to load from, and the policy allows the two scripts of the page alone."""
    read = Reader(pages[1])
    for tag, attributes in read.elements:
        assert "src" not in attributes
        if tag in ("link", "a"):
            assert attributes["href"].startswith(("data:,", "#"))
    (policy,) = (a["content"] for a in read.all("meta", **{"http-equiv": "Content-Security-Policy"}))
    assert policy.startswith("default-src 'none'")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", pages[1], flags=re.DOTALL)
    assert re.findall(r"'(sha256-\S+)'", policy) == [html.digest(script) for script in scripts]


def test_quick_runs_are_marked(pages):
    words = " ".join("".join(Reader(pages[1]).words).split())
    assert "Quick runs are among these" in words
    assert len(Reader(pages[1]).all("span", **{"class": "quick"})) == 2  # in the list and at the experiment


def test_columns_of_a_table_are_those_that_say_something():
    def headings(changed):
        read = Reader(page([changed]))
        return {" ".join(word.split()) for word in read.words} & {"printed", "theirs", "ours", "difference", "verdict"}

    alone = Comparison("a", None, 1.0, why="a reason").to_json()
    assert headings(record()) == {"printed", "ours", "difference", "verdict"}
    assert headings(record(paper="beyond")) == {"theirs", "ours", "difference", "verdict"}
    assert headings({**record(), "comparisons": [alone]}) == set()
    assert "a reason" in page([{**record(), "comparisons": [alone]}])


def test_verdicts_are_counted_apart():
    """Numbers, claims, our targets, timings and contests: none is added to another."""
    contest = {**record("contest", "beyond"), "claims": [
        Claim(text, holds, "", "contest").to_json() for text, holds in (("won", True), ("lost", False), ("near", None))
    ]}  # fmt: skip
    found = counts([record(), record("again"), contest])
    numbers = {"agrees": 22, "better": 2, "worse": 2, "undecided": 2, "other data": 2, "nothing printed": 2}
    assert found["numbers"] == numbers
    assert found["claims"] == {"holds": 2, "does not hold": 4}
    assert found["targets"] == {"undecided": 2}
    assert found["timings"] == {"better": 3}
    assert found["contests"] == {"holds": 1, "undecided": 1, "does not hold": 1}
    assert sum(found["rivals"].values()) == 16
    assert tally(record())["agrees"] == 11
    words = " ".join("".join(Reader(page([contest])).words).split())
    assert "Contests with tuned rivals, one per data set 3 1 won 1 undecided 1 lost" in words
    assert "Lost to others: Table 1." in words
    assert list(by_paper([record(), record(paper="my_own work")])) == [
        "Random maxout features (Mroueh, Rennie and Goel, 2015)", "My own work",
    ]  # fmt: skip


def test_what_failed_is_told_by_its_cause():
    found = failures([record()])
    assert [len(members) for members in found.values()] == [1, 1, 1, 1]
    assert found["a slip in its proof", "by counting", "test_a_bound"][0][1] == "a bound holds"
    assert found["fewer rows", "with half of them", "trying"][0][1] == "of fewer rows"


def test_a_method_has_one_colour_in_all_charts():
    """Whatever the order of charts and of names in them; and no two methods of a chart share one."""
    charts = [["Fourier", "bins", "stumps"], ["stumps", "AdaBoost"], ["q = 2", "q = 4"], ["bins", "AdaBoost", "q = 4"]]
    found = assigned(charts)
    assert all(len({found[name] for name in names}) == len(names) for names in charts)
    many = [[f"s{k}" for k in range(30)]]
    assert sorted(assigned(many).values()) == list(range(30))
    assert max(found.values()) < COLOURS
    for record_of in (record(), record("other")):
        for place in Reader(page([record_of])).all("div", **{"class": "chart"}):
            assert len(place["data-colours"].split()) == len(set(place["data-colours"].split()))


def test_the_kept_records_tell_the_cause_of_every_failure():
    """Each claim that does not hold, and each number that is worse, has a cause that a record or a test shows."""
    records = read_records(DOCS / "reproduction")
    known = {r["name"] for r in records}
    tests = "".join(
        path.read_text() for folder in ("tests", "papers/tests") for path in (DOCS.parent / folder).rglob("*.py")
    )
    for (why, tested, by), members in failures(records).items():
        where = [(r["name"], text) for r, text in members]
        assert why, where
        assert tested, where
        assert tested.startswith("not yet") or by in known or f"def {by}(" in tests or (DOCS.parent / by).is_file(), (
            by,
            where,
        )


@pytest.mark.parametrize(
    ("comparison", "shown"),
    [
        (Comparison("a", 5.04, 4.987), ("5.04 %", "4.99 %", "-0.05")),
        (Comparison("a", 5.0, 5.0), ("5 %", "5.0 %", "0")),
        (Comparison("a", 33.1, 22.31, printed_spread=0.2, spread=0.123), ("33.1 ± 0.2 %", "22.31 ± 0.12 %", "-10.8")),
        (
            Comparison("a", 16.95, 16.594, printed_spread=0.5321, spread=0.4754),
            ("16.9 ± 0.5 %", "16.6 ± 0.5 %", "-0.4"),
        ),
        (Comparison("a", 2.2, 2.9, spread=0.004), ("2.2 %", "2.900 ± 0.004 %", "+0.7")),
        (Comparison("a", None, 8192.0, unit=""), ("-", "8,192", "-")),
        (Comparison("a", 3e-7, 4e-7, unit=""), ("3e-07", "4e-07", "+1e-07")),
        (Comparison("a", 0.0, -0.0, unit="s"), ("0 s", "0 s", "0")),
        (Comparison("a", 12, 0.52, unit="s"), ("12 s", "0.52 s", "-11")),
        (Comparison("a", 4.929577465, 3.521126760), ("4.93 %", "3.52 %", "-1.41")),
    ],
)
def test_numbers(comparison, shown):
    plain = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", FIXED: " "}
    found = cells(comparison.to_json())
    assert tuple("".join(plain.get(c, c) for c in text) for text in found.values()) == shown


def test_settings_and_durations_in_words():
    assert said({"a": [1, 2.5], "b": None, "c": False, "d": 60_000}) == "a: 1, 2.5; b: none; c: no; d: 60,000"
    assert [duration(s) for s in (0.1, 119.0, 734.2, 7325)] == ["0.1 s", "119.0 s", "12 min 14 s", "2 h 2 min"]


def test_columns_of_any_name_and_type_are_drawn():
    drawings = [drawing(chart) for chart in record()["charts"]]
    assert drawings[0].legend == ["4", "8"]
    assert "2 of 8 rows" in drawings[0].note
    assert drawings[0].specification["encoding"]["x"]["scale"]["type"] == "log"
    assert drawings[2].legend == []  # a gradient
    assert drawings[3].aspect == 8 / 6
    assert drawings[3].specification["encoding"]["color"]["scale"]["domain"] == [-7, 7]
    assert drawings[5].specification["encoding"]["x"]["type"] == "ordinal"
    assert drawings[7].styles == ["done here", "as printed"]
    assert drawings[8].specification["encoding"]["y"]["title"] == "y.z[0]"
    assert drawings[8].specification["encoding"]["y"]["field"] == "y"


def test_a_chart_without_rows_says_so():
    chart = record()["charts"][0]
    assert drawing({**chart, "rows": []}).note == "There is nothing to draw."
    nothing = {**chart, "rows": [{"m": 0, "error": 0, "q": 1}]}
    assert drawing(nothing).specification is None
    assert "1 of 1 rows have no place" in page([{**record(), "charts": [nothing]}])


def test_records_are_read_in_order_and_a_whole_one_comes_before_a_quick_one(tmp_path):
    for name, quick in (("b", False), ("a", True), ("b", True), ("c", False)):
        write(record(name, quick=quick), tmp_path)
    found = read_records(tmp_path, order=["c"])
    assert [(r["name"], r["quick"]) for r in found] == [("c", False), ("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is no record"),
        ("[1]", "it holds no object"),
        ("{}", "'name' is missing"),
        (json.dumps({**record(), "claims": [{"text": "a"}]}), "an entry of 'claims' lacks"),
        (json.dumps({**record(), "seconds": float("nan")}), "NaN is no number"),
        (json.dumps({**record(), "charts": [{**record()["charts"][0], "kind": "pie"}]}), "no known kind"),
        (json.dumps({**record(), "charts": [{**record()["charts"][0], "x": "absent"}]}), "lacks a column"),
        (json.dumps({**record(), "charts": [{**record()["charts"][0], "rows": [1]}]}), "is no record"),
        ("[" * 100_000, "is no record"),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path, text, fault):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=re.escape("x.json'")) as refusal:
        read_records(tmp_path)
    assert fault in str(refusal.value)


@pytest.fixture(scope="module")
def docs_page():
    path = DOCS / "reproduction.py"
    specification = spec_from_file_location("reproduction", path)
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.page


def test_the_docs_page_has_every_number_and_no_markup_of_others(docs_page):
    text = docs_page([record()])
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    plain = [c for c in COMPARISONS if not c.grid]
    assert len(rows) == len(plain) + 1 + 3  # and the grid with its head
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    assert not re.search(r"(?<!\\)<", text)
    assert "| q = 16 | 5.0 ± 0.2 / 5.04 ± 0.10 |" in text.replace(FIXED, " ")
    assert "11 agree" in text
    assert "- **does not hold**: " in text


@pytest.mark.skipif(not (DOCS / "reproduction.md").exists(), reason="no records are kept")
def test_the_docs_page_is_made_from_the_records_that_are_kept(docs_page):
    records = read_records(DOCS / "reproduction", order=list(EXPERIMENTS))
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == docs_page([r for r in records if not r["quick"]])
