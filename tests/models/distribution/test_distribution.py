"""Models of distributions: bags of every form, streaming, learned frequencies, uncertainty, sentences."""

import pickle
import re

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

import bochner
from bochner import DistributionClassifier, DistributionRegressor, GatedLinear, RandomBins, RandomFourier, RandomMaxout
from bochner.blocks import MemoryBlocks
from bochner.models.distribution import scatter
from bochner.models.distribution.bags import SequenceBags
from bochner.models.distribution.embedding import embed
from bochner.models.distribution.gradients import Net, Task, loss_and_gradient
from bochner.models.distribution.learned import learn
from bochner.models.distribution.survey import survey
from helpers.entropy import ExactEmbeddingRidge, embedding_products, rmse, rotated_gaussians
from helpers.places import DOCS

SMALL = {"basis": RandomFourier(60), "second_basis": RandomFourier(80), "random_state": 0}


def unequal_bags(count, seed=0, columns=2):
    """Bags of 1 to 30 points of different spreads, which are their targets."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.5, 2.0, count)
    return [s * rng.standard_normal((rng.integers(1, 31), columns)) for s in spread], spread


def as_frame(bags, y, seed=None):
    """All points in one frame, in the order of the bags, or shuffled with the first point of each bag in front."""
    frame = pandas.DataFrame(np.concatenate(bags), columns=["a", "b"])
    owner = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    frame["which"], frame["y"] = [f"bag {k:03}" for k in owner], np.asarray(y)[owner]
    if seed is None:
        return frame
    first = np.unique(owner, return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(frame)), first)
    return frame.iloc[np.concatenate([first, np.random.default_rng(seed).permutation(rest)])].reset_index(drop=True)


# ---- the embedding ----


@pytest.mark.parametrize(
    "basis", [RandomFourier(40), RandomFourier(40, precision="int8"), RandomMaxout(20), RandomBins(64), GatedLinear(40)]
)
def test_embedding_is_the_mean_of_the_features(basis):
    bags, y = unequal_bags(20)
    model = DistributionRegressor(basis, "linear", alpha=1.0, random_state=0).fit(bags, y)
    for bag, mean in zip(bags, model.embed(bags), strict=True):
        features = model.basis_.features(bag)
        features = features.toarray() if hasattr(features, "toarray") else features
        np.testing.assert_allclose(mean, model.basis_.scale_ * features.mean(axis=0, dtype=np.float64), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), rows=st.integers(1, 20), seed=st.integers(0, 99))
def test_pieces_hold_every_point_once_with_its_bag(sizes, rows, seed):
    rng = np.random.default_rng(seed)
    bags = SequenceBags([rng.standard_normal((size, 3)) for size in sizes])
    pieces = [block.X for block in bags.walk(rows)]
    assert all(len(piece.points) == rows for piece in pieces[:-1])
    np.testing.assert_array_equal(np.concatenate([p.points for p in pieces]), np.concatenate(bags.matrices))
    np.testing.assert_array_equal(np.concatenate([p.owner for p in pieces]), np.repeat(np.arange(len(sizes)), sizes))


def test_ridge_on_embeddings_is_the_second_stage():
    """The model is a composition: the same numbers as by hand."""
    bags, y = unequal_bags(80)
    model = DistributionRegressor(**SMALL, alpha=0.1).fit(bags, y)
    how = {"alpha": 0.1, "scale": None, "linear": False}
    by_hand = bochner.RandomFeatureRegressor(model.second_.basis_, **how).fit(model.embed(bags), y)
    np.testing.assert_allclose(model.predict(bags), by_hand.predict(model.embed(bags)), rtol=1e-9)
    linear = DistributionRegressor(RandomFourier(60), "linear", alpha=0.1, random_state=0).fit(bags, y)
    Z, centred = linear.embed(bags), y - y.mean()
    Z = Z - Z.mean(axis=0)
    coefficients = np.linalg.solve(Z.T @ Z + 0.1 * np.eye(60), Z.T @ centred)
    np.testing.assert_allclose(linear.second_.coef_, coefficients, rtol=1e-6, atol=1e-9)


# ---- the same bags in other forms ----


def test_list_array_and_tables_give_the_same_model(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 12, 2)) * rng.uniform(0.5, 2, (60, 1, 1)), rng.standard_normal(60)
    expected = DistributionRegressor(**SMALL).fit(X, y).predict(X)
    frame, names = as_frame(X, y), np.repeat(np.arange(60), 12)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    sparse = [scipy.sparse.csr_matrix(bag) for bag in X]
    for bags in (list(X), tuple(X), X.tolist(), mapped, [pandas.DataFrame(bag) for bag in X], sparse):
        np.testing.assert_array_equal(DistributionRegressor(**SMALL).fit(bags, y).predict(bags), expected)
    flat = X.reshape(-1, 2)
    np.testing.assert_array_equal(DistributionRegressor(**SMALL).fit(flat, y, bag=names).predict(X), expected)
    np.testing.assert_array_equal(DistributionRegressor(**SMALL).fit(flat, y[names], bag=names).predict(X), expected)
    for table in (frame, polars.from_pandas(frame)):
        model = DistributionRegressor(**SMALL).fit(table, bag="which", target="y")
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(model.predict(table), expected)
        np.testing.assert_array_equal(model.predict(table[["b", "which", "a"]]), expected)
        assert model.score(table, target="y") == pytest.approx(model.score(X, y))
    blocks = MemoryBlocks(flat, y[names])
    model = DistributionRegressor(**SMALL).fit(blocks, bag=names)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
    for rows in (flat, scipy.sparse.csr_matrix(flat)):
        np.testing.assert_allclose(model.predict(MemoryBlocks(rows), bag=names), expected, rtol=1e-9)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_with_a_column_of_bags(tmp_path, ending):
    bags, y = unequal_bags(80)
    frame, path = as_frame(bags, y, seed=1), tmp_path / f"points.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    model = DistributionRegressor(**SMALL)
    with bochner.config_context(block_rows=37):
        model.fit(bochner.read(path, target="y", drop=["which"]), bag="which")
        predicted = model.predict(bochner.read(path, recipe=model.recipe_))
    standardized = [model.recipe_.encode(bag) for bag in bags]
    np.testing.assert_allclose(predicted, DistributionRegressor(**SMALL).fit(standardized, y).predict(standardized),
                               rtol=1e-6)  # fmt: skip
    np.testing.assert_allclose(model.predict(frame), predicted, rtol=1e-9)
    assert model.score(bochner.read(path, target="y", recipe=model.recipe_)) > 0.5
    with pytest.raises(ValueError, match="the column of bags is among the inputs"):
        DistributionRegressor().fit(bochner.read(path, target="y", text="hash"), bag="which")
    with pytest.raises(ValueError, match="has no column 'who'"):
        DistributionRegressor().fit(bochner.read(path, target="y", drop=["which"]), bag="who")
    with pytest.raises(ValueError, match="not encoded as those of the fit"):
        model.predict(bochner.read(path, drop=["which", "y"], standardize=False), bag="which")


def test_npy_with_a_column_of_bags(tmp_path):
    bags, y = unequal_bags(50)
    owner = np.repeat(np.arange(50), [len(bag) for bag in bags])
    np.save(tmp_path / "p.npy", np.column_stack([np.concatenate(bags), owner, y[owner]]))
    blocks = bochner.read(tmp_path / "p.npy", target=3, drop=[2], standardize=False)
    model = DistributionRegressor(**SMALL).fit(blocks, bag="2")
    expected = DistributionRegressor(**SMALL).fit(bags, y).predict(bags)
    np.testing.assert_allclose(model.predict(bags), expected, rtol=1e-8)


# ---- invariance ----


@pytest.mark.parametrize("precision", [None, "int8"])
def test_order_of_points_and_block_size_do_not_matter(precision):
    bags, y = unequal_bags(100)
    rng = np.random.default_rng(1)
    shuffled = [rng.permutation(bag) for bag in bags]
    # A given penalty: the minimum of cross-validation is flat, so it is found to half of the digits only.
    parameters = {**SMALL, "basis": RandomFourier(60, precision=precision), "alpha": 0.1}
    expected, deviation = DistributionRegressor(**parameters).fit(bags, y).predict(bags, return_std=True)
    for other, rows in ((shuffled, "auto"), (bags, 7), (shuffled, 64)):
        with bochner.config_context(block_rows=rows):
            model = DistributionRegressor(**parameters).fit(other, y)
            mean, std = model.predict(other, return_std=True)
            np.testing.assert_allclose(mean, expected, rtol=1e-8)
            np.testing.assert_allclose(std, deviation, rtol=1e-6)
            if precision == "int8":  # sums of integers are exact in any order
                np.testing.assert_array_equal(model.embed(other), model.embed(bags))


def test_a_bag_is_what_its_points_are_not_how_often_they_are_given():
    bags, y = unequal_bags(60)
    model = DistributionRegressor(**SMALL).fit(bags, y)
    np.testing.assert_allclose(model.predict([np.tile(bag, (3, 1)) for bag in bags]), model.predict(bags), rtol=1e-9)


def test_embeddings_larger_than_the_budget_go_to_a_file():
    bags, y = unequal_bags(300)
    plain = DistributionRegressor(**SMALL, alpha=0.1, solver="cholesky").fit(bags, y)
    with bochner.config_context(memory="400KB"):
        assert isinstance(embed(plain.basis_, SequenceBags(bags)), np.memmap)
        frugal = DistributionRegressor(**SMALL, alpha=0.1, solver="cholesky").fit(bags, y)
    np.testing.assert_allclose(frugal.predict(bags), plain.predict(bags), rtol=1e-6)


def test_points_are_sampled_by_what_they_are():
    bags, _ = unequal_bags(400)
    rng = np.random.default_rng(0)
    first, again = survey(SequenceBags(bags)), survey(SequenceBags([rng.permutation(bag) for bag in bags]))
    assert len(first.points) == 500
    np.testing.assert_array_equal(first.points, again.points)
    assert first.largest == again.largest == max(np.abs(bag).max() for bag in bags)
    share = np.mean(first.points[:, 0] > np.median(np.concatenate(bags)[:, 0]))
    assert abs(share - 0.5) * np.sqrt(4 * 500) < 4


def test_float32_and_whole_numbers():
    bags, y = unequal_bags(80)
    exact, short = DistributionRegressor(**SMALL, alpha=0.1), DistributionRegressor(**SMALL, alpha=0.1)
    expected = exact.fit(bags, y).predict(bags)
    np.testing.assert_allclose(short.fit([b.astype(np.float32) for b in bags], y).predict(bags), expected, atol=1e-3)
    whole = [np.rint(10 * bag).astype(np.int16) for bag in bags]
    np.testing.assert_array_equal(
        DistributionRegressor(**SMALL).fit(whole, y).predict(whole),
        DistributionRegressor(**SMALL).fit([bag.astype(float) for bag in whole], y).predict(whole),
    )


def test_inputs_stay_as_they_are():
    bags, y = unequal_bags(30)
    copies, model = [bag.copy() for bag in bags], DistributionRegressor(**SMALL)
    before = model.get_params()
    model.fit(bags, y).predict(bags, return_std=True)
    assert all(np.array_equal(a, b) for a, b in zip(bags, copies, strict=True))
    assert model.get_params() == before


# ---- scikit-learn's manners ----

# scikit-learn's own battery gives tables, which are not bags; these are the checks that need no data.
API = [
    estimator_checks.check_estimator_cloneable, estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed, estimator_checks.check_valid_tag_types,
    estimator_checks.check_mixin_order, estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible, estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params, estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_estimators_unfitted,
]  # fmt: skip


@pytest.mark.parametrize("kind", [DistributionRegressor, DistributionClassifier])
@pytest.mark.parametrize("check", API, ids=lambda check: check.__name__)
def test_checks_of_estimators_that_need_no_table(kind, check):
    check(kind.__name__, kind())


@pytest.mark.parametrize("kind", [DistributionRegressor, DistributionClassifier])
def test_clone_pickle_and_repeated_fits(kind):
    bags, y = unequal_bags(60)
    y = y if kind is DistributionRegressor else np.where(y > 1.2, "wide", "narrow")
    model = kind(**SMALL)
    twin = clone(model)
    assert repr(twin.get_params()) == repr(model.get_params())
    assert twin.set_params(alpha=0.5, basis__n_components=20).basis.n_components == 20
    expected = model.fit(bags, y).predict(bags)
    for other in (
        clone(model).fit(bags, y),
        model.fit(bags[:9], y[:9]).fit(bags, y),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(other.predict(bags), expected)
    assert (is_classifier(model), is_regressor(model)) == (
        kind is DistributionClassifier,
        kind is DistributionRegressor,
    )
    assert "60 bags of 1 to 30 points" in model.explain_fit()
    other = clone(model).set_params(random_state=1).fit(bags, y)
    assert not np.array_equal(other.embed(bags), model.embed(bags))


def test_the_two_stages_have_different_seeds():
    bags, y = unequal_bags(30)
    model = DistributionRegressor(**SMALL).fit(bags, y)
    assert model.seed_ == model.basis_.seed_ == 0
    assert model.second_.basis_.seed_ != 0
    own = {"basis": RandomFourier(20, random_state=5), "second_basis": RandomFourier(20, random_state=5)}
    model = DistributionRegressor(**own, random_state=0).fit(bags, y)
    assert model.basis_.seed_ == model.second_.basis_.seed_ == 5


def test_partial_fit_adds_bags():
    bags, y = unequal_bags(200)
    labels = np.array(["a", "b", "c"])[np.searchsorted([1.0, 1.5], y)]
    whole = DistributionRegressor(**SMALL, alpha=0.1).fit(bags, y)
    bandwidths = {"basis": RandomFourier(60, bandwidth=whole.basis_.bandwidth_),
                  "second_basis": RandomFourier(80, bandwidth=whole.second_.basis_.bandwidth_)}  # fmt: skip
    part = DistributionRegressor(**bandwidths, alpha=0.1, random_state=0)
    for start in range(0, 200, 50):
        part.partial_fit(bags[start : start + 50], y[start : start + 50])
    np.testing.assert_allclose(part.predict(bags), whole.predict(bags), rtol=1e-6)
    assert (part.n_bags_, part.bag_sizes_) == (200, whole.bag_sizes_)
    assert (part.predict(bags, return_std=True)[1] > 0).all()
    classifier = DistributionClassifier(**bandwidths, alpha=0.1, random_state=0)
    classifier.partial_fit(bags[:100], labels[:100], classes=["a", "b", "c"]).partial_fit(bags[100:], labels[100:])
    np.testing.assert_array_equal(classifier.classes_, ["a", "b", "c"])
    assert classifier.score(bags, labels) > 0.6
    with pytest.raises(ValueError, match="y has the label 'd', which is not among the classes of the first call"):
        classifier.partial_fit(bags[:2], ["a", "d"])
    with pytest.raises(ValueError, match="learned frequencies need all bags at once"):
        DistributionRegressor(learned=True).partial_fit(bags, y)


def test_classes_weights_and_several_targets():
    bags, y = unequal_bags(300)
    labels = np.searchsorted([1.0, 1.5], y)
    model = DistributionClassifier(**SMALL).fit(bags[:200], labels[:200])
    assert model.decision_function(bags).shape == (300, 3)
    assert model.score(bags[200:], labels[200:]) > 0.65  # the largest class has less than half
    several = DistributionRegressor(**SMALL, alpha=0.1).fit(bags, np.column_stack([y, -y]))
    mean, std = several.predict(bags, return_std=True)
    assert mean.shape == std.shape == (300, 2)
    np.testing.assert_allclose(mean[:, 0], -mean[:, 1], atol=1e-8)
    np.testing.assert_allclose(std[:, 0], std[:, 1], rtol=1e-6)
    without = DistributionRegressor(**SMALL, alpha=0.1).fit(bags[:150], y[:150])
    outliers = [*bags[:150], *(100 * bag for bag in bags[150:])]
    weighted = DistributionRegressor(**SMALL, alpha=0.1).fit(outliers, y, np.r_[np.ones(150), np.zeros(150)])
    np.testing.assert_allclose(weighted.predict(bags), without.predict(bags), rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(bags, True)[1], without.predict(bags, True)[1], rtol=0.2)


def test_half_size_weighs_bags_by_their_size():
    bags, y = unequal_bags(80)
    sizes = np.array([len(bag) for bag in bags])
    by_size = DistributionRegressor(**SMALL, alpha=0.1, half_size=20).fit(bags, y)
    by_hand = DistributionRegressor(**SMALL, alpha=0.1).fit(bags, y, sizes / (sizes + 20))
    np.testing.assert_array_equal(by_size.predict(bags), by_hand.predict(bags))


def test_weights_that_grow_with_the_size_help_where_sizes_differ():
    """Half of the bags have 3 points and half have 300; ten seeds, the same seeds with and without weights."""
    gains = []
    for seed in range(10):
        X, y = rotated_gaussians(200, 300, seed)
        bags = [bag[:3] if k % 2 else bag for k, bag in enumerate(X)]
        Z, t = rotated_gaussians(100, 300, seed + 100)
        plain, weighted = (
            rmse(DistributionRegressor(**SMALL, half_size=h).fit(bags, y).predict(Z), t) for h in (None, 100)
        )
        gains.append(np.log(plain / weighted))
    assert np.mean(gains) / (np.std(gains, ddof=1) / np.sqrt(len(gains))) > 3
    assert np.mean(gains) > 0.1


# ---- uncertainty ----


@pytest.mark.parametrize("second", [RandomFourier(200), "linear"], ids=["fourier", "linear"])
def test_deviations_grow_as_bags_shrink_and_cover_honestly(second):
    sizes = (5, 20, 100, 500)
    inside, deviations = np.zeros((4, len(sizes))), np.zeros((4, len(sizes)))
    for seed in range(4):
        X, y = rotated_gaussians(200, 100, seed)
        Z, t = rotated_gaussians(200, 500, seed + 100)
        model = DistributionRegressor(RandomFourier(100), second, random_state=seed).fit(X, y)
        for k, size in enumerate(sizes):
            mean, std = model.predict(Z[:, :size], return_std=True)
            inside[seed, k], deviations[seed, k] = np.mean(np.abs(t - mean) < 1.96 * std), std.mean()
    assert (np.diff(deviations, axis=1) < 0).all()
    assert (deviations[:, 0] > 3 * deviations[:, 2]).all()
    coverage = inside.mean(axis=0)
    print("coverage at", sizes, coverage)
    assert (coverage > 0.91).all()
    assert (coverage < 0.995).all()


def test_deviation_is_exact_where_the_second_stage_is_linear(monkeypatch):
    """c' C c/n with C the covariance within the bag, mixed with ten points of the mean one; in all directions."""
    monkeypatch.setattr(scatter, "SHARE", 1.0)
    bags, y = unequal_bags(150)
    model = DistributionRegressor(RandomFourier(12), "linear", alpha=0.1, random_state=0).fit(bags, y)
    features = [model.basis_.features(bag) @ model.second_.coef_ for bag in bags]
    sizes = np.array([len(bag) for bag in bags])
    within = np.array([np.sum((part - part.mean()) ** 2) for part in features])
    expected = (within + 10 * within.sum() / (sizes - 1).sum()) / (sizes + 9) / sizes
    reference = model._reference
    found = reference.scatter.squared_errors(model.second_._scores, reference.means, reference.covariance)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


