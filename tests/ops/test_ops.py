"""Every op on every backend and instruction set against its definition in ops/reference.py."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bochner import ops
from bochner.ops import native, reference, reference_sums, threads

FLOATS = (np.float32, np.float64)
SETS = [*native.instruction_sets(), native.EMULATED] if native.FUNCTIONS else []


def expansions(rng, count, size):
    signs = rng.choice([-1, 1], (count, size)).astype(np.int8)
    permutation = np.array([rng.permutation(size) for _ in range(count)], dtype=np.int32)
    return signs, permutation


def fastfood_arguments(rng, dtype, d, size):
    normals = rng.standard_normal((2, 3, size)).astype(dtype)
    return (rng.standard_normal((4, d)).astype(dtype), *expansions(rng, 3, size), normals[0], normals[1])


def codes(rng, shape, dtype=np.int8):
    low, high = (0, 256) if dtype == np.uint8 else (-127, 128)
    return rng.integers(low, high, shape).astype(dtype)


def integers(rng, shape, bits, dtype):
    """Random integers of so many bits, signed if the dtype is."""
    low = -(1 << (bits - 1)) if np.dtype(dtype).kind == "i" else 0
    return rng.integers(low, low + (1 << bits), shape).astype(dtype)


NUMBERS = (*FLOATS, np.int32)
CODES = (np.int8, np.uint8)
POOLS = (1, 2, 3, 4, 8, 16, 24)
GRAM_SHAPES = (
    (2500, 7), (1, 1), (0, 3), (3, 0), (37, 48), (5, 193), (600, 391), (20_000, 3), (64, 32), (65, 33),
)  # fmt: skip
SIZES = ((1, 1), (3, 4), (100, 128), (128, 128))


def stump_arguments(rng, dtype, n, d, m, height):
    x, thresholds = rng.integers(-2, 3, (n, d)).astype(dtype), rng.integers(-2, 3, m).astype(dtype)
    thresholds[0] = np.nan  # nothing is above it
    return x, rng.integers(0, d, m).astype(np.int32), thresholds, height


def byte_stump_arguments(rng, dtype, n, d, m):
    thresholds = np.concatenate([[np.nan, -np.inf, np.inf, -129.0, -128.0, 127.0, 255.0], rng.uniform(-300, 300, m)])[
        :m
    ]
    return codes(rng, (n, d), dtype), rng.integers(0, d, m).astype(np.int32), thresholds, np.int8(1)


def bin_arguments(rng, dtype):
    x, shift, pitch = rng.standard_normal((9, 3)).astype(dtype), rng.uniform(size=(4, 3)), rng.gamma(2, size=(4, 3))
    return x, shift, pitch, integers(rng, (4, 4), 63, np.uint64), 17


def wave_arguments(rng, alone, bits, amplitude):
    table = reference.cosine_table(bits, amplitude)
    return integers(rng, (5, 6), 32, np.uint32), integers(rng, alone, 32, np.uint32), table


def projection_arguments(rng):
    """Inputs and directions: one panel, several, odd ends, more columns than a chunk, the most extreme numbers."""
    shapes = [(6, 1, 5), (1, 3, 48), (9, 255, 49), (65, 256, 7), (3, 257, 200), (70, 784, 96), (5, 2500, 12)]
    shapes += [(32, 64, 32), (33, 65, 33), (300, 17, 9)]  # whole tiles, one more, more rows than are done at once
    for rows, d, m in shapes:
        for dtype in CODES:
            yield codes(rng, (rows, d), dtype), codes(rng, (m, d))
    for low in (np.full((3, 1000), -128, np.int8), np.full((3, 1000), 255, np.uint8)):
        yield low, np.full((2, 1000), -127, np.int8)


def dense_arguments(rng, pools=(1,)):
    """Few rows, and enough to be packed: one panel, several, odd ends, more columns than a chunk. Sums are exact."""
    shapes = [(3, 5, 7), (512, 1, 1), (600, 129, 50), (523, 300, 200), (512, 17, 49)]
    for rows, d, m in shapes:
        for q in pools:
            for t in FLOATS:
                yield rng.integers(-3, 4, (rows, d)).astype(t), rng.integers(-3, 4, (m * q, d)).astype(t), q


def gram_argument(rng, shape, dtype):
    """All numbers of 8 bits, or of 14 bits but the lowest, which the definition alone serves."""
    low, high = (-128, 128) if dtype == np.int8 else (-8191, 8192)
    return rng.integers(low, high, shape).astype(dtype)


def pooled_arguments(rng, pools=(1, 2, 3, 5, 16, 100)):
    for q in pools:
        for dtype in CODES:
            yield codes(rng, (67, 30), dtype), codes(rng, (7 * q, 30)), q


# op -> arguments to try; a new op must have an entry here.
EXAMPLES = {
    "fwht": lambda r: (
        [(integers(r, (3, 1 << k), 9, t),) for k in (0, 1, 2, 5, 6, 7, 9, 12, 13, 16) for t in (np.int32,)]
        + [(r.standard_normal((3, 1 << k)).astype(t),) for k in (0, 1, 2, 5, 6, 7, 9, 12, 13, 16) for t in FLOATS]
    ),
    "fastfood": lambda r: [fastfood_arguments(r, t, d, n) for t in FLOATS for d, n in SIZES],
    "maxout": lambda r: [(r.integers(-50, 50, (5, 24 * q)).astype(t), q) for q in POOLS for t in NUMBERS],
    "winners": lambda r: [(r.integers(-5, 5, (5, 24 * q)).astype(t), q) for q in POOLS for t in NUMBERS],
    "gates": lambda r: [
        (r.integers(0, q, (7, 33)).astype(np.int32), r.integers(-5, 6, (7, 33)).astype(t), q)
        for q in POOLS
        for t in (np.int8, np.int16, *FLOATS)
    ],
    "stumps": lambda r: (
        [
            stump_arguments(r, t, *shape, h)
            for t in FLOATS
            for shape in ((7, 5, 1), (7, 5, 33), (64, 16, 64), (200, 37, 131), (300, 1100, 280), (65, 300, 9))
            for h in (t(0.25), np.int8(1))
        ]
        + [
            byte_stump_arguments(r, t, *shape)
            for t in CODES
            for shape in ((7, 5, 1), (7, 5, 33), (64, 16, 64), (200, 37, 1131), (130, 9000, 2300), (65, 300, 9))
        ]
    ),
    "waves": lambda r: [
        (r.standard_normal((4, 6)).astype(t), r.uniform(0, 6, k).astype(t), t(0.5)) for t in FLOATS for k in (0, 1, 6)
    ],
    "bins": lambda r: [bin_arguments(r, t) for t in FLOATS],
    "project": lambda r: list(projection_arguments(r)),
    "project_waves": lambda r: [
        (x, w, integers(r, len(w), 32, np.uint32), integers(r, alone, 32, np.uint32), reference.cosine_table(*table))
        for x, w in projection_arguments(r)
        for alone in {0, 1, len(w)}
        for table in ((10, 127), (14, 8191))
    ],
    "project_maxout": lambda r: [
        (x, w, q, integers(r, len(x), 15, np.int32), 77, 9, limit)
        for x, w, q in pooled_arguments(r)
        for limit in (127, 8191)
    ],
    "project_winners": lambda r: list(pooled_arguments(r)),
    "project_lookup": lambda r: [
        (x, w, 3, 9, integers(r, len(w), 11, np.int64), np.arange(-8, 8, dtype=t))
        for x, w in projection_arguments(r)
        for t in (np.int8, np.int16)
    ],
    "fastfood_waves": lambda r: [
        (*fastfood_arguments(r, t, d, n), kept, r.uniform(0, 6, alone).astype(t), t(0.5))
        for t in FLOATS
        for d, n in SIZES
        for kept, alone in ((3 * n, 0), (2 * n + 1, 1))
    ],
    "fastfood_waves_integer": lambda r: [
        (
            codes(r, (4, d), t),
            *expansions(r, 3, n),
            codes(r, (3, n)),
            2,
            integers(r, 3 * n, 32, np.uint32),
            kept,
            integers(r, alone, 32, np.uint32),
            reference.cosine_table(*table),
        )
        for d, n in SIZES
        for t in CODES
        for kept, alone in ((3 * n, 0), (2 * n + 1, 1))
        for table in ((10, 127), (14, 8191))
    ],
    "dense_waves": lambda r: [
        (x, w, r.uniform(0, 6, alone).astype(x.dtype), x.dtype.type(0.5))
        for x, w, _ in dense_arguments(r)
        for alone in {0, 1, len(w) - len(w) // 3, len(w)}
    ],
    "dense_maxout": lambda r: [
        (x, w, q, r.integers(0, 9, len(x)).astype(x.dtype), x.dtype.type(0.25))
        for x, w, q in dense_arguments(r, (1, 3, 4, 20))
    ],
    "dense_winners": lambda r: list(dense_arguments(r, (1, 3, 4, 20))),
    "quantize": lambda r: (
        [
            (10 * r.standard_normal((7, 5)).astype(t), centre, 0.037, low, high)
            for t in FLOATS
            for centre in (np.zeros(1), r.standard_normal(5))
            for low, high in ((-127, 127), (0, 255))
        ]
        + [(np.array([[0.5, 1.5, -0.5, 2.5, 1e300, -1e300]]), np.zeros(1), 1.0, -127, 127)]
    ),
    "binned": lambda r: [
        (r.integers(0, 2 * columns, (rows, grids)), columns, height)
        for rows, grids, columns in ((0, 3, 5), (1, 1, 1), (300, 7, 4), (200, 300, 2), (150, 64, 4096), (65, 5, 2**20))
        for height in (np.int8(1), np.float32(0.3), np.float64(0.7))
    ],
    "philox": lambda r: [(integers(r, (n, 4), 32, np.uint32), (123456789, 987654321)) for n in (1, 63, 64, 65, 1000)],
    "project_phase": lambda r: [
        (codes(r, (6, d), t), integers(r, (5, d), 32, np.uint32)) for d in (1, 300) for t in CODES
    ],
    "phase": lambda r: [(integers(r, (4, 7), 32, np.int32), integers(r, 7, 32, np.uint32))],
    "waves_integer": lambda r: [wave_arguments(r, k, *table) for k in (0, 1, 6) for table in ((10, 127), (14, 8191))],
    "fastfood_integer": lambda r: [
        (codes(r, (4, d), t), *expansions(r, 3, n), codes(r, (3, n)), shift)
        for d, n in SIZES
        for t in CODES
        for shift in (0, 3)
    ],
    "gram": lambda r: (
        [(gram_argument(r, (n, m), t),) for n, m in GRAM_SHAPES for t in (np.int8, np.int16)]
        + [(np.full((17_000, 2), extreme, t),) for extreme, t in ((-128, np.int8), (8191, np.int16), (-8191, np.int16))]
        + [(integers(r, (9, 3), 16, np.int16),), (np.array([[-32768, 1]], np.int16),)]
        + [(r.standard_normal((50, 520)).astype(t),) for t in FLOATS]
    ),
    "float_gram": lambda r: [
        (r.integers(-50, 51, shape).astype(np.float32), rounded)
        for shape in ((1, 1), (3, 5), (5, 0), (0, 5), (130, 49), (300, 200), (4500, 97))
        for rounded in (False, True)
    ],
    "cross": lambda r: (
        [
            (integers(r, (n, m), 8 * np.dtype(t).itemsize, t), integers(r, (n, k), 8, np.int8))
            for n, m, k in FEW_COLUMNS
            for t in (np.int8, np.int16)
        ]
        + [(np.full((1000, 3), extreme, t), np.full((1000, 2), -128, np.int8)) for extreme, t in EXTREMES]
        + [(integers(r, (50, 7), 8, np.int8), r.choice([-1, 1], (50, 3)))]
        + [(r.standard_normal((50, 7)).astype(t), r.standard_normal((50, 2))) for t in FLOATS]
    ),
    "scores": lambda r: [  # whole numbers, so that the order of sums does not matter
        (integers(r, (n, m), 8, z), r.integers(-50, 51, (m, k)).astype(t))
        for n, m, k in FEW_COLUMNS[1:]  # no rows are not one at a time
        for z in (np.int8, np.int16, np.float32)
        for t in FLOATS
    ],
    "calibrate": lambda r: [(integers(r, (4, 6), 31, np.int32), integers(r, 6, 20, np.int64), 24)],
    "rescale": lambda r: [(integers(r, (4, 6), 21, np.int32), 77, 12, top) for top in (127, 8191)],
    "lookup": lambda r: [
        (integers(r, (4, 6), 21, np.int32), 3, 9, integers(r, 6, 11, np.int64), np.arange(-8, 8, dtype=np.int8))
    ],
}


FEW_COLUMNS = [(0, 3, 2), (1, 1, 1), (5, 64, 0), (3, 0, 2), (65, 63, 11), (129, 300, 17), (300, 1100, 3), (70, 9, 70)]
EXTREMES = ((-128, np.int8), (-32768, np.int16), (32767, np.int16))


def test_every_op_has_examples():
    assert set(EXAMPLES) == set(ops.NAMES) == {name for name, backend in ops.TABLE if backend == "reference"}


@pytest.fixture
def chosen_set(request):
    before = native.instruction_set()
    native.use_instruction_set(request.param)
    yield request.param
    native.use_instruction_set(before)


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("name", sorted(native.FUNCTIONS))
def test_native_equals_reference_bit_for_bit(name, chosen_set):
    for arguments in EXAMPLES[name](np.random.default_rng(0)):
        expected = getattr(reference, name)(*arguments)
        result = native.FUNCTIONS[name](*arguments)
        if name == "binned":  # three arrays of unequal lengths
            assert [part.dtype for part in result] == [part.dtype for part in expected]
            result, expected = map(np.concatenate, (result, expected))
        assert result.dtype == expected.dtype
        if result.dtype == np.float32 and name in ROUNDED:
            np.testing.assert_allclose(result, expected, rtol=0, atol=2e-7)
        else:
            assert np.array_equal(result, expected)


PRODUCTS = ("project", "project_waves", "project_maxout", "project_winners", "project_lookup", "gram", "dense_maxout",
            "cross", "scores")  # fmt: skip


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_depend_neither_on_strides_nor_on_old_memory_nor_on_threads(name, chosen_set, monkeypatch):
    """New arrays are full of rubbish, and each thread sets up what it needs."""
    for first, *others in EXAMPLES[name](np.random.default_rng(2)):
        expected = getattr(reference, name)(first, *others)
        strided = np.repeat(np.repeat(first, 2, axis=0), 2, axis=1)[::2, ::2]
        with monkeypatch.context() as patch, threads.limited(3):
            patch.setattr(np, "empty", lambda shape, dtype: np.full(shape, 85, dtype))
            result = native.FUNCTIONS[name](strided, *others)
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_of_a_row_are_accurate_and_do_not_depend_on_other_rows(dtype, chosen_set):
    rng = np.random.default_rng(0)
    z, weights = codes(rng, (50, 1111)), rng.standard_normal((1111, 21)).astype(dtype)
    wide = z.astype(np.longdouble), weights.astype(np.longdouble)
    whole = native.scores(z, weights)
    assert (np.abs(whole - wide[0] @ wide[1]) <= 20 * np.finfo(dtype).eps * np.abs(wide[0]) @ np.abs(wide[1])).all()
    for rows in (slice(3, 4), slice(7, 31)):
        assert np.array_equal(native.scores(z[rows], weights), whole[rows])
    with threads.limited(3):
        assert np.array_equal(native.scores(z, weights), whole)
    for wrong in (weights[:1], weights[:, :, None], weights.T):
        with pytest.raises(ValueError):
            native.scores(z, wrong)


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
def test_products_of_every_small_shape(chosen_set):
    rng = np.random.default_rng(3)
    for rows, d, m in [*np.ndindex(3, 3, 3), *rng.integers(1, 150, (40, 3))]:
        for dtype in CODES:
            x, w = codes(rng, (rows, d), dtype), codes(rng, (m, d))
            assert np.array_equal(native.project(x, w), reference.project(x, w))
        for dtype in (np.int8, np.int16):
            z = gram_argument(rng, (rows, m + 1), dtype)
            assert np.array_equal(native.gram(z), reference.gram(z))


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
def test_emulated_tiles_are_never_chosen_and_amx_is_refused_with_a_reason():
    assert native.EMULATED not in native.instruction_sets()
    if "amx" not in native.instruction_sets():
        with pytest.raises(ValueError, match=r"'amx' is not available here \((this|the operating system|it was)"):
            native.use_instruction_set("amx")


@pytest.mark.parametrize("chosen_set", SETS[-1:], indirect=True)
def test_an_instruction_set_with_wrong_products_is_left_with_a_warning(chosen_set, monkeypatch):
    native.leave_if_wrong("baseline")
    assert native.instruction_set() == chosen_set
    for name in ("gram", "project", "float_gram"):
        right = getattr(native, name)
        with monkeypatch.context() as patch:
            patch.setattr(native, name, lambda *arguments, right=right: right(*arguments) + 1)
            with pytest.warns(RuntimeWarning, match="wrong products on this machine: baseline is used instead"):
                native.leave_if_wrong("baseline")
        assert native.instruction_set() == "baseline"
        native.use_instruction_set(chosen_set)


ROUNDED = ("waves", "fastfood_waves", "dense_waves")  # cos and sin of floats are defined up to rounding


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
def test_float_waves_are_the_same_bits_on_every_instruction_set():
    before, x = native.instruction_set(), np.random.default_rng(0).uniform(-9000, 9000, (20, 133)).astype(np.float32)
    results = []
    for name in SETS:
        native.use_instruction_set(name)
        results.append(native.waves(x, np.ones(3, np.float32), np.float32(0.7)))
    native.use_instruction_set(before)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
def test_sine_and_cosine_of_floats(chosen_set):
    rng = np.random.default_rng(0)
    near = [rng.uniform(-r, r, 200_000) for r in (1e-3, 1.0, 10.0, 8192.0, 1e4)]
    edges = np.arange(-12_000, 12_000) * (np.pi / 4)
    x = np.concatenate([*near, edges, [0.0, -0.0, 1e-45, -1e-40, 8192.0, -8192.0]]).astype(np.float32)
    none, one = np.empty(0, np.float32), np.float32(1.0)
    waves = native.waves(x[None], none, one)[0]
    assert np.abs(waves[0::2] - np.cos(x.astype(np.float64))).max() < 1.5e-7
    assert np.abs(waves[1::2] - np.sin(x.astype(np.float64))).max() < 1.5e-7
    far = np.float32([1e5, -1e10, 3e38])
    waves = native.waves(far[None], none, one)[0]
    np.testing.assert_allclose(waves[0::2], np.cos(far.astype(np.float64)), atol=1e-7)
    np.testing.assert_allclose(waves[1::2], np.sin(far.astype(np.float64)), atol=1e-7)
    assert np.isnan(native.waves(np.float32([[np.nan]]), none, one)).all()


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
@pytest.mark.parametrize(
    "chosen_set", [s for s in SETS if s not in (native.PLAIN, native.EMULATED)], indirect=True
)  # the others round twice
def test_dense_projections_are_the_same_bits_for_any_partition(chosen_set):
    """Of rows and threads, into some columns of a matrix full of rubbish."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2000, 333), (130, 333)))
    chains = np.zeros((len(x), len(w)))
    for start in range(0, 333, 128):  # the definition: one rounding a step, a chunk at a time
        chunk = np.zeros_like(chains)
        for k in range(start, min(start + 128, 333)):
            exact = x[:, k, None].astype(np.float64) * w[:, k].astype(np.float64)
            chunk = (chunk + exact).astype(np.float32).astype(np.float64)
        chains = (chains + chunk).astype(np.float32).astype(np.float64)
    none, one = np.zeros(len(x), np.float32), np.float32(1.0)
    whole = native.dense_maxout(x, w, 1, none, one)
    assert np.mean(whole != chains.astype(np.float32)) < 1e-3  # rounding to float64 first may differ, but rarely
    for workers, rows in ((3, slice(None)), (1, slice(100, 700))):
        room = np.full((len(x[rows]), 150), np.nan, np.float32)
        with threads.limited(workers):
            native.dense_maxout(x[rows], w, 1, none[rows], one, room[:, 10:140])
        assert np.array_equal(room[:, 10:140], whole[rows])
        assert np.isnan(np.delete(room, slice(10, 140), axis=1)).all()
    with pytest.raises(ValueError, match="must be neighbours"):
        native._native.dense_maxout(x, w, 1, none, 1.0, np.zeros((260, 2000), np.float32)[::2].T)


