"""Trees of numbers, text and arrays in one file: safetensors with JSON in its header, and a checksum over both.

No pickle: only classes that the reader names are made, and those from plain values. A file is written beside its final
name, flushed to the disk and renamed, so that a final name never holds half a file. Nothing larger than the file itself
is allocated on reading, and JSON is held to a megabyte.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import scipy.sparse
from safetensors import SafetensorError, safe_open

from .arrays import to_numpy

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
LARGEST_TREE = 1 << 20  # bytes of JSON; whatever grows with the data is an array
DEEPEST = 100
PART = ".bochner-"  # how the names of files in the making begin
NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
# What wrong content makes of code that takes it for granted.
UNSOUND = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)


class BadFileError(ValueError):
    """A file that is truncated, corrupted, or not what was asked for."""


# ---- files ----


def save(
    path: str | os.PathLike[str], kind: str, version: int, tree: object, known: Iterable[type] = (),
    check: Callable[[Any], Any] | None = None,
) -> None:  # fmt: skip
    """Write a tree whole or not at all; `check` is given the tree as a reader will have it, and refuses by raising."""
    arrays: list[np.ndarray] = []
    by_name = {cls.__name__: cls for cls in known}
    packed = pack(tree, arrays, by_name)
    text = json.dumps(packed)
    if check is not None:
        require_readable(packed, arrays, by_name, check)
    if len(text) > LARGEST_TREE:
        raise ValueError(f"{len(text):,} bytes of names and settings are more than a file holds ({LARGEST_TREE:,}).")
    arrays = [np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for a in arrays]
    header: dict[str, Any] = {}
    end = 0
    for k, array in enumerate(arrays):
        start, end = end, end + array.nbytes
        header[str(k)] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    identity = {"format": kind, "version": str(version), "tree": text}
    header["__metadata__"] = {**identity, "sha256": checksum(identity, arrays)}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with replacing(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data)


def load(path: str | os.PathLike[str], kind: str, versions: range, known: Iterable[type] = ()) -> tuple[int, Any]:
    """(version, tree) of a file; what is not such a file, or is damaged, is refused in one sentence."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    try:
        with safe_open(path, framework="numpy") as file:
            identity = dict(file.metadata() or {})
            claimed = identity.pop("sha256", "")
            if identity.get("format") != kind:
                raise BadFileError(f"{str(path)!r} is not a {kind} file.")
            if len(identity.get("tree", "")) > LARGEST_TREE:
                raise BadFileError(f"{str(path)!r} has a header that is too large to be true.")
            arrays = [file.get_tensor(name) for name in sorted(file.keys(), key=int)]
    except BadFileError:
        raise
    except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
        raise BadFileError(
            f"{str(path)!r} is truncated, corrupted or not a {kind} file ({first_line(error)})."
        ) from None
    if checksum(identity, arrays) != claimed:
        raise BadFileError(f"{str(path)!r} is corrupted: its checksum is wrong.")
    version = int(identity["version"]) if identity.get("version", "").isdecimal() else -1
    if version not in versions:
        newer = version >= versions.stop
        raise BadFileError(
            f"{str(path)!r} has version {identity.get('version')!r} of the {kind} format; this bochner reads "
            f"{versions.start} to {versions.stop - 1}" + (": upgrade bochner." if newer else ".")
        )
    try:
        tree = json.loads(identity["tree"])
        require_shallow(tree)
        return version, unpack(tree, arrays, {cls.__name__: cls for cls in known})
    except UNSOUND as error:
        raise BadFileError(f"{str(path)!r} holds no valid {kind} ({first_line(error)}).") from None


