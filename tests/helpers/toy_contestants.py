"""Contestants that show what a contest does with those who take too long, fail, or answer at once."""

import time

import numpy as np

from bochner.bench.contest.entrant import Contestant, Model


class Sleeper(Contestant):
    """Has no model in time."""

    name, title = "sleeper", "sleeper"

    def fit(self, rows, clock, cores, seed):
        time.sleep(600)


class Clumsy(Contestant):
    """Stumbles, with a message of several lines."""

    name, title = "clumsy", "clumsy"

    def fit(self, rows, clock, cores, seed):
        raise ArithmeticError("cannot\n  divide")


class Mean(Contestant):
    """Predicts the mean; its note says how many threads it was given."""

    name, title = "mean", "mean"

    def fit(self, rows, clock, cores, seed):
        import os

        mean = float(rows.y.mean())
        return Model(lambda X: np.full(len(X), mean), 1, len(rows.y), os.environ["OMP_NUM_THREADS"])
