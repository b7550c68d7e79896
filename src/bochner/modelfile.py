"""`load`: what `save` wrote, a model or an index. No code is run, and nothing larger than the file is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from . import storage
from .bases.design import Design
from .blocks import MemoryBlocks
from .hashing import MaxoutIndex
from .hashing.saving import INDEX_PARTS
from .maps import FeatureMap
from .models import (
    AutoClassifier,
    AutoRegressor,
    DistributionClassifier,
    DistributionRegressor,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    LearnedFourierClassifier,
    LearnedFourierRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
)
from .models.calibration import Temperature, Widening
from .models.distribution.given import LinearBasis
from .models.distribution.scatter import Directions, Reference, Scatter
from .models.feature_fit import FeatureFit
from .models.fitting import Fit
from .models.learned.spectrum import Stage
from .models.metric_search import LearnedMetric
from .models.saving import KIND, VERSION, kinds_of
from .models.targets import LabelTargets, NumericTargets
from .models.trials import Choice
from .moments import FoldedMoments
from .solvers import DualPosterior, DualProblem, PrimalPosterior, Problem
from .tables.saving import TABLE_PARTS


def with_training(tree: Any) -> Any:
    """Version 2 knows stochastic training and the temperature of probabilities; version 1 had neither."""
    fitted = tree["state"]["fitted"]
    if "classes_" in fitted:
        fitted |= {"temperature_": None, "_calibration": ""}
        fitted.pop("_outputs", None)  # the classes again
    tree["state"]["training"] = None
    return tree


def with_design(tree: Any) -> Any:
    """Version 3 knows scaled rows, linear parts, sums in folds and cross-validated scores."""
    state = tree["state"]
    if "basis" not in state:  # an index, or a model whose frequencies were learned
        return tree
    state["parameters"] |= {"scale": None, "linear": False}
    state["design"] = Design(state.pop("basis"))
    sums, widest = state.pop("moments"), state["widest"]
    state["sums"] = None if sums is None else FoldedMoments([sums])
    state["widest"] = None if widest is None else Design(widest)
    state |= {"validated": None, "end": ""}
    state["fitted"] |= {"_choice": Choice(None, 0.0, "as asked"), "_leverage": 0.0, "_importances": None}
    if "classes_" not in state["fitted"]:
        state["fitted"] |= {"_widening": np.ones(len(state["intercept"])), "_ends": None}
    return tree


def with_metric(tree: Any) -> Any:
    """Version 4 knows learned metrics of models of random features, alone or as a second stage."""
    state = tree["state"]
    state = state.get("second", state if "design" in state else None)
    if state is not None:
        state["parameters"] |= {"metric": None, "metric_rounds": 3}
        state["fitted"] |= {"_metric": LearnedMetric()}
    return tree


SAVED = (
    RandomFeatureClassifier, RandomFeatureRegressor, LearnedFourierClassifier, LearnedFourierRegressor,
    KernelRidgeClassifier, KernelRidgeRegressor, DistributionClassifier, DistributionRegressor, MaxoutIndex,
    AutoClassifier, AutoRegressor,
)  # fmt: skip
KNOWN = (*INDEX_PARTS, LinearBasis)
INNER = (
    Fit, Problem, PrimalPosterior, DualPosterior, DualProblem, MemoryBlocks, Reference, Scatter, Directions, Stage,
    FeatureFit, LearnedMetric, LabelTargets, NumericTargets, Temperature, Widening, *kinds_of(FeatureMap),
    *TABLE_PARTS,
)  # fmt: skip
MODELS = {cls.__name__: cls for cls in SAVED}
# version -> how its tree becomes the next one's
MIGRATIONS: dict[int, Callable[[Any], Any]] = {1: with_training, 2: with_design, 3: with_metric}
OLDEST = 1

# For skops, to read pipelines that contain bochner's estimators: skops.io.load(path, trusted=TRUSTED_TYPES).
TRUSTED_TYPES = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in (*KNOWN, *SAVED, *INNER))


def load(path: str | os.PathLike[str]) -> BaseEstimator:
    """Read the model or index that `save` wrote.

    A file that is damaged, hostile or of another kind is refused in one sentence. No code in it is run, and nothing
    larger than the file is made.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    object
        The fitted model, or the MaxoutIndex.

    Examples
    --------
    >>> import tempfile, numpy, bochner
    >>> X = numpy.linspace(-3, 3, 200)[:, None]
    >>> model = bochner.RandomFeatureRegressor(random_state=0).fit(X, numpy.sin(X[:, 0]))
    >>> with tempfile.NamedTemporaryFile(suffix=".bochner") as file:
    ...     model.save(file.name)
    ...     same = bochner.load(file.name)
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    version, tree = storage.load(path, KIND, range(OLDEST, VERSION + 1), KNOWN)
    try:
        for number in range(version, VERSION):
            tree = MIGRATIONS[number](tree)
        return MODELS[tree["model"]]._from_state(tree["state"])
    except storage.UNSOUND as error:
        why = storage.first_line(error)
        raise storage.BadFileError(f"{os.fspath(path)!r} holds no valid model ({why}).") from None