def require_readable(
    packed: object, arrays: list[np.ndarray], known: dict[str, type], check: Callable[[Any], Any]
) -> None:
    """Refuse to write what would be refused when it is read."""
    try:
        check(unpack(packed, arrays, known))
    except UNSOUND as error:
        raise ValueError(f"this could not be read again ({first_line(error)}): nothing is written.") from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes its name only when it is complete and on the disk."""
    given, path = os.fspath(path), Path(os.path.realpath(path))  # a link stays one, to the new file
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give a file name.")
    if path.exists() and not path.is_file():
        raise ValueError(f"{str(path)!r} is a device or a pipe: files are written under another name first.")
    part = path.with_name(f"{PART}{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        if error.filename not in (None, str(part)):  # what went wrong was another file
            raise
        raise type(error)(error.errno, f"cannot write {given!r}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename last through a loss of power, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def checksum(identity: dict[str, str], arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode())
    for array in arrays:
        digest.update(f"{array.dtype.name}{array.shape}".encode())
        digest.update(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


# ---- trees ----
# A plain value is itself; the rest is a dictionary of one key that says what it is.


def pack(given: object, arrays: list[np.ndarray], known: dict[str, type]) -> Json:
    """The JSON of a value; arrays are put aside and numbered."""
    if given is None or isinstance(given, bool | int | float | str):
        return given
    value = to_numpy(given)  # tensors, which a file holds as arrays
    if isinstance(value, np.generic):
        return pack(value.item(), arrays, known)
    if isinstance(value, np.ndarray):
        return pack_array(value, arrays)
    if scipy.sparse.issparse(value):
        parts: list[Json] = [pack_array(part, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"csr": parts, "shape": [int(size) for size in value.shape]}
    if isinstance(value, list):
        return [pack(item, arrays, known) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [pack(item, arrays, known) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[pack(k, arrays, known), pack(v, arrays, known)] for k, v in value.items()]}
    if known.get(type(value).__name__) is not type(value):
        raise ValueError(f"{value!r} cannot be stored: only values of bochner's own classes can.")
    return {"object": type(value).__name__, "state": pack(state_of(value), arrays, known)}


def unpack(tree: object, arrays: list[np.ndarray], known: dict[str, type]) -> Any:
    if isinstance(tree, list):
        return [unpack(item, arrays, known) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "text" in tree:
        return unpack_text(arrays[tree["text"]], tree["dtype"])
    if "csr" in tree:
        parts = tuple(unpack(part, arrays, known) for part in tree["csr"])
        return scipy.sparse.csr_matrix(parts, shape=tuple(tree["shape"]))
    if "tuple" in tree:
        return tuple(unpack(item, arrays, known) for item in tree["tuple"])
    if "dict" in tree:
        return {unpack(k, arrays, known): unpack(v, arrays, known) for k, v in tree["dict"]}
    cls, state = known[tree["object"]], unpack(tree["state"], arrays, known)
    return cls.from_state(state) if hasattr(cls, "from_state") else cls(**state)


def state_of(value: Any) -> dict[str, Any]:
    """What a value is made of: its own `to_state`, or the fields of a dataclass that its constructor takes."""
    if hasattr(value, "to_state"):
        return dict(value.to_state())
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}


def pack_array(array: np.ndarray, arrays: list[np.ndarray]) -> dict[str, Json]:
    if array.dtype.kind in "UO":
        if not all(isinstance(item, str) for item in array.ravel().tolist()) or array.ndim != 1:
            raise ValueError("an array of objects can be stored only if it is a list of text.")
        text = json.dumps(array.tolist()).encode()
        arrays.append(np.frombuffer(text, dtype=np.uint8))
        return {"text": len(arrays) - 1, "dtype": "object" if array.dtype.kind == "O" else "text"}
    if array.dtype.name not in NAMES:
        raise ValueError(f"an array of type {array.dtype} cannot be stored.")
    arrays.append(array)
    return {"array": len(arrays) - 1}


def unpack_text(encoded: np.ndarray, dtype: str) -> np.ndarray:
    items = json.loads(encoded.tobytes())
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("a list of text is expected")
    if dtype == "object":
        return np.array(items, dtype=object)
    # All items of such an array take the room of the longest.
    if len(items) * max(map(len, items), default=0) > 64 * len(encoded) + (1 << 20):
        raise ValueError("a list of text is larger than its file warrants")
    return np.array(items, dtype=np.str_)


def require_shallow(tree: object) -> None:
    """Refuse a tree that is nested too deeply for a recursive reader."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ValueError("the tree is nested too deeply")
        children: list[Any] = []
        for node in level:
            children.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        level = children
