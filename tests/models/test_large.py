"""Files larger than memory need be: a fit takes the same memory for any number of rows, and time in proportion."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import big_table

MEASURE = """
import json, sys, time
import bochner
from bochner.bench.timing import PeakMemory

memory = PeakMemory()
path, features = sys.argv[1], int(sys.argv[2])
begun = time.perf_counter()
blocks = bochner.read(path, target="y" if path.endswith("parquet") else -1)
model = bochner.RandomFeatureRegressor(bochner.RandomFourier(features), random_state=0).fit(blocks)
seconds = time.perf_counter() - begun
rows = blocks.read(0, 1000)
fresh = bochner.blocks.MemoryBlocks(rows.X, recipe=model.recipe_)
error = float(((model.predict(fresh) - rows.y) ** 2).mean() / rows.y.var())
print(json.dumps({"rows": model.moments_.rows, "seconds": seconds, "peak": memory.bytes, "error": error}))
"""


def measured(path, rows, features):
    write = big_table.write_npy if path.suffix == ".npy" else big_table.write_parquet
    write(path, rows)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(features)], capture_output=True, text=True, check=False
    )
    path.unlink()
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(path.suffix, result)
    assert result["rows"] == rows
    assert result["error"] < 0.25
    return result


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


@pytest.mark.parametrize("name", ["t.parquet", pytest.param("t.npy", marks=pytest.mark.slow)])
@pytest.mark.parametrize("rows", [4 * 10**5, pytest.param(10**6, marks=pytest.mark.slow)])
def test_many_rows_take_no_more_memory_than_a_hundred_thousand(tmp_path, name, rows):
    small, large = (measured(tmp_path / name, count, 300) for count in (10**5, rows))
    assert large["peak"] < small["peak"] + 60e6
    assert large["peak"] < 1.2e9


@pytest.mark.slow
def test_a_million_rows_with_a_thousand_features(tmp_path):
    assert measured(tmp_path / "t.parquet", 10**6, 1000)["peak"] < 1.2e9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.npy", "t.parquet"])
def test_ten_million_rows(tmp_path, name):
    results = [measured(tmp_path / name, rows, 1000) for rows in (10**5, 10**6, 10**7)]
    assert all(result["peak"] < 1.2e9 for result in results)
    assert results[-1]["peak"] < results[0]["peak"] + 100e6
    assert results[-1]["seconds"] < 12 * results[-2]["seconds"]
