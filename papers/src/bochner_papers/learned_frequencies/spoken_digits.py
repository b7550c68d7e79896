"""Two stages on real bags: spoken digits as bags of frames, whose order is forgotten."""

from __future__ import annotations

import numpy as np

from bochner import data

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from ..sound import log_mel_frames
from .two_stages import FREQUENCIES, Bags, classified

SEEDS = 10
RATE = 8_000


def run(job: Job) -> Findings:
    bags = (hummed() if job.quick else spoken()).standardized()
    frequencies, seeds = (5, 1) if job.quick else (FREQUENCIES, SEEDS)
    steps = 10 if job.quick else 50
    found = {
        "learned": classified(bags, True, seeds, frequencies, max_iter=steps),
        "random": classified(bags, False, seeds, frequencies),
        "random, tenfold": classified(bags, False, seeds, 10 * frequencies),
    }
    for name, outcome in found.items():
        job.say(f"{name}: {outcome.told('%')}")
    sizes = [len(bag) for bag in bags.train]
    return Findings(
        settings={"bags": len(bags.train), "test bags": len(bags.test), "frames of a bag": f"{min(sizes)} to "
                  f"{max(sizes)}", "columns": bags.train[0].shape[1], "frequencies of each stage": frequencies,
                  "seeds": seeds},
        comparisons=[
            Comparison(f"test error, frequencies {name}", None, float(outcome.errors.mean()),
                       spread=float(outcome.errors.std()))
            for name, outcome in found.items()
        ],
        claims=[
            Claim(
                "ours: learned frequencies do better than as many random ones",
                bool(found["learned"].errors.mean() < found["random"].errors.mean()),
                ", ".join(f"{name}: {outcome.told('%')}" for name, outcome in found.items()), "ours",
            ),
        ],
        charts=[Chart("Test error over seeds", [
            {"frequencies": name, "test error, %": float(error)}
            for name, outcome in found.items() for error in outcome.errors
        ], "frequencies", "test error, %", kind="point")],
        remarks=["A bag forgets the order of its frames; each frame knows its neighbours by their difference alone."],
    )  # fmt: skip


def frames(signal: np.ndarray, rate: int) -> np.ndarray:
    """Mel bands less their mean over the recording (loudness, microphone), and their change over three frames."""
    bands = log_mel_frames(signal, rate)
    bands = bands - bands.mean()
    return np.hstack([bands, np.gradient(bands, axis=0) if len(bands) > 1 else 0 * bands])


def spoken() -> Bags:
    signals, digits, is_test, rate = data.spoken_digits()
    bags = [frames(signal, rate) for signal in signals]
    (train, y), (test, y_test) = (
        ([bags[k] for k in np.flatnonzero(part)], digits[part]) for part in (~is_test, is_test)
    )
    return Bags(train, y, test, y_test)


def hummed(count: int = 60, seed: int = 0) -> Bags:
    """For a quick run: three tones in noise, told apart by where their power is."""
    generator, seconds = np.random.default_rng(seed), np.arange(RATE // 4) / RATE
    labels = generator.integers(0, 3, count)
    pitch = np.array([300.0, 600.0, 1200.0])[labels]
    signals = np.sin(2 * np.pi * pitch[:, None] * seconds) + generator.standard_normal((count, len(seconds)))
    bags, half = [frames(signal, RATE) for signal in signals], count // 2
    return Bags(bags[:half], labels[:half], bags[half:], labels[half:])


EXPERIMENT = Experiment(
    "learned-spoken-digits", "kernel_learning_random_fourier", "Two stages: spoken digits as bags of frames", run,
    ("fsdd",),
)  # fmt: skip
