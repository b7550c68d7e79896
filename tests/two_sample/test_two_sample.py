"""The maximum mean discrepancy: its definition, the law of its null, its level and power, its memory."""

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2, chisquare, hypergeom
from sklearn.base import clone

import bochner
from bochner import RandomBins, RandomFourier, RandomMaxout, mmd, mmd_test
from bochner.blocks import MemoryBlocks
from bochner.two_sample.relabel import Permutations, Signs, hypergeometric
from bochner.two_sample.tail import chi_square_tail
from helpers.cases import CASES, dense
from helpers.measured import measured


def quadratic(kernel_xx, kernel_yy, kernel_xy, unbiased):
    """The definition: means of the kernel over pairs of rows, in quadratic time."""
    n, k = len(kernel_xx), len(kernel_yy)
    if unbiased:
        within = (kernel_xx.sum() - np.trace(kernel_xx)) / (n * (n - 1))
        within += (kernel_yy.sum() - np.trace(kernel_yy)) / (k * (k - 1))
    else:
        within = kernel_xx.mean() + kernel_yy.mean()
    return within - 2.0 * kernel_xy.mean()


def exact_mmd(kernel, X, Y, unbiased=True):
    return quadratic(kernel(X), kernel(Y), kernel(X, Y), unbiased)


def exact_test(X, Y, kernel, permutations, rng):
    """The p-value of the exact permutation test of the biased estimate, in quadratic time."""
    both = np.vstack([X, Y])
    K, n, N = kernel(both), len(X), len(both)
    weights = np.full((permutations + 1, N), -1.0 / (N - n))
    weights[0, :n] = 1.0 / n
    for row in weights[1:]:
        row[rng.permutation(N)[:n]] = 1.0 / n
    statistics = np.einsum("bi,bi->b", weights @ K, weights)
    return np.mean(statistics >= statistics[0] * (1 - 1e-9))


def kernel_of(result):
    """The exact kernel that the features of a test approximate, on rows as they came."""
    scaled = result.design.scaler or (lambda rows: rows)
    return lambda X, Y=None: result.basis.kernel(scaled(X), None if Y is None else scaled(Y))


def samples(n, k, d, shift=0.0, seed=0):
    rng = np.random.default_rng([seed, n, k, d])
    return rng.standard_normal((n, d)), rng.standard_normal((k, d)) + shift


# ---- the estimates ----


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("precision", ["float64", "int8"])
def test_equals_the_definition_with_the_kernel_of_the_features(name, precision):
    if precision == "int8" and "orthogonal" in name:
        pytest.skip("no integer map")
    X, Y = samples(40, 30, 3, 0.5)
    basis = clone(CASES[name]).set_params(n_components=20, precision=precision, random_state=0)
    result = mmd_test(X, Y, basis=basis, n_resamples=1)
    Z, W = (dense(result.design.features(rows)) * result.basis.scale_ for rows in (X, Y))
    for unbiased, found in ((True, result.unbiased), (False, result.statistic)):
        expected = quadratic(Z @ Z.T, W @ W.T, Z @ W.T, unbiased)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(mmd(X, Y, basis=basis, unbiased=unbiased), expected, atol=1e-12)


@pytest.mark.parametrize("d", [1, 5, 20])
@pytest.mark.parametrize("name", ["fourier", "fourier laplacian", "fastfood", "maxout", "bins"])
def test_unbiased_for_the_exact_kernel(name, d):
    """Over independent seeds of the basis, the mean is the exact quadratic-time estimate."""
    X, Y = samples(30, 20, d, 0.4)
    basis = clone(CASES[name]).set_params(n_components=40, random_state=0)
    exact = exact_mmd(kernel_of(mmd_test(X, Y, basis=basis, n_resamples=1)), X, Y)
    found = [mmd(X, Y, basis=clone(basis).set_params(random_state=seed)) for seed in range(60)]
    z = (np.mean(found) - exact) / (np.std(found, ddof=1) / np.sqrt(len(found)))
    assert abs(z) < 3.5


