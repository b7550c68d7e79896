"""The search: chains learn metrics on a sample of the rows, and what is best there is fitted to all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...config import memory_budget
from ...ops import threads
from ...streams import row_hashes
from .chains import GAIN, Chain, rounds, slopes_of
from .encoding import POOL, WHOLE, Tables
from .expansion import Expansion, Setting, with_metric
from .fits import Member, Rows, chosen, exact_fit
from .iterative import bytes_of, iterative_fit, work_of
from .linear_fits import LandmarkFits, ridge
from .local import local_fit
from .pictures import PLANNED, TRIED, PatchSetting, columns_within, patch_fit, settings
from .pictures import SAMPLE as PICTURES
from .placing import HOST, Device, Host

SAMPLE, SAMPLE_FOLDS = 1000, 4  # rows of the first search where it does not take all
FEW = 1000  # centres that are too few for anything
LOCAL, ITERATIVE = 2.0, 2.5  # times the work of another fit that leaves, or all rows as centres, may take
CLEAN = 3e-3  # errors below which there is little noise, and small penalties want float64
LAGGING, SLOW = 1.3, 0.8  # times the best error of all chains, and of its last round: then a chain is left
SPEED = 6e10  # floating-point operations a second that sizes are planned with where trials are counted, not seconds
PROBED, SHARE = 512, 0.5  # rows of the matrix by which the speed of a machine is measured, and what a fit reaches of it
SEARCHING, FITTING = 0.4, 0.12  # shares of the budget: for the chains, and for one fit to all rows
PATCHES = 0.6  # the share for patches of pictures, of what is left when they are planned


@dataclass
class Clock:
    """How much of the budget is left: seconds, or trials where those are given, so that a result can be had again."""

    budget: float
    trials: int | None = None
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds left."""
        return self.budget - (time.monotonic() - self.start)

    def has(self, share: float, seconds: float = 0.0) -> bool:
        """Whether less than a share of the budget is used, and so many seconds are left."""
        if self.trials is not None:
            return self.done < share * self.trials
        return self.left() - seconds > (1.0 - share) * self.budget


class Trial(NamedTuple):
    """What was tried: on how many rows, with how many centres, and what came out after how many seconds."""

    setting: Setting | PatchSetting
    rows: int
    centres: int
    error: float
    seconds: float
    number: int | None  # of the member, if it became one


