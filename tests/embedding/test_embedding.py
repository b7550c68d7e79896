"""FeaturePCA is scikit-learn's PCA of the features, in blocks; its way back is better than guessing."""

import pickle
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import bochner
from bochner import FeaturePCA, RandomFourier, RandomMaxout
from bochner.blocks import MemoryBlocks
from helpers.cases import CASES, INTEGER_CASES, dense
from helpers.measured import measured

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3)) * [2.0, 1.0, 0.5] + RNG.choice([-1.0, 1.0], (150, 1))
COLUMNS = 60


def features_of(pca, rows):
    return dense(pca.design_.features(rows)) * pca.basis_.scale_


def assert_is_pca(pca, rows, tolerance=1e-9):
    Z = features_of(pca, rows)
    expected = PCA(pca.n_components, svd_solver="full").fit(Z)
    np.testing.assert_allclose(pca.mean_, expected.mean_, atol=tolerance)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "components_"):
        np.testing.assert_allclose(getattr(pca, name), getattr(expected, name), atol=tolerance, err_msg=name)
    np.testing.assert_allclose(pca.transform(rows), expected.transform(Z), atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_equals_the_pca_of_materialised_features(name):
    basis = clone(CASES[name]).set_params(n_components=COLUMNS, random_state=0)
    assert_is_pca(FeaturePCA(basis, 3).fit(X), X)


@pytest.mark.parametrize("name", ["fourier", "fastfood", "maxout", "gated", "stumps", "bins", "ridge tanh"])
@pytest.mark.parametrize("precision", ["int8", "int14"])
def test_integers_are_exact_sums(name, precision):
    basis = clone(INTEGER_CASES[name]).set_params(n_components=COLUMNS, precision=precision, random_state=0)
    pca = FeaturePCA(basis, 3).fit(X)
    assert pca._sums.is_exact
    assert_is_pca(pca, X)
    with bochner.config_context(block_rows=7):
        again = FeaturePCA(basis, 3).fit(X)
    assert np.array_equal(pca.components_, again.components_)
    assert np.array_equal(pca.explained_variance_, again.explained_variance_)


@pytest.mark.parametrize("solver", ["moments", "randomized"])
@pytest.mark.parametrize("size", [1, 40, 150])
def test_blocks_do_not_matter(solver, size):
    pca = FeaturePCA(RandomFourier(COLUMNS, random_state=0), 3, solver=solver, n_oversamples=20)
    expected = clone(pca).fit(X)
    with bochner.config_context(block_rows=size):
        for rows in (X, MemoryBlocks(X), MemoryBlocks(X).map(lambda block: block)):
            found = clone(pca).fit(rows)
            np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
            np.testing.assert_allclose(found.transform(rows), expected.transform(X), atol=1e-10)
            np.testing.assert_allclose(
                found.inverse_transform(found.transform(X)),
                expected.inverse_transform(expected.transform(X)),
                atol=1e-5,
            )


@pytest.mark.parametrize("solver", ["moments", "randomized"])
def test_rows_may_come_in_parts(solver):
    pca = FeaturePCA(RandomFourier(COLUMNS, bandwidth=2.0), 3, solver=solver, kept_rows=50, random_state=0)
    whole, parts = clone(pca).fit(X), clone(pca)
    for part in np.split(X, [1, 2, 70]):
        parts.partial_fit(part)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == 150
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "mean_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-10)
    assert np.array_equal(parts._kept.rows, whole._kept.rows)
    images = whole.transform(X)
    np.testing.assert_allclose(parts.inverse_transform(images), whole.inverse_transform(images), atol=1e-6)


def test_integer_parts_in_any_order_are_the_same_bits():
    """After a first part, which settles the basis."""
    pca = FeaturePCA(RandomMaxout(COLUMNS, precision="int8"), 3, random_state=0)
    orders = [clone(pca).partial_fit(X[:50]) for _ in range(2)]
    orders[0].partial_fit(X[50:80]).partial_fit(X[80:])
    orders[1].partial_fit(X[80:]).partial_fit(X[50:80])
    assert np.array_equal(orders[0].components_, orders[1].components_)
    assert_is_pca(orders[0], X)


def test_components_are_made_again_after_more_rows():
    pca = FeaturePCA(RandomFourier(COLUMNS, random_state=0), 2).fit(X[:75])
    before, guess = pca.components_, pca.inverse_transform([[0.1, 0.1]])
    pca.partial_fit(X[75:])
    assert not np.array_equal(pca.components_, before)
    assert not np.array_equal(pca.inverse_transform([[0.1, 0.1]]), guess)
    assert_is_pca(pca, X)


def test_randomized_approaches_the_exact_one_with_passes():
    digits = load_digits().data
    basis = RandomFourier(300, random_state=0)
    exact = FeaturePCA(basis, 5, solver="moments").fit(digits)
    shares = []
    for passes in (1, 2, 4):
        found = FeaturePCA(basis, 5, solver="randomized", n_oversamples=20, n_passes=passes).fit(digits)
        shares.append(found.explained_variance_ / exact.explained_variance_)
        np.testing.assert_allclose(found.explained_variance_ratio_.sum() / found.explained_variance_.sum(),
                                   exact.explained_variance_ratio_.sum() / exact.explained_variance_.sum())  # fmt: skip
        np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(5), atol=1e-10)
    assert (np.array(shares) <= 1 + 1e-9).all()  # Nystrom's approximation is never above
    assert 0.7 < shares[0].min() < 0.99
    assert shares[1].min() > 0.995
    assert shares[2].min() > 1 - 1e-6