def test_many_features_approach_the_exact_kernel():
    X, Y = samples(200, 150, 2, 0.5)
    result = mmd_test(X, Y, basis=RandomFourier(20_000), n_resamples=1, random_state=0)
    kernel = kernel_of(result)
    assert abs(result.unbiased / exact_mmd(kernel, X, Y) - 1) < 0.03
    grid = np.random.default_rng(3).uniform(-2, 2, (50, 2))
    exact = kernel(grid, X).mean(axis=1) - kernel(grid, Y).mean(axis=1)
    np.testing.assert_allclose(result.witness(grid), exact, atol=0.05 * np.abs(exact).max())


# ---- relabelings ----


def test_hypergeometric_quantiles():
    rng = np.random.default_rng(0)
    for total in rng.integers(1, 3000, 300):
        drawn, marked, chance = rng.integers(1, total + 1), rng.integers(0, total + 1, 7), rng.random(7)
        found = hypergeometric(chance, int(total), marked, int(drawn))
        assert np.array_equal(found, hypergeom.ppf(chance, total, marked, drawn))


def test_every_relabeling_is_equally_likely():
    """Three of six rows, in chunks of two, three and one row: each of the 20 choices as often."""
    permutations = Permutations(0, 20_000, [0, 2, 5, 6], 3)
    labels = np.hstack([permutations(0, 2), permutations(2, 5), permutations(5, 6)])
    assert (labels.sum(axis=1) == 3).all()
    counts = [np.sum(labels[:, list(chosen)].all(axis=1)) for chosen in combinations(range(6), 3)]
    assert chisquare(counts).pvalue > 0.01


