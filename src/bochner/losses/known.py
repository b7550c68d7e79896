"""The losses that bochner has. Values do not overflow where the loss itself does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit, softmax

from ..arrays import Same, cast, dtype_name, is_torch, namespace, special
from ..validation import require_choice, require_positive
from .base import Kinked, Loss, Numbers
from .foreign import ForeignLoss, LossLike, is_loss_like


@dataclass(frozen=True)
class Squared(Loss):
    """Squared error, (y - f)^2: the loss of least squares, for numbers and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Squared
    >>> Squared().value(np.array([[1.0]]), np.array([[3.0]]))
    array([4.])
    """

    quadratic = True
    smooth = True
    separable = True
    bounded_slope = True
    degree = 2

    def value(self, f: Same, y: Same) -> Same:
        return ((y - f) ** 2).sum(axis=1)

    def gradient(self, f: Same, y: Same) -> Same:
        return 2.0 * (f - y)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.full_like(f, 2.0)

    def lipschitz(self, bound: float) -> float:
        return 2.0 * (1.0 + bound)


@dataclass(frozen=True)
class Hinge(Kinked):
    """The hinge loss of support vector machines, max(0, 1 - y f), for each class against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Hinge
    >>> Hinge().value(np.array([[0.5], [2.0]]), np.ones((2, 1)))
    array([0.5, 0. ])
    """

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(1.0 - y * f, 0.0), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * f < 1.0, -y, 0).astype(f.dtype)

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
        margin = y * f
        return y * np.where(margin < 1.0, np.minimum(margin + step, 1.0), margin)

    def lipschitz(self, bound: float) -> float:
        return 1.0


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The squared hinge loss, max(0, 1 - y f)^2, for each class against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([[0.5], [2.0]]), np.ones((2, 1)))
    array([0.25, 0.  ])
    """

    smooth = True
    separable = True
    bounded_slope = True

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(1.0 - y * f, 0.0) ** 2, axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -2.0 * y * np.maximum(1.0 - y * f, 0.0)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2.0 * (y * f < 1.0).astype(f.dtype)

    def lipschitz(self, bound: float) -> float:
        return 2.0 * (1.0 + bound)


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss, log(1 + exp(-y f)); for more than two classes -log softmax(f) at the right one.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Logistic
    >>> Logistic().value(np.zeros((1, 1)), np.ones((1, 1))).round(4)
    array([0.6931])
    """

    smooth = True
    probabilistic = True
    bounded_slope = True

    def value(self, f: Same, y: Same) -> Same:
        xp = namespace(f)
        if f.shape[1] == 1:
            margin = (y * f)[:, 0]
            return xp.logaddexp(0.0 * margin, -margin) if is_torch(margin) else -log_expit(margin)
        return log_sum_exp(f) - xp.where(y > 0, f, 0.0).sum(axis=1)

    def gradient(self, f: Same, y: Same) -> Same:
        if f.shape[1] == 1:
            return -y * special(f).expit(-y * f)
        return special(f).softmax(f, 1) - cast(y > 0, dtype_name(f))

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = expit(f) if f.shape[1] == 1 else softmax(f, axis=1)
        return p * (1.0 - p)

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        if f.shape[1] == 1:
            return self.curvature(f, y) * v
        p = softmax(f, axis=1)
        return p * (v - np.sum(p * v, axis=1, keepdims=True))

    def lipschitz(self, bound: float) -> float:
        """Return how steep the loss of two classes is in a score; softmax is never steeper than 1.

        Parameters
        ----------
        bound : float
            Largest size of a score.

        Returns
        -------
        float
            The Lipschitz constant.
        """
        return float(expit(bound))


@dataclass(frozen=True)
class Exponential(Loss):
    """The exponential loss of boosting, exp(-y f), for each class against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Exponential
    >>> Exponential().value(np.zeros((1, 1)), np.ones((1, 1)))
    array([1.])
    """

    smooth = True
    separable = True

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # an infinite loss is one that no step is taken to
            return np.sum(np.exp(-y * f), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return -y * np.exp(-y * f)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(-y * f)

    def lipschitz(self, bound: float) -> float:
        return float(np.exp(bound))


@dataclass(frozen=True)
class Huber(Loss):
    """The Huber loss: squared for small errors, linear for large ones, so that outliers count for less.

        scale + scale H((f - y) / scale),   H(r) = r^2 up to |r| = epsilon, and a line beyond,

    as in scikit-learn's HuberRegressor. The loss is convex in the scale too, which a fit learns.

    Parameters
    ----------
    epsilon : float, default=1.35
        Where the line begins, in scales; greater than 1.
    scale : float or ndarray of shape (n_outputs,), default=1.0
        Size of usual errors; a fit replaces it.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import Huber
    >>> Huber().value(np.array([[1.0], [10.0]]), np.zeros((2, 1)))
    array([ 2.    , 26.1775])
    """

    epsilon: float = 1.35
    scale: Numbers = 1.0
    classifies = False
    smooth = True
    separable = True
    bounded_slope = True
    learns_scale = True

    def __post_init__(self) -> None:
        if not require_positive("epsilon", self.epsilon) > 1.0:
            raise ValueError(f"epsilon must be greater than 1; got {self.epsilon!r}.")

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        r, e = np.abs(f - y) / self.scale, self.epsilon
        return np.sum(self.scale * (1.0 + np.where(r < e, r**2, 2.0 * e * r - e**2)), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2.0 * np.clip((f - y) / self.scale, -self.epsilon, self.epsilon)

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(f - y) < self.epsilon * self.scale, 2.0 / self.scale, 0.0)

    def best_scale(self, residuals: np.ndarray, weight: np.ndarray, least: Numbers = 0.0) -> np.ndarray:
        """Find the scale of smallest loss: that with sum of w min(r / s, epsilon)^2 = sum of w.

        Of sorted residuals it is known how many are near at it; then s^2 = near squares / (total - epsilon^2 far).

        Parameters
        ----------
        residuals : ndarray of shape (n_samples, n_outputs)
            Errors.
        weight : ndarray of shape (n_samples,)
            Weights of the rows.
        least : float or ndarray of shape (n_outputs,), default=0.0
            Smallest scale.

        Returns
        -------
        ndarray of shape (n_outputs,)
            The scales.
        """
        order = np.argsort(np.abs(residuals), axis=0)
        r = np.take_along_axis(np.abs(residuals), order, axis=0)
        near = np.cumsum(weight[order], axis=0)
        squares = np.cumsum(weight[order] * r**2, axis=0)
        left = near[-1] - self.epsilon**2 * (near[-1] - near)
        inside = left * r**2 >= self.epsilon**2 * squares  # where s = r / epsilon is too large
        first = np.where(inside.any(axis=0), np.argmax(inside, axis=0), len(r)) - 1
        at = np.maximum(first, 0)[None]
        left, squares = (np.take_along_axis(sums, at, axis=0)[0] for sums in (left, squares))
        known = (first >= 0) & (left > 0)
        return np.maximum(np.sqrt(np.divide(squares, left, out=np.zeros_like(left), where=known)), least)

    def mixed(self, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute second derivatives by score and scale, and twice by the scale.

        Parameters
        ----------
        f : ndarray of shape (n_samples, n_outputs)
            Scores.
        y : ndarray of shape (n_samples, n_outputs)
            Targets; labels are coded -1 and +1.

        Returns
        -------
        tuple of two ndarray of shape (n_samples, n_outputs)
            The derivatives.
        """
        r = (f - y) / self.scale
        r = np.where(np.abs(r) < self.epsilon, r, 0.0)
        return -2.0 * r / self.scale, 2.0 * r**2 / self.scale

    def lipschitz(self, bound: float) -> float:
        return 2.0 * self.epsilon


