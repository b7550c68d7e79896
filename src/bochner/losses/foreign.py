"""A loss that bochner does not have: any object with `value` and `gradient`, and what else it has.

`curvature` makes it smooth, `prox` proximal; with `hessian_product` it may couple the outputs of a row. What else it
can do it declares by attributes of the names that `Loss` has: `separable`, `probabilistic`, `bounded_slope`, `degree`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .base import CAPABILITIES, Loss, Numbers

EXAMPLES = np.array([[-0.5], [0.3]]), np.array([[1.0], [-1.0]])  # scores and targets to try a loss with
WANTED = {"smooth": "curvature", "proximal": "prox"}


class LossLike(Protocol):
    """What an object must have to be a loss; `curvature` and `prox` as `Loss` has them are welcome."""

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row (n,), for scores and targets (n, k)."""

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Its derivative by each score (n, k)."""


def is_loss_like(given: object) -> bool:
    return not isinstance(given, type) and all(callable(getattr(given, name, None)) for name in ("value", "gradient"))


@dataclass(frozen=True)
class ForeignLoss(Loss):
    """A loss that was given as an object, with what it declares or what its methods tell."""

    given: LossLike

    degree = None

    def __post_init__(self) -> None:
        has = {name: callable(getattr(self.given, name, None)) for name in ("curvature", "prox", "hessian_product")}
        inferred = {"smooth": has["curvature"], "proximal": has["prox"], "separable": not has["hessian_product"]}
        declared = {name: bool(getattr(self.given, name, inferred.get(name, False))) for name in CAPABILITIES}
        for name, value in {**declared, "degree": getattr(self.given, "degree", None)}.items():
            object.__setattr__(self, name, value)
        for name, method in WANTED.items():
            if declared[name] and not has[method]:
                raise ValueError(f"the loss {self.given!r} declares that it is {name}, but has no method {method}.")
        self._try()

    def _try(self) -> None:
        """Refuse what does not give one value for each row and one slope for each score."""
        f, y = EXAMPLES
        shapes = {"value": (2,), "gradient": (2, 1)} | {
            method: (2, 1) for name, method in WANTED.items() if getattr(self, name)
        }
        for method, shape in shapes.items():
            more = (1.0,) if method == "prox" else ()
            try:
                found = np.shape(getattr(self.given, method)(f, y, *more))
            except Exception as error:
                raise ValueError(f"{method} of the loss {self.given!r} fails: {error}") from error
            if found != shape:
                raise ValueError(
                    f"{method} of the loss {self.given!r} must give an array of shape {shape} for scores and targets "
                    f"of shape (2, 1); it gave {found}."
                )
        if self.quadratic and not np.allclose(self.value(f, y), np.sum((y - f) ** 2, axis=1)):
            raise ValueError(f"the loss {self.given!r} declares that it is quadratic, but it is not (y - f)^2.")

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.value(f, y))

    def gradient(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.gradient(f, y))

    def curvature(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.curvature(f, y)) if self.smooth else np.zeros_like(f)  # type: ignore[attr-defined]

    def hessian_product(self, f: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        own = getattr(self.given, "hessian_product", None)
        return self.curvature(f, y) * v if own is None else np.asarray(own(f, y, v))

    def prox(self, f: np.ndarray, y: np.ndarray, step: Numbers) -> np.ndarray:
        return np.asarray(self.given.prox(f, y, step))  # type: ignore[attr-defined]
