"""The entropy of a marginal of rotated Gaussians from samples, and an exact kernel ridge on mean embeddings for it.

Bag b holds points of N(0, R S R'), R a rotation by an angle of its own; its target is the entropy of the first
coordinate, log(2 pi e v)/2 with v = (R S R')_11.
"""

import numpy as np

SHAPE = np.array([[1.0, 0.0], [0.0, 0.15]])  # S: standard deviations of 1 and 0.39


def rotated_gaussians(bags, points, seed):
    """(bags, points, 2) and the entropies, as if drawn bag by bag."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, np.pi, bags)
    cos, sin = np.cos(angle), np.sin(angle)
    rotation = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    factor = rotation @ np.sqrt(SHAPE)
    X = rng.standard_normal((bags, points, 2)) @ factor.transpose(0, 2, 1)
    return X, 0.5 * np.log(2 * np.pi * np.e * np.sum(factor[:, 0] ** 2, axis=1))


def embedding_products(X, Z, bandwidth):
    """<mu_i, mu_j> = mean of exp(-|x - z|^2/(2 s^2)) over points x of bag i and z of bag j; every pair of points.

    The exponent <x, z> - |x|^2/2 - |z|^2/2 (in units of s) is one product of vectors with two more coordinates.
    """
    left, right = ((bags / bandwidth).astype(np.float32) for bags in (X, Z))
    left, right = (
        np.concatenate([a, 0 * a[..., :1] + 1, -0.5 * (a**2).sum(-1, keepdims=True)], -1) for a in (left, right)
    )
    right = right[..., [*range(X.shape[2]), -1, -2]]
    out, some = np.empty((len(X), len(Z))), max(1, 4096 // Z.shape[1])
    for i, points in enumerate(left):
        for j in range(0, len(Z), some):
            kernel = points @ right[j : j + some].reshape(-1, right.shape[2]).T
            np.exp(kernel, out=kernel)
            out[i, j : j + some] = kernel.mean(axis=0, dtype=np.float64).reshape(-1, Z.shape[1]).mean(axis=1)
    return out


class ExactEmbeddingRidge:
    """Kernel ridge with a Gaussian kernel of the exact distances between mean embeddings.

    Bandwidths are medians of distances, as ours; the penalty has the least exact leave-one-out error of a fine grid.
    """

    def fit(self, X, y):
        sample = X.reshape(-1, X.shape[2])[:: max(1, X.shape[0] * X.shape[1] // 1000)]
        self.bandwidth = np.median(distances(sample @ sample.T)[np.triu_indices(len(sample), 1)])
        self.X, products = X, embedding_products(X, X, self.bandwidth)
        self.norms, apart = np.diagonal(products), distances(products)
        self.second_bandwidth = np.median(apart[np.triu_indices(len(X), 1)])
        values, vectors = np.linalg.eigh(np.exp(-(apart**2) / (2 * self.second_bandwidth**2)))
        self.mean = y.mean()
        rotated, self.error = vectors.T @ (y - self.mean), np.inf
        for alpha in 10.0 ** np.arange(-8, 2.01, 0.25):
            shrink = 1 / (values + alpha)
            dual = vectors @ (shrink * rotated)
            error = np.mean((dual / (vectors**2 @ shrink)) ** 2)
            if error < self.error:
                self.error, self.alpha, self.dual = error, alpha, dual
        return self

    def predict(self, Z):
        products, own = embedding_products(Z, self.X, self.bandwidth), []
        for points in Z:
            own.append(embedding_products(points[None], points[None], self.bandwidth)[0, 0])
        squares = np.array(own)[:, None] + self.norms - 2 * products
        return self.mean + np.exp(-squares / (2 * self.second_bandwidth**2)) @ self.dual


def distances(products):
    norms = np.diagonal(products)
    return np.sqrt(np.maximum(norms[:, None] + norms - 2 * products, 0.0))


def rmse(prediction, y):
    return float(np.sqrt(np.mean((prediction - y) ** 2)))
