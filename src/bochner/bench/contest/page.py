"""The page of a contest, from its record."""

from __future__ import annotations

from typing import Any

from .record import Record
from .scoring import OURS, Duel, Score, Standing, best_peer, ratio, scored

BEHIND = 1.3  # times the error of the best peer: such sets are named
ABOUT = """# Contest

`docs/contest.py` makes this page from `docs/contest.json`, which `bochner contest` wrote. All contestants had the same
rows, the same {seconds:g} seconds and the same {cores} cores. Each ran in a process of its own; one that took half as
long again was killed. Peers are tuned by random search on held-out rows, with early stopping, and then refitted to as
many rows as the time allows (`bench/contest/search.py`). Contestants that take categories and missing values get them
as they are; the others get indicators and means.

Errors are shares of wrong labels, or 1 - R² for numeric targets, on test rows. ± is the standard error, over splits if
there are several, otherwise over the test rows. A tie is a difference within its own standard error, which is that of
the differences by split or by row. Where all labels are right, half a wrong one is counted in ratios.
"""


def page(record: Record, titles: dict[str, str], reasons: dict[str, str] | None = None) -> str:
    """Markdown; `titles` has the contestants in order, with what readers call them, `reasons` why sets are lost."""
    score = scored(record, tuple(titles))
    shown = {name: titles.get(name, name) for name in score.contestants}
    parts = [ABOUT.format(seconds=record.seconds, cores=record.machine["cores"]), measured(record.machine)]
    if score.duels:
        parts += [f"## {shown[score.ours].capitalize()} against each peer\n", duels(score, shown)]
    parts += ["## Errors\n", errors(score, shown, record, reasons or {})]
    parts += ["## Fit times in seconds\n", seconds(score, shown)]
    parts += ["## Settings chosen by each peer\n", choices(record, score, shown)]
    return "\n".join(parts)


def measured(machine: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    return (
        f"Measured on {machine['date']} at commit {machine['commit']}: {machine['processor']}, {machine['cores']} "
        f"cores, instruction set {machine['instruction_set']}; Python {machine['python']}, {packages}.\n"
    )


def duels(score: Score, shown: dict[str, str]) -> str:
    lines = [
        "| against | wins | ties | losses | geometric mean of error ratios | mean rank |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines.append(f"| **{shown[score.ours]}** |  |  |  |  | {score.ranks[score.ours]:.2f} |")
    lines += [duel_line(duel, shown, score.ranks) for duel in score.duels]
    return (
        "\n".join(lines)
        + "\n\n"
        + "\n".join(f"Lost to {shown[d.peer]}: {', '.join(d.losses) or 'none'}.\n" for d in score.duels)
    )


def duel_line(duel: Duel, shown: dict[str, str], ranks: dict[str, float]) -> str:
    mean = "" if duel.ratio is None else f"{duel.ratio:.3f}"
    counts = f"{len(duel.wins)} | {len(duel.ties)} | {len(duel.losses)}"
    return f"| {shown[duel.peer]} | {counts} | {mean} | {ranks[duel.peer]:.2f} |"


def errors(score: Score, shown: dict[str, str], record: Record, reasons: dict[str, str]) -> str:
    names = list(shown)
    ours = shown.get(score.ours, "ours")
    lines = [f"| set | rows | columns | splits | {' | '.join(shown.values())} | {ours} / best peer |"]
    lines.append("|---|---:|---:|---:|" + "---:|" * (len(names) + 1))
    behind = []
    for dataset, found in score.standings.items():
        about, best = record.datasets[dataset], best_peer(found)
        least = min((one.error for one in found.values() if one.error is not None), default=None)
        times = ratio_to_best(found.get(score.ours), best, about)
        if times is not None and times > BEHIND and best is not None:
            why = reasons.get(dataset, "the reason is not known.")
            behind.append(f"- {dataset}, {times:.2f} times {shown[best[0]]}: {why}")
        splits = max((one.splits for one in found.values()), default=0)
        cells = " | ".join(cell(found.get(name), least) for name in names)
        last = "" if times is None else f"{times:.2f}"
        lines.append(f"| {dataset} | {about['rows']:,} | {about['columns']} | {splits} | {cells} | {last} |")
    listed = "\n\n" + "\n".join(behind) if behind else " none."
    return "\n".join(lines) + f"\n\nMore than {BEHIND} times the best peer:{listed}\n"


def ratio_to_best(ours: Standing | None, best: tuple[str, float] | None, about: dict[str, Any]) -> float | None:
    """Ours over the smallest error of a peer."""
    if ours is None or ours.error is None or best is None:
        return None
    return ratio(ours.error, best[1], about)


def cell(found: Standing | None, least: float | None) -> str:
    """An error and its standard error, the smallest of a set in bold; or how it ended without one."""
    if found is None:
        return ""
    if found.error is None:
        return found.status
    text = number(found.error) + ("" if found.standard_error is None else f" ±{number(found.standard_error)}")
    return f"**{text}**" if found.error == least else text


def number(value: float) -> str:
    return f"{value:.4f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def seconds(score: Score, shown: dict[str, str]) -> str:
    lines = [f"| set | {' | '.join(shown.values())} |", "|---|" + "---:|" * len(shown)]
    for dataset, found in score.standings.items():
        cells = [f"{found[name].seconds:.1f}" if name in found else "" for name in shown]
        lines.append(f"| {dataset} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def choices(record: Record, score: Score, shown: dict[str, str]) -> str:
    """What peers ended with on the first split: settings tried, rows of the last fit, and its settings."""
    lines = ["| set | peer | settings tried | rows | settings on the first split |", "|---|---|---:|---:|---|"]
    for dataset in score.standings:
        for name in shown:
            entry = record.entry(dataset, 1, name)
            if entry is not None and name not in OURS:
                note = entry["note"].replace("|", "/")
                lines.append(f"| {dataset} | {shown[name]} | {entry['tried']} | {entry['rows']:,} | {note} |")
    return "\n".join(lines) + "\n"
