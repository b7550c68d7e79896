"""Least squares on sparse features of very many columns."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

import bochner
from bochner import (
    GatedLinear,
    RandomBins,
    RandomCells,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
)
from bochner.maps import BinsMap
from bochner.solvers import feature_cache
from bochner.solvers.kernel_rows import cells_of_trees, sparse_product

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
Y = np.sin(3 * X[:, 0]) + X[:, 1]


def test_sparse_bases_say_how_little_a_row_takes():
    assert RandomBins(1 << 20, n_grids=50).entries == 100
    assert RandomFourier(300).entries == 300
    assert GatedLinear(64, pool_size=4, sparse_output=True).entries == 32
    assert GatedLinear(64, pool_size=4).entries == 64
    assert RandomCells(4096, depth=4).entries == 512


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


@pytest.mark.parametrize(("depth", "columns"), [(3, 800), (3, 797), (9, 4096)])
def test_kernels_of_cells_are_counted(depth, columns):
    """As a sparse product makes them; of trees that have lost columns, and of signed grids, that itself."""
    X = np.random.default_rng(0).standard_normal((40, 4))
    Z = RandomCells(columns, depth=depth, random_state=0).fit(X).transform(X)
    W = scipy.sparse.csr_matrix(Z[:7])
    for left, right in ((Z, Z), (Z, W), (W, 3.0 * Z)):
        np.testing.assert_allclose(sparse_product(left, right), (left @ right.T).toarray(), atol=1e-12)
    whole = columns % 2**depth == 0
    assert (cells_of_trees(Z, W) is not None) == whole
    assert not whole or cells_of_trees(Z)[0].dtype == (np.uint8 if depth <= 8 else np.int32)
    bins = RandomBins(64, n_grids=5, random_state=0).fit(X).transform(X)
    assert cells_of_trees(bins) is None
    np.testing.assert_allclose(sparse_product(bins, bins), (bins @ bins.T).toarray(), atol=1e-12)


def test_solvers_agree_on_cells_beside_waves():
    X = np.random.default_rng(1).standard_normal((150, 4))
    y = np.sin(X[:, 0]) + (X[:, 1] > 0) * X[:, 2]
    basis = (RandomFourier(20) + RandomCells(256, depth=3)).set_params(weights=[1.0, 0.7])
    models = [
        RandomFeatureRegressor(basis, solver=solver, alpha=0.1, random_state=0).fit(X, y)
        for solver in ("cholesky", "dual", "cg")
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), rtol=1e-5, atol=1e-6)
