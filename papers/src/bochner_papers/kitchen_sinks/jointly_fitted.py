"""The baseline that kitchen sinks do without: coefficients and the features' own parameters fitted together.

Equation 2 of the weighted-sums paper, sum_k a_k phi(<w_k, x> + b_k), with all of (a, w, b) found by conjugate gradients
on the squared loss; phi is a cosine or a sigmoid. It starts from the random features that kitchen sinks would keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

ACTIVATIONS = {
    "cosine": (np.cos, lambda t: -np.sin(t)),
    "sigmoid": (expit, lambda t: expit(t) * expit(-t)),
}


class JointlyFitted(ClassifierMixin, BaseEstimator):
    """Two classes by the sign of sum_k a_k phi(<w_k, x> + b_k); `fitted_loss_` is what was reached.

    alpha : ridge on the coefficients a, with the sum of squared errors. iterations : of conjugate gradients, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner_papers.kitchen_sinks.jointly_fitted import JointlyFitted
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    >>> bool(JointlyFitted(10).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_components: int = 20,
        *,
        activation: str = "cosine",
        scale: float = 1.0,
        alpha: float = 1e-3,
        iterations: int = 200,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.scale = scale
        self.alpha = alpha
        self.iterations = iterations
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> JointlyFitted:
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"JointlyFitted tells two classes apart; y has {len(self.classes_)}.")
        targets = np.where(y == self.classes_[1], 1.0, -1.0)
        start = np.concatenate([np.zeros(self.n_components), self.random_parameters(X.shape[1]).ravel()])
        start[: self.n_components] = self.best_coefficients(start, X, targets)
        found = minimize(
            self.loss, start, args=(X, targets), jac=True, method="CG", options={"maxiter": self.iterations}
        )
        self.parameters_, self.fitted_loss_, self.iterations_ = found.x, float(found.fun), int(found.nit)
        return self

    def random_parameters(self, columns: int) -> np.ndarray:
        """w_k and b_k, (components, columns + 1), as kitchen sinks draw them."""
        generator = np.random.default_rng(self.random_state)
        drawn = self.scale * generator.standard_normal((self.n_components, columns))
        return np.column_stack([drawn, generator.uniform(-np.pi, np.pi, self.n_components)])

    def best_coefficients(self, parameters: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Ridge on the features at hand: what kitchen sinks stop at."""
        _, features, _ = self.features(parameters, X)
        gram = features.T @ features + self.alpha * np.eye(self.n_components)
        return np.linalg.solve(gram, features.T @ y)

    def features(self, parameters: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a (K,), phi (n, K) and phi' (n, K)."""
        function, derivative = ACTIVATIONS[self.activation]
        a, rest = parameters[: self.n_components], parameters[self.n_components :].reshape(self.n_components, -1)
        inner = X @ rest[:, :-1].T + rest[:, -1]
        return a, function(inner), derivative(inner)

    def loss(self, parameters: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of sum (y - f)^2 + alpha |a|^2."""
        a, phi, slope = self.features(parameters, X)
        residual = phi @ a - y
        inner = 2.0 * (residual[:, None] * slope) * a
        by_a = 2.0 * (phi.T @ residual + self.alpha * a)
        by_w = np.column_stack([inner.T @ X, inner.sum(axis=0)])
        return float(residual @ residual + self.alpha * a @ a), np.concatenate([by_a, by_w.ravel()])

    def decision_function(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        a, phi, _ = self.features(self.parameters_, validate_data(self, X, reset=False, dtype=np.float64))
        return phi @ a

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
