"""How often a signature says Any: arguments and returns that are annotated Any and nothing else, by room.

`python -m helpers.annotations` fails where there are more than `MOST` allows; with -v it names every one. What a room
has fewer of than it may is said, so that the limit follows: it only goes down. `arrays.Array`, the protocol of what
numpy and torch have under one name, is left out: their own stubs say no more.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

import bochner

ROOT = Path(bochner.__file__).parent
MOST = {
    "bench": 16,
    "modelfile": 6,
    "data": 5,
    "lazy": 4,
    "arrays": 3,
    "bases": 3,
    "blocks": 3,
    "cli": 3,
    "hashing": 3,
    "onnx_export": 3,
    "moments": 2,
    "storage": 2,
    "tables": 2,
    "validation": 2,
    "config": 1,
    "demo": 1,
    "embedding": 1,
    "maps": 1,
    "models": 1,
    "ops": 1,
    "streams": 1,
}  # by room; a room that is not here may have none


def annotations(function):
    """What the arguments and the return of a function are said to be."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    yield from (argument.annotation for argument in arguments if argument is not None)
    yield function.returns


def functions(tree):
    """All functions of a module but those of the protocol of arrays."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        if not (isinstance(node, ast.ClassDef) and node.name == "Array"):
            yield from functions(node)


def places(path):
    """Functions of a file, each as often as its signature says Any."""
    for function in functions(ast.parse(path.read_text())):
        for annotation in annotations(function):
            if isinstance(annotation, ast.Name) and annotation.id == "Any":
                yield f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"


def room(place):
    return place.split("/")[0].split(":")[0].removesuffix(".py")


def main(words):
    found = [place for path in sorted(ROOT.rglob("*.py")) for place in places(path)]
    counts = Counter(map(room, found))
    print("\n".join(found) if "-v" in words else dict(counts.most_common()))
    for name in sorted({*counts, *MOST}):
        if counts[name] < MOST.get(name, 0):
            print(f"{name} has {counts[name]}: lower its limit of {MOST[name]}")
    over = {name: count for name, count in counts.items() if count > MOST.get(name, 0)}
    print(f"annotations: {len(found)} times Any; more than may be in {', '.join(over) or 'no room'}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
