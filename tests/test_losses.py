"""Every loss: its gradient and curvature against differences, its steepness, its proximal map, and no overflow."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bochner import theory
from bochner.losses import CLASSIFYING, LOSSES, EpsilonInsensitive, Hinge, Huber, loss_of, name_of


def scores_and_targets(loss, k, seed=0):
    rng = np.random.default_rng(seed)
    f = 2.0 * rng.standard_normal((40, k))
    if not loss.classifies:
        return f, rng.standard_normal((40, k))
    if k == 1:
        return f, np.where(rng.random((40, 1)) < 0.5, 1, -1).astype(np.int8)
    return f, np.where(rng.integers(0, k, 40)[:, None] == np.arange(k), 1, -1).astype(np.int8)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name, k):
    """Central differences, at scores that are not on a kink."""
    loss = LOSSES[name]
    f, y = scores_and_targets(loss, k)
    step = 1e-5
    for column in range(k):
        move = step * (np.arange(k) == column)
        slope = (loss.value(f + move, y) - loss.value(f - move, y)) / (2 * step)
        np.testing.assert_allclose(loss.gradient(f, y)[:, column], slope, atol=1e-6, rtol=1e-6)
        bend = (loss.gradient(f + move, y) - loss.gradient(f - move, y)) / (2 * step)
        np.testing.assert_allclose(loss.hessian_product(f, y, move / step), bend, atol=1e-6, rtol=1e-6)
        np.testing.assert_allclose(loss.curvature(f, y)[:, column], bend[:, column], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSIFYING)
def test_steepness(name):
    """The Lipschitz constant is reached at the bound, and never passed."""
    loss, bound = LOSSES[name], 1.7
    f = np.linspace(-bound, bound, 1001)[:, None]
    steepest = max(np.abs(loss.gradient(f, np.full_like(f, sign))).max() for sign in (-1, 1))
    assert steepest == pytest.approx(loss.lipschitz(bound))


def test_theory_knows_the_losses():
    by_name = theory.kitchen_sinks_bound(1000, 100, max_coefficient=2.0, loss="exponential")
    by_hand = theory.kitchen_sinks_bound(1000, 100, max_coefficient=2.0, lipschitz=np.exp(2.0), loss_at_zero=1.0)
    assert by_name == by_hand
    hinge, squared = (
        theory.kitchen_sinks_bound(1000, 100, max_coefficient=2.0, loss=name) for name in ("hinge", "squared")
    )
    assert hinge.total < squared.total
    with pytest.raises(ValueError, match="either a loss or its Lipschitz constant"):
        theory.kitchen_sinks_bound(1000, 100, max_coefficient=2.0)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.3)])
@pytest.mark.parametrize("step", [0.1, 2.0])
def test_proximal_maps(loss, step):
    f, y = scores_and_targets(loss, 1)
    for start, target, found in zip(f, y, loss.prox(f, y, step), strict=True):

        def energy(t, start=start, target=target):
            return step * loss.value(np.array([[t]]), target[None])[0] + (t - start[0]) ** 2 / 2

        best = minimize_scalar(energy, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
        assert found[0] == pytest.approx(best.x, abs=1e-6)


def test_huber_scale_is_the_best():
    rng = np.random.default_rng(0)
    f, y, weight = np.zeros((200, 1)), rng.standard_t(2, (200, 1)), rng.uniform(0.5, 2, 200)
    huber = Huber(scale=Huber().best_scale(f - y, weight))
    total = [weight @ Huber(scale=huber.scale * factor).value(f, y) for factor in (0.999, 1.0, 1.001)]
    assert total[1] == min(total)


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge"])
def test_large_scores_do_not_overflow(name):
    f = np.array([[1e6, -1e6, 0.0], [-1e6, 1e6, 1e300]])
    y = np.array([[1, -1, -1], [1, -1, -1]])
    with np.errstate(over="raise", invalid="raise"):
        for scores, codes in ((f[:, :2], y[:, :2]), (f[:1], y[:1])):
            for result in (
                LOSSES[name].value(scores, codes), LOSSES[name].gradient(scores, codes),
                LOSSES[name].curvature(scores, codes),
            ):  # fmt: skip
                assert np.isfinite(result).all()


def test_names_and_objects():
    assert name_of(loss_of("huber", LOSSES)) == "huber"
    assert loss_of(Huber(epsilon=2.0), LOSSES).epsilon == 2.0
    with pytest.raises(ValueError, match="use a regressor"):
        loss_of(Huber(), CLASSIFYING)
    with pytest.raises(ValueError, match="epsilon must be"):
        Huber(epsilon=0.5)
