"""Records from their JSON files, checked before use, and what they add up to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]

BEYOND = "beyond"
KINDS = ("line", "point", "image", "text", "picture")
VERDICTS = ("agrees", "better", "worse", "differs", "undecided", "other data", "nothing printed")
CLAIMS = ("holds", "undecided", "does not hold")
ORDER = (  # the good first
    "agrees", "better", "holds", "undecided", "differs", "worse", "does not hold", "other data", "nothing printed",
)  # fmt: skip
SHORT = {
    "random_maxout_features": "Maxout", "weighted_sums_of_random_kitchen_sinks": "Kitchen sinks",
    "uniform_approximation_with_random_bases": "Random bases", "mckernel": "McKernel",
    "kernel_learning_random_fourier": "Learned frequencies", "beyond": "Contest",
}  # fmt: skip
FEW = 3  # numbers with one cause that are named one by one
PAPERS = {
    "random_maxout_features": "Random maxout features (Mroueh, Rennie and Goel, 2015)",
    "weighted_sums_of_random_kitchen_sinks": "Weighted sums of random kitchen sinks (Rahimi and Recht, 2008)",
    "uniform_approximation_with_random_bases":
        "Uniform approximation of functions with random bases (Rahimi and Recht, 2008)",
    "mckernel": "McKernel (Curtó, Zarza and Kim)",
    "kernel_learning_random_fourier": "Kernel learning via random Fourier representations (Wang)",
    BEYOND: "Beyond the papers",
}  # fmt: skip
SHAPE: dict[str, type | tuple[type, ...]] = {
    "name": str, "paper": str, "title": str, "quick": bool, "seconds": (int, float), "machine": dict, "settings": dict,
    "comparisons": list, "claims": list, "charts": list, "remarks": list,
}  # fmt: skip
REASONS = {"why", "tested", "by"}
PARTS = {
    "comparisons": {"what", "printed", "ours", "unit", "printed_spread", "spread", "difference", "verdict", "kind",
                    "grid", *REASONS},
    "claims": {"text", "holds", "verdict", "evidence", "whose", *REASONS},
    "charts": {"title", "rows", "x", "y", "color", "kind", "log_x", "log_y", "label", "style"},
}  # fmt: skip


def read_records(folder: Path, order: Sequence[str] = ()) -> list[Record]:
    """The records of a folder, in the order of the names given, then by name; of a quick and a whole run, the whole."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}.")
    records = [read_record(path) for path in sorted(folder.glob("*.json"))]
    whole = {record["name"] for record in records if not record["quick"]}
    chosen = [record for record in records if not record["quick"] or record["name"] not in whole]
    places = {name: k for k, name in enumerate(order)}
    return sorted(chosen, key=lambda record: (places.get(record["name"], len(places)), record["name"]))


def read_record(path: Path) -> Record:
    try:
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
        require_shape(record)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is no record of an experiment: {error}.") from None
    return dict(record)


def refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def require_shape(record: Any) -> None:
    """Refuse what the page could not show."""
    if not isinstance(record, dict):
        raise ValueError("it holds no object")
    for key, kind in SHAPE.items():
        if not isinstance(record.get(key), kind):
            raise ValueError(f"{key!r} is missing or of a wrong type")
    for part, keys in PARTS.items():
        for entry in record[part]:
            if not isinstance(entry, dict) or not keys <= entry.keys():
                raise ValueError(f"an entry of {part!r} lacks one of {', '.join(sorted(keys))}")
    for chart in record["charts"]:
        columns = {chart[part] for part in ("x", "y", "color", "label", "style")} - {None}
        if chart["kind"] not in KINDS or not all(columns <= row.keys() for row in chart["rows"]):
            raise ValueError(f"the chart {chart['title']!r} is of no known kind, or lacks a column")


def by_paper(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Title of each paper -> its records, both in the order in which they come."""
    papers: dict[str, list[Record]] = {}
    for record in records:
        papers.setdefault(paper_title(record["paper"]), []).append(record)
    return papers


def paper_title(name: str) -> str:
    words = name.replace("_", " ").strip()
    return PAPERS.get(name, words[:1].upper() + words[1:])


def heading(record: Record) -> str:
    """What stands beside our numbers: the paper's, or those of others who were run with ours."""
    return "theirs" if record["paper"] == BEYOND else "printed"


def counts(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """How many have each verdict, kept apart: being faster than a machine of 2008 is no agreement with a paper."""
    found: dict[str, Counter[str]] = {
        "numbers": Counter(), "claims": Counter(), "targets": Counter(), "timings": Counter(), "rivals": Counter(),
        "contests": Counter(),
    }  # fmt: skip
    for record in records:
        for comparison in record["comparisons"]:
            numbers = "rivals" if record["paper"] == BEYOND else "numbers"
            found["timings" if comparison["kind"] == "timing" else numbers][comparison["verdict"]] += 1
        for claim in record["claims"]:
            found[{"paper": "claims", "ours": "targets", "contest": "contests"}[claim["whose"]]][claim["verdict"]] += 1
    return {name: {word: counter[word] for word in ORDER if counter[word]} for name, counter in found.items()}


def tally(record: Record) -> dict[str, int]:
    """How many of one record's numbers and claims have each verdict; timings are not counted."""
    found = Counter(c["verdict"] for c in record["comparisons"] if c["kind"] != "timing")
    claims = Counter(f"claims {claim['verdict']}" for claim in record["claims"])
    order = (*VERDICTS, *(f"claims {verdict}" for verdict in CLAIMS))
    return {name: number for name in order if (number := (found + claims)[name])}


Reason = tuple[str, str, str]


def failures(records: Iterable[Record]) -> dict[Reason, list[tuple[Record, str]]]:
    """(cause, test, shown by) -> what failed for it: claims that do not hold and numbers that are worse or differ."""
    found: dict[Reason, list[tuple[Record, str]]] = {}
    for record in records:
        for claim in record["claims"]:
            if claim["verdict"] == "does not hold" and claim["whose"] != "contest":
                found.setdefault(reason_of(claim), []).append((record, claim["text"]))
        numbers: dict[Reason, list[str]] = {}
        for number in record["comparisons"]:
            if number["verdict"] in ("worse", "differs", "other data") and record["paper"] != BEYOND:
                numbers.setdefault(reason_of(number), []).append(number["what"])
        for reason, names in numbers.items():
            shown = names if len(names) <= FEW else [f"{len(names)} numbers"]
            found.setdefault(reason, []).extend((record, name) for name in shown)
    return found


def reason_of(entry: dict[str, Any]) -> Reason:
    return entry["why"], entry["tested"], entry["by"]


def in_short(record: Record) -> str:
    """Which paper's which table."""
    place = str(record["title"]).split(":")[0]
    return f"{SHORT[record['paper']]}, {place}" if record["paper"] in SHORT else place


def made(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    """(date, commit) -> the records that were measured then, the latest first."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        machine = record["machine"]
        found.setdefault((str(machine.get("date", "")), str(machine.get("commit", ""))), []).append(record)
    return dict(sorted(found.items(), key=lambda item: item[0][0], reverse=True))
