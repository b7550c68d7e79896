"""Files of trees: what goes in comes out, and a damaged file is refused in one sentence."""

import errno
import json
import os
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bochner import storage

KIND, VERSIONS = "test", range(1, 3)


@dataclass
class Point:
    x: float
    tags: tuple


def write(path, tree, version=1, known=(Point,)):
    storage.save(path, KIND, version, tree, known)


def read(path, known=(Point,)):
    return storage.load(path, KIND, VERSIONS, known)[1]


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
numbers = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int16, np.int8, np.uint8, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements={"allow_nan": False},
)
words = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4).map(
    lambda items: np.array(items, dtype=object)
)
trees = st.recursive(
    scalars | numbers | words,
    lambda node: st.lists(node, max_size=3) | st.dictionaries(st.text(), node, max_size=3) | st.tuples(node, node),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(tree=trees)
def test_what_goes_in_comes_out(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("tree") / "t"
    write(path, tree)
    assert same(read(path), tree)


def test_objects_of_known_classes_and_sparse_rows(tmp_path):
    rows = scipy.sparse.random(5, 4, 0.5, format="csr", random_state=0)
    write(tmp_path / "t", {"p": Point(1.5, ("a", 2)), "rows": rows, "n": np.float32(0.1), "u": np.array(["é", "b"])})
    tree = read(tmp_path / "t")
    assert tree["p"] == Point(1.5, ("a", 2))
    assert (tree["rows"] != rows).nnz == 0
    assert tree["u"].dtype.kind == "U"
    assert tree["u"].tolist() == ["é", "b"]
    with pytest.raises(storage.BadFileError, match="holds no valid test"):
        read(tmp_path / "t", known=())
    with pytest.raises(ValueError, match="cannot be stored"):
        write(tmp_path / "t", object())
    with pytest.raises(ValueError, match="cannot be stored"):
        write(tmp_path / "t", Point(1.0, ()), known=())


def test_arrays_can_be_read_by_safetensors_alone_and_be_written_to(tmp_path):
    from safetensors.numpy import load_file

    write(tmp_path / "t", [np.arange(6.0).reshape(2, 3), np.int8([1, 2])])
    arrays = load_file(tmp_path / "t")
    assert np.array_equal(arrays["0"], np.arange(6.0).reshape(2, 3))
    mine = read(tmp_path / "t")[0]
    mine += 1.0
    assert mine[0, 0] == 1.0


def test_every_truncation_is_refused(tmp_path):
    write(tmp_path / "t", {"a": np.arange(5.0), "b": "text"})
    whole = (tmp_path / "t").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(storage.BadFileError, match="truncated, corrupted or not a test file"):
            read(tmp_path / "cut")


def test_every_changed_byte_is_refused(tmp_path):
    write(tmp_path / "t", {"a": np.arange(5.0), "b": "text"})
    whole = bytearray((tmp_path / "t").read_bytes())
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        (tmp_path / "bad").write_bytes(changed)
        with pytest.raises(storage.BadFileError) as caught:
            read(tmp_path / "bad")
        assert "\n" not in str(caught.value)


def test_versions(tmp_path):
    write(tmp_path / "t", 1, version=7)
    with pytest.raises(storage.BadFileError, match=r"version '7'.*upgrade bochner"):
        read(tmp_path / "t")
    write(tmp_path / "t", 1, version=0)
    with pytest.raises(storage.BadFileError, match="version '0'"):
        read(tmp_path / "t")
    with pytest.raises(storage.BadFileError, match="is not a other file"):
        storage.load(tmp_path / "t", "other", VERSIONS)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write(tmp_path / "t", "old")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"cannot write .*No space left"):
            write(tmp_path / "t", "new")
    assert read(tmp_path / "t") == "old"
    assert os.listdir(tmp_path) == ["t"]


def test_an_interrupted_write_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), storage.replacing(tmp_path / "t") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path, 1)
    with pytest.raises(FileNotFoundError, match="cannot write"):
        write(tmp_path / "no" / "t", 1)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "t")


def forged(path, text, arrays=()):
    """A file with a right checksum and whatever tree."""
    identity = {"format": KIND, "version": "1", "tree": text}
    header, data = {}, b""
    for k, array in enumerate(arrays):
        header[str(k)] = {
            "dtype": storage.NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    header["__metadata__"] = {**identity, "sha256": storage.checksum(identity, list(arrays))}
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000 + "]" * 50_000, "{",
        '{"array": 3}', '{"array": "x"}', '{"object": "Point", "state": {"dict": []}}',
        '{"object": "Point", "state": {"dict": [["x", 1], ["tags", 2], ["evil", 3]]}}', '{"object": "os.system"}',
        '{"dict": [[[], 1]]}', '{"csr": [1, 2, 3], "shape": [1000000000000, 5]}', "9" * 10_000, '{"tuple": 5}',
        '{"text": 0, "dtype": "text"}', '{"what": 1}', '{"object": ["Point"], "state": 1}',
    ],
)  # fmt: skip
def test_forged_trees_are_refused(tmp_path, text):
    forged(tmp_path / "t", text, [np.frombuffer(b'{"a": 1}', dtype=np.uint8)])
    with pytest.raises(storage.BadFileError):
        read(tmp_path / "t")


def test_text_that_would_swell_is_refused(tmp_path):
    items = json.dumps(["x" * 100_000] + [""] * 100_000).encode()
    forged(tmp_path / "t", '{"text": 0, "dtype": "text"}', [np.frombuffer(items, dtype=np.uint8)])
    with pytest.raises(storage.BadFileError, match="larger than its file warrants"):
        read(tmp_path / "t")


def test_too_large_a_tree_is_refused_on_both_sides(tmp_path):
    with pytest.raises(ValueError, match="more than a file holds"):
        write(tmp_path / "t", ["x" * 1000] * 2000)
    forged(tmp_path / "t", '"' + "x" * (1 << 20) + '"')
    with pytest.raises(storage.BadFileError, match="too large to be true"):
        read(tmp_path / "t")
