"""The bench: refuses wrong results, knows its machine, and prints ratios; its page says what its JSON says."""

import json
import runpy
from typing import get_args, get_type_hints

import numpy as np
import pytest

from bochner import ops
from bochner.bench import BENCHES, Entry, machine
from bochner.bench.fwht import is_transform
from bochner.bench.timing import WrongResultError, best_time, check
from bochner.cli import main
from bochner.cli.benchmarks import bench, table_of
from bochner.data.loading import file_of, read_idx
from bochner.ops import native
from helpers.places import DOCS


def test_a_wrong_result_has_no_speed():
    with pytest.raises(WrongResultError, match="no speed is reported"):
        check("a broken peer", False)
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    assert not is_transform(lambda y: None, x)
    assert not is_transform(lambda y: y.__setitem__(slice(None), 0.0), x)


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
def test_a_broken_kernel_stops_the_bench():
    broken = ops.Backend("broken")
    broken.serves("gram", dtypes=("int8",))(lambda z: np.zeros((z.shape[1], z.shape[1]), dtype=np.int64))
    ops.register(broken)
    try:
        with ops.backend_context("broken"), pytest.raises(WrongResultError, match="gram of int8"):
            BENCHES["gram"](True)
    finally:
        ops.unregister(broken)


def test_times_are_the_best_of_several():
    runs = []
    assert best_time(lambda: runs.append(1), runs=4) < 0.1
    assert len(runs) == 4


def test_the_machine_is_named():
    about = machine()
    assert about["cores"] >= 1
    assert about["packages"]["numpy"]
    assert "host" not in json.dumps(about)


def test_ratios_are_to_our_best():
    entries = [Entry("w", "a", "ours", 1.0, 10.0, "x/s"), Entry("w", "b", "ours", 0.5, 20.0, "x/s"),
               Entry("w", "c", "peer", 2.0, 5.0, "x/s"), Entry("v", "c", "peer", 2.0, 5.0, "x/s")]  # fmt: skip
    ratios = list(table_of(entries).columns[4].cells)
    assert ratios == ["", "", "4.00", "0.00"]


def test_idx_files(tmp_path):
    import gzip

    content = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(6))
    (tmp_path / "x.gz").write_bytes(gzip.compress(content))
    assert read_idx(tmp_path / "x.gz").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(FileNotFoundError, match="set BOCHNER_DATA"):
        file_of("mnist/absent.gz")


def test_every_bench_has_its_command():
    assert set(get_args(get_type_hints(bench)["what"])) == {*BENCHES, "all"}


def test_a_round_of_metric_learning_is_timed_beside_the_fit():
    entries = BENCHES["metric"](True)
    assert [entry.note.endswith("times the fit without") for entry in entries] == [False, True, True]


@pytest.mark.slow
def test_bench_from_the_command_line(tmp_path, capsys):
    for what in ("fwht", "gram", "features"):
        with pytest.raises(SystemExit) as end:
            main(["bench", what, "--quick", "--out", str(tmp_path / "b.json")])
        assert not end.value.code
        found = json.loads((tmp_path / "b.json").read_text())
        kinds = {entry["kind"] for entry in found["results"][what]}
        assert kinds == {"ours", "peer", "limit"}
        assert "ours / this" in capsys.readouterr().out


def test_the_page_of_speeds_is_made_from_its_json(tmp_path):
    made = runpy.run_path(str(DOCS / "performance.py"))
    made["main"].__globals__["HERE"] = tmp_path
    (tmp_path / "performance.json").write_text((DOCS / "performance.json").read_text())
    made["main"]()
    assert (tmp_path / "performance.md").read_text() == (DOCS / "performance.md").read_text()
