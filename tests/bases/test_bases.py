"""The contract of every basis, and what is particular to each."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bochner
from bochner import (
    Fastfood,
    GatedLinear,
    RandomBins,
    RandomCells,
    RandomFourier,
    RandomMaxout,
    RandomStumps,
    kernels,
)
from bochner.bases import REGISTRY
from helpers import contracts
from helpers.cases import CASES, INTEGER_CASES, dense

COMPARING = (RandomStumps, RandomBins, RandomCells)  # their integers are small
CHECKS = [
    getattr(contracts, name)
    for name in vars(contracts)
    if name.startswith("check_") and name not in ("check_all", "check_partition")
]


def test_every_basis_has_a_case():
    assert {type(basis) for basis in CASES.values()} == set(REGISTRY.values())
    assert all(getattr(bochner, cls.__name__) is cls for cls in REGISTRY.values())


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", CASES)
def test_contract(name, check):
    check(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_partition_of_rows(name):
    contracts.check_partition(CASES[name], exact=False)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", INTEGER_CASES)
def test_integer_features_are_the_same_bytes_in_any_partition(name, precision):
    contracts.check_partition(clone(CASES[name]).set_params(precision=precision), exact=True)


@pytest.mark.parametrize("precision", ["int8", "int14"])
@pytest.mark.parametrize("name", INTEGER_CASES)
def test_integer_features_approximate_the_float_kernel(name, precision):
    X = contracts.rows(n=10)
    basis = clone(CASES[name]).set_params(precision=precision, random_state=0, n_components=20000)
    if isinstance(basis, RandomBins):
        basis.set_params(n_grids=4000)
    if basis.get_params().get("shared_projections"):
        basis.set_params(shared_projections=10000)
    features = basis.fit(X).transform(X)
    assert features.dtype == (np.int8 if precision == "int8" or type(basis) in COMPARING else np.int16)
    approximate = dense(features) @ dense(features).T * basis.scale_**2
    exact = basis.kernel(X)
    assert np.abs(approximate - exact).max() < 0.08 * np.abs(exact).max()


def units(basis, k):
    """The first k units' unscaled features."""
    X = contracts.rows(n=6)
    fitted = clone(basis).set_params(random_state=3).fit(X)
    scale = np.sqrt(fitted.n_components) if fitted.scale_ == 1.0 else 1.0
    return dense(fitted.transform(X))[:, :k] * scale


@pytest.mark.parametrize("precision", [None, "int8"])
@pytest.mark.parametrize("name", [n for n in CASES if n != "bins"])
def test_first_features_of_many_are_the_features_of_few(name, precision):
    if precision and name not in INTEGER_CASES:
        pytest.skip("no integer map")
    few, many = (clone(CASES[name]).set_params(n_components=m, precision=precision) for m in (24, 200))
    np.testing.assert_allclose(units(few, 24), units(many, 24), rtol=1e-10, atol=1e-12)


def test_first_grids_of_many_are_the_grids_of_few():
    X = contracts.rows()
    few, many = (RandomBins(50, n_grids=g, bandwidth=2.0, random_state=0).fit(X) for g in (3, 9))
    for a, b in zip(few.map_.draw(0, 3), many.map_.draw(0, 3), strict=True):
        assert np.array_equal(a, b)


