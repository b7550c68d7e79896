"""Losses that bochner does not have, as a user would write them: any object with a value and a gradient."""

import numpy as np
from scipy.special import expit, softmax


class LogCosh:
    """log cosh(f - y): smooth, by its curvature."""

    bounded_slope = True

    def value(self, f, y):
        r = np.abs(f - y)
        return np.sum(r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0), axis=1)

    def gradient(self, f, y):
        return np.tanh(f - y)

    def curvature(self, f, y):
        return 1.0 - np.tanh(f - y) ** 2


class Pinball:
    """The loss whose minimum is a quantile: with a kink, by its proximal map."""

    bounded_slope = True
    degree = 1

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def value(self, f, y):
        return np.sum(np.maximum(self.quantile * (y - f), (self.quantile - 1.0) * (y - f)), axis=1)

    def gradient(self, f, y):
        return np.where(f < y, -self.quantile, np.where(f > y, 1.0 - self.quantile, 0.0))

    def prox(self, f, y, step):
        return np.where(f < y, np.minimum(f + step * self.quantile, y), np.maximum(f - step * (1.0 - self.quantile), y))


class SlopesAlone:
    """The absolute error, of which only steps on batches can be taken."""

    degree = 1

    def value(self, f, y):
        return np.sum(np.abs(f - y), axis=1)

    def gradient(self, f, y):
        return np.sign(f - y)


class OwnHinge:
    """The hinge again, as someone else wrote it."""

    bounded_slope = True

    def value(self, f, y):
        return np.sum(np.maximum(1.0 - y * f, 0.0), axis=1)

    def gradient(self, f, y):
        return np.where(y * f < 1.0, -y, 0.0)

    def prox(self, f, y, step):
        return y * np.where(y * f < 1.0, np.minimum(y * f + step, 1.0), y * f)


class OwnLogistic:
    """The logistic loss again: it couples the scores of a row, and its scores are log-odds."""

    probabilistic = True
    bounded_slope = True

    def value(self, f, y):
        if f.shape[1] == 1:
            return np.logaddexp(0.0, -y * f)[:, 0]
        return np.logaddexp.reduce(f, axis=1) - np.sum(np.where(y > 0, f, 0.0), axis=1)

    def gradient(self, f, y):
        return -y * expit(-y * f) if f.shape[1] == 1 else softmax(f, axis=1) - (y > 0)

    def curvature(self, f, y):
        p = expit(f) if f.shape[1] == 1 else softmax(f, axis=1)
        return p * (1.0 - p)

    def hessian_product(self, f, y, v):
        if f.shape[1] == 1:
            return self.curvature(f, y) * v
        p = softmax(f, axis=1)
        return p * (v - np.sum(p * v, axis=1, keepdims=True))


TOY_REGRESSING = {"log_cosh": LogCosh(), "pinball": Pinball(0.3), "slopes_alone": SlopesAlone()}
TOY_CLASSIFYING = {"log_cosh": LogCosh(), "own_hinge": OwnHinge(), "own_logistic": OwnLogistic()}
TOYS = {**TOY_REGRESSING, **TOY_CLASSIFYING}