def test_bags_without_any_spread_are_no_trouble():
    same = [np.ones((3, 2))] * 4
    mean, std = DistributionRegressor(**SMALL).fit(same, [1.0, 2.0, 3.0, 4.0]).predict(same, return_std=True)
    np.testing.assert_allclose(mean, 2.5)
    assert np.isfinite(std).all()


def test_a_single_point_has_a_deviation_too():
    X, y = rotated_gaussians(100, 50, 0)
    model = DistributionRegressor(**SMALL).fit(X, y)
    ones = model.predict(X[:, :1], return_std=True)[1]
    assert np.isfinite(ones).all()
    assert ones.mean() > 3 * model.predict(X, return_std=True)[1].mean()
    lonely = DistributionRegressor(**SMALL).fit(X[:, :1], y)
    assert np.isfinite(lonely.predict(X[:, :1], return_std=True)[1]).all()


# ---- learned frequencies ----


def small_task(outputs=2, alpha=0.3, frequency_alpha=0.2):
    bags, _ = unequal_bags(7, seed=3)
    rng = np.random.default_rng(4)
    net = Net(rng.standard_normal((3, 2)), rng.standard_normal((4, 6)), rng.standard_normal((8, outputs)),
              rng.standard_normal(outputs))  # fmt: skip
    y, weight = rng.standard_normal((7, outputs)), rng.uniform(0.5, 2, 7)
    return net, Task(SequenceBags(bags), y, weight, alpha, frequency_alpha, intercept=True, rows=11)


