"""Feature maps: what every fitted basis is, small and immutable, and what files may make of one."""

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from bochner import FixedFourier, MaxoutHash, RandomFourier, RandomStumps, storage
from bochner.bases import REGISTRY
from bochner.maps import FourierMap, GatedMap, MaxoutMap, UnitMap
from bochner.maps.quantize import Quantizer
from bochner.models.saving import kinds_of
from helpers import contracts
from helpers.cases import CASES, INTEGER_CASES, dense
from helpers.toy_basis import RandomSteps

FREQUENCIES = np.random.default_rng(0).standard_normal((9, 5))
ALL = {**CASES, "fixed": FixedFourier(FREQUENCIES, phases=[0.1, 0.2]), "hash": MaxoutHash(40), "steps": RandomSteps()}
EXACT = {**{name: ALL[name] for name in INTEGER_CASES}, "fixed": ALL["fixed"], "hash": ALL["hash"]}


def made(name, precision=None, columns=40):
    basis = clone(ALL[name]).set_params(precision=precision, random_state=0)
    if name != "fixed":
        basis.n_components = columns
    return basis


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("precision", [None, "float32", "int8", "int14"])
def test_the_map_of_a_fitted_basis_is_its_transform(name, precision):
    if precision in ("int8", "int14") and name not in {*EXACT, "steps"}:
        pytest.skip("no integer map")
    if name == "hash" and precision == "int14":
        pytest.skip("codes have no such precision")
    contracts.check_map_of_basis(made(name, precision))


def test_every_kind_of_map_is_walked():
    kinds = {basis.kind for name, basis in ALL.items() if name != "steps"}
    assert {type(basis) for name, basis in ALL.items() if name != "steps"} == {
        *REGISTRY.values(), FixedFourier, MaxoutHash,
    }  # fmt: skip
    leaves = {kind for kind in kinds_of(UnitMap) if not kind.__abstractmethods__ and not kind.__subclasses__()}
    # The second stage of distributions has no draws; tests/bases/test_patches.py walks the thresholds of patches.
    assert {kind.__name__ for kind in leaves - kinds} == {"InputsMap", "ThresholdMap"}


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("bins", "fixed")])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_prefixes_of_a_map_are_maps(name, precision):
    if precision and name not in {*EXACT, "steps"}:
        pytest.skip("no integer map")
    X = contracts.rows()
    whole = made(name, precision).fit(X).map_
    few, more = whole.truncated(24), whole.enlarged(64)
    assert (few.columns, more.columns) == (24, 64)
    assert whole.has_prefixes
    fitted = made(name, precision, 24).fit(X).map_
    assert dataclasses.replace(few, scale=fitted.scale) == fitted
    assert few.scale == pytest.approx(fitted.scale, rel=1e-12) or name == "hash"
    for short, wide in ((few, whole), (whole, more)):
        first = dense(wide(X))[:, : short.columns]
        if name == "hash":  # codes, which have no scale
            assert np.array_equal(dense(short(X)), first)
            continue
        scaled = short.prefix_scale(wide) * first
        np.testing.assert_allclose(short.scale * dense(short(X)), scaled, rtol=1e-9, atol=1e-12)


def test_what_has_no_prefixes_says_so():
    X = contracts.rows()
    bins, fixed = made("bins").fit(X).map_, made("fixed").fit(X).map_
    assert not bins.has_prefixes
    with pytest.raises(ValueError, match=r"RandomBins of .* columns cannot be cut to its first 7"):
        bins.truncated(7)
    with pytest.raises(ValueError, match="given frequencies are taken as they are"):
        fixed.truncated(7)
    assert fixed.truncated(fixed.columns) is fixed
    with pytest.raises(ValueError, match=r"RandomFourier of .* columns cannot be cut to its first 7"):
        made("fourier").fit(X).map_.truncated(7)


def test_a_basis_forgets_neither_its_map_nor_keeps_an_old_one():
    X = contracts.rows()
    basis = RandomFourier(20, bandwidth=1.0, random_state=0).fit(X)
    before = basis.map_
    basis.set_params(n_components=30)
    assert basis.map_ is before  # until the next fit
    assert pickle.loads(pickle.dumps(basis)).map_ == before
    assert basis.fit(X).map_ != before
    assert basis.map_.columns == 30
    assert before.columns == 20


