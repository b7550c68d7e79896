"""Public docstrings are complete: held to numpydoc, and attributes to what a fit sets."""

import inspect
import warnings

import numpy as np
import pandas
import pytest
from numpydoc.docscrape import get_doc_object

import bochner
from bochner import (
    AutoClassifier,
    AutoRegressor,
    BasisUnion,
    DistributionClassifier,
    DistributionRegressor,
    Fastfood,
    FeaturePCA,
    FixedFourier,
    GatedLinear,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    MaxoutHash,
    MaxoutIndex,
    PatchFeatures,
    RandomBins,
    RandomCells,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
    TableEncoder,
    read,
)
from helpers.docstrings import COMPLETE, EXAMPLE, LAYERS, ROOMS, complaints, public_objects


def test_public_docstrings_are_complete():
    wrong = {name: told for name, (thing, level) in public_objects().items() if (told := complaints(thing, level))}
    assert not wrong


def test_every_public_name_is_looked_at():
    checked = {thing for thing, level in public_objects().values() if EXAMPLE in level}
    names = [inspect.unwrap(getattr(bochner, name)) for name in bochner.__all__]
    assert {thing for thing in names if not inspect.ismodule(thing)} <= checked
    assert {thing.__name__ for thing in names if inspect.ismodule(thing)} <= set(ROOMS)


@pytest.mark.torch
def test_docstrings_of_layers_are_complete():
    checked = public_objects(LAYERS)
    assert len(checked) >= 3
    assert not {name: told for name, (thing, level) in checked.items() if (told := complaints(thing, level))}


def complete(number: int, factor: float = 2.0) -> float:
    """Multiply.

    Parameters
    ----------
    number : int
        A number.
    factor : float, default=2.0
        Another one.

    Returns
    -------
    float
        Their product.

    Examples
    --------
    >>> complete(2)
    4.0
    """
    return number * factor


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("    Examples\n    --------\n    >>> complete(2)\n    4.0\n", "", "EX01"),
        ("    number : int\n        A number.\n", "", "PR01"),
        ("    number : int\n", "    numbers : int\n", "PR02"),
        ("    number : int\n", "    number\n", "PR04"),
        ("        A number.\n", "", "PR07"),
        ("default=2.0", "default=3.0", "default=2.0"),
        ("float, default=2.0", "float", "default=2.0"),
        ("    Returns\n    -------\n    float\n        Their product.\n\n", "", "RT01"),
        ("    Returns\n", "    Outputs\n", "GL06"),
        ("    Returns\n    -------\n", "    Returns\n    -----\n", "underline"),
        ("        Their product.\n", "", "RT03"),
    ],
)
def test_what_is_missing_is_found(before, after, told, monkeypatch):
    level = COMPLETE | {EXAMPLE}
    assert complaints(complete, level) == []
    assert before in complete.__doc__
    monkeypatch.setattr(complete, "__doc__", complete.__doc__.replace(before, after))
    assert any(told in text for text in complaints(complete, level))


def test_a_missing_docstring_is_found(monkeypatch):
    monkeypatch.setattr(complete, "__doc__", None)
    assert any("GL08" in text for text in complaints(complete, COMPLETE))


RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
LABELS = np.where(Y > 0, "a", "b")
FRAME = pandas.DataFrame(X, columns=["u", "v", "w"])
PIXELS = pandas.DataFrame(RNG.integers(0, 255, size=(9, 36)), columns=[f"p{i}" for i in range(36)])
MIXED = FRAME.assign(text=LABELS)
BAGS = [RNG.normal(size=(6, 2)) for _ in range(30)]
POINTS = pandas.DataFrame(np.concatenate(BAGS), columns=["u", "v"]).assign(bag=np.repeat(np.arange(30), 6).astype(str))


def bags_of_blocks(folder):
    POINTS.to_csv(folder / "points.csv", index=False)
    return read(folder / "points.csv", drop=["bag"])