def test_gradient_agrees_with_finite_differences():
    net, task = small_task()
    gradient, flat = loss_and_gradient(net, task)[1].flat(), net.flat()
    assert len(flat) == 6 + 24 + 16 + 2
    numeric = np.empty_like(flat)
    for k, step in enumerate(1e-6 * np.eye(len(flat))):
        up, down = (loss_and_gradient(net.shaped(flat + sign * step), task)[0] for sign in (1, -1))
        numeric[k] = (up - down) / 2e-6
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


def test_loss_is_that_of_the_formula_written_out():
    net, task = small_task()
    total = 0.0
    for bag, y, weight in zip(task.bags.matrices, task.y, task.weight, strict=True):
        mean = np.zeros(6)
        for x in bag:
            for j, v in enumerate(net.points):
                mean[2 * j : 2 * j + 2] += np.array([np.cos(v @ x), np.sin(v @ x)]) / np.sqrt(3) / len(bag)
        top = np.array([f(w @ mean) for w in net.embeddings for f in (np.cos, np.sin)]) / np.sqrt(4)
        total += weight * np.sum((top @ net.coefficients + net.intercept - y) ** 2)
    total += 0.3 * np.sum(net.coefficients**2) + 0.2 * (np.sum(net.points**2) + np.sum(net.embeddings**2))
    assert loss_and_gradient(net, task)[0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_learning_lowers_the_loss(optimizer):
    net, task = small_task()
    before = loss_and_gradient(net, task)[0]
    found = learn(net, task, optimizer, 30, batch_size=3, learning_rate=0.05, seed=0)
    assert found.loss < 0.5 * before
    assert found.loss == pytest.approx(loss_and_gradient(found.net, task)[0])
    again = learn(net, task, optimizer, 30, batch_size=3, learning_rate=0.05, seed=0)
    np.testing.assert_array_equal(found.net.flat(), again.net.flat())


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_learned_frequencies_beat_as_many_random_ones(optimizer):
    gains = []
    for seed in range(4):
        X, y = rotated_gaussians(150, 30, seed)
        Z, t = rotated_gaussians(300, 30, seed + 100)
        few = {"basis": RandomFourier(16), "second_basis": RandomFourier(16), "random_state": seed}
        learned = DistributionRegressor(**few, learned=True, optimizer=optimizer, max_iter=25, frequency_alpha=1e-4)
        errors = [rmse(model.fit(X, y).predict(Z), t) for model in (DistributionRegressor(**few), learned)]
        gains.append(np.log(errors[0] / errors[1]))
    assert np.mean(gains) / (np.std(gains, ddof=1) / 2) > 2
    assert np.mean(gains) > 0.05


def test_learned_models_keep_the_manners_of_others():
    bags, y = unequal_bags(100)
    few = {"basis": RandomFourier(10), "second_basis": RandomFourier(12), "learned": True, "max_iter": 5}
    model = DistributionRegressor(**few, random_state=0).fit(bags, y)
    assert "learned by L-BFGS, 5 iterations" in model.explain_fit()
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(bags), model.predict(bags))
    np.testing.assert_array_equal(clone(model).fit(bags, y).predict(bags), model.predict(bags))
    assert (model.predict(bags, return_std=True)[1] > 0).all()
    owner = np.repeat(np.arange(100), [len(bag) for bag in bags])
    blocks = MemoryBlocks(np.concatenate(bags), y[owner])
    streamed = DistributionRegressor(**few, random_state=0).fit(blocks, bag=owner)
    np.testing.assert_allclose(streamed.predict(bags), model.predict(bags), rtol=1e-4)
    with pytest.raises(ValueError, match="optimizer='adam' takes bags in any order"):
        DistributionRegressor(**few, optimizer="adam").fit(blocks, bag=owner)
    assert DistributionRegressor(**few, fit_intercept=False, random_state=0).fit(bags, y).second_.intercept_ == 0.0
    labels = np.where(y > 1.2, "wide", "narrow")
    assert DistributionClassifier(**few, random_state=0).fit(bags, labels).score(bags, labels) > 0.8


