"""Damaged and hostile files by the thousand: model files, checkpoints and small tables of every format.

Each case takes a good file, damages it, and opens it. It must be read or be refused in one clear sentence: no other
exception, no crash, no hang, no allocation beyond what the file warrants. Cases run in forked processes with a limit
on memory and time. Run as `python -m helpers.fuzz <cases> [<seed>]` in tests.
"""

import contextlib
import copy
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads before fork

import h5py
import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file

import bochner
from bochner import storage
from bochner.bases import REGISTRY
from bochner.blocks import Journal
from bochner.blocks.checkpoint import KIND as CHECKPOINT
from bochner.hashing.saving import INDEX_PARTS
from bochner.models.base import KEPT
from bochner.models.saving import KIND, VERSION

BATCH = 200  # cases of one process
ROOM = 600 << 20  # bytes that a process may take beyond what it starts with
SECONDS = 20  # that a case may take
TABLES = ("t.parquet", "t.feather", "t.csv", "t.csv.gz", "t.jsonl", "t.npy", "t.h5", "t.svm")


def make_good_files(folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=rng.choice(["x", "é", "zz"], 40), y=X[:, 0])
    frame.to_parquet(folder / "t.parquet", row_group_size=16)
    frame.to_feather(folder / "t.feather")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    np.save(folder / "t.npy", X)
    with h5py.File(folder / "t.h5", "w") as file:
        file["x"] = X
    dump_svmlight_file(X, X[:, 0] > 0, str(folder / "t.svm"))
    bases = [cls(8) for cls in REGISTRY.values()] + [cls(8, precision="int8") for cls in REGISTRY.values()]
    for k, basis in enumerate(bases):
        model = bochner.RandomFeatureClassifier(basis, random_state=0, alpha=1.0).fit(
            bochner.read(frame, target="t"), checkpoint=folder / "check"
        )
        model.save(folder / f"{k}.bochner", sums=True)
        for step in sorted((folder / "check").glob("step-*")):
            shutil.copy(step, folder / f"{k}-{step.name}")
        shutil.rmtree(folder / "check")
    for precision in (None, "int8"):
        bochner.MaxoutIndex(2, precision=precision, random_state=0).fit(X).save(folder / f"index-{precision}.bochner")


# ---- damage ----


