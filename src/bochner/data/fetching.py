"""Fetch the files of a data set: none gets its name before its checksum is right, and none is replaced unasked."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal

from ..storage import replacing
from .catalogue import DataSet, File, content_digest
from .making import MAKERS

PATIENCE = 60.0  # seconds without an answer
LARGEST = 1 << 28  # bytes of one download
CHUNK = 1 << 16
Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a file, in a word and a sentence."""

    file: str
    status: Literal["there", "fetched", "different", "failed", "by hand"]
    detail: str = ""


def fetch(
    wanted: DataSet, root: Path, *, force: bool = False, tell: Tell = lambda file, done, size: None
) -> list[Outcome]:
    """Get what is not there yet. A file that holds something else is left alone, unless `force`."""
    return [fetch_file(wanted, name, root, force, tell) for name, file in wanted.files.items() if worth(file)]


def worth(file: File) -> bool:
    """Texts that go with a set are fetched where that is possible, and not asked for where it is not."""
    return bool(file.urls or not file.extra)


def fetch_file(wanted: DataSet, name: str, root: Path, force: bool, tell: Tell) -> Outcome:
    file, path = wanted.files[name], root / name
    if path.is_file():
        if content_digest(path) == file.sha256:
            return Outcome(name, "there")
        if not force:
            return Outcome(name, "different", "a file of this name holds something else; --force replaces it.")
    if not file.urls and not file.made:
        return Outcome(name, "by hand", f"{wanted.by_hand} Put it at {str(path)!r}.")
    faults = []
    for url in file.urls or [""]:
        try:
            body = download(url, lambda done, size: tell(name, done, size)) if url else b""
            made = MAKERS[file.made](body, path.parent) if file.made else stored(body, file, path)
            keep(made, file, path)
            return Outcome(name, "fetched", url)
        except (OSError, HTTPException, ValueError, EOFError, zlib.error) as error:
            faults.append(f"{url or 'from the other files'}: {reason(error)}")
    return Outcome(name, "failed", "; ".join(faults))


def download(url: str, tell: Callable[[int, int | None], None]) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "bochner"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        size = int(answer.headers["Content-Length"]) if answer.headers.get("Content-Length", "").isdecimal() else None
        body = bytearray()
        while chunk := answer.read(CHUNK):
            body += chunk
            if len(body) > LARGEST:
                raise ValueError(f"more than {LARGEST:,} bytes, which no file here has")
            tell(len(body), size)
    if size is not None and len(body) != size:
        raise ValueError(f"the connection broke after {len(body):,} of {size:,} bytes")
    return bytes(body)


def stored(body: bytes, file: File, path: Path) -> bytes:
    """The bytes to keep: those that the checksum means, found in the download, packed as the name says."""
    for content in contents(body, file.bytes):
        if hashlib.sha256(content).hexdigest() == file.sha256:
            return gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content
    raise ValueError("what came has another checksum")


def contents(body: bytes, size: int) -> Iterator[bytes]:
    """What a download may mean: itself, unpacked, or a member of the archive that it is; only what has the size."""
    candidates = [body, unpacked(body, size)]
    try:
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            for member in archive:
                opened = archive.extractfile(member) if member.isfile() and member.size <= LARGEST else None
                if opened is not None:
                    packed = opened.read()
                    candidates += [packed, unpacked(packed, size)]
    except (tarfile.TarError, EOFError, zlib.error):
        pass  # no archive, or half of one: what was found so far is tried
    yield from (content for content in candidates if len(content) == size)


def unpacked(body: bytes, size: int) -> bytes:
    """Gunzipped, but never more than a byte too many; nothing if it is no gzip."""
    if body[:2] != b"\x1f\x8b":
        return b""
    return zlib.decompressobj(wbits=31).decompress(body, size + 1)


def keep(content: bytes, file: File, path: Path) -> None:
    """Give the file its name, if it holds what it should."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write(content)
        part.flush()
        if content_digest(Path(part.name), path.suffix) != file.sha256:
            raise ValueError("what came has another checksum")


def reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
