"""Figures 3 to 5: softmax on Fastfood features in small batches, beside softmax on the pixels.

RBF-Matern features with t = 40 and sigma = 1, pixels in [0, 1], batches of 10, 20 epochs. The paper's features are
plain cosines and sines and its rate of 0.001 is for those; the library's carry 1/sqrt(frequencies), so that the same
walk has the rate 0.001 times the number of frequencies. The paper's bias is one column more, with 1/(1024 E) of their
squared length: the walk goes without it, and it is counted where equation 22 is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from bochner import Fastfood, RandomFeatureClassifier, data
from bochner.solvers import SGD

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from .pixel_softmax import PixelSoftmax

SEED = 1398239763
DEGREE, BANDWIDTH = 40, 1.0
BATCH, RATE, PIXEL_RATE, EPOCHS = 10, 0.001, 0.01, 20
SOLVED = 2  # expansions whose coefficients are also solved for exactly


def run(read: str, rows: int, test_rows: int, most: int, job: Job) -> Findings:
    """Expansions double from 1 to `most`."""
    epochs, most = (6, 4) if job.quick else (EPOCHS, most)
    expansions = [1 << k for k in range(most.bit_length())]
    split = small_digits() if job.quick else scaled(getattr(data, read)().first(rows, test_rows), 255)
    names = {count: f"{count} expansion{'s' if count > 1 else ''}" for count in expansions}
    models: dict[str, Any] = {"pixels": PixelSoftmax(learning_rate=PIXEL_RATE, batch_size=BATCH, seed=SEED)}
    models |= {names[count]: kernel_model(split.X.shape[1], count) for count in expansions}
    curves, seconds = {}, {}
    for name, model in models.items():
        begun = time.perf_counter()
        curves[name] = list(errors_by_epoch(model, split, epochs))
        seconds[name] = time.perf_counter() - begun
        job.say(f"{name}: test error {curves[name][-1]:.2f} % after {epochs} epochs, {seconds[name]:.0f} s")
    final = {name: curve[-1] for name, curve in curves.items()}
    return Findings(
        settings={
            "rows": len(split.X), "test rows": len(split.X_test), "columns, padded": padded(split.X.shape[1]),
            "kernel": f"RBF-Matern, t = {DEGREE}, sigma = {BANDWIDTH:g}", "seed": SEED, "epochs": epochs,
            "batch": BATCH, "learning rate": f"{RATE:g} on plain cosines and sines; {PIXEL_RATE:g} on pixels",
            "seconds of a curve": {name: round(taken, 1) for name, taken in seconds.items()},
        },
        comparisons=[Comparison(f"test error, {name}", None, error) for name, error in final.items()]
        + [solved(split, SOLVED)],
        claims=claims(final, names, split),
        charts=[
            Chart("Test error by epoch", curve_rows(curves), "epoch", "test error, %", "model"),
            Chart("Test error after the last epoch", last_rows(final, names), "expansions", "test error, %", "model",
                  log_x=True),
        ],
        remarks=[
            "The figures print no numbers. The captions of all three give batches of 10; the text calls the first one "
            "full batch, with numbers of rows that are powers of two.",
            "The paper calls this comparable to deep learning without saying to which network: not judged here.",
        ],
    )  # fmt: skip


def scaled(split: data.Split, largest: float) -> data.Split:
    """Pixels in [0, 1]."""
    factor = np.float32(1 / largest)
    return split._replace(X=split.X * factor, X_test=split.X_test * factor)


def small_digits() -> data.Split:
    X, y = load_digits(return_X_y=True)
    return scaled(data.Split(X[:1000], y[:1000], X[1000:1500], y[1000:1500]), 16)


def padded(columns: int) -> int:
    """The next power of two."""
    return 1 << (columns - 1).bit_length()


def features(columns: int, expansions: int) -> Fastfood:
    return Fastfood(
        2 * padded(columns) * expansions, kernel="ball_matern", degree=DEGREE, bandwidth=BANDWIDTH, precision="float32",
        random_state=SEED,
    )  # fmt: skip


def kernel_model(columns: int, expansions: int, bias: bool = False) -> RandomFeatureClassifier:
    rate = RATE * padded(columns) * expansions
    walk = SGD(batch_size=BATCH, learning_rate=rate, momentum=0.0, schedule="constant", validation=0)
    basis = features(columns, expansions)
    return RandomFeatureClassifier(
        basis, loss="logistic", alpha=0.0, solver=walk, fit_intercept=bias, random_state=SEED
    )


def errors_by_epoch(model: Any, split: data.Split, epochs: int) -> Iterator[float]:
    """Per cent of the test rows that are wrong, after each epoch."""
    for _ in range(epochs):
        model.partial_fit(split.X, split.y, classes=np.unique(split.y))
        yield 100 * float(np.mean(model.predict(split.X_test) != split.y_test))


def solved(split: data.Split, expansions: int) -> Comparison:
    """What the same features do when least squares is solved rather than walked towards."""
    begun = time.perf_counter()
    model = RandomFeatureClassifier(features(split.X.shape[1], expansions), random_state=SEED).fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    error = 100 * float(np.mean(model.predict(split.X_test) != split.y_test))
    return Comparison(f"test error, {expansions} expansions, least squares solved in {seconds:.0f} s", None, error)


def learned_numbers(split: data.Split, expansions: int) -> int:
    """How many numbers a model with a bias has learned, counted in a model."""
    model = kernel_model(split.X.shape[1], expansions, bias=True)
    model.partial_fit(split.X[:100], split.y[:100], classes=np.unique(split.y))
    return int(np.size(model.coef_) + np.size(model.intercept_))


def claims(final: dict[str, float], names: dict[int, str], split: data.Split) -> list[Claim]:
    errors = [final[name] for name in names.values()]
    below = [name for name in names.values() if final[name] < final["pixels"]]
    counted = {count: learned_numbers(split, count) for count in names}
    classes, size = len(np.unique(split.y)), padded(split.X.shape[1])
    listed = ", ".join(f"{final[name]:.2f} % with {name}" for name in names.values())
    return [
        Claim("the more expansions, the better", errors == sorted(errors, reverse=True), listed),
        Claim(
            "RBF-Matern features outdo logistic regression on the pixels",
            names[max(names)] in below,
            f"{final['pixels']:.2f} % on pixels; {listed}",
        ),
        Claim(
            "equation 22: C (2 [size] E + 1) numbers are learned",
            all(counted[count] == classes * (2 * size * count + 1) for count in names),
            ", ".join(f"{number:,} for E = {count}" for count, number in counted.items()),
        ),
    ]


def curve_rows(curves: dict[str, list[float]]) -> list[dict[str, object]]:
    return [
        {"epoch": epoch, "test error, %": round(error, 3), "model": name}
        for name, curve in curves.items() for epoch, error in enumerate(curve, start=1)
    ]  # fmt: skip


def last_rows(final: dict[str, float], names: dict[int, str]) -> list[dict[str, object]]:
    """The pixels have no expansions: their error is a level line."""
    rows: list[dict[str, object]] = []
    for count, name in names.items():
        rows += [
            {"expansions": count, "test error, %": final[name], "model": "RBF-Matern"},
            {"expansions": count, "test error, %": final["pixels"], "model": "logistic regression on pixels"},
        ]
    return rows


EXPERIMENTS = tuple(
    Experiment(name, "mckernel", title, partial(run, read, rows, test_rows, most), (read,))
    for name, title, read, rows, test_rows, most in (
        ("mckernel-mnist-32768", "Figure 3: MNIST, 32,768 rows", "mnist", 32_768, 8_192, 8),
        ("mckernel-mnist", "Figure 4: MNIST in mini-batches", "mnist", 60_000, 10_000, 4),
        ("mckernel-fashion", "Figure 5: Fashion-MNIST in mini-batches", "fashion_mnist", 60_000, 10_000, 4),
    )
)