@dataclass(frozen=True)
class EpsilonInsensitive(Kinked):
    """The loss of support vector regression, max(0, |f - y| - epsilon): errors up to epsilon cost nothing.

    Parameters
    ----------
    epsilon : float or array-like of shape (n_outputs,), default=0.1
        Width of the tube, in the units of y.
    in_spreads : bool, default=False
        Whether epsilon is in robust standard deviations of y (1.48 times the median distance from the median), as where
        the loss is given by its name.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([[0.25], [2.0]]), np.zeros((2, 1)))
    array([0. , 1.5])
    """

    epsilon: Numbers = 0.1
    in_spreads: bool = False
    classifies = False

    def __post_init__(self) -> None:
        for epsilon in np.ravel(self.epsilon).tolist():
            if epsilon != 0:
                require_positive("epsilon", epsilon)

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sum(np.maximum(np.abs(f - y) - self.epsilon, 0.0), axis=1)

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

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
        beyond = np.maximum(np.abs(f - y) - self.epsilon, 0.0)
        return f - np.sign(f - y) * np.minimum(beyond, step)

    def in_units(self, spread: np.ndarray, unit: np.ndarray) -> EpsilonInsensitive:
        in_y = self.epsilon * spread if self.in_spreads else self.epsilon
        return replace(self, epsilon=in_y / unit, in_spreads=False)

    def told_in(self, unit: np.ndarray) -> str:
        return "epsilon " + ", ".join(f"{number:.4g}" for number in np.ravel(self.epsilon * unit))

    def lipschitz(self, bound: float) -> float:
        return 1.0


CLASSIFYING: dict[str, Loss] = {
    "squared": Squared(), "hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic(),
    "exponential": Exponential(),
}  # fmt: skip
REGRESSING: dict[str, Loss] = {
    "squared": Squared(), "huber": Huber(), "epsilon_insensitive": EpsilonInsensitive(in_spreads=True),
}  # fmt: skip
LOSSES = {**CLASSIFYING, **REGRESSING}
KINDS = {type(loss) for loss in LOSSES.values()}


def log_sum_exp(f: Same) -> Same:
    """log of the sum of exponentials of each row; of few rows much quicker than scipy's."""
    xp = namespace(f)
    top = xp.amax(f, axis=1)
    return top + xp.log(xp.exp(f - top[:, None]).sum(axis=1))


def name_of(loss: Loss) -> str:
    """Return the name of a loss, as models take it; of a user's own, the name of its class."""
    known = next((name for name, known in LOSSES.items() if type(known) is type(loss)), None)
    return known or type(loss.given if isinstance(loss, ForeignLoss) else loss).__name__


def loss_of(given: str | Loss | LossLike, among: Iterable[str]) -> Loss:
    """A loss from its name, or as it is, or from any object with `value` and `gradient`.

    One of bochner's own that does not belong there is refused.
    """
    among = list(among)
    name = name_of(given) if isinstance(given, Loss) and type(given) in KINDS else given
    if isinstance(name, str) and name in LOSSES and name not in among:
        kind = "labels: use a classifier" if name in CLASSIFYING else "numbers: use a regressor"
        raise ValueError(f"loss={name!r} is for {kind}, or one of {', '.join(map(repr, among))}.")
    if isinstance(given, Loss):
        return given
    if isinstance(given, str):
        return LOSSES[require_choice("loss", given, among)]
    if not is_loss_like(given):
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, among))}, or an object with the methods value(f, y) and "
            f"gradient(f, y); got {given!r}."
        )
    return ForeignLoss(given)
