"""Dense products whose bits do not hang on the number of threads: fixed tiles, each by one thread of BLAS.

BLAS with several threads adds up in another order, and its threads look out for work for a tenth of a second after
they had some, which on few processors whoever works next must share with them. So a fit keeps BLAS to one thread, and
what is large is cut into tiles that follow from its shape, for the pool of `threads`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from . import threads

WORTH = 1 << 22  # multiplications that are worth a thread
COLUMNS = 256  # of a tile of a symmetric product
LEAST = 128  # rows of a tile: with fewer, BLAS is far from its best


def product(a: Any, b: Any) -> Any:
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
