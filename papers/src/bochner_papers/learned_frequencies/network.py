"""The paper's network as it is written, to compare ways down: equations 4 to 6, with a sigmoid output.

T = mean (y - S(z))^2 + lambda |beta|^2 + mu |Omega|^2,   z(x) = sqrt(1/m) sum_j (a_j cos w_j'x + b_j sin w_j'x).

Equation 14 of the appendix has one derivative for both halves; here the cosine has -sin and the sine has cos.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class FourierNetwork:
    """One vector holds it all: the cosines' coefficients (m,), the sines' (m,), then the frequencies (m, columns)."""

    frequencies: int
    columns: int
    alpha: float = 0.0  # lambda
    frequency_alpha: float = 0.0  # mu

    def random_start(self, generator: np.random.Generator) -> np.ndarray:
        """Standard Gaussian numbers everywhere."""
        return generator.standard_normal(self.frequencies * (2 + self.columns))

    def split(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m = self.frequencies
        return vector[:m], vector[m : 2 * m], vector[2 * m :].reshape(m, self.columns)

    def outputs(self, vector: np.ndarray, X: np.ndarray) -> np.ndarray:
        """S(z), the probability of the second class."""
        cosines, sines, omega = self.split(vector)
        angles = X @ omega.T
        return expit((np.cos(angles) @ cosines + np.sin(angles) @ sines) / np.sqrt(self.frequencies))

    def objective(self, vector: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        """T and its gradient, over rows X with labels 0 and 1; of one row, that of equation 9."""
        cosines, sines, omega = self.split(vector)
        angles = X @ omega.T
        cos, sin, height = np.cos(angles), np.sin(angles), self.frequencies**-0.5
        output = expit(height * (cos @ cosines + sin @ sines))
        residual = output - y
        by_score = (2.0 * height / len(y)) * residual * output * (1.0 - output)
        by_angle = by_score[:, None] * (cos * sines - sin * cosines)
        coefficients, penalty = vector[: 2 * self.frequencies], self.alpha
        gradient = np.concatenate([by_score @ cos, by_score @ sin, (by_angle.T @ X).ravel()])
        gradient[: 2 * self.frequencies] += 2.0 * penalty * coefficients
        gradient[2 * self.frequencies :] += 2.0 * self.frequency_alpha * omega.ravel()
        value = residual @ residual / len(y) + penalty * coefficients @ coefficients
        return float(value + self.frequency_alpha * np.vdot(omega, omega)), gradient

    def error(self, vector: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
        """Per cent of rows on the wrong side."""
        return 100 * float(np.mean((self.outputs(vector, X) > 0.5) != (y == 1)))
