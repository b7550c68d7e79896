"""Losses of scores against targets: value, gradient, curvature, and what they can do."""

from .base import CAPABILITIES, Loss
from .foreign import ForeignLoss, LossLike
from .known import (
    CLASSIFYING,
    LOSSES,
    REGRESSING,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Squared,
    SquaredHinge,
    log_sum_exp,
    loss_of,
    name_of,
)

__all__ = [
    "CAPABILITIES", "CLASSIFYING", "LOSSES", "REGRESSING", "EpsilonInsensitive", "Exponential", "ForeignLoss", "Hinge",
    "Huber", "Logistic", "Loss", "LossLike", "Squared", "SquaredHinge", "log_sum_exp", "loss_of", "name_of",
]  # fmt: skip
