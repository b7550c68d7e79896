"""Features of patches: against the slow and obvious definition, in integers and floats, of pictures of every shape."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bochner import (
    BasisUnion,
    GatedLinear,
    PatchFeatures,
    RandomBins,
    RandomFeatureClassifier,
    RandomFourier,
    RandomMaxout,
    RandomRidge,
    load,
    ops,
    storage,
)
from bochner.bases.patches import whitening_of
from bochner.models.saving import PARTS
from bochner.ops import native
from helpers import contracts
from helpers.cases import PICTURES
from helpers.measured import measured

SHAPES = [  # picture, patch, stride, grid: odd sizes, one patch, one pixel, colour, strides that leave a rim
    ((9, 7), 3, 1, 2), ((8, 11), 4, 3, 2), ((5, 5), 5, 1, 1), ((1, 1, 4), 1, 1, 1), ((6, 8, 3), 3, 2, 2),
    ((7, 7), 1, 1, 3), ((4, 6, 2), 2, 1, 3),
]  # fmt: skip
INNER = {
    "thresholds": None, "maxout": RandomMaxout(), "relu": RandomRidge(activation="relu", bias_scale=0.0),
    "gated": GatedLinear(pool_size=2), "fourier": RandomFourier(bandwidth=2.0),
}  # fmt: skip


def pictures(shape, n=12, dtype=np.uint8, seed=0):
    """Random ones, the first of which is blank, and the second has but one lit pixel."""
    rng = np.random.default_rng(seed)
    smooth = rng.integers(0, 256, (n, *shape)) * rng.random((n, *(1 for _ in shape)))
    smooth[0], smooth[1:2] = 9, 0
    smooth[1:2].reshape(-1)[:1] = 255
    return smooth.reshape(n, -1).astype(dtype)


def fitted(shape, size=3, stride=1, grid=2, inner=None, **more):
    more = {"filters": "random" if isinstance(inner, RandomFourier) else "patches", "n_filters": 4, **more}
    basis = PatchFeatures(inner, image_shape=shape, patch_size=size, stride=stride, grid=grid, random_state=0, **more)
    return basis.fit(pictures(shape, 40, seed=1))


def by_loops(basis, picture):
    """The features of one picture, patch by patch and cell by cell."""
    found, (height, width, *channels) = basis.map_, basis.image_shape
    picture = np.asarray(picture, dtype=np.float64).reshape(height, width, *(channels or [1]))
    size, stride, grid = basis.patch_size, basis.stride, basis.grid
    tops, lefts = range(0, height - size + 1, stride), range(0, width - size + 1, stride)
    bags = {}
    for i, top in enumerate(tops):
        for j, left in enumerate(lefts):
            patch = picture[top : top + size, left : left + size].ravel()
            patch = (patch - patch.mean()) / np.sqrt(found.contrast * patch.var() + found.floor)
            cell = i * grid // len(tops), j * grid // len(lefts)
            bags.setdefault(cell, []).append(found.map(((found.whitening @ patch) - found.offset)[None])[0])
    assert len(bags) == grid * grid
    pool = {"mean": np.mean, "root": lambda v, axis: np.sqrt(np.mean(v, axis=axis)), "max": np.max}[found.pooling]
    columns = np.stack([pool(np.array(bags[cell]), axis=0) for cell in sorted(bags)], axis=1).ravel()
    return (columns - found.centre) / found.spread / np.sqrt(found.columns)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_features_are_those_of_the_definition(shape, inner):
    basis = fitted(*shape, INNER[inner])
    X = pictures(shape[0])
    made = basis.transform(X)
    assert made.shape == (len(X), basis.n_components) == (len(X), basis.map_.columns)
    np.testing.assert_allclose(made, [by_loops(basis, x) for x in X], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_other_poolings_are_those_of_the_definition(pooling):
    basis = fitted((9, 7), pooling=pooling, contrast=None, whiten=False)
    X = pictures((9, 7))
    np.testing.assert_allclose(basis.transform(X), [by_loops(basis, x) for x in X], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_have_the_same_bits_on_every_instruction_set(shape, inner, precision):
    basis, X = fitted(*shape, INNER[inner], precision=precision), pictures(shape[0])
    with ops.backend_context("reference"):
        expected = basis.transform(X)
    assert expected.dtype == (np.int8 if precision == "int8" else np.int16)
    before = native.instruction_set()
    try:
        for name in [*native.instruction_sets(), native.EMULATED] if native.INSTALLED else []:
            native.use_instruction_set(name)
            assert np.array_equal(basis.transform(X), expected), name
            assert np.array_equal(np.vstack([basis.transform(x[None]) for x in X]), expected), name
    finally:
        native.use_instruction_set(before)


@pytest.mark.parametrize("inner", ["thresholds", "maxout", "relu"])
def test_integer_features_are_near_float_ones(inner):
    """The same filters, in codes: features differ by a few steps of 1/32 of a deviation."""
    shape, X = (12, 12), pictures((12, 12), 60)
    exact, rounded = (
        fitted(shape, 4, inner=INNER[inner], precision=p, n_filters=30, contrast=None) for p in ("float64", "int8")
    )
    a, b = exact.transform(X), rounded.scale_ * rounded.transform(X)
    assert np.sqrt(np.mean((a - b) ** 2) / np.mean(a**2)) < 0.12


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3), st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_any_shape_either_works_or_is_refused(height, width, channels, size, stride, grid):
    X = pictures((height, width, channels), 6)
    basis = PatchFeatures(
        image_shape=(height, width, channels), patch_size=size, stride=stride, grid=grid, n_filters=2, random_state=0
    )
    down, across = ((side - size) // stride + 1 for side in (height, width))
    if size > min(height, width) or grid > min(down, across):
        with pytest.raises(ValueError, match=r"do not fit into|too few for a grid"):
            basis.fit(X)
    else:
        features = basis.fit_transform(X)
        assert features.shape == (6, 4 * grid * grid)
        assert np.isfinite(features).all()


def test_what_a_picture_is_may_be_said_by_its_shape():
    X = pictures((6, 8, 3))
    basis = fitted((6, 8, 3))
    assert np.array_equal(basis.transform(X.reshape(-1, 6, 8, 3)), basis.transform(X))
    with pytest.raises(ValueError, match=r"image_shape=\(6, 8\) has 48 pixels; X has 144 columns"):
        PatchFeatures(image_shape=(6, 8)).fit(X)


def test_models_take_pictures_by_their_shape():
    shape, y = (6, 8, 3), np.arange(60) % 3
    X = pictures(shape, 60)
    patches = [PatchFeatures(image_shape=shape, patch_size=size, grid=1, n_filters=6) for size in (2, 3)]
    for basis in (patches[0], patches[0] + patches[1]):
        one, other = (
            RandomFeatureClassifier(basis, alpha=1.0, precision="int8", random_state=0).fit(rows, y)
            for rows in (X, X.reshape(-1, *shape))
        )
        assert np.array_equal(one.decision_function(X), other.decision_function(X.reshape(-1, *shape)))
        assert np.array_equal(one.basis_.transform(X.reshape(-1, *shape)), one.basis_.transform(X))
    with pytest.raises(ValueError, match="dim 4"):
        RandomFeatureClassifier(RandomFourier(20)).fit(X.reshape(-1, *shape), y)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_several_sizes_of_patches_are_a_union(precision, tmp_path):
    """Each part by itself, side by side: in memory, in files, on every instruction set and with a triangle."""
    shape, X, y = (9, 7), pictures((9, 7), 80, seed=1), np.arange(80) % 2
    parts = [PatchFeatures(image_shape=shape, patch_size=s, grid=2, n_filters=5, random_state=s) for s in (3, 5)]
    both = BasisUnion(parts, precision=precision, weights=[1.0, 1.0]).fit(X)
    alone = [clone(part).set_params(precision=precision).fit(X) for part in parts]
    made = both.transform(X)
    assert np.array_equal(made, np.hstack([part.transform(X) for part in alone]))
    storage.save(tmp_path / "basis", "basis", 1, both, PARTS)
    assert np.array_equal(storage.load(tmp_path / "basis", "basis", range(1, 2), PARTS)[1].transform(X), made)
    if precision is not None:
        with ops.backend_context("reference"):
            assert np.array_equal(both.transform(X), made)
    models = [
        RandomFeatureClassifier(both, alpha=1.0, solver=solver, random_state=0).fit(X, y)
        for solver in ("cholesky", "triangle")
    ]
    np.testing.assert_allclose(*(model.decision_function(X) for model in models), rtol=1e-4, atol=1e-5)


def test_models_that_go_on_from_one_merge():
    """Filters and spreads are learned from rows, so models that were fitted apart have others."""
    X, y = pictures((9, 7), 90, seed=1), np.arange(90) % 2
    basis = PatchFeatures(image_shape=(9, 7), patch_size=3, grid=2, n_filters=5, random_state=0)
    first = RandomFeatureClassifier(basis, alpha=1.0, precision="int8", random_state=0).partial_fit(X[:30], y[:30])
    one, other = copy.deepcopy(first).partial_fit(X[30:60], y[30:60]), copy.deepcopy(first)
    other.partial_fit(X[60:], y[60:]).forget(X[:30], y[:30])
    whole = copy.deepcopy(first).partial_fit(X[30:], y[30:])
    assert np.array_equal(one.merge(other).coef_, whole.coef_)
    apart = RandomFeatureClassifier(basis, alpha=1.0, precision="int8", random_state=0).partial_fit(X[45:], y[45:])
    with pytest.raises(ValueError, match="copies of one model"):
        whole.merge(apart)


@pytest.mark.slow
def test_many_features_of_pictures_take_little_memory():
    """Below twice the pictures and three triangles, with one of the sums and one of a factor."""
    code = """