SUMS = ("gram", "cross")


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int16])
def test_a_gram_matrix_of_many_columns_by_stripes(dtype, monkeypatch):
    z = np.random.default_rng(0).integers(-100, 101, (50, 37)).astype(dtype)
    whole = reference.gram(z)
    monkeypatch.setattr(reference_sums, "MANY_COLUMNS", 5)
    monkeypatch.setattr(reference_sums, "STRIPE", 8)
    assert np.array_equal(reference.gram(z), whole)
    assert reference.gram(z).dtype == whole.dtype


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("rounded", [False, True])
def test_quick_sums_of_floats_are_nearly_exact(rounded, chosen_set):
    """To a millionth of the lengths of columns, small or large; denormals may count as zero; they add up in place."""
    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.integers(-12, 12, 70)
    z = (rng.standard_normal((5000, 70)) * scales).astype(np.float32)
    z[:, 5] = np.float32(1e-40)
    numbers = (reference_sums.to_bfloat16(z) if rounded else z).astype(np.float64)
    numbers[:, 5] = 0.0
    exact = numbers.T @ numbers
    lengths = np.sqrt(np.outer(*2 * [np.diagonal(exact)])) + np.outer(scales, scales) * 1e-12
    once = native.float_gram(z, rounded)
    assert np.array_equal(once, once.T)
    assert 0.0 < (np.abs(once - exact) / lengths).max() < 1e-6
    total = once.copy()
    assert native.float_gram(np.repeat(z, 2, axis=1)[:, ::2], rounded, total) is total
    np.testing.assert_allclose(total, 2 * once, rtol=1e-12)


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("stumps", [native.stumps, reference.stumps])
def test_stumps_refuse_what_is_not_finite_wherever_it_is(stumps, chosen_set):
    """In columns that no stump looks at too; the largest numbers are finite."""
    rng = np.random.default_rng(0)
    for rows, d, m in ((1, 1, 1), (3, 200, 5), (70, 37, 40), (200, 5, 300)):
        for dtype in FLOATS:
            x, coordinates, thresholds, height = stump_arguments(rng, dtype, rows, d, m, np.int8(1))
            x[-1] = np.finfo(dtype).max
            stumps(x, 0 * coordinates, thresholds, height)
            for bad in (np.nan, np.inf, -np.inf):
                for row, column in {(0, 0), (rows - 1, d - 1), (rows // 2, d // 2)}:
                    worse = x.copy()
                    worse[row, column] = bad
                    with pytest.raises(ops.NotFiniteError, match="NaN or infinity"):
                        stumps(worse, 0 * coordinates, thresholds, height)


def test_rounding_to_bfloat16():
    z = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8 - 2**-20, 3e38, np.inf, np.nan, 0.0, -0.0], np.float32)
    expected = np.array([1.0, 1.0, 1 + 2**-6, -1 - 2**-7, 3e38, np.inf, np.nan, 0.0, -0.0], np.float32)
    np.testing.assert_allclose(reference_sums.to_bfloat16(z), expected, rtol=3e-3)
    assert np.array_equal(reference_sums.to_bfloat16(z)[:4], expected[:4])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int16])
