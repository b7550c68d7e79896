"""Tuning: the right setting wins, the error is what a direct computation gives, and rows are looked at once."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import bochner
from bochner import GatedLinear, RandomFourier, RandomMaxout, RandomStumps, tune
from bochner.bases.heuristics import median_factor
from bochner.blocks import Block, MemoryBlocks
from bochner.maps import FourierMap
from bochner.models.tune import level_of, rounds_needed
from bochner.solvers.problem import fold_of
from bochner.validation import FitWarning

rng = np.random.default_rng(4)
X = rng.uniform(-3, 3, (6000, 2))
WIGGLY = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(6000)


def test_a_wiggly_target_gets_a_small_bandwidth_and_a_smooth_one_a_large():
    small = tune(X, WIGGLY, basis=RandomFourier(300)).basis.bandwidth
    large = tune(X, np.cos(X).sum(axis=1) + 0.05 * rng.standard_normal(6000), basis=RandomFourier(300)).basis.bandwidth
    assert median_factor(small) < 0.5 <= median_factor(large)


def test_held_out_error_is_that_of_a_direct_computation():
    tuned = tune(X, WIGGLY, basis=RandomFourier(60), bandwidths=[0.5], components=[60])
    trial, folds = tuned.trials[0], fold_of(Block(X, None, None, 0), 5)
    Z = RandomFourier(60, bandwidth=0.5, random_state=0).fit(X).transform(X)
    errors = 0.0
    for fold in range(5):
        out = folds == fold
        errors += np.sum((Ridge(alpha=trial.alpha).fit(Z[~out], WIGGLY[~out]).predict(Z[out]) - WIGGLY[out]) ** 2)
    assert trial.error == pytest.approx(errors / np.sum((WIGGLY - WIGGLY.mean()) ** 2), rel=1e-6)
    assert trial.rows == 6000
    assert trial.wrong is None


def test_labels_are_judged_by_how_many_are_wrong():
    """As a direct count gives it: fewest wrong, and of equals the smallest squared error."""
    labels = np.where(WIGGLY > 0.3, "up", "down")
    tuned = tune(X, labels, basis=RandomFourier(60), bandwidths=[0.3, 0.6, 4.0], components=[30, 60])
    folds, codes = fold_of(Block(X, None, None, 0), 5), np.where(labels == "up", 1.0, -1.0)
    judged = [trial for trial in tuned.trials if trial.rows == 6000]
    for trial in judged:
        basis = RandomFourier(trial.components, random_state=0, **trial.settings)
        Z, wrong = basis.fit(X).transform(X), 0
        for fold in range(5):
            out = folds == fold
            wrong += np.sum(
                (Ridge(alpha=trial.alpha).fit(Z[~out], codes[~out]).predict(Z[out]) > 0) != (codes[out] > 0)
            )
        assert trial.wrong == pytest.approx(wrong / 6000, abs=1e-9)
    assert judged == sorted(judged, key=lambda trial: (trial.wrong, trial.error))
    assert tuned.model().fit(X, labels).cv_score_ == pytest.approx(1 - tuned.trials[0].wrong, abs=0.01)


def test_ends_are_widened_until_the_best_lies_inside():
    tuned = tune(X[:, :1], np.sin(20 * X[:, 0]), basis=RandomFourier(200))
    tried = sorted(median_factor(trial.settings["bandwidth"]) for trial in tuned.trials)
    assert tried[0] < 0.125
    assert tried[0] < median_factor(tuned.basis.bandwidth) < tried[-1]
    assert not any("bandwidth" in note for note in tuned.notes)


def test_an_end_of_what_was_given_is_told():
    with pytest.warns(FitWarning, match="The smallest bandwidth tried, 0.4, did best: smaller ones may"):
        tuned = tune(X, WIGGLY, basis=RandomFourier(100), bandwidths=[0.4, 0.8])
    assert "smallest bandwidth" in str(tuned)


@pytest.mark.parametrize("classification", [False, True])
def test_the_model_does_what_was_tuned_whatever_the_units(classification):
    y = np.where(WIGGLY > 0, "up", "down") if classification else WIGGLY
    models = []
    for units in (np.ones(2), np.array([1e9, 1e-6])):
        tuned = tune(X * units, y, basis=RandomFourier(300))
        models.append(tuned.model().fit(X * units, y))
        assert models[-1].basis_.bandwidth == tuned.basis.bandwidth
        told = 1.0 - tuned.trials[0].rank[0]
        assert models[-1].cv_score_ == pytest.approx(told, abs=0.02)
    assert models[0].cv_score_ == pytest.approx(models[1].cv_score_, abs=0.02)
    assert tuned.model(alpha=3.0, linear=False).get_params()["alpha"] == 3.0
    assert bochner.RandomFeatureRegressor(tuned.basis).basis.bandwidth == tuned.basis.bandwidth


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
    assert len({t.rows for t in trials}) >= 3
    assert {t.rows for t in trials if t.rounds == trials[0].rounds} == {24_000}
    # The bandwidth of the basis itself stays to the end: it is to be compared with by all rows.
    assert "median" in [t.settings["bandwidth"] for t in trials if t.rows == 24_000]


def test_every_row_is_made_into_features_once_per_candidate(monkeypatch):
    seen = []
    features = FourierMap.evaluate
    monkeypatch.setattr(FourierMap, "evaluate", lambda self, X: seen.append(len(X)) or features(self, X))
    trials = tune(X, WIGGLY, basis=RandomFourier(50), bandwidths=[0.25, 0.5, 1.0, 2.0]).trials
    assert sum(seen) == sum(t.rows for t in trials)


def test_pools_labels_weights_and_blocks():
    labels = np.where(WIGGLY > 0, "up", "down")
    tuned = tune(X, labels, basis=RandomMaxout(100))
    assert tuned.basis.pool_size in (2, 3, 4, 6, 8, 16, 32, 64)
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
    with pytest.raises(ValueError, match="RandomFourier has no pool_size"):
        tune(X, WIGGLY, basis=RandomFourier(10), pool_sizes=[2])
    with pytest.raises(ValueError, match="components=20 is more than n_components="):
        tune(X, WIGGLY, basis=RandomFourier(10), components=[20])
    with bochner.config_context(memory="1MB"), pytest.raises(ValueError, match="try fewer features or candidates"):
        tune(X, WIGGLY, basis=RandomFourier(500))
