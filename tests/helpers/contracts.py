"""What every basis must do, as functions of a basis; test_bases.py walks all cases, CONTRIBUTING's toy basis too."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from bochner.maps.cache import WEIGHTS
from helpers.cases import dense

FLOAT_TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5}


def rows(n=23, d=5, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def check_shape_and_dtype(basis):
    for dtype in (np.float32, np.float64):
        X = rows(dtype=dtype)
        features = clone(basis).set_params(random_state=0).fit(X).transform(X)
        assert features.shape == (23, basis.n_components)
        assert features.dtype == dtype
        assert np.isfinite(dense(features)).all()


def check_partition(basis, exact):
    """Any partition of the rows gives the same features: bit for bit if `exact`, to rounding otherwise."""
    X = rows(n=40)
    fitted = clone(basis).set_params(random_state=0).fit(X)
    whole = dense(fitted.transform(X))
    for cuts in ([1], [7, 8, 30], list(range(1, 40))):
        parts = np.vstack([dense(fitted.transform(part)) for part in np.split(X, cuts)])
        if exact:
            assert np.array_equal(parts, whole)
        else:
            np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-12)


def check_pickle(basis):
    X = rows()
    fitted = clone(basis).set_params(random_state=0).fit(X)
    before = dense(fitted.transform(X))
    data = pickle.dumps(fitted)
    WEIGHTS.clear()
    assert np.array_equal(dense(pickle.loads(data).transform(X)), before)
    assert len(data) < 5000


def check_input_is_left_alone(basis):
    """Read-only, strided and Fortran-ordered rows work and are not changed; nor is the estimator by transform."""
    X = rows()
    fitted = clone(basis).set_params(random_state=0).fit(X)
    expected = dense(fitted.transform(X))
    state = pickle.dumps(fitted)
    strided = np.zeros((46, 10))
    strided[::2, ::2] = X
    for variant in (X.copy(), strided[::2, ::2], np.asfortranarray(X)):
        variant.flags.writeable = False
        kept = variant.copy()
        np.testing.assert_allclose(dense(fitted.transform(variant)), expected, rtol=1e-12, atol=1e-13)
        clone(basis).fit(variant)
        assert np.array_equal(variant, kept)
    assert pickle.dumps(fitted) == state


def check_sparse_input(basis):
    X = rows()
    X[np.abs(X) < 0.7] = 0.0
    fitted = clone(basis).set_params(random_state=0).fit(scipy.sparse.csr_matrix(X))
    from_sparse = dense(fitted.transform(scipy.sparse.csr_array(X)))
    np.testing.assert_allclose(from_sparse, dense(fitted.transform(X)), rtol=1e-10, atol=1e-12)


def check_small_shapes(basis):
    """d = 1, n = 1, and one row of zeros."""
    for n, d in ((1, 1), (1, 4), (6, 1)):
        features = dense(clone(basis).set_params(random_state=0).fit(rows(n, d)).transform(rows(n, d, seed=1)))
        assert features.shape == (n, basis.n_components)
        assert np.isfinite(features).all()
    zero = np.zeros((2, 3))
    assert np.isfinite(dense(clone(basis).set_params(random_state=0).fit(zero).transform(zero))).all()


def check_kernel(basis):
    """The exact kernel is symmetric and positive semi-definite, and many features come near it."""
    X = rows(n=12)
    fitted = clone(basis).set_params(random_state=0).fit(X)
    exact = fitted.kernel(X)
    np.testing.assert_allclose(exact, exact.T, atol=1e-12)
    assert np.linalg.eigvalsh(exact).min() > -1e-9 * np.abs(exact).max()
    np.testing.assert_allclose(fitted.kernel(X[:3], X[4:9]), exact[:3, 4:9], rtol=1e-9, atol=1e-9)


def arrays_of(value):
    """The arrays that a map holds, those of its parts too."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple):
        return [array for item in value for array in arrays_of(item)]
    return arrays_of(tuple(vars(value).values())) if dataclasses.is_dataclass(value) else []


def require_map(feature_map, X):
    """What every map must do, composed ones too: small, immutable, equal to itself elsewhere, and the same in tiles."""
    features = dense(feature_map(X))
    assert features.shape == (len(X), feature_map.columns)
    assert feature_map(X).dtype == feature_map.output_dtype(X)
    require_small_and_immutable(feature_map, X)
    for columns in (1, 7, 10**6):
        tiles = list(feature_map.tiles(X, columns))
        assert len(tiles) == feature_map.tile_count(columns)
        assert [part.start for part, _ in tiles] == [0, *(part.stop for part, _ in tiles[:-1])]
        slack = 1e-5 if feature_map(X).dtype == np.float32 else 1e-12  # a product may add up in another order
        np.testing.assert_allclose(np.hstack([dense(tile) for _, tile in tiles]), features, rtol=1e-5, atol=slack)
        later = list(feature_map.tiles(X, columns, 1))
        assert [part for part, _ in later] == [part for part, _ in tiles[1:]]
    with pytest.raises(ValueError, match=f"X has {feature_map.inputs + 1} columns; the map was made for"):
        feature_map(np.zeros((2, feature_map.inputs + 1)))
    bad = X.astype(np.float64)
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        feature_map(bad)


def require_small_and_immutable(feature_map, X):
    data = pickle.dumps(feature_map)
    held = arrays_of(feature_map)
    assert len(data) < 10_000 + sum(array.nbytes for array in held)
    WEIGHTS.clear()
    again = pickle.loads(data)
    assert again == feature_map
    assert np.array_equal(dense(again(X)), dense(feature_map(X)))
    assert pickle.dumps(feature_map) == data  # calls leave no trace in it
    for field in dataclasses.fields(feature_map):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(feature_map, field.name, None)


def check_map_of_basis(basis):
    """`transform` is `map_`, bit for bit, and weights can be had piece by piece."""
    X = rows()
    fitted = clone(basis).set_params(random_state=0).fit(X)
    found = fitted.map_
    for given in (X, X.astype(np.float32), X.tolist(), scipy.sparse.csr_array(X)):
        made = found(given)
        assert made.dtype == fitted.transform(given).dtype
        assert np.array_equal(dense(made), dense(fitted.transform(given)))
    require_map(found, X)
    np.testing.assert_array_equal(found.exact_gram(X, X[:3]), fitted.kernel(X, X[:3]))
    if not callable(getattr(basis, "activation", None)):  # which no file holds
        assert type(found).from_state(found.to_state()) == found
    number = found.units.number
    for a, b in zip(found.weights(0, number), found.weights(), strict=True):
        assert np.array_equal(a, b)
        assert not a.flags.writeable


def check_all(basis):
    check_map_of_basis(basis)
    check_shape_and_dtype(basis)
    check_partition(basis, exact=False)
    check_pickle(basis)
    check_input_is_left_alone(basis)
    check_sparse_input(basis)
    check_small_shapes(basis)
    check_kernel(basis)
