"""A complete solver, as a user would write it: gradient descent on the sum of losses, through the rows in blocks."""

from dataclasses import dataclass

import numpy as np

from bochner.blocks import SumOf
from bochner.solvers import Solution


@dataclass(frozen=True)
class SlopesOf(SumOf):
    """The gradient of the sum of losses at coefficients x, whose last row is the intercept; it pickles."""

    map: object
    loss: object
    x: np.ndarray

    @property
    def width(self):
        return 3 * self.map.columns

    def of(self, block):
        features = np.column_stack([self.map(block.X) * self.map.scale, np.ones(len(block.X))])
        slope = self.loss.gradient(features @ self.x, block.y.astype(np.float64))
        return features.T @ (slope if block.weight is None else slope * block.weight[:, None])


class GradientDescent:
    """Steps of a length that halves whenever the gradient grows. It needs no more of a loss than its gradient."""

    def __init__(self, steps=200):
        self.steps = steps

    def solve(self, problem):
        x = np.zeros((problem.columns + 1, problem.outputs))
        rate, size, before = 1.0 / problem.blocks.n_rows, np.inf, x
        for _ in range(self.steps):
            gradient = problem.blocks.reduce(SlopesOf(problem.map, problem.loss, x))
            gradient[:-1] += 2.0 * problem.alpha * x[:-1]
            gradient[-1] *= problem.intercept
            if np.linalg.norm(gradient) > size:
                rate, x = rate / 2.0, before
                continue
            before, size, x = x, np.linalg.norm(gradient), x - rate * gradient
        return Solution(
            x[:-1], "gradient descent", problem.alpha, f"{self.steps} steps", float(size), self.steps, intercept=x[-1]
        )


class NewtonOfMine(GradientDescent):
    """The same, but it declares what it needs."""

    needs = frozenset({"smooth"})
