"""What GPUs do faster than torch's definitions: fused projections, Hadamard transforms and sums, by Triton and cuBLAS.

Every function here equals the definition in `torch_reference`: integers bit for bit, floats to rounding. Features come
with the rows of a column side by side (strides 1, n), as tensor cores want to have them for Gram matrices.

With TRITON_INTERPRET=1 the same kernels run on tensors of the CPU, slowly: so they are tested everywhere.
"""

from __future__ import annotations

from importlib.util import find_spec

from .backend import BACKEND, INTERPRETED

if find_spec("triton") is not None:
    from . import choices, distances, floats, hadamard, pictures, projections, randomness, structured  # noqa: F401
from . import factors, solutions, sums  # noqa: F401  they register what they serve

__all__ = ["BACKEND", "INTERPRETED"]
