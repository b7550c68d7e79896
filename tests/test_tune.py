"""Tuning: the right setting wins, the error is what a direct computation gives, and rows are looked at once."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import bochner
from bochner import GatedLinear, RandomFourier, RandomMaxout, RandomStumps, tune
from bochner.blocks import Block, MemoryBlocks
from bochner.models.tune import level_of, rounds_needed
from bochner.models.ways.problem import fold_of

rng = np.random.default_rng(4)
X = rng.uniform(-3, 3, (6000, 2))
WIGGLY = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(6000)


def test_a_wiggly_target_gets_a_small_bandwidth_and_a_smooth_one_a_large():
    small = tune(X, WIGGLY, basis=RandomFourier(300)).basis.bandwidth
    large = tune(X, 0.1 * X[:, 0] + 0.05 * rng.standard_normal(6000), basis=RandomFourier(300)).basis.bandwidth
    assert small < 1.0 < large


def test_held_out_error_is_that_of_a_direct_computation():
    tuned = tune(X, WIGGLY, basis=RandomFourier(60), bandwidths=[0.5], components=[60])
    trial = tuned.trials[0]
    out = fold_of(Block(X, None, None, 0), 5) == 0
    Z = RandomFourier(60, bandwidth=0.5, random_state=0).fit(X).transform(X)
    ridge = Ridge(alpha=trial.alpha).fit(Z[~out], WIGGLY[~out])
    direct = np.sum((ridge.predict(Z[out]) - WIGGLY[out]) ** 2) / np.sum((WIGGLY[out] - WIGGLY[out].mean()) ** 2)
    assert trial.error == pytest.approx(direct, rel=1e-6)
    assert trial.rows == 6000


@pytest.mark.parametrize("precision", [None, "int8"])
def test_fewer_features_are_judged_as_a_basis_of_fewer(precision):
    both = tune(X, WIGGLY, basis=RandomFourier(80, precision=precision), bandwidths=[0.5], components=[40])
    alone = tune(X, WIGGLY, basis=RandomFourier(40, precision=precision), bandwidths=[0.5], components=[40])
    assert both.trials[0].error == pytest.approx(alone.trials[0].error, rel=1e-9)
    assert both.trials[0].alpha == pytest.approx(alone.trials[0].alpha, rel=1e-9)
    assert both.basis.n_components == 40


def test_rounds_double_the_rows_and_halve_the_candidates():
    levels = level_of(Block(np.zeros((64_000, 1)), None, None, 0), 4)
    counts = np.bincount(levels)
    assert np.allclose(counts, [8000, 8000, 16_000, 32_000], rtol=0.05)
    blocks = level_of(Block(np.zeros((1000, 1)), None, None, 5000), 4)
    assert np.array_equal(blocks, levels[5000:6000])
    assert rounds_needed(10**6, 1000, 8) == 4
    assert rounds_needed(3000, 1000, 8) == 1
    trials = tune(np.vstack([X] * 4), np.tile(WIGGLY, 4), basis=RandomFourier(100)).trials
    assert [t.rounds for t in trials] == sorted((t.rounds for t in trials), reverse=True)
    assert trials[0].rows == 24_000
    assert len({t.rows for t in trials}) == trials[0].rounds


def test_every_row_is_made_into_features_once_per_candidate(monkeypatch):
    seen = []
    features = RandomFourier.features
    monkeypatch.setattr(RandomFourier, "features", lambda self, X: seen.append(len(X)) or features(self, X))
    trials = tune(X, WIGGLY, basis=RandomFourier(50), bandwidths=[0.25, 0.5, 1.0, 2.0]).trials
    assert sum(seen) == sum(t.rows for t in trials)


def test_pools_labels_weights_and_blocks():
    labels = np.where(WIGGLY > 0, "up", "down")
    tuned = tune(X, labels, basis=RandomMaxout(100))
    assert tuned.basis.pool_size in (2, 3, 4, 6, 8, 16)
    again = tune(MemoryBlocks(X, labels).map(lambda block: block), basis=RandomMaxout(100))
    assert again.trials == tuned.trials
    gates = tune(X, labels, basis=GatedLinear(24), pool_sizes=[2, 4])
    assert {t.settings["pool_size"] for t in gates.trials} == {2, 4}
    assert tune(X, labels, basis=RandomStumps(50)).trials[0].settings == {}


def test_counts_are_numbers_and_few_rows_are_refused():
    counts = rng.poisson(30 + 20 * np.sin(2 * X[:, 0]))
    assert tune(X, counts, basis=RandomFourier(100)).trials == tune(X, counts * 1.0, basis=RandomFourier(100)).trials
    with pytest.raises(ValueError, match="too few rows"):
        tune(X[:3], WIGGLY[:3], basis=RandomFourier(10))


def test_settings_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="RandomStumps has no bandwidth"):
        tune(X, WIGGLY, basis=RandomStumps(10), bandwidths=[1.0])
    with pytest.raises(ValueError, match="RandomFourier has no pools"):
        tune(X, WIGGLY, basis=RandomFourier(10), pool_sizes=[2])
    with pytest.raises(ValueError, match="components=20 is more than the basis has"):
        tune(X, WIGGLY, basis=RandomFourier(10), components=[20])
    with bochner.config_context(memory="1MB"), pytest.raises(ValueError, match="try fewer features or candidates"):
        tune(X, WIGGLY, basis=RandomFourier(500))
