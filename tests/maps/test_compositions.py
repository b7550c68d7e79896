"""Maps of maps: a union side by side, a map after a metric; against the slow and obvious definition."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bochner import RandomFourier, RandomMaxout, RandomStumps, kernels, maps, ops, storage
from bochner.maps import DesignMap, Metric, Union
from bochner.maps.linear import LinearPart
from bochner.maps.quantize import Quantizer
from bochner.maps.scaling import ColumnScaler
from bochner.ops import threads
from helpers import contracts
from helpers.cases import CASES, INTEGER_CASES, dense

KNOWN = [
    Union, Metric, Quantizer, kernels.Gaussian, kernels.Laplacian, maps.FourierMap, maps.MaxoutMap, maps.StumpsMap,
    maps.AxisCellsMap, maps.BinsMap, maps.FastfoodMap, maps.GatedMap, maps.RidgeMap,
]  # fmt: skip
NAMES = [
    "fourier", "fourier laplacian", "fastfood", "maxout", "gated", "gated sparse", "stumps", "bins", "cells",
    "ridge tanh",
]  # fmt: skip


def fitted(name, X, precision=None, columns=24):
    return clone(CASES[name]).set_params(n_components=columns, precision=precision, random_state=0).fit(X).map_


def some_matrix(d, seed=1):
    return np.random.default_rng(seed).standard_normal((d, d)) / np.sqrt(d)


def restored(found, tmp_path):
    """What a file makes of it."""
    storage.save(tmp_path / "map", "map", 1, found, KNOWN)
    return storage.load(tmp_path / "map", "map", range(1, 2), KNOWN)[1]


# ---- unions ----


@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
@pytest.mark.parametrize("first", NAMES)
def test_a_union_is_its_maps_side_by_side(first, precision, tmp_path):
    X = contracts.rows()
    parts = [fitted(first, X, precision, 16), fitted("stumps", X, precision, 9), fitted("maxout", X, precision, 11)]
    union = Union(parts)
    assert np.array_equal(dense(union(X)), np.hstack([dense(part(X)) for part in parts]))
    assert (union.columns, union.inputs, union.precision) == (36, 5, precision)
    assert union.entries == union.columns  # most columns are filled: no CSR matrix, whatever the parts are
    assert isinstance(union(X), np.ndarray)
    contracts.require_map(union, X)
    np.testing.assert_allclose(union.exact_gram(X), sum(part.exact_gram(X) for part in parts))
    scaled = np.hstack([part.scale * dense(part(X)) for part in parts])
    np.testing.assert_allclose(union.scale * dense(union(X)), scaled)
    again = restored(union, tmp_path)
    assert again == union
    assert np.array_equal(dense(again(X)), dense(union(X)))


@pytest.mark.parametrize("precision", [None, "int8"])
def test_prefixes_of_a_union_end_in_one_of_its_maps(precision):
    X = contracts.rows()
    one, two = fitted("fourier", X, precision, 16), fitted("maxout", X, precision, 11)
    union = Union([one, two])
    assert union.truncated(10).maps == (one.truncated(10),)
    assert union.truncated(16).maps == (one,)
    assert union.truncated(20).maps == (one, two.truncated(4))
    assert union.enlarged(40).maps == (one, two.enlarged(24))
    assert union.truncated(27) == union.enlarged(27) == union
    for short, wide in ((union.truncated(10), union), (union.truncated(20), union), (union, union.enlarged(40))):
        first = dense(wide(X))[:, : short.columns]
        scaled = short.prefix_scale(wide) * first
        np.testing.assert_allclose(short.scale * dense(short(X)), scaled, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="28 columns are more than the 27"):
        union.truncated(28)
    with pytest.raises(ValueError, match="20 columns are fewer than the 27"):
        union.enlarged(20)
    assert not Union([one, fitted("bins", X, precision)]).has_prefixes


def test_a_union_of_one_map_is_that_map_and_local_slopes_add():
    X = contracts.rows()
    one, two = fitted("maxout", X), fitted("gated", X)
    coefficients = np.random.default_rng(0).standard_normal((48, 2))
    slopes = Union([one, two]).local_linear(X, coefficients)
    np.testing.assert_allclose(slopes, one.local_linear(X, coefficients[:24]) + two.local_linear(X, coefficients[24:]))
    assert np.array_equal(Union([one])(X), one(X))


def test_maps_that_do_not_go_together_are_refused():
    X = contracts.rows()
    with pytest.raises(ValueError, match=r"same inputs; these have \['4', '5'\]"):
        Union([fitted("maxout", X), fitted("maxout", X[:, :4])])
    with pytest.raises(ValueError, match="same precision"):
        Union([fitted("maxout", X), fitted("maxout", X, "int8")])
    with pytest.raises(ValueError, match="one or more feature maps"):
        Union([])
    with pytest.raises(ValueError, match="one or more feature maps"):
        Union([RandomFourier()])


# ---- metrics ----


@pytest.mark.parametrize("precision", [None, "float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_map_after_a_metric_has_the_features_of_rows_times_it(name, shape, precision, tmp_path):
    X, R = contracts.rows(), some_matrix(5)
    R = R if shape == "full" else np.diagonal(R).copy()
    Z = X @ R if shape == "full" else X * R
    inner = fitted(name, Z, precision)
    metric = Metric(inner, R)
    assert np.array_equal(dense(metric(X)), dense(inner(Z)))
    contracts.require_map(metric, X)
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(dense(metric(sparse)), dense(metric(X)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(metric.exact_gram(X, X[:4]), inner.exact_gram(Z, Z[:4]))
    again = restored(metric, tmp_path)
    assert again == metric
    assert np.array_equal(dense(again(X)), dense(metric(X)))


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", [n for n in INTEGER_CASES if "softsign" not in n])
def test_a_diagonal_metric_of_an_integer_map_is_the_scales_of_columns(name, precision):
    X, scales = contracts.rows(), np.array([2.0, 0.0, -0.3, 1.0, 7.0])
    inner = fitted(name, X * scales, precision)
    metric = Metric.of(inner, scales, X)
    assert metric.quantizer is None
    assert np.array_equal(dense(metric(X)), dense(inner(X * scales)))
    parts = np.vstack([dense(metric(part)) for part in np.split(X, [1, 7, 8])])
    assert np.array_equal(parts, dense(metric(X)))


def slowly_moved(metric, X):
    """x R in integers, one product after another, in Python's own."""
    codes = metric.quantizer
    target = metric.map.quantizer if isinstance(metric.map, maps.UnitMap) else None
    entries, offset, shift = metric.integers
    out = np.empty((len(X), entries.shape[1]))
    for i, row in enumerate(X):
        center = np.broadcast_to(codes.center, len(row))
        numbers = zip(row, center, strict=True)
        code = [min(max(round((float(x) - c) / codes.step), codes.low), codes.high) for x, c in numbers]
        for k in range(entries.shape[1]):
            total = sum(c * int(t) for c, t in zip(code, entries[:, k], strict=True))
            assert abs(total) < 2**31
            total += int(offset[k])
            if target is None:
                out[i, k] = total * (codes.step * 2.0**-shift)
                continue
            rounded = (total + 2**shift // 2) // 2**shift
            out[i, k] = min(max(rounded, target.low), target.high) * target.step
            out[i, k] += np.broadcast_to(target.center, entries.shape[1])[k]
    return out


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", [n for n in INTEGER_CASES if "softsign" not in n])
def test_a_full_metric_of_an_integer_map_is_applied_in_integers(name, precision, tmp_path):
    X, R = contracts.rows(60) + 3.0, some_matrix(5)
    inner = fitted(name, X @ R, precision)
    metric = Metric.of(inner, R, X)
    assert np.abs(metric.integers.entries).max() <= 8191
    assert np.array_equal(metric.moved(X), slowly_moved(metric, X))
    step = metric.quantizer.step * np.abs(R).sum(axis=0).max() + (
        0 if inner.quantizer is None else inner.quantizer.step
    )
    inside = np.abs(metric.moved(X) - X @ R) < 0.6 * step  # rounding of x and of x R; a few numbers are clipped
    assert inside.mean() > 0.97
    assert np.array_equal(dense(metric(X)), dense(inner(slowly_moved(metric, X))))
    contracts.require_map(metric, X)
    parts = np.vstack([dense(metric(part)) for part in np.split(X, [1, 7, 8])])
    assert np.array_equal(parts, dense(metric(X)))
    assert np.array_equal(dense(metric(scipy.sparse.csr_array(X))), dense(metric(X)))
    assert restored(metric, tmp_path) == metric if name == "fourier" else True


def test_codes_of_the_metric_reach_the_map_as_they_are():
    """The map rounds x R again, and must find the codes that the metric made."""
    X, R = contracts.rows(80) + 1e6, some_matrix(5)
    metric = Metric.of(fitted("fourier", X @ R, "int8"), R, X)
    target = metric.map.quantizer
    codes = target(metric.moved(X))
    assert np.array_equal(codes * target.step + target.center, metric.moved(X))


def test_features_after_a_metric_meet_the_kernel_of_its_distances():
    X, R = contracts.rows(30), some_matrix(5)
    Z = X @ R
    for precision in (None, "int8", "int14"):
        basis = RandomFourier(20_000, bandwidth=1.5, precision=precision, random_state=0).fit(Z)
        metric = Metric.of(basis.map_, R, X)
        features = metric.scale * dense(metric(X))
        exact = np.exp(-0.5 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2) / 1.5**2)
        np.testing.assert_allclose(metric.exact_gram(X), exact, rtol=1e-9)
        assert np.abs(features @ features.T - exact).max() < 0.05


