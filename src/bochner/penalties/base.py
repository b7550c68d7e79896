"""What choosing a penalty is: from whatever a solver has at hand, by one of three criteria."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..solvers.problem import Alpha

GIVEN = "given"
FEW = "too few rows to judge by: the largest candidate"
PERFECT = 1e-3  # share of the variance left at the lower end, below which a smaller penalty would be of no use


@dataclass(frozen=True)
class CrossValidated:
    """What a model is expected to score on new rows: R^2, or the share of right labels; and its standard error."""

    score: float
    standard_error: float | None
    rows: int
    how: str


@dataclass(frozen=True)
class Chosen:
    """A penalty, how it was chosen, what the model is worth with it, and the end at which it lies, if any."""

    alpha: float
    note: str
    validated: CrossValidated | None = None
    end: str = ""

    @property
    def unit(self) -> float | None:
        """The weight that counts as one row: 1 beside a penalty that was given, so that a weight is a number of equal
        rows; the mean weight (None) beside one that was chosen, so that a factor of all weights changes nothing."""
        return 1.0 if self.note == GIVEN else None


class PenaltySelection(ABC):
    """A penalty, chosen as was asked for: a number is taken, a word names the criterion, a list holds candidates."""

    def choose(self, asked: Alpha) -> Chosen:
        if isinstance(asked, float):
            return Chosen(asked, GIVEN)
        if isinstance(asked, str) and asked == "loo":
            return self.by_leave_one_out()
        if isinstance(asked, str) and asked == "gcv":
            return self.by_generalised_cross_validation(asked)
        return self.by_folds(asked)

    @abstractmethod
    def by_folds(self, asked: Alpha) -> Chosen:
        """By the errors of rows left out; `asked` is "auto", or a list of candidates."""

    @abstractmethod
    def by_leave_one_out(self) -> Chosen:
        """By the exact squared error of each row, left out."""

    def by_generalised_cross_validation(self, asked: Alpha) -> Chosen:
        """By an estimate of the same that takes rows for equals; by folds, where there is no formula for it."""
        return self.by_folds(asked)