X = (np.random.default_rng(0).integers(0, 256, (16_000, 1, 256)) * np.linspace(0, 1, 256)).astype(np.uint8)[:, 0]
y = np.arange(len(X)) % 10
basis = bochner.PatchFeatures(image_shape=(16, 16), patch_size=5, grid=4, precision="int8", random_state=0)

def work(filters):
    basis.set_params(n_filters=int(filters))
    bochner.RandomFeatureClassifier(basis, solver="triangle", random_state=0).fit(X, y)
"""
    few, many = measured(code, 20, 280)
    columns = 280 * 2 * 16
    assert many - few < 2 * 16_000 * 256 + 3 * 2 * columns**2


def test_features_do_not_hang_on_light_and_contrast():
    """Without a floor to speak of, a picture as bright as another, or twice as strong, has its features."""
    basis, X = fitted((9, 7), contrast=1e-6), pictures((9, 7), dtype=np.float64)[2:]
    np.testing.assert_allclose(basis.transform(0.5 * X + 30.0), basis.transform(X), rtol=1e-4, atol=1e-5)


def test_one_cell_does_not_know_where_a_patch_is():
    """With a grid of one, a pattern that moves inside the picture changes nothing: the bag is the same."""
    basis = fitted((9, 9), 3, grid=1)
    rng, X = np.random.default_rng(0), np.zeros((2, 9, 9))
    X[0, 2:4, 2:4] = X[1, 5:7, 4:6] = rng.integers(50, 255, (2, 2))
    made = basis.transform(X)
    np.testing.assert_allclose(made[0], made[1], atol=1e-10)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_a_mirror_image_has_the_features_of_its_picture(precision, tmp_path):
    shape = (6, 8, 3)
    basis, X = fitted(shape, mirrored=True, precision=precision), pictures(shape)
    turned = X.reshape(-1, *shape)[:, :, ::-1].reshape(len(X), -1)
    exact = precision is not None
    np.testing.assert_allclose(basis.transform(turned), basis.transform(X), atol=0 if exact else 1e-9)
    plain = fitted(shape, precision=precision)
    assert not np.allclose(plain.transform(turned), plain.transform(X), atol=1e-3)
    # The bag holds both: means of features, before their spread is taken, are the means of both pictures.
    both = replace(plain.map_, geometry=basis.map_.geometry, pooling="mean")
    alone = replace(plain.map_, pooling="mean")
    sums = alone.pooled_values(X) + alone.pooled_values(turned)
    np.testing.assert_allclose(both.pooled_values(X), sums * (1.0 if exact else 0.5), rtol=1e-9)
    storage.save(tmp_path / "basis", "basis", 1, basis, PARTS)
    again = storage.load(tmp_path / "basis", "basis", range(1, 2), PARTS)[1]
    assert np.array_equal(again.transform(X), basis.transform(X))


def test_whitened_patches_have_the_covariance_of_the_field():
    """Z S Z' = L/(L + 0.1) in the eigenvectors of S."""
    rng = np.random.default_rng(0)
    patches = rng.standard_normal((5000, 6)) @ rng.standard_normal((6, 6))
    values, vectors = np.linalg.eigh(np.cov(patches.T, bias=True))
    Z, offset = whitening_of(patches)
    np.testing.assert_allclose(Z @ np.cov(patches.T, bias=True) @ Z, vectors * (values / (values + 0.1)) @ vectors.T)
    np.testing.assert_allclose(offset, Z @ patches.mean(axis=0))