# ---- sentences ----

GOOD = [np.ones((3, 2)), np.zeros((2, 2)), np.ones((4, 2))]


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([], "there are no bags: give a list of matrices"),
        ([1.0, 2.0, 3.0], "bag 0 is a number, and must be a matrix with one row per point"),
        ([np.ones(5), np.ones(5)], r"bag 0 is an array of shape \(5,\)"),
        (np.ones((5, 2)), r"X has shape \(5, 2\), which is not one of bags: give a list"),
        (np.float64(3.0), r"X has shape \(\), which is not one of bags"),
        ("text", "X is of type str, which does not hold bags"),
        (iter(GOOD), "X is of type list_iterator, which does not hold bags"),
        ([*GOOD[:2], np.empty((0, 2))], "^bag 2 is empty: every bag needs at least one point.$"),
        ([*GOOD[:2], np.ones((2, 3))], "^bag 2 has 3 columns, and bag 0 has 2.$"),
        ([np.ones((2, 0))] * 3, "bag 0 has no columns"),
        ([[[1.0, 2.0], [3.0]]] * 3, "bag 0 has rows of different lengths"),
        ([*GOOD[:2], np.array([[0.0, np.nan]])], r"^bag 2 contains NaN \(in column 1\); drop such points first.$"),
        ([*GOOD[:2], np.array([[0.0, np.inf]])], "^bag 2 contains infinity"),
        ([np.array([["a", "b"]])] * 3, "bags must hold numbers"),
    ],
)
def test_bad_bags(bags, message):
    with pytest.raises(ValueError, match=message):
        DistributionRegressor(**SMALL).fit(bags, [1.0, 2.0, 3.0])


