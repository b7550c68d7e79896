"""Exact kernels: against closed forms, quadrature, scikit-learn and Monte Carlo."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import eval_hermitenorm, factorial, ndtr
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import laplacian_kernel

from bochner import kernels
from bochner.kernels.maxout import bivariate_normal_cdf, collision_by_quadrature

X = np.random.default_rng(0).standard_normal((15, 3))


def test_agreement_with_scikit_learn():
    np.testing.assert_allclose(kernels.Gaussian(1.7)(X), RBF(1.7)(X), rtol=1e-12)
    np.testing.assert_allclose(kernels.Laplacian(1.7)(X), laplacian_kernel(X, gamma=1 / 1.7), rtol=1e-12)
    for nu in (0.5, 1.1, 1.5, 2.5, 8.0):
        np.testing.assert_allclose(kernels.Matern(1.7, nu=nu)(X), SklearnMatern(1.7, nu=nu)(X), rtol=1e-9)


def test_matern_is_finite_at_extremes():
    distances = np.array([0.0, 1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e8])
    for nu in (0.3, 1.5, 30.0, 200.0):
        value = kernels.Matern(nu=nu).profile(distances)
        assert np.isfinite(value).all()
        np.testing.assert_allclose(value[:2], 1.0, rtol=1e-10)
        assert (np.diff(value) <= 1e-10).all()
        assert kernels.Matern(nu=nu)([[0.0]], [[1e9], [1e30]]).tolist() == [[0.0, 0.0]]
    # Matern tends to the Gaussian as nu grows.
    np.testing.assert_allclose(kernels.Matern(nu=500.0)(X), kernels.Gaussian()(X), atol=2e-3)


def test_cauchy_and_hat_by_hand():
    a, b = np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]])
    assert kernels.Cauchy(2.0)(a, b)[0, 0] == pytest.approx(1 / (1 + 0.25) / (1 + 2.25))
    assert kernels.Hat(4.0)(a, b)[0, 0] == pytest.approx(0.75 * 0.25)
    assert kernels.Hat(2.0)(a, b)[0, 0] == 0.0


def test_binning_is_a_mixture_of_hats():
    """integral of max(0, 1 - r/delta) delta exp(-delta) = exp(-r)."""
    for r in (0.1, 1.0, 3.0):
        value, _ = integrate.quad(lambda delta, r=r: (1 - r / delta) * delta * np.exp(-delta), r, np.inf)
        assert value == pytest.approx(kernels.Binning()([[0.0]], [[r]])[0, 0], rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 64, 199, 256, 1024])
def test_ball_matern_is_the_characteristic_function_of_the_ball(n):
    """E cos(r w_1) for w uniform in the unit ball: one coordinate has density ~ (1 - u^2)^((n-1)/2)."""
    kernel = kernels.BallMatern(degree=1, dimension=n)
    u = np.linspace(-1.0, 1.0, 200_001)
    density = (1 - u * u) ** (0.5 * (n - 1))
    for r in (0.0, 0.7, 5.0, 20.0, 60.0):
        expected = np.trapezoid(np.cos(r * u) * density, u) / np.trapezoid(density, u)
        assert kernel.profile(np.array([r]))[0] == pytest.approx(expected, abs=2e-7)
    np.testing.assert_allclose(
        kernels.BallMatern(degree=3, dimension=n).profile(np.array([2.0])), kernel.profile(np.array([2.0])) ** 3
    )


def test_ball_matern_needs_its_dimension():
    with pytest.raises(ValueError, match="dimension"):
        kernels.BallMatern()(X)


def test_arc_cosine_by_monte_carlo():
    rng = np.random.default_rng(0)
    x, z = np.array([1.0, 0.5]), np.array([-0.3, 1.2])
    w = rng.standard_normal((400_000, 2))
    for order in (0, 1, 2):
        product = 2 * ((w @ x > 0) * np.maximum(w @ x, 0) ** order) * ((w @ z > 0) * np.maximum(w @ z, 0) ** order)
        exact = kernels.ArcCosine(order)([x], [z])[0, 0]
        assert abs(product.mean() - exact) / (product.std() / np.sqrt(len(w))) < 4.5


def test_relu_is_closed_form_and_equals_quadrature():
    by_name = kernels.Ridge("relu", 0.8, 0.4)(X[:4])
    np.testing.assert_allclose(by_name, kernels.Ridge(lambda t: np.maximum(t, 0), 0.8, 0.4)(X[:4]), atol=2e-4)


# ---- maxout ----


@pytest.mark.parametrize(
    ("q", "mean", "square"), [(2, 0.5642, 1.0), (4, 1.0294, 1.5513), (8, 1.4236, 2.3995), (16, 1.7660, 3.4137)]
)
def test_moments_of_the_maximum(q, mean, square):
    assert kernels.maximum_mean(q) == pytest.approx(mean, abs=5e-5)
    assert kernels.maximum_moment(q, 2) == pytest.approx(square, abs=5e-5)
    assert kernels.maximum_moment(q, 0) == pytest.approx(1.0, abs=1e-12)


def test_bivariate_normal_cdf():
    from scipy.stats import multivariate_normal

    for rho in (-0.9, -0.2, 0.4, 0.99):
        for h, k in ((0.5, 1.0), (-0.7, 0.3), (2.0, -1.0), (-1.0, -2.0)):
            expected = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf([h, k])
            assert bivariate_normal_cdf(np.array(h), np.array(k), rho) == pytest.approx(expected, abs=1e-6)


def test_collision_probability_values():
    assert kernels.collision_probability(0.5, 4) == pytest.approx(0.4601, abs=5e-5)
    assert kernels.collision_probability(0.9, 8) == pytest.approx(0.6685, abs=5e-5)
    for q in (2, 3, 4, 8, 64):
        np.testing.assert_allclose(kernels.collision_probability([0.0, 1.0, -1.0], q), [1 / q, 1.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(kernels.collision_probability([-1.0, 0.3], 1), 1.0)


def independent_collision(rho, q):
    """q E[Phi2^(q-1)] with another quadrature: Phi2 as an integral over a, Gauss-Legendre in all three variables."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    grid, weights = 8.5 * nodes, 8.5 * weights
    density = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    root = np.sqrt(1 - rho * rho)
    total = 0.0
    for s, weight in zip(grid, weights * density, strict=True):
        half = 0.5 * (s + 8.5)  # a runs from -8.5 to s
        a = -8.5 + half * (nodes + 1)
        inner = half * (weights / 8.5) * np.exp(-0.5 * a**2) / np.sqrt(2 * np.pi)
        both = ndtr(grid[:, None] + (s - a[None, :]) * rho / root) @ inner
        total += weight * ((weights * density) @ both ** (q - 1))
    return q * total


