"""Stable kernels: their frequencies have the law that Bochner's theorem asks for, however heavy its tails."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bochner import RandomFourier, kernels
from bochner.maps.fourier import FourierMap

POWERS = [(2.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.0, 0.5), (1.5, 1.5), (1.5, 0.7), (0.8, 0.4), (1.99, 1.0)]


@pytest.mark.parametrize(("p", "q"), POWERS)
def test_frequencies_have_the_law_of_the_kernel(p, q):
    """E cos(w'(x - z)) = k(x - z): z-scores of 40,000 frequencies at twelve offsets."""
    kernel, offsets = kernels.Stable(p, q, 1.7), np.random.default_rng(0).normal(size=(12, 3))
    drawn = FourierMap(columns=80_000, inputs=3, seed=5, kernel=kernel).directions(0, 40_000) / 1.7
    values = np.cos(drawn @ offsets.T)
    z = (values.mean(axis=0) - kernel(offsets, np.zeros((1, 3)))[:, 0]) / (values.std(axis=0) / 200.0)
    assert np.abs(z).max() < 4.0
    assert np.isfinite(drawn).all()


def test_the_kernels_it_is_a_family_of():
    X = np.random.default_rng(1).normal(size=(8, 4))
    np.testing.assert_allclose(kernels.Stable(2, 2, np.sqrt(2.0))(X), kernels.Gaussian(1.0)(X))
    np.testing.assert_allclose(kernels.Stable(1, 1, 1.3)(X), kernels.Laplacian(1.3)(X))
    np.testing.assert_allclose(kernels.Stable(2, 1, 1.3)(X), kernels.Matern(1.3, nu=0.5)(X))
    np.testing.assert_allclose(kernels.Stable(1.5, 0.7)(X), np.exp(-(cdist(X, X, "minkowski", p=1.5) ** 0.7)))


@pytest.mark.parametrize(("p", "q"), [(2.5, 1.0), (1.0, 1.5), (0.0, 0.0), (1.0, -1.0)])
def test_other_powers_are_refused(p, q):
    with pytest.raises(ValueError):
        kernels.Stable(p, q)


def test_the_median_distance_is_of_the_same_norm():
    X = np.random.default_rng(2).normal(size=(60, 3))
    for p in (1.0, 1.5, 2.0):
        basis = RandomFourier(10, kernel=kernels.Stable(p, 0.9), random_state=0).fit(X)
        distances = cdist(X, X, "minkowski", p=p)[np.triu_indices(60, 1)]
        assert basis.bandwidth_ == pytest.approx(np.median(distances), rel=1e-4)
    with pytest.raises(ValueError, match="at most"):
        RandomFourier(10, kernel=kernels.Stable(1.5, 0.9), sampling="qmc").fit(np.zeros((2, 15_000)))
