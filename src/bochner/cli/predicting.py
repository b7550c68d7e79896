"""`bochner predict`: rows of files to predictions in a file, a block at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

import bochner

from ..blocks import Block, Blocks, Recipe, rows_per_block
from ..models.auto.base import AutoModel
from ..models.base import RandomFeatureModel
from ..models.calibration import probabilities
from ..validation import command_line
from .app import FittedModel, Printing, app, load_model, show, two_columns
from .writing import writer_for


@app.command
def predict(
    model: Path,
    files: Annotated[list[str], Parameter(help="Files or patterns of rows to predict.", negative="")],
    /,
    *,
    out: Path,
    target: str | None = None,
    scores: Annotated[bool, Parameter(negative="")] = False,
    proba: Annotated[bool, Parameter(negative="")] = False,
    std: Annotated[bool, Parameter(negative="")] = False,
    keep: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    missing: str | None = None,
    format: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str = "utf-8",
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Predict the rows of files, streaming them to another file.

    Columns are matched by name; those that the model was not fitted to are ignored.

    Parameters
    ----------
    model
        A file that `bochner fit` or `model.save` wrote.
    out
        The file to write: .csv, .parquet, .arrow or .npy.
    target
        The target column, if the files have it: the error of the predictions is printed at the end.
    scores
        Write the decision function of each class too.
    proba
        Write the probability of each class too.
    std
        Write the standard deviation of each prediction too (regression; the model must be fitted with --auto, or saved
        with --sums).
    keep
        A column to copy to the predictions, such as an identifier; may be given several times.
    missing
        Missing values: "refuse" them or impute the "mean" of the column in the fit; as in the fit if not given.
    format
        The file format, if the files' names do not tell: parquet, ipc, csv, json, npy, hdf5 or svmlight.
    header
        Whether CSV files have a header row.
    delimiter
        The delimiter of CSV files.
    decimal
        The decimal separator of numbers in text, "." or ","; as in the fit if not given.
    encoding
        The encoding of CSV files, such as latin-1.
    """
    begun = time.perf_counter()
    fitted = load_model(model)
    wanted = {"scores": scores, "proba": proba, "std": std}
    require_possible(fitted, target, wanted)
    reading = {
        "format": format, "header": header, "delimiter": delimiter, "decimal": decimal, "encoding": encoding,
        "missing": missing,
    }  # fmt: skip
    with printing.settings(), command_line(without=settings_of_fit(fitted)):
        blocks = rows_for(fitted, files, {"target": target, **reading})
        judge = write_predictions(fitted, blocks, out, wanted, keep)
    result = {"rows": blocks.n_rows, "file": str(out), "seconds": time.perf_counter() - begun}
    if judge is not None and judge.rows:
        result |= judge.result()
    show(printing, result, two_columns("Predictions", result))


def write_predictions(
    model: FittedModel, blocks: Blocks, out: Path, wanted: dict[str, bool], keep: tuple[str, ...]
) -> Judge | None:
    """Predict the blocks as they pass; who judged them, if one output can be judged."""
    judge = None if predicts_several(model) else Judge(hasattr(model, "classes_"))
    rows = rows_at_a_time(model)
    with writer_for(out, blocks.n_rows) as write:
        for block, kept in zip(blocks.walk(rows, title="predictions"), columns_kept(blocks, keep, rows)):  # noqa: B905
            columns = predicted(model, block, wanted)
            write({**kept, **columns})
            if judge is not None and block.y is not None:
                judge.add(columns["prediction"], block.y)
    return judge


def require_possible(model: FittedModel, target: str | None, wanted: dict[str, bool]) -> None:
    """Refuse what this model cannot tell before any row is read."""
    classifies = hasattr(model, "classes_")
    if wanted["std"] and classifies:
        raise ValueError("--std is for regression; use --scores or --proba for a classifier.")
    for name in ("scores", "proba"):
        if wanted[name] and not classifies:
            raise ValueError(f"--{name} is for classification; use --std for a regressor.")
    if target is not None and predicts_several(model):
        raise ValueError("--target is one column, and the model predicts several: leave it out.")


def predicts_several(model: FittedModel) -> bool:
    if isinstance(model, AutoModel):
        return model.predicts_several
    return not hasattr(model, "classes_") and np.ndim(model.intercept_) > 0


