"""The door to the C++ kernels: numpy arrays in, numpy arrays out. Empty if the extension was not built.

The C++ functions take contiguous arrays, work on one thread and release the GIL. The best instruction set of this
machine is chosen at import; BOCHNER_INSTRUCTION_SET (amx, vnni, avx512, avx2, baseline) asks for another.
"""

from __future__ import annotations

import os
import warnings

import numpy as np

from .. import threads
from .backend import BACKEND
from .instruction_sets import EMULATED, PLAIN, _native, instruction_set, instruction_sets, use_instruction_set
from .pictures import patches, pooled, pooled_maxout, pooled_threshold, standardize
from .projections import (
    dense_cos_sin,
    dense_maxout,
    dense_winners,
    project,
    project_cos_sin,
    project_lookup,
    project_maxout,
    project_winners,
    projects,
)
from .rows import (
    binned,
    bins,
    cells,
    cos_sin,
    distances,
    fastfood,
    fastfood_cos_sin,
    fastfood_cos_sin_integer,
    fastfood_integer,
    fwht,
    gates,
    matches,
    maxout,
    philox,
    quantize,
    stumps,
    winners,
)
from .sums import add_to_triangle, cross, float_gram, gram, scores

__all__ = [
    "BACKEND", "EMULATED", "INSTALLED", "PLAIN", "add_to_triangle", "binned", "bins", "cells", "cos_sin", "cross",
    "dense_cos_sin", "dense_maxout", "dense_winners", "distances", "fastfood", "fastfood_cos_sin",
    "fastfood_cos_sin_integer", "fastfood_integer", "float_gram", "fwht", "gates", "gram", "instruction_set",
    "instruction_sets", "matches", "maxout", "patches", "philox", "pooled", "pooled_maxout", "pooled_threshold",
    "project", "project_cos_sin", "project_lookup", "project_maxout", "project_winners", "projects", "quantize",
    "scores", "standardize", "stumps", "use_instruction_set", "winners",
]  # fmt: skip


def leave_if_wrong(instead: str) -> None:
    """Use another instruction set if this one fails small products: virtual machines may promise what they lack."""
    z = (np.arange(70 * 37) * 41 % 256).astype(np.uint8).reshape(70, 37)  # two left-hand tiles and odd ends
    signed = z.view(np.int8)
    wide = signed.astype(np.int32)
    with threads.limited(1):  # an import should start none
        right = np.array_equal(gram(signed), wide.T @ wide) and np.array_equal(project(z, signed), z @ wide.T)
        right = right and np.array_equal(float_gram(signed.astype(np.float32), True), wide.T @ wide)
    if not right:
        warnings.warn(
            f"the {instruction_set()} kernels give wrong products on this machine: {instead} is used instead.",
            RuntimeWarning,
            stacklevel=2,
        )
        use_instruction_set(instead)


INSTALLED = _native is not None
if INSTALLED:
    if os.environ.get("BOCHNER_INSTRUCTION_SET"):
        use_instruction_set(os.environ["BOCHNER_INSTRUCTION_SET"])
    if instruction_set() == "amx":
        leave_if_wrong("vnni")
