"""A fit to 400,000 features that share projections, as in Table 3 of the maxout paper, to what a network teaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn.base import clone

from ..bases import RandomMaxout
from ..models import RandomFeatureRegressor
from ..ops.devices import require_device
from .timing import Entry

if TYPE_CHECKING:
    from torch import Tensor

Result = TypeVar("Result")
ROWS, COLUMNS, FEATURES, POOL, CLASSES = 2_000_000, 440, 20_000, 4, 147  # the shape of TIMIT in the maxout paper
LOT = 1 << 16  # rows that plain torch works on at a time
SHARED, SHARED_FEATURES = 15_000, 400_000  # of the largest model of Table 3 there
TEACHER, NOISE = 64, 0.5  # hidden units of the network that targets come from, and the noise of its scores
PENALTY = 1e-2  # of fits to what it teaches, over the mean of diag(Z'Z)


def seconds_of(action: Callable[[], object], runs: int = 5) -> float:
    """The median of several runs, by events of the device, after one that compiles."""
    import torch

    action()
    found = []
    for _ in range(runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        action()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(found))


def wall(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds on the clock of the host, to the end of all that was asked of the device; and the result."""
    import torch

    torch.cuda.synchronize()
    begun = time.perf_counter()
    made = action()
    torch.cuda.synchronize()
    return time.perf_counter() - begun, made


def taught(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Rows (n, COLUMNS), and the labels that a random network of two layers gives them, with noise in its scores."""
    import torch

    made = torch.Generator("cuda").manual_seed(seed)
    draw = partial(torch.randn, generator=made, device="cuda")
    into, out = draw((COLUMNS, TEACHER)) / COLUMNS**0.5, draw((TEACHER, CLASSES)) / TEACHER**0.5
    X = draw((n, COLUMNS))
    hidden = torch.relu(X @ into * 2.0) - 0.8
    return X, (hidden @ out + NOISE * draw((n, CLASSES))).argmax(dim=1)


def bench_gpu_shared(quick: bool = False) -> list[Entry]:
    """400,000 features that share 15,000 projections, by conjugate gradients, beside an exact fit to 20,000."""
    require_device("cuda")
    n, m, pool, few = (40_000, 20_000, 2000, 2000) if quick else (ROWS, SHARED_FEATURES, SHARED, FEATURES)
    X, y = taught(n + LOT // 2)
    alone = RandomMaxout(few, pool_size=POOL, random_state=0)
    shared = RandomMaxout(m, pool_size=POOL, shared_projections=pool, random_state=0)
    work = f"{n:,} x {COLUMNS} of a teacher, {CLASSES} outputs"
    return [
        held_out(work, f"maxout {few:,}, exact", alone, "cholesky", X, y, n, few),
        held_out(work, f"maxout {m:,}, {pool:,} shared projections", shared, "cg", X, y, n, few),
    ]


def held_out(work: str, name: str, basis: RandomMaxout, solver: str, X: Tensor, y: Tensor, n: int, few: int) -> Entry:
    """A fit to codes of the first n rows, and the error on the others.

    The penalty is a share of mean diag(Z'Z) of `few` features: features have about the same length however many they
    are, so that it is the same penalty for all.
    """
    import torch

    codes = 2.0 * (y[:n, None] == torch.arange(CLASSES, device=y.device)).to(torch.float32) - 1.0
    some = clone(basis).set_params(precision="int8").fit(X[:2000])
    squares = some.features(X[:500]).double().square().sum(dim=1).mean() * float(some.scale_) ** 2
    alpha = PENALTY * n * float(squares) / few
    model = RandomFeatureRegressor(basis, alpha=alpha, precision="int8", solver=solver, scale=None, linear=False)
    torch.cuda.reset_peak_memory_stats()
    seconds, _ = wall(lambda: model.fit(X[:n], codes))
    peak = torch.cuda.max_memory_allocated() / 1e9
    wrong = [
        float((model.predict(X[rows : rows + 4096]).argmax(dim=1) != y[rows : rows + 4096]).double().mean())
        for rows in range(n, len(X) - 4095, 4096)
    ]
    note = f"{100 * float(np.mean(wrong)):.2f} % of rows held out wrong; peak {peak:.1f} GB; {model.solution_.status}"
    return Entry(work, name, "ours", seconds, n / seconds, "rows/s", note)
