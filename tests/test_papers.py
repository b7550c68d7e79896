"""Baselines of the papers."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from bochner.papers.jointly_fitted import ACTIVATIONS, JointlyFitted


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_jointly_fitted(activation):
    """The gradient is right, and fitting the features too goes below the loss of the coefficients alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.where(np.sin(2 * X[:, 0]) * X[:, 1] > 0, 1.0, -1.0)
    model = JointlyFitted(8, activation=activation)
    start = rng.standard_normal(8 + 8 * 4)
    assert check_grad(lambda p: model.loss(p, X, y)[0], lambda p: model.loss(p, X, y)[1], start) < 1e-3
    begun = np.concatenate([np.zeros(8), model.random_parameters(3).ravel()])
    begun[:8] = model.best_coefficients(begun, X, y)
    assert model.fit(X, y).fitted_loss_ < 0.8 * model.loss(begun, X, y)[0]
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.arange(200) % 3)
