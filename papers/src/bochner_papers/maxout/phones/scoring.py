"""Phone error rate: the edits that turn what was recognised into what was said, over the phones that were said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def edit_distance(said: Sequence[str], heard: Sequence[str]) -> int:
    """The smallest number of insertions, deletions and substitutions."""
    row = np.arange(len(heard) + 1)
    numbers = np.arange(len(heard) + 1)
    for k, phone in enumerate(said, start=1):
        different = np.array([phone != other for other in heard], dtype=int)
        best = np.concatenate([[k], np.minimum(row[1:] + 1, row[:-1] + different)])
        # An insertion comes from the left in the same row: the running minimum of what is left after its cost.
        row = np.minimum.accumulate(best - numbers) + numbers
    return int(row[-1])


def phone_error_rate(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> float:
    """Per cent, over all utterances together: (said, heard) of each."""
    edits = phones = 0
    for said, heard in pairs:
        edits += edit_distance(said, heard)
        phones += len(said)
    return 100.0 * edits / phones
