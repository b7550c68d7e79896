"""What a fit costs: seconds and bytes from rows, columns, features, outputs, precision and solver.

One model for the choice of a solver, `advise`, `tune` and the documentation. n rows of d columns become m features and
k outputs; a step counts multiplications with additions, and the machine says once how many of each kind it does in a
second. Bytes are those beside the rows themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from . import ops
from .config import memory_budget

FOLDS, MANY_FEATURES = 5, 2048  # with more features one fold is held out instead of five
SIZES = {"int8": 1, "int14": 2, "float32": 4}  # bytes of a feature; 8 of all others
TRIED, LEADING = 4, 256  # penalties tried with all features, and features with which all penalties are tried
CANDIDATES = 19  # penalties in all
PASSES = {"cg": 80, "newton": 300, "box": 300, "multipliers": 3000, "sgd": 25, "adam": 25}  # over the rows, as they go
STEP = 128, 256  # columns and rows of a doubly stochastic step
TRIANGLE_STEPS = 20  # of conjugate gradients with a factor, for each penalty
LEAST = 1 << 23  # bytes that any fit takes
MEASURED = 512  # size of the matrices by which the machine is measured


# ---- memory ----


def matrix_bytes(matrices: float, size: int) -> int:
    """Square matrices of float64."""
    return int(8 * matrices * size**2)


def gram_bytes(features: int) -> int:
    """Five matrices: sums of held-out rows and of the others, a part to add, centred, factored."""
    return matrix_bytes(5, features)


def triangle_bytes(features: int) -> int:
    """One triangle of sums in 4 bytes, one of a float32 factor, and a lot of rows."""
    return matrix_bytes(0.5, features) + (1 << 26)


def fold_bytes(features: int, others: int = 0) -> int:
    """Sums of five folds, those without each of them, three matrices more, and some others."""
    return matrix_bytes(2 * FOLDS + 3 + others, features)


def kernel_bytes(rows: int) -> int:
    """Six matrices of rows by rows."""
    return matrix_bytes(6, rows)


def rows_of_kernel(budget: int) -> float:
    """How many rows have a kernel matrix that finds room."""
    return float(np.sqrt(budget / matrix_bytes(6, 1)))


def is_many(features: int) -> bool:
    """Whether one fold is held out instead of five, and penalties are tried with float32 factors."""
    return features > MANY_FEATURES


def folds_apart(features: int, others: int = 0) -> int:
    """Five folds if their sums find room, beside some other matrices; else two, of which one is a fifth of the rows."""
    return FOLDS if not is_many(features) and fold_bytes(features, others) <= memory_budget() else 2


def may_be_kept(size: int) -> bool:
    """Whether features that many passes need are kept: a quarter of the budget holds them."""
    return size <= memory_budget() // 4


# ---- the choice of a solver for least squares ----


def choose_exact(rows: int, features: int, of_tensors: bool = False) -> tuple[str, str]:
    """Fewer rows than features is the dual's case, if its matrix fits in memory. A triangle is numpy's alone."""
    budget, gram, kernel = memory_budget(), gram_bytes(features), kernel_bytes(rows)
    if rows < features and kernel <= budget:
        return "dual", f"{rows:,} rows are fewer than {features:,} features"
    if gram <= budget:
        return "cholesky", "the Gram matrix fits in memory"
    if kernel <= budget:
        return "dual", "the kernel matrix fits in memory, the Gram matrix does not"
    if not of_tensors and triangle_bytes(features) <= budget:
        return "triangle", "one triangle of the Gram matrix fits in memory, a whole one with its folds does not"
    needs = f"{gram / 1e9:.1f} GB for the Gram and {kernel / 1e9:.1f} GB for the kernel matrix"
    return "cg", f"neither fits {budget / 1e9:.1f} GB: {needs}"


# ---- the machine ----


@dataclass(frozen=True)
class Machine:
    """What is done in a second: multiplications with additions of products, of those with few columns, of sums of
    squares and of factors; and cosines.

    features : so many features a second, where it was measured on the map itself.
    """

    products: float
    passes: float
    sums: float
    factors: float
    waves: float
    features: float | None = None

    def making(self, work: Work) -> float:
        """Seconds to make the features of all rows once."""
        count = float(work.rows) * work.features
        return count / self.features if self.features else count * (work.columns / self.products + 1.0 / self.waves)


def seconds_of(action: Callable[[], object]) -> float:
    """The shorter of two times that an action takes."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)


def machine(precision: str | None = None) -> Machine:
    """This one, measured when it is first asked for: some tenths of a second."""
    return measured(str(precision))


