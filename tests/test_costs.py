"""The one model of time and memory: beside fits that are measured, and beside what the documentation says."""

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import bochner
from bochner import RandomFeatureRegressor, RandomFourier, costs
from bochner.solvers.matching import SOLVERS

RNG = np.random.default_rng(0)
FITS = {  # rows, features, loss, solver, penalty
    "cholesky": (20_000, 500, "squared", "cholesky", "auto"),
    "dual": (1000, 2000, "squared", "dual", 0.1),
    "cg": (20_000, 500, "squared", "cg", 0.1),
    "newton": (10_000, 300, "huber", "newton", 0.1),
    "multipliers": (5000, 300, "epsilon_insensitive", "dual", 0.1),
    "adam": (5000, 300, "squared", "adam", 0.1),
    "doubly_stochastic": (5000, 4096, "squared", "doubly_stochastic", 0.1),
}


def fit(name):
    rows, features, loss, solver, alpha = FITS[name]
    X = RNG.standard_normal((rows, 10))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(rows)
    basis = RandomFourier(features, random_state=0)
    model = RandomFeatureRegressor(basis, loss=loss, solver=solver, alpha=alpha, scale=None, linear=False)
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


@pytest.mark.parametrize("name", FITS)
def test_predictions_beside_a_measured_fit(name):
    """Within a wide factor: others may use the machine, and iterations are as many as the data want."""
    rows, features, _, _, alpha = FITS[name]
    expected = costs.cost(costs.Work(rows, 10, features, chooses=alpha == "auto"), name)
    seconds = min(fit(name) for _ in range(2))
    assert seconds / 15 < expected.seconds < 15 * seconds
    tracemalloc.start()
    fit(name)
    peak = tracemalloc.get_traced_memory()[1] - 8 * 10 * rows
    tracemalloc.stop()
    assert peak / 4 < expected.memory < 4 * peak


def test_costs_grow_with_the_work():
    """Twice the rows, features or outputs never cost less, and what is more exact costs more."""
    for solver in costs.FORMULAS:
        for more in ("rows", "features", "outputs", "columns"):
            work = {"rows": 3000, "columns": 20, "features": 1000, "outputs": 3}
            some = costs.cost(costs.Work(**work), solver)
            twice = costs.cost(costs.Work(**{**work, more: 2 * work[more]}), solver)
            assert twice.seconds >= some.seconds, (solver, more)
            assert twice.memory >= some.memory, (solver, more)
    assert {name for name in SOLVERS if name != "auto"} | {"multipliers"} == set(costs.FORMULAS)


def test_the_machine_is_measured_once():
    assert costs.machine() is costs.machine(None)
    assert all(value > 1e6 for value in vars(costs.machine("float32")).values() if value is not None)


def test_the_choice_of_a_solver_goes_by_memory():
    assert costs.choose_exact(10_000, 1000)[0] == "cholesky"
    assert costs.choose_exact(100, 1000)[0] == "dual"
    with bochner.config_context(memory="16MB"):
        assert costs.choose_exact(400, 5000)[0] == "dual"
        assert costs.choose_exact(10_000, 5000) == (
            "cg", "neither fits 0.0 GB: 1.0 GB for the Gram and 4.8 GB for the kernel matrix",
        )  # fmt: skip
        assert costs.folds_apart(1000) == 2
    assert costs.folds_apart(1000) == 5
    assert costs.folds_apart(3000) == 2


def test_the_documentation_has_the_formulas():
    page = Path(__file__).parents[1] / "docs" / "learning.md"
    assert costs.markdown() in page.read_text()
    text = page.read_text()
    assert f"{costs.gram_bytes(1)} m² bytes" in text
    assert f"{costs.kernel_bytes(1)} n² bytes" in text


def test_what_a_cluster_moves_does_not_grow_with_the_rows():
    few, many = (costs.on_cluster(costs.Work(rows, 20, 1000), 100, 1e-6) for rows in (10**9, 10**11))
    assert few.moved == many.moved
    assert few.partial == 5 * 8 * 1000**2
    assert many.seconds - many.moving == pytest.approx(100 * (few.seconds - few.moving))


def test_the_page_of_the_cluster_has_the_formulas():
    assert costs.cluster_markdown() in (Path(__file__).parents[1] / "docs" / "cluster.md").read_text()
