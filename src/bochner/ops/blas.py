"""Dense products whose bits do not hang on the number of threads: fixed tiles, each by one thread of BLAS.

BLAS with several threads adds up in another order, and its threads look out for work for a tenth of a second after
they had some, which on few processors whoever works next must share with them. So a fit keeps BLAS to one thread, and
what is large is cut into tiles that follow from its shape, for the pool of `threads`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.linalg import cython_blas

from ..arrays import Array, Rows
from . import threads

WORTH = 1 << 22  # multiplications that are worth a thread
COLUMNS = 256  # of a tile of a symmetric product
LEAST = 128  # rows of a tile: with fewer, BLAS is far from its best


def product(a: Rows, b: Rows) -> Array:
    """a @ b; of dense matrices some rows of a at a time."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.ndim != 2:
        return a @ b
    rows = max(LEAST, WORTH // max(b.size, 1))
    if len(a) <= rows or not b.size:
        return a @ b
    out = np.empty((len(a), *b.shape[1:]), dtype=np.result_type(a, b))
    tiles = [slice(start, start + rows) for start in range(0, len(a), rows)]
    with threads.blas_limited():
        threads.run([partial(np.matmul, a[tile], b, out=out[tile]) for tile in tiles])
    return out


def upper_gram(z: np.ndarray) -> np.ndarray:
    """The upper triangle of Z'Z, a tile of columns at a time; below the tiles is rubbish."""
    m = z.shape[1]
    out = np.empty((m, m), dtype=z.dtype)

    def fill(start: int) -> None:
        tile, stop = z[:, start : start + COLUMNS], min(start + COLUMNS, m)
        if start:
            np.matmul(z[:, :start].T, tile, out=out[:start, start:stop])
        np.matmul(tile.T, tile, out=out[start:stop, start:stop])

    with threads.blas_limited():
        threads.run([partial(fill, start) for start in reversed(range(0, m, COLUMNS))])  # the longest first
    return out


# ---- routines that leave the interpreter free ----


def subtract_product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """C - A'B in the place of C; all of one type, float32 or float64, columns next to one another."""
    (k, m), n, number = a.shape, b.shape[1], _scalar(a)
    whole = [ctypes.byref(ctypes.c_int(size)) for size in (m, n, k, _step(a), _step(b), _step(c))]
    minus, one = ctypes.byref(number(-1.0)), ctypes.byref(number(1.0))
    _routine("gemm", a.dtype.char, 13)(
        b"T", b"N", *whole[:3], minus, a.ctypes.data, whole[3], b.ctypes.data, whole[4], one, c.ctypes.data, whole[5]
    )


def divide_by_triangle(r: np.ndarray, c: np.ndarray, turned: bool = True) -> None:
    """R'^-1 C, or R^-1 C, in the place of C, with R upper triangular."""
    whole = [ctypes.byref(ctypes.c_int(size)) for size in (*c.shape, _step(r), _step(c))]
    one = ctypes.byref(_scalar(r)(1.0))
    _routine("trsm", r.dtype.char, 11)(
        b"L", b"U", b"T" if turned else b"N", b"N", *whole[:2], one, r.ctypes.data, whole[2], c.ctypes.data, whole[3]
    )


@cache
def _routine(name: str, char: str, arguments: int) -> Callable[..., None]:
    """The routine that scipy lends to compiled code: its own wrappers hold the interpreter while they work, so that of
    several threads one would work at a time."""
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = cython_blas.__pyx_capi__[{"f": "s", "d": "d"}[char] + name]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(get_pointer(capsule, get_name(capsule)))


def _scalar(a: np.ndarray) -> type[ctypes.c_float] | type[ctypes.c_double]:
    return ctypes.c_float if a.dtype == np.float32 else ctypes.c_double


def _step(a: np.ndarray) -> int:
    """Numbers from one column to the next."""
    apart = len(a) > 1 and a.strides[0] != a.itemsize  # the step along one number alone says nothing
    if apart or (a.shape[1] > 1 and a.strides[1] < a.shape[0] * a.itemsize):
        raise ValueError("columns must lie next to one another in memory")
    return a.strides[1] // a.itemsize if a.shape[1] > 1 else max(len(a), 1)
