"""Maxout codes: the share that differs is an unbiased estimate of 1 - kappa_q, and packing loses nothing."""

import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import MaxoutHash, MaxoutIndex
from bochner.hashing.packing import count_differences, pack, unpack
from bochner.hashing.probing import bucket_keys, probe_keys
from bochner.kernels import Collision, collision_probability
from helpers.places import DOCS
from helpers.z_scores import z_scores

SEEDS, CODES = 300, 40
RHOS = (-0.8, 0.0, 0.5, 0.9, 0.99)
rng = np.random.default_rng(0)


def pairs_at(rhos, d):
    """Rows 2k and 2k + 1 have the cosine rhos[k], and different lengths."""
    pairs = []
    for rho in rhos:
        u, v = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        pairs += [3.0 * u, rho * u + np.sqrt(1.0 - rho**2) * v]
    return np.array(pairs)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 5), m=st.integers(1, 150), q=st.integers(2, 300), seed=st.integers(0, 99))
def test_packed_codes_are_the_codes_and_so_are_their_distances(n, m, q, seed):
    draw = np.random.default_rng(seed)
    A, B = (draw.integers(0, q, (n + k, m)).astype(np.uint16) for k in (0, 2))
    B[0] = A[0]
    assert np.array_equal(unpack(pack(A, q), m), A)
    expected = (A[:, None] != B[None]).sum(axis=2)
    assert np.array_equal(count_differences(pack(A, q), pack(B, q)), expected)


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("q", [2, 3, 8, 64])
@pytest.mark.parametrize("precision", [None, "int8"])
def test_hamming_distance_is_unbiased_and_its_standard_error_right(q, d, precision):
    """Mean 1 - kappa_q, variance kappa_q (1 - kappa_q) / m, and a squared standard error with that variance as mean."""
    X, distances, squares = pairs_at(RHOS, d), [], []
    for seed in range(SEEDS):
        hash_ = MaxoutHash(CODES, pool_size=q, precision=precision, random_state=seed).fit(X)
        distances.append(np.diagonal(hash_.hamming(hash_.encode(X[::2]), hash_.encode(X[1::2]))))
        squares.append(hash_.standard_error(distances[-1]) ** 2)
    seen = X if precision is None else hash_.quantizer_(X).astype(float)
    share = np.diagonal(Collision(q)(seen[::2], seen[1::2]))
    variance = share * (1.0 - share) / CODES
    # Integer directions take few values, which moves kappa a little where columns are few.
    slack = 0.0 if precision is None else 0.01
    errors = np.array(distances) - (1.0 - share)
    assert (np.abs(errors.mean(axis=0)) < slack + 4.5 * np.sqrt(variance / SEEDS) + 1e-12).all()
    often = share > 0.02  # below, so few codes agree that no sample tells a spread
    assert z_scores(np.array(squares) - variance, slack / CODES)[often].max() < 4.5
    spread = np.mean(errors**2, axis=0)[often] / variance[often]
    assert (np.abs(spread - 1.0) < 4.5 * np.sqrt(2 / SEEDS) + 10 * slack).all()


def test_the_z_test_sees_codes_that_depend_on_each_other():
    """Overlapping pools: the mean is right, the standard error is not."""
    X, distances = pairs_at([0.5], 30), []
    for seed in range(SEEDS):
        hash_ = MaxoutHash(CODES, pool_size=8, random_state=seed).fit(X)
        projections = hash_.map_.project(X, (hash_.map_.draw(0, CODES)[0][: CODES + 7],))
        codes = np.stack([projections[:, k : k + 8].argmax(axis=1) + k for k in range(CODES)], axis=1)
        distances.append((codes[0] != codes[1]).mean())
    share = collision_probability(0.5, 8)
    assert abs(np.mean(distances) - (1 - share)) < 4.5 * np.std(distances) / np.sqrt(SEEDS)
    spread = np.sum((np.array(distances) - (1 - share)) ** 2) / (share * (1 - share) / CODES)
    assert spread - SEEDS > 4.5 * np.sqrt(2 * SEEDS)


def test_codes_are_the_winners_and_margins_their_lead():
    X = rng.standard_normal((20, 6))
    hash_ = MaxoutHash(10, pool_size=5, random_state=0).fit(X)
    projections = (X @ hash_.map_.draw(0, 10)[0].T).reshape(20, 10, 5)
    assert np.array_equal(hash_.transform(X), projections.argmax(axis=2))
    expected = projections.max(axis=2, keepdims=True) - projections
    np.testing.assert_allclose(hash_.margins(X), expected, rtol=1e-12, atol=1e-13)
    assert np.array_equal(hash_.truncated(4).transform(X), hash_.transform(X)[:, :4])


