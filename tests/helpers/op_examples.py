"""Arguments to try each op with: shapes, dtypes, and the most extreme numbers."""

import numpy as np

from bochner.ops import reference

FLOATS = (np.float32, np.float64)


def expansions(rng, count, size):
    signs = rng.choice([-1, 1], (count, size)).astype(np.int8)
    permutation = np.array([rng.permutation(size) for _ in range(count)], dtype=np.int32)
    return signs, permutation


def fastfood_arguments(rng, dtype, d, size):
    normals = rng.standard_normal((2, 3, size)).astype(dtype)
    return (rng.standard_normal((4, d)).astype(dtype), *expansions(rng, 3, size), normals[0], normals[1])


def codes(rng, shape, dtype=np.int8):
    low, high = (0, 256) if dtype == np.uint8 else (-127, 128)
    return rng.integers(low, high, shape).astype(dtype)


def integers(rng, shape, bits, dtype):
    """Random integers of so many bits, signed if the dtype is."""
    low = -(1 << (bits - 1)) if np.dtype(dtype).kind == "i" else 0
    return rng.integers(low, low + (1 << bits), shape).astype(dtype)


NUMBERS = (*FLOATS, np.int32)
CODES = (np.int8, np.uint8)
POOLS = (1, 2, 3, 4, 8, 16, 24)
GRAM_SHAPES = (
    (2500, 7), (1, 1), (0, 3), (3, 0), (37, 48), (5, 193), (600, 391), (20_000, 3), (64, 32), (65, 33),
)  # fmt: skip
SIZES = ((1, 1), (3, 4), (100, 128), (128, 128))
FEW_COLUMNS = [(0, 3, 2), (1, 1, 1), (5, 64, 0), (3, 0, 2), (65, 63, 11), (129, 300, 17), (300, 1100, 3), (70, 9, 70)]
EXTREMES = ((-128, np.int8), (-32768, np.int16), (32767, np.int16))


def stump_arguments(rng, dtype, n, d, m, height):
    x, thresholds = rng.integers(-2, 3, (n, d)).astype(dtype), rng.integers(-2, 3, m).astype(dtype)
    thresholds[0] = np.nan  # nothing is above it
    return x, rng.integers(0, d, m).astype(np.int32), thresholds, height


def byte_stump_arguments(rng, dtype, n, d, m):
    thresholds = np.concatenate([[np.nan, -np.inf, np.inf, -129.0, -128.0, 127.0, 255.0], rng.uniform(-300, 300, m)])[
        :m
    ]
    return codes(rng, (n, d), dtype), rng.integers(0, d, m).astype(np.int32), thresholds, np.int8(1)


def bin_arguments(rng, dtype):
    x, shift, pitch = rng.standard_normal((9, 3)).astype(dtype), rng.uniform(size=(4, 3)), rng.gamma(2, size=(4, 3))
    return x, shift, pitch, integers(rng, (4, 4), 63, np.uint64), 17


def cos_sin_arguments(rng, alone, bits, amplitude):
    table = reference.cosine_table(bits, amplitude)
    return integers(rng, (5, 6), 32, np.uint32), integers(rng, alone, 32, np.uint32), table


def projection_arguments(rng):
    """Inputs and directions: one panel, several, odd ends, more columns than a chunk, the most extreme numbers."""
    shapes = [(6, 1, 5), (1, 3, 48), (9, 255, 49), (65, 256, 7), (3, 257, 200), (70, 784, 96), (5, 2500, 12)]
    shapes += [(32, 64, 32), (33, 65, 33), (300, 17, 9)]  # whole tiles, one more, more rows than are done at once
    for rows, d, m in shapes:
        for dtype in CODES:
            yield codes(rng, (rows, d), dtype), codes(rng, (m, d))
    for low in (np.full((3, 1000), -128, np.int8), np.full((3, 1000), 255, np.uint8)):
        yield low, np.full((2, 1000), -127, np.int8)


def dense_arguments(rng, pools=(1,)):
    """Few rows, and enough to be packed: one panel, several, odd ends, more columns than a chunk. Sums are exact."""
    shapes = [(3, 5, 7), (512, 1, 1), (600, 129, 50), (523, 300, 200), (512, 17, 49)]
    for rows, d, m in shapes:
        for q in pools:
            for t in FLOATS:
                yield rng.integers(-3, 4, (rows, d)).astype(t), rng.integers(-3, 4, (m * q, d)).astype(t), q