def test_auto_takes_the_sketch_where_the_covariance_does_not_fit():
    basis = RandomFourier(400, random_state=0)
    with bochner.config_context(memory="2MB"):
        small = FeaturePCA(basis, 2, n_oversamples=200).fit(X)
    large = FeaturePCA(basis, 2).fit(X)
    assert (small.solver_, large.solver_) == ("randomized", "moments")
    np.testing.assert_allclose(small.explained_variance_, large.explained_variance_, rtol=1e-6)


@pytest.mark.parametrize("name", ["fourier", "bins"])
def test_rank_deficient_features_have_a_sketch(name):
    rows = np.repeat(X[:3], 20, axis=0)
    basis = clone(CASES[name]).set_params(n_components=COLUMNS, random_state=0)
    pca = FeaturePCA(basis, 4, solver="randomized").fit(rows)
    expected = PCA(4, svd_solver="full").fit(features_of(pca, rows)).explained_variance_
    np.testing.assert_allclose(pca.explained_variance_, expected, atol=1e-12)


# ---- the way back ----


def error(a, b):
    return float(np.mean(np.sum((a - b) ** 2, axis=1)))


def test_reconstruction_beats_linear_components_and_the_mean_on_a_curve():
    angle = np.random.default_rng(1).uniform(0, 1.5 * np.pi, 600)
    curve = np.column_stack([np.cos(angle), np.sin(angle), angle / 3])
    curve += 0.02 * np.random.default_rng(2).standard_normal(curve.shape)
    train, test = curve[:400], curve[400:]
    pca, linear = FeaturePCA(RandomFourier(500), 2, random_state=0).fit(train), PCA(2).fit(train)
    found = error(pca.inverse_transform(pca.transform(test)), test)
    assert found < 0.2 * error(linear.inverse_transform(linear.transform(test)), test)
    assert found < 0.01 * error(train.mean(axis=0), test)


def test_reconstruction_of_digits_improves_with_components():
    digits = load_digits().data
    train, test = digits[:1000], digits[1000:]
    errors = []
    for count in (2, 10):
        pca = FeaturePCA(RandomFourier(500), count, scale=None, random_state=0).fit(train)  # pixels share a unit
        linear = PCA(count).fit(train)
        errors.append(error(pca.inverse_transform(pca.transform(test)), test))
        assert errors[-1] < 0.95 * error(linear.inverse_transform(linear.transform(test)), test)
    assert errors[0] > 2 * errors[1]


def test_far_from_all_rows_the_way_back_ends_within_their_range():
    pca = FeaturePCA(RandomFourier(COLUMNS), 3, random_state=0).fit(X)
    far = pca.inverse_transform(np.vstack([np.eye(3), -10 * np.eye(3)]))
    assert (far >= X.min(axis=0)).all()
    assert (far <= X.max(axis=0)).all()


@pytest.mark.parametrize("name", ["maxout", "stumps", "bins", "ridge relu"])
def test_every_basis_has_a_way_back(name):
    basis = clone(CASES[name]).set_params(n_components=200, random_state=0)
    pca = FeaturePCA(basis, 10).fit(X)
    fresh = X[:50] + 0.01
    assert error(pca.inverse_transform(pca.transform(fresh)), fresh) < 0.5 * error(X.mean(axis=0), fresh)


def test_kept_rows_of_sparse_and_mixed_input():
    pca = FeaturePCA(RandomFourier(COLUMNS, bandwidth=2.0, random_state=0), 2)
    mixed = clone(pca).partial_fit(scipy.sparse.csr_matrix(X[:80])).partial_fit(X[80:])
    expected = clone(pca).fit(X)
    np.testing.assert_allclose(
        mixed.inverse_transform([[0.1, 0.2]]), expected.inverse_transform([[0.1, 0.2]]), atol=1e-6
    )