def test_equal_maps_are_equal_keys():
    X = contracts.rows()
    one, same, other = (RandomFourier(20, bandwidth=1.0, random_state=seed).fit(X).map_ for seed in (0, 0, 1))
    assert one == same != other
    assert len({one, same, other}) == 2
    assert one != "a map"
    # What was asked for does not count, only what it came to.
    assert RandomStumps(9, radius="max", random_state=0).fit([[2.0]]).map_ == (
        RandomStumps(9, radius=2.0, random_state=0).fit([[2.0]]).map_
    )


def test_arrays_of_maps_are_copies_that_cannot_be_written_to():
    X, frequencies = contracts.rows(), FREQUENCIES.copy()
    found = FixedFourier(frequencies).fit(X).map_
    expected = found(X)
    frequencies[:] = 0.0
    assert np.array_equal(found(X), expected)
    for array in contracts.arrays_of(found):
        assert not array.flags.writeable


def test_torch_tensors_are_not_needed_for_rows_of_other_kinds():
    found = RandomFourier(6, bandwidth=1.0, random_state=0).fit(np.eye(3)).map_
    assert np.array_equal(found(np.eye(3, dtype=np.int64)), found(np.eye(3)))
    with pytest.raises(ValueError, match="a map takes a matrix of rows"):
        found(np.zeros(3))


# ---- files ----


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("ridge softsign", "steps", "hash")])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_maps_in_files(tmp_path, name, precision):
    if precision and name not in EXACT:
        pytest.skip("no integer map")
    X = contracts.rows()
    found = made(name, precision).fit(X).map_
    known = (type(found), Quantizer, *({type(found.kernel)} if hasattr(found, "kernel") else ()))
    storage.save(tmp_path / "map", "map", 1, found, known)
    _, again = storage.load(tmp_path / "map", "map", range(1, 2), known)
    assert again == found
    assert np.array_equal(dense(again(X)), dense(found(X)))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("fourier", {"columns": 0}), ("fourier", {"inputs": -1}), ("fourier", {"precision": "int9"}),
        ("fourier", {"precision": "int8"}), ("fourier", {"kernel": None}), ("fourier", {"sampling": "some"}),
        ("fourier", {"seed": 0.5}), ("fourier", {"scale": np.nan}), ("fourier", {"columns": 4.0}),
        ("fourier orthogonal", {"precision": "int8", "quantizer": Quantizer(1.0)}),
        ("fastfood", {"calibration": np.zeros(1)}), ("fixed", {"frequencies": np.full((9, 5), np.inf)}),
        ("fixed", {"columns": 17}), ("maxout", {"pool_size": 0}), ("maxout", {"shared_projections": 2}),
        ("maxout", {"inputs": 2**40}), ("gated", {"columns": 41}), ("stumps", {"radius": -1.0}),
        ("bins", {"n_grids": 2**40}), ("ridge sigmoid", {"activation": "other"}), ("hash", {"pool_size": 1}),
    ],
)  # fmt: skip
def test_maps_that_no_fit_gives_are_refused(name, changed):
    found = made(name).fit(contracts.rows()).map_
    with pytest.raises((ValueError, TypeError)):
        type(found).from_state({**found.to_state(), **changed})


def test_codes_of_other_columns_are_refused():
    found = made("fourier", "int8").fit(contracts.rows()).map_
    other = dataclasses.replace(found.quantizer, center=np.zeros(9))
    with pytest.raises(ValueError, match="another number of columns"):
        type(found).from_state({**found.to_state(), "quantizer": other})


def test_maps_are_made_without_a_basis():
    """A map stands alone: this is RandomMaxout of two inputs, and gates of one."""
    one = MaxoutMap(columns=3, inputs=2, seed=5, pool_size=2, center=False)
    directions = one.weights()[0].reshape(3, 2, 2)
    X = contracts.rows(4, 2)
    np.testing.assert_allclose(one(X), np.einsum("mqd,nd->nmq", directions, X).max(axis=2) / np.sqrt(3))
    gates = GatedMap(columns=4, inputs=1, seed=5, pool_size=2)
    assert gates([[1.0], [-2.0]]).shape == (2, 4)
    assert isinstance(RandomFourier(2).fit(X).map_, FourierMap)