def test_uint8_rows_are_their_own_codes():
    X = np.random.default_rng(0).integers(0, 256, (40, 6)).astype(np.uint8)
    R = some_matrix(6)
    metric = Metric.of(fitted("fourier", X @ R, "int8"), R, X)
    assert (metric.quantizer.step, metric.quantizer.high) == (1.0, 255)
    assert np.array_equal(metric(X), metric(X.astype(np.float64)))
    assert np.array_equal(metric.moved(X), slowly_moved(metric, X))


def test_a_matrix_may_have_fewer_columns_and_slopes_are_those_of_rows():
    X, R = contracts.rows(), some_matrix(5)[:, :2]
    inner = fitted("maxout", X @ R)
    metric = Metric(inner, R)
    assert (metric.inputs, inner.inputs) == (5, 2)
    c = np.random.default_rng(0).standard_normal((24, 1))
    slopes = metric.local_linear(X, c)
    np.testing.assert_allclose(np.einsum("ndk,nd->nk", slopes, X), metric(X) @ c)
    diagonal = Metric(fitted("maxout", X), np.arange(1.0, 6.0))
    np.testing.assert_allclose(np.einsum("ndk,nd->nk", diagonal.local_linear(X, c), X), diagonal(X) @ c)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_prefixes_after_a_metric_are_those_of_its_map(precision):
    X, R = contracts.rows(), some_matrix(5)
    metric = Metric.of(fitted("fourier", X @ R, precision), R, X)
    assert metric.truncated(10) == Metric.of(metric.map.truncated(10), R, X)
    assert metric.enlarged(30) == Metric.of(metric.map.enlarged(30), R, X)
    first = dense(metric(X))[:, :10]
    short = metric.truncated(10)
    np.testing.assert_allclose(short.scale * dense(short(X)), short.prefix_scale(metric) * first, rtol=1e-12)
    with pytest.raises(ValueError, match=r"RandomFourier of .* columns cannot be cut to its first 7"):
        metric.truncated(7)


