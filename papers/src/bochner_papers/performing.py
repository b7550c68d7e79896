"""Run an experiment and keep what it found as JSON, with the machine, the commit and the time it took."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from bochner import data
from bochner.machine import machine
from bochner.storage import replacing

from .findings import Experiment, Job


def perform(experiment: Experiment, job: Job) -> dict[str, Any]:
    """The record of one run; refused in a sentence if a data set that it needs is not there."""
    if not job.quick:
        require_data(experiment)
    begun = time.perf_counter()
    found = experiment.run(job)
    return {
        "name": experiment.name, "paper": experiment.paper, "title": experiment.title, "quick": job.quick,
        "seconds": round(time.perf_counter() - begun, 1), "machine": machine(), **found.to_json(),
    }  # fmt: skip


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
