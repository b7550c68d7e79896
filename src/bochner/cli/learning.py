"""`bochner fit`, `predict`, `tune` and `info`."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.table import Table

import bochner

from ..bases import REGISTRY
from ..blocks import Recipe, rows_per_block
from ..models.targets import looks_like_labels
from ..ops import describe
from ..validation import require_choice
from .app import Printing, Reading, app, show, two_columns
from .writing import writer_for

Task = Literal["auto", "classification", "regression"]


@app.command
def fit(
    files: Annotated[list[str], Parameter(help="Files or patterns, such as 'part-*.parquet'.", negative="")],
    /,
    *,
    out: Path,
    target: str | None = None,
    basis: str = "fourier",
    components: int = 1000,
    task: Task = "auto",
    bandwidth: float | None = None,
    pool_size: int | None = None,
    alpha: str = "auto",
    solver: str = "auto",
    precision: str | None = None,
    seed: int = 0,
    sums: Annotated[bool, Parameter(negative="")] = False,
    checkpoint: Path | None = None,
    reading: Reading = Reading(),  # noqa: B008
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Fit a model to files, a block of rows at a time, and save it.

    Parameters
    ----------
    out
        The model file to write, such as m.bochner.
    target
        The column to predict (a number for matrices, where -1 is the last column); svmlight files have their own.
    basis
        The family of random features: fourier, fastfood, maxout, gated, stumps, bins or ridge.
    components
        The number of random features.
    task
        "classification" if the target is a label. "auto" takes text, truth values, and up to 20 different whole numbers
        for labels.
    bandwidth
        The scale of the kernel; the median distance between rows if not given.
    pool_size
        The pool size of maxout and gated features.
    alpha
        The ridge penalty: a number, "auto" or "loo" (leave one out).
    solver
        auto, cholesky, dual or cg.
    precision
        int8, int14, float32, float64, or auto: integers where they lose nothing. That of the data if not given.
    seed
        Seed of the random features.
    sums
        Keep the sums of the fit in the file, so that the model can be merged, grown and continued.
    checkpoint
        A folder that keeps the sums while they are made. If the command is interrupted, run it again: it goes on where
        it stopped, with the same bits. The folder is removed once the model is saved.
    """
    require_writable(out)
    begun = time.perf_counter()
    with printing.settings():
        made = make_basis(basis, components, bandwidth, pool_size)
        blocks = reading.read(files, target)
        model = make_model(blocks, task)
        model.set_params(
            basis=made, alpha=alpha if alpha in ("auto", "loo") else number("alpha", alpha), solver=solver,
            precision=precision, random_state=seed,
        )  # fmt: skip
        model.fit(blocks, checkpoint=checkpoint)
        model.save(out, sums=sums)
    if checkpoint is not None:
        bochner.blocks.forget_checkpoint(checkpoint)
    seconds = time.perf_counter() - begun
    show(printing, {**facts(model, out), "seconds": seconds}, described(model, out, f"fitted in {seconds:.1f} s"))


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
    fitted = bochner.load(model)
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


