"""What a loss is: a value and a gradient by scores, what else it can do, and what it declares of itself.

Scores f and targets y are (n, k). Labels are coded -1 and +1; with more than two classes every class has a score. A
model minimises the sum of losses over rows plus alpha |b|^2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

Numbers: TypeAlias = float | np.ndarray  # one number, or one for each output or row

# What a loss may declare, and how a message says that it does not.
CAPABILITIES = {
    "quadratic": "whose solution is not linear in the targets",
    "smooth": "which has kinks, and no curvature for Newton's method",
    "proximal": "which has no proximal map for the multipliers",
    "separable": "which couples the outputs of a row",
    "probabilistic": "whose scores are no log-odds",
    "bounded_slope": "whose slope has no bound, so that one step can undo all others",
}


@dataclass(frozen=True)
class Loss(ABC):
    """What all losses share: a value and a gradient, and what they declare of themselves.

    A loss is convex. What it declares tells which solvers can minimise it. This class is abstract.

    Attributes
    ----------
    quadratic : bool
        Whether it is (y - f)^2, whose minimum is the solution of linear equations.
    smooth : bool
        Whether the gradient is continuous, and `curvature` its derivative, as Newton's method needs it.
    proximal : bool
        Whether `prox` is its proximal map, by which losses with kinks are minimised.
    separable : bool
        Whether it is a sum over the outputs of a row.
    probabilistic : bool
        Whether scores are log-odds, of which softmax makes probabilities.
    bounded_slope : bool
        Whether the gradient grows no faster than the scores.
    learns_scale : bool
        Whether it has a scale that is learned together with the scores; not every solver does that.
    degree : int or None
        Degree of homogeneity: residuals times s, and whatever the loss measures them by, make it s^degree as large.
        None if it has none: then targets are left in their own units.
    classifies : bool
        Whether it takes labels.

    Examples
    --------
    >>> from bochner.losses import Hinge, Loss
    >>> isinstance(Hinge(), Loss), Hinge().at_zero()
    (True, 1.0)
    >>> sorted(Hinge().capabilities)
    ['bounded_slope', 'proximal', 'separable']
    """

    quadratic = False
    smooth = False
    proximal = False
    separable = False
    probabilistic = False
    bounded_slope = False
    learns_scale = False
    degree: ClassVar[int | None] = 1
    classifies = True

    @property
    def capabilities(self) -> frozenset[str]:
        """Names of what it declares, such as "smooth"."""
        return frozenset(name for name in CAPABILITIES if getattr(self, name))

    @abstractmethod
    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compute the loss of each row.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """

    @abstractmethod
    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compute the gradient by the scores; of a loss with a kink, some subgradient.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The gradient.
        """

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compute second derivatives by each score; zero where there is none.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The second derivatives.
        """
        return np.zeros_like(f)

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Compute the second derivative times a change of the scores.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.
        v : ndarray of shape (n_samples, n_outputs)
            The change.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The product.
        """
        return self.curvature(f, y) * v

    def prox(self, f: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """Compute the proximal map: argmin over t of step loss(t) + (t - f)^2 / 2.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.
        step : float or ndarray
            Weight of the loss.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The minimum t.
        """
        raise NotImplementedError(f"{type(self).__name__} has no proximal map.")

    def prox_derivative(self, f: np.ndarray, t: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """Compute the derivative of `prox` by each score; by differences, unless a loss knows it.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        t : ndarray of shape (n_samples, n_outputs)
            What `prox` returned for these scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.
        step : float or ndarray
            Weight of the loss.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The derivatives.
        """
        h = 1e-6 * np.maximum(np.abs(f), 1.0)
        return (self.prox(f + h, y, step) - self.prox(f - h, y, step)) / (2.0 * h)

    def in_units(self, spread: np.ndarray, unit: np.ndarray) -> Loss:
        """Return the loss that serves targets in other units; most losses serve as they are.

        Parameters
        ----------
        spread : ndarray of shape (n_outputs,)
            Spread of the targets in their own units.
        unit : ndarray of shape (n_outputs,)
            What targets are divided by.

        Returns
        -------
        Loss
            The loss.
        """
        return self

    def told_in(self, unit: np.ndarray) -> str:
        """Return what the status of a solution says of the loss, in the units of the targets.

        Parameters
        ----------
        unit : ndarray of shape (n_outputs,)
            What targets were divided by.

        Returns
        -------
        str
            The words; none for most losses.
        """
        return ""

    def lipschitz(self, bound: float) -> float:
        """Return how steep the loss of a label is in one score; with k scores, up to sqrt(k) times that.

        Parameters
        ----------
        bound : float
            Largest size of a score.

        Returns
        -------
        float
            The Lipschitz constant.

        Raises
        ------
        ValueError
            If a loss does not say how steep it is.
        """
        raise ValueError(f"it is not known how steep {type(self).__name__} is: give the Lipschitz constant.")

    def at_zero(self) -> float:
        """Return the loss of a score 0 with a label 1.

        Returns
        -------
        float
            The loss.
        """
        return float(self.value(np.zeros((1, 1)), np.ones((1, 1)))[0])


class Kinked(Loss):
    """A loss of slopes between -1 and 1 that change at kinks alone."""

    proximal = True
    separable = True
    bounded_slope = True

    def prox_derivative(self, f: np.ndarray, t: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        """Compute the derivative of `prox`: 0 for what is drawn to a kink, 1 on the straight parts.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        t : ndarray of shape (n_samples, n_outputs)
            What `prox` returned for these scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.
        step : float or ndarray
            Weight of the loss.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The derivatives.
        """
        moved = np.abs(f - t)
        return np.where((moved > 0) & (moved < step * (1 - 1e-12)), 0.0, 1.0)
