"""Float fits have the same bits for any number of threads, for every loss and solver."""

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureRegressor, RandomFourier
from helpers.battery import BATTERY, fitted, numbers

rng = np.random.default_rng(3)


@pytest.mark.parametrize("name", BATTERY)
def test_fits_have_the_same_bits_for_any_number_of_threads(name, monkeypatch):
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    with bochner.config_context(block_rows=64):
        one, two, three = (numbers(fitted(name, n_jobs=jobs)) for jobs in (1, 2, 3))
    for other in (two, three):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("features", [300, 1700])
def test_large_matrices_are_factored_to_the_same_bits(features, monkeypatch):
    """Enough features for several tiles in every product."""
    monkeypatch.setenv("BOCHNER_NUM_THREADS", "3")
    X = rng.standard_normal((2500, 5))
    y = np.sin(X[:, 0]) + X[:, 1]
    fits = [
        RandomFeatureRegressor(RandomFourier(features), random_state=0, solver="cholesky", n_jobs=jobs).fit(X, y)
        for jobs in (1, 3)
    ]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].alpha_ == fits[1].alpha_
