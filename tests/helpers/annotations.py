"""Counts of `Any` in signatures: arguments and returns whose annotation is Any alone, by room. `python -m helpers.annotations`."""

import ast
import sys
from collections import Counter
from pathlib import Path

import bochner

ROOT = Path(bochner.__file__).parent


def annotations(function):
    """What the arguments and the return of a function are said to be."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    yield from (argument.annotation for argument in arguments if argument is not None)
    yield function.returns


def bare(path):
    """Functions of a file, each as often as its signature says Any."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            for annotation in annotations(node):
                if isinstance(annotation, ast.Name) and annotation.id == "Any":
                    yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


if __name__ == "__main__":
    found = [place for path in sorted(ROOT.rglob("*.py")) for place in bare(path)]
    if "-v" in sys.argv:
        print("\n".join(found))
    print(Counter(place.split("/")[0].split(":")[0] for place in found).most_common(), len(found))
