"""How a column of categories is encoded, by how many there are and what is known of the target."""

from __future__ import annotations

import numpy as np

from ..validation import option
from .encodings import CategoryEncoding, Dropped, Encoding, gap_note
from .statistics import CategoryStatistics
from .targets import Targets, effects

MOST_CATEGORIES = 10_000  # that get a column each
MOST_CLASSES = 32  # for each of which a category gets an effect, unless that was asked for


def category_encoding(
    name: str, found: CategoryStatistics, targets: Targets | None, way: str, max_onehot: int, hash_columns: int,
    smoothing: str | float,
) -> Encoding:  # fmt: skip
    """Settle how a column of categories is encoded."""
    count = len(found.places)
    if count < 2 and not (count and found.missing):
        why = f"all its values are {next(iter(found.places))!r}" if count else "there are no values"
        return Dropped(f"dropped: {why}")
    if found.is_identifier and way == "auto":
        return Dropped(
            f"dropped: {count:,} categories in {found.rows:,} rows look like an identifier, of which nothing is learned"
        )
    parts, why = parts_of(name, count, targets, way, max_onehot)
    notes = [note for note in (gap_note(found),) if note]
    if found.is_identifier:
        notes.insert(0, "they look like an identifier")
    onehot = tuple(sorted(found.places)) if "onehot" in parts and count > 1 else ()
    table = np.zeros((1, 0))
    outputs: tuple[str, ...] = ()
    if "target" in parts:
        assert targets is not None
        table, outputs = effect_table(found, targets, smoothing)
    reason = "; ".join([f"{count:,} categories, {why}", *notes])
    width = hash_columns if "hash" in parts else 0
    return CategoryEncoding(name, onehot, width, outputs, found, table, found.missing > 0, reason)


def parts_of(name: str, count: int, targets: Targets | None, way: str, max_onehot: int) -> tuple[set[str], str]:
    """Which columns they get, and the words for it."""
    if way == "onehot" and count > MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {count:,} categories, more than the {MOST_CATEGORIES:,} that get a column each: "
            f"use {option('categories', 'auto')}."
        )
    if way == "target" and targets is None:
        raise ValueError(f"column {name!r} is to be encoded by its effect on the target: give y.")
    if way == "onehot" or (way == "auto" and count <= max_onehot):
        return {"onehot"}, "a column for each"
    if way == "hash":
        return {"hash"}, "hashed"
    if way == "target":
        return {"target"}, "by their effect on the target"
    if targets is None or (targets.kind == "classes" and targets.outputs > MOST_CLASSES):
        why = "there is no target" if targets is None else f"the target has more than {MOST_CLASSES} classes"
        return {"hash"}, f"more than {max_onehot}: hashed, since {why}"
    return {"target", "hash"}, f"more than {max_onehot}: by their effect on the target, and hashed"


def effect_table(
    found: CategoryStatistics, targets: Targets, smoothing: str | float
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Effects of each slot on the outputs, and the names of these; of classes all but the first in order."""
    chosen = chosen_outputs(targets)
    # In the order of names, for sums to have the same bits in whatever order the rows came.
    order = np.array([0, *(found.places[value] for value in sorted(found.places))])
    table = np.empty((len(order), len(chosen)))
    table[order] = effects(
        found.counts[order], found.sums[np.ix_(order, np.array(chosen))], targets.squares[chosen], smoothing
    )
    if targets.kind == "classes":
        return table, tuple(f" on {targets.classes[k]}" for k in chosen)
    return table, ("",) if len(chosen) == 1 else tuple(f" on {k}" for k in chosen)


def chosen_outputs(targets: Targets) -> list[int]:
    """The outputs that effects are told of: the last class follows from the others."""
    if targets.kind == "continuous":
        return list(range(targets.outputs))
    return sorted(range(targets.outputs), key=lambda k: targets.classes[k])[min(1, targets.outputs - 1) :]
