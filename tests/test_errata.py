"""Each slip of the papers, shown. docs/errata.md lists them and names these tests."""

import re

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from bochner import RandomFourier, RandomStumps, kernels, theory
from helpers.places import DOCS


def z_score(sample, expected):
    return abs(sample.mean() - expected) / (sample.std(ddof=1) / np.sqrt(len(sample)))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.8])
def test_maxout_theorem_1(rho):
    """E h(x)h(z) is not sigma^2(q) <x, z> kappa_q: the term with different winners is not zero."""
    q, rng = 4, np.random.default_rng(0)
    g = rng.standard_normal((200_000, q))
    other = rho * g + np.sqrt(1 - rho**2) * rng.standard_normal(g.shape)
    product = g.max(axis=1) * other.max(axis=1)
    x, z = [[1.0, 0.0]], [[rho, np.sqrt(1 - rho**2)]]
    assert z_score(product, kernels.Maxout(q, center=False)(x, z)[0, 0]) < 4.5
    printed = kernels.maximum_moment(q, 2) * rho * kernels.collision_probability(rho, q)
    assert z_score(product, printed) > 50


def test_gates_have_the_kernel_that_theorem_1_wanted():
    rng, q, rho = np.random.default_rng(0), 4, 0.5
    g, v = rng.standard_normal((200_000, q, 2)), rng.standard_normal((200_000, 2))
    x, z = np.array([1.0, 0.0]), np.array([rho, np.sqrt(1 - rho**2)])
    same = (g @ x).argmax(axis=1) == (g @ z).argmax(axis=1)
    assert z_score(same * (v @ x) * (v @ z), kernels.Gated(q)([x], [z])[0, 0]) < 4.5


def test_maxout_variance_grows_as_twice_the_logarithm():
    """sigma^2(q) ~ 2 log q, not log q: the ratio to log q passes 1.5 and tends to 2."""
    ratios = [kernels.maximum_moment(2**k, 2) / (k * np.log(2)) for k in (5, 10, 20, 40)]
    assert ratios == sorted(ratios)
    assert 1.5 < ratios[-1] < 2.0


def test_maxout_lemma_3_needs_a_union_over_units():
    """A level that one unit exceeds with probability delta is exceeded by one of m units far more often."""
    q, m, delta, rng = 4, 200, 0.01, np.random.default_rng(0)
    units = np.abs(rng.standard_normal((2000, m, q)).max(axis=2))
    level = np.quantile(units, 1 - delta)
    assert np.mean(units[:, 0] > level) < 3 * delta
    assert np.mean(units.max(axis=1) > level) > 0.5


def test_structured_pools_from_one_block_are_biased():
    """Projections of one Hadamard block depend on each other: their maximum has another kernel (n = 4)."""
    from bochner.maps.hadamard import draw_expansions
    from bochner.ops import fastfood
    from bochner.streams import Stream

    x = np.array([[0.5, 0.5, 0.5, 0.5], [0.1, 0.7, 0.1, 0.7]])  # unit vectors, rho = 0.8
    expansion = draw_expansions(0, 0, 40_000, 4, integer=False)
    radii = Stream(0, "radii").chi(4, 0, 160_000).reshape(-1, 4)
    projections = fastfood(x, *expansion, radii * expansion.inverse_length()).reshape(2, -1, 4)
    exact = kernels.Maxout(4, center=False)(x)[0, 1]
    same_block = projections.max(axis=2)
    assert z_score(same_block[0] * same_block[1], exact) > 8
    across = projections.reshape(2, -1, 4, 4).max(axis=2)[:, :, 0]  # row 0 of four different blocks
    assert z_score(across[0] * across[1], exact) < 4.5


def test_stump_kernel_has_a_factor_one_over_d():
    X = np.random.default_rng(0).uniform(-1, 1, (2, 6))
    sample = []
    for seed in range(400):
        Z = RandomStumps(50, radius=1.0, random_state=seed).fit_transform(X)
        sample.append(Z[0] @ Z[1])
    distance = np.abs(X[0] - X[1]).sum()
    assert z_score(np.array(sample), 1 - distance / 6) < 4.5
    assert z_score(np.array(sample), 1 - distance) > 50


def test_phased_cosines_give_half_the_kernel():
    """Without the factor sqrt(2/m) the mean of cos cos is k/2."""
    X, sample = np.array([[0.0, 0.0], [0.5, 0.3]]), []
    for seed in range(400):
        basis = RandomFourier(50, pairs=False, bandwidth=1.0, random_state=seed).fit(X)
        Z = basis.transform(X) / np.sqrt(2.0)
        sample.append(Z[0] @ Z[1])
    exact = basis.kernel(X)[0, 1]
    assert z_score(np.array(sample), exact / 2) < 4.5
    assert z_score(np.array(sample), exact) > 50


def test_equation_12_needs_more_than_a_symmetric_phase():
    """b uniform on [-pi/4, pi/4] is symmetric, but E cos(wx + b) cos(wy + b) then depends on x + y."""
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal(400_000), rng.uniform(-np.pi / 4, np.pi / 4, 400_000)
    shift_invariant = 0.5 * np.exp(-0.5 * 0.4**2)
    near, far = (np.cos(w * x + b) * np.cos(w * (x + 0.4) + b) for x in (0.0, 3.0))
    assert z_score(near, shift_invariant) > 20
    assert near.mean() - far.mean() > 0.1


