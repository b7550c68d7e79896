"""Which files a path or a pattern names, and what their names say they hold."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

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
    if is_address(name):
        return remote_files(name)
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


def is_address(name: str) -> bool:
    """Whether a path names a file system too, as s3://bucket/rows.parquet does."""
    return "://" in name


def file_system(name: str) -> tuple[Any, str]:
    """What fsspec opens such a file by, and its path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f'reading {name!r} needs fsspec: pip install "bochner[dask]".') from None
    try:
        found: tuple[Any, str] = url_to_fs(name)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be read: {str(error).rstrip('.')}.") from None
    return found


def remote_files(name: str) -> list[str]:
    """The files that an address or a pattern of them names, in order, by their addresses."""
    system, path = file_system(name)
    if system.isdir(path):
        found = [file for file in system.ls(path, detail=False) if not file.rsplit("/", 1)[-1].startswith((".", "_"))]
    else:
        found = system.glob(path) if any(sign in path for sign in "*?[") else [path] if system.exists(path) else []
    if not found:
        raise FileNotFoundError(f"no file matches {name!r}.")
    return [system.unstrip_protocol(file) for file in sorted(found)]


def size_of(file: str) -> int:
    if not is_address(file):
        return Path(file).stat().st_size
    system, path = file_system(file)
    return int(system.size(path) or 0)


def require_local(files: list[str], format: str) -> None:
    """Refuse addresses where a format is read from disks of this machine alone."""
    if any(is_address(file) for file in files):
        raise ValueError(f"{format} files are read by their paths, not by addresses such as {files[0]!r}: copy them.")


def format_of(files: list[str], format: str | None) -> str:
    if format is not None:
        return require_choice("format", format, dict.fromkeys(FORMATS.values()))
    endings = [ending for ending in Path(files[0]).suffixes if ending.lower() not in COMPRESSED]
    found = FORMATS.get(endings[-1].lower()) if endings else None
    if found is None:
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(f"the name {files[0]!r} does not tell its format: give format=, one of {known}.")
    return found