@given(
    name=st.sampled_from(sorted(CASES)),
    n=st.integers(1, 12),
    d=st.integers(1, 20),
    m=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    precision=st.sampled_from([None, "float32", "float64", "int8", "int14"]),
)
@settings(max_examples=150, deadline=None)
def test_any_shape_and_dtype(name, n, d, m, dtype, precision):
    basis = clone(CASES[name])
    if isinstance(basis, GatedLinear):
        m = max(1, m // basis.pool_size) * basis.pool_size
    precision = None if name not in INTEGER_CASES else precision
    basis.set_params(n_components=m, precision=precision, random_state=0)
    X = np.random.default_rng(n * d).integers(0, 9, (n, d)).astype(dtype)
    features = basis.fit_transform(X)
    assert features.shape == (n, m)
    if precision is None:
        assert features.dtype == (np.float32 if dtype == np.float32 else np.float64)
    elif precision.startswith("float"):
        assert features.dtype == precision
    assert len(basis.get_feature_names_out()) == m


def test_large_basis_pickles_to_seeds_and_scalars():
    X = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
    basis = RandomFourier(100_000, random_state=0).fit(X)
    before = basis.transform(X)
    data = pickle.dumps(basis)
    assert len(data) < 100_000
    assert np.array_equal(pickle.loads(data).transform(X), before)


def test_random_state_is_the_seed_and_none_differs():
    X = contracts.rows()
    assert RandomFourier(random_state=7).fit(X).seed_ == 7
    first, second = (RandomFourier().fit(X).seed_ for _ in range(2))
    assert first != second
    assert RandomFourier(random_state=np.random.RandomState(0)).fit(X).seed_ == RandomFourier(
        random_state=np.random.RandomState(0)
    ).fit(X).seed_  # fmt: skip


def test_identity_tells_bases_apart():
    X = contracts.rows()
    same = [RandomFourier(random_state=0).fit(X).identity() for _ in range(2)]
    assert same[0] == same[1]
    others = [
        RandomFourier(random_state=1),
        RandomFourier(random_state=0, bandwidth=1.0),
        RandomFourier(random_state=0, precision="int8"),
    ]
    assert all(other.fit(X).identity() != same[0] for other in others)


def test_median_bandwidth():
    X = contracts.rows(n=300)
    from scipy.spatial.distance import pdist

    assert RandomFourier().fit(X).bandwidth_ == pytest.approx(np.median(pdist(X)), rel=1e-5)
    assert RandomBins().fit(X).bandwidth_ == pytest.approx(np.median(pdist(X, "cityblock")), rel=1e-5)
    assert RandomFourier().fit(np.ones((5, 2))).bandwidth_ == 1.0


def test_kernel_is_parameter_and_method():
    basis = RandomFourier(kernel="laplacian", bandwidth=2.0, random_state=0)
    assert basis.kernel == "laplacian"
    assert basis.get_params()["kernel"] == "laplacian"
    assert "laplacian" in repr(basis)
    X = contracts.rows(4)
    np.testing.assert_allclose(basis.fit(X).kernel(X), kernels.Laplacian(2.0)(X))
    assert clone(basis).set_params(kernel="gaussian").kernel == "gaussian"


def test_pairs_are_interleaved_and_an_odd_column_is_phased():
    X = contracts.rows(4)
    features = RandomFourier(7, random_state=0).fit_transform(X) / np.sqrt(2 / 7)
    np.testing.assert_allclose(features[:, 0:6:2] ** 2 + features[:, 1:6:2] ** 2, 1.0, rtol=1e-12)
    even = RandomFourier(8, random_state=0).fit_transform(X) / np.sqrt(2 / 8)
    assert np.abs(features[:, 6] - even[:, 6]).max() > 0.01  # the phase
    basis = RandomFourier(7, random_state=0).fit(np.zeros((1, 4)))
    assert abs(basis.transform(np.zeros((1, 4)))[0, 6]) < np.sqrt(2 / 7)


def test_orthogonal_directions_are_orthogonal_in_groups():
    basis = RandomFourier(40, sampling="orthogonal", random_state=0).fit(contracts.rows(4, 5))
    W = basis.map_.directions(0, 20)
    for group in np.split(W, 4):
        gram = group @ group.T
        assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-12


@pytest.mark.parametrize("sampling", ["orthogonal", "qmc"])
def test_better_sampling_lowers_the_error(sampling):
    X = contracts.rows(n=40, d=4)
    plain, better = (
        bochner.theory.kernel_error(RandomFourier(256, sampling=s), X, repeats=20) for s in ("iid", sampling)
    )
    assert better.rms_interval[1] < plain.rms_interval[0]


def test_gated_features_are_one_of_each_pool_and_locally_linear():
    X = contracts.rows(50)
    basis = GatedLinear(80, pool_size=4, random_state=0).fit(X)
    features = basis.transform(X)
    assert ((features.reshape(50, 20, 4) != 0).sum(axis=2) == 1).all()
    np.testing.assert_allclose(basis.transform(2.0 * X), 2.0 * features, rtol=1e-12)
    sparse = GatedLinear(80, pool_size=4, random_state=0, sparse_output=True).fit(X).transform(X)
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), features)


