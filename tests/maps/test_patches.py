"""Bags of patches of tensors: the bits of arrays, whatever the sizes, in one tile of pictures or in several."""

import numpy as np
import pytest

from bochner import PatchFeatures, RandomMaxout, RandomRidge, ops
from bochner.arrays import to_numpy
from helpers.devices import tensor

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def torch():
    return pytest.importorskip("torch")


SHAPES = {  # of pictures, and how patches are taken of them
    "odd": ((9, 11), {"patch_size": 5, "grid": 3}),
    "strides": ((10, 10), {"patch_size": 3, "grid": 2, "stride": 2}),
    "colour": ((7, 8, 3), {"patch_size": 4, "grid": 2}),
    "one pixel": ((4, 5), {"patch_size": 1, "grid": 4}),
    "one patch": ((6, 6), {"patch_size": 6, "grid": 1}),
    "mirrored": ((8, 9), {"patch_size": 3, "grid": 3, "mirrored": True}),
}
INNER = {
    "thresholds": (None, "patches"),
    "maxout": (RandomMaxout(pool_size=3), "random"),
    "ridge": (RandomRidge("relu"), "random"),
}


def pictures(shape, n=9, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 256, (n, int(np.prod(shape)))) * (rng.random((n, 1)) < 0.9)).astype(np.uint8)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("shape", SHAPES)
def test_features_of_tensors_have_the_bits_of_arrays(shape, inner, precision, monkeypatch):
    size, how = SHAPES[shape]
    basis, filters = INNER[inner]
    X = pictures(size)
    made = PatchFeatures(
        basis, image_shape=size, n_filters=11, filters=filters, precision=precision, random_state=0, **how
    ).fit(X)
    expected = made.map_(X)
    found = made.map_(tensor(X))
    assert np.array_equal(to_numpy(found), expected)
    kind = type(made.map_)
    monkeypatch.setattr(kind, "_pictures_at_once", lambda *others: 4)
    assert np.array_equal(to_numpy(made.map_(tensor(X))), expected)
    for part, values in made.map_.tiles(tensor(X), made.map_.columns // 3):
        assert np.array_equal(to_numpy(values), expected[:, part])


def test_unions_of_patches_have_the_rows_of_a_column_side_by_side():
    """As sums on a GPU want them; the bits are those of arrays."""
    X = pictures((9, 11))
    parts = [PatchFeatures(image_shape=(9, 11), patch_size=s, grid=2, n_filters=7) for s in (3, 5)]
    both = (parts[0] + parts[1]).set_params(precision="int8", random_state=0).fit(X)
    found = both.map_(tensor(X))
    assert found.stride(0) == 1
    assert np.array_equal(to_numpy(found), both.map_(X))


def test_pictures_at_once_are_as_many_as_have_room():
    """On a device that pools as it projects; where patches are to stay in a cache, a few."""
    X = pictures((9, 11))
    made = PatchFeatures(image_shape=(9, 11), patch_size=3, grid=2, n_filters=7, precision="int8", random_state=0).fit(
        X
    )
    rows = tensor(X)
    fused = ops.has_fast("pooled_threshold", rows)
    room = ops.tiles_for(rows).numbers if fused else 1 << 21
    assert made.map_._pictures_at_once(rows, 0, 7) == room // (63 * (9 + 1))
    assert made.map_._pictures_at_once(X, 0, 7) == (1 << 21) // (63 * (9 + 1))
