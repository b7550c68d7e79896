"""Distribution models at size: bounded memory, and errors beside an exact kernel ridge on mean embeddings."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

from bochner import DistributionRegressor
from helpers.entropy import ExactEmbeddingRidge, rmse, rotated_gaussians

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")

MEASURE = """
import json, sys
import numpy as np
import bochner
from bochner.bench.timing import PeakMemory

memory = PeakMemory()
folder, first, second = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, y, Z = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "XyZ")
bag, y = None, np.asarray(y)
if X.ndim == 2:  # one bag is long, the others are short
    X = [X, *Z]
elif X.ndim == 0:  # a table with a column of bags
    X, y, bag = bochner.read(f"{folder}/X.parquet", target="y", drop=["which"], standardize=False), None, "which"
model = bochner.DistributionRegressor(bochner.RandomFourier(first), bochner.RandomFourier(second), random_state=0)
mean, std = model.fit(X, y, bag=bag).predict(Z, return_std=True)
print(json.dumps({"peak": memory.bytes, "mean": mean.tolist(), "std": std.tolist()}))
"""


def measured(folder, X, y, Z, first, second):
    """Peak memory of a process that fits and predicts from files, and what it predicts."""
    for name, array in (("X", X), ("y", y), ("Z", Z)):
        if array is not None:
            np.save(folder / f"{name}.npy", array)
    command = [sys.executable, "-c", MEASURE, str(folder), str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_entropy_bags(path, bags, points, seed):
    """Bags of rotated Gaussians in a file, a few hundred at a time; their entropies."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(bags, points, 2))
    entropies = []
    for start in range(0, bags, 500):
        table[start : start + 500], y = rotated_gaussians(500, points, seed + start)
        entropies.append(y)
    table.flush()
    return np.concatenate(entropies)


def test_a_long_bag_takes_no_more_memory_than_a_short_one(tmp_path):
    rng = np.random.default_rng(0)
    Z, y = rotated_gaussians(50, 20, 0)
    peaks = []
    for rows in (10**5, 10**6):
        peaks.append(measured(tmp_path, rng.standard_normal((rows, 2)), np.r_[0.0, y], Z, 50, 50)["peak"])
    print("peaks", peaks)
    assert peaks[1] < peaks[0] + 40e6


def test_a_long_table_takes_no_more_memory_than_a_short_one(tmp_path):
    rng = np.random.default_rng(0)
    Z, _ = rotated_gaussians(50, 20, 0)
    peaks = []
    for rows in (10**5, 10**6):
        owner = rng.integers(0, 100, rows)
        points, spread = rng.standard_normal((rows, 2)), np.linspace(0.5, 2.0, 100)
        columns = {"a": spread[owner] * points[:, 0], "b": points[:, 1], "which": owner, "y": spread[owner]}
        pandas.DataFrame(columns).to_parquet(tmp_path / "X.parquet", row_group_size=50_000)
        peaks.append(measured(tmp_path, np.array(0), np.array(0), Z, 50, 50)["peak"])
    print("peaks", peaks)
    assert peaks[1] < peaks[0] + 60e6


@pytest.mark.slow
def test_ten_thousand_bags_of_a_thousand_points_in_bounded_memory_beat_the_exact_ridge(tmp_path):
    y = write_entropy_bags(tmp_path / "X.npy", 10_000, 100, seed=0)
    Z, t = rotated_gaussians(300, 1000, seed=10**6)
    small = measured(tmp_path, None, y, Z, 500, 1000)
    y = write_entropy_bags(tmp_path / "X.npy", 10_000, 1000, seed=0)
    large = measured(tmp_path, None, y, Z, 500, 1000)
    X, u = rotated_gaussians(500, 100, seed=10**7)
    exact = ExactEmbeddingRidge().fit(X, u)
    errors = {
        "ours, 10,000 x 1,000": rmse(large["mean"], t),
        "ours, 10,000 x 100": rmse(small["mean"], t),
        "exact, 500 x 100, on bags of 1,000": rmse(exact.predict(Z), t),
        "exact, 500 x 100, leave-one-out": float(np.sqrt(exact.error)),
    }
    coverage = np.mean(np.abs(t - large["mean"]) < 1.96 * np.array(large["std"]))
    print(errors, "peaks", small["peak"], large["peak"], "coverage", coverage)
    ours = errors.pop("ours, 10,000 x 1,000")
    assert ours < min(errors["exact, 500 x 100, on bags of 1,000"], errors["exact, 500 x 100, leave-one-out"])
    assert large["peak"] < 1.2e9
    assert large["peak"] < small["peak"] + 60e6
    assert coverage > 0.9


@pytest.mark.slow
def test_error_within_a_tenth_of_exact_mean_embeddings():
    ratios = []
    for seed in range(3):
        X, y = rotated_gaussians(500, 100, seed)
        Z, t = rotated_gaussians(500, 100, seed + 1000)
        exact = rmse(ExactEmbeddingRidge().fit(X, y).predict(Z), t)
        ours = [rmse(DistributionRegressor(random_state=s).fit(X, y).predict(Z), t) for s in range(seed, seed + 3)]
        ratios += [error / exact for error in ours]
        print(f"exact {exact:.5f}, ours", ours)
    assert max(ratios) < 1.1
