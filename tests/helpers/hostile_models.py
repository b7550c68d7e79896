"""A saved model of every kind, for hostile.py: small ones, so that every number of a file can be changed."""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import bochner
from bochner import RandomFeatureClassifier as Classifier
from bochner import RandomFeatureRegressor as Regressor
from bochner.losses import Huber
from bochner.models.auto import base as auto
from bochner.models.auto import deviations
from bochner.models.auto.chains import Chain
from bochner.solvers import SGD, Adam, DoublyStochastic

rng = np.random.default_rng(5)
X = rng.standard_normal((40, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
THREE = np.array(["a", "bb", "c"])[np.argmax(X, axis=1)]
TWO = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["u", "v", "w"]).assign(t=np.array(["p", "q"])[TWO])
DAYS = pd.date_range("2020-01-01", periods=40)
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
    yield "metric", Kind(fitted(bochner.RandomFourier(6), metric="diagonal", metric_rounds=1))
    yield "metric int8", Kind(fitted(bochner.RandomFourier(6, precision="int8"), metric="full", scale=None), sums=True)
    yield "fixed", Kind(fitted(bochner.FixedFourier(np.eye(3), phases=[0.5], precision="int8")), sums=True)
    yield "fastfood", Kind(fitted(bochner.Fastfood(6, precision="int14")), sums=True)
    yield "fastfood float", Kind(fitted(bochner.Fastfood(6, calibration=np.ones(3), kernel="ball_matern", degree=3)))
    yield "maxout", Kind(fitted(bochner.RandomMaxout(6, precision="int8", structured=True)), sums=True)
    yield "maxout shared", Kind(fitted(bochner.RandomMaxout(6, shared_projections=9)))
    yield "gated", Kind(fitted(bochner.GatedLinear(8, sparse_output=True), precision="float32"), sums=True)
    yield "stumps", Kind(fitted(bochner.RandomStumps(6), precision="int8"), sums=True)
    yield "bins", Kind(fitted(bochner.RandomBins(16, n_grids=3)), sums=True)
    yield "cells", Kind(fitted(bochner.RandomCells(16, depth=3, column_weights=[1.0, 2.0, 3.0])), sums=True)
    yield "cells oblique", Kind(fitted(bochner.RandomCells(8, depth=2, oblique=True, precision="int8")), sums=True)
    both = bochner.RandomFourier(4) + bochner.RandomCells(8, depth=2)
    yield "union", Kind(fitted(both.set_params(weights=[1.0, 0.5]), precision="int8"), sums=True)
    patches = {"image_shape": (3, 1), "patch_size": 1, "grid": 1, "n_filters": 3}
    yield "patches", Kind(fitted(bochner.PatchFeatures(**patches, precision="int8", copies="both")), sums=True)
    maxout = bochner.PatchFeatures(bochner.RandomMaxout(), filters="random", **patches)
    yield "patches in a union", Kind(fitted(maxout + bochner.PatchFeatures(**patches)), sums=True)
    yield "ridge", Kind(fitted(bochner.RandomRidge(6, activation="relu", precision="int8")), sums=True)
    yield "ridge float", Kind(fitted(bochner.RandomRidge(6, activation="tanh"), solver="dual"))
    yield "huber", Kind(fitted(bochner.RandomFourier(6), loss=Huber(1.5)))
    yield "epsilon", Kind(fitted(bochner.RandomFourier(6), loss="epsilon_insensitive", alpha="auto"))
    yield "box", Kind(fitted(bochner.RandomFourier(6), max_coefficient=2.0))
    yield "adam", Kind(fitted(bochner.RandomFourier(6), solver=Adam(epochs=2)))
    yield "doubly", Kind(fitted(bochner.RandomFourier(6), solver=DoublyStochastic(batch_size=20, features=3)))
    table = bochner.read(FRAME.assign(y=Y), target="y")
    yield "table", Kind(Regressor(bochner.RandomFourier(6), random_state=0, alpha=0.1).fit(table), FRAME, sums=True)
    encoder = bochner.TableEncoder("piecewise", "target", pieces=2).fit(FRAME.assign(d=DAYS), Y)
    table = bochner.read(FRAME.assign(d=DAYS, y=Y), target="y", recipe=encoder)
    encoded = Regressor(bochner.RandomFourier(6), random_state=0, alpha=0.1).fit(table)
    yield "encoded table", Kind(encoded, FRAME.assign(d=DAYS), sums=True)
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
    chosen = bochner.LearnedFourierRegressor(5, **(learned | {"alpha": [0.01, 0.1]}))
    yield "learned frame", Kind(chosen.fit(FRAME, Y), FRAME)
    fast = bochner.LearnedFourierRegressor(5, structure="fastfood", **learned)
    yield "learned fastfood", Kind(fast.fit(X, np.column_stack([Y, Y])), y=np.column_stack([Y, Y]))
    yield "learned classes", Kind(bochner.LearnedFourierClassifier(5, **learned).fit(X, THREE), y=THREE)
    squared = bochner.LearnedFourierClassifier(4, loss="squared", **learned)
    yield "learned squared", Kind(squared.fit(X, TWO), y=TWO)
    for precision in (None, "int8"):
        index = bochner.MaxoutIndex(2, precision=precision, random_state=0, center=precision is None)
        yield f"index {precision}", Kind(index.fit(X))
    yield "sparse index", Kind(bochner.MaxoutIndex(2, random_state=0, metric="angular").fit(X, ids=np.arange(40) * 3))


def exact():
    yield "exact", Kind(bochner.KernelRidgeRegressor(alpha=0.1).fit(X, Y))
    two = np.column_stack([Y, -Y])
    yield "exact matern", Kind(bochner.KernelRidgeRegressor("matern", nu=0.7, fit_intercept=False).fit(X, two), y=two)
    narrow = X.astype(np.float32)
    yield "exact maxout", Kind(bochner.KernelRidgeRegressor(bochner.kernels.Maxout(3), alpha=0.1).fit(narrow, Y))
    yield "exact frame", Kind(bochner.KernelRidgeRegressor(alpha=0.1).fit(FRAME, Y), FRAME)
    yield "exact classes", Kind(bochner.KernelRidgeClassifier("laplacian", alpha=0.1).fit(X, THREE), y=THREE)


def automatic():
    few = {"max_trials": 2, "random_state": 0}
    yield "auto", Kind(bochner.AutoRegressor(**few).fit(X, np.column_stack([Y, -Y])), y=np.column_stack([Y, -Y]))
    yield "auto classes", Kind(bochner.AutoClassifier(**few).fit(X, THREE), y=THREE)
    pictures = rng.integers(0, 256, (40, 4, 4))
    model = bochner.AutoClassifier(**few).fit(pictures, THREE)
    yield "auto pictures", Kind(model, pictures.reshape(40, -1), THREE)
    frame = FRAME.assign(d=DAYS)
    table = bochner.read(frame.assign(y=Y), target="y", missing="mean")
    yield "auto table", Kind(bochner.AutoRegressor(**few).fit(table), frame)
    chains = (Chain("effects", 1.0, 1.0, "diagonal"),)
    with patch.object(auto, "CHAINS", chains), patch.multiple(deviations, FEWEST=10, CLEAR=-1e9):
        yield "auto effects", Kind(bochner.AutoRegressor(**few).fit(frame, Y), frame)


def distributions():
    sizes, labels = np.arange(12.0), np.array(["few", "more"])[np.arange(12) % 2]
    small = {"random_state": 0, "alpha": 0.1, "basis": bochner.RandomFourier(4)}
    second = bochner.RandomMaxout(4)
    model = bochner.DistributionRegressor(second_basis=second, **small).fit(POINTS, sizes)
    yield "distribution", Kind(model, POINTS, sizes, sums=True)
    model = bochner.DistributionRegressor(second_basis="linear", half_size=3.0, **small).fit(POINTS, sizes)
    yield "distribution linear", Kind(model, POINTS, sizes)
    model = bochner.DistributionClassifier(learned=True, max_iter=2, second_basis=bochner.RandomFourier(4), **small)
    yield "distribution learned", Kind(model.fit(POINTS, labels), POINTS, labels, sums=True)


def make_kinds():
    makers = (regressors, classifiers, others, exact, automatic, distributions)
    return {name: kind for made in makers for name, kind in made()}
