"""The only place that asks "numpy or torch?". Nothing is imported that the caller has not imported already."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def to_numpy(array: Any) -> Any:
    """A torch tensor as a numpy array (sharing memory on the CPU); anything else unchanged."""
    if not is_torch(array):
        return array
    if array.layout is not sys.modules["torch"].strided:
        raise ValueError("X is a sparse torch tensor; make it dense, or a scipy CSR matrix.")
    array = array.detach().cpu()
    return (array.float() if str(array.dtype) in ("torch.bfloat16", "torch.float16") else array).numpy()


def like(result: np.ndarray, template: Any) -> Any:
    """`result` as a tensor on the template's device if the template is a tensor, else unchanged."""
    if not is_torch(template) or not isinstance(result, np.ndarray):
        return result
    return sys.modules["torch"].from_numpy(result).to(template.device)
