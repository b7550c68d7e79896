"""`bochner info`: what a model file holds, and what this installation uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

import bochner

from ..models.explaining import learned_numbers
from ..ops import describe
from .app import Printing, app, load_model, show, two_columns


@app.command
def info(model: Path | None = None, /, *, printing: Printing = Printing()) -> None:  # noqa: B008
    """What is in a model file; without one, which version this is and which processor instructions it uses."""
    if model is None:
        result: dict[str, Any] = {"version": bochner.__version__, **describe()}
        paths = f"{result['instruction_set']} (of {', '.join(result['available'])})"
        shown = {"version": bochner.__version__, "instructions": paths}
        for backend in dict.fromkeys(result["ops"].values()):
            shown[backend] = ", ".join(op for op, by in result["ops"].items() if by == backend)
        show(printing, result, two_columns("bochner", shown))
        return
    fitted = load_model(model)
    show(printing, facts(fitted, model), described(fitted, model, "model file"))


def facts(model: Any, path: Path) -> dict[str, Any]:
    basis = model.basis_
    return {
        "model": type(model).__name__,
        "file": str(path),
        "bytes": path.stat().st_size,
        "columns": list(map(str, getattr(model, "feature_names_in_", range(model.n_features_in_)))),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "basis": type(basis).__name__,
        "parameters": {name: str(value) for name, value in basis.get_params(deep=False).items()},
        "alpha": model.alpha_,
        "learned_numbers": learned_numbers(model),
        "explanation": model.explain_fit().splitlines(),
    }


def described(model: Any, path: Path, title: str) -> Table:
    rows = dict(line.split(": ", 1) for line in model.explain_fit().splitlines())
    if hasattr(model, "classes_"):
        labels = [str(label) for label in model.classes_[:12]]
        rows["classes"] = f"{len(model.classes_)}: " + ", ".join(labels) + (", ..." if len(model.classes_) > 12 else "")
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    if names:
        rows["columns"] = ", ".join(names[:12]) + (f", ... ({len(names)})" if len(names) > 12 else "")
    rows["file"] = f"{path} ({path.stat().st_size:,} bytes)"
    return two_columns(title, rows)
