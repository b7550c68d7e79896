"""What a newcomer reads first: what the papers say, what their letters mean, and which results matter most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .records import Record

ABOUT = (
    "bochner is a Python library that learns from data with kernels at the price of linear algebra: it sends each row "
    "of a table through many random functions and fits a plain linear model on top."
)
SENTENCES = {  # of each paper
    "random_maxout_features": "Take the largest of q random projections, m times over, and a linear model on top "
    "draws locally linear boundaries.",
    "weighted_sums_of_random_kitchen_sinks": "Do not choose weak learners as AdaBoost does: draw K of them at random "
    "and fit only their weights, much faster.",
    "uniform_approximation_with_random_bases": "Random waves (D of them) and random grids (P of them) come as near to "
    "a smooth function as chosen ones would, at a known rate.",
    "mckernel": "Fast Hadamard transforms in the place of random matrices make kernel features cheap enough for "
    "training in small batches.",
    "kernel_learning_random_fourier": "Instead of drawing the frequencies of a kernel at random, learn them from the "
    "data.",
}  # fmt: skip
SYMBOLS = {
    "m": "how many random features a row is turned into (in the paper on learned frequencies: how many frequencies)",
    "q": "maxout: how many random projections one feature takes the largest of",
    "K": "kitchen sinks: how many random functions are summed",
    "D": "random waves: how many of them",
    "P": "random bins: how many random grids",
}
WORDS = {
    "±": "one standard deviation over repeated runs, with the same rows and other random draws",
    "agrees": "ours and the printed number differ by no more than both scatter",
    "undecided": "the difference is within one standard deviation: these numbers cannot tell",
}


class Highlight(NamedTuple):
    """A chart that is shown above: its record, how its title begins, and what is to be seen in it."""

    record: str
    chart: str
    text: str


HIGHLIGHTS = (
    Highlight("maxout-digits", "Test error by number of features", "MNIST digits by maxout features: all 25 cells of "
              "the paper's table are met, and which pool size q above 1 is best cannot be told."),
    Highlight("random-bases-table", "forest", "Forest cover, half a million rows: random bins and random waves are as "
              "accurate as the paper says, in minutes instead of hours."),
    Highlight("kitchen-sinks-boosting", "adult: error against time", "Income by census data: random stumps reach "
              "AdaBoost's error in a fraction of its time, if not a hundredth."),
    Highlight("mckernel-mnist", "Test error by epoch", "MNIST by Fastfood features in small batches: each doubling of "
              "the expansions lowers the error."),
    Highlight("learned-adult", "Test error over seeds", "Learned frequencies: ten learned features err as little as "
              "a thousand random ones, where the paper saw no gain."),
)  # fmt: skip


def highlights(records: Iterable[Record]) -> list[tuple[Record, dict[str, Any], str]]:
    """Records that are at hand, with the chart and the words that go with it."""
    known = {record["name"]: record for record in records}
    found = []
    for record, title, text in HIGHLIGHTS:
        charts = known[record]["charts"] if record in known else []
        found += [(known[record], chart, text) for chart in charts if chart["title"].startswith(title)][:1]
    return found
