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
from helpers.backend_battery import WHOLE
from helpers.op_examples import (
    ALGEBRA,
    CODES,
    EXAMPLES,
    FLOATS,
    NUMBERS,
    ROUNDED,
    SUMS,
    codes,
    fastfood_arguments,
    gram_argument,
    stump_arguments,
)

SETS = [*native.instruction_sets(), native.EMULATED] if native.INSTALLED else []


def test_every_op_has_examples():
    assert set(EXAMPLES) == set(ops.OPS) == set(ops.BACKENDS["reference"].versions)


@pytest.fixture
def chosen_set(request):
    before = native.instruction_set()
    native.use_instruction_set(request.param)
    with ops.backend_context("native"):
        yield request.param
    native.use_instruction_set(before)


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("name", sorted(native.BACKEND.versions))
def test_native_equals_reference_bit_for_bit(name, chosen_set):
    for arguments in EXAMPLES[name](np.random.default_rng(0)):
        expected = getattr(reference, name)(*arguments)
        result = getattr(ops, name)(*arguments)
        if name == "binned":  # three arrays of unequal lengths
            assert [part.dtype for part in result] == [part.dtype for part in expected]
            result, expected = map(np.concatenate, (result, expected))
        assert result.dtype == expected.dtype
        if result.dtype == np.float32 and name in ROUNDED:
            np.testing.assert_allclose(result, expected, rtol=0, atol=2e-7)
        else:
            assert np.array_equal(result, expected)


PRODUCTS = ("project", "project_cos_sin", "project_maxout", "project_winners", "project_lookup", "gram", "dense_maxout",
            "cross", "scores", "project_threshold", "pooled_threshold", "pooled_maxout", "patches")  # fmt: skip


@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_depend_neither_on_strides_nor_on_old_memory_nor_on_threads(name, chosen_set, monkeypatch):
    """New arrays are full of rubbish, and each thread sets up what it needs."""
    for first, *others in EXAMPLES[name](np.random.default_rng(2)):
        expected = getattr(reference, name)(first, *others)
        strided = np.repeat(np.repeat(first, 2, axis=0), 2, axis=1)[::2, ::2]
        with monkeypatch.context() as patch, threads.limited(3):
            patch.setattr(np, "empty", lambda shape, dtype: np.full(shape, 85, dtype))
            result = getattr(ops, name)(strided, *others)
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
            ops.scores(z, wrong)


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


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
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


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
def test_float_cosines_are_the_same_bits_on_every_instruction_set():
    before, x = native.instruction_set(), np.random.default_rng(0).uniform(-9000, 9000, (20, 133)).astype(np.float32)
    results = []
    for name in SETS:
        native.use_instruction_set(name)
        results.append(native.cos_sin(x, np.ones(3, np.float32), np.float32(0.7)))
    native.use_instruction_set(before)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
@pytest.mark.parametrize("chosen_set", SETS, indirect=True)
def test_sine_and_cosine_of_floats(chosen_set):
    rng = np.random.default_rng(0)
    near = [rng.uniform(-r, r, 200_000) for r in (1e-3, 1.0, 10.0, 8192.0, 1e4)]
    edges = np.arange(-12_000, 12_000) * (np.pi / 4)
    x = np.concatenate([*near, edges, [0.0, -0.0, 1e-45, -1e-40, 8192.0, -8192.0]]).astype(np.float32)
    none, one = np.empty(0, np.float32), np.float32(1.0)
    pairs = native.cos_sin(x[None], none, one)[0]
    assert np.abs(pairs[0::2] - np.cos(x.astype(np.float64))).max() < 1.5e-7
    assert np.abs(pairs[1::2] - np.sin(x.astype(np.float64))).max() < 1.5e-7
    far = np.float32([1e5, -1e10, 3e38])
    pairs = native.cos_sin(far[None], none, one)[0]
    np.testing.assert_allclose(pairs[0::2], np.cos(far.astype(np.float64)), atol=1e-7)
    np.testing.assert_allclose(pairs[1::2], np.sin(far.astype(np.float64)), atol=1e-7)
    assert np.isnan(native.cos_sin(np.float32([[np.nan]]), none, one)).all()


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
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


@pytest.mark.parametrize("name", ["gram", "cross"])
def test_sums_over_rows_are_exact_for_integers(name):
    for arguments in EXAMPLES[name](np.random.default_rng(1)):
        z, other = arguments[0], arguments[-1]
        total = getattr(ops, name)(*arguments)
        wide = [a.astype(np.int64 if a.dtype.kind == "i" else np.longdouble) for a in (z, other)]
        expected = wide[0].T @ wide[1]
        if z.dtype.kind == other.dtype.kind == "i":
            assert total.dtype == np.int64
            assert np.array_equal(total, expected)
        else:
            assert total.dtype == np.float64
            np.testing.assert_allclose(total, expected.astype(np.float64), rtol=1e-12, atol=1e-11)


def of_row(name, others, row):
    """The other arguments for one row alone: maxout has a centre for each, and gates what they let through."""
    which = {"project_maxout": 2, "dense_maxout": 2, "gates": 0}.get(name)
    return [other[row : row + 1] if k == which else other for k, other in enumerate(others)]


@pytest.mark.parametrize("name", [n for n in ops.OPS if n not in (*SUMS, *ALGEBRA, *WHOLE, "binned")])
def test_rows_are_independent_and_inputs_are_left_alone(name):
    """One row at a time gives the same as all at once; strided and read-only rows work."""
    for first, *others in EXAMPLES[name](np.random.default_rng(1)):
        kept = first.copy()
        whole = getattr(ops, name)(first, *others)
        apart = [getattr(ops, name)(first[i : i + 1], *of_row(name, others, i)) for i in range(len(first))]
        rows = np.concatenate(apart or [whole])
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


@pytest.mark.skipif(not native.INSTALLED, reason="the extension is not installed")
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
