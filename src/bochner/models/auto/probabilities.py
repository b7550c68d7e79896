"""Probabilities from scores f_k that estimate codes +1 and -1, so that (1 + f_k)/2 estimates a probability itself:

    p_k = g_k^t / sum_j g_j^t,        g = w log(1 + exp((1 + f)/(2 w)))

g is (1 + f)/2 but for scores near or below -1, where it falls to 0 and never passes it. The width w and the power t are
those that make the labels of rows left out likeliest. With w and t large this is the softmax of t f/(4 w log 2); none
changes which class wins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

STARTS = ((0.02, 1.0), (0.3, 2.0), (3.0, 20.0))  # width and power: of nearly linear shares to nearly a softmax
ENTRIES, ROWS = 50_000, 1000  # scores that are enough to learn by, in this many rows or more
NARROWEST, WIDEST, HIGHEST = 1e-3, 1e2, 1e4


class Sharpness(NamedTuple):
    """The width and the power."""

    width: float
    power: float

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Log-probabilities but for a constant of each row, from scores (n,) of two classes or (n, k) of more."""
        f = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
        z = (1.0 + f) / (2.0 * self.width)
        # log log(1 + e^z), which is z for z far below 0, where the inner logarithm has no digits left
        with np.errstate(divide="ignore", under="ignore"):
            return self.power * np.where(z < -30.0, z, np.log(np.logaddexp(0.0, np.maximum(z, -30.0))))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """(n, classes)."""
        return softmax(self.logits(scores), axis=1)


def likeliest(scores: np.ndarray, labels: np.ndarray) -> Sharpness:
    """The sharpness for scores of rows left out and the numbers of their classes.

    One row in n + 2 is supposed to have any other label than it has, so that perfect scores do not make it infinite.
    """
    classes = 2 if scores.ndim == 1 else scores.shape[1]
    some = np.random.default_rng(0).permutation(len(scores))[: max(ROWS, ENTRIES // classes)]
    scores, labels = scores[some], labels[some]
    doubt = 1.0 / (len(scores) + 2.0)
    target = np.full((len(scores), classes), doubt / (classes - 1))
    target[np.arange(len(scores)), labels] = 1.0 - doubt

    def of(logarithms: np.ndarray) -> Sharpness:
        width, power = np.exp(logarithms)
        return Sharpness(float(np.clip(width, NARROWEST, WIDEST)), float(np.clip(power, 1e-4, HIGHEST)))

    def unlikelihood(logarithms: np.ndarray) -> float:
        return -float(np.mean(np.sum(target * log_softmax(of(logarithms).logits(scores), axis=1), axis=1)))

    options = {"xatol": 1e-3, "fatol": 1e-7, "maxiter": 100}
    tried = [minimize(unlikelihood, np.log(start), method="Nelder-Mead", options=options) for start in STARTS]
    return of(min(tried, key=lambda found: found.fun).x)
