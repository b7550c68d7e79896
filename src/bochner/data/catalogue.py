"""Data sets of the experiments: their files with checksums, where each comes from, and under what licence.

They are kept in the folder that the environment variable BOCHNER_DATA names, or in `bochner/data` of the user's cache.
A checksum is of what a file holds, whatever the wrapper: of the unpacked bytes of a .gz, and of the members of an
archive (.zip, .npz). So a file that was packed again elsewhere is still known for what it is.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

CATALOGUE = Path(__file__).with_name("catalogue.json")


@dataclass(frozen=True)
class File:
    """The checksum and size of what a file holds, where to fetch it, or by what function of `making` it is made.

    extra : a text that goes with the set; nothing needs it.
    """

    sha256: str
    bytes: int
    urls: Sequence[str] = ()
    made: str = ""
    extra: bool = False


@dataclass(frozen=True)
class DataSet:
    """One set: its name, which is its folder; its files; what it is; its home; what to do if it cannot be fetched."""

    name: str
    title: str
    files: dict[str, File]
    task: str
    rows: str
    licence: str
    home: str
    by_hand: str = ""

    def missing(self, root: Path) -> list[str]:
        return [name for name, file in self.files.items() if not file.extra and not (root / name).is_file()]

    def broken(self, root: Path) -> list[str]:
        """Files that are there but do not hold what they should."""
        there = (name for name in self.files if (root / name).is_file())
        return [name for name in there if content_digest(root / name) != self.files[name].sha256]


def folder() -> Path:
    """Where data sets are kept."""
    if os.environ.get("BOCHNER_DATA"):
        return Path(os.environ["BOCHNER_DATA"])
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "bochner" / "data"


def data_sets() -> list[DataSet]:
    """All sets that the experiments use."""
    return [data_set(entry) for entry in json.loads(CATALOGUE.read_text(encoding="utf-8"))]


def data_set(entry: dict[str, Any]) -> DataSet:
    files = {name: File(**file) for name, file in entry["files"].items()}
    return DataSet(**{**entry, "files": files})


def named(names: Sequence[str]) -> list[DataSet]:
    """The sets of these names, all of them for "all"."""
    known = {found.name: found for found in data_sets()}
    if "all" in names:
        return list(known.values())
    for name in names:
        if name not in known:
            raise ValueError(f"there is no data set {name!r}: {suggestion(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to say to a name that is not among the known ones."""
    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."


def content_digest(path: Path, kind: str = "") -> str:
    """The checksum of what a file of this kind (by default, that of its name) holds; nothing, if it is damaged."""
    kind = kind or path.suffix
    try:
        if kind in (".zip", ".npz"):
            return members_digest(path)
        with gzip.open(path) if kind == ".gz" else open(path, "rb") as file:
            return sha256(file)
    except (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error):
        return ""


def members_digest(path: Path) -> str:
    """Over lines of checksum and name, as `sha256sum` prints them, in the order of the names."""
    lines = []
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            with archive.open(name) as member:
                lines.append(f"{sha256(member)}  {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def sha256(file: IO[bytes] | gzip.GzipFile) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()
