"""What Tables 2 and 3 run on: TIMIT with the paper's grid, or else its sample; made-up speech if quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bochner import RandomFeatureClassifier, solvers

from ...findings import Cause, Job
from ...plain import AS_IN_PAPERS
from . import corpus, synthetic
from .recognition import Task

ALPHA = 1.0  # penalty of the softmax; the best epoch on held-out frames does the rest
TIMIT, SAMPLE, MADE_UP = "TIMIT, core test set", "sample of TIMIT", "made-up speech"
CAUTIONS: dict[str, str | Cause] = {  # what is different from the paper
    TIMIT: "log mel energies of normalised speakers stand in for fMLLR features",
    SAMPLE: Cause(
        "6 minutes of speech by 16 people instead of 3 hours by 462, and no fMLLR",
        "errors fall with every doubling of the speech, and the gain over the frames grew from 1.3 to 3.9 points",
        "maxout-phones-speech",
    ),
    MADE_UP: "made-up speech: not comparable",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Tasks (one per fold), and how wide and how long."""

    name: str
    tasks: list[Task]
    columns: tuple[int, ...]
    pool_sizes: tuple[int, ...]
    seeds: int
    walk: Any  # the solver

    def softmax(self, basis: Any, alpha: float = ALPHA) -> RandomFeatureClassifier:
        """Multinomial logistic regression on features, by gradients of batches, as in the paper."""
        return RandomFeatureClassifier(
            basis, loss="logistic", alpha=alpha, solver=self.walk, precision="int8", **AS_IN_PAPERS
        )

    @property
    def is_timit(self) -> bool:
        return self.name == TIMIT

    @property
    def kind(self) -> Literal["number", "other data"]:
        return "number" if self.is_timit else "other data"

    @property
    def caution(self) -> str | Cause:
        return CAUTIONS[self.name]

    def settings(self) -> dict[str, Any]:
        task = self.tasks[0]
        return {
            "corpus": self.name,
            "folds": len(self.tasks),
            "training frames": task.frames,
            "columns of a frame": int(task.train[0].rows.shape[1]),
            "frames": "40 log mel energies with 5 frames before and after, mean 0 and variance 1 per speaker",
            "targets": "3 states of 49 phones",
            "seeds": self.seeds,
            "softmax": f"Adam, {self.walk.epochs} epochs of batches of {self.walk.batch_size}, penalty {ALPHA:g}",
            "decoder": "bigram weight and bonus of a phone chosen on speakers of neither training nor test",
        }


def plan_of(job: Job) -> Plan:
    if job.quick:
        parts = corpus.folds(synthetic.utterances(), 3)[0]
        return Plan(MADE_UP, [Task.of(parts)], (30, 60), (2, 4), 1, solvers.Adam(epochs=2, batch_size=32))
    folder = corpus.timit_folder()
    if folder is not None:
        task = Task.of(corpus.timit(folder))
        columns, walk = (1250, 2500, 5000, 10_000, 20_000), solvers.Adam(epochs=10, batch_size=128)
        return Plan(TIMIT, [task], columns, (2, 4, 8, 16), 5, walk)
    parts_of_folds = corpus.folds(corpus.sample(corpus.sample_archive()), 4)
    tasks = [Task.of(parts) for parts in parts_of_folds]
    walk = solvers.Adam(epochs=6, batch_size=128)
    return Plan(SAMPLE, tasks, (1250, 2500, 5000, 10_000, 20_000), (2, 4, 8, 16), 1, walk)