# ---- columns of different scales ----


def rings(scales, rows=400):
    """Two rings: which of them a row is of, its angle, and the rows in the units of their columns."""
    random = np.random.default_rng(5)
    angle, which = random.uniform(0, 2 * np.pi, rows), random.integers(0, 2, rows)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * (1.0 + 2.0 * which)[:, None]
    return which, (circle + 0.05 * random.standard_normal(circle.shape)) * scales


@pytest.mark.parametrize("scale", ["auto", "robust", "standard"])
def test_units_of_columns_do_not_matter(scale):
    """Components and the way back are those of columns of one unit, times the units."""
    basis, units = RandomFourier(300, random_state=0), np.array([1e6, 1e-3])
    _, rows = rings(1.0)
    alike, unlike = (FeaturePCA(basis, 6, scale=scale).fit(rows * by) for by in (1.0, units))
    np.testing.assert_allclose(unlike.explained_variance_, alike.explained_variance_, rtol=1e-4)
    images = alike.transform(rows[:50])
    np.testing.assert_allclose(unlike.inverse_transform(images), alike.inverse_transform(images) * units, rtol=1e-2,
                               atol=1e-3 * units.min())  # fmt: skip
    back = unlike.inverse_transform(unlike.transform(rows * units)) / units
    assert error(back, rows) < 0.1 * error(rows.mean(axis=0), rows)
    assert (
        pickle.loads(pickle.dumps(unlike)).inverse_transform(images).tolist()
        == unlike.inverse_transform(images).tolist()
    )


def test_without_scaling_a_small_column_is_not_seen():
    _, rows = rings(np.array([1e6, 1e-3]))
    errors = []
    for scale in ("auto", None):
        pca = FeaturePCA(RandomFourier(300, random_state=0), 6, scale=scale).fit(rows)
        errors.append(error(pca.inverse_transform(pca.transform(rows))[:, 1:], rows[:, 1:]))
    assert errors[0] < 0.2 * errors[1]


def test_rows_are_not_scaled_where_a_number_is_in_their_units():
    pixels = (30 * X).clip(-120, 120).astype(np.int8)
    assert FeaturePCA(RandomFourier(20)).fit(X).design_.scaler is not None
    assert FeaturePCA(RandomFourier(20, bandwidth=1.0)).fit(X).design_.scaler is None
    assert FeaturePCA(RandomFourier(20)).fit(pixels).design_.scaler is None
    assert FeaturePCA(RandomFourier(20), scale=None).fit(X).design_.scaler is None
    assert FeaturePCA(RandomFourier(20, bandwidth=1.0), scale="robust").fit(X).design_.scaler.clip > 0


def test_sparse_rows_after_dense_ones_are_scaled_alike():
    """Zeros that are not stored are zeros, wherever the centre of the column is."""
    rows = X * (np.abs(X) > 0.5) + 5.0 * (np.abs(X) > 0.5)
    pca = FeaturePCA(RandomFourier(COLUMNS, random_state=0), 3).fit(rows)
    np.testing.assert_allclose(pca.transform(scipy.sparse.csr_matrix(rows)), pca.transform(rows), atol=1e-10)
    sparse = FeaturePCA(RandomFourier(COLUMNS, random_state=0), 3).fit(scipy.sparse.csr_matrix(rows))
    assert not sparse.design_.scaler.center.any()
    np.testing.assert_allclose(sparse.transform(rows), sparse.transform(scipy.sparse.csr_matrix(rows)), atol=1e-10)


# ---- the rest ----


def test_pickle_and_input_left_alone():
    rows = X.copy()
    pca = pickle.loads(pickle.dumps(FeaturePCA(RandomFourier(COLUMNS), 2, random_state=3).fit(rows)))
    again = FeaturePCA(RandomFourier(COLUMNS), 2, random_state=3).fit(rows)
    assert np.array_equal(rows, X)
    assert np.array_equal(pca.transform(rows), again.transform(rows))
    assert list(pca.get_feature_names_out()) == ["featurepca0", "featurepca1"]