@given(st.integers(2, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_relabelings_keep_the_sizes_of_samples(rows, data):
    marked = data.draw(st.integers(1, rows - 1))
    cuts = sorted(data.draw(st.sets(st.integers(1, rows - 1))))
    permutations = Permutations(rows, 30, [0, *cuts, rows], marked)
    labels = np.hstack([permutations(a, b) for a, b in zip([0, *cuts], [*cuts, rows], strict=True)])
    assert labels.shape == (30, rows)
    assert (labels.sum(axis=1) == marked).all()


@pytest.mark.parametrize("null", ["permutation", "wild"])
def test_null_statistics_are_those_of_the_relabelled_rows(null, monkeypatch):
    """Through the kernel matrix, in quadratic time; chunks of 16 rows, so that several meet."""
    for module in ("relabel", "tally"):
        monkeypatch.setattr(f"bochner.two_sample.{module}.CHUNK", 16)
    X, Y = samples(50, 33, 2)
    basis = RandomFourier(30, random_state=5)
    length = 1 if null == "permutation" else 4
    result = mmd_test(X, Y, basis=basis, null=null, n_resamples=9, block_length=length)
    Z = result.design.features(np.vstack([X, Y]))
    K = Z @ Z.T
    if null == "permutation":
        starts = [*range(0, 50, 16), *range(50, 83, 16)]
        stops = [*starts[1:], 83]
        draw = Permutations(5, 9, [*starts, 83], 50)
        labels = np.hstack([draw(start, stop) for start, stop in zip(starts, stops, strict=True)])
        assert (labels.sum(axis=1) == 50).all()
        weights = labels / 50 - ~labels / 33
    else:
        parts = []
        for name, rows, side in (("X", 50, 1), ("Y", 33, -1)):
            signs = Signs(5, name, 9, length)(0, rows)
            assert (signs[:, 0] == signs[:, 3]).all()
            assert (signs[:, 3] != signs[:, 4]).any()
            parts.append(side * (signs - signs.mean(axis=1, keepdims=True)) / rows)
        weights = np.hstack(parts)
    np.testing.assert_allclose(result.null_statistics, np.einsum("bi,ij,bj->b", weights, K, weights), atol=1e-12)
    assert result.pvalue == (1 + np.sum(result.null_statistics >= result.statistic)) / 10


@pytest.mark.parametrize("k", [1, 2, 5, 50])
def test_tail_of_equal_variances_is_that_of_chi_square(k):
    for value in np.array([0.3, 0.9, 1.0, 1.2, 2.0]) * k:
        assert abs(chi_square_tail(np.full(k, 2.0), 2.0 * value) / chi2.sf(value, k) - 1) < (0.03 if k < 3 else 0.002)
    assert chi_square_tail(np.full(k, 2.0), 0.0) == 1.0


def test_tail_of_different_variances():
    variances = 0.8 ** np.arange(30)
    draws = np.random.default_rng(0).standard_normal((200_000, 30)) ** 2 @ variances
    for level in (0.9, 0.5, 0.1, 0.05, 0.01):
        found = chi_square_tail(variances, float(np.quantile(draws, 1 - level)))
        assert abs(found - level) < 4 * np.sqrt(level * (1 - level) / 200_000) + 0.005 * level


# ---- calibration and power ----


def rejections(draw, simulations, *, features=50, **how):
    """How many of the simulations have p <= 0.05."""
    how = {"n_resamples": 99, **how}
    return sum(
        mmd_test(*draw(seed), basis=RandomFourier(features, random_state=seed), **how).pvalue <= 0.05
        for seed in range(simulations)
    )


@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
def test_level(null):
    count = rejections(lambda seed: samples(80, 60, 2, seed=seed), 150, null=null)
    assert binom.cdf(count, 150, 0.05) > 0.005
    assert binom.sf(count - 1, 150, 0.05) > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
def test_level_at_five_hundred_rows(null):
    """5 % +- 1 % over 2,000 simulations."""
    count = rejections(lambda seed: samples(500, 500, 3, seed=seed), 2000, null=null, features=200, n_resamples=199)
    print(f"{null}: {count / 2000:.4f}")
    assert 0.04 <= count / 2000 <= 0.06


def test_power_grows_with_distance_and_rows():
    powers = [
        rejections(lambda seed, n=n, shift=shift: samples(n, n, 2, shift, seed), 40)
        for n, shift in ((40, 0.1), (40, 0.4), (40, 0.8), (160, 0.4))
    ]
    assert powers[0] < powers[1] < powers[2]
    assert powers[3] > powers[1]
    assert powers[2] >= 38


CURVES = {
    2: {"shift": (0.1, 0.2, 0.3), "scale": (1.15, 1.3)},
    10: {"shift": (0.05, 0.1, 0.15), "scale": (1.1, 1.2)},
    50: {"shift": (0.05, 0.08), "scale": (1.06, 1.1)},
}


@pytest.mark.slow
@pytest.mark.parametrize("d", CURVES)
def test_power_is_that_of_the_exact_test(d):
    """Along a curve of shifts and one of scales, within 5 points of the quadratic-time permutation test."""
    simulations, n = 400, 150
    for kind, sizes in CURVES[d].items():
        for size in sizes:
            found = {"random": 0, "exact": 0}
            for seed in range(simulations):
                X, Y = samples(n, n, d, seed=seed)
                Y = Y + size if kind == "shift" else Y * size
                result = mmd_test(X, Y, n_resamples=199, random_state=seed)
                found["random"] += result.pvalue <= 0.05
                exact = exact_test(X, Y, kernel_of(result), 199, np.random.default_rng(seed))
                found["exact"] += exact <= 0.05
            powers = {name: float(count / simulations) for name, count in found.items()}
            print(f"d={d} {kind}={size}: {powers}")
            assert abs(powers["random"] - powers["exact"]) <= 0.05


def series(n, seed, memory=0.8):
    """Two independent autoregressive series of one law."""
    noise = np.random.default_rng([seed, n]).standard_normal((2, n, 1))
    rows = np.zeros((2, n, 1))
    rows[:, 0] = noise[:, 0]
    for t in range(1, n):
        rows[:, t] = memory * rows[:, t - 1] + np.sqrt(1 - memory**2) * noise[:, t]
    return rows


def test_signs_shared_by_neighbours_keep_the_level_of_a_series():
    permutation = rejections(lambda seed: series(400, seed), 100)
    wild = rejections(lambda seed: series(400, seed), 100, null="wild", block_length=25)
    assert permutation > 30
    assert wild < 15


# ---- columns of different scales ----

SCALES = np.array([1e6, 1.0, 1e-6])


def unlike(n, k, shift=0.0, seed=0):
    """Samples in three columns of unlike scales, the smallest shifted by so many standard deviations."""
    X, Y = samples(n, k, 3, seed=seed)
    Y[:, 2] += shift
    return X * SCALES, Y * SCALES


@pytest.mark.parametrize("scale", ["auto", "robust", "standard", None])
@pytest.mark.parametrize("null", ["permutation", "asymptotic"])
def test_a_shift_in_a_small_column_is_found_beside_a_large_one(null, scale):
    """At one standard deviation always; without scaling never more often than by chance."""
    count = rejections(lambda seed: unlike(100, 80, 1.0, seed), 25, null=null, scale=scale)
    if scale is None:
        assert binom.sf(count - 1, 25, 0.05) > 0.005
    else:
        assert count == 25


@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
@pytest.mark.parametrize("rows", [(80, 60), (500, 400)])
def test_level_with_scaled_columns(null, rows):
    """Rejections of samples of one law, heavy tails among them, over seeds: as many as chance has, by a z-score."""

    def draw(seed):
        X, Y = unlike(*rows, seed=seed)
        tails = np.random.default_rng([7, seed]).standard_t(1.5, (sum(rows), 1))
        return np.hstack([X, tails[: rows[0]]]), np.hstack([Y, tails[rows[0] :]])

    simulations = 100
    count = rejections(draw, simulations, null=null)
    assert abs(count - 0.05 * simulations) / np.sqrt(0.05 * 0.95 * simulations) < 3.0


def test_units_of_columns_do_not_matter():
    X, Y = samples(700, 600, 3, 0.1)
    expected = mmd_test(X, Y, random_state=0)
    found = mmd_test(X * SCALES + 3.0 * SCALES, Y * SCALES + 3.0 * SCALES, random_state=0)
    assert abs(np.log(found.statistic / expected.statistic)) < 0.5  # other rows are sampled, for others they are
    few = [mmd(*(rows[:200] * s for rows in (X, Y)), random_state=0) for s in (1.0, SCALES)]
    assert few[0] == pytest.approx(few[1], rel=1e-6)  # 400 rows are all looked at


def test_what_is_learned_of_the_rows_does_not_know_whose_they_are():
    """Rows of both samples in any order and in either sample: one basis, so that permutations are exact."""
    X, Y = unlike(900, 400, 0.5)
    first = mmd_test(X, Y, n_resamples=1, random_state=0)
    both = np.vstack([X, Y])[np.random.default_rng(3).permutation(1300)]
    for mine, other in ((Y, X), (both[:650], both[650:]), (X[::-1], np.repeat(Y, 3, axis=0))):
        again = mmd_test(mine, other, n_resamples=1, random_state=0)
        assert again.design.identity() == first.design.identity()
    assert mmd(X, Y, random_state=0) == pytest.approx(mmd(Y, X, random_state=0), rel=1e-9)


def test_rows_are_not_scaled_where_a_number_is_in_their_units():
    X, Y = samples(40, 30, 3)
    pixels = [(60 * rows).clip(-120, 120).astype(np.int8) for rows in (X, Y)]
    assert mmd_test(X, Y, basis=RandomFourier(20, bandwidth=1.0)).design.scaler is None
    assert mmd_test(*pixels, basis=RandomFourier(20)).design.scaler is None
    assert mmd_test(*pixels, basis=RandomFourier(20, precision="int8")).design.scaler is None
    assert mmd_test(X, pixels[1], basis=RandomFourier(20)).design.scaler is not None
    assert mmd_test(X, Y, basis=RandomFourier(20, bandwidth=1.0), scale="standard").design.scaler.clip == 0.0


# ---- what differs ----


def test_witness_and_features():
    X, Y = samples(300, 200, 3, 0.7)
    result = mmd_test(X, Y, basis=RandomMaxout(40, random_state=0))
    Z, W = (result.design.features(rows) for rows in (X, Y))
    np.testing.assert_allclose(result.witness(X), Z @ (Z.mean(axis=0) - W.mean(axis=0)), atol=1e-12)
    assert result.witness(X).mean() - result.witness(Y).mean() == pytest.approx(result.statistic)
    scores = (Z.mean(axis=0) - W.mean(axis=0)) / np.sqrt(Z.var(axis=0, ddof=1) / 300 + W.var(axis=0, ddof=1) / 200)
    np.testing.assert_allclose(result.scores, scores, rtol=1e-9)
    assert np.array_equal(result.features, np.argsort(-np.abs(scores)))


def test_the_features_that_differ_are_found():
    """Samples that differ in one of five columns: the stumps on that column come first."""
    X, Y = samples(500, 500, 5)
    Y[:, 2] += 1.0
    result = mmd_test(X, Y, basis=bochner.RandomStumps(100, random_state=0), n_resamples=19)
    shifted = X + np.eye(5)[2] * 3
    on_it = (dense(result.design.features(shifted)) != dense(result.design.features(X))).any(axis=0)
    assert on_it[result.features[:10]].all()


# ---- rows of every kind ----


@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
def test_blocks_do_not_matter(null):
    X, Y = samples(9000, 5000, 2, 0.02)
    for precision in ("float64", "int8"):
        basis = RandomFourier(16, precision=precision, random_state=0)
        expected = mmd_test(X, Y, basis=basis, null=null, n_resamples=19)
        for size in (1000, 6000):
            with bochner.config_context(block_rows=size):
                found = mmd_test(MemoryBlocks(X).map(lambda b: b), Y, basis=basis, null=null, n_resamples=19)
            assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
            np.testing.assert_allclose(found.difference, expected.difference, atol=1e-13)
            if precision == "int8" and null != "asymptotic":
                assert np.array_equal(found.null_statistics, expected.null_statistics)


def test_wide_features_are_made_a_few_rows_at_a_time():
    X, Y = samples(60, 50, 2)
    expected = mmd_test(X, Y, n_resamples=9, random_state=0)
    with bochner.config_context(memory="1MB"):
        found = mmd_test(X, Y, n_resamples=9, random_state=0)
    np.testing.assert_allclose(found.null_statistics, expected.null_statistics)


def test_sparse_frames_files_and_memory_maps(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, Y = samples(60, 50, 3, 0.3)
    basis = RandomFourier(20, bandwidth=2.0, random_state=0)
    expected = mmd_test(X, Y, basis=basis)
    np.save(tmp_path / "x.npy", X)
    frame = pandas.DataFrame(Y, columns=list("abc"))
    for rows, others in [
        (scipy.sparse.csr_matrix(X), Y),
        (X.tolist(), frame),
        (np.load(tmp_path / "x.npy", mmap_mode="r"), scipy.sparse.csr_matrix(Y)),
    ]:
        found = mmd_test(rows, others, basis=basis)
        assert found.pvalue == expected.pvalue
        np.testing.assert_allclose(found.witness(others), expected.witness(Y), atol=1e-12)
    mine = bochner.read(pandas.DataFrame(X, columns=list("abc")))
    others = bochner.read(frame, recipe=mine.recipe)
    found = mmd_test(mine, others, basis=basis)
    assert found.rows == (60, 50)
    np.testing.assert_allclose(found.witness(frame), found.witness(others))
    with pytest.raises(ValueError, match="X was not read as the samples were"):
        found.witness(bochner.read(frame))
    with pytest.raises(ValueError, match="were not read in the same way"):
        mmd_test(mine, bochner.read(frame), basis=basis)
    with pytest.raises(ValueError, match="columns of different names"):
        mmd(frame, frame[["b", "a", "c"]])
    sparse = mmd_test(X, Y, basis=RandomBins(64, random_state=0), null="asymptotic")
    assert 0 < sparse.pvalue < 1


def test_the_same_seed_gives_the_same_answer():
    X, Y = samples(50, 40, 2, 0.2)
    before = X.copy()
    first, second = (mmd_test(X, Y, random_state=7) for _ in range(2))
    other = mmd_test(X, Y, random_state=8)
    assert np.array_equal(first.null_statistics, second.null_statistics)
    assert not np.array_equal(first.null_statistics, other.null_statistics)
    assert np.array_equal(X, before)
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(again.witness(X), first.witness(X))
    assert "50 and 40 rows, 499 permutations" in str(first)


@pytest.mark.parametrize("null", ["permutation", "wild", "asymptotic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_are_no_evidence(null, dtype):
    """Nothing but rounding differs."""
    rows = np.full((37, 2), 0.3, dtype=dtype)
    assert mmd_test(rows, rows[:11], null=null, random_state=0).pvalue == 1.0


def test_few_rows_have_few_relabelings():
    """Two rows against two: a third of the relabelings are the samples as they are, or exchanged."""
    result = mmd_test([[0.0], [0.1]], [[5.0], [5.1]], n_resamples=2999, random_state=0)
    assert abs(result.pvalue - 1 / 3) < 4 * np.sqrt(2 / 9 / 3000)


def test_bad_input_gets_one_sentence():
    X, Y = samples(10, 8, 3)
    bad = Y.copy()
    bad[5, 1] = np.nan
    for attempt, message in [
        (lambda: mmd(X, bad), r"Y contains NaN \(first at row 5, column 1\)"),
        (lambda: mmd(X, MemoryBlocks(bad).map(lambda b: b)), "Y, in the block from row 0 on, contains NaN"),
        (lambda: mmd(X, Y[:, :2]), "X has 3 columns but Y has 2."),
        (lambda: mmd(X[:0], Y), "X has no rows: at least one is needed."),
        (lambda: mmd(X, MemoryBlocks(Y[:0]).map(lambda b: b)), "Y has no rows: at least one is needed."),
        (lambda: mmd_test(X, Y[:1]), "Y has one row; at least two are needed."),
        (lambda: mmd(X, Y[0]), "Expected 2D array"),
        (lambda: mmd(X, [["a", "b", "c"]]), "convert|numeric"),
        (lambda: mmd(X, Y, basis="fourier"), "basis must be one of bochner's bases"),
        (lambda: mmd_test(X, Y, null="permutations"), "did you mean 'permutation'"),
        (lambda: mmd_test(X, Y, scale="robustly"), "did you mean 'robust'"),
        (lambda: mmd_test(X, Y, n_resamples=0), "n_resamples must be an integer of at least 1"),
        (lambda: mmd_test(X, Y, block_length=3), "block_length is for null='wild'"),
        (lambda: mmd_test(X, Y, null="wild", block_length=5), "leaves fewer than two blocks"),
        (lambda: mmd_test(X, Y, basis=RandomFourier(10**5), null="asymptotic"), "over the memory budget"),
        (lambda: mmd_test(X, Y).witness(X[:, :2]), "X has 2 columns; the samples had 3"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            attempt()
        assert "\n" not in str(caught.value) or "2D" in message
    assert mmd(X, Y[:1], unbiased=False) > 0


# ---- memory ----

STREAMED = """
def work(path):
    rows = np.load(path, mmap_mode="r")
    X, Y = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    basis = bochner.RandomFourier(50, random_state=0)
    assert bochner.mmd_test(X, Y, basis=basis, n_resamples=49).rows == (len(X), len(Y))
"""


def test_memory_does_not_grow_with_rows(tmp_path):
    paths = [tmp_path / f"{rows}.npy" for rows in (40_000, 160_000)]
    for path in paths:
        np.save(path, np.random.default_rng(0).standard_normal((int(path.stem), 8), dtype=np.float32))
    few, many = measured(STREAMED, *paths)
    assert many < few + 15e6


MILLION = """
def work(null):
    X, Y = (np.random.default_rng(seed).standard_normal((10**6, 50), dtype=np.float32) for seed in range(2))
    result = bochner.mmd_test(X, Y, null=null, n_resamples=199, random_state=0)
    assert 0.01 < result.pvalue < 0.99, result
    Y += np.float32(0.02)
    assert bochner.mmd_test(X, Y, null=null, n_resamples=199, random_state=0).pvalue <= 0.005
"""


@pytest.mark.slow
def test_two_samples_of_a_million_rows_of_fifty_columns():
    """400 MB of them are the rows themselves."""
    assert max(measured(MILLION, "permutation", "asymptotic")) < 1e9
