"""Which files a path or a pattern names, and what their names say they hold."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..validation import require_choice

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv",
    ".tsv": "csv", ".txt": "csv", ".jsonl": "json", ".ndjson": "json", ".npy": "npy", ".h5": "hdf5", ".hdf5": "hdf5",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")


def matching(source: object) -> list[str]:
    """The files that a path, a pattern or a list of them names, in order."""
    if isinstance(source, list | tuple):
        return [file for part in source for file in matching(part)]
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"a path, a pattern, a frame or an Arrow table is expected; got {type(source).__name__}.")
    name = os.fspath(source)
    if Path(name).is_dir():
        files = sorted(
            str(file) for file in Path(name).iterdir() if file.is_file() and not file.name.startswith((".", "_"))
        )
    else:
        files = [name] if Path(name).is_file() else sorted(glob.glob(name))
    if not files:
        pattern = any(sign in name for sign in "*?[")
        raise FileNotFoundError(f"no file matches {name!r}." if pattern else f"there is no file {name!r}.")
    return files


def format_of(files: list[str], format: str | None) -> str:
    if format is not None:
        return require_choice("format", format, dict.fromkeys(FORMATS.values()))
    endings = [ending for ending in Path(files[0]).suffixes if ending.lower() not in COMPRESSED]
    found = FORMATS.get(endings[-1].lower()) if endings else None
    if found is None:
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(f"the name {files[0]!r} does not tell its format: give format=, one of {known}.")
    return found
