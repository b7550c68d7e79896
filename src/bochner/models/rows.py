"""Rows, targets and weights as they come, made ready: arrays are checked whole, blocks one by one as they pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..bases.settle import SAMPLE, largest_size
from ..blocks import Block, Blocks, CheckpointedBlocks, Journal, MemoryBlocks
from ..blocks.base import stack
from ..streams import sample_rows
from ..validation import require_finite
from .checks import check_weights

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
    """What a pass over blocks tells before anything is fitted."""

    sample: Any
    largest: float
    weight: float
    targets: Any

    def __iadd__(self, other: Survey) -> Survey:
        self.sample = stack([self.sample, other.sample])
        self.largest, self.weight = max(self.largest, other.largest), self.weight + other.weight
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
    """Arrays: checked, coded, and without the rows of weight zero, which are not there for the bandwidth either."""
    X, y = model._validate(X, y, reset=first)
    weight = check_weights(sample_weight, X.shape[0])
    summary = model._summarize(y, weight)
    if model._classifies and first:
        check_classification_targets(y)
    learn(model, summary, first, classes)
    codes = model._code(y)
    weight = check_weights(model._weigh(y, weight, summary if whole else None), X.shape[0])
    if weight is not None and (weight == 0).any():
        X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
    blocks: Blocks = MemoryBlocks(X, codes, weight)
    journal = open_journal(blocks)
    if journal is not None:
        blocks = CheckpointedBlocks(blocks, journal)
    sample = X[sample_rows(X.shape[0], SAMPLE, seed=0)] if first else None
    return Ready(blocks, sample, largest_size(X) if first else 0.0, journal)


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
    survey = Survey(None, 0.0, 0.0, None)
    if first or whole:
        numbers = sample_rows(blocks.n_rows, SAMPLE, seed=0)
        survey = checked.reduce(
            lambda block: survey_block(model, block, numbers), rows=survey_rows(blocks), title="survey"
        )
        if not survey.weight > 0:
            raise ValueError("sample_weight must not be all zero.")
    learn(model, survey.targets, first, classes)

    def code(block: Block) -> Block:
        weight = model._weigh(block.y, block.weight, survey.targets if whole else None)
        coded = Block(block.X, model._code(block.y), weight, block.start)
        return coded if weight is None or (weight > 0).all() else coded.only(weight > 0)

    return Ready(checked.map(code), survey.sample, survey.largest, journal)


def survey_rows(blocks: Blocks) -> int:
    return max(1, min(1 << 14, SURVEYED // max(blocks.n_columns, 1)))


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


def survey_block(model: Any, block: Block, numbers: np.ndarray) -> Survey:
    inside = (numbers >= block.start) & (numbers < block.start + block.X.shape[0])
    chosen = numbers[inside] - block.start
    weight = np.ones(block.X.shape[0]) if block.weight is None else block.weight
    sample = block.X[chosen[weight[chosen] > 0]]
    present = block.X if (weight > 0).all() else block.X[weight > 0]
    return Survey(sample, largest_size(present), float(weight.sum()), model._summarize(block.y, block.weight))
