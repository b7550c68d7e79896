"""Exact kernel fits of many rows by conjugate gradients, on one matrix in float32.

Fits without fold 0 leave its rows out by a mask, and each penalty begins where its neighbour ended. With some rows as
landmarks K is near B B', where B = K_nm L^-T and L L' = K_mm. The eigenvalues l and eigenvectors V of B'B give those of
B B', U = B V l^(-1/2), and a preconditioner (Frangella, Tropp and Udell, 2023):

    P^-1 v = v + U ((l_min + alpha) / (l + alpha) - 1) U'v.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import ops
from ...arrays import Array
from ...kernels import Stable
from ...ops import threads
from ...ops.blas import divide_by_triangle, product, upper_gram
from ...solvers.conjugate_gradient import Product, solve_products
from .expansion import Expansion, Setting, fallen_in_place
from .fits import ALPHAS, JITTER, Member, Rows, downhill

PENALTIES = ALPHAS[ALPHAS > 9e-6]  # smaller ones are lost in the rounding of float32
LANDMARKS = 800
ITERATIONS, TOLERANCE = 20, 1e-3
TILE = 256  # rows of the matrix that are made at a time
NEGLIGIBLE = 1e-6  # of the largest eigenvalue


def work_of(n: int, d: int, outputs: int) -> float:
    """Floating-point operations that a fit takes as long as: those of the matrix, and products that wait for memory."""
    return float(n) ** 2 * (100.0 + 2.0 * d + 4.0 * ITERATIONS * (8.0 + 2.0 * outputs))


def bytes_of(n: int) -> int:
    """Memory of the matrix and of what stands beside it."""
    return 4 * n * (n + 4 * LANDMARKS)


def iterative_fit(
    rows: Rows, setting: Setting, order: np.ndarray, room: np.ndarray | None = None
) -> tuple[Member, Expansion] | None:
    """The member with all rows as centres, its penalty by fold 0; and the function that has not seen that fold.

    The first rows of `order` are the landmarks; `room` (n, n) is for the matrix, whose memory is costly to get anew.
    """
    try:
        equations = KernelEquations(rows, setting, order[: min(LANDMARKS, len(order) // 2)], room)
    except np.linalg.LinAlgError:  # the landmarks are copies of one another, but for rounding
        return None
    judged, level = rows.judged, rows.Y[~rows.judged].mean(axis=0)
    seen = equations.eigenvectors(~judged)
    tried: dict[int, tuple[float, Answer]] = {}

    def error(k: int) -> float:
        if k not in tried:
            near = min(tried, key=lambda known: abs(known - k), default=None)
            found = equations.solve(float(PENALTIES[k]), seen, None if near is None else tried[near][1])
            missed = rows.error_of(found.products[judged] + level)
            tried[k] = (missed if np.isfinite(missed) else np.inf, found)
        return tried[k][0]

    start = int(np.argmin(np.abs(np.log(PENALTIES / setting.alpha))))
    at = downhill(error, start, len(PENALTIES))
    if not np.isfinite(error(at)):
        return None
    unseen, setting = tried[at][1], replace(setting, alpha=float(PENALTIES[at]))
    everything = equations.solve(setting.alpha, equations.eigenvectors(np.ones(len(judged), dtype=bool)), unseen)
    whole = equations.expansion(setting, everything.coefficients, rows.Y.mean(axis=0))
    without = equations.expansion(setting, unseen.coefficients, level)
    return Member(whole, unseen.products[judged] + level, error(at)), without


class Answer(NamedTuple):
    """Coefficients c (n, outputs), and K c."""

    coefficients: np.ndarray
    products: np.ndarray


class Eigenvectors(NamedTuple):
    """Of the kernel matrix of the rows seen, nearly: eigenvalues, from small to large, and eigenvectors U."""

    seen: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    def preconditioner(self, alpha: float) -> Product:
        """v -> P^-1 v."""
        weights = ((self.values[0] + alpha) / (self.values + alpha) - 1.0)[:, None]
        U = self.vectors

        def apply(v: Array) -> Array:
            inner = weights * product(U.T, np.asarray(v, dtype=np.float32))
            return v + product(U, inner.astype(np.float32))

        return apply


class KernelEquations:
    """(K + alpha I) c = y - mean y, for some of the rows and for several penalties."""

    def __init__(self, rows: Rows, setting: Setting, landmarks: np.ndarray, room: np.ndarray | None = None) -> None:
        self.rows, self.setting = rows, setting
        self.Z = setting.metric(rows.X)
        self.kernel = setting.kernel(self.Z)
        self.middle = rows.X.mean(axis=0)
        self.matrix = kernel_matrix(self.kernel, np.asarray(self.Z), setting.linear**0.5 * (rows.X - self.middle), room)
        inner = self.matrix[np.ix_(landmarks, landmarks)].astype(np.float64)
        inner[np.diag_indices(len(inner))] += JITTER * float(inner.trace())
        factor = np.asfortranarray(np.linalg.cholesky(inner).T, dtype=np.float32)
        self.near = np.take(self.matrix, landmarks, axis=1)  # B, when it is divided
        threads.over_rows(lambda part: divide_by_triangle(factor, self.near[part].T), len(self.near), TILE)

    def product(self, v: Array) -> np.ndarray:
        """K v."""
        return np.asarray(product(self.matrix, np.asarray(v, dtype=np.float32)), dtype=np.float64)

    def solve(self, alpha: float, basis: Eigenvectors, near: Answer | None) -> Answer:
        """The coefficients, zero in rows that are not seen; `near` is the answer for another penalty, or fewer rows."""
        Y, mask = self.rows.Y, basis.seen[:, None].astype(np.float64)
        target = left = mask * (Y - Y[basis.seen].mean(axis=0))
        if near is not None:
            left = target - mask * (near.products + alpha * near.coefficients)
        sizes = [max(float(np.linalg.norm(part)), np.finfo(float).tiny) for part in (target, left)]
        found = solve_products(
            lambda v: mask * self.product(v), left, alpha, precondition=basis.preconditioner(alpha),
            tolerance=TOLERANCE * sizes[0] / sizes[1], max_iterations=ITERATIONS,
        ).coefficients  # fmt: skip
        coefficients = np.asarray(found) + (0.0 if near is None else near.coefficients)
        return Answer(coefficients, self.product(coefficients))

    def eigenvectors(self, seen: np.ndarray) -> Eigenvectors:
        """Those of B B', without the rows that are not seen."""
        near = self.near * seen[:, None].astype(np.float32)
        gram = np.triu(upper_gram(near)).astype(np.float64)
        values, vectors = np.linalg.eigh(gram, UPLO="U")
        large = values > NEGLIGIBLE * values[-1]
        turn = (vectors[:, large] / np.sqrt(values[large])).astype(np.float32)
        return Eigenvectors(seen, values[large], np.asarray(product(near, turn)))

    def expansion(self, setting: Setting, coefficients: np.ndarray, level: np.ndarray) -> Expansion:
        """The function with these coefficients."""
        slopes = setting.linear * ((self.rows.X - self.middle).T @ coefficients)
        return Expansion(setting, self.kernel, self.Z, coefficients, slopes, self.middle, level)


def kernel_matrix(kernel: Stable, Z: np.ndarray, line: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
    """k(z_i, z_j) + <line_i, line_j> in float32, a tile of rows at a time up to the diagonal, and its mirror image."""
    n, found = len(Z), np.empty((len(Z), len(Z)), dtype=np.float32) if room is None else room

    def make(start: int) -> None:
        part, stop = slice(start, start + TILE), min(start + TILE, n)
        # From differences in float64: near rows are told apart, and far ones are brought near 1 by the bandwidth.
        distances = (ops.distances(Z[part], Z[:stop], kernel.p) / kernel.scale).astype(np.float32)
        tile = fallen_in_place(distances, kernel.q)
        if line.any():
            tile += line[part] @ line[:stop].T
        found[part, :stop] = tile
        found[:start, part] = tile[:, :start].T

    with threads.blas_limited():
        threads.run([partial(make, start) for start in reversed(range(0, n, TILE))])  # the longest first
    return found
