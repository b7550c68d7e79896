"""H G Pi H B x in ONNX: four numbers a projection in the file, and two small matrix products for each H.

H of size a b is the Kronecker product of H of size a and of size b, so with y as a matrix (a, b), H y = H_a y H_b.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

from ..maps.hadamard import Expansion
from .graph import Graph


def expand(graph: Graph, rows: str, expansion: Expansion, columns: int, shift: int = 0) -> str:
    """The projections (n, expansions size) before calibration; of integers, with G Pi H B x shifted by so many bits."""
    expansions, size = expansion.signs.shape
    padded = graph("Pad", rows, np.array([0, 0, 0, size - columns]))
    signed = graph("Mul", graph.shaped(padded, 1, size), graph.double(expansion.signs))
    order = np.arange(expansions)[:, None] * size + expansion.permutation
    mixed = graph.columns(_transform(graph, signed, expansions, size), order.ravel())
    mixed = graph("Mul", mixed, graph.double(expansion.gaussian.ravel()))
    if shift:  # the sums are integers below 2^53, so this is the shift to the right
        halves = graph("Add", mixed, np.float64(1 << (shift - 1)))
        mixed = graph("Floor", graph("Div", halves, np.float64(1 << shift)))
    return _transform(graph, mixed, expansions, size)


def _transform(graph: Graph, values: str, expansions: int, size: int) -> str:
    outer = 1 << (size.bit_length() - 1) // 2
    inner = size // outer
    for side, other in ((inner, outer), (outer, inner)):
        flat = graph("Reshape", values, np.array([-1, side]))  # one product of two matrices, the fastest there is
        product = graph("MatMul", flat, hadamard(side, dtype=np.float64))
        values = graph("Transpose", graph("Reshape", product, np.array([-1, other, side])), perm=[0, 2, 1])
    return graph("Reshape", values, np.array([-1, expansions * size]))
