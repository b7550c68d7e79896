"""Streams: the published Philox vectors, laws of every conversion, prefixes, and independence of names and indices."""

import hashlib

import numpy as np
import pytest
from scipy import special, stats

from bochner import portable
from bochner.streams import Stream, int8_normal_deviation, int8_normal_table, philox, sample_rows

ALL_ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # from the known-answer file of Random123
        ([0, 0, 0, 0], (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ALL_ONES] * 4, (ALL_ONES, ALL_ONES), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            (0xA4093822, 0x299F31D0),
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_published_vectors(counter, key, expected):
    assert philox(np.array([counter], dtype=np.uint32), key)[0].tolist() == expected


def test_portable_functions_agree_with_libm():
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 50001), 2.0 ** -np.arange(1.0, 34.0)])
    np.testing.assert_allclose(portable.normal_quantile(p), special.ndtri(p), rtol=3e-15, atol=3e-16)
    np.testing.assert_allclose(portable.laplace_quantile(p), stats.laplace.ppf(p), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(portable.cauchy_quantile(p), stats.cauchy.ppf(p), rtol=1e-9, atol=1e-15)
    x = np.exp(np.linspace(-700, 700, 50001))
    np.testing.assert_allclose(portable.log(x), np.log(x), rtol=1e-15, atol=1e-15)
    y = np.linspace(-700, 700, 50001)
    np.testing.assert_allclose(portable.exp(y), np.exp(y), rtol=1e-15)
    np.testing.assert_allclose(portable.sigmoid(y), special.expit(y), rtol=1e-14)
    turns = np.linspace(-3, 3, 50001)
    np.testing.assert_allclose(portable.cosine_of_turns(turns), np.cos(2 * np.pi * turns), atol=5e-15)


LAWS = {
    "uniform": (lambda s: s.uniform(0, 5000, 4), stats.uniform.cdf),
    "normal": (lambda s: s.normal(0, 5000, 4), stats.norm.cdf),
    "chi 1": (lambda s: s.chi(1, 0, 5000, 4), stats.chi(1).cdf),
    "chi 50": (lambda s: s.chi(50, 0, 5000, 4), stats.chi(50).cdf),
    "gamma 0.4": (lambda s: s.gamma(0.4, 0, 5000, 4), stats.gamma(0.4).cdf),
    "gamma 2": (lambda s: s.gamma(2.0, 0, 5000, 4), stats.gamma(2.0).cdf),
    "gamma 600": (lambda s: s.gamma(600.0, 0, 5000, 4), stats.gamma(600.0).cdf),
}


@pytest.mark.parametrize("name", LAWS)
def test_law(name):
    draw, cdf = LAWS[name]
    # Twenty seeds: the smallest of twenty p-values has mean 1/21; all of them together must look uniform.
    pvalues = [stats.kstest(draw(Stream(seed, "law")).ravel(), cdf).pvalue for seed in range(20)]
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-4
    assert min(pvalues) > 1e-4


def test_signs_and_integers_are_balanced():
    signs = Stream(0, "signs").sign(0, 1000, 1000).astype(float)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) * 1000 < 4.5
    counts = np.bincount(Stream(0, "integers").integers(0, 100_000, 7)[:, 0], minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_permutations_are_uniform():
    permutations = Stream(0, "permutations").permutation(0, 24_000, 4)
    assert (np.sort(permutations, axis=1) == np.arange(4)).all()
    codes, counts = np.unique(permutations @ np.array([64, 16, 4, 1]), return_counts=True)
    assert len(codes) == 24
    assert stats.chisquare(counts).pvalue > 1e-4


def test_int8_normal_is_an_integer_table_that_never_changes():
    table = int8_normal_table()
    assert table.dtype == np.int8
    assert np.array_equal(table, -table[::-1])
    assert (np.diff(table.astype(int)) >= 0).all()
    assert hashlib.sha256(table.tobytes()).hexdigest()[:16] == "81503143e301da35"
    assert abs(int8_normal_deviation() - 32.0) < 0.01
    drawn = Stream(0, "int8").normal_int8(0, 1000, 1001).astype(float)
    assert abs(drawn.mean()) / 32 * 1000 < 4.5
    assert abs(drawn.std() / int8_normal_deviation() - 1) < 4.5 / np.sqrt(2 * drawn.size)


DRAWS = {
    "bits": lambda s, a, b: s.bits(a, b, 9),
    "uniform": lambda s, a, b: s.uniform(a, b, 3),
    "normal": lambda s, a, b: s.normal(a, b, 6),
    "int8": lambda s, a, b: s.normal_int8(a, b, 7),
    "sign": lambda s, a, b: s.sign(a, b, 40),
    "permutation": lambda s, a, b: s.permutation(a, b, 8),
    "gamma": lambda s, a, b: s.gamma(1.3, a, b, 3),
    "chi": lambda s, a, b: s.chi(9, a, b),
    "integers": lambda s, a, b: s.integers(a, b, 11, 2),
}


@pytest.mark.parametrize("name", DRAWS)
def test_any_feature_can_be_drawn_alone(name):
    draw, stream = DRAWS[name], Stream(5, "prefix")
    whole = draw(stream, 0, 60)
    assert np.array_equal(draw(stream, 0, 17), whole[:17])
    assert np.array_equal(draw(stream, 31, 32), whole[31:32])
    assert np.array_equal(draw(stream, 17, 60), whole[17:])
    far = 2**33 + 7  # indices beyond 32 bits are different features
    assert not np.array_equal(draw(stream, far, far + 60), whole)


def correlation_z(a, b):
    return abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) * np.sqrt(a.size)


@pytest.mark.parametrize("name", DRAWS)
def test_names_seeds_and_neighbours_never_share_draws(name):
    def draw(seed, stream_name, start):
        return DRAWS[name](Stream(seed, stream_name), start, start + 4000).astype(float)

    base = draw(0, "radii", 0)
    others = [draw(0, "lengths", 0), draw(1, "radii", 0), draw(0, "radii ", 0), draw(10, "radii", 0)]
    others += [draw(0, "radii", lag) for lag in (1, 2, 3, 4, 8, 4000)]
    for other in others:
        assert correlation_z(base, other) < 4.5
    if base.shape[1] > 1 and name != "permutation":
        assert correlation_z(base[:, 0], base[:, 1]) < 4.5


def test_sampled_rows_do_not_depend_on_blocks():
    chosen = sample_rows(10_000, 100, seed=0)
    assert len(np.unique(chosen)) == 100
    assert np.array_equal(chosen, np.sort(chosen))
    # A row's priority is its own: the rows chosen from a prefix are those chosen from the whole, if they are in it.
    prefix = sample_rows(5_000, 100, seed=0)
    assert set(chosen[chosen < 5_000]) <= set(prefix)
    assert np.array_equal(sample_rows(5, 100, seed=0), np.arange(5))
