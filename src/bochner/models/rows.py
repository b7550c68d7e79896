"""Rows, targets and weights as they come, made ready: arrays are checked whole, blocks one by one as they pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..bases.heuristics import SAMPLE
from ..blocks import Block, Blocks, CheckpointedBlocks, Journal, MemoryBlocks
from ..validation import require_finite
from .checks import check_weights
from .sampling import Sample

SURVEYED = 1 << 22  # numbers in a block of the survey, whatever the memory budget: its sums are the same bits for any


class Ready(NamedTuple):
    """Blocks with coded targets and weights; sampled rows and the largest |x| for the basis."""

    blocks: Blocks
    sample: Any
    largest: float
    journal: Journal | None

    def remember(self, make: Callable[[], Any]) -> Any:
        """A value that is the same if the work is taken up again."""
        return make() if self.journal is None else self.journal.value(make)


OpenJournal = Callable[[Blocks], Journal | None]


@dataclass
class Survey:
    """What a pass over rows tells before anything is fitted: about the rows, by a sample, and about targets.

    Rows of weight zero are not there: not for the bandwidth, nor for the largest number.
    """

    sample: Sample
    weight: float
    present: int
    targets: Any

    @classmethod
    def of(cls, model: Any, block: Block) -> Survey:
        n = block.X.shape[0]
        weight = np.ones(n) if block.weight is None else block.weight
        there = np.flatnonzero((weight > 0) & ~model._is_weightless(block.y))
        sample = Sample.of(block.X if len(there) == n else block.X[there], block.start + there, SAMPLE)
        return cls(sample, float(weight[there].sum()), len(there), model._summarize(block.y, block.weight))

    def __iadd__(self, other: Survey) -> Survey:
        self.sample += other.sample
        self.weight += other.weight
        self.present += other.present
        self.targets += other.targets
        return self


def own_targets(blocks: Blocks, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, targets and weights of blocks, which have their own."""
    if y is not None or sample_weight is not None:
        raise ValueError("the blocks have their own targets and weights: give none beside them.")
    return (blocks.X, blocks.y, blocks.weight) if isinstance(blocks, MemoryBlocks) else (blocks, None, None)


def ready_arrays(
    model: Any, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any, whole: bool, open_journal: OpenJournal
) -> Ready:
    """Arrays: checked as a whole, then as blocks are."""
    X, y = model._validate(X, y, reset=first)
    weight = check_weights(sample_weight, X.shape[0])
    survey = survey_of(model, MemoryBlocks(X, y, weight))
    if model._classifies and first:
        check_classification_targets(y)
    learn(model, survey.targets, first, classes)
    codes = model._code(y)
    weight = check_weights(model._weigh(y, weight, survey.targets if whole else None), X.shape[0])
    blocks: Blocks = MemoryBlocks(X, codes, weight)
    journal = open_journal(blocks)
    if journal is not None:
        blocks = CheckpointedBlocks(blocks, journal)
    if weight is not None and (weight == 0).any():
        blocks = blocks.map(present_rows, present=int(np.count_nonzero(weight)))
    return Ready(blocks, survey.sample.rows, survey.sample.largest, journal)


def ready_blocks(
    model: Any, blocks: Blocks, *, first: bool, classes: Any, whole: bool, open_journal: OpenJournal
) -> Ready:
    """Blocks: a survey, then each block is checked and coded as it comes."""
    if blocks.n_rows == 0:
        raise ValueError("there are no rows: at least one is needed.")
    model._meet_blocks(blocks, first)
    journal = open_journal(blocks)
    if journal is not None:
        blocks = CheckpointedBlocks(blocks, journal)
    checked = blocks.map(lambda block: check_block(block, model._dtypes()))
    survey: Survey | None = None
    if first or whole:
        survey = survey_of(model, checked)
        if not survey.weight > 0:
            raise ValueError("sample_weight must not be all zero.")
    targets = None if survey is None else survey.targets
    learn(model, targets, first, classes)

    def code(block: Block) -> Block:
        weight = model._weigh(block.y, block.weight, targets if whole else None)
        return present_rows(Block(block.X, model._code(block.y), weight, block.start))

    if survey is None:
        return Ready(checked.map(code), None, 0.0, journal)
    return Ready(checked.map(code, present=survey.present), survey.sample.rows, survey.sample.largest, journal)


def present_rows(block: Block) -> Block:
    """Without the rows of weight zero."""
    return block if block.weight is None or (block.weight > 0).all() else block.only(block.weight > 0)


def survey_of(model: Any, blocks: Blocks) -> Survey:
    rows = max(1, min(1 << 14, SURVEYED // max(blocks.n_columns, 1)))
    return blocks.reduce(lambda block: Survey.of(model, block), rows=rows, title="survey")


def learn(model: Any, summary: Any, first: bool, classes: Any) -> None:
    if first:
        model._learn(summary, classes)
    else:
        model._require_same(classes)


def check_block(block: Block, dtypes: list[Any]) -> Block:
    """A block of finite numbers of a type that features are made of, with targets and sound weights."""
    X, y, weight = block.X, block.y, block.weight
    if y is None:
        raise ValueError("the blocks have no targets: name the target column.")
    if X.dtype not in dtypes:
        X = X.astype(np.float64)
    require_finite(X, f"the block from row {block.start} on")
    return Block(X, np.asarray(y), check_weights(weight, X.shape[0], some=True), block.start)
