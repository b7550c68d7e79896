"""Least squares on sparse features of very many columns."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import bochner
from bochner import GatedLinear, RandomBins, RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.maps import BinsMap
from bochner.solvers import feature_cache

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
Y = np.sin(3 * X[:, 0]) + X[:, 1]


def test_sparse_bases_say_how_little_a_row_takes():
    assert RandomBins(1 << 20, n_grids=50).entries == 100
    assert RandomFourier(300).entries == 300
    assert GatedLinear(64, pool_size=4, sparse_output=True).entries == 32
    assert GatedLinear(64, pool_size=4).entries == 64


@pytest.mark.parametrize("memory", ["4GB", "100KB"], ids=["kept", "made again"])
def test_many_sparse_columns_by_conjugate_gradients(memory, monkeypatch):
    """Equal to Ridge on the same features; made once where they fit in memory, and again in every pass where not."""
    made = []
    whole = BinsMap.evaluate
    monkeypatch.setattr(BinsMap, "evaluate", lambda self, X: made.append(len(X)) or whole(self, X))
    basis = RandomBins(1 << 14, n_grids=20, bandwidth=8.0, random_state=0)
    with bochner.config_context(memory=memory):
        model = RandomFeatureRegressor(basis, alpha=0.3, solver="cg").fit(X, Y)
    passes = sum(made) / len(X)
    ridge = Ridge(alpha=0.3, tol=1e-10).fit(basis.fit_transform(X).toarray(), Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(basis.transform(X).toarray()), atol=1e-5)
    assert passes < 4 if memory == "4GB" else passes > 10


def test_blocks_of_sparse_features_are_not_those_of_dense_ones():
    """A row of a million columns that fills a hundred must not be counted as a million numbers."""
    from bochner.blocks import MemoryBlocks
    from bochner.solvers import Problem

    def rows_of(basis):
        return feature_cache.kept_features(
            Problem(basis.fit(X).map_, MemoryBlocks(X, Y[:, None]), 1.0, True, False)
        ).rows

    assert rows_of(RandomBins(1 << 20, n_grids=50)) > 100 * rows_of(RandomFourier(1 << 20))


def test_probabilities_where_leverages_are_too_many_to_ask_for(monkeypatch):
    """With very many columns the temperature comes from rows left out of a second fit."""
    y = Y > 0
    monkeypatch.setattr(bochner.solvers.matrix_free, "LEVERAGES", 10**9)
    basis = RandomBins(1 << 12, n_grids=20, bandwidth=8.0, random_state=0)
    model = RandomFeatureClassifier(basis, alpha=0.3, solver="cg").fit(X, y)
    assert "left out" in model.explain_fit()
    assert model.temperature_ > 0
    alike = RandomFeatureClassifier(basis, alpha=0.3, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alike.decision_function(X), atol=1e-5)