@lru_cache(maxsize=8)
def measured(precision: str) -> Machine:
    kind = {"int8": np.int8, "int14": np.int16, "float32": np.float32}.get(precision, np.float64)
    rows = np.random.default_rng(0).integers(-99, 99, (4 * MEASURED, MEASURED)).astype(kind)
    square: np.ndarray = rows[:MEASURED].astype(np.float32 if kind == np.float32 else np.float64)
    positive = square.astype(np.float64) @ square.T.astype(np.float64)
    cube, tall = float(MEASURED) ** 3, np.tile(square, (16, 1))  # too large for a cache, as features are
    angles = square if kind == np.float64 else square.astype(np.float32)
    return Machine(
        products=cube / seconds_of(lambda: np.matmul(square, square)),
        passes=tall.size / seconds_of(lambda: np.matmul(tall, tall[0])),
        sums=4 * cube / seconds_of(lambda: ops.gram(rows)),
        factors=cube / 3 / seconds_of(lambda: ops.cholesky(positive, 1e6, 1.0, "float64")),
        waves=angles.size / seconds_of(lambda: np.cos(angles)),
    )


# ---- a fit ----


@dataclass(frozen=True)
class Work:
    """What is to be fitted; `chooses` says that the penalty is to be chosen."""

    rows: int
    columns: int
    features: int
    outputs: int = 1
    precision: str | None = None
    chooses: bool = True

    @property
    def feature_bytes(self) -> int:
        """All features, if they are kept."""
        return self.rows * self.features * SIZES.get(str(self.precision), 8)

    @property
    def block_bytes(self) -> int:
        """The features of a block of rows, in floats."""
        rows = max(1, memory_budget() // (48 * 8 * max(self.features, 1)))
        return 8 * self.features * min(self.rows, rows)

    @property
    def passing(self) -> float:
        """Multiplications of a product with all features, there and back."""
        return 2.0 * self.rows * self.features * self.outputs


@dataclass(frozen=True)
class Cost:
    seconds: float
    memory: int


def cost(work: Work, solver: str, on: Machine | None = None) -> Cost:
    """The expected cost of a fit by a solver of this name; the augmented Lagrangian is called "multipliers"."""
    on = machine(work.precision) if on is None else on
    formula = FORMULAS[solver]
    found = formula.of(work, on)
    return replace(found, memory=found.memory + (work.block_bytes if formula.holds_block else 0) + LEAST)


@dataclass(frozen=True)
class Formula:
    """How a cost is found, and the same in words for the documentation."""

    of: Callable[[Work, Machine], Cost]
    time: str
    memory: str
    holds_block: bool = True  # the features of a block of rows


def of_cholesky(work: Work, on: Machine) -> Cost:
    n, m = float(work.rows), work.features
    apart = folds_apart(m) if work.chooses else 1
    factors = 1.0 + (work.chooses and (TRIED * FOLDS if apart == FOLDS else TRIED / 2))
    few = CANDIDATES * FOLDS * min(m, LEADING) ** 3 if work.chooses else 0.0
    seconds = on.making(work) + n * m**2 / on.sums + (factors * float(m) ** 3 + few) / 3 / on.factors
    return Cost(seconds, fold_bytes(m) if apart == FOLDS else gram_bytes(m))


def of_dual(work: Work, on: Machine) -> Cost:
    n, m = float(work.rows), work.features
    factors = 2.0 + (TRIED * FOLDS * 0.8**3 if work.chooses else 0.0)
    seconds = 2 * on.making(work) + n**2 * m / on.sums + factors * n**3 / 3 / on.factors
    return Cost(seconds, kernel_bytes(work.rows))


def of_triangle(work: Work, on: Machine) -> Cost:
    n, m = float(work.rows), work.features
    steps = TRIANGLE_STEPS * (TRIED if work.chooses else 1)
    products = steps * 4.0 * m**2 * work.outputs / on.passes
    seconds = on.making(work) + n * m**2 / on.sums + float(m) ** 3 / 6 / on.factors + products
    left_out = n / FOLDS * m * SIZES.get(str(work.precision), 8)
    return Cost(seconds, int(triangle_bytes(m) + left_out))


def of_passes(solver: str) -> Callable[[Work, Machine], Cost]:
    """Passes over the rows, whose features are kept if a quarter of the budget holds them."""

    def found(work: Work, on: Machine) -> Cost:
        passes, kept = PASSES[solver], may_be_kept(work.feature_bytes)
        sampled = min(work.rows, 8 * work.features)  # rows of the preconditioner
        least = min(work.features, work.rows)
        preparing = float(sampled) * work.features * least / on.sums + float(least) ** 3 / 3 / on.factors
        seconds = (1 if kept else passes) * on.making(work) + passes * work.passing / on.passes + preparing
        multipliers = 16 * work.rows * work.outputs if solver == "multipliers" else 0
        held = work.feature_bytes if kept else 0
        return Cost(seconds, held + 32 * work.features * least + multipliers)

    return found


def of_batches(solver: str) -> Callable[[Work, Machine], Cost]:
    def found(work: Work, on: Machine) -> Cost:
        passes = PASSES[solver]
        seconds = passes * (on.making(work) + 4 * work.passing / on.passes)
        return Cost(seconds, 8 * work.features * (2 * min(work.rows, 4096) + 8 * work.outputs))

    return found


def of_new_features(work: Work, on: Machine) -> Cost:
    columns, rows = STEP
    steps = -(-work.features // columns)
    made = replace(work, rows=rows * steps // 2)  # each step makes the features of the steps before again
    return Cost(2 * on.making(made), 8 * work.features * (8 * work.outputs + columns))


FORMULAS: dict[str, Formula] = {
    "cholesky": Formula(of_cholesky, "features once, n m², 21 m³/3", "104 m², 40 m² where features are many"),
    "dual": Formula(of_dual, "features twice, n² m, 12 n³/3", "48 n²"),
    "triangle": Formula(of_triangle, "features once, n m², m³/6, 80 products of m² k", "4 m², a fifth of the features"),
    "cg": Formula(of_passes("cg"), "80 passes of 2 n m k", "32 m², features if they are kept"),
    "newton": Formula(of_passes("newton"), "300 passes of 2 n m k", "32 m², features if they are kept"),
    "box": Formula(of_passes("box"), "300 passes of 2 n m k", "32 m², features if they are kept"),
    "multipliers": Formula(of_passes("multipliers"), "3,000 passes of 2 n m k", "16 n k beside that of newton"),
    "sgd": Formula(of_batches("sgd"), "25 times features and 8 n m k", "64 m (1,024 + k)"),
    "adam": Formula(of_batches("adam"), "25 times features and 8 n m k", "64 m (1,024 + k)"),
    "doubly_stochastic": Formula(of_new_features, "2 m² features", "64 m (16 + k), and no block", False),
}


def markdown() -> str:
    """The formulas as the table of the documentation."""
    lines = ["| solver | time | bytes, beside the rows and a block of features |", "|---|---|---|"]
    names = {"multipliers": "`dual` of losses with kinks"}
    lines += [f"| {names.get(name, f'`{name}`')} | {f.time} | {f.memory} |" for name, f in FORMULAS.items()]
    return "\n".join(lines)


# ---- a cluster ----

JOB = 1 << 14  # bytes of a map, settings and a plan, about
TAKEN = 16  # large partials that the client takes in; workers join the others
WIRE = 1.25e9  # bytes a second


@dataclass(frozen=True)
class ClusterCost:
    """Seconds of the whole and of what is moved; bytes of one partial, and of all that moves."""

    seconds: float
    moving: float
    partial: int
    moved: float


def partial_bytes(work: Work) -> int:
    """The sums of one task, of all folds."""
    return 8 * (folds_apart(work.features) if work.chooses else 1) * work.features**2


def on_cluster(work: Work, workers: int, row_seconds: float, tasks: int = 4096, wire: float = WIRE) -> ClusterCost:
    """A fit by sums whose rows are read where they are worked on, in so many seconds for each row and worker.

    Every task gets the job and gives a partial; each merge moves one of its two, workers side by side, and the client
    takes in a few.
    """
    partial = partial_bytes(work)
    merges, last = max(tasks - TAKEN, 0), min(tasks, TAKEN)
    moved = tasks * JOB + float(merges + last) * partial
    moving = (merges / workers + last) * partial / wire + tasks * JOB / wire
    return ClusterCost(work.rows * row_seconds / workers + moving, moving, partial, moved)


def cluster_markdown() -> str:
    """The formulas as the table of the documentation; f is the number of folds whose sums are kept apart."""
    return "\n".join([
        "| what moves | bytes | how often |", "|---|---|---|",
        f"| the job: map, settings, plan | about {JOB >> 10} kB, whatever m | once for each task |",
        "| rows, features, drawn weights | none | never, where workers read or make the rows |",
        "| one partial of a merge | 8 f m² | once for each task, workers side by side |",
        f"| partials that the client takes in | 8 f m² | at most {TAKEN} times, if they are above 16 MB |",
    ])  # fmt: skip
