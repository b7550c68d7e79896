"""Tables too large for memory, written a piece at a time: `python big_table.py <rows> <path.npy or path.parquet>`."""

import sys
from pathlib import Path

import numpy as np

COLUMNS, PIECE = 20, 100_000


def pieces(rows):
    """Standard normal columns and a smooth target, float32."""
    for start in range(0, rows, PIECE):
        X = np.random.default_rng(start).standard_normal((min(PIECE, rows - start), COLUMNS), dtype=np.float32)
        yield start, X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def write_npy(path, rows):
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, COLUMNS + 1))
    for start, X, y in pieces(rows):
        table[start : start + len(X)] = np.column_stack([X, y])
    table.flush()


def write_parquet(path, rows):
    import pyarrow as pa
    from pyarrow import parquet

    fields = [pa.field(f"x{k}", pa.float32()) for k in range(COLUMNS)] + [pa.field("y", pa.float32())]
    with parquet.ParquetWriter(path, pa.schema(fields)) as file:
        for _, X, y in pieces(rows):
            file.write_table(pa.table([*X.T.copy(), y], schema=pa.schema(fields)))


if __name__ == "__main__":
    write = write_npy if Path(sys.argv[2]).suffix == ".npy" else write_parquet
    write(sys.argv[2], int(float(sys.argv[1])))
