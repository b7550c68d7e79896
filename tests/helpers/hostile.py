"""Files of right form and checksum with one value changed, for every kind of model: refused, or fit for every verb.

Every leaf of a saved tree is changed in every way there is: other types, no value, NaN, infinite, huge, tiny, negative,
other shapes, other types of numbers. What loads must then predict finite numbers, and its other verbs must work or
refuse in one sentence. Run as `python -m helpers.hostile <cases> [<seed>]` in tests; 0 cases are all of them.
"""

import copy
import json
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads before fork

import numpy as np
import scipy.sparse

import bochner
from bochner import storage
from bochner.models.saving import KIND
from bochner.onnx_export import to_bytes
from helpers.fuzz import refused_well, run_batches, write_raw
from helpers.hostile_models import Kind, make_kinds

# ---- changes ----

PLAIN = [
    None, True, False, -1, 0, 1, 7, 2**31, 2**63, 10**30, -(10**30), 1.5, -1.5, float("nan"), float("inf"), 1e308,
    -1e308, 1e-308, 1e120, 1e-120, 1e35, 1e-35, 1e99, "", "x", "auto", "median", "int8", "float32", "9" * 400, [], [1],
    {"dict": []}, {"tuple": []}, {"array": 0}, {"array": 10**9}, {"array": -1},
    {"object": "Quantizer", "state": {"dict": []}},
]  # fmt: skip


def filled(value):
    def change(array):
        out = np.array(array, dtype=np.float64) if array.dtype.kind in "biuf" else np.array(array)
        out.flat[-1:] = value
        return out

    return change


def within(value):
    """The same type of numbers, one of them changed."""

    def change(array):
        out = np.array(array)
        with np.errstate(all="ignore"):
            out.flat[-1:] = np.asarray(value).astype(out.dtype)
        return out

    return change


ARRAYS = [
    lambda a: a[:0], lambda a: a[:1], lambda a: a.ravel(), lambda a: a.T, lambda a: a[None], lambda a: a[..., None],
    lambda a: np.concatenate([a, a]), lambda a: a.astype(np.int8), lambda a: a.astype(np.float32),
    lambda a: a.astype(np.float16), lambda a: a.astype(np.int64), lambda a: a.astype(np.uint64),
    lambda a: a.astype(bool),
    lambda a: a * 0, lambda a: -a.astype(np.float64), lambda a: np.full(a.shape, np.nan), lambda a: np.zeros(()),
    lambda a: a[::-1], filled(np.nan), filled(np.inf), filled(-np.inf), filled(1e308), filled(-1e308), filled(1e200),
    filled(1e-308), within(-1), within(0), within(2.0**62), within(-(2.0**62)), within(1e160),
]  # fmt: skip


def places_of(tree):
    """The paths of all values of a packed tree, and those of the pairs and items that can be left out."""
    values, items = [], []

    def visit(node, path):
        if isinstance(node, list):
            for k, child in enumerate(node):
                values.append((*path, k))
                items.append((*path, k))
                visit(child, (*path, k))
        elif isinstance(node, dict) and "dict" in node:
            for k, pair in enumerate(node["dict"]):
                values.append((*path, "dict", k, 1))
                items.append((*path, "dict", k))
                visit(pair[1], (*path, "dict", k, 1))
        elif isinstance(node, dict):  # a tuple, an object, an array
            for key, child in node.items():
                values.append((*path, key))
                visit(child, (*path, key))

    visit(tree, ())
    return values, items


def changes_of(tree, arrays):
    """Every change of a file: ("tree", path, what), ("array", which, how)."""
    values, items = places_of(tree)
    for path in values:
        for k in range(len(PLAIN)):
            yield "tree", path, k
    for path in items:
        yield "tree", path, len(PLAIN)
    for which in range(len(arrays)):
        for k in range(len(ARRAYS)):
            yield "array", which, k


def changed(tree, arrays, change):
    """The tree and the arrays after a change."""
    tree, arrays = copy.deepcopy(tree), list(arrays)
    kind, where, k = change
    if kind == "array":
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            arrays[where] = ARRAYS[k](arrays[where])
        return tree, arrays
    node = tree
    for key in where[:-1]:
        node = node[key]
    if k == len(PLAIN):
        del node[where[-1]]
    else:
        node[where[-1]] = copy.deepcopy(PLAIN[k])
    return tree, arrays


# ---- verbs ----


DEVIATING = bochner.RandomFeatureRegressor, bochner.DistributionRegressor, bochner.AutoRegressor


class NotSoundError(Exception):
    """What was loaded did not work."""


def require_sound(name, values):
    values = np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise NotSoundError(f"{name} gave numbers that are not finite")


