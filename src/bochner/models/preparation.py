"""Rows, targets and weights as they come, made ready: arrays are checked whole, blocks one by one as they pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Array, Rows, constant, is_torch, like, places, to_host
from ..bases.heuristics import SAMPLE
from ..blocks import Block, Blocks, CheckpointedBlocks, Journal, MemoryBlocks, SampledBlocks, SumOf
from ..blocks.base import RowsLike
from ..blocks.memory import is_mapped
from ..config import device_room, memory_budget
from ..penalties.probe import PROBE
from ..solvers.leave_one_out import CALIBRATED
from ..solvers.units import MEASURED
from ..streams import sample_rows
from ..typing import VectorLike
from ..validation import require_finite
from . import trials
from .checks import Dtypes, check_arrays, check_weights, encode_first, remember_columns, split_target
from .sampling import RowsByNumber, Sample
from .target_codes import LabelCounts, TargetCoding, TargetSums
from .targets import TargetEncoder

# Numbers in a block of the first pass, whatever the memory budget: its sums are the same bits for any.
SURVEYED, SURVEYED_ON_DEVICE = 1 << 22, 1 << 28

# Rows that later steps take, and the seeds that choose them: to try scalings on, to calibrate by, to choose the penalty
# of a loss by, and to measure targets by.
SAMPLES = ((trials.TRIED, 3), (CALIBRATED, 9), (PROBE, 2), (MEASURED, 11))


class PreparedData(NamedTuple):
    """Blocks with coded targets and weights; sampled rows, on the host, and the largest |x| for the basis.

    targets : the encoder that coded them. of_tensors : whether fits are given the rows as tensors.
    """

    blocks: Blocks
    sample: Any
    largest: float
    journal: Journal | None
    targets: TargetEncoder
    of_tensors: bool = False

    def remember(self, make: Callable[[], Value]) -> Value:
        """A value that is the same if the work is taken up again."""
        return make() if self.journal is None else self.journal.value(make)


Value = TypeVar("Value")
Samples = tuple[tuple[int, int], ...]
OpenJournal = Callable[[Blocks], Journal | None]


@dataclass
class DataSummary:
    """What a pass over rows tells before anything is fitted: about the rows, by a sample, and about targets.

    Rows of weight zero are not there: not for the bandwidth, nor for the largest number.
    """

    sample: Sample
    weight: float
    present: int
    targets: LabelCounts | TargetSums
    rows: RowsByNumber

    @classmethod
    def of(cls, targets: TargetEncoder, block: Block, wanted: np.ndarray) -> DataSummary:
        n = block.X.shape[0]
        weight = constant(1.0, (n,), block.X) if block.weight is None else block.weight
        there = places((weight > 0) & ~targets.is_weightless(block.y))
        sample = Sample.of(block.X if len(there) == n else block.X[there], block.start + there, SAMPLE)
        summary = targets.summarize(block.y, block.weight)
        return cls(sample, float(weight[there].sum()), len(there), summary, RowsByNumber.of(block, wanted))

    def __iadd__(self, other: DataSummary) -> DataSummary:
        self.sample += other.sample
        self.weight += other.weight
        self.present += other.present
        self.targets += other.targets  # type: ignore[operator]
        self.rows += other.rows
        return self


@dataclass(frozen=True)
class SummaryOf(SumOf):
    """The data summary of rows, with the rows of some numbers, which ascend."""

    targets: TargetEncoder
    columns: int
    wanted: np.ndarray

    @property
    def rows(self) -> int:
        most, numbers = (1 << 20, SURVEYED_ON_DEVICE) if device_room() else (1 << 14, SURVEYED)
        return max(1, min(most, numbers // max(self.columns, 1)))

    def of(self, block: Block) -> DataSummary:
        return DataSummary.of(self.targets, block, self.wanted)


@dataclass(frozen=True)
class Preparation:
    """How rows with targets become blocks with coded ones, for a fit and for the calls that add to it.

    Attributes
    ----------
    encoder : TargetEncoder
        That of the model: as its parameters make it in the first call, as the first call left it in later ones.
    dtypes : sequence of numpy types
        The types of rows that features are made of as they are.
    first : bool
        Whether these are the first rows, which tell what targets there are.
    whole : bool
        Whether they are all rows.
    classes : array-like or None
        All labels there will be, if they are known beforehand.
    open_journal : callable
        Makes the journal of a checkpoint, if there is one.
    samples : tuple of (int, int)
        Further samples, (how many, seed), that metric and solver will take.
    """

    encoder: TargetEncoder
    dtypes: Dtypes
    first: bool = False
    whole: bool = False
    classes: Any = None
    open_journal: OpenJournal = lambda blocks: None
    samples: Samples = ()

    def arrays(self, X: Rows, y: Array, weight: Array | None) -> PreparedData:
        """Valid arrays, or tensors."""
        summary = summary_of(self.encoder, MemoryBlocks(X, y, weight))
        if self.first:
            self.encoder.check(y)
        encoder = self._learned(summary.targets)
        coding = encoder.coding(summary.targets if self.whole else None)
        codes, weight = coding.code(y), check_weights(coding.weigh(y, weight), X.shape[0])
        blocks: Blocks = MemoryBlocks(X, codes, weight)
        journal = self.open_journal(blocks)
        if journal is not None:
            blocks = CheckpointedBlocks(blocks, journal)
        if weight is not None and (weight == 0).any():
            blocks = blocks.map(present_rows, present=int((weight != 0).sum()))
        sample = summary.sample
        return PreparedData(blocks, to_host(sample.rows), sample.largest, journal, encoder, is_torch(X))

    def blocks(self, blocks: Blocks) -> PreparedData:
        """Blocks: a summary, then each block is checked and coded as it comes."""
        journal = self.open_journal(blocks)
        if journal is not None:
            blocks = CheckpointedBlocks(blocks, journal)
        checked = blocks.map(CheckedRows(tuple(self.dtypes)))
        if not (self.first or self.whole):
            encoder = self._learned(None)
            return PreparedData(checked.map(CodedRows(encoder.coding())), None, 0.0, journal, encoder)
        summary = summary_of(self.encoder, checked, sampled_rows(checked, self.samples))
        if not summary.weight > 0:
            raise ValueError("sample_weight must not be all zero.")
        rows = summary.rows
        checked = SampledBlocks(checked, np.asarray(rows.numbers), Block(rows.X, rows.y, rows.weight, 0))
        encoder = self._learned(summary.targets)
        coded = checked.map(CodedRows(encoder.coding(summary.targets if self.whole else None)), present=summary.present)
        return PreparedData(coded, summary.sample.rows, summary.sample.largest, journal, encoder)

    def _learned(self, summary: LabelCounts | TargetSums | None) -> TargetEncoder:
        if self.first:
            return self.encoder.learn(summary, self.classes)
        self.encoder.require_classes(self.classes)
        return self.encoder


class GivenData(NamedTuple):
    """Rows, targets and weights as a caller gave them; Blocks hold all three."""

    X: Any
    y: Any = None
    weight: Any = None

    @property
    def in_blocks(self) -> bool:
        return isinstance(self.X, Blocks)


def given_data(X: RowsLike, y: VectorLike | None, sample_weight: VectorLike | None, dtypes: Dtypes) -> GivenData:
    """Arrays that are to be checked as a whole, or blocks that are checked as they come."""
    if is_mapped(X) and X.dtype not in dtypes:  # a block at a time, never converted as a whole
        X, y, sample_weight = MemoryBlocks(X, y, sample_weight).in_blocks(), None, None
    if not isinstance(X, Blocks):
        return GivenData(X, y, sample_weight)
    if y is not None or sample_weight is not None:
        raise ValueError("the blocks have their own targets and weights: leave out y and sample_weight.")
    if isinstance(X, MemoryBlocks):
        return GivenData(X.X, X.y, X.weight)
    if X.n_rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    return GivenData(X)


class PreparedBlock(NamedTuple):
    """All rows of a fit in memory, with coded targets and weights; and the encoder that coded them."""

    block: Block
    targets: TargetEncoder


def prepare_block(
    estimator: BaseEstimator,
    given: GivenData,
    target: str | None,
    encoder: TargetEncoder,
    dtypes: Dtypes,
    accept_sparse: str | bool = False,
) -> PreparedBlock:
    """Rows of weight zero are left out. The estimator remembers the columns, and the recipe of a frame."""
    encoded = encode_first(estimator, *split_target(given.X, given.y, target))
    y_numeric = not encoder.classifies
    X, y = check_arrays(estimator, *encoded, dtypes=dtypes, accept_sparse=accept_sparse, y_numeric=y_numeric)
    remember_columns(estimator)
    weight = like(check_weights(given.weight, X.shape[0]), X)
    encoder.check(y)
    summary = encoder.summarize(y, weight)
    encoder = encoder.learn(summary)
    coding = encoder.coding(summary)
    block = Block(X, coding.code(y), check_weights(coding.weigh(y, weight), X.shape[0]), 0)
    return PreparedBlock(present_rows(block), encoder)


def present_rows(block: Block) -> Block:
    """Without the rows of weight zero."""
    return block if block.weight is None or (block.weight > 0).all() else block.only(block.weight > 0)


def summary_of(encoder: TargetEncoder, blocks: Blocks, wanted: np.ndarray | None = None) -> DataSummary:
    """The first pass over the rows."""
    wanted = np.empty(0, dtype=np.int64) if wanted is None else wanted
    found: DataSummary = blocks.reduce(SummaryOf(encoder, blocks.n_columns, wanted), title="survey")
    return found


def sampled_rows(blocks: Blocks, more: Samples = ()) -> np.ndarray:
    """The numbers of the rows that later steps take: the first pass draws them all, if there is room for them."""
    room, numbers = memory_budget() // 32 // (8 * max(blocks.n_columns, 1)), np.empty(0, dtype=np.int64)
    for samples in (SAMPLES, more):
        drawn = [sample_rows(blocks.n_rows, most, seed=seed) for most, seed in samples]
        both = np.unique(np.concatenate([numbers, *drawn]))
        numbers = both if len(both) <= room else numbers
    return numbers


@dataclass(frozen=True)
class CheckedRows:
    """A block of finite numbers of a type that features are made of, with targets and sound weights."""

    dtypes: tuple[type[np.generic], ...]

    def __call__(self, block: Block) -> Block:
        X, y, weight = block.X, block.y, block.weight
        if y is None:
            raise ValueError("the blocks have no targets: name the target column.")
        if X.dtype not in self.dtypes:
            X = X.astype(np.float64)
        require_finite(X, f"the block from row {block.start} on")
        return Block(X, np.asarray(y), check_weights(weight, X.shape[0], some=True), block.start)


@dataclass(frozen=True)
class CodedRows:
    """A block with its targets as a matrix and weights as they count, without the rows of weight zero."""

    coding: TargetCoding

    def __call__(self, block: Block) -> Block:
        weight = self.coding.weigh(block.y, block.weight)
        return present_rows(Block(block.X, self.coding.code(block.y), weight, block.start))
