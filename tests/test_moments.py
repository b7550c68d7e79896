"""Moments: exact for integers in any order and any blocks, at float64 level for floats."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import bochner
from bochner import RandomFourier
from bochner.blocks import MemoryBlocks
from bochner.moments import FoldedMoments, Moments, Rows


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True))


DTYPES = {"int16": np.int16, "float32": np.float32, "float64": np.float64}


def integer_rows(n=300, m=7, seed=0, dtype=np.int8, top=127):
    rng = np.random.default_rng(seed)
    return rng.integers(-top, top + 1, (n, m)).astype(dtype), rng.choice([-1, 1], (n, 2)).astype(np.int8)


@pytest.mark.parametrize(("dtype", "top"), [(np.int8, 127), (np.int16, 8191)])
def test_integer_sums_are_exact(dtype, top):
    Z, Y = integer_rows(3000, dtype=dtype, top=top)
    moments, wide = Moments.of(Z, Y), Z.astype(np.int64)
    assert moments.is_exact
    assert np.array_equal(moments.gram, wide.T @ wide)
    assert np.array_equal(moments.cross, wide.T @ Y.astype(np.int64))
    assert np.array_equal(moments.sum_z, wide.sum(axis=0))
    assert moments.rows == moments.weight == 3000


@given(st.lists(st.integers(1, 299), max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_any_partition_and_order_gives_the_same_bits(cuts, random):
    Z, Y = integer_rows()
    parts = [Moments.of(z, y) for z, y in zip(np.split(Z, sorted(cuts)), np.split(Y, sorted(cuts)), strict=True)]
    random.shuffle(parts)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert same(total, Moments.of(Z, Y))
    if len(parts) > 1:
        assert same(total - parts[-1] + parts[-1], total)


def test_a_million_rows_in_any_blocks_and_threads_are_the_same_bits():
    """Features and sums of 10^6 rows: blocks of two sizes, one and two threads of BLAS, halves merged and forgotten."""
    from threadpoolctl import threadpool_limits

    X = np.random.default_rng(0).standard_normal((1_000_000, 4)).astype(np.float32)
    y = np.where(X[:, :1] > 0, 1, -1).astype(np.int8)
    basis = RandomFourier(32, precision="int8", random_state=0).fit(X)

    from bochner.solvers.sums import MomentsOf

    def moments(rows, block_rows):
        with bochner.config_context(block_rows=block_rows):
            blocks = MemoryBlocks(X[rows], y[rows])
            return blocks.reduce(MomentsOf(basis.map_, 4.0)).total()

    whole = moments(slice(None), 65_536)
    with threadpool_limits(1):
        assert same(moments(slice(None), 10_007), whole)
    first, second = moments(slice(0, 400_000), 30_000), moments(slice(400_000, None), 50_000)
    assert same(second + first, whole)
    assert same(whole - second, first)


def test_float_sums_are_at_float64_level():
    """Against exact rational arithmetic, for float32 features of mixed size."""
    rng = np.random.default_rng(0)
    Z = (rng.standard_normal((200, 3)) * 10.0 ** rng.integers(-3, 4, (200, 1))).astype(np.float32)
    y = rng.standard_normal((200, 1))
    moments = Moments.of(Z, y)
    for i in range(3):
        exact = sum(Fraction(float(z[i])) * Fraction(float(z[(i + 1) % 3])) for z in Z)
        size = float(np.sum(np.abs(Z[:, i].astype(float) * Z[:, (i + 1) % 3])))
        assert abs(moments.gram[i, (i + 1) % 3] - float(exact)) < 1e-14 * size
    blocks = sum((Moments.of(Z[k : k + 1], y[k : k + 1]) for k in range(1, 200)), start=Moments.of(Z[:1], y[:1]))
    np.testing.assert_allclose(blocks.gram, moments.gram, rtol=1e-12)


def test_weights_are_repetitions():
    Z, Y = integer_rows(40)
    counts = np.random.default_rng(1).integers(1, 4, 40)
    weighted, repeated = (
        Moments.of(Z, Y, counts.astype(float)),
        Moments.of(np.repeat(Z, counts, 0), np.repeat(Y, counts, 0)),
    )
    for name in ("sum_z", "sum_y", "gram", "cross", "square", "weight"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-9)
    assert not weighted.is_exact


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_sparse_features_are_not_made_dense(dtype):
    Z = scipy.sparse.random(400, 50, density=0.05, random_state=0, data_rvs=lambda n: np.ones(n)).tocsr().astype(dtype)
    y = np.random.default_rng(0).standard_normal((400, 2))
    for weight in (None, np.linspace(0.5, 2, 400)):
        sparse, dense = Moments.of(Z, y, weight), Moments.of(Z.toarray(), y, weight)
        for name in ("sum_z", "gram", "cross", "square"):
            np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-12, atol=1e-12)


def test_overflow_is_refused_before_it_happens():
    Z, Y = integer_rows(4)
    moments = Moments.of(Z, Y)
    moments.gram = moments.gram + 2**61
    with pytest.raises(OverflowError, match="near the limit of 64 bits"):
        moments + moments


def test_cannot_take_away_more_than_there_is():
    Z, Y = integer_rows(10)
    with pytest.raises(ValueError, match="cannot take 10 rows away from 4"):
        Moments.of(Z[:4], Y[:4]) - Moments.of(Z, Y)


def test_centering_exact_integers_does_not_cancel():
    """A large constant plus a small variation: the integer route keeps all digits."""
    rng = np.random.default_rng(0)
    Z = (8000 + rng.integers(0, 2, (5000, 2))).astype(np.int16)
    centered = Moments.of(Z, np.zeros((5000, 1))).centered()
    small = Z.astype(np.float64) - Z.mean(axis=0)
    np.testing.assert_allclose(centered.gram, small.T @ small, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["int8", "int16", "float32", "float64", "sparse", "float targets", "mixed"])
def test_rows_are_added_where_the_sums_are(kind, weighted):
    Z, Y = integer_rows(90)
    Z = scipy.sparse.csr_matrix(Z) if kind == "sparse" else Z.astype(DTYPES.get(kind, np.int8))
    targets = Y.astype(np.float64) if kind == "float targets" else Y
    weight = np.linspace(0.5, 2.0, 90) if weighted else None
    total, sums = None, None
    for k, some in enumerate((slice(0, 1), slice(1, 50), slice(50, 90))):
        features = Z[some].astype(np.float64) if kind == "mixed" and k == 1 else Z[some]
        rows = Rows(features, targets[some], None if weight is None else weight[some])
        total = Moments.plus_rows(total, rows)
        in_place = sums is None or total.gram is sums
        assert in_place or kind == "mixed"
        sums = total.gram
    expected = Moments.of(Z.astype(np.float64) if kind == "mixed" else Z, targets, weight)
    assert total.rows == 90
    for name in ("weight", "sum_z", "sum_y", "gram", "cross", "square"):
        np.testing.assert_allclose(getattr(total, name), getattr(expected, name), rtol=1e-12, atol=1e-9)
        assert np.asarray(getattr(total, name)).dtype == np.asarray(getattr(expected, name)).dtype


def test_error_of_a_model_from_sums_alone():
    rng = np.random.default_rng(0)
    Z, Y, b = rng.standard_normal((80, 4)) + 1.0, rng.standard_normal((80, 2)), rng.standard_normal((4, 2))
    for intercept in (True, False):
        out, rest = (Moments.of(Z[part], Y[part]).centered(1.0, intercept) for part in (slice(0, 20), slice(20, 80)))
        offset = rest.mean_y - rest.mean_z @ b
        np.testing.assert_allclose(out.errors_of(b, rest), np.sum((Y[:20] - Z[:20] @ b - offset) ** 2, axis=0))


def test_folds_add_up():
    Z, Y = integer_rows(90)
    folded = FoldedMoments([None, Moments.of(Z[:30], Y[:30])])
    folded += FoldedMoments([Moments.of(Z[30:60], Y[30:60]), Moments.of(Z[60:], Y[60:])])
    assert same(folded.total(), Moments.of(Z, Y))
    for intercept in (True, False):
        whole = Moments.of(Z, Y).centered(0.5, intercept)
        assert np.isclose(folded.square_sum(0.5, intercept), np.trace(whole.gram))
    assert same(
        (folded - FoldedMoments([Moments.of(Z[30:60], Y[30:60]), None])).total(), Moments.of(*without(Z, Y, 30, 60))
    )
    with pytest.raises(ValueError, match="were not all added before"):
        folded - FoldedMoments([Moments.of(Z, Y), None])


def without(Z, Y, start, stop):
    rows = np.r_[0:start, stop : len(Z)]
    return Z[rows], Y[rows]


def test_the_square_sum_of_large_sums_does_not_overflow():
    Z, Y = integer_rows(90)
    part = Moments.of(Z, Y)
    part.gram += np.diag(np.full(7, 2**61 - 2**40))
    assert np.isclose(FoldedMoments([part]).square_sum(1.0, False), 7 * (2**61 - 2**40), rtol=1e-6)


def test_prefix_is_the_moments_of_the_first_columns():
    Z, Y = integer_rows(50)
    assert same(Moments.of(Z, Y).prefix(3), Moments.of(np.ascontiguousarray(Z[:, :3]), Y))
