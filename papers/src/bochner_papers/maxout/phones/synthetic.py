"""Made-up speech for quick runs: a few phones as sums of resonances or as noise, by voices of different pitch."""

from __future__ import annotations

import numpy as np

from .corpus import Utterance
from .frames import RATE
from .labels import Segment

RESONANCES = {"aa": (730, 1090), "iy": (270, 2290), "uw": (300, 870), "eh": (530, 1840)}  # hertz
PLACES = 8  # phones of an utterance


def utterances(speakers: int = 6, each: int = 2, seed: int = 0) -> list[Utterance]:
    """Phones in a random order without repetition, silence at both ends."""
    rng = np.random.default_rng(seed)
    found = []
    for speaker in range(speakers):
        pitch, tract = rng.uniform(90, 220), rng.uniform(0.9, 1.1)
        for _ in range(each):
            found.append(spoken(f"speaker {speaker}", pitch, tract, rng))
    return found


def spoken(speaker: str, pitch: float, tract: float, rng: np.random.Generator) -> Utterance:
    phones = ["h#"]
    while len(phones) <= PLACES:
        phones.append(str(rng.choice([name for name in (*RESONANCES, "s") if name != phones[-1]])))
    signal: list[np.ndarray] = []
    segments: list[Segment] = []
    at = 0
    for phone in [*phones, "h#"]:
        length = int(rng.integers(1000, 2200))
        signal.append(sound(phone, length, pitch, tract, rng))
        segments.append((at, at + length, phone))
        at += length
    return Utterance(speaker, np.concatenate(signal).astype(np.int16), tuple(segments))


def sound(phone: str, length: int, pitch: float, tract: float, rng: np.random.Generator) -> np.ndarray:
    """Harmonics of the pitch, loud near the resonances; differences of noise for s; faint noise for silence."""
    noise = rng.standard_normal(length + 1)
    if phone not in RESONANCES:
        return 800.0 * np.diff(noise) if phone == "s" else 5.0 * noise[1:]
    harmonics = pitch * np.arange(1, int(4000 / pitch))
    loudness = sum(1.0 / (1.0 + ((harmonics - tract * centre) / 80.0) ** 2) for centre in RESONANCES[phone])
    waves = np.sin(2 * np.pi * harmonics[:, None] * np.arange(length) / RATE)
    return np.asarray(2000.0 * loudness @ waves + 300.0 * noise[1:])
