"""How often a fit reads the rows: one first pass draws every sample that later steps take."""

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.blocks import Blocks, MemoryBlocks

rng = np.random.default_rng(5)
X = rng.standard_normal((20_000, 4))
Y = np.sin(X[:, 0]) + X[:, 1]


class CountedBlocks(Blocks):
    """Rows as of a file, which counts how many are read."""

    def __init__(self, X, y):
        self.inner, self.count = MemoryBlocks(X, y), 0
        self.n_rows, self.n_columns = X.shape

    def read(self, start, stop):
        self.count += stop - start
        return self.inner.read(start, stop)


@pytest.mark.parametrize("settings", [{}, {"precision": "int8"}, {"precision": "auto"}, {"alpha": 0.1}])
def test_a_fit_by_moments_reads_the_rows_twice(settings):
    blocks = CountedBlocks(X, Y)
    model = RandomFeatureRegressor(RandomFourier(40), solver="cholesky", random_state=0, **settings)
    with bochner.config_context(block_rows=1000):
        model.fit(blocks)
    assert blocks.count <= 2 * len(X) + 10  # and the first row, to look at its type
    with bochner.config_context(block_rows=1000):
        assert np.array_equal(model.coef_, model.fit(MemoryBlocks(X, Y).in_blocks()).coef_)


def test_a_classifier_looks_once_more_to_count_wrong_labels():
    blocks = CountedBlocks(X, Y > 0)
    RandomFeatureClassifier(RandomFourier(40), solver="cholesky", random_state=0).fit(blocks)
    assert blocks.count <= 3 * len(X) + 10


def test_kept_features_are_made_in_one_pass():
    """Newton's method: the first pass, one for the features, and what a sample of 8 rows per feature needs."""
    blocks = CountedBlocks(X, Y > 0)
    RandomFeatureClassifier(RandomFourier(40), loss="logistic", random_state=0).fit(blocks)
    assert blocks.count <= 3 * len(X) + 10