def test_filters_are_patches_of_the_pictures():
    X = np.unique(pictures((9, 7), 40, seed=1), axis=0).astype(np.float64)  # each picture once, in order
    basis = fitted((9, 7), whiten=False, n_filters=9)
    geometry = basis.map_.geometry
    for (picture, patch), direction in zip(basis.filter_places_, basis.map_.map.filters, strict=True):
        given_patch = X[picture, geometry.places[patch]]
        given_patch = given_patch - given_patch.mean()
        along = given_patch @ direction / np.linalg.norm(given_patch) / np.linalg.norm(direction)
        assert along == pytest.approx(1.0)
    assert len({tuple(pair) for pair in basis.filter_places_}) == 9
    assert fitted((9, 7), filters="random").filter_places_.shape == (0, 2)


def test_slopes_are_the_gradient():
    basis = fitted((6, 8, 3), 3, n_filters=5)
    X, b = pictures((6, 8, 3), 8).astype(np.float64)[2:4], np.random.default_rng(1).standard_normal((40, 2))
    rng, step = np.random.default_rng(2), 1e-5
    found = basis.map_.slopes(X, b)
    for _ in range(5):
        along = rng.standard_normal(X.shape[1])
        up, down = (basis.transform(X + sign * step * along) @ b for sign in (1, -1))
        np.testing.assert_allclose(np.einsum("npk,p->nk", found, along), (up - down) / (2 * step), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
@pytest.mark.parametrize("name", PICTURES)
def test_maps_of_pictures_keep_the_contract_of_maps(name, precision):
    basis = clone(PICTURES[name]).set_params(precision=precision)
    contracts.check_input_is_left_alone(basis)
    if precision != "float32":
        contracts.check_partition(basis, exact=precision is not None)
    if precision is None:
        contracts.check_shape_and_dtype(basis)
        contracts.check_sparse_input(basis)
    X = contracts.rows()
    contracts.require_map(clone(basis).set_params(random_state=0).fit(X).map_, X)


@pytest.mark.parametrize("precision", [None, "int8"])
def test_the_first_filters_are_a_map_by_themselves(precision):
    whole = fitted((9, 7), precision=precision, n_filters=7)
    few, X = whole.map_.truncated(4 * 2 * 3), pictures((9, 7))
    np.testing.assert_allclose(
        few.scale * few(X), few.prefix_scale(whole.map_) * whole.transform(X)[:, :24], rtol=1e-9, atol=1e-12
    )
    with pytest.raises(ValueError, match="cannot grow"):
        whole.map_.enlarged(80)
    with pytest.raises(ValueError, match="cannot be cut to their first 7"):
        whole.map_.truncated(7)


@pytest.mark.parametrize("inner", INNER)
def test_files_give_them_back(inner, tmp_path):
    basis = fitted((6, 8, 3), inner=INNER[inner], precision="int8")
    X = pictures((6, 8, 3))
    storage.save(tmp_path / "basis", "basis", 1, basis, PARTS)
    again = storage.load(tmp_path / "basis", "basis", range(1, 2), PARTS)[1]
    for other in (again, pickle.loads(pickle.dumps(basis))):
        assert np.array_equal(other.transform(X), basis.transform(X))
        assert other.identity() == basis.identity()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"image_shape": (3,)}, "image_shape must be"),
        ({"patch_size": 9}, "do not fit into"),
        ({"grid": 6}, "too few for a grid"),
        ({"filters": "some"}, "filters"),
        ({"pooling": "min"}, "pooling"),
        ({"basis": RandomMaxout(), "pooling": "root"}, "never negative"),
        ({"basis": RandomBins()}, "filters='random'"),
        ({"basis": "maxout"}, "basis must be one of"),
        ({"contrast": -1.0}, "contrast"),
        ({"n_filters": 0}, "n_filters"),
    ],
)
def test_refusals(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PatchFeatures(**{"image_shape": (9, 7), "patch_size": 3, "grid": 2, "n_filters": 3, **given}).fit(
            pictures((9, 7))
        )


@pytest.mark.parametrize("precision", [None, "int8"])
def test_models_learn_from_pictures(precision, tmp_path):
    """Whether a bar stands or lies, wherever it is: patches see it better than features of whole pictures."""
    rng, n = np.random.default_rng(0), 300
    X, y = rng.normal(0, 8, (n, 12, 12)), rng.integers(0, 2, n)
    for x, upright in zip(X, y, strict=True):
        i, j = rng.integers(0, 8, 2)
        x[(slice(i, i + 4), j) if upright else (i, slice(j, j + 4))] += 80
    X = X.reshape(n, -1)
    basis = PatchFeatures(image_shape=(12, 12), patch_size=4, grid=2, n_filters=40, random_state=0)
    model = RandomFeatureClassifier(basis, precision=precision, random_state=0).fit(X[:150], y[:150])
    whole = RandomFeatureClassifier(RandomMaxout(320), random_state=0).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > max(0.88, 0.03 + whole.score(X[150:], y[150:]))
    model.save(tmp_path / "m.bochner")
    assert np.array_equal(load(tmp_path / "m.bochner").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_integer_whitening_takes_out_the_mean_and_wraps_nowhere(size):
    """The largest entry is the end of 16 bits: what makes its row add up to zero must not go beyond."""
    for seed in range(30):
        X = np.random.default_rng(seed).integers(0, 256, (20, 64)).astype(np.uint8)
        basis = PatchFeatures(
            image_shape=(8, 8), patch_size=size, grid=1, n_filters=1, precision="int8", random_state=seed
        )
        made = basis.fit(X).map_
        matrix = made.integer_whitening[0].astype(np.int64)
        assert not matrix.sum(axis=1).any()
        centred = made.whitening - made.whitening.mean(axis=1, keepdims=True)
        assert np.abs(matrix / np.abs(matrix).max() - centred / np.abs(centred).max()).max() < 1e-3