def test_metrics_that_do_not_go_with_a_map_are_refused():
    X = contracts.rows()
    of_floats, of_integers = fitted("fourier", X), fitted("fourier", X, "int8")
    with pytest.raises(ValueError, match="matrix must be finite, with 5 columns, or a diagonal"):
        Metric(of_floats, np.eye(4))
    with pytest.raises(ValueError, match="matrix must be finite"):
        Metric(of_floats, np.full(5, np.nan))
    with pytest.raises(ValueError, match=r"works on 8-bit codes of x: Metric.of"):
        Metric(of_integers, np.eye(5))
    with pytest.raises(ValueError, match="only a full metric of an integer map"):
        Metric(of_floats, np.eye(5), Quantizer(1.0))
    with pytest.raises(ValueError, match="another number of columns"):
        Metric(of_integers, np.eye(5), Quantizer(1.0, center=np.zeros(4)))
    with pytest.raises(ValueError, match="over 8191 steps"):
        Metric.of(of_integers, 1e9 * np.eye(5), X)
    with pytest.raises(ValueError, match="too far from the origin"):
        Metric.of(of_integers, np.eye(5), X + 1e15)
    with pytest.raises(ValueError, match="X contains NaN"):
        Metric(of_floats, np.eye(5))(np.full((1, 5), np.nan))


