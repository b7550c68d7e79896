"""The best settings that a number of seconds can find: the same search for every peer.

Its usual settings are first tried on few rows, and on twice as many until a fit takes a noticeable share of the time.
At that size settings are drawn at random, each fit stopped early by held-out rows where the peer can, and judged by
them: five folds of them in turn where there are few rows, a fifth of the rows otherwise. The best settings are then
fitted once more. If trials had all rows, to all of them with as many rounds as early stopping chose; or else to as many
as the rest of the time allows, judging by how the cost grew.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .encoding import take
from .entrant import Clock, Contestant, Model, Rows, decided, losses

FIRST_ROWS = 500
NOTICEABLE, LOOKING = 1 / 12, 1 / 4  # of the time, and the most of it that a fit of the first look may take
SEARCHING = 1 / 2  # of the time, if the last fit is larger than the trials
FOLDS, FEW = 5, 5_000  # all folds judge if there are no more rows than this, and if they are quick
FOLDING = 1 / 8  # of the time, at most, for the folds of one trial
BEHIND = 1.2  # times the best's error of the first fold: further folds are not worth their time
JUDGES, FEW_JUDGES = 10_000, 1000  # held-out rows, at most; and those that stop a fit, if it has no more rows itself
STEEPEST = 3.0  # seconds grow like a power of the rows, at most this one
AIR = 1.3  # seconds allowed for, over those foreseen

Settings = dict[str, Any]


class Problem(NamedTuple):
    """What a fit has to know beside its rows."""

    classes: int
    cores: int
    seed: int


class Part(NamedTuple):
    X: Any
    y: np.ndarray


class Fitted(NamedTuple):
    """Answers for encoded rows; the rounds that early stopping chose, if the peer has any."""

    answer: Callable[[Any], np.ndarray]
    rounds: int | None = None


class Trial(NamedTuple):
    """Settings, their error on held-out rows and on those of the first fold, and the fits: mean seconds of one."""

    settings: Settings
    error: float
    first: float
    fits: list[Fitted]
    seconds: float

    @property
    def rounds(self) -> int | None:
        chosen = [fit.rounds for fit in self.fits if fit.rounds is not None]
        return max(1, round(float(np.mean(chosen)))) if chosen else None


class Peer(Contestant):
    """A contestant whose settings are searched at random. Every setting "view" names one of `views`."""

    longer = 1.0  # times the rounds of a trial, when the rows that judged are learned from too

    @abstractmethod
    def views(self, X: np.ndarray) -> dict[str, Callable[[], Callable[[Any], Any]]]:
        """Ways to encode frames, each made when it is first drawn; the most usual first."""

    @abstractmethod
    def usual(self, problem: Problem) -> Settings:
        """What is tried first."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, problem: Problem) -> Settings:
        """Settings at random."""

    @abstractmethod
    def fit_once(
        self, problem: Problem, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float
    ) -> Fitted:
        """One fit, stopped early by the rows that judge, or after so many rounds, or when the time has come."""

    def fit(self, rows: Rows, clock: Clock, cores: int, seed: int) -> Model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that stops early is judged as it is
            return Search(self, rows, clock, Problem(rows.classes, cores, seed)).run()


