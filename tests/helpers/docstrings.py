"""Docstrings of public names, held to numpydoc: `python -m helpers.docstrings` prints what is missing, and where.

A class or function has an example (`tests/test_docs.py` runs them all). Every parameter has a type, its default as in
the signature, and what it does; and there is a word on what is returned. A method is looked at where it is defined, and
one that does what its base class says needs no words of its own. Names of `INSIDE` that users do not meet need a
docstring, no more.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

ROOMS = (
    "bochner", "bochner.bases", "bochner.blocks", "bochner.embedding", "bochner.hashing", "bochner.kernels",
    "bochner.losses", "bochner.maps", "bochner.models", "bochner.moments", "bochner.onnx_export", "bochner.solvers",
    "bochner.tables", "bochner.theory", "bochner.two_sample",
)  # fmt: skip
LAYERS = ("bochner.nn",)  # which cannot be imported without torch
# Rooms for those who write a basis, a loss, a solver or a format, and what of them users meet too.
INSIDE: dict[str, tuple[str, ...]] = {
    "bochner.blocks": ("Block", "Blocks", "Recipe", "read"),
    "bochner.losses": (
        "EpsilonInsensitive", "Exponential", "Hinge", "Huber", "Logistic", "Loss", "Squared", "SquaredHinge",
    ),
    "bochner.maps": ("FeatureMap", "Metric", "Union", "UnitMap"),
    "bochner.moments": ("Moments",),
    "bochner.solvers": ("SGD", "Adam", "DoublyStochastic", "Solution", "Stochastic"),
    "bochner.tables": ("Recipe", "TableEncoder"),
}  # fmt: skip
# numpydoc's names for: no docstring, or sections that are unknown or out of order; ...
ALWAYS = frozenset(("GL03", "GL05", "GL06", "GL07", "GL08", "SS01", "SS03", "SS04"))
# ... parameters that are missing, unknown, out of order, without a type or words; nothing on what is returned.
COMPLETE = ALWAYS | {
    "SS02", "SS06", "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10", "RT01", "RT03",
    "RT04", "RT05", "YD01",
}  # fmt: skip
EXAMPLE = "EX01"
ROUTING = re.compile(r"set_\w+_request")  # scikit-learn makes these methods, and describes them


class Documented(Validator):
    """An object and its docstring. What fit or a test returns has its fields among the attributes."""

    def __init__(self, obj_name: Any) -> None:
        super().__init__(get_doc_object(obj_name))

    @property
    def doc_all_parameters(self) -> dict[str, Any]:
        given = super().doc_all_parameters
        if given or not (hasattr(self.obj, "__dataclass_fields__") or hasattr(self.obj, "_fields")):
            return given
        attributes = self._doc_parameters(["Attributes"])
        return {name: attributes[name] for name in self.signature_parameters if name in attributes}

    def wrong_defaults(self) -> Iterator[str]:
        """Parameters whose type does not end in the default that the signature has."""
        given = super().doc_all_parameters  # what is told as an attribute has no default to tell
        for name, parameter in self._defaults().items() if given or not self.doc_all_parameters else ():
            told = self.doc_all_parameters.get(name, ("",))[0]
            if not re.search(rf"default={re.escape(repr(parameter))}$", told):
                yield f'parameter "{name}" is not said to have default={parameter!r}'

    def _defaults(self) -> dict[str, Any]:
        try:
            parameters = inspect.signature(self.obj).parameters
        except (TypeError, ValueError):
            return {}
        found = {name: one.default for name, one in parameters.items() if one.default is not inspect.Parameter.empty}
        return {name: value for name, value in found.items() if "<" not in repr(value)}  # a factory


def public_names(room: str) -> Iterator[tuple[str, Any]]:
    """The classes and functions that a module promises."""
    module = importlib.import_module(room)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == room]
    for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
        value = inspect.unwrap(getattr(module, name))  # from under a cache
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, with those of base classes here, as Class.name and what has the docstring."""
    for name in dir(owner):
        homes = [base for base in owner.__mro__ if name in vars(base)]
        if name.startswith("_") or ROUTING.fullmatch(name) or not homes[0].__module__.startswith("bochner"):
            continue
        told = next((base for base in homes if getattr(unwrapped(vars(base)[name]), "__doc__", None)), homes[0])
        found = unwrapped(vars(told)[name])
        if told.__module__.startswith("bochner") and (inspect.isfunction(found) or isinstance(found, property)):
            yield f"{told.__name__}.{name}", found


def unwrapped(method: Any) -> Any:
    """The function of a class method, a static one, or one that is there only if a condition holds."""
    return getattr(method, "__func__", None) or getattr(method, "fn", method)


def public_objects(rooms: tuple[str, ...] = ROOMS) -> dict[str, tuple[Any, frozenset[str]]]:
    """Each public object by its full name, once, and what its docstring is held to."""
    found: dict[str, tuple[Any, frozenset[str]]] = {}
    for room in rooms:
        for name, value in public_names(room):
            level = COMPLETE if name in INSIDE.get(room, (name,)) else ALWAYS
            found.setdefault(f"{value.__module__}.{name}", (value, level | {EXAMPLE} if level is COMPLETE else level))
            for method, function in methods(value) if inspect.isclass(value) else ():
                home = getattr(function, "fget", function).__module__
                key = f"{home}.{method}"
                if key not in found or level is COMPLETE:
                    found[key] = (function, level)
    return found


def complaints(thing: Any, level: frozenset[str]) -> list[str]:
    """What the docstring of an object lacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors = [f"{code} {text}" for code, text in validate(thing, Documented)["errors"] if code in level]
        errors += Documented(thing).wrong_defaults() if level >= COMPLETE else []
    return errors + sorted({" ".join(str(warning.message).split()) for warning in caught})


def main() -> int:
    checked = public_objects(ROOMS + LAYERS if find_spec("torch") else ROOMS)
    wrong = [f"{name}: {text}" for name, (thing, level) in checked.items() for text in complaints(thing, level)]
    print("\n".join([*wrong, f"docstrings: {len(checked)} public objects, {len(wrong)} complaints"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