@app.command
def tune(
    files: Annotated[list[str], Parameter(help="Files or patterns, such as 'part-*.parquet'.", negative="")],
    /,
    *,
    target: str | None = None,
    basis: str = "fourier",
    components: int = 1000,
    task: Task = "auto",
    bandwidths: Annotated[tuple[float, ...], Parameter(negative="")] = (),
    pool_sizes: Annotated[tuple[int, ...], Parameter(negative="")] = (),
    precision: str | None = None,
    seed: int = 0,
    out: Path | None = None,
    reading: Reading = Reading(),  # noqa: B008
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Try bandwidths, pool sizes and numbers of features; the better half of them goes on with twice the rows.

    A fifth of the rows is held out. Since the sums of all rows are at hand, every penalty and every smaller number of
    features is judged for free.

    Parameters
    ----------
    target
        The column to predict.
    basis
        The family of random features: fourier, fastfood, maxout, gated, stumps, bins or ridge.
    components
        The most features; a half, a quarter and an eighth are judged too.
    task
        "classification" if the target is a label; "auto" as in `bochner fit`.
    bandwidths
        Bandwidths to try; eight multiples of the median distance if none are given.
    pool_sizes
        Pool sizes to try, of maxout and gated features.
    precision
        int8, int14, float32 or float64.
    seed
        Seed of the random features.
    out
        Fit the best one to all rows and save it here.
    """
    if out is not None:
        require_writable(out)
    with printing.settings():
        made = make_basis(basis, components, None, None).set_params(precision=precision)
        blocks = reading.read(files, target)
        model = make_model(blocks, task)
        tuned = bochner.tune(
            blocks, basis=made, bandwidths=bandwidths or None, pool_sizes=pool_sizes or None,
            classification=hasattr(model, "class_weight"), random_state=seed,
        )  # fmt: skip
        if out is not None:
            model.set_params(basis=tuned.basis, alpha=tuned.alpha, random_state=seed).fit(blocks).save(out)
    table = Table("settings", title="Candidates, the best first", title_justify="left")
    for name in ("features", "alpha", "held-out error", "rows", "rounds"):
        table.add_column(name, justify="right")
    for t in tuned.trials:
        settings = ", ".join(f"{name} {value:g}" for name, value in t.settings.items()) or "as given"
        table.add_row(settings, f"{t.components:,}", f"{t.alpha:.2g}", f"{t.error:.4f}", f"{t.rows:,}", str(t.rounds))
    options = {"target": target, "basis": basis, "precision": precision, "seed": seed, "task": task}
    command = command_for(tuned, files, options | vars(reading))
    show(printing, {"trials": [vars(t) for t in tuned.trials], "command": command}, table)
    if not printing.as_json:
        print(f"held-out error: squared error over that of the mean\nto fit the best: {command}")


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
    fitted = bochner.load(model)
    show(printing, facts(fitted, model), described(fitted, model, "model file"))


# ---- parts ----


def make_basis(name: str, components: int, bandwidth: float | None, pool_size: int | None) -> Any:
    made = REGISTRY[require_choice("basis", name, REGISTRY)](components)
    for option, value in (("bandwidth", bandwidth), ("pool_size", pool_size)):
        if value is not None:
            if option not in made.get_params(deep=False):
                raise ValueError(f"the basis {name!r} has no {option.replace('_', ' ')}.")
            made.set_params(**{option: value})
    return made


def make_model(blocks: Any, task: str) -> Any:
    """A classifier or a regressor, as asked or as the targets look."""
    if task == "auto":
        y = blocks.read(0, min(blocks.n_rows, 100_000)).y
        if y is None:
            raise ValueError("which column is to be predicted? Give --target.")
        task = "classification" if looks_like_labels(y) else "regression"
    return bochner.RandomFeatureClassifier() if task == "classification" else bochner.RandomFeatureRegressor()


def number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, 'auto' or 'loo'; got {text!r}.") from None


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


def command_for(tuned: Any, files: list[str], options: dict[str, Any]) -> str:
    """The command that fits the best candidate to all rows; options that have their default value are left out."""
    best, usual = tuned.trials[0], vars(Reading()) | {"seed": 0, "task": "auto", "target": None, "precision": None}
    words = ["bochner", "fit", *files, "--components", str(best.components), "--alpha", f"{best.alpha:.6g}"]
    for name, value in {**options, **best.settings}.items():
        if name in usual and value == usual[name]:
            continue
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            for item in value if isinstance(value, tuple) else (value,):
                words += [f"--{flag}", str(item)]
    return shlex.join([*words, "--out", "m.bochner"])


def require_writable(path: Path) -> None:
    """Refuse before the work, not after it."""
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder: give the name of a file to write.")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"the folder {str(path.parent)!r} cannot be written to.")
