"""From sound to rows: log mel energies (or cepstra) every 10 ms, normalised, with neighbours on both sides."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

RATE = 16_000
WINDOW, HOP, TRANSFORM = 400, 160, 512  # samples: 25 ms, 10 ms, and the length of the Fourier transform
FILTERS, CONTEXT = 40, 5
FLOOR = 1e-8  # of the mean energy of a recording, below which is silence; relative, so that loudness does not matter


def mel(hertz: np.ndarray | float) -> np.ndarray:
    return np.asarray(2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0))


def filter_bank(filters: int = FILTERS, lowest: float = 60.0, highest: float = RATE / 2) -> np.ndarray:
    """Triangles that are evenly spaced in mel, (filters, frequencies)."""
    corners = np.linspace(mel(lowest), mel(highest), filters + 2)
    at = mel(np.fft.rfftfreq(TRANSFORM, 1.0 / RATE))
    rising = (at - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    falling = (corners[2:, None] - at) / (corners[2:] - corners[1:-1])[:, None]
    return np.maximum(0.0, np.minimum(rising, falling))


def log_mel(signal: np.ndarray, filters: int = FILTERS) -> np.ndarray:
    """Log energies of the filters, one row per 10 ms."""
    signal = np.asarray(signal, dtype=np.float64)
    emphasised = np.append(signal[:1], signal[1:] - 0.97 * signal[:-1])
    emphasised = np.pad(emphasised, (0, max(0, WINDOW - len(emphasised))))
    windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(windows * np.hamming(WINDOW), TRANSFORM)) ** 2
    energies = power @ filter_bank(filters).T
    return np.log(np.maximum(energies, FLOOR * max(float(energies.mean()), np.finfo(float).tiny)))


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
