"""Variable projection (Golub and Pereyra, 1973): the output layer is solved exactly, frequencies see what is left.

F(theta) = min over beta of T(theta, beta) has the gradient of T by theta at that minimum, for there the one by beta is
zero.

For the squared loss the minimum is a ridge regression. For the other convex losses it is found by L-BFGS in coordinates
in which c [Z 1]'V[Z 1] + 2 alpha I, a bound on the second derivative, is the identity (c = 1/4 for two classes, 1/2 for
more: Bohning, 1992). One factorisation serves all classes, where Newton would need one of k m columns a step, and a
start from the last solution leaves some ten passes over the features.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from .objective import Objective, Output
from .sums import CurvatureOf

SMALLEST = 1e-10  # penalty of the factorisation; rows of features have length 1, so this is rounding whatever the data
TOLERANCE = 1e-7
PASSES = 500


def solve_output(
    objective: Objective, parameters: np.ndarray, start: Output | None = None, tolerance: float = TOLERANCE
) -> Output:
    """The output layer that minimises T for frequencies as they are; the loss must be convex."""
    outputs = objective.targets.shape[1]
    start = Output(np.zeros((objective.n_columns, outputs)), np.zeros(outputs)) if start is None else start
    root = curvature_root(objective, parameters)
    inverse = solve_triangular(root, np.eye(len(root)))

    def packed(output: Output) -> np.ndarray:
        return np.vstack(output) if objective.fit_intercept else output.coefficients

    def unpacked(whitened: np.ndarray) -> Output:
        table = inverse @ whitened.reshape(-1, outputs)
        return Output(table[: objective.n_columns], table[-1] if objective.fit_intercept else start.intercept)

    def function(whitened: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = objective.by_output(parameters, unpacked(whitened))
        return value, (inverse.T @ packed(slopes)).ravel()

    whitened = (root @ packed(start)).ravel()
    if objective.loss.quadratic:  # the bound is exact, so that one step is the solution, and a second mends rounding
        for _ in range(2):
            whitened = whitened - function(whitened)[1]
        return unpacked(whitened)
    settings = {"maxiter": PASSES, "gtol": tolerance, "ftol": 0.0, "maxcor": 20}
    return unpacked(minimize(function, whitened, jac=True, method="L-BFGS-B", options=settings).x)


def curvature_root(objective: Objective, parameters: np.ndarray) -> np.ndarray:
    """R with R'R = c [Z 1]'V[Z 1] + 2 alpha I, the ones without penalty, or without the ones."""
    size, curvature = objective.n_columns, objective.loss.curvature
    assert curvature is not None
    bound = objective.summed(CurvatureOf(objective.waves(parameters), curvature))
    bound[np.arange(size), np.arange(size)] += 2.0 * max(objective.alpha, SMALLEST)
    return cholesky(bound if objective.fit_intercept else bound[:size, :size])


class Reduced:
    """F of the parameters of the frequencies; the output layer of one call is the start of the next."""

    def __init__(self, objective: Objective, output: Output | None = None, tolerance: float = TOLERANCE) -> None:
        self.objective, self.output, self.tolerance = objective, output, tolerance

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, Output]:
        self.output = solve_output(self.objective, parameters, self.output, self.tolerance)
        return parameters, self.output

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = self.objective(*self.split(parameters))
        return value, slope