def test_bad_targets_tables_and_parameters():
    bags, y = unequal_bags(20)
    frame, rows = as_frame(bags, y), np.concatenate(bags)
    for arguments, message in [
        (((bags, y[:9]), {}), r"there are 20 bags, and y has shape \(9,\)"),
        (((bags,), {}), "there are no targets"),
        (((bags, y), {"target": "y"}), "name that of the bags too"),
        (((rows, y), {"bag": np.zeros(3)}), "bag must name the bag of each row"),
        (((rows, y), {"bag": "which"}), "X has no column 'which' to tell bags apart"),
        (((frame, y), {"bag": "who"}), "X has no column 'who' to tell bags apart"),
        (((frame, y), {"bag": "which", "target": "y"}), "y is given twice"),
        (((frame.assign(y=range(len(frame))),), {"bag": "which", "target": "y"}), "'bag 000' has rows with different"),
        (((frame.assign(a="x"),), {"bag": "which", "target": "y"}), "column 'a' is not numeric"),
        (((frame.assign(which=np.nan),), {"bag": "which", "target": "y"}), "column of bags has missing values"),
        (((frame.assign(a=np.nan),), {"bag": "which", "target": "y"}), "the bag 'bag 000' contains NaN"),
        (((MemoryBlocks(rows),), {}), "say which bag a row of the blocks belongs to"),
        (((MemoryBlocks(rows),), {"bag": "which"}), "only blocks of bochner.read have a column 'which'"),
        (((MemoryBlocks(rows),), {"bag": np.zeros(2)}), "bag must name the bag of each of"),
    ]:
        with pytest.raises(ValueError, match=message):
            DistributionRegressor(**SMALL).fit(*arguments[0], **arguments[1])
    for parameters, message in [
        ({"basis": 3}, "basis must be one of bochner's bases; got 3"),
        ({"second_basis": "lines"}, "second_basis='lines' is not known: did you mean 'linear'"),
        ({"half_size": 0}, "half_size must be a positive finite number"),
        ({"optimizer": "sgd"}, "optimizer='sgd' is not known"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        (
            {"learned": True, "basis": RandomMaxout(10)},
            "learned=True needs a RandomFourier of pairs in floats as basis",
        ),
        ({"learned": True, "second_basis": "linear"}, "learned=True needs a RandomFourier .* as second_basis"),
        ({"alpha": -1.0}, "alpha must be a positive"),
    ]:
        with pytest.raises(ValueError, match=message):
            DistributionRegressor(**parameters).fit(bags, y)
    for kind in (DistributionRegressor, DistributionClassifier):
        with pytest.raises(NotFittedError):
            kind().predict(bags)
    model = DistributionRegressor(**SMALL).fit(bags, y)
    with pytest.raises(ValueError, match="bags have 3 columns; the model was fitted to 2"):
        model.predict([np.ones((2, 3))])
    with pytest.raises(ValueError, match="one class only"):
        DistributionClassifier(**SMALL).fit(bags, np.zeros(20))
    with pytest.raises(ValueError, match="continuous"):
        DistributionClassifier(**SMALL).fit(bags, y)
    by_name = DistributionRegressor(**SMALL).fit(frame, bag="which", target="y")
    with pytest.raises(ValueError, match="the frame has no column 'b', which the model was fitted to"):
        by_name.predict(frame.drop(columns="b"))


def test_code_of_the_page_runs(capsys):
    page = (DOCS / "distribution.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(block, "distribution.md", "exec"), {})
    score, *_, deviations = capsys.readouterr().out.splitlines()
    assert float(score.split()[1]) > 0.8
    few, many = re.findall(r"\d\.\d+", deviations)
    assert float(few) > 1.5 * float(many)


# ---- beside an exact kernel ridge on mean embeddings ----


def test_products_of_the_exact_peer_are_means_of_the_kernel():
    (X, _), (Z, _) = rotated_gaussians(5, 7, 0), rotated_gaussians(4, 9, 1)
    kernel = bochner.kernels.Gaussian(1.3)(X.reshape(-1, 2), Z.reshape(-1, 2))
    expected = kernel.reshape(5, 7, 4, 9).mean(axis=(1, 3))
    np.testing.assert_allclose(embedding_products(X, Z, 1.3), expected, atol=1e-6)


def test_as_good_as_exact_mean_embeddings_where_bags_are_few():
    ratios = []
    for seed in range(3):
        X, y = rotated_gaussians(100, 30, seed)
        Z, t = rotated_gaussians(100, 30, seed + 100)
        exact = rmse(ExactEmbeddingRidge().fit(X, y).predict(Z), t)
        ratios.append(rmse(DistributionRegressor(random_state=seed).fit(X, y).predict(Z), t) / exact)
    print("our error over the exact one's", ratios)
    assert np.mean(ratios) < 1.1


def test_frequencies_of_both_stages_can_be_seen():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.5, 2.0, 40)
    bags = [s * rng.standard_normal((20, 2)) for s in spread]
    model = DistributionRegressor(RandomFourier(10), RandomFourier(12), learned=True, max_iter=5, random_state=0)
    model.fit(bags, spread)
    assert model.frequency_covariance(stage=0).shape == (2, 2)
    assert model.frequency_covariance(stage=1).shape == (10, 10)
    np.testing.assert_array_equal(model._stages()[0].learned, model.basis_.frequencies)
    assert not np.array_equal(model._stages()[0].learned, model._stages()[0].drawn)
    assert len(model.plot_frequencies().axes) == 6  # for each stage a table, its colours, and the components
    with pytest.raises(ValueError, match="drawn, not learned"):
        DistributionRegressor(random_state=0).fit(bags, spread).frequency_covariance()


def test_probabilities_of_bags():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.5, 2.0, 120)
    bags = [s * rng.standard_normal((20, 2)) for s in spread]
    model = DistributionClassifier(RandomFourier(50), RandomFourier(50), random_state=0).fit(bags, spread > 1.2)
    probabilities = model.predict_proba(bags)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(bags)).all()