def damaged(data, chance):
    """Bytes changed, cut, repeated, inserted or swapped."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        place = chance.randrange(len(data) + 1)
        other = chance.randrange(len(data) + 1)
        low, high = min(place, other), min(max(place, other), min(place, other) + 64)
        kind = chance.randrange(7)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1 and data:
            data[place % len(data)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, ord("9"), ord('"'), ord("-")))
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[low:high]
        elif kind == 4:
            data[place:place] = data[low:high]
        elif kind == 5:
            data[place:place] = chance.randbytes(chance.randrange(1, 9))
        else:
            data[place : place + 8] = chance.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", b"99999999"))
        if not data:
            break
    return bytes(data)


ODD = [
    None, True, -1, 0, 1, 7, 2**31, 2**63, 10**30, -(10**30), 1.5, float("nan"), float("inf"), -float("inf"), 1e308, "",
    "x", "int8", [], {}, [[]], {"array": 0}, {"array": 10**9}, {"array": -1}, {"text": 0, "dtype": "text"},
    {"tuple": []}, {"dict": []}, {"object": "Quantizer", "state": {"dict": []}}, {"object": "Recipe"}, "9" * 500,
]  # fmt: skip


def hostile(path, kind, known, chance):
    """A file of right form and checksum whose content was changed here and there."""
    version, tree = storage.load(path, kind, range(1, VERSION + 1), known)
    arrays = []
    tree = storage.pack(tree, arrays, {cls.__name__: cls for cls in known})
    for _ in range(chance.choice((1, 1, 2, 5))):
        tree = changed(tree, chance)
    if arrays and chance.random() < 0.5:
        k = chance.randrange(len(arrays))
        array = arrays[k]
        arrays[k] = chance.choice(
            (array[:0], array.ravel(), array.astype(np.int8), array * 0, np.zeros((3, 3, 3)), array.T, array / 0.0)
        )
    write_raw(path, kind, version, json.dumps(tree), arrays)


def changed(tree, chance):
    """The tree with one of its nodes replaced, dropped or doubled."""
    places = []

    def visit(node):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in items:
            places.append((node, key))
            visit(child)

    visit(tree)
    if not places:
        return copy.deepcopy(chance.choice(ODD))
    node, key = chance.choice(places)
    kind = chance.randrange(4)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif kind == 2:
        other, place = chance.choice(places)
        with contextlib.suppress(LookupError):
            node[key] = json.loads(json.dumps(other[place]))
    else:
        node[key] = copy.deepcopy(chance.choice(ODD))
    return tree


def write_raw(path, kind, version, text, arrays):
    arrays = [np.asarray(a, order="C") for a in arrays]
    identity = {"format": kind, "version": str(version), "tree": text}
    header, end = {}, 0
    for k, array in enumerate(arrays):
        start, end = end, end + array.nbytes
        header[str(k)] = {
            "dtype": storage.NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end],
        }  # fmt: skip
    header["__metadata__"] = {**identity, "sha256": storage.checksum(identity, arrays)}
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(a.tobytes() for a in arrays))


# ---- cases ----


def run_case(number, seed, good, folder):
    """One case; returns what was wrong, or nothing."""
    chance = random.Random(f"{seed}-{number}")
    names = sorted(path.name for path in good.iterdir())
    kind = chance.randrange(4)
    if kind == 0:
        name = chance.choice([n for n in names if n.startswith("t.")])
        (folder / name).write_bytes(damaged((good / name).read_bytes(), chance))
        return refused_well(lambda: walk_table(folder / name))
    if kind == 1:
        name = chance.choice([n for n in names if n.endswith(".bochner")])
        (folder / name).write_bytes(damaged((good / name).read_bytes(), chance))
        return refused_well(lambda: use_model(folder / name))
    if kind == 2:
        name = chance.choice([n for n in names if n.endswith(".bochner")])
        shutil.copy(good / name, folder / name)
        hostile(folder / name, KIND, INDEX_PARTS, chance)
        return refused_well(lambda: use_model(folder / name))
    name = chance.choice([n for n in names if n.endswith(".checkpoint")])
    shutil.copy(good / name, folder / "step-00001.checkpoint")
    if chance.random() < 0.5:
        hostile(folder / "step-00001.checkpoint", CHECKPOINT, KEPT, chance)
    else:
        path = folder / "step-00001.checkpoint"
        path.write_bytes(damaged(path.read_bytes(), chance))
    return refused_well(lambda: use_checkpoint(folder))


def walk_table(path):
    for block in bochner.read(path, missing="mean").stream(0, 16):
        block.X.sum()


def use_model(path):
    model = bochner.load(path)
    if isinstance(model, bochner.MaxoutIndex):
        model.query(np.ones((2, 3)), 2)
        return
    model.predict(np.ones((2, 4)))
    model.explain_fit()


def use_checkpoint(folder):
    journal = Journal(folder, {}, KEPT)
    try:
        journal._load("step-00001")
    finally:
        journal.close()


def refused_well(action):
    signal.alarm(SECONDS)
    try:
        action()
    except (ValueError, OSError) as error:
        text = str(error)
        if type(error).__name__ not in ("ValueError", "BadFileError", "FileNotFoundError", "OSError"):
            return f"{type(error).__name__}: {text}"
        if not text or "\n" in text or len(text) > 700:
            return f"no clear sentence: {text!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return None


def run_batch(numbers, run):
    """Some cases in a process of their own, each in a folder of its own: `run(number, folder)`; returns the faults."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        process = os.fork()
        if process == 0:
            try:
                warnings.simplefilter("ignore")
                taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
                with open(log, "w") as out:
                    for number in numbers:
                        folder = Path(scratch) / str(number)
                        folder.mkdir()
                        out.write(f"{number}\n")
                        out.flush()
                        fault = run(number, folder)
                        if fault:
                            out.write(f"! {fault.splitlines()[0]}\n")
                        shutil.rmtree(folder)
                os._exit(0)
            except BaseException as error:
                with open(log, "a") as out:
                    out.write(f"! harness: {error!r}\n")
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        lines = log.read_text().splitlines() if log.exists() else []
        faults = [f"case {lines[k - 1]}: {line[2:]}" for k, line in enumerate(lines) if line.startswith("! ")]
        if code != 0:
            faults.append(f"the process ended with {code} in case {lines[-1] if lines else '?'}")
        return faults


def main(cases, seed=0):
    with tempfile.TemporaryDirectory() as scratch:
        good = Path(scratch)
        make_good_files(good)
        return run_batches(cases, lambda number, folder: run_case(number, seed, good, folder))


def run_batches(cases, run):
    """So many cases, and a word on how they went; whether all went well."""
    faults = []
    for first in range(0, cases, BATCH):
        faults += run_batch(range(first, min(first + BATCH, cases)), run)
    shown = int(os.environ.get("FAULTS", "10"))
    print(json.dumps({"cases": cases, "faults": len(faults), "first": faults[:shown]}, indent=1))
    return not faults


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
