"""What a GPU does: a fit to two million rows, transforms, and pictures, beside plain torch in the same run."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import data, ops
from ..arrays import cast, to_numpy
from ..bases import RandomMaxout
from ..models import RandomFeatureClassifier
from ..moments import Centered, Moments
from ..ops.devices import require_device
from ..solvers import Solution, solve_prefixes, solve_quickly
from .gpu_pictures import FITS
from .gpu_shared import CLASSES, COLUMNS, FEATURES, LOT, POOL, ROWS, seconds_of, wall
from .timing import Entry, check

if TYPE_CHECKING:
    from torch import Tensor

SHARES = (1e-4, 1e-3, 1e-2)  # penalties, over the mean of diag(Z'Z)
SIZES, POOLS, SEEDS = (100, 500, 1000, 5000, 10_000), (1, 2, 4, 8, 16), 5


def bench_gpu(quick: bool = False) -> list[Entry]:
    """All of it; on a machine without a GPU one sentence says so."""
    require_device("cuda")
    parts = (transforms, fastfood, timit, maxout_table, many_features, pictures)
    return [entry for part in parts for entry in part(quick)]


def reference_of_torch() -> ModuleType:
    """The definitions for tensors."""
    return import_module("bochner.ops.torch_reference")


# ---- transforms ----


def transforms(quick: bool) -> list[Entry]:
    """H x of rows of 2^5 to 2^15 numbers, against a copy of them."""
    import torch

    found, reference = [], reference_of_torch()
    for dtype in (torch.float32, torch.bfloat16):
        numbers = torch.randn(1 << (24 if quick else 28), device="cuda").to(dtype)
        room = torch.empty_like(numbers)
        copying = seconds_of(partial(room.copy_, numbers))
        size = 2.0 * numbers.nbytes / 1e9
        for power in (5, 7, 10, 11, 12, 13, 14, 15):
            rows = numbers.view(-1, 1 << power)
            few = rows[:9].contiguous()
            check("fwht", bool(torch.equal(ops.fwht(few), reference.fwht(few))))
            work = f"fwht 2^{power} {str(dtype)[6:]}"
            ours = seconds_of(partial(ops.fwht, rows))
            found.append(Entry(work, "bochner", "ours", ours, size / ours, "GB/s"))
            found.append(Entry(work, "copy", "limit", copying, size / copying, "GB/s"))
            if power == 10:
                plain = seconds_of(partial(reference.fwht, rows), 2)
                found.append(Entry(work, "torch butterfly", "peer", plain, size / plain, "GB/s"))
    return found


def fastfood(quick: bool) -> list[Entry]:
    """Cosines and sines of structured projections, against writing as many numbers."""
    import torch

    n, size, expansions = (1 << (13 if quick else 17)), 1024, 4
    rng = np.random.default_rng(0)
    x = torch.randn((n, 1000), device="cuda")
    order = np.stack([rng.permutation(size) for _ in range(expansions)]).astype(np.int32)
    gaussian, radii = (rng.standard_normal((expansions, size)).astype(np.float32) for _ in range(2))
    weights = rng.choice([-1, 1], (expansions, size)).astype(np.int8), order, gaussian, radii / 32
    settings = expansions * size, np.empty(0, np.float32), 0.5
    plain: Any = reference_of_torch().fastfood_cos_sin
    few = plain(x[:64], *(torch.from_numpy(part).cuda() for part in weights), settings[0], x[:0, 0], 0.5)
    made = ops.fastfood_cos_sin(x[:64], *weights, *settings)
    check("fastfood", bool((made - few).abs().max() < 1e-4))
    ours = seconds_of(lambda: ops.fastfood_cos_sin(x, *weights, *settings))
    room = torch.empty((n, 2 * expansions * size), device="cuda")
    writing = seconds_of(lambda: room.fill_(1.0))
    work, speed = f"fastfood {n:,} x 1,000 -> {2 * expansions * size:,}", room.nbytes / 1e9
    return [
        Entry(work, "bochner", "ours", ours, speed / ours, "GB/s"),
        Entry(work, "writing the result", "limit", writing, speed / writing, "GB/s"),
    ]


# ---- two million rows ----


def timit(quick: bool) -> list[Entry]:
    """An exact ridge fit to rows that are on the device: features, sums and the solution."""
    import torch

    n, m = (100_000, 2000) if quick else (ROWS, FEATURES)
    torch.manual_seed(0)
    X = torch.randn((n, COLUMNS), device="cuda")
    y = (X @ torch.randn((COLUMNS, CLASSES), device="cuda")).argmax(1)
    basis = RandomMaxout(m, pool_size=POOL, random_state=0)
    check_bits(basis, X)
    work = f"ridge {n:,} x {COLUMNS} -> maxout {m:,}, q = {POOL}, {CLASSES} outputs"

    def fit() -> RandomFeatureClassifier:
        model = RandomFeatureClassifier(basis, alpha=1e-3 * n, precision="int8", scale=None, linear=False)
        return model.fit(X, y)

    fit()
    torch.cuda.reset_peak_memory_stats()
    times = [wall(fit) for _ in range(1 if quick else 3)]
    seconds, model = min(times, key=lambda pair: pair[0])
    error = float((model.predict(X[:LOT]) != y[:LOT]).double().mean())
    note = f"RandomFeatureClassifier.fit; peak {torch.cuda.max_memory_allocated() / 1e9:.1f} GB; error {error:.3f}"
    del model, times
    found = [Entry(work, "bochner int8", "ours", seconds, n / seconds, "rows/s", note)]
    codes = torch.where(y[:, None] == torch.arange(CLASSES, device="cuda"), 1, -1)
    halves(X[:LOT], codes[:LOT], m)
    seconds, _ = wall(lambda: halves(X, codes, m))
    found.append(Entry(work, "bochner bfloat16", "ours", seconds, n / seconds, "rows/s", "by ops, without a model"))
    for name in ("bfloat16", "tf32"):
        rows = n // 10
        plain(X[:LOT], codes[:LOT], m, name)
        seconds, _ = wall(partial(plain, X[:rows], codes[:rows], m, name))
        note = "a tenth of the rows, times ten; without the solution"
        found.append(Entry(work, f"plain torch {name}", "peer", 10 * seconds, n / (10 * seconds), "rows/s", note))
    return found


def check_bits(basis: RandomMaxout, X: Tensor) -> None:
    """Integer features and sums are those of the CPU, bit for bit, on a sample."""
    rows = X[:500]
    made = RandomMaxout(2000, pool_size=POOL, precision="int8", random_state=0).fit(rows)
    there, here = made.map_(rows), made.map_(to_numpy(rows))
    check("features", bool(np.array_equal(to_numpy(there), here)))
    check("sums", bool(np.array_equal(to_numpy(ops.gram(there)), ops.gram(here))))


def halves(X: Tensor, codes: Tensor, m: int) -> Solution:
    """The same in bfloat16: rounded rows, directions and features, sums in float32 and across blocks in float64."""
    import torch

    d, half = X.shape[1], torch.bfloat16
    w = torch.randn((m * POOL, d), device=X.device).to(half)
    gram = torch.zeros((m, m), dtype=torch.float64, device=X.device)
    cross = torch.zeros((m, codes.shape[1]), dtype=torch.float64, device=X.device)
    for start in range(0, len(X), LOT):
        rows = X[start : start + LOT]
        centre = (1.0294 * rows.norm(dim=1)).to(half)
        z = ops.dense_maxout(rows.to(half), w, POOL, centre, 0.125)
        ops.float_gram(z, True, gram)
        cross += torch.mm(z.mT, codes[start : start + LOT].to(half), out_dtype=torch.float32)
    return solve_quickly(gram, cross, 1e-3 * float(gram.diagonal().mean()))[0]


def plain(X: Tensor, codes: Tensor, m: int, name: str) -> tuple[Tensor, Tensor]:
    """What one writes down first: projections in memory, their maxima, a full square of sums."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    dtype = torch.float32 if name == "tf32" else torch.bfloat16
    w = torch.randn((X.shape[1], m * POOL), device=X.device).to(dtype)
    gram = torch.zeros((m, m), device=X.device)
    cross = torch.zeros((m, codes.shape[1]), device=X.device)
    for start in range(0, len(X), LOT // 4):
        rows = slice(start, start + LOT // 4)
        z = (X[rows].to(dtype) @ w).view(-1, m, POOL).amax(dim=2)
        gram += z.mT @ z
        cross += z.mT @ codes[rows].to(dtype)
    torch.backends.cuda.matmul.allow_tf32 = before
    return gram, cross


# ---- pictures ----


def digits(split: data.Split) -> tuple[Tensor, ...]:
    """Pictures and labels on the device."""
    import torch

    parts = split.X, split.y.astype(np.int64), split.X_test, split.y_test.astype(np.int64)
    return tuple(torch.from_numpy(np.ascontiguousarray(part)).cuda() for part in parts)


def maxout_table(quick: bool) -> list[Entry]:
    """Table 1 of the maxout paper: 25 cells, 5 seeds each, pictures in host memory at the start."""
    split, sizes, seeds = data.mnist(), SIZES[: 3 if quick else None], 1 if quick else SEEDS
    table: dict[int, np.ndarray] = {}

    def make() -> None:
        X, y, X_test, y_test = digits(split)
        for q in POOLS:
            table[q] = cells(X, y, X_test, y_test, q, sizes, seeds)

    make()
    seconds, _ = wall(make)
    told = "; ".join(f"q = {q}: " + " ".join(f"{100 * e:.2f}" for e in table[q].mean(axis=0)) for q in POOLS)
    fits = len(POOLS) * len(sizes) * seeds
    note = f"% wrong for m = {', '.join(map(str, sizes))}: {told}"
    work = f"Table 1 of the maxout paper, {fits} fits"
    return [Entry(work, "bochner int8", "ours", seconds, fits / seconds, "fits/s", note)]


def cells(
    X: Tensor, y: Tensor, X_test: Tensor, y_test: Tensor, q: int, sizes: tuple[int, ...], seeds: int
) -> np.ndarray:
    """Errors (seeds, sizes): penalties are those that a sixth of the rows, held out, choose on the first seed."""
    import torch

    codes = 2 * (y[:, None] == torch.arange(10, device=y.device)).to(torch.int8) - 1
    shares, found, out = np.full(len(sizes), SHARES[1]), [], len(X) // 6
    for seed in range(seeds):
        made = RandomMaxout(max(sizes), pool_size=q, center=False, precision="int8", random_state=seed).fit(X).map_
        Z, new = made(X), made(X_test)
        total = Moments.of(Z, codes)
        if seed == 0:
            rest = (total - Moments.of(Z[-out:], codes[-out:])).centered(1.0, False)
            tried = [errors_of(rest, sizes, np.full(len(sizes), s), Z[-out:], y[-out:]) for s in SHARES]
            shares = np.array(SHARES)[np.argmin([[float(error) for error in row] for row in tried], axis=0)]
        found.append(errors_of(total.centered(1.0, False), sizes, shares, new, y_test))
    return np.array([[float(error) for error in row] for row in found])  # the device is waited for once, here


def errors_of(problem: Centered, sizes: tuple[int, ...], shares: np.ndarray, Z: Tensor, y: Tensor) -> list[Tensor]:
    """The share of wrong labels of ridge on the first features alone, without an intercept, for several numbers.

    Penalties are shares of the mean of diag(Z'Z) of all features: one factor then serves all sizes that have the same.
    """
    mean, found = float(problem.gram.diagonal().mean()), {}
    for share in set(shares.tolist()):
        those = [m for m, chosen in zip(sizes, shares, strict=True) if chosen == share]
        for m, one in zip(those, solve_prefixes(problem.gram, problem.cross, share * mean, those), strict=True):
            scores = ops.scores(Z[:, :m], cast(one.coefficients, "float32"))
            found[m] = (scores.argmax(dim=1) != y).double().mean()
    return [found[m] for m in sizes]


def many_features(quick: bool) -> list[Entry]:
    """100,000 maxout features of MNIST, by conjugate gradients: neither matrix is ever made."""
    m = 10_000 if quick else 100_000
    split = data.mnist()
    basis = RandomMaxout(m, pool_size=POOL, precision="int8", random_state=0)
    some = basis.fit(split.X[:2000])
    squares = np.square(some.features(split.X[:500]), dtype=np.float64).sum(axis=1).mean() * float(some.scale_) ** 2
    alpha = 3e-2 * len(split.y) * float(squares) / m
    model = RandomFeatureClassifier(basis, alpha=alpha, solver="cg", scale=None, linear=False, device="cuda")
    seconds, _ = wall(lambda: model.fit(split.X, split.y))
    error = float(np.mean(model.predict(split.X_test) != split.y_test))
    note = f"{100 * error:.2f} % wrong; {model.solution_.status}"
    return [Entry(f"MNIST, maxout {m:,}", "bochner int8", "ours", seconds, len(split.y) / seconds, "rows/s", note)]


def pictures(quick: bool) -> list[Entry]:
    """Bags of patches of Fashion-MNIST and of MNIST, in host memory at the start; the first fit compiles kernels."""
    found = []
    for fit in FITS:
        split = fit.load()
        model = RandomFeatureClassifier(fit.basis(quick), device="cuda", random_state=0)
        first, _ = wall(partial(model.fit, split.X, split.y))
        seconds, _ = wall(partial(model.fit, split.X, split.y))
        error = float(np.mean(model.predict(split.X_test) != split.y_test))
        rate, note = len(split.y) / seconds, f"{100 * error:.2f} % wrong; the first fit took {first:.1f} s"
        found.append(Entry(fit.name, "bochner int8", "ours", seconds, rate, "pictures/s", note))
    return found