def test_rows_of_a_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc")).assign(kind=["u", "v", "w"] * 50)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    blocks = bochner.read(str(tmp_path / "rows.csv"))
    pca = FeaturePCA(RandomFourier(COLUMNS), 2, random_state=0).fit(blocks)
    assert list(pca.feature_names_in_) == ["a", "b", "c", "kind"]
    np.testing.assert_allclose(pca.transform(frame), pca.transform(blocks))
    assert pca.inverse_transform(pca.transform(frame)).shape == (150, 6)  # the columns that the recipe makes
    with pytest.raises(ValueError, match="the blocks were not encoded as those of the fit"):
        pca.partial_fit(bochner.read(frame, standardize=False))


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pca = FeaturePCA(RandomFourier(COLUMNS), 2, random_state=0).fit(X)
    labels = np.where(X[:, 0] > 0, "right", "left")
    ax = pca.plot(X, labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["left", "right"]
    drawn = np.vstack([np.asarray(points.get_offsets()) for points in ax.collections])
    assert np.array_equal(np.sort(drawn, axis=0), np.sort(pca.transform(X), axis=0))
    assert ax.get_xlabel() == f"component 1 ({pca.explained_variance_ratio_[0]:.1%} of the variance)"
    assert pca.plot(MemoryBlocks(X), ax=ax) is ax
    pyplot.close("all")
    with pytest.raises(ValueError, match="X has 150 rows but there are 3 labels"):
        pca.plot(X, labels[:3])


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="plot needs matplotlib"):
        FeaturePCA(RandomFourier(COLUMNS)).fit(X).plot(X)


def test_bad_input_gets_one_sentence():
    bad = X.copy()
    bad[5, 1] = np.nan
    fitted = FeaturePCA(RandomFourier(COLUMNS), 2, kept_rows=0).fit(X)
    weighted = MemoryBlocks(X, weight=np.ones(150))
    for attempt, message in [
        (lambda: FeaturePCA().fit(bad), r"X contains NaN \(first at row 5, column 1\)"),
        (lambda: FeaturePCA().fit(MemoryBlocks(bad).map(lambda b: b)), r"in the block from row 0 on, contains NaN"),
        (lambda: FeaturePCA().fit(X[:0]), "0 sample"),
        (lambda: FeaturePCA().fit(MemoryBlocks(X[:0]).map(lambda b: b)), "X has no rows"),
        (lambda: FeaturePCA().fit(weighted), "X has weights, which are not taken here"),
        (lambda: FeaturePCA().fit(X[:1]), "2 components need 2 rows or more; there is 1 sample"),
        (lambda: FeaturePCA(n_components=5).fit(X[:4]), "5 components need 5 rows or more"),
        (lambda: FeaturePCA(RandomFourier(4), 5).fit(X), "n_components=5 is more than the 4 features"),
        (lambda: FeaturePCA(n_components=0).fit(X), "n_components must be an integer of at least 1"),
        (lambda: FeaturePCA(solver="randomised").fit(X), "did you mean 'randomized'"),
        (lambda: FeaturePCA(basis="fourier").fit(X), "basis must be one of bochner's bases"),
        (lambda: FeaturePCA(scale="standart").fit(X), "did you mean 'standard'"),
        (lambda: FeaturePCA(n_passes=0).fit(X), "n_passes must be an integer of at least 1"),
        (lambda: fitted.partial_fit(X[:, :2]), "X has 2 features, but FeaturePCA is expecting 3"),
        (lambda: fitted.transform(MemoryBlocks(X[:, :2])), "the blocks have 2 columns; the model was fitted to 3"),
        (lambda: fitted.inverse_transform([[0.0, 0.0]]), "kept_rows=0 keeps none"),
        (lambda: FeaturePCA().fit(X).inverse_transform([[0.0]]), "X has 1 columns; there are 2 components"),
        (lambda: FeaturePCA(n_components=1).fit(X).plot(X), "plot needs two components"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    with pytest.raises(NotFittedError):
        FeaturePCA().transform(X)
    with pytest.raises(NotFittedError):
        _ = FeaturePCA().components_


MEMORY = """
bochner.set_config(block_rows=4096)

def work(path):
    rows = np.load(path, mmap_mode="r")
    for solver in ("moments", "randomized"):
        pca = bochner.FeaturePCA(bochner.RandomFourier(100, random_state=0), 2, solver=solver).fit(rows)
        assert pca.n_samples_seen_ == len(rows) and pca.explained_variance_ratio_[0] > 0
"""


def test_memory_does_not_grow_with_rows(tmp_path):
    paths = [tmp_path / f"{rows}.npy" for rows in (10_000, 100_000)]
    for path in paths:
        np.save(path, np.random.default_rng(0).standard_normal((int(path.stem), 8), dtype=np.float32))
    few, many = measured(MEMORY, *paths)
    assert many < few + 15e6