def test_a_gram_matrix_is_added_to_another(dtype, order):
    z = gram_argument(np.random.default_rng(0), (300, 37), dtype)
    once = ops.gram(z)
    total = np.array(once, order=order)
    assert ops.gram(z, total) is total
    assert np.array_equal(total, 2 * once)


def test_a_gram_matrix_is_not_added_to_one_of_another_size():
    with pytest.raises(ValueError):
        ops.gram(np.ones((5, 37), np.int8), np.zeros((40, 40), np.int64))


@pytest.mark.parametrize("name", SUMS)
def test_sums_over_rows_are_exact_for_integers(name):
    for arguments in EXAMPLES[name](np.random.default_rng(1)):
        z, other = arguments[0], arguments[-1]
        total = getattr(ops, name)(*arguments)
        wide = [a.astype(np.int64 if a.dtype.kind == "i" else np.longdouble) for a in (z, other)]
        expected = wide[0].T @ wide[1]
        if z.dtype.kind == "i":
            assert total.dtype == np.int64
            assert np.array_equal(total, expected)
        else:
            assert total.dtype == np.float64
            np.testing.assert_allclose(total, expected.astype(np.float64), rtol=1e-12, atol=1e-11)


def of_row(name, others, row):
    """The other arguments for one row alone: maxout has a centre for each, and gates what they let through."""
    which = {"project_maxout": 2, "dense_maxout": 2, "gates": 0}.get(name)
    return [other[row : row + 1] if k == which else other for k, other in enumerate(others)]


