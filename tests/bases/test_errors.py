"""Bad input gets one clear sentence."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bochner import Fastfood, GatedLinear, RandomBins, RandomFourier, RandomMaxout, RandomRidge, RandomStumps, kernels
from helpers.cases import CASES

X = np.random.default_rng(0).standard_normal((8, 3))


def with_value(value):
    bad = X.copy()
    bad[5, 1] = value
    return bad


@pytest.mark.parametrize("name", CASES)
def test_bad_data(name):
    basis = clone(CASES[name]).set_params(random_state=0)
    for data, message in [
        (with_value(np.nan), r"X contains NaN \(first at row 5, column 1\); impute or drop such rows first\."),
        (with_value(np.inf), r"X contains infinity \(first at row 5, column 1\)"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (X + 1j, "^Complex data not supported: X must hold real numbers.$"),
        (np.full((3, 2), np.datetime64("2020-01-01")), "Dates not supported"),
        (np.array([["a", "b"]]), "convert|numeric"),
        (X[0], "2D array"),
    ]:
        with pytest.raises(ValueError, match=message):
            basis.fit(data)
    basis.fit(X)
    with pytest.raises(ValueError, match=r"has 2 features, but .* is expecting 3"):
        basis.transform(X[:, :2])
    with pytest.raises(ValueError, match="X contains NaN"):
        basis.transform(with_value(np.nan))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("value", [0, -3, 2.5, "many", None, True])
def test_bad_number_of_components(name, value):
    with pytest.raises(ValueError, match="n_components must be an integer of at least 1"):
        clone(CASES[name]).set_params(n_components=value).fit(X)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (RandomFourier(kernel="gausian"), "kernel='gausian' is not known: did you mean 'gaussian'"),
        (RandomFourier(kernel="zzz"), "choose from 'gaussian', 'laplacian', 'matern', 'cauchy'"),
        (RandomFourier(kernel=kernels.Maxout()), "no frequencies to draw"),
        (RandomFourier(kernel=kernels.Hat()), "no frequencies to draw"),
        (RandomFourier(bandwidth=0.0), "bandwidth must be a positive finite number; got 0.0"),
        (RandomFourier(bandwidth="mean"), "bandwidth='mean' is not known"),
        (RandomFourier(kernel="matern", nu=-1), "nu must be a positive finite number"),
        (RandomFourier(kernel=kernels.Gaussian(2.0), bandwidth=3.0), "given twice"),
        (RandomFourier(sampling="sobol"), "sampling='sobol' is not known"),
        (RandomFourier(kernel="laplacian", sampling="orthogonal"), "needs a radial kernel"),
        (RandomFourier(sampling="orthogonal", precision="int8"), "same bits on every machine"),
        (RandomFourier(precision="int9"), "did you mean 'int8'"),
        (RandomFourier(random_state="x"), "cannot be used to seed"),
        (Fastfood(kernel="bal_matern"), "did you mean 'ball_matern'"),
        (Fastfood(kernel="ball_matern", degree=0), "degree must be an integer of at least 1"),
        (Fastfood(kernel=kernels.Laplacian()), "is not radial"),
        (RandomMaxout(pool_size=0), "pool_size must be an integer of at least 1"),
        (RandomMaxout(shared_projections=3), "shared_projections=3 is fewer than pool_size=4"),
        (RandomMaxout(shared_projections=30, structured=True), "exclude each other"),
        (GatedLinear(10, pool_size=4), "does not divide n_components=10; the nearest that it divides are 8 and 12"),
        (GatedLinear(10, pool_size=-1), "pool_size must be an integer"),
        (RandomStumps(thresholds="gauss"), "thresholds='gauss' is not known"),
        (RandomStumps(radius=-2), "radius must be a positive finite number"),
        (RandomBins(n_grids=0), "n_grids must be an integer of at least 1"),
        (RandomRidge(activation="selu"), "activation='selu' is not known"),
        (RandomRidge(scale=0), "scale must be a positive"),
        (RandomRidge(activation=lambda t: t[0]), "changed the shape"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_parameter(basis, message):
    with pytest.raises(ValueError) as caught:
        basis.fit(X).transform(X)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_columns_are_named():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    table = {"age": [1.0, 2.0], "city": ["Oslo", "Rome"]}
    mixed = pandas.DataFrame({"age": [1.0, 2.0], "city": [None, "Rome"]}, dtype=object)
    for frame in (pandas.DataFrame(table), polars.DataFrame(table), mixed):
        with pytest.raises(ValueError, match="column 'city' is not numeric"):
            RandomFourier().fit(frame)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        RandomFourier().transform(X)
    with pytest.raises(NotFittedError):
        RandomFourier().kernel(X)


def test_numbers_that_do_not_fit():
    big = X.copy()
    big[0, 0] = 1e200
    with pytest.raises(ValueError, match="X in float32 contains infinity"):
        RandomFourier(precision="float32", bandwidth=1.0).fit(big)
    with pytest.raises(ValueError, match="distances between the rows of X overflow"):
        RandomFourier().fit(1e200 * X)


def test_lazy_frames_are_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="lazy frame"):
        RandomFourier().fit(polars.DataFrame(X).lazy())