def gram_argument(rng, shape, dtype):
    """All numbers of 8 bits, or of 14 bits but the lowest, which the definition alone serves."""
    low, high = (-128, 128) if dtype == np.int8 else (-8191, 8192)
    return rng.integers(low, high, shape).astype(dtype)


def pooled_arguments(rng, pools=(1, 2, 3, 5, 16, 100)):
    for q in pools:
        for dtype in CODES:
            yield codes(rng, (67, 30), dtype), codes(rng, (7 * q, 30)), q


PICTURES = ((1, 1, 1), (3, 12, 2), (2, 70, 3), (5, 7, 7), (0, 9, 4))  # pictures, patches, cells


def cells_of(rng, patches, grid, sorted_too=True):
    """Cells in any order, none empty; and side by side, as maps have them."""
    cells = np.concatenate([np.arange(grid), rng.integers(0, grid, patches - grid)]).astype(np.int32)
    yield rng.permutation(cells)
    yield np.sort(cells)


def bags_of(rng, d, m, dtypes=CODES):
    """Patches and directions, and what follows them: cells, their number, whether the largest is wanted."""
    for pictures, patches, grid in PICTURES:
        for cells in cells_of(rng, patches, grid):
            for largest in (False, True):
                for dtype in dtypes:
                    yield codes(rng, (pictures * patches, d), dtype), codes(rng, (m, d)), (cells, grid, largest)


def picture_arguments(rng, dtype, pictures, pixels, count, size):
    """Pixels, places and a whitening whose rows add up to zero; the first picture is blank."""
    x, whitening = codes(rng, (pictures, pixels), dtype), rng.integers(-300, 301, (size, size))
    x[:1] = 7
    whitening[:, 0] -= whitening.sum(axis=1)
    places = rng.integers(0, pixels, (count, size)).astype(np.int32)
    return x, places, whitening.astype(np.int16), 0.1, 1.0, 9.0 * size * size, 3.0 * rng.standard_normal(size)


def symmetric(rng, m):
    """A Gram matrix whose eigenvalues are apart."""
    Z = rng.standard_normal((2 * m + 5, m)) * np.linspace(1.0, 3.0, m)
    return Z.T @ Z / len(Z)


