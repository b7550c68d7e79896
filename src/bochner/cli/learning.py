"""`bochner fit` and `bochner tune`."""

from __future__ import annotations

import inspect
import os
import shlex
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

import bochner

from ..bases import REGISTRY, Basis
from ..blocks import Blocks
from ..lazy import collections
from ..models.auto.base import AutoModel
from ..models.base import RandomFeatureModel
from ..models.target_codes import looks_like_labels
from ..models.tune import Tuned
from ..validation import require_choice
from .app import Printing, Reading, app, show
from .describing import described, facts

Task = Literal["auto", "classification", "regression"]
CRITERIA = ("auto", "loo", "gcv")
SECONDS = 30.0  # of --auto, unless --budget says otherwise
# Options of reading that mean the same with --auto: those that say what a file is and which of its columns to take.
SHARED = ("drop", "missing", "text_columns", "format", "header", "delimiter", "decimal", "encoding")


@app.command
def fit(
    files: Annotated[list[str], Parameter(help="Files or patterns, such as 'part-*.parquet'.", negative="")],
    /,
    *,
    out: Path,
    target: str | None = None,
    auto: Annotated[bool, Parameter(negative="")] = False,
    budget: float | None = None,
    trials: int | None = None,
    basis: str = "fourier",
    components: int = 1000,
    task: Task = "auto",
    loss: str = "squared",
    bandwidth: str | None = None,
    pool_size: int | None = None,
    alpha: str = "auto",
    solver: str = "auto",
    precision: str | None = None,
    seed: int = 0,
    sums: Annotated[bool, Parameter(negative="")] = False,
    checkpoint: Path | None = None,
    dask: str | None = None,
    reading: Reading = Reading(),  # noqa: B008
    printing: Printing = Printing(),  # noqa: B008
) -> None:
    """Fit a model to files, a block of rows at a time, and save it.

    Parameters
    ----------
    out
        The model file to write, such as m.bochner.
    target
        The target column (its index for .npy and .hdf5 matrices, where -1 is the last); svmlight files have their own.
    auto
        Search for the best model without settings, within --budget: kernels in learned metrics, stacked. It holds the
        rows in memory, or a sample of them. Options that choose a basis, a loss or a solver do not go with it.
    budget
        Seconds for --auto, about; 30 if not given.
    trials
        Number of trials of --auto in place of seconds: the same seed gives the same model on every run then.
    basis
        The family of random features: fourier, fastfood, maxout, gated, stumps, bins, cells or ridge.
    components
        The number of random features (n_components).
    task
        Classification or regression. "auto" is classification if the target is text, truth values, or up to 20
        different whole numbers.
    loss
        squared; for classification also logistic, hinge, squared_hinge, exponential; for regression huber,
        epsilon_insensitive.
    bandwidth
        The bandwidth of the kernel: a number, in the units of the columns as they are read, or a multiple of the median
        distance between rows, such as 0.5*median; that distance itself if not given.
    pool_size
        The pool size of maxout and gated features.
    alpha
        The L2 penalty, as in scikit-learn's Ridge: a number, "auto" (chosen by cross-validation), "loo" (by
        leave-one-out) or "gcv" (by generalised cross-validation).
    solver
        auto, cholesky, dual, cg, newton, sgd, adam or doubly_stochastic; not every loss has every solver.
    precision
        int8, int14, float32, float64, or auto: integers where they lose no accuracy. That of the data if not given.
    seed
        Seed of the random features (random_state).
    sums
        Save the sums of the fit (its sufficient statistics) too: merge, grow, partial_fit and predict --std need them.
    checkpoint
        A folder for checkpoints. If the command is interrupted, run it again: it resumes where it stopped and ends with
        the same bits. The folder is removed once the model is saved.
    dask
        The address of a Dask scheduler, such as tcp://host:8786, whose workers read the files and do the work; the
        model has the same bits.
    """
    require_writable(out)
    begun = time.perf_counter()
    require_auto(auto, {"budget": budget, "trials": trials})
    if auto:
        given = {
            "basis": basis, "components": components, "loss": loss, "bandwidth": bandwidth, "pool_size": pool_size,
            "alpha": alpha, "solver": solver, "precision": precision, "sums": sums, "checkpoint": checkpoint,
            "dask": dask,
        }  # fmt: skip
        refuse_settings({**given, **vars(reading)})
        with printing.settings():
            found = fit_auto(reading, files, target, task, budget, trials, seed)
            found.save(out)
        show_fitted(printing, found, out, time.perf_counter() - begun)
        return
    if sums:
        require_sums(loss, solver, alpha)
    with printing.settings(), nullcontext() if dask is None else collections().connected(dask) as client:
        made = make_basis(basis, components, bandwidth, pool_size)
        blocks = reading.read(files, target)
        blocks = blocks if client is None else blocks.on(client)
        model = make_model(blocks, task)
        model.set_params(
            basis=made, alpha=alpha if alpha in CRITERIA else number("alpha", alpha), solver=solver,
            precision=precision, random_state=seed, loss=loss,
        )  # fmt: skip
        model.fit(blocks, checkpoint=checkpoint)
        model.save(out, sums=sums)
    if checkpoint is not None:
        bochner.blocks.forget_checkpoint(checkpoint)
    show_fitted(printing, model, out, time.perf_counter() - begun)


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
    """Search bandwidths, pool sizes and numbers of features, by cross-validation and successive halving.

    Candidates are compared by squared error (regression) or error rate (classification); the better half goes on with
    twice the rows. Every penalty and every smaller number of features comes from the same sums, for free.

    Parameters
    ----------
    target
        The target column.
    basis
        The family of random features: fourier, fastfood, maxout, gated, stumps, bins, cells or ridge.
    components
        The largest number of random features; a half, a quarter and an eighth of it are tried too.
    task
        Classification or regression; "auto" as in `bochner fit`.
    bandwidths
        Bandwidths to try, in the units of the columns as they are read; if none are given, eight multiples of the
        median distance between rows, and more beyond the ends if the best is there.
    pool_sizes
        Pool sizes to try, of maxout and gated features.
    precision
        int8, int14, float32 or float64.
    seed
        Seed of the random features (random_state).
    out
        Fit the best candidate to all rows and save it here (refit).
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
            tuned.model().fit(blocks).save(out)
    options = {"target": target, "basis": basis, "precision": precision, "seed": seed, "task": task}
    command = command_for(tuned, files, options | vars(reading))
    found = {"trials": [vars(t) for t in tuned.trials], "scale": tuned.scale, "notes": tuned.notes, "command": command}
    show(printing, found, candidates(tuned))
    if not printing.as_json:
        notes = "".join(f"{note}\n" for note in tuned.notes)
        print("held-out error: mean squared error over the variance of the target (1 - R²)")
        print(f"{notes}to fit the best: {command}")


# ---- parts ----


def candidates(tuned: Tuned) -> Table:
    """The trials, the best first."""
    table = Table("settings", title="Candidates, the best first", title_justify="left")
    counts = ("error rate",) if tuned.classification else ()
    for name in ("features", "alpha", *counts, "held-out error", "rows", "rounds"):
        table.add_column(name, justify="right")
    for t in tuned.trials:
        settings = ", ".join(f"{name} {value}" for name, value in t.settings.items()) or "as given"
        wrong = () if t.wrong is None else (f"{t.wrong:.4f}",)
        errors = (*wrong, f"{t.error:.4f}")
        table.add_row(settings, f"{t.components:,}", f"{t.alpha:.2g}", *errors, f"{t.rows:,}", str(t.rounds))
    return table


def make_basis(name: str, components: int, bandwidth: str | None, pool_size: int | None) -> Basis:
    made = REGISTRY[require_choice("basis", name, REGISTRY)](components)
    given = bandwidth if bandwidth is None or "median" in bandwidth else number("bandwidth", bandwidth)
    for option, value in (("bandwidth", given), ("pool_size", pool_size)):
        if value is not None:
            if option not in made.get_params(deep=False):
                raise ValueError(f"the basis {name!r} has no {option.replace('_', ' ')}.")
            made.set_params(**{option: value})
    return made


def make_model(blocks: Blocks, task: str) -> RandomFeatureModel:
    """A classifier or a regressor, as asked or as the targets look."""
    return bochner.RandomFeatureClassifier() if classifies(blocks, task) else bochner.RandomFeatureRegressor()


def classifies(blocks: Blocks, task: str) -> bool:
    """Whether labels are to be learned, as asked or as the targets look."""
    if task != "auto":
        return task == "classification"
    y = blocks.read(0, min(blocks.n_rows, 100_000)).y
    if y is None:
        raise ValueError("which column is the target? Give --target.")
    return looks_like_labels(y)


def fit_auto(
    reading: Reading,
    files: list[str],
    target: str | None,
    task: str,
    budget: float | None,
    trials: int | None,
    seed: int,
) -> AutoModel:
    """The model without settings, fitted to files; its encoders take missing values."""
    blocks = replace(reading, missing=reading.missing or "mean").read(files, target)
    made = bochner.AutoClassifier if classifies(blocks, task) else bochner.AutoRegressor
    model: AutoModel = made(budget=SECONDS if budget is None else budget, max_trials=trials, random_state=seed)
    model.fit(blocks)
    return model


def show_fitted(printing: Printing, model: Any, out: Path, seconds: float) -> None:
    show(printing, {**facts(model, out), "seconds": seconds}, described(model, out, f"fitted in {seconds:.1f} s"))


def require_auto(auto: bool, given: dict[str, Any]) -> None:
    """Refuse options of --auto without it."""
    for name, value in given.items():
        if value is not None and not auto:
            raise ValueError(f"--{name} is for --auto: give that too, or leave --{name} out.")


def refuse_settings(given: dict[str, Any]) -> None:
    """Refuse options that --auto has no use for, where they are not as they are by themselves."""
    usual = {name: parameter.default for name, parameter in inspect.signature(fit).parameters.items()}
    usual |= vars(Reading())
    for name in given:
        if name not in SHARED and given[name] != usual[name]:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} does not go with --auto: leave one of them out.")


def number(name: str, text: str) -> float:
    words = {"alpha": "'auto', 'loo' or 'gcv'", "bandwidth": "'median' or a multiple such as '0.5*median'"}
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, {words[name]}; got {text!r}.") from None


def command_for(tuned: Tuned, files: list[str], options: dict[str, Any]) -> str:
    """The command that fits the best candidate to all rows; options that have their default value are left out."""
    best, usual = tuned.trials[0], vars(Reading()) | {"seed": 0, "task": "auto", "target": None, "precision": None}
    words = ["bochner", "fit", *files, "--components", str(best.components)]  # the penalty is chosen by all rows
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


def require_sums(loss: str, solver: str, alpha: str) -> None:
    """Refuse before the work to save the sums of a fit that has none."""
    if alpha == "loo":
        raise ValueError("--alpha loo needs a second pass over all rows, which sums do not have: leave out --sums.")
    if loss != "squared" or solver not in ("auto", "cholesky", "dual"):
        raise ValueError("there are no sums to save with --sums but of --loss squared and --solver cholesky or dual.")


def require_writable(path: Path) -> None:
    """Refuse before the work, not after it."""
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder: give the name of a file to write.")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"the folder {str(path.parent)!r} cannot be written to.")
