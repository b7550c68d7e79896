"""Where work is done: names of devices, the memory that they have, and ways of rows to them.

`device=None` leaves rows where they are; "cpu" and "cuda" say where features, sums and solutions are made of them.
Torch is imported by whoever names a GPU, and by no one else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse

from ..arrays import Array, as_rows, is_torch
from ..config import room_context

if TYPE_CHECKING:
    from torch import Tensor

SHARE = 0.6  # of a device's memory, what "auto" means
RESIDENT = 0.25  # of it, rows that are moved there once and stay; more come a block at a time
STAGES = 3  # pinned buffers: one is filled, one travels, one may wait


def named_device(device: object) -> str | None:
    """The name of a device, which need not be on this machine, or None."""
    if device is None or str(device) == "cpu":
        return None if device is None else "cpu"
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"device must be None, 'cpu', 'cuda' or 'cuda:1'; got {device!r}.")
    return str(device)


def require_device(device: object) -> str | None:
    """The name of a device, or None; refused in one sentence if there is no such device here."""
    name = named_device(device)
    if name in (None, "cpu"):
        return name
    number = name.partition(":")[2]
    try:
        torch = import_module("torch")
    except ImportError:
        raise ValueError(f"device={name!r} needs torch with CUDA, and torch is not installed.") from None
    if not torch.cuda.is_available():
        raise ValueError(f"device={name!r}: torch {torch.__version__} sees no GPU here; use device=None or 'cpu'.")
    if int(number or 0) >= torch.cuda.device_count():
        raise ValueError(f"device={name!r}: torch sees {torch.cuda.device_count()} GPU(s), numbered from 0.")
    return name


def device_here(device: object) -> str | None:
    """The device that was asked for if this process has it, else None: for workers, of which some have one."""
    try:
        return require_device(device)
    except ValueError:
        return None


def device_of(*arrays: object) -> str | None:
    """The GPU that the first tensor is on; None if there is none, or it is on the CPU."""
    for array in arrays:
        if is_torch(array) and array.device.type != "cpu":
            return str(array.device)
    return None


@lru_cache(maxsize=8)
def memory_of(device: str) -> int:
    """Bytes of memory of a GPU."""
    torch = sys.modules["torch"]
    return int(torch.cuda.get_device_properties(device).total_memory) if device.startswith("cuda") else 0


def room_on(device: str | None) -> AbstractContextManager[None]:
    """The memory budget is that of the device, for the duration of a `with` block."""
    return room_context(int(SHARE * memory_of(device)) if device not in (None, "cpu") else 0)


Placed = TypeVar("Placed", bound="Array | None")


def placed(array: Placed, device: str | None) -> Placed:
    """An array as a tensor on a GPU; for "cpu" a tensor there, and an array as it is; for None as it is."""
    if device is None or array is None or (device == "cpu" and not is_torch(array)):
        return array
    if is_torch(array):
        return array.to(device)
    carrier = Carrier(device)
    moved = carrier.carry([array])
    carrier.arrived(moved)
    return moved[0]


def fits(arrays: Sequence[Any], device: str) -> bool:
    """Whether rows may be moved to a device and stay there."""
    return sum(getattr(array, "nbytes", 0) for array in arrays) <= RESIDENT * memory_of(device)


class Carrier:
    """Moves arrays to a device. On a GPU they go by way of pinned buffers, in a stream of their own, while it works.

    `carry` returns at once; whoever uses the tensors calls `arrived` first, which makes the device wait, not the host.
    """

    def __init__(self, device: str) -> None:
        try:
            self.torch, self.asked = import_module("torch"), device
        except ImportError:
            raise ValueError("rows go to a device as tensors, and torch is not installed.") from None
        self.device = self.torch.device(device)
        self.overlaps = self.device.type == "cuda"
        self._stream = self.torch.cuda.Stream(self.device) if self.overlaps else None
        self._stages: list[tuple[dict[int, Any], Any]] = [({}, None) for _ in range(STAGES)]
        self._next = 0
        self._sent: dict[int, Any] = {}  # when what begins with this tensor is there

    def __reduce__(self) -> tuple[object, ...]:
        return carrier_here, (self.asked,)

    @property
    def on_host(self) -> bool:
        """Whether there is no device but the host."""
        return self.device.type == "cpu"

    def room(self) -> AbstractContextManager[None]:
        """The memory budget is that of the device, for the duration of a `with` block."""
        return room_on(str(self.device))

    def carry(self, arrays: Sequence[Any]) -> list[Any]:
        """The arrays as tensors, perhaps still on their way; None stays None."""
        for array in arrays:
            if scipy.sparse.issparse(array):
                raise ValueError(f"there are no sparse rows on {self.device.type}: give dense ones, X.toarray().")
        tensors = [None if array is None else as_tensor(array, self.torch) for array in arrays]
        if not self.overlaps:
            return [None if part is None else part.to(self.device) for part in tensors]
        number, self._next = self._next, (self._next + 1) % STAGES
        buffers, sent = self._stages[number]
        if sent is not None:
            sent.synchronize()  # what the buffers held before is on the device
        moved = []
        with self.torch.cuda.stream(self._stream):
            for place, part in enumerate(tensors):
                on_host = part is not None and part.device.type == "cpu" and part.numel()
                moved.append(self._staged(part, buffers, place) if on_host else to_device(part, self.device))
            sent = self._stream.record_event()  # type: ignore[union-attr]
        self._stages[number] = buffers, sent
        self._sent[id(moved[0])] = sent
        return moved

    def _staged(self, part: Tensor, buffers: dict[int, Tensor], place: int) -> Tensor:
        size = part.numel() * part.element_size()
        if place not in buffers or buffers[place].numel() < size:
            buffers[place] = self.torch.empty(size, dtype=self.torch.uint8, pin_memory=True)
        staged = buffers[place][:size].view(part.dtype).view(part.shape)
        staged.copy_(part)
        return staged.to(self.device, non_blocking=True)

    def arrived(self, tensors: Sequence[Any]) -> None:
        """What the device does from now on waits for these, which were carried together."""
        if self.overlaps:
            stream = self.torch.cuda.current_stream(self.device)
            stream.wait_event(self._sent.pop(id(tensors[0])))
            for part in tensors:
                if part is not None:
                    part.record_stream(stream)


@lru_cache(maxsize=8)
def carrier_here(name: str) -> Carrier:
    """The carrier to a device of whatever process this is, or to its host where there is none: then it is `on_host`."""
    carrier = Carrier(device_here(name) or "cpu")
    carrier.asked = name
    return carrier


def to_device(part: Tensor | None, device: object) -> Tensor | None:
    return None if part is None else part.to(device)


def as_tensor(array: object, torch: ModuleType) -> Tensor:
    """A tensor that shares the memory of an array of numbers."""
    if is_torch(array):
        return as_rows(array)
    array = np.asarray(array)
    if not array.flags.writeable or not array.flags.c_contiguous or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")  # torch would warn of the first
    return torch.from_numpy(array)
