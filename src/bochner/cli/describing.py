"""`bochner info`: what a model file holds, and what this installation uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

import bochner

from ..models.auto.base import AutoModel
from ..models.explaining import learned_numbers
from ..ops import describe
from .app import FittedModel, Printing, app, load_model, show, two_columns

BEST = 6  # lines of a leaderboard that are shown


@app.command
def info(model: Path | None = None, /, *, printing: Printing = Printing()) -> None:  # noqa: B008
    """What is in a model file; without one, which version this is and which processor instructions it uses."""
    if model is None:
        result: dict[str, Any] = {"version": bochner.__version__, **describe()}
        paths = f"{result['instruction_set']} (of {', '.join(result['available'])})"
        shown = {"version": bochner.__version__, "instructions": paths}
        shown |= result["ops"]
        show(printing, result, two_columns("bochner", shown))
        return
    fitted = load_model(model)
    show(printing, facts(fitted, model), described(fitted, model, "model file"))


def facts(model: FittedModel, path: Path) -> dict[str, Any]:
    return {
        "model": type(model).__name__,
        "file": str(path),
        "bytes": path.stat().st_size,
        "columns": list(map(str, getattr(model, "feature_names_in_", range(model.n_features_in_)))),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        **(searched(model) if isinstance(model, AutoModel) else made_of(model)),
        **how_good(model),
        "explanation": model.explain_fit().splitlines(),
    }


def made_of(model: FittedModel) -> dict[str, Any]:
    """The basis or the kernel, the penalty, and how many numbers were learned."""
    basis = getattr(model, "basis_", None)
    made = {"kernel": repr(model.kernel_)} if basis is None else {
        "basis": type(basis).__name__, "parameters": basis.get_params(deep=False),
    }  # fmt: skip
    return {**made, "alpha": model.alpha_, "learned_numbers": counted(model)}


def searched(model: AutoModel) -> dict[str, Any]:
    """Which columns matter, and what was tried, the best first."""
    names = map(str, getattr(model, "feature_names_in_", range(model.n_features_in_)))
    return {
        "importances": dict(zip(names, model.feature_importances_.tolist(), strict=True)),
        "leaderboard": model.leaderboard_lines(),
    }


def counted(model: FittedModel) -> int:
    """Coefficients and intercepts."""
    if hasattr(model, "solution_") and hasattr(model, "design_"):
        return learned_numbers(model.solution_, model.fit_intercept)
    return int(np.size(getattr(model, "dual_coef_", getattr(model, "coef_", ()))) + np.size(model.intercept_))


def how_good(model: FittedModel) -> dict[str, Any]:
    """The cross-validated score of the fit, if it has one: error rate or R^2, with its standard error."""
    score = getattr(model, "cv_score_", None)
    if score is None:
        return {}
    name, value = ("error", 1.0 - score) if hasattr(model, "classes_") else ("r2", score)
    return {
        f"cross_validated_{name}": float(value),
        "cross_validated_standard_error": getattr(model, "cv_standard_error_", None),
    }


def in_words(good: dict[str, Any]) -> str:
    spread = good["cross_validated_standard_error"]
    if "cross_validated_error" in good:
        more = "" if spread is None else f" ± {spread:.2%}"
        return f"error rate = {good['cross_validated_error']:.2%}{more}, cross-validated"
    more = "" if spread is None else f" ± {spread:.2g}"
    return f"R² = {good['cross_validated_r2']:.4g}{more}, cross-validated"


def described(model: FittedModel, path: Path, title: str) -> RenderableType:
    rows: dict[str, Any] = {}
    for line in model.explain_fit().splitlines():
        name, _, said = line.partition(": ")
        rows[name if said else "note"] = said or name
    if good := how_good(model):
        rows["score"] = in_words(good)
    if hasattr(model, "classes_"):
        labels = [str(label) for label in model.classes_[:12]]
        rows["classes"] = f"{len(model.classes_)}: " + ", ".join(labels) + (", ..." if len(model.classes_) > 12 else "")
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    if names and not isinstance(model, AutoModel):  # which has said which of them matter
        rows["columns"] = ", ".join(names[:12]) + (f", ... ({len(names)})" if len(names) > 12 else "")
    rows["file"] = f"{path} ({path.stat().st_size:,} bytes)"
    table = two_columns(title, rows)
    return Group(table, leaderboard(model)) if isinstance(model, AutoModel) else table


def leaderboard(model: AutoModel) -> Table:
    """The head of the leaderboard."""
    lines = model.leaderboard_lines()
    more = f" ({BEST} of {len(lines)})" if len(lines) > BEST else ""
    table = Table("model", title=f"leaderboard{more}", title_justify="left")
    for name in ("rows", "centres", "error", "weight"):
        table.add_column(name, justify="right")
    for line in lines[:BEST]:
        numbers = (f"{line['rows']:,}", f"{line['centres']:,}", f"{line['error']:.4g}", f"{line['weight']:.2f}")
        table.add_row(line["model"], *numbers)
    return table
