"""Models that learn their metric: which columns matter, how much it gains, and that nothing else changes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bochner
from bochner import (
    Fastfood,
    FixedFourier,
    GatedLinear,
    RandomBins,
    RandomCells,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    RandomStumps,
    kernels,
)
from bochner.blocks import MemoryBlocks
from bochner.models.metric_learning import STEP, GradientProducts, from_moments, has_moments, row_gradients
from bochner.models.metric_search import root_of


def friedman(rows, columns=10, seed=0, noise=0.5):
    """Two terms of Friedman's function: the first three columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + noise * rng.normal(size=rows)


X, Y = friedman(400)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
NEW, TRUE = friedman(400, seed=1, noise=0.0)


def regressor(basis=None, metric="diagonal", **settings):
    basis = RandomFourier(120) if basis is None else basis
    return RandomFeatureRegressor(basis, **{"metric": metric, "metric_rounds": 2, "random_state": 0, **settings})


# ---- what is learned ----


def test_the_three_columns_of_fifty_that_matter_are_found_and_the_error_falls():
    rows, targets = friedman(2000, 50, noise=1.0)
    new, true = friedman(1000, 50, seed=1, noise=0.0)
    plain = RandomFeatureRegressor(RandomFourier(300), random_state=0).fit(rows, targets)
    model = RandomFeatureRegressor(RandomFourier(300), metric="diagonal", random_state=0).fit(rows, targets)
    assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}
    assert set(np.argsort(model.metric_)[-3:]) == {0, 1, 2}
    assert model.metric_.max() == 1.0 and model.metric_[3:].max() < 0.05
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert 1 - model.score(new, true) < 0.15 * (1 - plain.score(new, true))


@pytest.mark.parametrize("metric", ["diagonal", "full", "auto"])
def test_rounds_are_told_and_what_is_kept_is_in_force(metric):
    model = regressor(metric=metric).fit(X, Y)
    line = next(line for line in model.explain_fit().splitlines() if line.startswith("metric: "))
    kinds = ["diagonal", "full"] if metric == "auto" else [metric]
    assert "none 0." in line and all(f"{kind} {number} 0." in line for kind in kinds for number in (1, 2))
    root = model.design_.metric
    assert model.metric_.ndim == root.ndim
    np.testing.assert_allclose(root, root_of(model.metric_), atol=1e-8)
    rows = model.design_.scaler(NEW)
    moved = rows * root if root.ndim == 1 else rows @ root
    linear = model.design_.linear_columns
    np.testing.assert_allclose(model.design_.features(NEW)[:, linear:], model.basis_.features(moved), atol=1e-12)


def test_without_a_metric_nothing_changes():
    model = regressor(metric=None).fit(X, Y)
    assert model.metric_ is None and model.design_.metric is None and "metric:" not in model.explain_fit()
    assert np.array_equal(
        model.predict(NEW), RandomFeatureRegressor(RandomFourier(120), random_state=0).fit(X, Y).predict(NEW)
    )


def test_noise_has_no_metric_and_a_line_is_not_worse():
    rng = np.random.default_rng(0)
    for seed in range(2):
        noise = rng.normal(size=len(X))
        model = regressor(metric="auto", random_state=seed).fit(X, noise)
        plain = regressor(metric=None, random_state=seed).fit(X, noise)
        assert np.mean(model.predict(NEW) ** 2) <= np.mean(plain.predict(NEW) ** 2) + 0.02
        slopes = rng.normal(size=X.shape[1])
        line = X @ slopes + 0.1 * rng.normal(size=len(X))
        fitted = [
            1 - regressor(metric=m, random_state=seed).fit(X, line).score(NEW, NEW @ slopes) for m in ("auto", None)
        ]
        assert fitted[0] <= 1.2 * fitted[1] + 1e-3


