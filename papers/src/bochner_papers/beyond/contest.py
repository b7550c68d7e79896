"""One contest per data set: our model without settings beside others, each tuned within the same number of seconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import QuantileTransformer

from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier, data
from bochner.data import Split

from ..findings import Cause, Claim, Comparison, Experiment, Findings, Job, beyond_noise
from .contenders import PEERS
from .ours import fit_ours
from .search import Error, Found, search

RARE = Cause(
    "the kernel and the metric are chosen on 1,000 rows, which hold few of the rows that are hard",
    "one fit of Laplacian features to all rows, without any choice, stands in the evidence", "contest-kddcup99",
)  # fmt: skip
FEATURES, FEATURE_ROWS = 4000, 100_000  # of that one fit
SECONDS, QUICK_SECONDS = 30.0, 0.3
MANY = 10  # values of a column that make it one of numbers


def misclassified(y: np.ndarray, predicted: np.ndarray) -> float:
    """Per cent of labels that are wrong."""
    return 100.0 * float(np.mean(y != predicted))


def relative(y: np.ndarray, predicted: np.ndarray) -> float:
    """|y - yhat| / |y| in per cent, as in the random-bases paper."""
    return 100.0 * float(np.linalg.norm(y - predicted) / np.linalg.norm(y))


def spread(y: np.ndarray, predicted: np.ndarray, labels: bool) -> float:
    """The standard error of such a share or norm, from the test rows that it was counted on."""
    if labels:
        found, rows = misclassified(y, predicted), len(y)
        return float(np.sqrt(max(found, 100 / rows) * (100 - found) / rows))
    squares = (y - predicted) ** 2
    return 0.5 * relative(y, predicted) * float(np.std(squares) / np.mean(squares)) / float(np.sqrt(len(y)))


def run(job: Job, *, load: Callable[[], Split], small: Callable[..., Any], labels: bool) -> Findings:
    split, seconds = shuffled(halves(small) if job.quick else load()), QUICK_SECONDS if job.quick else SECONDS
    error, views = misclassified if labels else relative, prepared(split)
    job.say("ours")
    ours = fit_ours(split, error, seconds, labels)
    peers: dict[str, Found] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a candidate that stops early is judged as it is
        for name, candidates in PEERS.items():
            job.say(name)
            peers[name] = search(candidates(labels), views, error, seconds)
    best = min(peers, key=lambda name: peers[name].error)
    plain = one_fit(next(iter(views.values())), error, labels)

    return Findings(
        settings={
            "seconds for each": seconds, "rows": len(split.y), "test rows": len(split.y_test),
            "columns": split.X.shape[1], "ours": summary(ours),
        } | {name: summary(found) for name, found in peers.items()},
        comparisons=[
            Comparison(name, found.error, ours.error, printed_spread=spread(split.y_test, found.predicted, labels),
                       spread=spread(split.y_test, ours.predicted, labels), why=RARE) for name, found in peers.items()
        ],
        claims=[
            Claim(
                "our model is at least as good as the best of the others at the same budget",
                won(split.y_test, ours.predicted, peers[best].predicted, labels),
                f"ours {ours.error:.2f} %, {best} {peers[best].error:.2f} %, one fit of {FEATURES:,} Laplacian "
                f"features {plain:.2f} %", "contest", RARE,
            )
        ],
    )  # fmt: skip


def one_fit(split: Split, error: Error, labels: bool) -> float:
    """The test error of Laplacian features of as many rows as take some seconds, with nothing chosen but a penalty."""
    kind = RandomFeatureClassifier if labels else RandomFeatureRegressor
    model = kind(RandomFourier(FEATURES, kernel="laplacian"), precision="int8", random_state=0)
    model.fit(split.X[:FEATURE_ROWS], split.y[:FEATURE_ROWS])
    return error(split.y_test, np.asarray(model.predict(split.X_test)))


def won(y: np.ndarray, ours: np.ndarray, theirs: np.ndarray, labels: bool) -> bool | None:
    """Undecided within one standard error of the difference, which is that of the differences row by row."""
    gains = (theirs != y).astype(float) - (ours != y) if labels else (theirs - y) ** 2 - (ours - y) ** 2
    return beyond_noise(float(np.mean(gains)), float(np.std(gains) / np.sqrt(len(y))))


def summary(found: Found) -> str:
    return f"{found.error:.2f} % in {found.seconds:.1f} s; best of {found.tried}, on {found.rows:,} rows: {found.best}"


def halves(small: Callable[..., Any]) -> Split:
    """What scikit-learn ships, every other row to learn from."""
    X, y = small(return_X_y=True)
    return Split(X[::2], y[::2], X[1::2], y[1::2])


def shuffled(split: Split) -> Split:
    """Training rows in random order, so that the first of them are a sample."""
    order = np.random.default_rng(0).permutation(len(split.y))
    return split._replace(X=split.X[order], y=split.y[order])


def prepared(split: Split) -> dict[str, Split]:
    """Columns standardised, and with numbers replaced by normal scores of their ranks; pictures as they are."""
    if split.X.dtype == np.uint8:
        return {"pixels": split._replace(X=split.X / np.float32(255), X_test=split.X_test / np.float32(255))}
    plain = split.standardized()
    numbers = [k for k in range(split.X.shape[1]) if len(np.unique(split.X[:10_000, k])) > MANY]
    if not numbers:
        return {"standardised columns": plain}
    ranks = QuantileTransformer(output_distribution="normal", n_quantiles=min(1000, len(split.X)), random_state=0)
    X, X_test = plain.X.copy(), plain.X_test.copy()
    X[:, numbers], X_test[:, numbers] = ranks.fit_transform(X[:, numbers]), ranks.transform(X_test[:, numbers])
    return {"standardised columns": plain, "normal scores of ranks": plain._replace(X=X, X_test=X_test)}


def heart() -> Split:
    X, y = data.heart_disease()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:308], order[308:]
    return Split(X[train], y[train], X[test], y[test])


def contest(name: str, folder: str, load: Callable[[], Split], small: Callable[..., Any]) -> Experiment:
    title = f"{name}: our model without settings beside gradient boosting, an exact SVM and a small network"
    action = partial(run, load=load, small=small, labels=small is not load_diabetes)
    return Experiment(f"contest-{folder.replace('_', '-')}", "beyond", title, action, (folder,))


EXPERIMENTS = (
    contest("MNIST", "mnist", data.mnist, load_digits),
    contest("Fashion-MNIST", "fashion_mnist", data.fashion_mnist, load_digits),
    contest("adult", "adult", partial(data.adult, "mixed"), load_breast_cancer),
    contest("forest cover", "covtype", data.forest, load_breast_cancer),
    contest("network intrusion", "kddcup99", data.network_intrusion, load_breast_cancer),
    contest("computer activity", "cpu", data.computer_activity, load_diabetes),
    contest("house prices", "census_house", data.census_house, load_diabetes),
    contest("heart disease", "saheart", heart, load_breast_cancer),
    contest("phone activity", "wisdm", data.phone_activity, load_wine),
)
