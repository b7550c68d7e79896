"""Files of right form and checksum with one value changed, for every kind of model: refused, or fit for every verb.

Every leaf of a saved tree is changed in every way there is: other types, no value, NaN, infinite, huge, tiny, negative,
other shapes, other types of numbers. What loads must then predict finite numbers, and its other verbs must work or
refuse in one sentence. Run as `python tests/hostile.py <cases> [<seed>]`; 0 cases are all of them.
"""

import copy
import json
import os
import random
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads before fork

import numpy as np
import pandas as pd
import scipy.sparse

import bochner
from bochner import RandomFeatureClassifier as Classifier
from bochner import RandomFeatureRegressor as Regressor
from bochner import storage
from bochner.losses import Huber
from bochner.models.saving import KIND
from bochner.onnx_export import to_bytes
from bochner.solvers import SGD, Adam, DoublyStochastic
from fuzz import refused_well, run_batches, write_raw

rng = np.random.default_rng(5)
X = rng.standard_normal((40, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
THREE = np.array(["a", "bb", "c"])[np.argmax(X, axis=1)]
TWO = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["u", "v", "w"]).assign(t=np.array(["p", "q"])[TWO])
POINTS = [part + k for k, part in enumerate(np.split(rng.standard_normal((60, 2)), 12))]


@dataclass
class Kind:
    """A fitted model, how it is saved, and rows and targets for its verbs."""

    model: Any
    rows: Any = field(default_factory=lambda: X)
    y: Any = field(default_factory=lambda: Y)
    sums: bool = False

    def save(self, path):
        self.model.save(path, **({"sums": True} if self.sums else {}))


def regressors():
    def fitted(basis, y=Y, **how):
        return Regressor(basis, random_state=0, **{"alpha": 0.1, **how}).fit(X, y)

    two = np.column_stack([Y, -Y])
    yield "fourier sums", Kind(fitted(bochner.RandomFourier(6), alpha="auto"), sums=True)
    yield "fourier float32", Kind(fitted(bochner.RandomFourier(6, precision="float32", kernel="matern")))
    yield "fourier int8 sums", Kind(fitted(bochner.RandomFourier(6, precision="int8", pairs=False)), sums=True)
    yield "fourier laplacian", Kind(fitted(bochner.RandomFourier(6, kernel="laplacian", sampling="qmc"), two), y=two)
    ball = bochner.kernels.BallMatern(bandwidth=1.5, degree=3)
    yield "fourier ball", Kind(fitted(bochner.RandomFourier(6, kernel=ball, precision="int14"), alpha=[0.1, 1.0]))
    yield "fourier grown", Kind(fitted(bochner.RandomFourier(8)).grow(4), sums=True)
    yield "fixed", Kind(fitted(bochner.FixedFourier(np.eye(3), phases=[0.5], precision="int8")), sums=True)
    yield "fastfood", Kind(fitted(bochner.Fastfood(6, precision="int14")), sums=True)
    yield "fastfood float", Kind(fitted(bochner.Fastfood(6, calibration=np.ones(3), kernel="ball_matern", degree=3)))
    yield "maxout", Kind(fitted(bochner.RandomMaxout(6, precision="int8", structured=True)), sums=True)
    yield "maxout shared", Kind(fitted(bochner.RandomMaxout(6, shared_projections=9)))
    yield "gated", Kind(fitted(bochner.GatedLinear(8, sparse_output=True), precision="float32"), sums=True)
    yield "stumps", Kind(fitted(bochner.RandomStumps(6), precision="int8"), sums=True)
    yield "bins", Kind(fitted(bochner.RandomBins(16, n_grids=3)), sums=True)
    yield "ridge", Kind(fitted(bochner.RandomRidge(6, activation="relu", precision="int8")), sums=True)
    yield "ridge float", Kind(fitted(bochner.RandomRidge(6, activation="tanh"), solver="dual"))
    yield "huber", Kind(fitted(bochner.RandomFourier(6), loss=Huber(1.5)))
    yield "epsilon", Kind(fitted(bochner.RandomFourier(6), loss="epsilon_insensitive", alpha="auto"))
    yield "box", Kind(fitted(bochner.RandomFourier(6), max_coefficient=2.0))
    yield "adam", Kind(fitted(bochner.RandomFourier(6), solver=Adam(epochs=2)))
    yield "doubly", Kind(fitted(bochner.RandomFourier(6), solver=DoublyStochastic(batch_size=20, features=3)))
    table = bochner.read(FRAME.assign(y=Y), target="y")
    yield "table", Kind(Regressor(bochner.RandomFourier(6), random_state=0, alpha=0.1).fit(table), FRAME, sums=True)
    plain = pd.DataFrame(X, columns=["u", "v", "w"])
    yield "frame", Kind(Regressor(bochner.RandomFourier(6), random_state=0, alpha=0.1).fit(plain, Y), plain)


def classifiers():
    def fitted(y, basis=None, **how):
        basis = bochner.RandomFourier(6) if basis is None else basis
        return Classifier(basis, random_state=0, **{"alpha": 0.1, **how}).fit(X, y)

    yield "three classes", Kind(fitted(THREE), y=THREE, sums=True)
    yield "two classes", Kind(fitted(TWO, bochner.RandomMaxout(6, precision="int8"), alpha="auto"), y=TWO, sums=True)
    yield "truth", Kind(fitted(TWO == 1, class_weight={False: 1.0, True: 2.0}), y=TWO == 1, sums=True)
    yield "logistic", Kind(fitted(THREE, loss="logistic", class_weight="balanced"), y=THREE)
    yield "hinge", Kind(fitted(TWO.astype(float), loss="hinge"), y=TWO.astype(float))
    yield "sgd", Kind(fitted(TWO, loss="logistic", solver=SGD(epochs=2)), y=TWO)


def others():
    learned = {"random_state": 0, "max_iter": 2, "alpha": 0.01, "frequency_alpha": 0.0}
    yield "learned", Kind(bochner.LearnedFourierRegressor(5, **learned).fit(X, Y))
    fast = bochner.LearnedFourierRegressor(5, structure="fastfood", **learned)
    yield "learned fastfood", Kind(fast.fit(X, np.column_stack([Y, Y])), y=np.column_stack([Y, Y]))
    yield "learned classes", Kind(bochner.LearnedFourierClassifier(5, **learned).fit(X, THREE), y=THREE)
    squared = bochner.LearnedFourierClassifier(4, loss="squared", **learned)
    yield "learned squared", Kind(squared.fit(X, TWO), y=TWO)
    for precision in (None, "int8"):
        index = bochner.MaxoutIndex(2, precision=precision, random_state=0, center=precision is None)
        yield f"index {precision}", Kind(index.fit(X))
    yield "sparse index", Kind(bochner.MaxoutIndex(2, random_state=0, metric="angular").fit(X, ids=np.arange(40) * 3))


def make_kinds():
    return {name: kind for made in (regressors, classifiers, others) for name, kind in made()}


# ---- changes ----

PLAIN = [
    None, True, False, -1, 0, 1, 7, 2**31, 2**63, 10**30, -(10**30), 1.5, -1.5, float("nan"), float("inf"), 1e308, -1e308,
    1e-308, 1e120, 1e-120, 1e35, 1e-35, 1e99, "", "x", "auto", "median", "int8", "float32", "9" * 400, [], [1], {"dict": []}, {"tuple": []},
    {"array": 0}, {"array": 10**9}, {"array": -1}, {"object": "Quantizer", "state": {"dict": []}},
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
    lambda a: a.astype(np.float16), lambda a: a.astype(np.int64), lambda a: a.astype(np.uint64), lambda a: a.astype(bool),
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
    must("explain_fit", model.explain_fit)
    must("repr", lambda: repr(model))
    must("parameters", lambda: model.get_params())
    may("coefficients", lambda: model.coef_)
    for name in ("decision_function", "predict_proba", "local_coefficients"):
        if hasattr(model, name):
            may(name, lambda name=name: getattr(model, name)(rows))
    may("to_onnx", lambda: to_bytes(model))
    may("save", lambda: kind_like(kind, model).save(path))
    may("score", lambda: model.score(rows, y))
    if hasattr(model, "merge"):
        if isinstance(model, Regressor):
            may("deviations", lambda: model.predict(rows, return_std=True)[1])
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


own = "bochner.models.ways.stochastic"


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
