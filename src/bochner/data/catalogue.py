"""Data sets of the experiments: a folder with a MANIFEST.json that gives the files of each set with their checksums.

The folder is the environment variable BOCHNER_DATA, or `bochner/data` in the user's cache. Nothing is downloaded: the
licences of several sets ask that everybody fetches their own copy.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DataSet:
    """One set: its name, the files with size and sha256, what it is for, and its licence."""

    name: str
    files: dict[str, dict[str, Any]]
    task: str
    rows: str
    licence: str

    def missing(self, root: Path) -> list[str]:
        return [name for name in self.files if not (root / name).is_file()]

    def broken(self, root: Path) -> list[str]:
        """Files that are there but are not what the manifest says."""
        there = (name for name in self.files if (root / name).is_file())
        return [name for name in there if sha256(root / name) != self.files[name]["sha256"]]


def folder() -> Path:
    """Where data sets are kept."""
    if os.environ.get("BOCHNER_DATA"):
        return Path(os.environ["BOCHNER_DATA"])
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "bochner" / "data"


def data_sets(root: Path | None = None) -> list[DataSet]:
    """What the manifest lists."""
    root = folder() if root is None else root
    manifest = root / "MANIFEST.json"
    if not manifest.is_file():
        raise FileNotFoundError(
            f"there is no {str(manifest)!r}: put data sets and their MANIFEST.json there, or set BOCHNER_DATA to their "
            "folder."
        )
    try:
        listed = json.loads(manifest.read_text())["datasets"]
        return [
            DataSet(
                str(entry["name"]), dict(entry["files"]), str(entry.get("task", "")), counts(entry.get("n_samples")),
                str(entry.get("licence", "")),
            )
            for entry in listed
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(manifest)!r} is not a manifest of data sets ({error}).") from None


def counts(samples: Any) -> str:
    if isinstance(samples, dict):
        return ", ".join(f"{number:,} {part}" for part, number in samples.items())
    return f"{samples:,}" if isinstance(samples, int) else str(samples or "")


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