def test_a_full_metric_of_many_columns_does_not_judge_itself_by_rows_that_it_knows():
    """Of noise, a matrix of 2,500 numbers learned from all rows would seem to explain a good part."""
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(300, 50)), rng.normal(size=300)
    model = regressor(RandomFourier(200), "full", metric_rounds=3).fit(rows, targets)
    line = next(line for line in model.explain_fit().splitlines() if line.startswith("metric: "))
    errors = [float(part.split()[-1]) for part in line.split(" (")[0].split(", ")[1:]]
    assert min(errors) > 0.9


def test_columns_in_another_order_have_the_same_metric():
    """Frequencies are drawn for columns by their place, so that it is the same but for chance."""
    order = np.random.default_rng(0).permutation(X.shape[1])
    here, there = (regressor(RandomFourier(400), scale="standard").fit(rows, Y) for rows in (X, X[:, order]))
    np.testing.assert_allclose(here.metric_[order], there.metric_, atol=0.1)
    assert np.std(here.predict(NEW) - there.predict(NEW[:, order])) < 0.25 * np.std(TRUE)


def test_a_full_metric_turns_with_the_rows():
    rng = np.random.default_rng(0)
    rows, turn = rng.normal(size=(800, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    targets = np.sin(2 * rows[:, 0] + rows[:, 1])
    new = rng.normal(size=(400, 4))

    def fitted(Z):
        return regressor(RandomFourier(300), "full", scale=None, linear=False).fit(Z, targets)

    here, there = fitted(rows), fitted(rows @ turn)
    back = turn @ there.metric_ @ turn.T
    np.testing.assert_allclose(back / back.diagonal().max(), here.metric_, atol=0.1)
    assert np.std(here.predict(new) - there.predict(new @ turn)) < 0.15 * np.std(targets)
    direction = np.linalg.eigh(here.metric_)[1][:, -1]
    assert abs(direction @ [2, 1, 0, 0]) / np.sqrt(5) > 0.98


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_columns_of_other_units_count_alike_where_they_are_not_scaled(metric):
    """In their spreads, the metric is that of columns of one unit, though distances were others to begin with."""
    kernel = RandomFourier(200, kernel="laplacian")
    units = np.array([1e3, 1e-3, *[1.0] * 8])
    model = regressor(kernel, metric, scale=None, metric_rounds=3).fit(X * units, Y)
    diagonal = model.metric_ if metric == "diagonal" else model.metric_.diagonal()
    assert set(np.argsort(diagonal)[-3:]) == {0, 1, 2}
    plain = regressor(kernel, None, scale=None).fit(X * units, Y)
    assert 1 - model.score(NEW * units, TRUE) < 0.7 * (1 - plain.score(NEW * units, TRUE))


def test_targets_of_other_units_count_alike():
    both = regressor().fit(X, np.column_stack([1e6 * X[:, 3], Y]))
    assert both.metric_[[0, 1, 2, 3]].min() > 5 * both.metric_[4:].max()


# ---- the average gradient outer product of every basis ----

WAVES = [
    RandomFourier(40), RandomFourier(40, kernel=kernels.Stable(1.5, 0.8)), RandomFourier(40, kernel="matern"),
    Fastfood(40), FixedFourier(np.random.default_rng(0).normal(size=(20, 10))),
]  # fmt: skip


@pytest.mark.parametrize("metric", [None, "diagonal", "full"])
@pytest.mark.parametrize("basis", WAVES, ids=lambda basis: type(basis).__name__)
def test_from_moments_it_is_that_of_the_rows(basis, metric):
    model = regressor(basis, metric, metric_rounds=1).fit(X, Y)
    design, coefficients = model.design_, model.solution_.coefficients
    assert has_moments(design)
    sums = bochner.models.base.Moments.of(design.features(X), Y[:, None])
    for diagonal in (False, True):
        products = GradientProducts(design.map, coefficients, 0.7, diagonal)
        by_rows = products.mean(MemoryBlocks(X, Y, None).reduce(products))
        np.testing.assert_allclose(
            from_moments(design, sums, coefficients, 0.7, diagonal), by_rows, rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("precision", ["int8", "int14"])
def test_from_exact_sums_it_is_that_of_floats(precision):
    model = regressor(RandomFourier(60), "full", precision=precision, metric_rounds=1).fit(X, Y)
    found = from_moments(model.design_, model.moments_, model.solution_.coefficients, 1.0, False)
    by_rows = row_gradients(model.design_.map, X, model.solution_.coefficients)[:, :, 0]
    expected = by_rows.T @ by_rows / len(X)
    np.testing.assert_allclose(found, expected, atol=0.05 * expected.max())


SLOPES = [
    RandomMaxout(40, pool_size=3), GatedLinear(40), RandomRidge(40), RandomRidge(40, activation="tanh"),
    RandomRidge(40, activation="relu"), RandomRidge(40, activation=np.arctan), RandomFourier(41),
    RandomFourier(40, pairs=False), RandomStumps(40), RandomBins(10),
]  # fmt: skip


@pytest.mark.parametrize("metric", [None, "full"])
@pytest.mark.parametrize("basis", SLOPES, ids=lambda basis: type(basis).__name__)
def test_gradients_of_rows_are_differences_of_scores(basis, metric):
    model = regressor(basis, metric, scale=None, linear=False, metric_rounds=1).fit(X, Y)
    design, coefficients = model.design_, model.solution_.coefficients
    rows = X[:50]
    found = row_gradients(design.map, rows, coefficients)[:, :, 0]
    jumps = isinstance(basis, RandomStumps | RandomBins)
    step = STEP if jumps else 1e-6
    expected = np.stack(
        [(model.predict(rows + step * e) - model.predict(rows - step * e)) / (2 * step) for e in np.eye(X.shape[1])], 1
    )
    close = np.isclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    assert close.mean() > 0.99  # a step may cross a kink


@pytest.mark.parametrize("basis", [RandomMaxout(150), RandomRidge(150), GatedLinear(160), RandomStumps(300)])
def test_other_bases_learn_a_metric_too(basis):
    model = regressor(basis, metric_rounds=1).fit(X, Y)
    line = next(line for line in model.explain_fit().splitlines() if line.startswith("metric: "))
    assert "diagonal 1" in line
    if not isinstance(basis, RandomStumps):  # whose cells are those of columns already
        assert model.metric_ is not None and {0, 1} <= set(np.argsort(model.metric_)[-3:])


@pytest.mark.parametrize(("part", "precision"), [(RandomCells(64, depth=3), None), (RandomRidge(64), "int8")])
def test_unions_learn_a_metric_after_their_weights(tmp_path, part, precision):
    """By differences of scores; the weights that were chosen before it stay when it is learned again."""
    basis = RandomFourier(60) + part
    model = regressor(basis, "full", precision=precision, metric_rounds=1).fit(X, Y)
    plain = regressor(basis, None, precision=precision).fit(X, Y)
    assert np.array_equal(model.basis_.weights_, plain.basis_.weights_)
    assert set(np.argsort(model.metric_.diagonal())[-3:]) == {0, 1, 2}
    assert 1 - model.score(NEW, TRUE) < 0.7 * (1 - plain.score(NEW, TRUE))
    model.save(tmp_path / "m", sums=True)
    same, weights = bochner.load(tmp_path / "m"), model.basis_.weights_
    assert np.array_equal(same.predict(NEW), model.predict(NEW))
    for one in (model, same):
        one.refit_metric(X, Y)
        assert np.array_equal(one.basis_.weights_, weights) and one.score(NEW, TRUE) > 0.9


# ---- losses ----


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_other_losses_of_numbers(loss):
    model = regressor(RandomFourier(40), loss=loss, metric_rounds=1, alpha=0.01).fit(X, Y)
    assert model.metric_ is not None and {0, 1} <= set(np.argsort(model.metric_)[-3:])


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_losses_of_labels(loss):
    settings = {"metric": "diagonal", "metric_rounds": 1, "alpha": 0.01, "random_state": 0}
    model = RandomFeatureClassifier(RandomFourier(40), loss=loss, **settings).fit(X, LABELS)
    assert model.metric_ is not None and {0, 1} <= set(np.argsort(model.metric_)[-3:])
    assert model.predict_proba(NEW).shape == (400, 3)


# ---- sums, blocks, threads ----


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_bits_do_not_hang_on_blocks_and_threads(metric):
    def fitted(rows, jobs):
        return regressor(RandomFourier(40), metric, precision="int8", n_jobs=jobs, metric_rounds=1).fit(*rows)

    plain = fitted((X, Y), 1)
    assert plain.metric_ is not None
    for rows, jobs, budget in (((X, Y), 2, None), ((MemoryBlocks(X, Y, None).in_blocks(),), 2, 1 << 24)):
        with bochner.config_context(**({} if budget is None else {"memory": budget})):
            other = fitted(rows, jobs)
        assert np.array_equal(plain.metric_, other.metric_)
        assert np.array_equal(plain.moments_.gram, other.moments_.gram)
        assert np.array_equal(plain.predict(NEW), other.predict(NEW))


@pytest.mark.parametrize("precision", [None, "int8"])
def test_the_metric_stays_when_rows_come_and_go(precision):
    def fresh():
        return regressor(RandomFourier(60), "full", precision=precision, metric_rounds=1)

    model = fresh().partial_fit(X[:200], Y[:200])
    metric, design = model.metric_, model.design_
    model.partial_fit(X[200:], Y[200:])
    other = fresh().partial_fit(X[:200], Y[:200])
    model.merge(other).forget(X[:200], Y[:200])
    assert np.array_equal(model.metric_, metric) and model.design_.identity() == design.identity()
    assert model.score(NEW, TRUE) > 0.8 and model.feature_importances_.shape == (10,)
    whole = from_moments(design, model.moments_, model.solution_.coefficients, 1.0, True)
    again = from_moments(
        design, bochner.models.base.Moments.of(design.features(X), Y[:, None] - model._targets.offset),
        model.solution_.coefficients, 1.0, True,
    )  # fmt: skip
    np.testing.assert_allclose(whole, again, rtol=1e-8)
    model.refit_metric(X, Y)
    assert not np.array_equal(model.metric_, metric) and model.moments_.rows == 400
    assert set(np.argsort(model.metric_.diagonal())[-3:]) == {0, 1, 2}
    unlike = regressor(RandomFourier(60), None, precision=precision).partial_fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match="identical"):
        model.merge(unlike)
    with pytest.raises(ValueError, match="metric to learn"):
        unlike.refit_metric(X, Y)


def test_columns_of_a_table_count_as_one_each():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    frame["letter"] = np.array(list("uvw"))[np.arange(len(X)) % 3]
    for fit in ("fit", "partial_fit"):
        model = getattr(regressor(metric_rounds=1), fit)(frame, Y)
        assert model.metric_.shape == (13,) and model.feature_importances_.shape == (11,)
        assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}


def test_a_finer_precision_keeps_the_metric(monkeypatch):
    """Where all rows do not allow what a sample of them did, features are made anew in the same metric."""
    monkeypatch.setattr("bochner.models.designing.choose_precision", lambda *given: ("int8", "a sample allows it"))
    coarse = regressor(metric_rounds=1, precision="int8").fit(X, Y)
    monkeypatch.setattr(
        "bochner.models.feature_fit.too_coarse", lambda design, *sums: "it is" if design.precision == "int8" else ""
    )
    finer = regressor(metric_rounds=1, precision="auto").fit(X, Y)
    assert finer.design_.precision == "int14" and "over all rows int8" in finer.precision_reason_
    assert finer.metric_ is not None and np.array_equal(finer.design_.metric, coarse.design_.metric)
    assert finer.refit_metric(X, Y).design_.precision == "int14"


def test_growing_keeps_the_metric():
    model = regressor(RandomFourier(100), metric_rounds=1).fit(X, Y)
    metric, wide = model.metric_, model.predict(NEW)
    model.grow(40)
    assert np.array_equal(model.metric_, metric) and model.score(NEW, TRUE) > 0.5
    model.grow(100)
    np.testing.assert_allclose(model.predict(NEW), wide, rtol=1e-6)
    model.grow(140, X, Y)
    assert np.array_equal(model.metric_, metric) and model.coef_.shape == (140,)


def test_a_fit_that_was_stopped_goes_on_with_the_same_bits(tmp_path, monkeypatch):
    whole = regressor(RandomFourier(40), "full").fit(X, Y)

    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("bochner.models.feature_fit.fit_problem", stopped)
        with pytest.raises(KeyboardInterrupt):
            regressor(RandomFourier(40), "full").fit(X, Y, checkpoint=tmp_path)
    with monkeypatch.context() as patch:  # the rounds are over
        patch.setattr("bochner.models.metric_search.MetricSearch.run", stopped)
        again = regressor(RandomFourier(40), "full").fit(X, Y, checkpoint=tmp_path)
    assert np.array_equal(again.metric_, whole.metric_) and np.array_equal(again.predict(NEW), whole.predict(NEW))


# ---- files ----


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_files_pickles_and_graphs(tmp_path, metric, precision):
    model = regressor(RandomFourier(30), metric, precision=precision, metric_rounds=1).fit(X, Y)
    assert model.metric_ is not None
    model.save(tmp_path / "m", sums=True)
    for same in (bochner.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(same.predict(NEW), model.predict(NEW))
        assert np.array_equal(same.metric_, model.metric_) and same.explain_fit() == model.explain_fit()
        assert np.array_equal(same.feature_importances_, model.feature_importances_)
        same.partial_fit(NEW[:50], TRUE[:50])
    onnxruntime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "graph.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "graph.onnx"))
    np.testing.assert_allclose(session.run(["predictions"], {"X": NEW})[0], model.predict(NEW), rtol=1e-9, atol=1e-9)


def test_parameters_and_refusals():
    model = regressor(metric="full", metric_rounds=5)
    assert clone(model).get_params()["metric"] == "full" and clone(model).metric_rounds == 5
    with pytest.raises(ValueError, match="metric"):
        regressor(metric="round").fit(X, Y)
    with pytest.raises(ValueError, match="metric_rounds"):
        regressor(metric_rounds=0).fit(X, Y)
    wide = np.random.default_rng(0).normal(size=(30, 600))
    with pytest.raises(ValueError, match="no gradient"):
        regressor(RandomStumps(20)).fit(wide, wide[:, 0])
    with pytest.raises(ValueError, match="at most 2,048 columns"):
        regressor(metric="full").fit(np.ones((5, 3000)), np.arange(5.0))
    few = regressor().fit(X[:6], Y[:6])
    assert few.metric_ is None and "too few" in few.explain_fit()


def test_sparse_rows():
    import scipy.sparse

    rows = scipy.sparse.random(300, 30, density=0.2, format="csr", random_state=0)
    targets = np.asarray(rows[:, 0].todense()).ravel() * 3 + np.asarray(rows[:, 1].todense()).ravel() ** 2
    for basis, metric in (
        (RandomFourier(100), "diagonal"),
        (RandomFourier(100), "full"),
        (RandomRidge(100), "diagonal"),
    ):
        model = regressor(basis, metric, metric_rounds=1).fit(rows, targets)
        np.testing.assert_allclose(model.predict(rows.toarray()), model.predict(rows), rtol=1e-6, atol=1e-8)
        assert model.metric_ is not None and model.feature_importances_.argmax() == 0


@pytest.mark.torch
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_tensors_learn_the_metric_of_arrays(metric):
    """Rounds take sampled rows on the host; the fit stays in torch."""
    import torch

    arrays = regressor(RandomFourier(60), metric, metric_rounds=1).fit(X, Y)
    tensors = regressor(RandomFourier(60), metric, metric_rounds=1).fit(torch.tensor(X), torch.tensor(Y))
    np.testing.assert_allclose(tensors.metric_, arrays.metric_, atol=1e-7)
    found = tensors.predict(torch.tensor(NEW))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), arrays.predict(NEW), rtol=1e-4, atol=1e-4)
    tensors.refit_metric(torch.tensor(X), torch.tensor(Y))
    assert tensors.score(torch.tensor(NEW), torch.tensor(TRUE)) > 0.8