def rows_for(model: FittedModel, files: list[str], how: dict[str, Any]) -> Blocks:
    """Rows as the model wants them: by its recipe, or plain numbers."""
    if hasattr(model, "recipe_"):
        return bochner.read(files, recipe=model.recipe_, **how)
    if how["missing"] == "mean":
        raise ValueError("the model was fitted to an array and has no column means: --missing mean is not possible.")
    if hasattr(model, "feature_names_in_"):
        return bochner.read(files, recipe=plain_recipe(model.feature_names_in_.tolist()), **how)
    return bochner.read(files, standardize=False, n_columns=model.n_features_in_, **how)


def settings_of_fit(model: FittedModel) -> list[str]:
    """Settings of reading that are no options here: the columns are those of the fit, and so may be the means."""
    return ["drop", "text_columns", *([] if hasattr(model, "recipe_") else ["missing"])]


def columns_kept(blocks: Blocks, names: tuple[str, ...], rows: int) -> Iterator[dict[str, Any]]:
    """The columns to carry over, block by block; none of them for ever, if none are asked for."""
    if not names:
        return repeat({})
    if not hasattr(blocks, "kept"):
        raise ValueError("svmlight rows have no columns to --keep.")
    for name in names:
        if re.fullmatch(r"(prediction|std)( \d+)?|(score|probability) .*", name):
            raise ValueError(f"--keep {name}: predictions have a column of that name themselves.")
    return blocks.kept(list(dict.fromkeys(names)), rows)


def plain_recipe(names: list[str]) -> Recipe:
    """Columns of these names as they are."""
    return Recipe(tuple(names), (), np.zeros(len(names)), np.ones(len(names)), (), 1, "refuse", False, "float64")


def rows_at_a_time(model: FittedModel) -> int:
    if isinstance(model, AutoModel):
        return rows_per_block(4 * model.width)
    width = len(model.X_fit_) if hasattr(model, "X_fit_") else int(model.basis_.n_components)
    return rows_per_block(4 * width)


def predicted(model: Any, block: Block, wanted: dict[str, bool]) -> dict[str, np.ndarray]:
    """Named columns of the predictions of a block, which is on its way already: nothing is read or checked again."""
    rows = block if isinstance(model, RandomFeatureModel) or hasattr(model, "recipe_") else block.X
    if not hasattr(model, "classes_"):
        mean, *deviation = model.predict(rows, return_std=True) if wanted["std"] else (model.predict(rows),)
        return {**numbered("prediction", mean), **(numbered("std", deviation[0]) if wanted["std"] else {})}
    decision = model.decision_function(rows)
    winners = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    columns = {"prediction": model.classes_[winners]}
    if wanted["proba"]:
        known = getattr(model, "temperature_", None)
        shares = model.predict_proba(rows) if known is None else probabilities(decision, known)
        columns |= {f"probability {label}": shares[:, k] for k, label in enumerate(model.classes_)}
    if wanted["scores"]:
        table = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
        columns |= {f"score {label}": table[:, k] for k, label in enumerate(model.classes_)}
    return columns


def numbered(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name} {k}": values[:, k] for k in range(values.shape[1])}


class Judge:
    """The error of predictions, as they come."""

    def __init__(self, classifies: bool) -> None:
        self.classifies, self.rows, self.wrong, self.squares = classifies, 0, 0, 0.0
        self.sum_y, self.sum_yy = 0.0, 0.0

    def add(self, predictions: np.ndarray, truth: np.ndarray) -> None:
        self.rows += len(truth)
        if self.classifies:
            alike = predictions.dtype.kind in "biuf" and truth.dtype.kind in "biuf"
            wrong = predictions != truth if alike else predictions.astype(str) != truth.astype(str)
            self.wrong += int(np.count_nonzero(wrong))
            return
        self.squares += float(np.sum((predictions - truth) ** 2))
        truth = truth.astype(np.float64)
        self.sum_y, self.sum_yy = self.sum_y + float(truth.sum()), self.sum_yy + float(np.sum(truth**2))

    def result(self) -> dict[str, float]:
        if self.classifies:
            return {"error": self.wrong / self.rows}
        spread = self.sum_yy - self.sum_y**2 / self.rows
        error = {"root mean squared error": float(np.sqrt(self.squares / self.rows))}
        return {**error, "r2": 1.0 - self.squares / spread} if spread > 0 else error
