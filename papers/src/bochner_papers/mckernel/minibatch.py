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
from sklearn.neural_network import MLPClassifier

from bochner import Fastfood, RandomFeatureClassifier, data
from bochner.solvers import SGD

from ..findings import Cause, Chart, Claim, Comparison, Experiment, Findings, Job
from ..plain import AS_IN_PAPERS
from .pixel_softmax import PixelSoftmax

SEED = 1398239763
DEGREE, BANDWIDTH = 40, 1.0
UNITS = (256, 128)  # of the small network
BATCH, RATE, PIXEL_RATE, EPOCHS = 10, 0.001, 0.01, 20
FEWER = {"16 expansions": 10}  # epochs, for time
SOLVED = 2  # expansions whose coefficients are also solved for exactly


def run(read: str, rows: int, test_rows: int, most: int, full_batch: bool, job: Job) -> Findings:
    """Expansions double from 1 to `most`; the first figure is also run in full batches, as its text has it."""
    epochs, most = (6, 4) if job.quick else (EPOCHS, most)
    expansions = [1 << k for k in range(most.bit_length())]
    split = small_digits() if job.quick else scaled(getattr(data, read)().first(rows, test_rows), 255)
    names = {count: f"{count} expansion{'s' if count > 1 else ''}" for count in expansions}
    parts: dict[str, tuple[Any, ...]] = {"pixels": ("pixels",), "small network": ("network",)}
    parts |= {name: ("features", count, BATCH) for count, name in names.items()}
    if full_batch:
        parts[f"{names[1]}, full batch"] = ("features", 1, len(split.X))
    curves, seconds = {}, {}
    for name, kind in parts.items():
        some = epochs if job.quick else FEWER.get(name, epochs)
        curves[name], seconds[name] = job.part(name, curve_of, kind, split, some)
        job.say(f"{name}: test error {curves[name][-1]:.2f} % after {some} epochs, {seconds[name]:.0f} s")
    last = min(map(len, curves.values()))  # an epoch that all have
    final = {name: curve[last - 1] for name, curve in curves.items()}
    error, took = job.part("solved", solved, split, SOLVED)
    return Findings(
        settings={
            "rows": len(split.X), "test rows": len(split.X_test), "columns, padded": padded(split.X.shape[1]),
            "kernel": f"RBF-Matern, t = {DEGREE}, sigma = {BANDWIDTH:g}", "seed": SEED, "epochs": epochs,
            "batch": BATCH, "learning rate": f"{RATE:g} on plain cosines and sines; {PIXEL_RATE:g} on pixels",
            "seconds of a curve": {name: round(taken, 1) for name, taken in seconds.items()},
        },
        comparisons=[
            Comparison(f"test error, {name}{after}", None, found, spread=counted_spread(found, len(split.X_test)))
            for name, found, after in [
                *((name, curve[-1], f", {len(curve)} epochs") for name, curve in curves.items()),
                (f"{names[SOLVED]}, least squares solved in {took:.0f} s", error, ""),
            ]
        ],
        claims=claims(final, names, split),
        charts=[
            Chart("Test error by epoch", curve_rows(curves), "epoch", "test error, %", "method", log_y=True),
            Chart(f"Test error after {last} epochs", last_rows(final, names), "expansions", "test error, %", "method",
                  log_x=True),
        ],
        remarks=[
            "The figures print no numbers. The captions of all three give batches of 10; the text calls the first one "
            "full batch, with numbers of rows that are powers of two.",
            "The paper says to no network what it is comparable to: the small one here has layers of 256 and 128 units "
            "and as many epochs, of batches of 100 by Adam.",
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


def kernel_model(columns: int, expansions: int, bias: bool = False, batch: int = BATCH) -> RandomFeatureClassifier:
    rate = RATE * padded(columns) * expansions
    walk = SGD(batch_size=batch, learning_rate=rate, momentum=0.0, schedule="constant", validation=0)
    basis = features(columns, expansions)
    return RandomFeatureClassifier(
        basis, loss="logistic", alpha=0.0, solver=walk, fit_intercept=bias, random_state=SEED, **AS_IN_PAPERS
    )


def errors_by_epoch(model: Any, split: data.Split, epochs: int) -> Iterator[float]:
    """Per cent of the test rows that are wrong, after each epoch."""
    for _ in range(epochs):
        model.partial_fit(split.X, split.y, classes=np.unique(split.y))
        yield 100 * float(np.mean(model.predict(split.X_test) != split.y_test))


def curve_of(kind: tuple[Any, ...], split: data.Split, epochs: int) -> tuple[list[float], float]:
    """Errors by epoch, and the seconds they took."""
    if kind[0] == "pixels":
        model: Any = PixelSoftmax(learning_rate=PIXEL_RATE, batch_size=BATCH, seed=SEED)
    elif kind[0] == "network":
        model = MLPClassifier(UNITS if len(split.X) > 10_000 else (32,), batch_size=100, random_state=SEED)
    else:
        model = kernel_model(split.X.shape[1], kind[1], batch=kind[2])
    begun = time.perf_counter()
    return list(errors_by_epoch(model, split, epochs)), time.perf_counter() - begun


def counted_spread(error: float, rows: int) -> float:
    """Of an error in per cent that was counted on so many rows."""
    return float(np.sqrt(max(error, 100 / rows) * (100 - error) / rows))


def solved(split: data.Split, expansions: int) -> tuple[float, float]:
    """What the same features do when least squares is solved rather than walked towards; and the seconds it takes."""
    begun = time.perf_counter()
    model = RandomFeatureClassifier(features(split.X.shape[1], expansions), random_state=SEED, **AS_IN_PAPERS)
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    return 100 * float(np.mean(model.predict(split.X_test) != split.y_test)), seconds


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
        comparable(final, names, len(split.X_test)),
        *([full_batch_claim(final, names)] if f"{names[1]}, full batch" in final else []),
        Claim(
            "equation 22: C (2 [size] E + 1) numbers are learned",
            all(counted[count] == classes * (2 * size * count + 1) for count in names),
            ", ".join(f"{number:,} for E = {count}" for count, number in counted.items()),
        ),
    ]


def comparable(final: dict[str, float], names: dict[int, str], rows: int) -> Claim:
    """Undecided within one standard deviation of a difference of two errors counted on the same rows."""
    best, network = min(final[name] for name in names.values()), final["small network"]
    spread = float(np.hypot(counted_spread(best, rows), counted_spread(network, rows)))
    return Claim(
        "comparable to deep learning: no worse than a small network",
        None if 0 < best - network <= spread else best <= network,
        f"{best:.2f} % with {max(names)} expansions, {network:.2f} % by the network (± {spread:.2f}) "
        "after as many epochs",
        why=Cause("fixed features against learned ones, and the same number of epochs",
                  "errors still fall with every doubling of the expansions", "mckernel-fashion"),
    )  # fmt: skip


def full_batch_claim(final: dict[str, float], names: dict[int, str]) -> Claim:
    full, small = final[f"{names[1]}, full batch"], final[names[1]]
    return Claim(
        "Figure 3 is of full batches, as its text says (its caption says batches of 10)", full < 1.2 * small,
        f"{full:.2f} % by full batches, {small:.2f} % by batches of 10, at the same rate and epochs",
        why=Cause("twenty steps of full batches go nowhere at the printed rate",
                  "both were run with the same features, rate and epochs", "mckernel-mnist-32768"),
    )  # fmt: skip


def curve_rows(curves: dict[str, list[float]]) -> list[dict[str, object]]:
    return [
        {"epoch": epoch, "test error, %": round(error, 3), "method": name}
        for name, curve in curves.items() for epoch, error in enumerate(curve, start=1)
    ]  # fmt: skip


def last_rows(final: dict[str, float], names: dict[int, str]) -> list[dict[str, object]]:
    """Pixels and the network have no expansions: their errors are level lines."""
    rows: list[dict[str, object]] = []
    for count, name in names.items():
        rows += [
            {"expansions": count, "test error, %": final[name], "method": "Fastfood"},
            {"expansions": count, "test error, %": final["pixels"], "method": "pixels"},
            {"expansions": count, "test error, %": final["small network"], "method": "small network"},
        ]
    return rows


EXPERIMENTS = tuple(
    Experiment(name, "mckernel", title, partial(run, read, rows, test_rows, most, full), (read,))
    for name, title, read, rows, test_rows, most, full in (
        ("mckernel-mnist-32768", "Figure 3: MNIST, 32,768 rows", "mnist", 32_768, 8_192, 8, True),
        ("mckernel-mnist", "Figure 4: MNIST in mini-batches", "mnist", 60_000, 10_000, 16, False),
        ("mckernel-fashion", "Figure 5: Fashion-MNIST in mini-batches", "fashion_mnist", 60_000, 10_000, 16, False),
    )
)
