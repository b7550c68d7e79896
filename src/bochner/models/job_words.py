"""Parameters in words that are the same in every process: by them a checkpoint knows whose sums it holds.

All that can change a number is in the words: every number of an array, by a digest; the parameters of parts, and of
their parts; the code of functions. Places in memory are not, nor what a fit left behind.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import scipy.sparse

from ..arrays import to_numpy

PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.ufunc)
LONGEST = 2000  # letters of a value; of more there is the beginning and a digest
Words = Callable[[object], str]
Collection = list[object] | tuple[object, ...] | set[object] | frozenset[object] | dict[object, object]
Function = FunctionType | BuiltinFunctionType | MethodType | CodeType | functools.partial[object]


def described(value: object) -> str:
    """A parameter in words."""
    text = words(value)
    return text if len(text) <= LONGEST else f"{text[:80]}... {digest(text.encode())}"


def words(value: object, around: tuple[int, ...] = ()) -> str:
    """A value in words; `around` are the identities of those that it is a part of."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__  # what was drawn of it stands in the checkpoint
    if isinstance(value, type):
        return name_of(value)
    if id(value) in around:
        return "..."

    def part(inner: object) -> str:
        return words(inner, (*around, id(value)))

    if isinstance(value, list | tuple | set | frozenset | dict):
        return of_several(value, part)
    if isinstance(value, FunctionType | BuiltinFunctionType | MethodType | functools.partial | CodeType):
        return of_function(value, part)
    if scipy.sparse.issparse(value):
        rows: Any = value
        return f"sparse{rows.shape}({', '.join(map(part, rows.tocoo().coords))}, {part(rows.tocoo().data)})"
    array: Any = to_numpy(value)
    if hasattr(array, "__array__"):
        return of_array(np.asarray(array), part)
    fields = fields_of(value)
    if fields is None:
        return repr(value)
    return f"{name_of(type(value))}({', '.join(f'{name}={part(inner)}' for name, inner in fields.items())})"


def of_several(values: Collection, part: Words) -> str:
    """As Python prints them, sets in order."""
    if isinstance(values, dict):
        return "{" + ", ".join(f"{part(name)}: {part(value)}" for name, value in values.items()) + "}"
    items = [part(value) for value in values]
    if isinstance(values, list):
        return f"[{', '.join(items)}]"
    if isinstance(values, tuple):
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    return "{" + ", ".join(sorted(items)) + "}"


def of_array(array: np.ndarray, part: Words) -> str:
    if array.dtype.hasobject:
        return f"array({part(array.tolist())})"
    return f"array({array.dtype}, {array.shape}, {digest(np.ascontiguousarray(array).tobytes())})"


def of_function(function: Function, part: Words) -> str:
    """By name, and by what it does: its code with all constants, its defaults and what it closes over."""
    if isinstance(function, CodeType):
        return f"({digest(function.co_code)}, {part(function.co_consts)}, {part(function.co_names)})"
    if isinstance(function, functools.partial):
        return f"partial({part(function.func)}, {part(function.args)}, {part(function.keywords)})"
    if isinstance(function, MethodType):
        return f"{part(function.__func__)} of {part(function.__self__)}"
    if isinstance(function, BuiltinFunctionType):
        return name_of(function)
    closed = [cell.cell_contents for cell in function.__closure__ or ()]
    does = part([function.__code__, function.__defaults__, function.__kwdefaults__, closed])
    return f"{name_of(function)} {digest(does.encode())}"


def fields_of(value: object) -> dict[str, object] | None:
    """What a value is made of, by name: parameters, fields or attributes; None if its words alone tell."""
    get_params = getattr(value, "get_params", None)
    if callable(get_params):
        return dict(get_params(deep=False))
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    fields = dict(getattr(value, "__dict__", {}))
    if type(value).__repr__ is not object.__repr__ and not fields:
        return None
    for cls in type(value).__mro__:
        slots = [str(name) for name in np.atleast_1d(vars(cls).get("__slots__", ()))]
        fields |= {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {name: inner for name, inner in fields.items() if name.startswith("_") or not name.endswith("_")}


def name_of(thing: type | FunctionType | BuiltinFunctionType) -> str:
    """The name of a class or function with that of its module, but for those of bochner."""
    module, name = str(thing.__module__), str(thing.__qualname__)
    return name if module.partition(".")[0] == "bochner" else f"{module}.{name}"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