def use(kind, path):
    """Load a file; what loads must work."""
    model = bochner.load(path)
    if type(model) is not type(kind.model):
        return
    rows, y = kind.rows, kind.y
    if hasattr(model, "query"):
        use_index(model)
        return
    columns = model.n_features_in_
    if isinstance(rows, np.ndarray) and columns != rows.shape[1]:
        rows = np.ones((3, columns)) if columns < 1000 else scipy.sparse.csr_matrix((3, columns))
        y = y[:3]
    must("predict", lambda: model.predict(rows))
    if hasattr(model, "explain_fit"):
        must("explain_fit", model.explain_fit)
    if hasattr(type(model), "leaderboard_"):
        must("leaderboard", lambda: model.leaderboard_)
    must("repr", lambda: repr(model))
    must("parameters", lambda: model.get_params())
    if hasattr(model, "coef_"):
        may("coefficients", lambda: model.coef_)
    for name in ("decision_function", "predict_proba", "local_coefficients"):
        if hasattr(model, name):
            may(name, lambda name=name: getattr(model, name)(rows))
    may("to_onnx", lambda: to_bytes(model))
    may("save", lambda: kind_like(kind, model).save(path))
    may("score", lambda: model.score(rows, y))
    if isinstance(model, DEVIATING):
        may("deviations", lambda: model.predict(rows, return_std=True)[1])
    if hasattr(model, "partial_fit"):
        for name in ("merge", "forget", "partial_fit", "grow", "calibrate"):
            again = bochner.load(path)
            act(name, again, kind, rows, y)


def kind_like(kind, model):
    return Kind(model, sums=kind.sums)


def act(name, model, kind, rows, y):
    """Change a model in one of its ways, then predict."""
    if not hasattr(model, name):
        return
    actions = {
        "merge": lambda: model.merge(copy.deepcopy(kind.model)),
        "forget": lambda: model.forget(rows[:5], y[:5]),
        "partial_fit": lambda: model.partial_fit(rows, y),
        "grow": lambda: model.grow(2),
        "calibrate": lambda: model.calibrate(rows, y),
    }
    if may(name, actions[name]):
        may(f"predict after {name}", lambda: model.predict(rows))
        may(f"explain_fit after {name}", model.explain_fit)


def use_index(index):
    rows = np.ones((2, index.n_features_in_)) if index.n_features_in_ < 1000 else None
    if rows is None:
        return
    must("query", lambda: index.query(rows, 1)[1])
    must("repr", lambda: repr(index))
    may("add", lambda: index.add(rows).query(rows, 2)[1])
    may("remove", lambda: index.remove(index.ids_[:1]).query(rows, 2)[1])


def must(name, action):
    """Do it and find only finite numbers."""
    try:
        found = action()
    except Exception as error:
        raise NotSoundError(f"{name}: {type(error).__name__}: {error}") from error
    if isinstance(found, np.ndarray):
        require_sound(name, found)


own = "bochner.solvers.minibatch"


def may(name, action):
    """Do it, or be refused in one sentence; whether it was done."""
    try:
        found = action()
    except (ValueError, AttributeError) as error:
        text = str(error)
        if (
            isinstance(error, ValueError)
            and type(error).__module__ in ("builtins", own)
            and text
            and "\n" not in text
            and len(text) < 700
        ):
            return False
        if type(error) is AttributeError and "needs" in text:
            return False
        raise NotSoundError(f"{name}: {type(error).__name__}: {text[:300]}") from error
    except Exception as error:
        raise NotSoundError(f"{name}: {type(error).__name__}: {error}") from error
    if isinstance(found, np.ndarray | float):
        require_sound(name, found)
    return True


# ---- cases ----


class Cases:
    """All cases of all kinds, in an order of their own for each seed."""

    def __init__(self, seed=0):
        self.kinds = make_kinds()
        self.files, self.all = {}, []
        with tempfile.TemporaryDirectory() as scratch:
            for name, kind in self.kinds.items():
                kind.save(Path(scratch) / "good")
                version, tree, arrays = raw(Path(scratch) / "good")
                self.files[name] = version, tree, arrays
                self.all += [(name, change) for change in changes_of(tree, arrays)]
        random.Random(seed).shuffle(self.all)

    def run(self, number, folder):
        """What is wrong in a case, or nothing."""
        name, change = self.all[number % len(self.all)]
        version, tree, arrays = self.files[name]
        tree, arrays = changed(tree, arrays, change)
        path = folder / "hostile"
        write_raw(path, KIND, version, json.dumps(tree), arrays)
        fault = refused_well(lambda: use(self.kinds[name], path))
        return fault and f"{name}: {self.told(name, change)}: {fault}"

    def told(self, name, change):
        """The change in words, for a report."""
        kind, where, k = change
        if kind == "array":
            return f"array {where} by change {k}"
        node, words = self.files[name][1], []
        for key in where:
            if isinstance(node, list) and isinstance(node[key], list) and len(node[key]) == 2:
                words.append(str(node[key][0]))  # a pair of a dictionary
            node = node[key]
        return f"{'/'.join(words)} {where[-1]} = {'dropped' if k == len(PLAIN) else PLAIN[k]!r}"


def raw(path):
    """The version, the packed tree and the arrays of a file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    identity = header.pop("__metadata__")
    types = {code: np.dtype(name) for name, code in storage.NAMES.items()}
    arrays = []
    for k in range(len(header)):
        told = header[str(k)]
        start, end = (8 + size + place for place in told["data_offsets"])
        arrays.append(np.frombuffer(data[start:end], dtype=types[told["dtype"]]).reshape(told["shape"]))
    return int(identity["version"]), json.loads(identity["tree"]), arrays


def main(count, seed=0):
    warnings.simplefilter("ignore")
    cases = Cases(seed)
    with bochner.config_context(progress=False):
        return run_batches(count or len(cases.all), cases.run)


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
