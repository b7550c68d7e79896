"""From sound to rows: log mel energies (or cepstra) every 10 ms, normalised, with neighbours on both sides."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from ...sound import log_mel_frames

RATE = 16_000
WINDOW, HOP = 400, 160  # samples: 25 ms, 10 ms
FILTERS, LOWEST, CONTEXT = 40, 60.0, 5
EMPHASIS = 0.97  # of the sample before, taken off: speech falls towards high frequencies


def log_mel(signal: np.ndarray, filters: int = FILTERS) -> np.ndarray:
    """Log energies of the filters, one row per 10 ms."""
    signal = np.asarray(signal, dtype=np.float64)
    emphasised = np.append(signal[:1], signal[1:] - EMPHASIS * signal[:-1])
    window, step = WINDOW / RATE, HOP / RATE
    return log_mel_frames(emphasised, RATE, bands=filters, lowest=LOWEST, window=window, step=step)


def cepstra(signal: np.ndarray, coefficients: int = 13) -> np.ndarray:
    """Mel-frequency cepstral coefficients: the first cosine coefficients of the log energies."""
    return np.asarray(dct(log_mel(signal), type=2, norm="ortho", axis=1)[:, :coefficients])


def frame_centres(count: int) -> np.ndarray:
    """The samples in the middle of each frame."""
    return np.arange(count) * HOP + WINDOW // 2


def normalized(recordings: list[np.ndarray]) -> list[np.ndarray]:
    """Columns of mean 0 and variance 1 over all recordings of one speaker: a voice and a room are taken out."""
    everything = np.concatenate(recordings)
    mean, deviation = everything.mean(axis=0), everything.std(axis=0)
    return [(rows - mean) / np.where(deviation > 0, deviation, 1.0) for rows in recordings]


def spliced(rows: np.ndarray, context: int = CONTEXT) -> np.ndarray:
    """Each row with `context` rows before and after; the first and the last are repeated beyond the ends."""
    padded = np.pad(rows, ((context, context), (0, 0)), mode="edge")
    return np.hstack([padded[k : k + len(rows)] for k in range(2 * context + 1)])
