"""Speech as frames: short windows of a signal, their power in bands on the mel scale, as logarithms."""

from __future__ import annotations

import numpy as np
from scipy.fft import rfft


def log_mel_frames(
    signal: np.ndarray, rate: int, *, bands: int = 20, lowest: float = 0.0, window: float = 0.025, step: float = 0.010
) -> np.ndarray:
    """Logarithms of the power in `bands` mel bands from `lowest` hertz on, a row every `step` seconds: (frames, bands).

    Frames are `window` seconds long and tapered (Hamming); a signal shorter than one frame is padded with zeros.
    """
    length, hop = round(window * rate), round(step * rate)
    signal = np.asarray(signal, dtype=np.float64)
    signal = np.pad(signal, (0, max(0, length - len(signal))))
    starts = np.arange(0, len(signal) - length + 1, hop)
    frames = signal[starts[:, None] + np.arange(length)] * np.hamming(length)
    size = 1 << (length - 1).bit_length()
    power = np.abs(rfft(frames, size)) ** 2 / size
    energy = power @ mel_bands(bands, size, rate, lowest).T
    return np.log(energy + 1e-8 * max(float(energy.max()), 1e-12))  # silence has a floor, relative to the loudest band


def mel_bands(bands: int, size: int, rate: int, lowest: float = 0.0) -> np.ndarray:
    """Triangles (bands, size/2 + 1), evenly spaced on the mel scale up to half the rate; neighbours overlap."""
    edges = hertz(np.linspace(mel(lowest), mel(rate / 2), bands + 2))
    frequencies = np.arange(size // 2 + 1) * rate / size
    rising = (frequencies - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequencies) / (edges[2:] - edges[1:-1])[:, None]
    return np.clip(np.minimum(rising, falling), 0.0, None)


def mel(frequency: float) -> float:
    return 2595.0 * float(np.log10(1.0 + frequency / 700.0))


def hertz(mels: np.ndarray) -> np.ndarray:
    return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
