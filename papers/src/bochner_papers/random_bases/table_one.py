"""Table I: least squares on Fourier features and on random bins, beside an exact SVM; errors and training times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..findings import Claim, Comparison, Experiment, Findings, Job
from .fitting import Outcome, choose_bins, choose_fourier, choose_svm, fitted, with_unit_targets
from .tasks import TASKS, Task, quick_tasks

TARGETS = {("adult", "Fourier"): 15.0, ("cpu", "Fourier"): 4.0, ("forest", "binning"): 3.0}
NEAR = 0.5  # points, for "agrees"


def run(job: Job) -> Findings:
    tasks = quick_tasks() if job.quick else TASKS
    found = Findings(
        {
            "settings chosen": "on held-out training rows",
            "features": "Fourier int8 for classes, else floats; bins float32",
        }
    )
    for task in tasks:
        results = measure(task, job)
        found.settings[task.name] = described(task, results)
        found.comparisons += [row for method, size, outcome in results for row in rows(task, method, size, outcome)]
        found.claims += claims(task, results)
    found.remarks += REMARKS
    return found


Result = tuple[str, int, Outcome]  # method, its D or P (rows for the SVM), what came of it


def measure(task: Task, job: Job) -> list[Result]:
    split = with_unit_targets(task, task.load())
    job.say(f"{task.name}: {len(split.X):,} rows of {split.X.shape[1]} columns")
    results: list[Result] = []

    def add(method: str, size: int, outcome: Outcome) -> None:
        results.append((method, size, outcome))
        job.say(f"{task.name}, {method}, {size}: {outcome.error:.2f} % in {outcome.seconds:.1f} s")

    chosen = choose_fourier(task, split)
    precision = None if task.regression else "int8"
    for components in task.components:
        basis = chosen.basis.set_params(n_components=components)
        add("Fourier", components, fitted(task, split, chosen.set_params(basis=basis, precision=precision)))
    bins = choose_bins(task, split)
    for grids in task.grids:
        basis = bins.basis.set_params(n_grids=grids, n_components=task.columns)
        add("binning", grids, fitted(task, split, bins.set_params(basis=basis)))
    part = split.first(task.svm_rows)
    add("SVM", len(part.y), fitted(task, part, choose_svm(task, part, chosen.basis.bandwidth)))
    return results


def rows(task: Task, method: str, size: int, outcome: Outcome) -> list[Comparison]:
    """The error and the training time beside the printed ones."""
    k = ("Fourier", "binning", "SVM").index(method)
    what = f"{task.name}, {method}, {('D', 'P', 'rows')[k]} = {size:,}"
    printed = (task.components[0], task.grids[0], size)[k]
    beside = "" if size == printed else f" (the paper: {printed})"
    error = Comparison(f"{what}{beside}, error", task.printed[k], outcome.error, tolerance=NEAR)
    old = "a computer of 2008 printed it"
    return [
        error if error.verdict == "agrees" else replace(error, why=task.why),
        Comparison(f"{what}{beside}, training", task.printed_seconds[k], outcome.seconds, "s", why=old),
    ]


def claims(task: Task, results: Sequence[Result]) -> list[Claim]:
    """Our targets; and that random bases are as accurate as the SVM in less time."""
    made = []
    for (name, method), target in TARGETS.items():
        errors = [f"{outcome.error:.2f} % at {size}" for kind, size, outcome in results if kind == method]
        best = min(outcome.error for kind, _, outcome in results if kind == method)
        if name == task.name:
            made.append(Claim(f"{name}: {method} at or below {target} %", best <= target, ", ".join(errors)))
    svm = next(outcome for method, _, outcome in results if method == "SVM")
    best_method, size, outcome = min((row for row in results if row[0] != "SVM"), key=lambda row: row[2].error)
    holds, rows_seen = outcome.error <= svm.error + NEAR, results[-1][1]
    text = f"{task.name}: random bases are within {NEAR} points of an exact SVM of {rows_seen:,} rows"
    if rows_seen != task.svm_rows:  # all rows, so that times can be compared
        text, holds = f"{text} and faster to train", holds and outcome.seconds < svm.seconds
    evidence = f"{best_method} ({size}) {outcome.error:.2f} % in {outcome.seconds:.1f} s; SVM {svm.error:.2f} % in "
    return [*made, Claim(text, holds, f"{evidence}{svm.seconds:.1f} s on {rows_seen:,} rows")]


def described(task: Task, results: Sequence[Result]) -> str:
    """The settings that were chosen, for people."""
    fourier, bins, svm = (next(row[2].model for row in results if row[0] == m) for m in ("Fourier", "binning", "SVM"))
    return (
        f"Fourier bandwidth {fourier.basis.bandwidth:.4g}; bins bandwidth {bins.basis.bandwidth:.4g}, penalty "
        f"{bins.alpha:g}, {task.columns:,} columns; SVM C = {svm.C:g}, with the Gaussian kernel of the Fourier features"
    )


REMARKS = [
    "census: the set here has 36 of the 139 columns, so its numbers are not comparable with the printed ones.",
    "forest: an exact SVM on all 522,911 rows is out of reach here (the paper's took 44 hours); ours has a part of the "
    "rows, as the table says, so its time and error are not those of the printed one.",
    "The paper's SVMs are SVMTorch, ASVM, SVMlight and libSVM; ours is scikit-learn's.",
    "cpu and census: columns enter as logarithms. forest: the map variables keep one common unit of length.",
]

EXPERIMENT = Experiment(
    "random-bases-table", "uniform_approximation_with_random_bases",
    "Table I: Fourier and binning least squares, and an exact SVM", run, ("cpu", "census_house", "adult", "covtype"),
)  # fmt: skip