class Search:
    """Trials against a clock."""

    def __init__(self, peer: Peer, rows: Rows, clock: Clock, problem: Problem) -> None:
        self.peer, self.clock, self.problem = peer, clock, problem
        self.rng = np.random.default_rng(problem.seed)
        order = self.rng.permutation(len(rows.y))
        self.X, self.y = rows.X.iloc[order], rows.y[order]
        self.makers = peer.views(self.X)
        self.encoders: dict[str, Callable[[Any], Any]] = {}
        self.encoded: dict[str, Any] = {}
        fold = folds_of(self.y)
        self.train = [np.flatnonzero(fold != k) for k in range(FOLDS)]
        self.judges = [np.flatnonzero(fold == k)[:JUDGES] for k in range(FOLDS)]
        self.tried = 0

    def run(self) -> Model:
        rows, power, best = self.pilot()
        is_whole = rows == len(self.train[0])
        quick = is_whole and len(self.y) <= FEW and FOLDS * best.seconds < FOLDING * self.clock.seconds
        folds, growth = FOLDS if quick else 1, (len(self.y) / len(self.train[0])) ** min(power, 2.0)
        if quick:
            best = self.trial(best.settings, rows, folds, None, self.clock.until(best.seconds))
        usually = [best.seconds]
        while True:
            last = AIR * growth * best.seconds if is_whole else (1 - SEARCHING) * self.clock.seconds
            before = self.clock.left
            if before - float(np.median(usually)) < last:
                break
            trial = self.trial(self.drawn(), rows, folds, best, self.clock.until(last))
            usually.append((before - self.clock.left) / len(trial.fits))  # with what it took to judge
            best = min(best, trial, key=lambda one: one.error)
        return self.refitted(best, growth) if is_whole else self.enlarged(best, rows, power)

    def pilot(self) -> tuple[int, float, Trial]:
        """Rows at which a fit takes a noticeable share of the time, the power by which it grows, and that fit.

        Small work is quicker on one thread than on several: the last fit is tried on one, too.
        """
        most, longest = len(self.train[0]), LOOKING * self.clock.seconds
        rows, last, power = min(FIRST_ROWS, most), 0.0, 1.0
        while True:
            trial = self.trial(self.usual(), rows, 1, None, time.perf_counter() + longest)
            if last > 0.05:  # below, it is all overhead
                power = float(np.clip(np.log2(trial.seconds / last), 1.0, STEEPEST))
            if trial.seconds > NOTICEABLE * self.clock.seconds or rows == most:
                break
            rows, last = min(2 * rows, most), trial.seconds
        self.tried = 1
        if self.problem.cores > 1:
            several, self.problem = self.problem, self.problem._replace(cores=1)
            _, alone = self.timed(self.usual(), 0, rows, time.perf_counter() + min(trial.seconds, longest))
            if alone < trial.seconds:
                return rows, power, trial._replace(seconds=alone)
            self.problem = several
        return rows, power, trial

    def usual(self) -> Settings:
        return {"view": next(iter(self.makers)), **self.peer.usual(self.problem)}

    def drawn(self) -> Settings:
        view = list(self.makers)[self.rng.integers(len(self.makers))]
        return {"view": view, **self.peer.draw(self.rng, self.problem)}

    def part(self, view: str, rows: np.ndarray) -> Part:
        if view not in self.encoded:
            self.encoders[view] = self.makers[view]()
            self.encoded[view] = self.encoders[view](self.X)
        return Part(take(self.encoded[view], rows), self.y[rows])

    def timed(self, settings: Settings, fold: int, rows: int, until: float) -> tuple[Fitted, float]:
        """A fit to some rows of a fold, and its seconds."""
        train = self.part(settings["view"], self.train[fold][:rows])
        judge = self.part(settings["view"], self.judges[fold][: max(rows, FEW_JUDGES)])
        begun = time.perf_counter()
        fit = self.fitted(settings, train, judge, None, until)
        return fit, time.perf_counter() - begun

    def fitted(self, settings: Settings, train: Part, judge: Part | None, rounds: int | None, until: float) -> Fitted:
        with threadpool_limits(self.problem.cores):
            return self.peer.fit_once(self.problem, settings, train, judge, rounds, until)

    def error(self, settings: Settings, fit: Fitted, fold: int) -> float:
        judge = self.part(settings["view"], self.judges[fold])
        return float(losses(judge.y, decided(fit.answer(judge.X)), self.problem.classes).mean())

    def trial(self, settings: Settings, rows: int, folds: int, best: Trial | None, until: float) -> Trial:
        """The mean error of the folds; of those that are clearly behind, of the first alone."""
        self.tried += 1
        fits, errors, seconds = [], [], []
        for fold in range(folds):
            fit, took = self.timed(settings, fold, rows, until)
            fits.append(fit)
            errors.append(self.error(settings, fit, fold))
            seconds.append(took)
            if best is not None and fold < folds - 1:
                is_behind = fold == 0 and errors[0] > BEHIND * best.first
                if is_behind or time.perf_counter() > until:
                    return Trial(settings, np.inf, errors[0], fits, took)
        return Trial(settings, float(np.mean(errors)), errors[0], fits, float(np.mean(seconds)))

    def refitted(self, best: Trial, growth: float) -> Model:
        """The best settings on all rows; without the time for it, the mean of the fits that were judged."""
        everyone = np.arange(len(self.y))
        if self.clock.left < growth * best.seconds:
            return self.model(best.settings, best.fits, len(self.train[0]))
        rounds = None if best.rounds is None else max(1, round(self.peer.longer * best.rounds))
        train = self.part(best.settings["view"], everyone)
        until = self.clock.until(-0.1 * self.clock.seconds)  # a fit with a number of rounds is best whole
        fit = self.fitted(best.settings, train, None, rounds, until)
        return self.model(best.settings, [fit], len(everyone))

    def enlarged(self, best: Trial, rows: int, power: float) -> Model:
        """The best settings on as many rows as the time allows, stopped by the rows that judge."""
        allowed = max(self.clock.left, best.seconds) / (AIR * best.seconds)
        more = int(min(rows * max(allowed, 1.0) ** (1.0 / power), len(self.train[0])))
        if more == rows:
            return self.model(best.settings, best.fits, rows)
        fit, took = self.timed(best.settings, 0, more, self.clock.until())
        error = self.error(best.settings, fit, 0)
        if error > best.error:  # it had to stop too soon
            return self.model(best.settings, best.fits, rows)
        if more == len(self.train[0]):
            return self.refitted(Trial(best.settings, error, error, [fit], took), AIR)
        return self.model(best.settings, [fit], more)

    def model(self, settings: Settings, fits: list[Fitted], rows: int) -> Model:
        rounds = [fit.rounds for fit in fits if fit.rounds is not None]
        shown = settings | ({"rounds": rounds[0] if len(rounds) == 1 else rounds} if rounds else {})
        note = ", ".join(f"{name} {worth(value)}" for name, value in shown.items())
        answer = partial(mean_answer, self.encoders[settings["view"]], fits)
        return Model(answer, self.tried, rows, note)


def mean_answer(encode: Callable[[Any], Any], fits: list[Fitted], X: np.ndarray) -> np.ndarray:
    encoded = encode(X)
    return np.asarray(np.mean([fit.answer(encoded) for fit in fits], axis=0))


def folds_of(y: np.ndarray) -> np.ndarray:
    """A fold for each row, so that all have the same share of each label, or of small and large numbers."""
    place = np.empty(len(y), dtype=int)
    place[np.argsort(y, kind="stable")] = np.arange(len(y))
    return place % FOLDS


def worth(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def log_uniform(rng: np.random.Generator, least: float, most: float) -> float:
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def one_of(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]