@pytest.mark.parametrize("precision", [None, "float32", "int8"])
def test_a_centre_makes_angles_of_pictures_informative(precision):
    """Codes of shifted rows are those of the rows themselves, in every kind of input."""
    X = rng.integers(0, 256, (200, 12)).astype(np.uint8)
    hash_ = MaxoutHash(256, center=True, precision=precision, random_state=0)
    codes = hash_.fit_transform(X)
    np.testing.assert_allclose(hash_.center_, X.mean(axis=0), rtol=1e-5)
    from_origin = MaxoutHash(256, precision=precision, random_state=0).fit(X)
    raw, centred = (1.0 - h.hamming(h.encode(X))[np.triu_indices(200, 1)].mean() for h in (from_origin, hash_))
    assert raw > 0.45  # all rows look alike from the origin
    assert abs(centred - 1 / 8) < 0.02  # from the middle, most are orthogonal
    agreement = (hash_.transform(scipy.sparse.csr_matrix(X.astype(float))) == codes).mean()
    assert agreement > 0.99
    exact = hash_.kernel(X)
    assert np.abs(1.0 - hash_.hamming(hash_.encode(X)) - exact).max() < 6 * np.sqrt(0.25 / 256)


def test_integer_codes_are_the_same_in_every_partition():
    X = rng.standard_normal((300, 7)) + 100.0
    hash_ = MaxoutHash(64, center=True, precision="int8", random_state=0).fit(X)
    whole = hash_.transform(X)
    assert np.array_equal(np.vstack([hash_.transform(X[k : k + 7]) for k in range(0, 300, 7)]), whole)
    float_codes = MaxoutHash(64, center=True, random_state=0).fit(X).encode(X)
    integer, floats = (h.hamming(c) for h, c in ((hash_, hash_.encode(X)), (hash_, float_codes)))
    assert abs(integer.mean() - floats.mean()) < 0.03  # a shift of 100 deviations leaves the angles


def test_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "hashing.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    names = {}
    exec(compile(block, "hashing.md", "exec"), names)
    assert np.array_equal(names["same"].query(names["X"][:4])[1], names["ids"])


def all_keys_in_order(margins):
    """Every bucket by the sum of its squared margins: the definition."""
    codes = np.stack(np.meshgrid(*[np.arange(margins.shape[1])] * len(margins), indexing="ij"), axis=-1)
    codes = codes.reshape(-1, len(margins))
    sums = np.square(margins)[np.arange(len(margins)), codes].sum(axis=1)
    return bucket_keys(codes, margins.shape[1])[np.argsort(sums, kind="stable")]


@settings(max_examples=40, deadline=None)
@given(k=st.integers(1, 4), q=st.integers(2, 5), probes=st.integers(1, 40), seed=st.integers(0, 99))
def test_the_likeliest_buckets_are_probed(k, q, probes, seed):
    X = np.random.default_rng(seed).standard_normal((3, 6))
    hash_ = MaxoutHash(k, pool_size=q, random_state=seed).fit(X)
    margins, found = hash_.margins(X), probe_keys(hash_.margins(X), probes)
    assert found.shape == (3, min(probes, q**k))
    for row, keys in zip(margins, found, strict=True):
        assert set(keys) == set(all_keys_in_order(row)[:probes])
    own = bucket_keys(hash_.transform(X), q)
    assert all(own[i] in found[i] for i in range(3))


@parametrize_with_checks([
    MaxoutHash(20), MaxoutHash(20, center=True, precision="int8"), MaxoutIndex(3), MaxoutIndex(2, precision="int8"),
])  # fmt: skip
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("hash_", "message"),
    [
        (MaxoutHash(0), "n_codes must be an integer of at least 1; got 0."),
        (MaxoutHash(2.5), "n_codes must be an integer of at least 1; got 2.5."),
        (MaxoutHash(pool_size=1), "pool_size must be an integer of at least 2; got 1."),
        (MaxoutHash(pool_size=1 << 17), "pool_size must be at most 65,536; got 131072."),
        (MaxoutHash(precision="int14"), "precision='int14' is not known: did you mean 'int8'"),
    ],
)
def test_bad_parameters(hash_, message):
    with pytest.raises(ValueError) as caught:
        hash_.fit(np.eye(3))
    assert message in str(caught.value)


def test_codes_of_another_hash_are_refused():
    X = np.eye(4)
    small, large = (MaxoutHash(m, random_state=0).fit(X) for m in (8, 16))
    with pytest.raises(ValueError, match=r"packed codes are uint8 of shape \(n, 3, 1\)"):
        small.hamming(large.encode(X))
    with pytest.raises(ValueError, match="as encode makes them; got uint8 of shape"):
        small.hamming(small.transform(X))
    with pytest.raises(ValueError, match="at least 2 codes"):
        MaxoutHash(1).standard_error(0.5)
