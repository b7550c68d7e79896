"""How often a fit reads the rows: one first pass draws every sample that later steps take."""

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier
from bochner.blocks import Blocks, MemoryBlocks
from bochner.models.preparation import sampled_rows
from bochner.streams import sample_rows

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
    """Newton's method: the first pass, which draws the rows of its preconditioner too, and one for the features."""
    blocks = CountedBlocks(X, Y > 0)
    RandomFeatureClassifier(RandomFourier(40), loss="logistic", random_state=0).fit(blocks)
    assert blocks.count <= 2 * len(X) + 10


@pytest.mark.parametrize("linear", [False, True])
def test_the_first_pass_draws_the_rows_of_the_preconditioner(linear):
    """Conjugate gradients on kept features: the first pass, and one for the features; the same bits as from memory."""
    blocks = CountedBlocks(X, Y)
    settings = {"solver": "cg", "alpha": 0.1, "linear": linear, "random_state": 0}
    model = RandomFeatureRegressor(RandomFourier(300), **settings).fit(blocks)
    assert blocks.count <= 2 * len(X) + 10
    again = RandomFeatureRegressor(RandomFourier(300), **settings).fit(MemoryBlocks(X, Y).in_blocks())
    assert np.array_equal(model.coef_, again.coef_)


def test_samples_are_drawn_while_there_is_room():
    """Those of the solver only beside those of all fits, and neither beyond a part of the memory budget."""
    blocks = MemoryBlocks(X, Y)
    solver = ((5000, 5),)
    counts = {}
    for memory in ("64MiB", "8MiB", "1MiB"):
        with bochner.config_context(memory=memory):
            drawn = sampled_rows(blocks, solver)
        counts[memory] = len(drawn), bool(np.isin(sample_rows(len(X), 5000, seed=5), drawn).all())
    assert counts["64MiB"][1] and not counts["8MiB"][1]
    assert counts["64MiB"][0] > counts["8MiB"][0] > counts["1MiB"][0] == 0