# ---- both, and all shapes ----


@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    n=st.integers(1, 9),
    d=st.integers(1, 12),
    wide=st.integers(1, 12),
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    precision=st.sampled_from([None, "float32", "int8", "int14"]),
    full=st.booleans(),
    columns=st.integers(1, 40),
)
@settings(max_examples=80, deadline=None)
def test_any_shape(names, n, d, wide, dtype, precision, full, columns):
    X = (
        (3.0 * contracts.rows(n, d)).astype(dtype)
        if dtype != np.uint8
        else np.abs(9 * contracts.rows(n, d)).astype(dtype)
    )
    R = np.random.default_rng(d).standard_normal((d, wide) if full else d)
    Z = X @ R if full else X * R
    union = Union([fitted(name, Z, precision, 4 * (k + 1)) for k, name in enumerate(names)])
    metric = Metric.of(union, R, X)
    features = metric(X)
    assert features.shape == (n, union.columns)
    assert features.dtype == metric.output_dtype(X)
    assert np.isfinite(dense(features)).all()
    tiles = [dense(tile) for _, tile in metric.tiles(X, columns)]
    np.testing.assert_allclose(np.hstack(tiles), dense(features), rtol=1e-4, atol=1e-4)
    if metric.is_exact:
        assert np.array_equal(metric.moved(X), slowly_moved(metric, X))
    if precision in ("int8", "int14"):
        assert np.array_equal(np.vstack([dense(metric(row[None])) for row in X]), dense(features))


def test_bits_do_not_hang_on_the_backend_or_on_threads():
    X, R = contracts.rows(3000), some_matrix(5)
    parts = [fitted(name, X @ R, "int8", 40) for name in ("fourier", "maxout", "stumps")]
    metric = Metric.of(Union(parts), R, X)
    expected = metric(X)
    for workers in (1, 2, 3):
        with threads.limited(workers):
            assert np.array_equal(metric(X), expected)
    with ops.backend_context("reference"):
        assert np.array_equal(metric(X), expected)


def test_compositions_stand_in_designs():
    X, R = contracts.rows(50), some_matrix(5)
    scaler, linear = ColumnScaler.robust(X), LinearPart.of(X, 1.0)
    inner = Metric(Union([fitted("fourier", X @ R), fitted("stumps", X @ R)]), R)
    design = DesignMap(inner, scaler, linear)
    expected = np.hstack([linear.values(scaler.within(X)), inner(scaler(X))])
    assert np.array_equal(design(X), expected)
    contracts.require_map(design, X)
    assert design.truncated(5 + 30).map == inner.truncated(30)


# ---- ONNX ----


@pytest.mark.parametrize("precision", [None, "int8", "int14"])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("together", [True, False])
def test_compositions_in_onnx(precision, full, together):
    onnxruntime = pytest.importorskip("onnxruntime")
    from bochner.onnx_export import features_to_bytes

    X = contracts.rows(200, dtype=np.float32)
    R = some_matrix(5) if full else np.array([2.0, 0.1, 1.0, -3.0, 0.5])
    Z = X @ R if full else X * R
    for name in ("fourier", "maxout", "gated", "ridge tanh"):
        inner = fitted(name, Z, precision)
        if together:
            inner = Union([inner, fitted("fastfood", Z, precision), fitted("maxout", Z, precision, 7)])
        metric = Metric.of(inner, R, X)
        session = onnxruntime.InferenceSession(features_to_bytes(metric, dtype="float32"))
        (found,) = session.run(["features"], {"X": X})
        if precision is None:
            np.testing.assert_allclose(found, metric(X), atol=1e-4)
        else:
            assert np.array_equal(found, dense(metric(X)))


def test_a_map_without_a_graph_is_refused_by_name():
    pytest.importorskip("onnx")
    from bochner.onnx_export import features_to_bytes
    from helpers.toy_basis import RandomSteps

    X = contracts.rows()
    steps = RandomSteps(9, random_state=0).fit(X).map_
    with pytest.raises(ValueError, match="RandomSteps cannot be exported to ONNX"):
        features_to_bytes(Union([RandomStumps(4).fit(X).map_, Metric(steps, np.ones(5))]))
    assert RandomMaxout(4).fit(X).map_.name == "RandomMaxout"
