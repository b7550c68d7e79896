"""Unbiasedness and rates, by z-scores over independent seeds (never over features, which may depend on each other)."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner import RandomBins
from helpers.cases import CASES, INTEGER_CASES, dense
from helpers.z_scores import z_scores

SEEDS = 300
DIMENSIONS = [1, 3, 50, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 8))]
IID = [
    "fourier", "fourier phased", "fourier laplacian", "fourier matern 2.5", "fourier cauchy", "fourier ball",
    "maxout", "maxout uncentred", "gated", "stumps", "stumps normal", "bins", "cells", "cells shallow", "cells oblique",
    "ridge sigmoid", "ridge relu",
]  # fmt: skip


def points(d):
    """Five rows: generic, near each other, far apart, and zero in part; lengths that do not grow with d."""
    X = np.random.default_rng(d).standard_normal((5, d)) / np.sqrt(d) * 1.4
    X[1] = X[0] + 0.2 * X[1]
    X[2] *= -1.0
    X[3, d // 2 :] *= 0.0
    return X


def errors(basis, X, seeds):
    """approximate - exact kernel, one row per seed, pairs of different rows and of equal ones."""
    upper = np.triu_indices(len(X))
    exact = None
    out = []
    for seed in seeds:
        fitted = clone(basis).set_params(random_state=seed).fit(X)
        exact = fitted.kernel(X) if exact is None else exact
        features = dense(fitted.transform(X))
        out.append((features @ features.T * fitted.scale_**2 - exact)[upper])
    return np.array(out)


def small(basis):
    """Few columns: a bias does not shrink with them, and seeds are cheap. Odd where that means something."""
    columns = 24 if "pool_size" in basis.get_params() else 23
    return clone(basis).set_params(n_components=64 if isinstance(basis, RandomBins) else columns)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", CASES)
def test_features_are_unbiased(name, d):
    assert z_scores(errors(small(CASES[name]), points(d), range(SEEDS))).max() < 4.5


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", INTEGER_CASES)
def test_integer_features_are_unbiased_up_to_rounding(name, d):
    X = points(d)
    basis = small(CASES[name]).set_params(precision="int8")
    # Rounding to 8 bits is part of the map: it moves a kernel by at most this share of its largest value.
    slack = 4e-3 * np.abs(clone(basis).set_params(precision=None, random_state=0).fit(X).kernel(X)).max()
    assert z_scores(errors(basis, X, range(SEEDS)), slack).max() < 4.5


@pytest.mark.parametrize("name", IID)
def test_error_falls_as_one_over_root_m(name):
    X, sizes, rms = points(3), [64, 256, 1024, 4096], []
    for m in sizes:
        basis = clone(CASES[name])
        if isinstance(basis, RandomBins):  # its units are grids; columns grow along, so that collisions do too
            basis.set_params(n_components=16 * m, n_grids=m // 4)
        else:
            basis.set_params(n_components=m)
        rms.append(np.sqrt(np.mean(errors(basis, X, range(60)) ** 2)))
    slope = np.polyfit(np.log(sizes), np.log(rms), 1)[0]
    assert abs(slope + 0.5) < 0.1


def test_the_z_test_sees_a_wrong_sampler():
    """Student t per coordinate instead of multivariate t, the usual mistake for Matern, must fail."""
    from bochner import kernels
    from bochner.streams import Stream

    class Wrong(kernels.Matern):
        def mixing(self, stream_seed, start, stop):
            return np.sqrt(self.nu / Stream(stream_seed, "mixing").gamma(self.nu + 0.5, start, stop)[:, 0])

    from bochner import RandomFourier

    basis = RandomFourier(23, kernel=Wrong(bandwidth=1.5, nu=0.5))
    assert z_scores(errors(basis, points(3), range(SEEDS))).max() > 6
