"""docs/reproduction.md from the records in docs/reproduction, which `bochner reproduce all --out` wrote."""

from pathlib import Path

from bochner_papers import EXPERIMENTS
from bochner_papers.report.html import grid, short
from bochner_papers.report.numbers import cells, duration
from bochner_papers.report.records import by_paper, counts, heading, made, read_records

HERE = Path(__file__).parent
HEAD = """# The papers' numbers and ours

`make docs` makes this page from the records in [reproduction](reproduction), which `bochner reproduce NAME --out`
wrote. A difference is our number minus the printed one. ± is one standard deviation over seeds, and "undecided" means a
difference within one standard deviation. `bochner reproduce --report-only --out docs/reproduction` makes a page of the
same records with charts, and with what did not hold, grouped by cause.

"""
TITLES = {
    "numbers": "Our numbers and those printed in the papers", "claims": "Claims of the papers",
    "targets": "Our own targets",
    "timings": "Our timings and those of the papers, on machines of their day",
    "contests": "Contests with tuned rivals", "rivals": "Comparisons with single rivals",
}  # fmt: skip
WORDS = {
    "numbers": {"agrees": "agree", "better": "better", "worse": "worse", "differs": "differ",
                "other data": "for data that we do not have", "nothing printed": "without a printed number"},
    "claims": {"holds": "hold", "does not hold": "do not hold"},
    "targets": {"holds": "reached", "does not hold": "missed"},
    "timings": {"agrees": "as fast", "better": "faster", "worse": "slower",
                "nothing printed": "without a printed number"},
    "contests": {"holds": "won", "does not hold": "lost"},
    "rivals": {"agrees": "as good", "better": "better", "worse": "worse"},
}  # fmt: skip


def cell(text):
    """Text that can end neither a cell nor a row, and is no markup."""
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())


def counted(records):
    lines = [
        f"- {TITLES[kind]}: " + ", ".join(f"{number} {WORDS[kind].get(name, name)}" for name, number in found.items())
        for kind, found in counts(records).items() if found
    ]  # fmt: skip
    return "\n".join(lines) + "\n\n"


def dated(records):
    lines = [
        f"- {date or 'no date'}, commit {commit}: " + ", ".join(f"`{record['name']}`" for record in members)
        for (date, commit), members in made(records).items()
    ]
    return "## When each was measured\n\n" + "\n".join(lines) + "\n"


def because(entry):
    colon = "" if entry["tested"].startswith("not yet") else ":"
    tested = f" Tested{colon} {entry['tested']} ({entry['by']})." if entry["tested"] else ""
    return f"{entry['why']}.{tested}" if entry["why"] else ""


def gridded(record):
    table = grid(record)
    if not table:
        return ""
    lines = [
        "| ours / printed | " + " | ".join(map(cell, table.columns)) + " |",
        "|---" * (len(table.columns) + 1) + "|",
    ]
    for name, row in table.rows.items():
        shown = [cells(row[column]) if column in row else None for column in table.columns]
        lines.append(f"| {cell(name)} | " + " | ".join(
            f"{short(s['ours'])} / {short(s['printed'])}" if s else "" for s in shown
        ) + " |")  # fmt: skip
    return "\n".join(lines) + f"\n\n{table.words}\n\n".replace("\n\n\n\n", "\n\n")


def numbers(record):
    rest = [comparison for comparison in record["comparisons"] if not comparison["grid"]]
    if not rest:
        return ""
    lines = [f"| what | {heading(record)} | ours | difference | verdict | why |", "|---|---:|---:|---:|---|---|"]
    for comparison in rest:
        shown = [cell(text) for text in (comparison["what"], *cells(comparison).values(), comparison["verdict"])]
        lines.append("| " + " | ".join([*shown, cell(because(comparison))]) + " |")
    return "\n".join(lines) + "\n\n"


def claims(found):
    lines = []
    for claim in found:
        why = f" Why: {cell(because(claim))}" if claim["why"] else ""
        lines.append(f"- **{claim['verdict']}**: {cell(claim['text'])} ({cell(claim['evidence'])}).{why}")
    return "\n".join(lines) + "\n\n"


def experiment(record):
    machine = record["machine"]
    text = f"### {cell(record['title'])}\n\n" + gridded(record) + numbers(record)
    text += claims(record["claims"]) if record["claims"] else ""
    text += "".join(f"{cell(remark)}\n\n" for remark in record["remarks"])
    return text + (
        f"`{record['name']}`, {duration(record['seconds'])} on {cell(machine['processor'])} "
        f"({machine['cores']} cores), commit {cell(str(machine['commit']))}.\n\n"
    )


def page(records):
    text = HEAD + counted(records)
    for paper, members in by_paper(records).items():
        text += f"## {cell(paper)}\n\n" + "".join(map(experiment, members))
    return text + dated(records)


def main():
    folder = HERE / "reproduction"
    records = [r for r in read_records(folder, order=list(EXPERIMENTS)) if not r["quick"]] if folder.is_dir() else []
    if records:
        (HERE / "reproduction.md").write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
