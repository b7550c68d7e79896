"""One contest per data set: our best model beside others, each tuned within the same number of seconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from bochner import data
from bochner.data import Split

from ..findings import Claim, Comparison, Experiment, Findings, Job
from .contenders import PEERS
from .ours import search_ours
from .search import Found, search

SECONDS, QUICK_SECONDS = 30.0, 0.3


def misclassified(y: np.ndarray, predicted: np.ndarray) -> float:
    """Per cent of labels that are wrong."""
    return 100.0 * float(np.mean(y != predicted))


def relative(y: np.ndarray, predicted: np.ndarray) -> float:
    """|y - yhat| / |y| in per cent, as in the random-bases paper."""
    return 100.0 * float(np.linalg.norm(y - predicted) / np.linalg.norm(y))


def run(job: Job, *, load: Callable[[], Split], small: Callable[..., Any], labels: bool) -> Findings:
    split, seconds = shuffled(halves(small) if job.quick else load()), QUICK_SECONDS if job.quick else SECONDS
    error = misclassified if labels else relative
    job.say("ours")
    ours = search_ours(split, error, seconds, labels)
    peers: dict[str, Found] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a candidate that stops early is judged as it is
        for name, candidates in PEERS.items():
            job.say(name)
            peers[name] = search(candidates(labels), split, error, seconds)
    best = min(peers, key=lambda name: peers[name].error)
    return Findings(
        settings={
            "seconds for each": seconds, "rows": len(split.y), "test rows": len(split.y_test),
            "columns": split.X.shape[1], "ours": summary(ours),
        } | {name: summary(found) for name, found in peers.items()},
        comparisons=[Comparison(name, found.error, ours.error, tolerance=0.0) for name, found in peers.items()],
        claims=[
            Claim(
                "our best model is at least as good as the best of the others at the same budget",
                ours.error <= peers[best].error,
                f"ours {ours.error:.2f} %, {best} {peers[best].error:.2f} %",
            )
        ],
    )  # fmt: skip


def summary(found: Found) -> str:
    return (
        f"{found.error:.2f} % in {found.seconds:.1f} s; best of {found.candidates}, on {found.rows:,} rows: "
        f"{found.settings}"
    )


def halves(small: Callable[..., Any]) -> Split:
    """What scikit-learn ships, every other row to learn from."""
    X, y = small(return_X_y=True)
    return Split(X[::2], y[::2], X[1::2], y[1::2]).standardized()


def shuffled(split: Split) -> Split:
    """Training rows in random order, so that the first of them are a sample."""
    order = np.random.default_rng(0).permutation(len(split.y))
    return split._replace(X=split.X[order], y=split.y[order])


def of_pictures(load: Callable[[], Split]) -> Split:
    split = load()
    return split._replace(X=split.X / np.float32(255), X_test=split.X_test / np.float32(255))


def of_table(load: Callable[[], Split]) -> Split:
    return load().standardized()


def heart() -> Split:
    X, y = data.heart_disease()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:308], order[308:]
    return Split(X[train], y[train], X[test], y[test]).standardized()


def contest(name: str, folder: str, load: Callable[[], Split], small: Callable[..., Any]) -> Experiment:
    title = f"Our best model beside gradient boosting, an exact SVM and a small network: {name}"
    action = partial(run, load=load, small=small, labels=small is not load_diabetes)
    return Experiment(f"contest-{folder.replace('_', '-')}", "beyond", title, action, (folder,), beside="peer")


EXPERIMENTS = (
    contest("MNIST", "mnist", partial(of_pictures, data.mnist), load_digits),
    contest("Fashion-MNIST", "fashion_mnist", partial(of_pictures, data.fashion_mnist), load_digits),
    contest("adult", "adult", partial(of_table, partial(data.adult, "mixed")), load_breast_cancer),
    contest("forest cover", "covtype", partial(of_table, data.forest), load_breast_cancer),
    contest("network intrusion", "kddcup99", partial(of_table, data.network_intrusion), load_breast_cancer),
    contest("computer activity", "cpu", partial(of_table, data.computer_activity), load_diabetes),
    contest("house prices", "census_house", partial(of_table, data.census_house), load_diabetes),
    contest("heart disease", "saheart", heart, load_breast_cancer),
    contest("phone activity", "wisdm", partial(of_table, data.phone_activity), load_wine),
)