class Search:
    """Members for a stack, from a table by how its numbers are scaled, coded targets and their folds."""

    def __init__(
        self,
        tables: Tables,
        clock: Clock,
        tell: Callable[[Trial], None],
        seed: int = 0,
        place: Host = HOST,
    ) -> None:
        self.tables, self.Y, self.folds, self.clock, self.tell = tables, tables.Y, tables.folds, clock, tell
        Y, self.order, self.seed = self.Y, np.random.default_rng(seed).permutation(len(self.Y)), seed
        left = clock.budget if clock.trials is not None else max(clock.left(), 0.1 * clock.budget)
        speed, self.place = speed_of(place, clock.trials is not None), place
        work, self.sample = FITTING * left * speed, SAMPLE
        if isinstance(place, Device):
            self.sample = place.sample(left, speed)
            tables.whole = max(WHOLE, self.sample)
        self.whole = len(Y) <= tables.whole
        self.exact = len(Y) <= place.exact(work)
        # n m^2 for the features and as much for their sums, and m^3 a few times over
        self.centres = min(len(Y), max(500, int((work / (2.0 * len(Y))) ** 0.5)), int((work / 4.0) ** (1 / 3)))
        # n l^2 / 3 for the factors of leaves, and about ten times as much per number for distances and exponentials
        self.leaf = int(np.clip((LOCAL * work / len(Y)) ** 0.5, 250, place.largest_leaf))
        few = self.centres < FEW  # of so many rows, which leaves serve better
        self.ways: list[Any] = [exact_fit] if self.exact else [self._landmarks, self._local][few:]
        n, d = tables("robust").shape
        if place is HOST and work_of(n, d, Y.shape[1]) <= ITERATIVE * work and bytes_of(n) <= memory_budget() // 2:
            self.ways.insert(0, self._iterative)
        self.candidates = self.order if self.whole else distinct_first(tables("robust"), self.order)  # for centres
        self._room: np.ndarray | None = None  # for the matrices of iterative fits, one after another
        self.members: list[Member] = []
        self.first_errors: dict[tuple[float, float], float] = {}  # by kernel, in the first round of a chain
        self.best_error = np.inf  # of the chains that have ended
        self.fitted: set[tuple[object, ...]] = set()  # settings that were fitted to all rows
        self.trials: list[Trial] = []

    def rows(self, numbers: str | None, sampled: bool = False) -> Rows:
        """All rows, or a sample of which four folds are judged."""
        X = self.tables(numbers)
        if self.whole:
            everyone = np.arange(len(X))
            return Rows(X, self.Y, self.folds, False, self.tables.versions(numbers, everyone, everyone, self.folds))
        if not sampled:
            return Rows(X, self.Y, self.folds, True)
        pool = self.order[self.folds[self.order] != 0][:POOL]  # fold 0 judges what comes of it
        pool = distinct_first(self.tables("robust"), pool)
        at, folds = pool[: self.sample], self.folds[pool] % SAMPLE_FOLDS
        return Rows(X[at], self.Y[at], folds[: self.sample], False, self.tables.versions(numbers, at, pool, folds))

    def run(self, chains: tuple[Chain, ...]) -> list[Member]:
        """All members that the budget allows; what was found before an interruption stays in `members`."""
        start, plain = time.monotonic(), ridge(self.rows("robust"))
        self._keep(plain, self._told(time.monotonic() - start, plain, len(self.Y)))
        if self.tables.shape is not None:
            self._patches(self.tables.shape)
        found: list[tuple[Member, int]] = []
        for number, chain in enumerate(chains):
            if (number or self.tables.shape) and not self.clock.has(0.9 if self.whole else SEARCHING):
                break
            found += self._chain(chain)
        if not self.whole:
            found.sort(key=lambda pair: pair[0].error)
            self._fit_all([member.expansion.setting for member, _ in found[: self.place.members]])
        return self.members

    def _patches(self, shape: tuple[int, ...]) -> None:
        """Features of patches: what is best with few columns on a sample is fitted to all pictures with many."""
        rows, choices = self.rows("pixels"), settings(shape)
        at = self.order[self.folds[self.order] != 0] if rows.one_fold else self.order
        at = at[:PICTURES]
        sample, tried = Rows(rows.X[at], self.Y[at], self.folds[at] % SAMPLE_FOLDS, False), list[Member]()
        offered: list[PatchSetting] = next(choices)
        while offered:
            for setting in offered:
                if tried and not self.clock.has(PATCHES / 2.0):
                    break
                start, found = time.monotonic(), patch_fit(sample, setting.fitting(TRIED), self.seed)
                if found is not None:
                    tried.append(found)
                    self._told(time.monotonic() - start, found, len(at))
            if not tried:
                return
            tried.sort(key=lambda member: member.error)
            try:
                offered = choices.send(tried[0].expansion.setting)
            except StopIteration:
                break
        columns, best = PLANNED, tried[0].expansion.setting
        if self.clock.trials is None:
            columns = columns_within(PATCHES * max(self.clock.left(), 0.0), rows, best, self.seed)
        start, found = time.monotonic(), patch_fit(rows, best.fitting(columns), self.seed, explained=True)
        if found is not None:
            self._keep(found, self._told(time.monotonic() - start, found, len(self.Y)))

    def _chain(self, chain: Chain) -> list[tuple[Member, int]]:
        """The best round of a chain, with the number of its trial; it is a member if it has seen all rows."""
        rows, start = self.rows(chain.numbers, sampled=not self.whole), time.monotonic()
        tried: list[tuple[Member, int]] = []
        for member in rounds(self.place.rows(rows), chain):
            before = tried[-1][0].error if tried else np.inf
            tried.append((member, self._told(time.monotonic() - start, member, len(rows.X))))
            if not self.clock.has(0.95) or (len(tried) == 1 and not self._promises(chain, member.error)):
                break
            if not self.whole and member.error > max(LAGGING * self.best_error, SLOW * before):
                break
        self.best_error = min([self.best_error, *(member.error for member, _ in tried)])
        best = sorted(tried, key=lambda pair: pair[0].error)[:1]
        if best and self.whole:
            self._keep(*best[0])
        return best

    def _promises(self, chain: Chain, error: float) -> bool:
        """Whether a chain is worth more rounds than its first: effects are where they beat that kernel without them."""
        if chain.numbers != "effects":
            self.first_errors.setdefault((chain.p, chain.q), error)
        return chain.numbers != "effects" or error < self.first_errors.get((chain.p, chain.q), np.inf)

    def _fit_all(self, settings: list[Setting]) -> None:
        """Fit settings to all rows; then move from the best of them, while that helps."""
        longest, unseen = 0.0, dict[int, Expansion]()
        for number, setting in enumerate(settings):
            if number and not self.clock.has(0.8, longest):
                break
            longest = max(longest, self._fit(setting, unseen))
        moves = [self._relearned, narrower, wider]
        while moves and unseen and self.clock.has(0.97, 1.2 * longest):
            leader = min(unseen, key=lambda number: self.members[number].error)
            moved, before = moves[0](self.members[leader].expansion.setting, unseen[leader]), len(self.members)
            longest = max(longest, self._fit(moved, unseen))
            if len(self.members) == before or self.members[-1].error > GAIN * self.members[leader].error:
                moves.pop(0)
        for leader in sorted(unseen, key=lambda number: self.members[number].error)[1 : self.place.leaders]:
            self._move_on(leader, unseen, longest)

    def _move_on(self, leader: int, unseen: dict[int, Expansion], longest: float) -> None:
        """Move from one more member, a step of each kind, while there is time."""
        for move in (self._relearned, narrower, wider):
            if not self.clock.has(0.97, 1.2 * longest):
                return
            moved, before = move(self.members[leader].expansion.setting, unseen[leader]), len(self.members)
            self._fit(moved, unseen)
            if len(self.members) > before and self.members[-1].error < GAIN * self.members[leader].error:
                leader = len(self.members) - 1

    def _relearned(self, setting: Setting, unseen: Expansion) -> Setting:
        """The setting in the metric that a fit to all rows but fold 0 gives."""
        full = setting.p == 2.0 if setting.root is None else setting.root.ndim == 2
        rows = self.place.rows(self.rows(setting.numbers))
        at = np.random.default_rng(len(self.members)).permutation(np.flatnonzero(~rows.judged))[: slopes_of(rows)]
        return with_metric(setting, unseen.metric(chosen(rows.X, at)), full)

    def _fit(self, setting: Setting, unseen: dict[int, Expansion]) -> float:
        """Fits to all rows, and to all but fold 0 as `unseen`; the seconds of the longest.

        The first setting is fitted in every way there is; the others in the way that was best.
        """
        if setting.key() in self.fitted:
            return 0.0
        self.fitted.add(setting.key())
        rows, longest, errors = self.place.rows(self.rows(setting.numbers)), 0.0, list[float]()
        for way in self.ways:
            if errors and not self.clock.has(0.7, longest):
                break
            start, found = time.monotonic(), way(rows, setting)
            seconds = time.monotonic() - start
            longest = max(longest, seconds)
            errors.append(np.inf if found is None else found[0].error)
            if found is not None:
                unseen[len(self.members)] = found[1]
                self._keep(found[0], self._told(seconds, found[0], len(self.Y)))
                if way == self._iterative and found[0].error > CLEAN:
                    break  # all rows are centres, and float32 bears the penalty that noise calls for
        self.ways = [self.ways[int(np.argmin(errors))]]
        return longest

    def _iterative(self, rows: Rows, setting: Setting) -> tuple[Member, Expansion] | None:
        if self._room is None:
            self._room = np.empty((len(rows.X), len(rows.X)), dtype=np.float32)
        return iterative_fit(rows, setting, self.candidates, self._room)

    def _landmarks(self, rows: Rows, setting: Setting) -> tuple[Member, Expansion] | None:
        return LandmarkFits(rows, setting, self.candidates[: self.centres]).best(setting)

    def _local(self, rows: Rows, setting: Setting) -> tuple[Member, Any] | None:
        return local_fit(rows, setting, self.leaf)

    def _told(self, seconds: float, member: Member, rows: int) -> int:
        """The number of a trial that is done."""
        self.clock.done += 1
        expansion = member.expansion
        self.trials.append(Trial(expansion.setting, rows, len(expansion.centres), member.error, seconds, None))
        self.tell(self.trials[-1])
        return len(self.trials) - 1

    def _keep(self, member: Member, trial: int) -> None:
        """Make a member of what a trial found."""
        self.trials[trial] = self.trials[trial]._replace(number=len(self.members))
        self.members.append(member._replace(expansion=self.place.home(member.expansion)))