def test_shared_projections_of_a_unit_differ():
    basis = RandomMaxout(500, pool_size=4, shared_projections=6, random_state=0).fit(contracts.rows())
    choices = np.sort(basis.map_.weights()[1], axis=1)
    assert (np.diff(choices, axis=1) > 0).all()
    counts = np.bincount(choices.ravel(), minlength=6)
    assert np.abs(counts - 500 * 4 / 6).max() < 4.5 * np.sqrt(500 * (4 / 6) * (2 / 6))


def test_uint8_pixels_are_used_as_they_are():
    X = np.random.default_rng(0).integers(0, 256, (20, 9)).astype(np.uint8)
    basis = RandomFourier(100, precision="int8", random_state=0).fit(X)
    assert basis.quantizer_.step == 1.0
    assert basis.clipped_fraction_ == 0.0
    assert np.array_equal(basis.transform(X), basis.transform(X.astype(np.float64)))


def test_an_outlier_is_clipped_and_counted():
    X = contracts.rows(n=400)
    X[0, 0] = 1000.0
    basis = RandomFourier(100, precision="int8").fit(X)
    assert basis.quantizer_.step < 0.05
    assert 0 < basis.clipped_fraction_ < 0.01


def test_integer_fastfood_shift_grows_before_sums_could_overflow():
    from bochner.maps.hadamard import integer_shift

    assert integer_shift(127, 784, 1024) == 0
    assert integer_shift(255, 4096, 4096) > 0
    with pytest.raises(ValueError, match="at most"):
        integer_shift(255, 70_000, 131_072)
    X = np.full((2, 4096), 255, np.uint8)
    X[1, ::2] = 0
    basis = Fastfood(8192, precision="int8", bandwidth=1e4, random_state=0).fit(X)
    approximate = dense(basis.transform(X)) @ dense(basis.transform(X)).T * basis.scale_**2
    np.testing.assert_allclose(approximate, basis.kernel(X), atol=0.05)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["fourier", "gated", "stumps", "maxout"])
def test_frames_in_and_out(frame, name):
    library = pytest.importorskip(frame)
    X = contracts.rows()
    table = library.DataFrame({f"c{k}": X[:, k] for k in range(5)})
    basis = clone(CASES[name]).set_params(random_state=0, n_components=8).set_output(transform=frame)
    out = basis.fit_transform(table)
    assert isinstance(out, library.DataFrame)
    assert list(out.columns) == [f"{type(basis).__name__.lower()}{k}" for k in range(8)]
    assert list(basis.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(out.to_numpy(), clone(basis).set_output(transform="default").fit(X).transform(X))


def test_a_toy_basis_is_one_file_and_one_registry_line(monkeypatch):
    """CONTRIBUTING's recipe: the class below is all there is to write."""
    from helpers.toy_basis import RandomSteps

    monkeypatch.setitem(REGISTRY, "steps", RandomSteps)
    contracts.check_all(REGISTRY["steps"](100))
    contracts.check_partition(RandomSteps(100, precision="int8"), exact=True)


# ---- what a hostile reader found, and must stay mended ----


def test_kernels_of_equal_names_are_different_kernels():
    def made(c):
        class Mine(kernels.Radial):
            def profile(self, r):
                return np.exp(-0.5 * (c * r) ** 2)

            def radii(self, seed, start, stop, d):
                return c * kernels.Gaussian().radii(seed, start, stop, d)

        return RandomFourier(400, kernel=Mine(1.0), random_state=0).fit(contracts.rows())

    one, three = made(1.0), made(3.0)
    assert one.identity() != three.identity()
    assert not np.array_equal(one.transform(contracts.rows()), three.transform(contracts.rows()))


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_centring_neither_overflows_nor_underflows(size):
    X = contracts.rows()
    expected = RandomMaxout(50, random_state=0).fit_transform(X)
    scaled = RandomMaxout(50, random_state=0).fit_transform((size * X).astype(np.float32))
    np.testing.assert_allclose(scaled / np.float32(size), expected, rtol=1e-3, atol=1e-5)


def test_small_numpy_integers_are_integers():
    X = contracts.rows()
    for basis in (
        RandomFourier(np.uint8(200)),
        RandomMaxout(np.int16(400), pool_size=np.uint8(4)),
        GatedLinear(np.uint64(8)),
    ):
        assert basis.fit_transform(X).shape == (23, int(basis.n_components))
    assert RandomBins(np.uint16(40), n_grids=np.int8(9)).fit_transform(X).shape == (23, 40)


def test_refitting_leaves_nothing_of_the_first_fit():
    X = contracts.rows()
    basis = RandomMaxout(20, precision="int8", random_state=0).fit(X)
    assert basis.set_params(precision=None).fit(X).identity() == RandomMaxout(20, random_state=0).fit(X).identity()


def test_wide_sparse_rows_are_not_made_dense_in_fit():
    import tracemalloc

    X = scipy.sparse.random(300, 200_000, density=1e-4, format="csr", random_state=0)
    tracemalloc.start()
    RandomFourier(8, random_state=0).fit(X)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_forks_do_not_inherit_a_held_lock():
    import os

    from bochner.maps.cache import WEIGHTS

    X = contracts.rows()
    basis = RandomFourier(20, random_state=0).fit(X)
    with WEIGHTS._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if basis.transform(X).shape == (23, 20) else 1)
    import signal

    signal.alarm(20)
    assert os.waitpid(child, 0)[1] == 0
    signal.alarm(0)


