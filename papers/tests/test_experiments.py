"""Every experiment of the papers on small data, and their baselines."""

import json

import numpy as np
import pytest
from scipy.optimize import check_grad

from bochner_papers import EXPERIMENTS, Comparison, Job
from bochner_papers.kitchen_sinks.jointly_fitted import ACTIVATIONS, JointlyFitted


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_version(name):
    """Runs without any data set, and what it says can be written, read and drawn."""
    said: list[str] = []
    found = EXPERIMENTS[name].run(Job(quick=True, say=said.append))
    assert found.settings
    assert found.comparisons or found.claims
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))
    for comparison in found.comparisons:
        assert np.isfinite(comparison.ours)
    for chart in found.charts:
        columns = {chart.x, chart.y, chart.color, chart.label} - {None}
        assert chart.rows
        assert all(columns <= row.keys() for row in chart.rows)


def test_verdicts():
    assert Comparison("a", 5.0, 5.2, tolerance=0.3).verdict == "agrees"
    assert Comparison("a", 5.0, 5.4, tolerance=0.3).verdict == "worse"
    assert Comparison("a", 5.0, 4.0, tolerance=0.3).verdict == "better"
    assert Comparison("a", 5.0, 4.0, better="higher").verdict == "worse"
    assert Comparison("a", 5.0, 4.0, better=None).verdict == "differs"
    assert Comparison("a", None, 4.0).verdict == "nothing printed"


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