def test_columns_in_units_of_their_own(tmp_path):
    """The spread of a small column is seen beside a large one; sums, files and learned frequencies go with it."""
    bags, y = unequal_bags(120)
    units = np.array([1e-4, 1e4])
    apart = [
        np.column_stack([bag[:, 0], np.random.default_rng(k).standard_normal(len(bag))]) for k, bag in enumerate(bags)
    ]
    alike = DistributionRegressor(**SMALL, scale="robust").fit(apart[:90], y[:90])
    model = DistributionRegressor(**SMALL).fit([bag * units for bag in apart[:90]], y[:90])
    new = [bag * units for bag in apart[90:]]
    np.testing.assert_allclose(model.predict(new), alike.predict(apart[90:]), atol=0.05)  # another sample of points
    blind = DistributionRegressor(**SMALL, scale=None).fit([bag * units for bag in apart[:90]], y[:90])
    assert model.score(new, y[90:]) > 0.6 > 0.2 > blind.score(new, y[90:])
    model.save(tmp_path / "m", sums=True)
    assert np.array_equal(bochner.load(tmp_path / "m").predict(new), model.predict(new))
    how = {"basis": RandomFourier(10), "second_basis": RandomFourier(10), "max_iter": 3, "random_state": 0}
    for optimizer in ("lbfgs", "adam"):
        learned = DistributionRegressor(learned=True, optimizer=optimizer, **how).fit(
            [b * units for b in apart[:90]], y[:90]
        )
        assert learned.score(new, y[90:]) > 0.5
    assert DistributionRegressor(**SMALL).fit(bags, y).scaler_ is None