def test_theorem_3_2_lost_a_two():
    """McDiarmid with differences 2 |f|/K fails with probability delta at the right root, sqrt(delta) as printed."""
    norm, K, delta = 1.7, 250, 0.01

    def failure(epsilon):
        return np.exp(-2 * epsilon**2 / (K * (2 * norm / K) ** 2))

    assert failure(norm / np.sqrt(K) * np.sqrt(2 * np.log(1 / delta))) == pytest.approx(delta)
    assert failure(norm / np.sqrt(K) * np.sqrt(np.log(1 / delta))) == pytest.approx(np.sqrt(delta))


def test_cosine_does_not_vanish_at_zero():
    """Theorem 3.2 asks for phi(0) = 0, which it then applies to cos."""
    assert np.cos(0.0) == 1.0


def test_kitchen_sinks_lemma_3_assumes_half_the_change():
    """One example can move the empirical risk by 2 L C / n, so McDiarmid's term is L C sqrt(2 log(1/delta) / n)."""
    L, C, n = 1.5, 2.0, 10
    margins = np.zeros(n)
    low, high = margins.copy(), margins.copy()
    low[0], high[0] = -C, C  # the functions of the class are bounded by C

    def risk(margin):
        return np.mean(L * (C - margin))  # an L-Lipschitz loss

    change = risk(low) - risk(high)
    assert change == pytest.approx(2 * L * C / n)
    delta = 0.05
    term = np.sqrt(n * change**2 * np.log(1 / delta) / 2)
    assert term == pytest.approx(L * C * np.sqrt(2 * np.log(1 / delta) / n))
    assert term == pytest.approx(2 * L * C * np.sqrt(0.5 * np.log(1 / delta) / n))


def test_fastfood_features_need_a_normalisation():
    """Equation 9 leaves out 1/sqrt(frequencies): without it <phi(x), phi(x)> is their number, not 1."""
    from bochner import Fastfood

    basis = Fastfood(64, bandwidth=1.0, random_state=0).fit(np.eye(3))
    Z = basis.transform(np.eye(3))
    assert Z[0] @ Z[0] == pytest.approx(1.0)
    assert np.sum((Z[0] * np.sqrt(64 / 2)) ** 2) == pytest.approx(32.0)


def test_neighbouring_radii_are_independent():
    """The published C++ draws neighbouring radii from overlapping hash indices; here their correlation is nothing."""
    kernel = kernels.BallMatern(degree=40, dimension=16)
    radii = kernel.radii(0, 0, 20_000, 16)
    for lag in (1, 2, 3):
        assert abs(np.corrcoef(radii[:-lag], radii[lag:])[0, 1]) * np.sqrt(20_000) < 4.5


def test_equation_14_of_learned_fourier_mixes_two_derivatives():
    """The cosine half has derivative -sin, the sine half cos; one common sigma' does not give the gradient."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(3), rng.standard_normal(3)
    cos_weight, sin_weight = 0.7, -1.1

    def output(w):
        return cos_weight * np.cos(w @ x) + sin_weight * np.sin(w @ x)

    numeric = np.array([(output(w + h) - output(w - h)) / 2e-6 for h in 1e-6 * np.eye(3)])
    np.testing.assert_allclose((-cos_weight * np.sin(w @ x) + sin_weight * np.cos(w @ x)) * x, numeric, rtol=1e-6)
    for derivative in (-np.sin(w @ x), np.cos(w @ x)):
        assert np.abs((cos_weight + sin_weight) * derivative * x - numeric).max() > 0.1


def test_normal_thresholds():
    """The kitchen-sinks paper draws t ~ N(0, 1); the kernel is 1 - (2/d) sum |F(x_k) - F(z_k)|."""
    x, z = np.array([0.3, -1.0]), np.array([1.5, 0.2])
    expected = 1 - np.abs(ndtr(x) - ndtr(z)).sum()
    assert kernels.NormalStump()([x], [z])[0, 0] == pytest.approx(expected)


def test_every_erratum_names_a_test_that_exists():
    text = (DOCS / "errata.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert named
    assert named <= set(globals()), named - set(globals())


def test_maxout_lemma_2_takes_one_vector_for_all():
    """Its proof bounds max_j |w_j| by a tail of two vectors; with many of them that fails far more often."""
    dimension, q = 60, 256
    lengths = np.linalg.norm(np.random.default_rng(0).standard_normal((200, q, dimension)), axis=2)
    limit = np.sqrt(chi2.ppf(0.99, dimension))
    assert np.mean(lengths > limit) < 0.012
    assert np.mean(lengths.max(axis=1) > limit) > 0.8


def test_maxout_remark_2_multiplies_too_much_or_too_little():
    """R B times the bound for R = B = 1: too small for short rows, too large for long ones."""
    setting = {"pool_size": 4, "intrinsic_dimension": 3.0, "dimension": 20, "max_coefficient": 1.0, "lipschitz": 1.0}
    plain = theory.maxout_bound(1000, 1000, **setting).total
    for radius, below in ((0.1, True), (10.0, False)):
        right = theory.maxout_bound(1000, 1000, **setting, radius=radius).total
        assert (radius * plain < right) == below
