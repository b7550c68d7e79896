"""Rows, targets and weights as they come, made ready: arrays are checked whole, blocks one by one as they pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import constant, is_torch, like, places, to_host
from ..bases.heuristics import SAMPLE
from ..blocks import Block, Blocks, CheckpointedBlocks, Journal, MemoryBlocks, SampledBlocks, SumOf
from ..config import memory_budget
from ..penalties.probe import PROBE
from ..solvers.leave_one_out import CALIBRATED
from ..solvers.matching import require_torch
from ..solvers.units import MEASURED
from ..streams import sample_rows
from ..validation import require_finite
from . import trials
from .checks import check_weights
from .metric_search import sampled_for_rounds
from .sampling import RowsByNumber, Sample
from .targets import TargetCoding, TargetKind

SURVEYED = (
    1 << 22
)  # numbers in a block of the first pass, whatever the memory budget: its sums are the same bits for any

# Rows that later steps take, and the seeds that choose them: to try scalings on, to calibrate by, to choose the penalty
# of a loss by, and to measure targets by.
SAMPLES = ((trials.TRIED, 3), (CALIBRATED, 9), (PROBE, 2), (MEASURED, 11))


class PreparedData(NamedTuple):
    """Blocks with coded targets and weights; sampled rows, on the host, and the largest |x| for the basis."""

    blocks: Blocks
    sample: Any
    largest: float
    journal: Journal | None

    def remember(self, make: Callable[[], Any]) -> Any:
        """A value that is the same if the work is taken up again."""
        return make() if self.journal is None else self.journal.value(make)


OpenJournal = Callable[[Blocks], Journal | None]


@dataclass
class DataSummary:
    """What a pass over rows tells before anything is fitted: about the rows, by a sample, and about targets.

    Rows of weight zero are not there: not for the bandwidth, nor for the largest number.
    """

    sample: Sample
    weight: float
    present: int
    targets: Any
    rows: RowsByNumber

    @classmethod
    def of(cls, targets: TargetKind, block: Block, wanted: np.ndarray) -> DataSummary:
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
        self.targets += other.targets
        self.rows += other.rows
        return self


@dataclass(frozen=True)
class SummaryOf(SumOf):
    """The data summary of rows, with the rows of some numbers, which ascend."""

    targets: TargetKind
    columns: int
    wanted: np.ndarray

    @property
    def rows(self) -> int:
        return max(1, min(1 << 14, SURVEYED // max(self.columns, 1)))

    def of(self, block: Block) -> DataSummary:
        return DataSummary.of(self.targets, block, self.wanted)


def own_targets(blocks: Blocks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, targets and weights of blocks, which have their own."""
    if y is not None or sample_weight is not None:
        raise ValueError("the blocks have their own targets and weights: leave out y and sample_weight.")
    return (blocks.X, blocks.y, blocks.weight) if isinstance(blocks, MemoryBlocks) else (blocks, None, None)


def prepare_arrays(
    model: Any, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any, whole: bool, open_journal: OpenJournal
) -> PreparedData:
    """Arrays: checked as a whole, then as blocks are."""
    if is_torch(X):
        require_torch(model._loss(), model.solver, model.max_coefficient)
    X, y = model._validate(X, y, reset=first)
    weight = like(check_weights(sample_weight, X.shape[0]), X)
    summary = summary_of(model, MemoryBlocks(X, y, weight))
    if model._classifies and first and not is_torch(y):
        check_classification_targets(y)
    learn(model, summary.targets, first, classes)
    coding = model._target_coding(summary.targets if whole else None)
    codes, weight = coding.code(y), check_weights(coding.weigh(y, weight), X.shape[0])
    blocks: Blocks = MemoryBlocks(X, codes, weight)
    journal = open_journal(blocks)
    if journal is not None:
        blocks = CheckpointedBlocks(blocks, journal)
    if weight is not None and (weight == 0).any():
        blocks = blocks.map(present_rows, present=int((weight != 0).sum()))
    return PreparedData(blocks, to_host(summary.sample.rows), summary.sample.largest, journal)


def prepare_blocks(
    model: Any, blocks: Blocks, *, first: bool, classes: Any, whole: bool, open_journal: OpenJournal
) -> PreparedData:
    """Blocks: a summary, then each block is checked and coded as it comes."""
    if blocks.n_rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    model._meet_blocks(blocks, first)
    journal = open_journal(blocks)
    if journal is not None:
        blocks = CheckpointedBlocks(blocks, journal)
    checked = blocks.map(CheckedRows(tuple(model._dtypes())))
    summary: DataSummary | None = None
    if first or whole:
        summary = summary_of(model, checked, sampled_rows(model, checked))
        if not summary.weight > 0:
            raise ValueError("sample_weight must not be all zero.")
        rows = summary.rows
        checked = SampledBlocks(checked, rows.numbers, Block(rows.X, rows.y, rows.weight, 0))
    targets = None if summary is None else summary.targets
    learn(model, targets, first, classes)

    code = CodedRows(model._target_coding(targets if whole else None))
    if summary is None:
        return PreparedData(checked.map(code), None, 0.0, journal)
    return PreparedData(
        checked.map(code, present=summary.present), summary.sample.rows, summary.sample.largest, journal
    )


def present_rows(block: Block) -> Block:
    """Without the rows of weight zero."""
    return block if block.weight is None or (block.weight > 0).all() else block.only(block.weight > 0)


def summary_of(model: Any, blocks: Blocks, wanted: np.ndarray | None = None) -> DataSummary:
    """The first pass over the rows."""
    wanted = np.empty(0, dtype=np.int64) if wanted is None else wanted
    found: DataSummary = blocks.reduce(SummaryOf(model._target_kind(), blocks.n_columns, wanted), title="survey")
    return found


def sampled_rows(model: Any, blocks: Blocks) -> np.ndarray:
    """The numbers of the rows that later steps take: the first pass draws them all, if there is room for them."""
    learns = getattr(model, "metric", None) is not None
    samples = (*SAMPLES, sampled_for_rounds(blocks.n_columns)) if learns else SAMPLES
    numbers = np.unique(np.concatenate([sample_rows(blocks.n_rows, most, seed=seed) for most, seed in samples]))
    return numbers if 8 * len(numbers) * blocks.n_columns <= memory_budget() // 32 else numbers[:0]


def learn(model: Any, summary: Any, first: bool, classes: Any) -> None:
    if first:
        model._learn(summary, classes)
    else:
        model._require_same(classes)


@dataclass(frozen=True)
class CheckedRows:
    """A block of finite numbers of a type that features are made of, with targets and sound weights."""

    dtypes: tuple[Any, ...]

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
