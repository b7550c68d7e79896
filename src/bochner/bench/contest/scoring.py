"""Who won: errors with standard errors, wins, losses and ties of ours against each peer, ranks and ratios.

Two contestants tie on a set if their mean errors differ by no more than the standard error of the difference: over
splits where both have several, or else over the test rows of the first. Who was killed or failed has lost to all who
were not; such sets do not enter ratios.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .record import Record, mean_and_error, row_losses

OURS = ("ours", "defaults")  # the first of these that entered is compared with the others
SLACK = 1.0 + 1e-9  # one wrong label more is exactly one standard error, and a tie whatever the last bit


@dataclass(frozen=True)
class Standing:
    """A contestant on a set: mean error and its standard error, or None for one that has no error on some split."""

    error: float | None
    standard_error: float | None
    seconds: float
    splits: int
    status: str


@dataclass(frozen=True)
class Duel:
    """Ours against a peer over all sets: wins, losses and ties by name, and the geometric mean of ours / theirs."""

    peer: str
    wins: tuple[str, ...]
    ties: tuple[str, ...]
    losses: tuple[str, ...]
    ratio: float | None


@dataclass(frozen=True)
class Score:
    """The whole contest: `standings[dataset][contestant]`, duels of `ours` with the others, and mean ranks."""

    ours: str
    contestants: tuple[str, ...]
    standings: dict[str, dict[str, Standing]]
    duels: tuple[Duel, ...]
    ranks: dict[str, float]


def scored(record: Record, order: tuple[str, ...]) -> Score:
    """`order` has the contestants as they are to be shown."""
    entered = {entry["contestant"] for entry in record.entries}
    names = tuple(name for name in order if name in entered) + tuple(sorted(entered.difference(order)))
    standings: dict[str, dict[str, Standing]] = {}
    for dataset in record.datasets:
        found = {name: entries_of(record, dataset, name) for name in names}
        standings[dataset] = {name: standing(record, list(one.values())) for name, one in found.items() if one}
    ours = next((name for name in OURS if name in entered), "")
    duels = tuple(duel(record, standings, ours, name) for name in names if ours and name != ours)
    return Score(ours, names, standings, duels, mean_ranks(standings))


def entries_of(record: Record, dataset: str, contestant: str) -> dict[int, dict[str, Any]]:
    """The entries of a contestant on a set, by split."""
    return {e["split"]: e for e in record.entries if e["dataset"] == dataset and e["contestant"] == contestant}


def standing(record: Record, entries: list[dict[str, Any]]) -> Standing:
    """The standard error is over splits, or over the test rows if there is one split."""
    seconds = float(np.mean([entry["seconds"] for entry in entries]))
    bad = next((entry["status"] for entry in entries if entry["status"] != "done"), "")
    if bad:
        return Standing(None, None, seconds, len(entries), bad)
    error, spread = mean_and_error([entry["error"] for entry in entries])
    if spread is None and (rows := row_losses(record, entries[0])) is not None:
        spread = over_rows(rows)
    return Standing(error, spread, seconds, len(entries), "done")


def over_rows(values: np.ndarray) -> float:
    """The standard error of the mean of a number for each row."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def difference(record: Record, dataset: str, ours: str, peer: str) -> tuple[float, float] | None:
    """Mean error of ours less theirs, on splits that both have done, and its standard error; None if there are none."""
    found = [entries_of(record, dataset, name) for name in (ours, peer)]
    common = [split for split in found[0] if split in found[1]]
    pairs = [(found[0][split], found[1][split]) for split in common]
    if not pairs or any(entry["status"] != "done" for pair in pairs for entry in pair):
        return None
    apart, spread = mean_and_error([one["error"] - other["error"] for one, other in pairs])
    if spread is not None:
        return apart, spread
    one, other = (row_losses(record, entry) for entry in pairs[0])
    return apart, 0.0 if one is None or other is None else over_rows(one - other)


def duel(record: Record, standings: dict[str, dict[str, Standing]], ours: str, peer: str) -> Duel:
    outcomes: dict[str, list[str]] = {"win": [], "tie": [], "loss": []}
    ratios = []
    for dataset, found in standings.items():
        if ours not in found or peer not in found:
            continue
        one, other = found[ours], found[peer]
        apart = difference(record, dataset, ours, peer)
        if one.error is not None and other.error is not None and apart is not None:
            outcome = "tie" if abs(apart[0]) <= SLACK * apart[1] else "win" if apart[0] < 0 else "loss"
            ratios.append(ratio(one.error, other.error, record.datasets[dataset]))
        elif (one.error is None) == (other.error is None):
            outcome = "tie"
        else:
            outcome = "win" if other.error is None else "loss"
        outcomes[outcome].append(dataset)
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else None
    return Duel(peer, tuple(outcomes["win"]), tuple(outcomes["tie"]), tuple(outcomes["loss"]), mean)


def ratio(ours: float, theirs: float, about: dict[str, Any]) -> float:
    """Ours / theirs; of labels half a wrong one is the least that is counted, as none at all has no ratio."""
    least = 0.5 / about["test_rows"] if about["labels"] else 1e-12
    return max(ours, least) / max(theirs, least)


def mean_ranks(standings: dict[str, dict[str, Standing]]) -> dict[str, float]:
    """The mean rank of each over the sets that it entered, 1 for the smallest error; equals share theirs."""
    ranks: dict[str, list[float]] = {}
    for found in standings.values():
        errors = [np.inf if one.error is None else one.error for one in found.values()]
        for name, rank in zip(found, rankdata(errors), strict=True):
            ranks.setdefault(name, []).append(float(rank))
    return {name: float(np.mean(one)) for name, one in ranks.items()}


def best_peer(found: dict[str, Standing], ours: tuple[str, ...] = OURS) -> tuple[str, float] | None:
    """The peer with the smallest error on a set."""
    errors = [(one.error, name) for name, one in found.items() if name not in ours and one.error is not None]
    return min(errors)[::-1] if errors else None
