"""The phones of TIMIT: 61 in the transcripts, 49 to be learned (48 and the glottal stop), 39 to be scored by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

TRANSCRIBED = """
    aa ae ah ao aw ax ax-h axr ay b bcl ch d dcl dh dx eh el em en eng epi er ey f g gcl h# hh hv ih ix iy jh k kcl l
    m n ng nx ow oy p pau pcl q r s sh t tcl th uh uw ux v w y z zh
""".split()  # noqa: SIM905

# The customary folding of Lee and Hon: transcripts to 48 models, and those to 39 classes.
MODELLED_AS = {
    "ux": "uw", "axr": "er", "ax-h": "ax", "em": "m", "nx": "n", "eng": "ng", "hv": "hh", "pcl": "cl", "tcl": "cl",
    "kcl": "cl", "bcl": "vcl", "dcl": "vcl", "gcl": "vcl", "h#": "sil", "pau": "sil",
}  # fmt: skip
SCORED_AS = {
    "ix": "ih", "ax": "ah", "ao": "aa", "el": "l", "en": "n", "zh": "sh", "cl": "sil", "vcl": "sil", "epi": "sil",
}  # fmt: skip
UNSCORED = "q"  # the glottal stop is learned, but no error is counted for it

PHONES = sorted({MODELLED_AS.get(phone, phone) for phone in TRANSCRIBED})
NUMBER = {phone: k for k, phone in enumerate(PHONES)}
STATES_PER_PHONE = 3

Segment = tuple[int, int, str]  # first sample, sample after the last, phone of the transcript


def modelled(phone: str) -> int:
    """The number of the model of a transcribed phone."""
    return NUMBER[MODELLED_AS.get(phone, phone)]


def scored(phones: Iterable[int]) -> list[str]:
    """The phones that errors are counted by: 39 classes, no glottal stops, and one phone where the same is repeated."""
    names = [SCORED_AS.get(PHONES[k], PHONES[k]) for k in phones if PHONES[k] != UNSCORED]
    return [name for k, name in enumerate(names) if k == 0 or names[k - 1] != name]


def states(segments: Sequence[Segment], centres: np.ndarray) -> np.ndarray:
    """The state of each frame, by the sample in its middle: three states for the thirds of each segment."""
    starts = np.array([start for start, _, _ in segments])
    ends = np.array([end for _, end, _ in segments])
    which = np.clip(np.searchsorted(starts, centres, side="right") - 1, 0, len(segments) - 1)
    share = (centres - starts[which]) / (ends[which] - starts[which])
    third = np.clip((STATES_PER_PHONE * share).astype(int), 0, STATES_PER_PHONE - 1)
    models = np.array([modelled(phone) for _, _, phone in segments])
    return STATES_PER_PHONE * models[which] + third
