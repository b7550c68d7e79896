"""Run an experiment and keep what it found as JSON, with the machine, the commit and the time it took.

Parts of a long experiment are kept as they end: killed and run again with the same commit, it goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bochner import data
from bochner.machine import commit, machine
from bochner.storage import replacing

from .findings import Experiment, Job


def perform(experiment: Experiment, job: Job, folder: Path | None = None) -> dict[str, Any]:
    """The record of one run; refused in a sentence if a data set that it needs is not there.

    With a folder, parts that end are kept there until the record is complete.
    """
    if not job.quick:
        require_data(experiment)
    parts = None if folder is None or job.quick else Parts.of(folder, experiment.name)
    begun = time.perf_counter()
    found = experiment.run(job if parts is None else replace(job, part=parts.part))
    seconds = time.perf_counter() - begun + (parts.seconds_before if parts is not None else 0.0)
    if parts is not None:
        parts.path.unlink(missing_ok=True)
    return {
        "name": experiment.name, "paper": experiment.paper, "title": experiment.title, "quick": job.quick,
        "seconds": round(seconds, 1), "machine": machine(), **found.to_json(),
    }  # fmt: skip


@dataclass
class Parts:
    """Parts of one experiment that have ended, in a file; those of another commit are not taken."""

    path: Path
    commit: str | None
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds_before: float = 0.0

    @classmethod
    def of(cls, folder: Path, name: str) -> Parts:
        parts = cls(folder / ".parts" / f"{name}.json", commit())
        if parts.path.exists():
            kept = json.loads(parts.path.read_text(encoding="utf-8"))
            if kept["commit"] == parts.commit:
                parts.values = kept["values"]
        return parts

    def part(self, name: str, measure: Callable[..., Any], *given: Any) -> Any:
        if name in self.values:
            self.seconds_before += self.values[name]["seconds"]
            return self.values[name]["value"]
        begun = time.perf_counter()
        value = json.loads(json.dumps(measure(*given), allow_nan=False))
        self.values[name] = {"value": value, "seconds": time.perf_counter() - begun}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as file:
            file.write(json.dumps({"commit": self.commit, "values": self.values}).encode())
        return value


def require_data(experiment: Experiment) -> None:
    missing = [name for name in experiment.needs if not (data.folder() / name).is_dir()]
    if missing:
        raise FileNotFoundError(
            f"{experiment.name} needs the data sets {', '.join(missing)}, which are not in {str(data.folder())!r}: "
            "see `bochner data list`, set BOCHNER_DATA, or try --quick, which needs none."
        )


def write(record: dict[str, Any], folder: Path) -> Path:
    """NAME.json in the folder; a quick run never takes the place of a whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['name']}{'.quick' if record['quick'] else ''}.json"
    with replacing(path) as file:
        file.write((json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
    return path
