"""SAheart again, with penalties: what learning the frequencies is worth beside drawing them, over 48 splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner import LearnedFourierClassifier, RandomFeatureClassifier, RandomFourier, data

from ..findings import Chart, Claim, Comparison, Experiment, Findings, Job
from ..plain import AS_IN_PAPERS
from .small_data import halves, tumours

SPLITS, FEW, MANY = 48, 10, 100  # features


def run(job: Job) -> Findings:
    splits, few, many = (2, 4, 16) if job.quick else (SPLITS, FEW, MANY)
    X, y = tumours() if job.quick else data.heart_disease()
    errors: dict[tuple[str, int], list[float]] = {kind: [] for kind in models(few, many, 0)}
    for split in range(splits):
        part = halves(X, y, split)
        for kind, model in models(few, many, split).items():
            wrong = model.fit(part.X, part.y).predict(part.X_test) != part.y_test
            errors[kind].append(100 * float(np.mean(wrong)))
        if split % 8 == 7:
            job.say(f"{split + 1} of {splits} splits")
    return Findings(
        settings={"rows": len(y) // 2, "columns": X.shape[1], "splits": splits, "features": [few, many],
                  "penalties": "by folds of the training half"},
        comparisons=[
            Comparison(f"test error, {m} {name} features", None, float(np.mean(found)), spread=float(np.std(found)))
            for (name, m), found in errors.items()
        ],
        claims=[better(errors, few, m) for m in (few, many)],
        charts=[Chart("Test error over splits", rows(errors), "features", "test error, %", "frequencies", "point")],
        remarks=["Spreads are over splits, which matter more than seeds do. The paper prints no such numbers."],
    )  # fmt: skip


def models(few: int, many: int, seed: int) -> dict[tuple[str, int], Any]:
    """Few features learned, and few and many drawn."""
    learned = LearnedFourierClassifier(few, alpha="auto", frequency_alpha="auto", random_state=seed)
    drawn = {
        ("random", m): RandomFeatureClassifier(RandomFourier(m), random_state=seed, **AS_IN_PAPERS) for m in (few, many)
    }
    return {("learned", few): learned, **drawn}


def better(errors: dict[tuple[str, int], list[float]], few: int, many: int) -> Claim:
    """Pairs on the same split, so that the split itself is no noise."""
    gain = np.array(errors["random", many]) - np.array(errors["learned", few])
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return Claim(
        f"ours: {few} learned features do better than {many} random ones",
        bool(gain.mean() > 2 * error),
        f"by {gain.mean():.2f} +- {error:.2f} points (standard error over {len(gain)} splits)",
        "ours",
    )


def rows(errors: dict[tuple[str, int], list[float]]) -> list[dict[str, object]]:
    return [
        {"features": m, "test error, %": round(value, 3), "frequencies": name}
        for (name, m), found in errors.items() for value in found
    ]  # fmt: skip


EXPERIMENT = Experiment(
    "learned-heart-splits", "kernel_learning_random_fourier", "SAheart: learned against random frequencies", run,
    ("saheart",),
)  # fmt: skip
