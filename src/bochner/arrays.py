"""The only place that asks "numpy or torch?". Nothing is imported that the caller has not imported already.

Arrays stay in the library and on the device that they come in. `like` puts the numbers of a model beside the rows that
it is given, and `to_host` is the one way from a device to numpy that fits and predictions take: for few numbers.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
import scipy.special

Array: TypeAlias = Any  # a numpy array or a torch tensor; what both have under one name, code may use
FEW_ROWS = 1 << 16  # more than any sample has, or a kernel matrix that finds room
HALVES = ("float16", "bfloat16")


def is_torch(array: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_sparse_tensor(array: Any) -> bool:
    return is_torch(array) and array.layout is not sys.modules["torch"].strided


def namespace(array: Array) -> Any:
    """The library of an array, numpy or torch, for functions that both have under one name."""
    return sys.modules["torch"] if is_torch(array) else np


def special(array: Array) -> Any:
    """The special functions of an array's library: expit, softmax and so on."""
    return sys.modules["torch"].special if is_torch(array) else scipy.special


def dtype_name(array: Array) -> str:
    """float32, int8 and so on, whatever the library."""
    return str(array.dtype).removeprefix("torch.") if is_torch(array) else array.dtype.name


def is_integer(array: Array) -> bool:
    """Whether these are signed integers."""
    return dtype_name(array) in ("int8", "int16", "int32", "int64")


def is_float(array: Array) -> bool:
    return "float" in dtype_name(array)


def cast(array: Array, dtype: str, copy: bool = False) -> Array:
    """The array in a dtype given by name; itself if it has that, unless a copy is asked for."""
    if is_torch(array):
        return array.to(getattr(sys.modules["torch"], dtype), copy=copy)
    return array.astype(dtype, copy=copy)


def copied(array: Array) -> Array:
    """A copy, dense or CSR."""
    return cast(array, dtype_name(array), copy=True)


def scalar(value: float, template: Array) -> Any:
    """A number in the dtype of an array, which it does not widen."""
    return np.dtype(dtype_name(template)).type(value)


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


def arange(count: int, template: Array) -> Array:
    """0, 1, ..., count - 1, of the template's library and on its device."""
    return like(np.arange(count), template)


def places(mask: Array) -> Array:
    """Where a mask (n,) holds, ascending."""
    return namespace(mask).argwhere(mask)[:, 0]


def as_rows(tensor: Array) -> Array:
    """A tensor as a model takes it: dense and without a gradient; halves as float32."""
    if is_sparse_tensor(tensor):
        raise ValueError("X is a sparse torch tensor; make it dense, or a scipy CSR matrix.")
    tensor = tensor.detach()
    return cast(tensor, "float32") if dtype_name(tensor) in HALVES else tensor


def to_numpy(array: object) -> Any:
    """A torch tensor as a numpy array (sharing memory on the CPU); anything else unchanged."""
    return as_rows(array).cpu().numpy() if is_torch(array) else array


def to_host(array: Any) -> Any:
    """A few numbers as a numpy array: a number per column, class, fold or penalty, or the rows of a sample.

    What a fit settles by looking at a sample (bandwidths, scales, the steps of integers) is settled in numpy whatever
    the rows are: the same bits for every library and device, so that maps are equal and integers too.
    """
    if is_torch(array) and array.ndim and len(array) > FEW_ROWS:
        raise ValueError(f"a tensor of shape {tuple(array.shape)} is more than a sample: it stays on its device.")
    return to_numpy(array)


def like(result: Any, template: Any) -> Any:
    """An array or a number of numpy in the library of the template and on its device; anything else unchanged."""
    if is_torch(result):
        return result.to(template.device) if is_torch(template) else to_numpy(result)
    if not is_torch(template) or not isinstance(result, np.ndarray | np.generic):
        return result
    if not isinstance(result, np.ndarray) or not result.flags.writeable:  # torch would warn of what could be written
        result = np.array(result)
    return sys.modules["torch"].from_numpy(result).to(template.device)
