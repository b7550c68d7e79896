"""Which function serves an op: it is chosen by the array that the op is given.

`@op` declares an op where numpy's definition of it stands. A `Backend` holds functions for the arrays of one library,
and says of each what it takes: dtypes and layouts of the first array, and what else must hold. A call goes to the
first backend, in the order in which they were registered, that takes its arguments; the definition takes all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import scipy.sparse

from ..arrays import Array, dtype_name, is_sparse_tensor, is_torch

Function = TypeVar("Function", bound=Callable[..., Any])
LIBRARIES = ("numpy", "torch")
DENSE, SPARSE = "dense", "sparse"


class Version(NamedTuple):
    """A function for an op, and what it takes: None is every dtype or layout; `when` asks more of the arguments, and
    `note` says so in words."""

    function: Callable[..., Any]
    dtypes: tuple[str, ...] | None = None
    layouts: tuple[str, ...] | None = None
    when: Callable[..., bool] | None = None
    note: str = ""

    def takes(self, array: Array, *others: object) -> bool:
        return self.takes_kind(array) and (self.when is None or self.when(array, *others))

    def takes_kind(self, array: Array) -> bool:
        """Whether the dtype and the layout are right, which hold for all arrays of a kind."""
        return (self.dtypes is None or dtype_name(array) in self.dtypes) and (
            self.layouts is None or layout_of(array) in self.layouts
        )

    def __str__(self) -> str:
        notes = ["sparse too"] if self.layouts and SPARSE in self.layouts else []
        notes += [self.note] if self.note else []
        return ", ".join(self.dtypes or ["all"]) + (f" ({'; '.join(notes)})" if notes else "")


class Tiles(NamedTuple):
    """How large pieces of work a backend likes: numbers of a tile, projections in a row of it, rows if weights have to
    be packed."""

    numbers: int = 1 << 22
    columns: int = 8192
    packed_rows: int = 1 << 14


@dataclass(frozen=True, eq=False)
class Backend:
    """Functions for the arrays of one library; `defines` if they are what the ops mean there."""

    name: str
    library: str = "numpy"
    defines: bool = False
    device: str = ""  # the kind that its arrays are on, "cuda" say; any if it says nothing
    tiles: Tiles = field(default_factory=Tiles)
    versions: dict[str, list[Version]] = field(default_factory=dict)

    def serves(
        self,
        name: str | None = None,
        *,
        dtypes: tuple[str, ...] | None = None,
        layouts: tuple[str, ...] | None = (DENSE,),
        when: Callable[..., bool] | None = None,
        note: str = "",
    ) -> Callable[[Function], Function]:
        """The decorated function serves the op of that name (its own, if none is given), for what it takes."""

        def add(function: Function) -> Function:
            version = Version(function, dtypes, layouts, when, note)
            self.versions.setdefault(name or function.__name__, []).append(version)
            return function

        return add


class Op:
    """A name that is served by whatever backend takes the array of a call."""

    def __init__(self, definition: Callable[..., Any]) -> None:
        self.name, self.definition = definition.__name__, definition
        self.__doc__ = definition.__doc__

    def __call__(self, array: Array, *others: object) -> Array | tuple[Array, ...]:
        try:
            versions = _selection.chosen[kind_of(self.name, array)]
        except KeyError:
            versions = _selection.choose(self.name, array)
        for function, when in versions:
            if when is None or when(array, *others):
                return function(array, *others)
        kind = f"{layout_of(array)} {dtype_name(array)} arrays of {library_of(array)}"
        raise LookupError(f"no backend has the op {self.name!r} for {kind}: see ops.describe().")


@dataclass(frozen=True, eq=False)
class Selection:
    """Backends that may serve, in order, and what was chosen of them for each op and kind of array. A change of
    backends makes a new one, so that nothing old is ever looked up."""

    backends: tuple[Backend, ...]
    chosen: dict[tuple[Any, ...], tuple[tuple[Any, Any], ...]] = field(default_factory=dict)

    def choose(self, name: str, array: Array) -> tuple[tuple[Any, Any], ...]:
        if is_torch(array):
            load_torch()
            if self is not _selection:  # its backend was registered just now
                return _selection.choose(name, array)
        found = tuple(
            (version.function, version.when)
            for backend in self.of(library_of(array), device_kind(array))
            for version in backend.versions.get(name, ())
            if version.takes_kind(array)
        )
        self.chosen[kind_of(name, array)] = found
        return found

    def of(self, library: str, device: str | None = None) -> list[Backend]:
        """The backends of a library, in order; for arrays on a kind of device, if that is given."""
        found = [backend for backend in self.backends if backend.library == library]
        return [backend for backend in found if device is None or backend.device in ("", device)]


OPS: dict[str, Op] = {}
BACKENDS: dict[str, Backend] = {}
REFERENCE = Backend("reference", defines=True)
_allowed: frozenset[str] | None = None  # names of backends beside the definitions; None is all
_selection = Selection(())


def op(function: Function) -> Function:
    """Declare an op by numpy's definition of it."""
    OPS[function.__name__] = Op(function)
    return REFERENCE.serves(layouts=None)(function)


