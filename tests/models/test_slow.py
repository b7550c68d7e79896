"""Checks that take minutes: any shape, without being told how."""

import subprocess
import sys

import pytest

import bochner
from bochner import RandomFeatureRegressor, RandomFourier
from helpers.places import TESTS
from helpers.smooth import smooth

pytestmark = pytest.mark.slow


def test_sixty_thousand_features_on_five_thousand_rows():
    X, y = smooth(6000, 20)
    model = RandomFeatureRegressor(RandomFourier(60_000, random_state=0)).fit(X[:5000], y[:5000])
    assert model.solution_.method == "dual"
    assert "5,000 rows are fewer than 60,000 features" in model.explain_fit()
    assert model.score(X[5000:], y[5000:]) > 0.75
    print(model.explain_fit())


CODE = """
import resource, time
import numpy as np, bochner
from helpers.smooth import smooth
from bochner import RandomFeatureRegressor, RandomFourier
X, y = smooth(101_000, 20)
bochner.set_config(memory="3GB")
start = time.time()
model = RandomFeatureRegressor(RandomFourier(40_000, random_state=0)).fit(X[:100_000], y[:100_000])
print(model.explain_fit())
print("seconds", round(time.time() - start), "peak MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
assert model.solution_.method == "conjugate gradients", model.solution_
assert "converged" in model.solution_.status
assert model.score(X[100_000:], y[100_000:]) > 0.9, model.score(X[100_000:], y[100_000:])
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3.2e6
"""


def test_neither_matrix_fits_three_gigabytes():
    """n = 100,000, m = 40,000: 51 GB for the Gram and 320 GB for the kernel matrix; conjugate gradients under 3 GB."""
    done = subprocess.run([sys.executable, "-c", CODE], cwd=TESTS, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def test_the_penalty_of_a_large_classifier_is_found_by_holding_out():
    X, y = smooth(8000, 20)
    model = bochner.RandomFeatureClassifier(RandomFourier(3000, random_state=0)).fit(X[:7000], y[:7000] > 0)
    assert "held-out fifth" in model.explain_fit()
    assert model.score(X[7000:], y[7000:] > 0) > 0.85
