"""The average gradient outer product from sums, beside its definition: gradients of rows, one by one."""

import numpy as np
import pytest

from bochner import RandomFeatureRegressor, RandomFourier, kernels
from bochner.maps.fourier import FourierMap
from bochner.models.metric_learning import average_gradient_outer_product
from bochner.moments import Moments


def waves(m, d, seed, kernel=None):
    kernel = kernels.Gaussian(1.5) if kernel is None else kernel
    return FourierMap(columns=m, inputs=d, seed=seed, kernel=kernel, precision=None)


def example(outputs=2, rows=200, d=4, m=40, seed=0):
    rng = np.random.default_rng(seed)
    X, feature_map = rng.normal(size=(rows, d)), waves(m, d, seed)
    coefficients, linear = rng.normal(size=(d + m, outputs)), rng.normal(size=(d, outputs))
    return X, feature_map, np.vstack([linear, coefficients[d:]]), linear


def sums_of(feature_map, X, weight=None):
    return Moments.of(np.hstack([X, feature_map(X)]), np.zeros((len(X), 1)), weight)


def definition(f, X, step):
    """From the gradients of all rows, by symmetric differences of a step in each coordinate."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for x in X:
        differences = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))]
        gradient = np.stack(differences)  # (d, outputs)
        total += gradient @ gradient.T
    return total / len(X)


@pytest.mark.parametrize("kernel", [kernels.Gaussian(1.5), kernels.Laplacian(2.0), kernels.Stable(1.5, 0.7, 2.0)])
@pytest.mark.parametrize("step", [0.5, 0.01])
def test_from_sums_it_is_that_of_differences(kernel, step):
    X, _, coefficients, linear = example()
    feature_map = waves(40, 4, 3, kernel)

    def f(x):
        return np.concatenate([x, feature_map(x[None])[0]]) @ coefficients

    found = average_gradient_outer_product(
        sums_of(feature_map, X), coefficients, feature_map.directions(0, 20) / kernel.scale, linear, step
    )
    np.testing.assert_allclose(found, definition(f, X, step), rtol=1e-8, atol=1e-10 * np.abs(found).max())


@pytest.mark.torch
@pytest.mark.parametrize("weighted", [False, True])
def test_from_sums_it_is_that_of_automatic_differentiation(weighted):
    """In float64 to 1e-10; after rows were merged and forgotten too."""
    import torch

    X, feature_map, coefficients, linear = example(rows=300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300) if weighted else None
    frequencies = feature_map.directions(0, 20) / feature_map.bandwidth
    W, b = torch.tensor(frequencies), torch.tensor(coefficients)
    rows = torch.tensor(X[:200], requires_grad=True)
    angles = rows @ W.T
    height = float(np.sqrt(2.0 / 40))
    features = torch.stack([torch.cos(angles), torch.sin(angles)], dim=2).reshape(200, 40) * height
    scores = torch.cat([rows, features], dim=1) @ b
    expected, count = torch.zeros(4, 4, dtype=torch.float64), np.ones(200) if weight is None else weight[:200]
    for k in range(scores.shape[1]):
        (gradient,) = torch.autograd.grad(scores[:, k].sum(), rows, retain_graph=True)
        expected += gradient.T @ (gradient * torch.tensor(count)[:, None]) / count.sum()

    def some(part):
        return sums_of(feature_map, X[part], None if weight is None else weight[part])

    once = some(slice(0, 200))
    merged = some(slice(0, 90)) + some(slice(90, 300)) - some(slice(200, 300))
    for sums in (once, merged):
        found = average_gradient_outer_product(sums, coefficients, frequencies, linear)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-10, atol=1e-10 * float(expected.abs().max()))


def test_the_columns_that_matter_are_found():
    """Two terms of Friedman's function: three columns of fifty matter."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 50))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + rng.normal(size=2000)
    model = RandomFeatureRegressor(RandomFourier(1000), scale="standard", linear=False, random_state=0).fit(X, y)
    fitted = model.design_.map.map
    found = average_gradient_outer_product(
        model.sums_.total(),
        model.coef_[:, None] if model.coef_.ndim == 1 else model.coef_.T,
        fitted.directions(0, 500) / fitted.bandwidth,
        np.zeros((50, 1)),
    )
    assert set(np.argsort(np.diag(found))[-3:]) == {0, 1, 2}
