"""Checks of arguments: each failure is one sentence that names the argument, what it must be and what it was."""

from __future__ import annotations

import difflib
import numbers
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .arrays import Rows, dtype_name, is_float, is_torch, places

LARGEST = 1e150  # of numbers whose squares are summed: a hundred million of them find room in a float
_spoken = "python"
_others: frozenset[str] = frozenset()  # settings that the reader does not have


@contextmanager
def command_line(without: Iterable[str] = ()) -> Iterator[None]:
    """While this holds, messages speak of settings as the command line writes them.

    without : settings that the command does not have, of which nothing is said.
    """
    global _spoken, _others
    before = _spoken, _others
    _spoken, _others = "command line", frozenset(without)
    try:
        yield
    finally:
        _spoken, _others = before


def is_option(name: str) -> bool:
    """Whether the reader of a message can give a setting of this name."""
    return name not in _others


def option(name: str, value: object) -> str:
    """A setting as the user would write it: missing='mean' in Python, --missing mean on the command line."""
    if _spoken == "python":
        return f"{name}={value!r}"
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{flag} {shlex.quote(str(one))}" for one in values)


class FitWarning(UserWarning):
    """Something that a person should know about a fit or a prediction: its numbers speak against it."""


def require_integer(name: str, value: object, minimum: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}; got {value!r}.")
    return int(value)


def require_positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive finite number; got {value!r}.")
    return float(value)


def require_choice(name: str, value: object, choices: Iterable[str]) -> str:
    choices = list(choices)
    if value in choices:
        return str(value)
    close = difflib.get_close_matches(str(value).lower(), choices, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?" if close else f"choose from {', '.join(map(repr, choices))}."
    )
    raise ValueError(f"{option(name, value)} is not known: {hint}")


def require_numbers(given: object) -> None:
    """Refuse text, dates and complex numbers, naming the column of a frame."""
    X: Any = given  # of whichever library
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise ValueError("X is a lazy frame; call its collect() first.")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
        for name, kind in zip(X.columns, kinds, strict=True):
            if not _is_numeric_column(X[name], kind):
                raise ValueError(f"column {name!r} is not numeric (its type is {kind}); encode it first, say one-hot.")
    kind = dtype_name(X)[0] if is_torch(X) else getattr(getattr(X, "dtype", None), "kind", "f")
    if kind in "cMm":
        what = {"c": "Complex data", "M": "Dates", "m": "Time differences"}[kind]
        raise ValueError(f"{what} not supported: X must hold real numbers.")


def _is_numeric_column(column: Iterable[object], kind: Any) -> bool:
    if hasattr(kind, "is_numeric"):  # polars
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    if str(kind) == "object":
        return not any(isinstance(value, str) for value in column)
    return kind.kind in "biuf" or (kind.kind == "O" and getattr(kind, "_is_numeric", False))


def require_finite(rows: Rows, name: str = "X", total: Callable[[np.ndarray], float] = np.sum) -> None:
    """Refuse NaN and infinity, saying where the first one is; `array` is dense or has the sparse attribute `data`.

    `total` may be a quicker sum: a finite one has no other terms.
    """
    if is_torch(rows):
        return _require_finite_tensor(rows, name)
    array: Any = rows  # dense or sparse
    values = array.data if hasattr(array, "indptr") else array
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind != "f" or np.isfinite(total(values)) or np.isfinite(values).all():
            return None
    places: Any = np.argwhere(~np.isfinite(array)) if values is array else []
    raise ValueError(_not_finite(name, bool(np.isnan(values).any()), places))


def _require_finite_tensor(tensor: Any, name: str) -> None:
    """The same where the tensor is."""
    if not is_float(tensor):
        return
    bad = ~tensor.isfinite()
    if bool(bad.any()):
        row = int(places(bad.reshape(len(bad), -1).any(dim=1))[0])
        first = [row] if bad.ndim == 1 else [row, int(places(bad[row])[0])]
        raise ValueError(_not_finite(name, bool(tensor.isnan().any()), [first]))


def _not_finite(name: str, has_nan: bool, places: Sequence[Sequence[int]]) -> str:
    where = ""
    if len(places):
        row, *column = places[0]
        where = f" (first at row {row}" + (f", column {column[0]})" if column else ")")
    return f"{name} contains {'NaN' if has_nan else 'infinity'}{where}; impute or drop such rows first."


def require_squares(largest: float, name: str) -> None:
    """Refuse numbers so large that sums of their squares overflow."""
    if largest > LARGEST:
        raise ValueError(f"{name} has numbers as large as {largest:.3g}, whose squares overflow: rescale {name}.")