# Estimators, each fitted in so many ways that every attribute is there in one of them.
FITS = {
    RandomFourier: [lambda: RandomFourier(8).fit(FRAME), lambda: RandomFourier(8, precision="int8").fit(X)],
    Fastfood: [lambda: Fastfood(8).fit(FRAME), lambda: Fastfood(8, precision="int8").fit(X)],
    RandomMaxout: [
        lambda: RandomMaxout(8).fit(FRAME), lambda: RandomMaxout(8, precision="int8", structured=True).fit(X),
    ],
    GatedLinear: [lambda: GatedLinear(8).fit(FRAME), lambda: GatedLinear(8, precision="int8").fit(X)],
    RandomStumps: [lambda: RandomStumps(8).fit(FRAME), lambda: RandomStumps(8, precision="int8").fit(X)],
    RandomBins: [lambda: RandomBins(8).fit(FRAME), lambda: RandomBins(8, precision="int8").fit(X)],
    RandomCells: [
        lambda: RandomCells(8).fit(FRAME), lambda: RandomCells(8, oblique=True, precision="int8").fit(X),
    ],
    BasisUnion: [
        lambda: (RandomStumps(8) + RandomCells(8)).fit(FRAME),
        lambda: BasisUnion([RandomStumps(8)], precision="int8").fit(X),
    ],
    RandomRidge: [lambda: RandomRidge(8).fit(FRAME), lambda: RandomRidge(8, precision="int8").fit(X)],
    PatchFeatures: [
        lambda: PatchFeatures(image_shape=(6, 6), n_filters=4, patch_size=3, grid=2).fit(PIXELS),
        lambda: PatchFeatures(image_shape=(6, 6), n_filters=4, patch_size=3, grid=2, precision="int8").fit(
            PIXELS.to_numpy()
        ),
    ],
    FixedFourier: [
        lambda: FixedFourier(np.eye(3)).fit(FRAME), lambda: FixedFourier(np.eye(3), precision="int8").fit(X),
    ],
    RandomFeatureRegressor: [lambda: RandomFeatureRegressor("stumps").fit(MIXED, Y)],
    RandomFeatureClassifier: [lambda: RandomFeatureClassifier("stumps").fit(MIXED.assign(text=LABELS[::-1]), LABELS)],
    AutoRegressor: [lambda: AutoRegressor(max_trials=1).fit(MIXED, Y)],
    AutoClassifier: [lambda: AutoClassifier(max_trials=1).fit(MIXED, LABELS)],
    KernelRidgeRegressor: [lambda: KernelRidgeRegressor().fit(MIXED, Y)],
    KernelRidgeClassifier: [lambda: KernelRidgeClassifier().fit(MIXED.assign(text=LABELS[::-1]), LABELS)],
    LearnedFourierRegressor: [lambda: LearnedFourierRegressor(4, max_iter=2).fit(MIXED, Y)],
    LearnedFourierClassifier: [
        lambda: LearnedFourierClassifier(4, max_iter=2, loss="squared").fit(MIXED.assign(text=LABELS[::-1]), LABELS),
    ],
    DistributionRegressor: [
        lambda: DistributionRegressor(learned=True, max_iter=2).fit(POINTS, np.arange(30.0), bag="bag"),
        lambda: DistributionRegressor().fit(bags_of_blocks(FOLDER), np.arange(30.0), bag=POINTS["bag"].to_numpy()),
    ],
    DistributionClassifier: [
        lambda: DistributionClassifier(learned=True, max_iter=2).fit(POINTS, np.arange(30) % 2, bag="bag"),
        lambda: DistributionClassifier().fit(bags_of_blocks(FOLDER), np.arange(30) % 2, bag=POINTS["bag"].to_numpy()),
    ],
    FeaturePCA: [
        lambda: FeaturePCA(RandomFourier(8)).fit(FRAME), lambda: FeaturePCA(RandomFourier(8)).fit(read(FRAME)),
    ],
    MaxoutHash: [lambda: MaxoutHash(8).fit(FRAME), lambda: MaxoutHash(8, precision="int8", center=True).fit(X)],
    MaxoutIndex: [lambda: MaxoutIndex(2).fit(FRAME)],
    TableEncoder: [lambda: TableEncoder().fit(MIXED, Y)],
}  # fmt: skip
FOLDER = None


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FOLDER", tmp_path)


def test_every_estimator_is_fitted():
    estimators = {thing for name in bochner.__all__ if hasattr(thing := getattr(bochner, name), "fit")}
    assert set(FITS) == estimators


@pytest.mark.parametrize("estimator", FITS, ids=lambda estimator: estimator.__name__)
def test_attributes_are_those_of_a_fit(estimator):
    """Each fitted name that ends in an underscore is told, and each name that is told is there after some fit."""
    told = {name for names, _, _ in get_doc_object(estimator)["Attributes"] for name in names.split(", ")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [fit() for fit in FITS[estimator]]
        found = {name for model in fitted for name in [*vars(model), *dir(estimator)] if name.endswith("_")}
        assert {name for name in found if not name.startswith("_")} - told == set()
        assert [name for name in told if not any(hasattr(model, name) for model in fitted)] == []
