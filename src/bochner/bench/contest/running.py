"""A contest is walked split by split, set by set, contestant by contestant; what is done stays done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...data.catalogue import suggestion
from ...data.frames import FrameSet
from .boosting import CatBoost, LightGBM, XGBoost
from .entrant import Contestant
from .ours import Automatic, Defaults
from .process import Result, enter
from .record import Record
from .recursive import RecursiveFeatures
from .scikit import Forest, Network, SupportVectors

CONTESTANTS: dict[str, type[Contestant]] = {
    kind.name: kind
    for kind in (
        Automatic, Defaults, LightGBM, XGBoost, CatBoost, RecursiveFeatures, Network, SupportVectors, Forest,
    )
}  # fmt: skip


class Step(NamedTuple):
    """One contestant on one split of a set; splits are counted from 1."""

    data: FrameSet
    split: int
    contestant: Contestant


def chosen(names: Sequence[str] = ()) -> list[Contestant]:
    """The contestants of these names, or all that can enter here; who is asked for and cannot is refused."""
    for name in names:
        if name not in CONTESTANTS:
            raise ValueError(f"there is no contestant {name!r}: {suggestion(name, CONTESTANTS)}")
    found = [CONTESTANTS[name]() for name in dict.fromkeys(names or CONTESTANTS)]
    if not names:
        return [one for one in found if not one.missing()]
    for one in found:
        if one.missing():
            raise ImportError(f"{one.name} cannot enter: {one.missing()}")
    return found


def steps(data: Sequence[FrameSet], splits: int, contestants: Sequence[Contestant]) -> list[Step]:
    """All sets with their first split, then with their second: a contest that is stopped has seen every set."""
    return [
        Step(one, split, contestant)
        for split in range(1, splits + 1)
        for one in data if split <= one.splits
        for contestant in contestants
    ]  # fmt: skip


def run(
    record: Record, plan: Sequence[Step], out: Path | None, tell: Callable[[Step, Result | None], None]
) -> None:  # fmt: skip
    """Walk the steps that the record lacks; `tell` is told of each before it begins and when it has ended."""
    loaded, at = None, ("", 0)
    for step in plan:
        if record.has(step.data.name, step.split, step.contestant.name):
            continue
        tell(step, None)
        if at != (step.data.name, step.split):
            loaded, at = step.data.load(step.split - 1), (step.data.name, step.split)
            record.describe(step.data.name, step.split, loaded)
        assert loaded is not None
        result = enter(step.contestant, loaded, record.seconds, record.machine["cores"], seed=step.split - 1)
        record.add(step.data.name, step.split, step.contestant.name, result)
        if out is not None:
            record.write(out)
        tell(step, result)
