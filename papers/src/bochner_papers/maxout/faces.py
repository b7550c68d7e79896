"""Figure 2: faces of one person who turns her head, by maxout features and two principal components.

The paper has 33 pictures of 112 x 92. The whole series is at hand at 32 x 32, and its first 19 pictures at full size.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from bochner import FeaturePCA, RandomMaxout, data

from ..findings import Chart, Claim, Experiment, Findings, Job

FEATURES, POOL_SIZE = 10_000, 12
PERSON, AT_FULL_SIZE = 18, 10  # the person's number in each of the two files


def run(job: Job) -> Findings:
    findings = Findings(
        settings={"features": FEATURES, "pool size": POOL_SIZE, "rows": "unit norm", "precision": "int8"}
    )
    for name, pictures in turning_pictures(job.quick).items():
        job.say(name)
        rows = unit_norm(pictures)
        points = {"maxout": maxout_plane(rows), "pixels": PCA(2, random_state=0).fit_transform(rows)}
        along = {kind: order_found(plane) for kind, plane in points.items()}
        told = ", ".join(f"{kind} {value:.3f}" for kind, value in along.items())
        findings.claims.append(Claim(
            f"the embedding of {name} is ordered by the angle", along["maxout"] > 0.9,
            f"rank correlation of the given order with the place along the curve: {told}",
        ))  # fmt: skip
        better = along["maxout"] > along["pixels"]
        findings.claims.append(Claim(f"{name} are in better order than by pixels and PCA", better, told))
        findings.charts += [chart(f"{name.capitalize()}, by {kind} and PCA", plane) for kind, plane in points.items()]
    return findings


def turning_pictures(quick: bool) -> dict[str, np.ndarray]:
    """Series of pictures in the order of the angle."""
    if quick:
        return {"a turning digit": turning_digit(24)}
    small, large = (
        np.load(data.folder() / "umist" / name) for name in ("umist_32x32_all575.npz", "umist_112x92_19per_subject.npz")
    )
    return {
        "33 faces of 32 x 32": small["images"][small["subject"] == PERSON],
        "19 faces of 112 x 92": large["images"][large["subject"] == AT_FULL_SIZE],
    }


def turning_digit(count: int) -> np.ndarray:
    """A handwritten digit seen more and more from the side: its columns shrink to a third of their width."""
    digit = load_digits().images[4]
    columns = np.arange(8)
    pictures = []
    for width in np.linspace(1.0, 1 / 3, count):
        at = 3.5 + (columns - 3.5) / width
        pictures.append([np.interp(at, columns, line, left=0.0, right=0.0) for line in digit])
    return np.array(pictures)


def unit_norm(pictures: np.ndarray) -> np.ndarray:
    rows = pictures.reshape(len(pictures), -1).astype(np.float64)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def maxout_plane(rows: np.ndarray) -> np.ndarray:
    """As many random columns as there are rows span all that the features have, so the sketch is no approximation."""
    basis = RandomMaxout(FEATURES, pool_size=POOL_SIZE, precision="int8", random_state=0)
    pca = FeaturePCA(basis, n_components=2, solver="randomized", n_oversamples=len(rows), kept_rows=0)
    return np.asarray(pca.fit_transform(rows))


def order_found(plane: np.ndarray) -> float:
    """Rank correlation of the given order with the place along the curve: the better of two ways to walk along it.

    One is the first component; the other the angle around the centre, from the widest gap on.
    """
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    turns = np.sort(angle)
    gap = int(np.argmax(np.diff(np.append(turns, turns[0] + 2 * np.pi))))
    around = (angle - turns[(gap + 1) % len(turns)]) % (2 * np.pi)
    given = np.arange(len(plane))
    return float(max(abs(spearmanr(given, place).statistic) for place in (plane[:, 0], around)))


def chart(title: str, plane: np.ndarray) -> Chart:
    rows = [
        {"first component": float(x), "second component": float(y), "number": str(k)}
        for k, (x, y) in enumerate(plane, start=1)
    ]
    return Chart(title, rows, "first component", "second component", kind="text", label="number")


EXPERIMENT = Experiment(
    "maxout-faces",
    "random_maxout_features",
    "Figure 2: faces of one person by maxout features and PCA",
    run,
    ("umist",),
)
