"""The record of a contest: one entry for each set, split and contestant, in a JSON file that grows as it goes.

The losses of the test rows are kept for the first split of each set: differences between contestants on the same rows
have a far smaller standard error than each has by itself. Wrong labels are bits; errors of numbers are their square
roots in 16 bits.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...data.frames import FrameSplit
from ...machine import machine
from ...storage import replacing
from .process import Result

KEY = ("dataset", "split", "contestant")
LARGEST = float(np.finfo(np.float16).max)


@dataclass
class Record:
    """Entries, the sets that they are of, the seconds that each was given, and the machine."""

    seconds: float
    machine: dict[str, Any] = field(default_factory=machine)
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)

    def has(self, dataset: str, split: int, contestant: str) -> bool:
        """Whether this is done; what failed is tried again, who was killed is not."""
        found = self.entry(dataset, split, contestant)
        return found is not None and found["status"] != "failed"

    def entry(self, dataset: str, split: int, contestant: str) -> dict[str, Any] | None:
        wanted = (dataset, split, contestant)
        return next((entry for entry in self.entries if tuple(entry[key] for key in KEY) == wanted), None)

    def describe(self, dataset: str, number: int, split: FrameSplit) -> None:
        """Rows and columns of the first split; later ones may differ a little."""
        if number > 1 and dataset in self.datasets:
            return
        self.datasets[dataset] = {
            "rows": len(split.y), "test_rows": len(split.y_test), "columns": split.X.shape[1],
            "labels": len(np.unique(split.y)) if split.has_labels else 0,
        }  # fmt: skip

    def add(self, dataset: str, split: int, contestant: str, result: Result) -> None:
        """Splits are counted from 1."""
        self.forget([dataset], [split], [contestant])
        entry = {
            "dataset": dataset, "split": split, "contestant": contestant, "status": result.status,
            "error": result.error, "seconds": round(result.seconds, 3),
            "predict_seconds": round(result.predict_seconds, 3), "tried": result.tried, "rows": result.rows,
            "note": result.note, "commit": self.machine["commit"],
        }  # fmt: skip
        if split == 1 and result.losses is not None:
            entry["losses"] = packed(result.losses, bool(self.datasets[dataset]["labels"]))
        self.entries.append(entry)

    def forget(self, datasets: Iterable[str], splits: Iterable[int], contestants: Iterable[str]) -> None:
        gone = tuple(map(set, (datasets, splits, contestants)))
        keep = [e for e in self.entries if not all(e[key] in names for key, names in zip(KEY, gone, strict=True))]
        self.entries[:] = keep

    def write(self, path: Path) -> None:
        content = {
            "seconds": self.seconds, "machine": self.machine, "datasets": self.datasets, "entries": self.entries,
        }  # fmt: skip
        with replacing(path) as file:
            file.write((json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read(path: Path) -> Record:
    """A record from its file; what is none is refused in a sentence."""
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise ValueError(f"{str(path)!r} is not the record of a contest.") from None


def opened(path: Path | None, seconds: float) -> Record:
    """A new record, or the one in the file, if it is of the same seconds and machine; its commit becomes this one."""
    record = Record(seconds)
    if path is None or not path.exists():
        return record
    kept = read(path)
    if kept.seconds != seconds:
        raise ValueError(f"{str(path)!r} is of a contest with {kept.seconds:g} seconds for each, not {seconds:g}.")
    for key in ("processor", "cores"):
        if kept.machine[key] != record.machine[key]:
            raise ValueError(
                f"{str(path)!r} is from another machine ({kept.machine[key]}, here {record.machine[key]}): "
                "seconds would not be comparable."
            )
    kept.machine = record.machine
    return kept


def packed(losses: np.ndarray, labels: bool) -> str:
    kept = np.packbits(losses > 0) if labels else np.minimum(np.sqrt(losses), LARGEST).astype("<f2")
    return base64.b64encode(zlib.compress(kept.tobytes(), 9)).decode()


def unpacked(text: str, rows: int, labels: bool) -> np.ndarray:
    """The losses of so many rows."""
    content = zlib.decompress(base64.b64decode(text))
    if labels:
        return np.unpackbits(np.frombuffer(content, dtype=np.uint8))[:rows].astype(np.float64)
    return np.square(np.frombuffer(content, dtype="<f2").astype(np.float64))


def row_losses(record: Record, entry: dict[str, Any]) -> np.ndarray | None:
    """The losses of the test rows of an entry, if they are kept."""
    about = record.datasets[entry["dataset"]]
    return unpacked(entry["losses"], about["test_rows"], bool(about["labels"])) if "losses" in entry else None


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of some numbers and its standard error; one number has none."""
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return float(np.mean(values)), spread