# op -> arguments to try; a new op must have an entry here.
EXAMPLES = {
    "fwht": lambda r: (
        [(integers(r, (3, 1 << k), 9, t),) for k in (0, 1, 2, 5, 6, 7, 9, 12, 13, 16) for t in (np.int32,)]
        + [(r.standard_normal((3, 1 << k)).astype(t),) for k in (0, 1, 2, 5, 6, 7, 9, 12, 13, 16) for t in FLOATS]
    ),
    "fastfood": lambda r: [fastfood_arguments(r, t, d, n) for t in FLOATS for d, n in SIZES],
    "maxout": lambda r: [(r.integers(-50, 50, (5, 24 * q)).astype(t), q) for q in POOLS for t in NUMBERS],
    "winners": lambda r: [(r.integers(-5, 5, (5, 24 * q)).astype(t), q) for q in POOLS for t in NUMBERS],
    "gates": lambda r: [
        (r.integers(0, q, (7, 33)).astype(np.int32), r.integers(-5, 6, (7, 33)).astype(t), q)
        for q in POOLS
        for t in (np.int8, np.int16, *FLOATS)
    ],
    "stumps": lambda r: (
        [
            stump_arguments(r, t, *shape, h)
            for t in FLOATS
            for shape in ((7, 5, 1), (7, 5, 33), (64, 16, 64), (200, 37, 131), (300, 1100, 280), (65, 300, 9))
            for h in (t(0.25), np.int8(1))
        ]
        + [
            byte_stump_arguments(r, t, *shape)
            for t in CODES
            for shape in ((7, 5, 1), (7, 5, 33), (64, 16, 64), (200, 37, 1131), (130, 9000, 2300), (65, 300, 9))
        ]
    ),
    "cos_sin": lambda r: [
        (r.standard_normal((4, 6)).astype(t), r.uniform(0, 6, k).astype(t), t(0.5)) for t in FLOATS for k in (0, 1, 6)
    ],
    "cells": lambda r: [
        (
            integers(r, (n, d), 3, t),
            r.integers(0, d, (trees, depth)).astype(np.int32),
            integers(r, (trees, depth), 3, t),
            r.integers(0, 1 << depth, trees).astype(np.int32),
        )
        for n, d, trees, depth in ((1, 1, 1, 1), (65, 3, 7, 5), (130, 40, 300, 3), (3, 2, 0, 4))
        for t in NUMBERS
    ],
    "matches": lambda r: [
        (r.integers(0, 3, (n, m)).astype(t), r.integers(0, 3, (others, m)).astype(t))
        for n, others, m in ((1, 1, 1), (5, 3, 0), (70, 9, 31), (9, 200, 133), (3, 5, 700))
        for t in (np.uint8, np.int32)
    ],
    "bins": lambda r: [bin_arguments(r, t) for t in FLOATS],
    "project": lambda r: list(projection_arguments(r)),
    "project_cos_sin": lambda r: [
        (x, w, integers(r, len(w), 32, np.uint32), integers(r, alone, 32, np.uint32), reference.cosine_table(*table))
        for x, w in projection_arguments(r)
        for alone in {0, 1, len(w)}
        for table in ((10, 127), (14, 8191))
    ],
    "project_maxout": lambda r: [
        (x, w, q, integers(r, len(x), 15, np.int32), 77, 9, limit)
        for x, w, q in pooled_arguments(r)
        for limit in (127, 8191)
    ],
    "project_threshold": lambda r: [
        (x, w, shift, 5, limit) for x, w in projection_arguments(r) for shift in (0, 7) for limit in (127, 8191)
    ],
    "threshold": lambda r: [
        (integers(r, (4, 6), 21, np.int32), shift, 5, limit) for shift, limit in ((0, 8191), (12, 127))
    ],
    "patches": lambda r: [
        picture_arguments(r, t, *shape)
        for t in CODES
        for shape in ((1, 1, 1, 1), (3, 30, 7, 9), (2, 784, 529, 36), (5, 25, 4, 25), (2, 300, 9, 75), (0, 9, 1, 4))
    ],
    "pooled": lambda r: [
        (x.astype(t), *pooling) for x, _, pooling in bags_of(r, 37, 1, (np.int8,)) for t in (np.int8, np.int16, *FLOATS)
    ],
    "pooled_threshold": lambda r: [
        (x, w, shift, 5, limit, *pooling)
        for d, m in ((1, 1), (36, 49), (75, 200))
        for x, w, pooling in bags_of(r, d, m)
        for shift, limit in ((7, 127), (0, 8191))
    ],
    "pooled_maxout": lambda r: [
        (x, w, q, integers(r, len(x), 15, np.int32), 77, 9, limit, *pooling)
        for q in (1, 3, 4)
        for x, w, pooling in bags_of(r, 36, 52 * q)
        for limit in (127, 8191)
    ],
    "standardize": lambda r: [
        (
            integers(r, shape, 20, np.uint32).astype(np.int32) - low,
            root,
            300.0 * r.uniform(size=shape[1]),
            r.uniform(size=shape[1]),
            limit,
        )
        for shape in ((0, 3), (1, 1), (5, 300), (3, 513))
        for root, low in ((True, 0), (False, 1 << 19))
        for limit in (127, 8191)
    ],
    "project_winners": lambda r: list(pooled_arguments(r)),
    "project_lookup": lambda r: [
        (x, w, 3, 9, integers(r, len(w), 11, np.int64), np.arange(-8, 8, dtype=t))
        for x, w in projection_arguments(r)
        for t in (np.int8, np.int16)
    ],
    "fastfood_cos_sin": lambda r: [
        (*fastfood_arguments(r, t, d, n), kept, r.uniform(0, 6, alone).astype(t), t(0.5))
        for t in FLOATS
        for d, n in SIZES
        for kept, alone in ((3 * n, 0), (2 * n + 1, 1))
    ],
    "fastfood_cos_sin_integer": lambda r: [
        (
            codes(r, (4, d), t),
            *expansions(r, 3, n),
            codes(r, (3, n)),
            2,
            integers(r, 3 * n, 32, np.uint32),
            kept,
            integers(r, alone, 32, np.uint32),
            reference.cosine_table(*table),
        )
        for d, n in SIZES
        for t in CODES
        for kept, alone in ((3 * n, 0), (2 * n + 1, 1))
        for table in ((10, 127), (14, 8191))
    ],
    "dense_cos_sin": lambda r: [
        (x, w, r.uniform(0, 6, alone).astype(x.dtype), x.dtype.type(0.5))
        for x, w, _ in dense_arguments(r)
        for alone in {0, 1, len(w) - len(w) // 3, len(w)}
    ],
    "dense_maxout": lambda r: [
        (x, w, q, r.integers(0, 9, len(x)).astype(x.dtype), x.dtype.type(0.25))
        for x, w, q in dense_arguments(r, (1, 3, 4, 20))
    ],
    "dense_winners": lambda r: list(dense_arguments(r, (1, 3, 4, 20))),
    "quantize": lambda r: (
        [
            (10 * r.standard_normal((7, 5)).astype(t), centre, 0.037, low, high)
            for t in FLOATS
            for centre in (np.zeros(1), r.standard_normal(5))
            for low, high in ((-127, 127), (0, 255))
        ]
        + [(np.array([[0.5, 1.5, -0.5, 2.5, 1e300, -1e300]]), np.zeros(1), 1.0, -127, 127)]
    ),
    "binned": lambda r: [
        (r.integers(0, 2 * columns, (rows, grids)), columns, height)
        for rows, grids, columns in ((0, 3, 5), (1, 1, 1), (300, 7, 4), (200, 300, 2), (150, 64, 4096), (65, 5, 2**20))
        for height in (np.int8(1), np.float32(0.3), np.float64(0.7))
    ],
    "row_words": lambda r: [
        *(
            ((10.0 ** r.integers(-3, 9, (n, d)) * r.standard_normal((n, d)).round(2)).astype(t),)
            for n, d in ((0, 3), (1, 1), (65, 3), (40, 300))
            for t in FLOATS
        ),
        *((codes(r, (65, 9), t),) for t in CODES),
    ],
    "row_folds": lambda r: (
        [
            ((10.0 ** r.integers(-3, 9, (n, d)) * r.standard_normal((n, d)).round(2)).astype(t), folds)
            for n, d in ((1, 1), (65, 3), (40, 300))
            for t in FLOATS
            for folds in (1, 3, 5)
        ]
        + [(codes(r, (65, 9), t), 5) for t in CODES]
    ),
    "normal_int8": lambda r: [
        (np.empty((1, 1), t), (123456789, 4087654321), start, start + count, width)
        for t in (np.float32, np.uint8)
        for start, count, width in ((0, 3, 1), (7, 40, 9), ((1 << 32) - 2, 5, 16))
    ],
    "philox": lambda r: [(integers(r, (n, 4), 32, np.uint32), (123456789, 987654321)) for n in (1, 63, 64, 65, 1000)],
    "project_phase": lambda r: [
        (codes(r, (6, d), t), integers(r, (5, d), 32, np.uint32)) for d in (1, 300) for t in CODES
    ],
    "phase": lambda r: [(integers(r, (4, 7), 32, np.int32), integers(r, 7, 32, np.uint32))],
    "cos_sin_integer": lambda r: [
        cos_sin_arguments(r, k, *table) for k in (0, 1, 6) for table in ((10, 127), (14, 8191))
    ],
    "fastfood_integer": lambda r: [
        (codes(r, (4, d), t), *expansions(r, 3, n), codes(r, (3, n)), shift)
        for d, n in SIZES
        for t in CODES
        for shift in (0, 3)
    ],
    "gram": lambda r: (
        [(gram_argument(r, (n, m), t),) for n, m in GRAM_SHAPES for t in (np.int8, np.int16)]
        + [(np.full((17_000, 2), extreme, t),) for extreme, t in ((-128, np.int8), (8191, np.int16), (-8191, np.int16))]
        + [(integers(r, (9, 3), 16, np.int16),), (np.array([[-32768, 1]], np.int16),)]
        + [(r.standard_normal((50, 520)).astype(t),) for t in FLOATS]
    ),
    "add_to_triangle": lambda r: [
        (gram_argument(r, (n, m), np.int8).astype(t),)
        for n, m in ((2500, 7), (1, 1), (37, 48), (600, 391), (17_000, 3), (65, 1000))
        for t in (np.int8, np.int16, np.float32)
    ],
    "float_gram": lambda r: [
        (r.integers(-50, 51, shape).astype(np.float32), rounded)
        for shape in ((1, 1), (3, 5), (5, 0), (0, 5), (130, 49), (300, 200), (4500, 97))
        for rounded in (False, True)
    ],
    "cross": lambda r: (
        [
            (integers(r, (n, m), 8 * np.dtype(t).itemsize, t), integers(r, (n, k), 8, np.int8))
            for n, m, k in FEW_COLUMNS
            for t in (np.int8, np.int16)
        ]
        + [(np.full((1000, 3), extreme, t), np.full((1000, 2), -128, np.int8)) for extreme, t in EXTREMES]
        + [(integers(r, (50, 7), 8, np.int8), r.choice([-1, 1], (50, 3)))]
        + [(integers(r, (50, 7), 8, t), r.integers(-9, 10, (50, 3)) / 4.0) for t in (np.int8, np.int16)]
        + [(r.standard_normal((50, 7)).astype(t), r.standard_normal((50, 2))) for t in FLOATS]
    ),
    "normal_product": lambda r: [  # whole numbers, which are exact in any order and in halves
        (integers(r, (n, m), 4, t), r.integers(-9, 10, (m, k)).astype(np.float64), weight(r, n))
        for n, m, k in FEW_COLUMNS
        for t in (np.int8, np.int16)
        for weight in (lambda r, n: None, lambda r, n: r.integers(0, 3, n).astype(np.float64))
    ],
    "scores": lambda r: [  # whole numbers, so that the order of sums does not matter
        (integers(r, (n, m), 8, z), r.integers(-50, 51, (m, k)).astype(t))
        for n, m, k in FEW_COLUMNS[1:]  # no rows are not one at a time
        for z in (np.int8, np.int16, np.float32)
        for t in FLOATS
    ],
    "calibrate": lambda r: [(integers(r, (4, 6), 31, np.int32), integers(r, 6, 20, np.int64), 24)],
    "largest_chosen": lambda r: [
        (r.integers(-99, 99, (n, p)).astype(t), r.integers(0, p, (m, q)))
        for n, p, m, q in ((0, 4, 3, 2), (5, 4, 0, 2), (70, 9, 130, 3), (600, 33, 5, 1))
        for t in (np.int8, np.int16, np.float32)
    ],
    "rescale": lambda r: [(integers(r, (4, 6), 21, np.int32), 77, 12, top) for top in (127, 8191)],
    "lookup": lambda r: [
        (integers(r, (4, 6), 21, np.int32), 3, 9, integers(r, 6, 11, np.int64), np.arange(-8, 8, dtype=np.int8))
    ],
    "symmetric_product": lambda r: [(symmetric(r, m), r.standard_normal((m, k))) for m, k in ((1, 1), (5, 0), (60, 3))],
    "eigh": lambda r: [(symmetric(r, m),) for m in (1, 2, 7, 60)],
    "eigvalsh": lambda r: [(symmetric(r, m),) for m in (1, 2, 7, 60)],
    "cholesky": lambda r: [
        (symmetric(r, m), shift, scale, dtype)
        for m in (1, 5, 60)
        for shift, scale in ((0.5, 1.0), (0.1, 1e20), (-1e3, 1.0))
        for dtype in ("float32", "float64")
    ],
    "distances": lambda r: [
        (r.standard_normal((n, d)).astype(t), r.standard_normal((m, d)).astype(t), p)
        for n, m, d in ((1, 1, 1), (5, 70, 3), (130, 65, 20))
        for t in FLOATS
        for p in (1.0, 2.0, 1.5)
    ],
    "shifted_solutions": lambda r: [
        (np.stack([symmetric(r, m) for _ in range(t)]), np.array([0.1, 3.0]), r.standard_normal((t, m, k)))
        for t, m, k in ((1, 1, 1), (3, 5, 2), (2, 150, 1))
    ],
    "tridiagonal_form": lambda r: [(symmetric(r, m),) for m in (1, 2, 7, 60)],
}

ALGEBRA = ("symmetric_product", "eigh", "eigvalsh", "cholesky", "shifted_solutions", "tridiagonal_form")
SUMS = ("gram", "cross", "float_gram", "add_to_triangle", "normal_product")  # over rows
ROUNDED = ("cos_sin", "fastfood_cos_sin", "dense_cos_sin")  # cos and sin of floats are defined up to rounding