def distinct_first(X: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Numbers of rows in their order, with repeated rows at the end: as centres these add nothing."""
    _, first = np.unique(row_hashes(X[order]), return_index=True)
    once = np.zeros(len(order), dtype=bool)
    once[first] = True
    return np.concatenate([order[once], order[~once]])


def speed_of(place: Host, is_planned: bool) -> float:
    """Floating-point operations a second of a place: a number of its own where sizes may not hang on the machine."""
    if isinstance(place, Device):
        return place.speed(is_planned)
    return SPEED if is_planned else measured_speed()


def measured_speed() -> float:
    """Floating-point operations a second of products, as busy as the machine is now."""
    matrix = np.ones((PROBED, PROBED))

    def seconds() -> float:
        start = time.monotonic()
        matrix @ matrix
        return time.monotonic() - start

    with threads.blas_limited():
        best = min(seconds() for _ in range(3))
    return SHARE * threads.count() * 2.0 * PROBED**3 / max(best, 1e-6)


def narrower(setting: Setting, unseen: Expansion) -> Setting:
    """More rows than the sample's may bear a narrower kernel."""
    return replace(setting, factor=setting.factor / 2.0)


def wider(setting: Setting, unseen: Expansion) -> Setting:
    """Or a wider one."""
    return replace(setting, factor=setting.factor * 2.0)
