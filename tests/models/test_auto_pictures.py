"""Models without settings on pictures: patches are found by themselves, and a file holds them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import bochner
from bochner import AutoClassifier, AutoRegressor
from bochner.models.auto.fits import Rows
from bochner.models.auto.linear_fits import dual_least_squares, least_squares
from bochner.models.auto.pictures import PatchExpansion, PatchSetting, patch_fit, settings


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500], X[500:], y[500:]


@pytest.fixture(scope="module")
def fitted() -> AutoClassifier:
    X, y, _, _ = digits()
    return AutoClassifier(max_trials=8, random_state=0, image_shape=(8, 8)).fit(X, y)


def test_pictures_have_patches_and_files_hold_them(fitted: AutoClassifier, tmp_path: Path) -> None:
    _, _, X, y = digits()
    assert any(isinstance(member, PatchExpansion) for member in fitted._stack.members)
    assert fitted.score(X, y) > 0.95
    assert "patches of" in fitted.explain_fit()
    assert fitted.feature_importances_.reshape(8, 8)[:, 0].sum() < 0.02  # the margin is blank
    fitted.save(tmp_path / "m.bochner")
    same = bochner.load(tmp_path / "m.bochner")
    assert (same.predict_proba(X) == fitted.predict_proba(X)).all()
    assert same.explain_fit() == fitted.explain_fit()
    assert same.leaderboard_lines() == fitted.leaderboard_lines()


def test_arrays_of_pictures_are_known_by_their_dimensions(fitted: AutoClassifier) -> None:
    X, y, new, _ = digits()
    model = AutoClassifier(max_trials=8, random_state=0).fit(X.reshape(-1, 8, 8), y)
    assert (model.predict(new.reshape(-1, 8, 8)) == fitted.predict(new)).all()
    assert (fitted.predict(new.reshape(-1, 8, 8)) == model.predict(new)).all()


def test_colours_and_numbers_as_targets() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (300, 7, 6, 3)).astype(np.uint8)
    y = X[:, 2:5, 2:4, 1].mean(axis=(1, 2)) / 100.0
    model = AutoRegressor(max_trials=7, random_state=0).fit(X[:250], y[:250])
    assert model.score(X[250:], y[250:]) > 0.9  # which the floor, plain ridge, has by itself
    assert model.feature_importances_.reshape(7, 6, 3)[2:5, 2:4, 1].sum() > 0.8


@pytest.mark.parametrize(
    ("shape", "message"),
    [((8, 9), "72 pixels"), ((64,), "height, width"), ((1, 64), "a line"), ((8, 8, 0), "height, width")],
)
def test_shapes_that_are_none(shape: tuple[int, ...], message: str) -> None:
    X, y, _, _ = digits()
    with pytest.raises(ValueError, match=message):
        AutoClassifier(max_trials=1, image_shape=shape).fit(X, y)


def test_gaps_in_pictures_are_refused() -> None:
    X, y, _, _ = digits()
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AutoClassifier(max_trials=1, image_shape=(8, 8)).fit(X, y)


@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (28, 28), (5, 40, 3)])
def test_what_is_compared_fits_into_the_picture(shape: tuple[int, ...]) -> None:
    choices = settings(shape)
    offered = next(choices)
    X = np.random.default_rng(0).integers(0, 256, (12, int(np.prod(shape)))).astype(np.uint8)
    while offered:
        for setting in offered:
            assert setting.fitting(40).fitted(X, 0, "int8").map_(X).shape[0] == 12
        try:
            offered = choices.send(offered[-1])
        except StopIteration:
            break


@pytest.mark.parametrize("one_fold", [False, True])
def test_both_matrices_give_the_same_function(one_fold: bool) -> None:
    """Gram matrix of the features or products of rows: the same penalty, predictions and coefficients."""
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(60, 40)) + 3.0, rng.normal(size=(60, 2))
    rows = Rows(Z, Y - Y.mean(axis=0), np.arange(60) % 5, one_fold)
    first, second = (solve(rows, Z.__getitem__, 1e-2) for solve in (least_squares, dual_least_squares))
    assert first is not None and second is not None and first.alpha == second.alpha
    for name in ("coefficients", "intercept", "held_out"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-4, atol=1e-5)


def test_pixels_that_matter_are_those_that_move_the_scores() -> None:
    """Slopes are of the unrounded features; by pixels they rank as differences of the scores themselves do."""
    X, y, _, _ = digits()
    codes = np.eye(10)[y] - 0.1
    member = patch_fit(Rows(X, codes, np.arange(len(X)) % 5, False), PatchSetting((8, 8), 4, 2, filters=60), 0, True)
    assert member is not None
    f, pictures = member.expansion, X[:20]
    slopes = np.mean(np.sum(f.gradients(pictures) ** 2, axis=2), axis=0)
    moved = [np.mean(np.sum((f(pictures + step) - f(pictures - step)) ** 2, axis=1)) for step in 3.0 * np.eye(64)]
    assert np.corrcoef(np.sqrt(slopes), np.sqrt(moved))[0, 1] > 0.8
