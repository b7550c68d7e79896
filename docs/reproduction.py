"""docs/reproduction.md from the records in docs/reproduction, which `bochner reproduce all --out` wrote."""

from pathlib import Path

from bochner_papers import EXPERIMENTS
from bochner_papers.report.numbers import cells, duration
from bochner_papers.report.records import by_paper, heading, parted, read_records, tally

HERE = Path(__file__).parent
HEAD = """# The papers' numbers and ours

Made by `make docs` from the records in [reproduction](reproduction), which `bochner reproduce all` wrote. A difference
is ours less printed, ± is one standard deviation over seeds; a verdict other than "agrees" comes with what we believe
the reason to be. `bochner reproduce --report-only --out docs/reproduction` makes a page of the same with charts.

"""


def cell(text):
    """Text that can end neither a cell nor a row, and is no markup."""
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())


def counted(records):
    words = {
        "agrees": "numbers agree", "better": "are better", "worse": "are worse", "differs": "differ",
        "nothing printed": "have nothing printed beside them", "holds": "claims hold",
        "does not hold": "claims do not hold",
    }  # fmt: skip
    return ", ".join(f"{number} {words[name]}" for name, number in tally(records).items() if number) + ".\n\n"


def numbers(record):
    lines = [f"| what | {heading(record)} | ours | difference | verdict | why |", "|---|---:|---:|---:|---|---|"]
    for comparison in record["comparisons"]:
        shown = [cell(text) for text in (comparison["what"], *cells(comparison).values(), comparison["verdict"])]
        lines.append("| " + " | ".join([*shown, cell(comparison["why"])]) + " |")
    return "\n".join(lines) + "\n\n"


def claims(found):
    lines = [
        f"- **{'holds' if claim['holds'] else 'does not hold'}**: {cell(claim['text'])} ({cell(claim['evidence'])})"
        for claim in found
    ]
    return "\n".join(lines) + "\n\n"


def experiment(record):
    machine = record["machine"]
    text = f"### {cell(record['title'])}\n\n"
    text += numbers(record) if record["comparisons"] else ""
    text += claims(record["claims"]) if record["claims"] else ""
    text += "".join(f"{cell(remark)}\n\n" for remark in record["remarks"])
    return text + (
        f"`{record['name']}`, {duration(record['seconds'])} on {cell(machine['processor'])} "
        f"({machine['cores']} cores), commit {cell(str(machine['commit']))}.\n\n"
    )


def page(records):
    text = HEAD + counted(parted(records)[0])
    for paper, members in by_paper(records).items():
        text += f"## {cell(paper)}\n\n" + "".join(map(experiment, members))
    return text.rstrip() + "\n"


def main():
    folder = HERE / "reproduction"
    records = [r for r in read_records(folder, order=list(EXPERIMENTS)) if not r["quick"]] if folder.is_dir() else []
    if records:
        (HERE / "reproduction.md").write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
