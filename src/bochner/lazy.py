"""Dask collections, as far as anyone but `blocks/dask` knows them: what has a graph, and what goes to it a piece at a
time. Nothing is imported that the caller has not imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def is_lazy(rows: object) -> bool:
    """Whether these are rows of a Dask collection."""
    return hasattr(rows, "__dask_graph__") and not isinstance(rows, type)


def has_cluster() -> bool:
    """Whether this program has made a Dask client, which is there still."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and distributed.client._get_global_client() is not None


def collections() -> Any:
    """The one room that imports dask."""
    return import_module("bochner.blocks.dask")


def by_partitions(method: Method) -> Method:
    """A method that turns rows into arrays: of a Dask collection it makes a lazy Dask array, a partition at a time."""

    @wraps(method)
    def either(self: object, X: object, *arguments: Any, **named: Any) -> Any:
        if not is_lazy(X):
            return method(self, X, *arguments, **named)
        return collections().lazy_rows(self, method.__name__, X, *arguments, **named)

    return either  # type: ignore[return-value]