@pytest.mark.parametrize("q", [3, 4, 16, 64])
def test_collision_probability_is_accurate_to_1e_8(q):
    for rho in (-0.9, -0.3, 0.2, 0.7, 0.95):
        assert kernels.collision_probability(rho, q) == pytest.approx(independent_collision(rho, q), abs=1e-8)
    for theta in (1e-4, 1e-2, 0.1, 3.0, 3.14):  # near the ends the interpolant is checked against its own nodes' rule
        direct = collision_by_quadrature(theta, q)
        assert kernels.collision_probability(np.cos(theta), q) == pytest.approx(direct, abs=1e-8)


@pytest.mark.parametrize("q", [3, 4, 8, 32])
def test_hermite_coefficients(q):
    """kappa_q(rho) = a_0 + a_1 rho + a_2 rho^2 + ..., with the coefficients of the maxout paper's Lemma 1."""
    grid = np.linspace(-10, 12, 20_001)
    density = q * np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi) * ndtr(grid) ** (q - 1)
    h = [np.trapezoid(eval_hermitenorm(i, grid) / np.sqrt(factorial(i)) * density, grid) for i in range(3)]
    expected = [1 / q, h[1] ** 2 / (q - 1), q * h[2] ** 2 / ((q - 1) * (q - 2))]
    rho = np.linspace(-0.05, 0.05, 11)
    fitted = np.polynomial.polynomial.polyfit(rho, kernels.collision_probability(rho, q), 6)[:3]
    np.testing.assert_allclose(fitted, expected, rtol=1e-5)


def test_maxout_kernel_values():
    for rho, value in ((0.0, 1.0596), (0.5, 1.2339), (0.9, 1.4681), (-0.8, 0.9571)):
        x, z = np.array([[1.0, 0.0]]), np.array([[rho, np.sqrt(1 - rho * rho)]])
        assert kernels.Maxout(4, center=False)(x, z)[0, 0] == pytest.approx(value, abs=5e-5)
    for q in (1, 2, 4, 64):  # at rho = 1 it is E (max g)^2
        assert kernels.Maxout(q, center=False)([[2.0]])[0, 0] == pytest.approx(
            4 * kernels.maximum_moment(q, 2), rel=1e-9
        )


def test_closed_form_for_two_agrees_with_the_general_path():
    rho = np.linspace(-1, 1, 21)
    numeric = [integrate.quad(lambda t: collision_by_quadrature(np.arccos(t), 2), 0, r)[0] for r in rho[::5]]
    np.testing.assert_allclose(kernels.collision_integral(rho[::5], 2), numeric, atol=1e-8)


def test_zero_rows_have_zero_kernel():
    for kernel in (kernels.Maxout(), kernels.Gated(), kernels.ArcCosine(1)):
        assert kernel(np.zeros((1, 3)), X).tolist() == [[0.0] * 15]


def test_bad_arguments_get_a_sentence():
    with pytest.raises(ValueError, match="bandwidth must be a positive finite number; got -1"):
        kernels.Gaussian(-1.0)
    with pytest.raises(ValueError, match="columns"):
        kernels.Gaussian()(X, X[:, :2])
    with pytest.raises(ValueError, match="order must be 0, 1 or 2"):
        kernels.ArcCosine(3)


def test_ridge_series_and_quadrature_agree():
    """At |rho| just below and above the switch, for flat and steep activations; and large |x| is no burden."""
    from bochner.kernels.ridge import _expectation, _hermite_series

    for activation in (np.tanh, lambda t: 1 / (1 + np.exp(-np.clip(t, -500, 500)))):
        for a, c in ((0.5, 1.0), (3.0, 7.0), (50.0, 20.0)):
            for rho in (-0.95, 0.0, 0.6, 0.95):
                series = _hermite_series(activation, np.array([a]), np.array([c]), np.array([[rho]]))[0, 0]
                assert series == pytest.approx(_expectation(activation, a, c, rho, 0.125), abs=2e-6)
    far = np.array([[1000.0, 0.0], [0.0, 1000.0]])
    # A very steep sigmoid is a step, whose kernel is 1/2 - theta/(2 pi).
    np.testing.assert_allclose(kernels.Ridge("sigmoid")(far), [[0.5, 0.25], [0.25, 0.5]], atol=2e-3)