def register(backend: Backend) -> None:
    """Make a backend known: it is asked after those that are, but before definitions."""
    BACKENDS[backend.name] = backend
    _select(_allowed)


def unregister(backend: Backend) -> None:
    """Forget a backend."""
    del BACKENDS[backend.name]
    _select(_allowed)


def use_backends(*names: str) -> None:
    """Allow only these backends; definitions are always among them, because they are what ops mean."""
    for name in names:
        if name not in BACKENDS:
            raise ValueError(f"BOCHNER_BACKEND or use_backends: {name!r} is not one of {', '.join(BACKENDS)}.")
        if not BACKENDS[name].versions:
            raise ValueError(f"the {name} backend was asked for, but the extension is not installed.")
    _select(frozenset(names))


@contextmanager
def backend_context(*names: str) -> Iterator[None]:
    """Only these backends, and definitions, for the duration of a `with` block."""
    before = _allowed
    use_backends(*names)
    try:
        yield
    finally:
        _select(before)


def _select(allowed: frozenset[str] | None) -> None:
    global _allowed, _selection
    _allowed = allowed
    usable = [b for b in BACKENDS.values() if b.defines or allowed is None or b.name in allowed]
    _selection = Selection(tuple(sorted(usable, key=lambda backend: backend.defines)))


def library_of(array: object) -> str:
    return "torch" if is_torch(array) else "numpy"


def device_kind(array: object) -> str:
    """cpu, cuda and so on."""
    return array.device.type if is_torch(array) else "cpu"


def layout_of(array: object) -> str:
    return SPARSE if scipy.sparse.issparse(array) or is_sparse_tensor(array) else DENSE


def kind_of(name: str, array: Array) -> tuple[Any, ...]:
    """What the choice of a backend hangs on, besides what versions ask of the arguments; types tell layouts apart,
    but for tensors."""
    return name, type(array), array.dtype, getattr(array, "layout", None), getattr(array, "device", None)


def load_torch() -> None:
    """Make torch's definitions, and what is fast on a GPU, known; whoever holds a tensor has imported torch already."""
    from . import torch_linear_algebra, torch_reference  # noqa: F401

    if torch_reference.TORCH.name not in BACKENDS:
        from . import cuda

        register(torch_reference.TORCH)
        register(cuda.BACKEND)


def has_fast(name: str, array: object = None) -> bool:
    """Whether an op is served by more than its definition, for arrays like this one; without one, for numpy's."""
    if is_torch(array):
        load_torch()
    backends = _selection.of(library_of(array), device_kind(array))
    return any(name in backend.versions for backend in backends if not backend.defines)


def tiles_for(array: object) -> Tiles:
    """The tiles of the backend that such arrays go to first."""
    if is_torch(array):
        load_torch()
    return _selection.of(library_of(array), device_kind(array))[0].tiles


def described() -> dict[str, dict[str, str]]:
    """Of each library that is imported: which backend serves each op, for what."""
    if sys.modules.get("torch") is not None:
        load_torch()
    found = {}
    for library in LIBRARIES:
        backends = _selection.of(library)
        if backends:
            found[library] = {name: _in_words(name, backends) for name in OPS}
    return found


def _in_words(name: str, backends: list[Backend]) -> str:
    """native for int8, int16 (...); else reference"""
    able = [backend for backend in backends if name in backend.versions]
    if not able:
        return "nothing: refused"
    *fast, definition = able
    served = [f"{backend.name} for {'; '.join(map(str, backend.versions[name]))}" for backend in fast]
    last = definition.name + ("" if definition.versions[name][-1].layouts is None else " (dense; sparse is refused)")
    return "; ".join([*served, f"else {last}" if served else last])
