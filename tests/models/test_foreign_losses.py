"""A user's own loss: it works with every solver whose needs it meets, and what it lacks is named."""

import numpy as np
import pytest

from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.losses import CLASSIFYING, REGRESSING, ForeignLoss, loss_of
from helpers.battery import LABELS, X, Y
from helpers.toy_loss import TOYS, LogCosh, OwnHinge, OwnLogistic, Pinball, SlopesAlone

BASIS = RandomFourier(40, bandwidth=2.0, random_state=0)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", TOYS)
def test_toys_are_sound(name, k):
    """Central differences, as of bochner's own losses."""
    loss, rng, step = loss_of(TOYS[name], REGRESSING), np.random.default_rng(0), 1e-5
    f, y = 2.0 * rng.standard_normal((40, k)), np.where(rng.random((40, k)) < 0.5, 1.0, -1.0)
    if name == "own_logistic" and k > 1:
        y = np.where(rng.integers(0, k, 40)[:, None] == np.arange(k), 1.0, -1.0)
    for column in range(k):
        move = step * (np.arange(k) == column)
        slope = (loss.value(f + move, y) - loss.value(f - move, y)) / (2 * step)
        np.testing.assert_allclose(loss.gradient(f, y)[:, column], slope, atol=1e-6)
        change = (loss.gradient(f + move, y) - loss.gradient(f - move, y)) / (2 * step)
        np.testing.assert_allclose(loss.hessian_product(f, y, move / step), change, atol=1e-6)


@pytest.mark.parametrize(("own", "known"), [(OwnHinge(), "hinge"), (OwnLogistic(), "logistic")])
@pytest.mark.parametrize("alpha", [0.1, "auto"])
@pytest.mark.parametrize("y", [LABELS, X[:, 0] > 0.3], ids=["three", "two"])
def test_a_known_loss_written_again_gives_the_same_model(own, known, alpha, y):
    mine, ours = (RandomFeatureClassifier(BASIS, loss=loss, alpha=alpha).fit(X, y) for loss in (own, known))
    assert mine.alpha_ == pytest.approx(ours.alpha_)
    np.testing.assert_allclose(mine.decision_function(X), ours.decision_function(X), atol=2e-4)
    np.testing.assert_allclose(mine.predict_proba(X), ours.predict_proba(X), atol=1e-3)
    assert mine.solution_.method == ours.solution_.method


def test_quantiles():
    """Of residuals the share below zero is the quantile, which no loss of bochner's own gives."""
    for quantile in (0.1, 0.5, 0.9):
        model = RandomFeatureRegressor(BASIS, loss=Pinball(quantile), alpha=1e-3).fit(X, Y)
        assert "duality gap" in model.solution_.status
        assert np.mean(model.predict(X) > Y) == pytest.approx(quantile, abs=0.15)
        scaled = RandomFeatureRegressor(BASIS, loss=Pinball(quantile), alpha=1e-6).fit(X, 1e3 * Y + 7.0)
        np.testing.assert_allclose(scaled.predict(X), 1e3 * model.predict(X) + 7.0, rtol=1e-3, atol=1.0)


def test_a_loss_of_no_degree_is_minimised_in_the_units_of_y():
    model = RandomFeatureRegressor(BASIS, loss=LogCosh(), alpha=0.1, scale=None, linear=False).fit(X, 5.0 * Y)
    scores = model.basis_.transform(X) @ model.coef_ + model.intercept_
    slope = model.basis_.transform(X).T @ np.tanh(scores - 5.0 * Y) + 0.2 * model.coef_
    assert np.abs(slope).max() < 1e-5


def test_a_loss_of_slopes_alone_is_trained_on_batches():
    model = RandomFeatureRegressor(BASIS, loss=SlopesAlone()).fit(X, Y)
    assert model.solution_.method == "SGD"
    assert "folds" in model._refresh().penalty
    assert model.score(X, Y) > 0.3
    with pytest.raises(ValueError, match=r"solver='newton' does not go with loss='SlopesAlone', which has kinks"):
        RandomFeatureRegressor(BASIS, loss=SlopesAlone(), solver="newton").fit(X, Y)
    with pytest.raises(ValueError, match="whose slope has no bound"):
        RandomFeatureRegressor(BASIS, loss=SlopesAlone(), solver="doubly_stochastic").fit(X, Y)


class Rows(LogCosh):
    def gradient(self, f, y):
        return np.tanh(f - y).sum(axis=1)


class Failing(LogCosh):
    def curvature(self, f, y):
        raise KeyError("nothing")


class Claims(SlopesAlone):
    def __init__(self, name):
        setattr(self, name, True)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (object(), "an object with the methods value"),
        (LogCosh, "an object with the methods value"),
        (3, "an object with the methods value"),
        ("pinball", "loss='pinball' is not known"),
        (Rows(), r"gradient of the loss .* must give an array of shape \(2, 1\)"),
        (Failing(), "curvature of the loss .* fails"),
        (Claims("smooth"), "declares that it is smooth, but has no method curvature"),
        (Claims("proximal"), "declares that it is proximal, but has no method prox"),
        (Claims("quadratic"), r"declares that it is quadratic, but it is not \(y - f\)\^2"),
    ],
)
def test_what_is_no_loss_is_refused_in_a_sentence(loss, message):
    with pytest.raises(ValueError, match=message) as refused:
        RandomFeatureRegressor(BASIS, loss=loss).fit(X, Y)
    assert "\n" not in str(refused.value)


def test_capabilities():
    assert ForeignLoss(OwnLogistic()).capabilities == {"smooth", "probabilistic", "bounded_slope"}
    assert ForeignLoss(Pinball()).capabilities == {"proximal", "separable", "bounded_slope"}
    assert ForeignLoss(SlopesAlone()).capabilities == {"separable"}
    assert CLASSIFYING["squared"].capabilities == {"quadratic", "smooth", "separable", "bounded_slope"}
    assert REGRESSING["epsilon_insensitive"].capabilities == {"proximal", "separable", "bounded_slope"}


def test_files_say_why_they_cannot_hold_it(tmp_path):
    model = RandomFeatureRegressor(BASIS, loss=LogCosh(), alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"its loss is an object of your own class LogCosh.*pickle") as refused:
        model.save(tmp_path / "m.bochner")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "m.bochner").exists()
    model.set_params(loss="squared").save(tmp_path / "m.bochner")  # predictions need no loss