def test_odd_randomness_and_parameters_are_accepted():
    X = contracts.rows()
    assert RandomFourier(random_state=np.random.default_rng(0)).fit(X).seed_ == RandomFourier(
        random_state=np.random.default_rng(0)
    ).fit(X).seed_  # fmt: skip

    class Unhashable:
        __hash__ = None

        def __call__(self, t):
            return np.abs(t)

    assert bochner.RandomRidge(5, activation=Unhashable()).fit_transform(X).shape == (23, 5)


@pytest.mark.parametrize("name", INTEGER_CASES)
def test_huge_numbers_with_integer_precision(name):
    X = 1e30 * contracts.rows()
    basis = clone(CASES[name]).set_params(precision="int8", random_state=0)
    assert basis.fit_transform(X).shape == (23, basis.n_components)


def test_tiny_matern_smoothness_is_finite():
    X = contracts.rows()
    for dtype in (np.float32, np.float64):
        features = RandomFourier(20_000, kernel="matern", nu=0.01, random_state=0).fit_transform(X.astype(dtype))
        assert np.isfinite(features).all()


def test_stumps_of_bytes_are_those_of_the_same_numbers():
    rng = np.random.default_rng(0)
    for dtype in (np.uint8, np.int8):
        X = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (200, 30)).astype(dtype)
        of_bytes = RandomStumps(300, precision="int8", random_state=0).fit(X)
        of_floats = RandomStumps(300, precision="int8", random_state=0).fit(X.astype(np.float64))
        assert np.array_equal(of_bytes.transform(X), of_floats.transform(X.astype(np.float64)))
        np.testing.assert_allclose(of_bytes.kernel(X[:5]), of_floats.kernel(X[:5].astype(np.float64)))


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_projections_that_are_kept_are_few(precision):
    """Where no op turns them into features at once, a tile of units has no more than 8,192 of them in a row."""
    for basis in (RandomMaxout(40_000, structured=True), RandomFourier(40_000, kernel=kernels.Laplacian(2.0))):
        basis.set_params(precision=precision, random_state=0).fit(np.eye(5, dtype=np.float32))
        units, _, projections = basis.map_.units
        for (start, stop), _ in basis.map_.work(np.empty((2000, 5)), 0, units, basis.map_.is_fused(np.empty((1, 5)))):
            assert (stop - start) * projections <= max(8192, projections)


def test_stumps_say_where_a_bad_number_is_and_refuse_entries_that_add_up_to_infinity():
    basis = RandomStumps(4, radius=1.0, random_state=0).fit(np.eye(2))
    with pytest.raises(ValueError, match=r"X contains NaN \(first at row 1, column 0\)"):
        basis.transform([[0.0, 1.0], [np.nan, 2.0]])
    twice = scipy.sparse.csr_matrix(([1e308, 1e308, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(ValueError, match="NaN or infinity"):
        basis.transform(twice)
