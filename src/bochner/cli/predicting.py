"""`bochner predict`: rows of files to predictions in a file, a block at a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

import bochner

from ..blocks import Recipe, rows_per_block
from .app import Printing, app, load_model, show, two_columns
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
    std: Annotated[bool, Parameter(negative="")] = False,
    format: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Predict the rows of files, streaming them to another file.

    Columns are found by name; those that the model does not know are left alone.

    Parameters
    ----------
    model
        A file that `bochner fit` or `model.save` wrote.
    out
        The file to write: .csv, .parquet, .arrow or .npy.
    target
        The column with the true values, if there is one: the error is told at the end.
    scores
        Write the scores of the classes too.
    std
        Write the standard deviation of each prediction too (regression; the model must be saved with --sums).
    format
        parquet, ipc, csv, json, npy, hdf5 or svmlight, if the files' names do not tell.
    header
        Whether CSV files start with the names of their columns.
    delimiter
        What separates columns of CSV files.
    """
    begun = time.perf_counter()
    fitted = load_model(model)
    classifies = hasattr(fitted, "classes_")
    if std and classifies:
        raise ValueError("--std is for regression; use --scores for a classifier.")
    if scores and not classifies:
        raise ValueError("--scores is for classification; use --std for a regressor.")
    with printing.settings():
        blocks = rows_for(fitted, files, target, format, header, delimiter)
        several = not classifies and np.ndim(fitted.intercept_) > 0
        if target is not None and several:
            raise ValueError("--target is one column, and the model predicts several: leave it out.")
        judge = None if several else Judge(classifies)
        with writer_for(out, blocks.n_rows) as write:
            for block in blocks.walk(rows_at_a_time(fitted), title="predictions"):
                columns = predicted(fitted, block.X, scores, std)
                write(columns)
                if judge is not None and block.y is not None:
                    judge.add(columns["prediction"], block.y)
    result = {"rows": blocks.n_rows, "file": str(out), "seconds": time.perf_counter() - begun}
    if judge is not None and judge.rows:
        result |= judge.result()
    show(printing, result, two_columns("Predictions", result))


def rows_for(model: Any, files: list[str], target: str | None, format: Any, header: bool, delimiter: Any) -> Any:
    """Rows as the model wants them: by its recipe, or plain numbers."""
    how: dict[str, Any] = {"target": target, "format": format, "header": header, "delimiter": delimiter}
    if hasattr(model, "recipe_"):
        return bochner.read(files, recipe=model.recipe_, **how)
    if hasattr(model, "feature_names_in_"):
        return bochner.read(files, recipe=plain_recipe(model.feature_names_in_.tolist()), **how)
    return bochner.read(files, standardize=False, n_columns=model.n_features_in_, **how)


def plain_recipe(names: list[str]) -> Recipe:
    """Columns of these names as they are."""
    return Recipe(tuple(names), (), np.zeros(len(names)), np.ones(len(names)), (), 1, "refuse", False, "float64")


def rows_at_a_time(model: Any) -> int:
    return rows_per_block(4 * int(model.basis_.n_components))


def predicted(model: Any, X: np.ndarray, scores: bool, std: bool) -> dict[str, np.ndarray]:
    """Named columns of a block of predictions."""
    block = bochner.blocks.MemoryBlocks(X, recipe=getattr(model, "recipe_", None))
    if not hasattr(model, "classes_"):
        mean, *deviation = model.predict(block, return_std=True) if std else (model.predict(block),)
        return {**numbered("prediction", mean), **(numbered("std", deviation[0]) if std else {})}
    decision = model.decision_function(block)
    winners = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    columns = {"prediction": model.classes_[winners]}
    if scores:
        named = [str(label) for label in model.classes_]
        table = np.column_stack([-decision, decision]) if decision.ndim == 1 else decision
        columns |= {f"score {label}": table[:, k] for k, label in enumerate(named)}
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