@pytest.mark.parametrize("name", [n for n in ops.NAMES if n not in (*SUMS, "float_gram", "binned")])
def test_rows_are_independent_and_inputs_are_left_alone(name):
    """One row at a time gives the same as all at once; strided and read-only rows work."""
    for first, *others in EXAMPLES[name](np.random.default_rng(1)):
        kept = first.copy()
        whole = getattr(ops, name)(first, *others)
        rows = np.concatenate(
            [getattr(ops, name)(first[i : i + 1], *of_row(name, others, i)) for i in range(len(first))]
        )
        if name in ROUNDED:  # numpy's cos may round differently in a vector's tail
            np.testing.assert_allclose(rows, whole, rtol=1e-6)
        else:
            assert np.array_equal(rows, whole)
        assert first.tobytes() == kept.tobytes()
        if name != "phase":  # takes the bits of a contiguous array
            wide = np.repeat(np.repeat(first, 2, axis=0), 2, axis=1)[::2, ::2]
            wide.flags.writeable = False
            again = getattr(ops, name)(wide, *others)
            assert np.allclose(again, whole, rtol=0, atol=1e-6 if name in ROUNDED else 0)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 4, 8, 16, 64, 256])),
        elements=st.floats(-1e6, 1e6),
    )
)
@settings(max_examples=60, deadline=None)
def test_fwht_is_the_hadamard_matrix(x):
    size = x.shape[1]
    bits = np.arange(size)
    parity = np.array([[bin(i & j).count("1") % 2 for j in bits] for i in bits])
    np.testing.assert_allclose(ops.fwht(x), x @ (1.0 - 2.0 * parity), rtol=1e-9, atol=1e-9 * (1 + np.abs(x).sum()))


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_fwht_in_place_anywhere_in_memory(chosen_set, dtype):
    """Wherever in a cache line it starts, a transform has the bits of the definition, and nothing else changes."""
    rng = np.random.default_rng(0)
    for log2_size in range(19):
        for past in (0, 1, 4, 15):
            whole = (1000 * rng.standard_normal((2 << log2_size) + 64)).astype(dtype)
            start = -(whole.ctypes.data // whole.itemsize) % 16 + past
            inside = slice(start, start + (2 << log2_size))
            expected = whole.copy()
            expected[inside] = reference.fwht(whole[inside].reshape(2, -1)).ravel()
            native._native.fwht(whole[inside].reshape(2, -1))
            assert np.array_equal(whole, expected), (log2_size, past)


@pytest.mark.skipif(not native.FUNCTIONS, reason="the extension is not installed")
def test_native_writes_every_number_and_refuses_bad_shapes():
    rng = np.random.default_rng(0)
    x, signs, permutation, gaussian, calibration = fastfood_arguments(rng, np.float64, 3, 8)
    out = np.full((4, 24), np.nan)
    native._native.fastfood(x, signs, permutation, gaussian, calibration, out)
    assert np.array_equal(out, reference.fastfood(x, signs, permutation, gaussian, calibration))
    out = np.full((4, 5), np.nan)
    native._native.maxout(rng.standard_normal((4, 10)), 2, out)
    assert np.isfinite(out).all()
    with pytest.raises(ValueError, match="power of two"):
        native._native.fwht(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="pools of pool_size"):
        native._native.maxout(np.zeros((1, 5)), 2, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="not a permutation"):
        native._native.fastfood(x, signs, permutation + 8, gaussian, calibration, np.zeros((4, 24)))
    with pytest.raises(ValueError, match="out of range"):
        native._native.stumps(x, np.array([3], dtype=np.int32), np.zeros(1), 1.0, np.zeros((4, 1)))


def test_integer_projection_is_exact_at_the_extremes():
    x, W = np.full((1, 5000), 255, np.uint8), np.full((1, 5000), -127, np.int8)
    assert ops.project(x, W)[0, 0] == -255 * 127 * 5000


def test_cosine_tables():
    for bits, amplitude in ((10, 127), (14, 8191)):
        table = ops.cosine_table(bits, amplitude)
        exact = amplitude * np.cos(2 * np.pi * np.arange(1 << bits) / (1 << bits))
        assert np.abs(table - exact).max() <= 0.5 + 1e-9
        assert table.max() == amplitude
        assert table.min() == -amplitude


def test_choice_of_backend():
    with ops.backend_context("reference"):
        assert set(ops.describe()["ops"].values()) == {"reference"}
    with pytest.raises(ValueError, match="is not one of"):
        ops.use_backends("cuda3")


def test_package_works_when_the_extension_is_absent():
    """As on a machine without a C++ compiler: the import of _native fails, and all goes on with numpy."""
    code = (
        "import sys; sys.modules['bochner.ops._native'] = None\n"
        "import numpy as np, bochner\n"
        "from bochner import ops\n"
        "assert set(ops.describe()['ops'].values()) == {'reference'}, ops.describe()\n"
        "assert bochner.Fastfood(64).fit_transform(np.eye(5)).shape == (5, 64)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
