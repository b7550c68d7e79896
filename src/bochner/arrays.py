"""The only place that asks "numpy or torch?". Nothing is imported that the caller has not imported already."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # a numpy array or a torch tensor; what both have under one name, code may use


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def namespace(array: Array) -> Any:
    """The library of an array, numpy or torch, for functions that both have under one name."""
    return sys.modules["torch"] if is_torch(array) else np


def dtype_name(array: Array) -> str:
    """float32, int8 and so on, whatever the library."""
    return str(array.dtype).removeprefix("torch.") if is_torch(array) else array.dtype.name


def is_integer(array: Array) -> bool:
    """Whether these are signed integers."""
    return dtype_name(array) in ("int8", "int16", "int32", "int64")


def cast(array: Array, dtype: str, copy: bool = False) -> Array:
    """The array in a dtype given by name; itself if it has that, unless a copy is asked for."""
    if is_torch(array):
        return array.to(getattr(sys.modules["torch"], dtype), copy=copy)
    return array.astype(dtype, copy=copy)


def contiguous(array: Array) -> Array:
    """The array with its rows one after the other."""
    return array.contiguous() if is_torch(array) else np.ascontiguousarray(array)


def empty(shape: Any, template: Array, dtype: str = "float64") -> Array:
    """An array to be filled, of the template's library and on its device."""
    if is_torch(template):
        return template.new_empty(tuple(shape), dtype=getattr(sys.modules["torch"], dtype))
    return np.empty(shape, dtype=dtype)


def constant(value: float, shape: Any, template: Array, dtype: str = "float64") -> Array:
    """An array full of one number, of the template's library and on its device."""
    out = empty(shape, template, dtype)
    out[...] = value
    return out


def to_numpy(array: Any) -> Any:
    """A torch tensor as a numpy array (sharing memory on the CPU); anything else unchanged."""
    if not is_torch(array):
        return array
    if array.layout is not sys.modules["torch"].strided:
        raise ValueError("X is a sparse torch tensor; make it dense, or a scipy CSR matrix.")
    array = array.detach().cpu()
    return (array.float() if str(array.dtype) in ("torch.bfloat16", "torch.float16") else array).numpy()


def like(result: Any, template: Any) -> Any:
    """A numpy array or number as a tensor on the template's device if the template is a tensor; else unchanged."""
    if not is_torch(template) or not isinstance(result, np.ndarray | np.generic):
        return result
    if not isinstance(result, np.ndarray) or not result.flags.writeable:  # torch would warn of what could be written
        result = np.array(result)
    return sys.modules["torch"].from_numpy(result).to(template.device)
