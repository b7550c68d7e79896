"""The only place that asks "numpy or torch?". Nothing is imported that the caller has not imported already.

Arrays stay in the library and on the device that they come in. `like` puts the numbers of a model beside the rows that
it is given, and `to_host` is the one way from a device to numpy that fits and predictions take: for few numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np
import scipy.sparse
import scipy.special

if TYPE_CHECKING:
    from torch import Tensor


class Array(Protocol):
    """A numpy array or a torch tensor: what both have under one name, which is all that code for both may use."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def T(self) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __array__(self) -> np.ndarray: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...
    def __ne__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __invert__(self) -> Any: ...
    @property
    def reshape(self) -> Any: ...
    @property
    def trace(self) -> Any: ...
    def ravel(self) -> Any: ...
    @property
    def sum(self) -> Any: ...
    @property
    def mean(self) -> Any: ...
    @property
    def clip(self) -> Any: ...
    @property
    def argmax(self) -> Any: ...
    @property
    def diagonal(self) -> Any: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def min(self) -> Any: ...
    @property
    def max(self) -> Any: ...
    @property
    def any(self) -> Any: ...
    @property
    def all(self) -> Any: ...
    def tolist(self) -> Any: ...
    def item(self) -> Any: ...


Rows: TypeAlias = Array | scipy.sparse.csr_matrix
Same = TypeVar("Same", bound=Array)  # what comes back is of the library that came in
FEW_ROWS = 1 << 16  # more than any sample has, or a kernel matrix that finds room
HALVES = ("float16", "bfloat16")


def is_torch(array: object) -> TypeGuard[Tensor]:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_csr(array: object) -> TypeGuard[scipy.sparse.csr_matrix]:
    return scipy.sparse.issparse(array)


def is_sparse_tensor(array: object) -> bool:
    return is_torch(array) and array.layout is not sys.modules["torch"].strided


def namespace(array: object) -> ModuleType:
    """The library of an array, numpy or torch, for functions that both have under one name."""
    return sys.modules["torch"] if is_torch(array) else np


def special(array: Array) -> ModuleType:
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


def cast(array: Same, dtype: str, copy: bool = False) -> Same:
    """The array in a dtype given by name; itself if it has that, unless a copy is asked for."""
    if is_torch(array):
        return array.to(getattr(sys.modules["torch"], dtype), copy=copy)
    in_numpy: Any = array  # dense or CSR
    return in_numpy.astype(dtype, copy=copy)


def copied(array: Same) -> Same:
    """A copy, dense or CSR."""
    return cast(array, dtype_name(array), copy=True)


def scalar(value: float, template: Array) -> np.generic:
    """A number in the dtype of an array, which it does not widen."""
    return np.dtype(dtype_name(template)).type(value)


def contiguous(array: Array) -> Array:
    """The array with its rows one after the other."""
    return array.contiguous() if is_torch(array) else np.ascontiguousarray(array)


def empty(shape: Sequence[int], template: object, dtype: str = "float64") -> Array:
    """An array to be filled, of the template's library and on its device."""
    if is_torch(template):
        return template.new_empty(tuple(shape), dtype=getattr(sys.modules["torch"], dtype))
    return np.empty(shape, dtype=dtype)


def constant(value: float, shape: Sequence[int], template: Array, dtype: str = "float64") -> Array:
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


def as_rows(tensor: Tensor) -> Tensor:
    """A tensor as a model takes it: dense and without a gradient; halves as float32."""
    if is_sparse_tensor(tensor):
        raise ValueError("X is a sparse torch tensor; make it dense, or a scipy CSR matrix.")
    tensor = tensor.detach()
    return cast(tensor, "float32") if dtype_name(tensor) in HALVES else tensor


def to_numpy(array: object) -> Any:
    """A torch tensor as a numpy array (sharing memory on the CPU); anything else unchanged."""
    return as_rows(array).cpu().numpy() if is_torch(array) else array


def to_host(array: object) -> Any:
    """A few numbers as a numpy array: a number per column, class, fold or penalty, or the rows of a sample.

    What a fit settles by looking at a sample (bandwidths, scales, the steps of integers) is settled in numpy whatever
    the rows are: the same bits for every library and device, so that maps are equal and integers too.
    """
    if is_torch(array) and array.ndim and len(array) > FEW_ROWS:
        raise ValueError(f"a tensor of shape {tuple(array.shape)} is more than a sample: it stays on its device.")
    return to_numpy(array)


def like(result: object, template: object) -> Any:
    """An array or a number of numpy in the library of the template and on its device; anything else unchanged."""
    if is_torch(result):
        return result.to(template.device) if is_torch(template) else to_numpy(result)
    if not is_torch(template) or not isinstance(result, np.ndarray | np.generic):
        return result
    if not isinstance(result, np.ndarray) or not result.flags.writeable:  # torch would warn of what could be written
        result = np.array(result)
    return sys.modules["torch"].from_numpy(result).to(template.device)
