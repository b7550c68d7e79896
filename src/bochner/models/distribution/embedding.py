"""Mean embeddings: the mean of the features of a bag's points, from sums that are made in one pass over all points.

    mu = (1/n) sum_j phi(x_j)       stands for the distribution that the points were drawn from

Sums of integer features are exact, whatever the order of points. Sums that are larger than a quarter of the memory
budget are kept in a temporary file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...bases import Basis
from ...blocks import Aggregate, Block
from ...maps import FeatureMap
from ...ops.devices import placed
from .bag_sums import BagSums, parts_of, room, sums_per_bag
from .bags import Bags
from .scatter import ScatterOf


@dataclass(frozen=True)
class EmbeddingOf(Aggregate[list[BagSums]]):
    """Sums of the features of each bag, and how they scatter, if that is asked for."""

    map: FeatureMap
    scatter: ScatterOf | None = None
    device: str | None = None  # where features and their sums are made

    @property
    def width(self) -> float:
        return self.map.columns + self.map.inputs / 4

    def step(self, partial: list[BagSums] | None, block: Block) -> list[BagSums]:
        points, owner = block.X
        features = self.map(placed(points, self.device))
        found = [sums_per_bag(features, owner)]
        if self.scatter is not None:
            found.append(self.scatter.of(features, owner))
        return found if partial is None else self.combine(partial, found)

    def combine(self, left: list[BagSums], right: list[BagSums]) -> list[BagSums]:
        for sums, more in zip(left, right, strict=True):
            sums += more
        return left


def embed(basis: Basis, bags: Bags, device: str | None = None) -> np.ndarray:
    """The mean embeddings (bags, m): one pass, of which only sums per bag are kept."""
    return means_of(basis, bags, bags.reduce(EmbeddingOf(basis.map_, None, device), title="embedding")[0])


def embed_with_scatter(
    basis: Basis, bags: Bags, scatter: ScatterOf, device: str | None = None
) -> tuple[np.ndarray, BagSums]:
    """The mean embeddings, and in the same pass how features scatter within some bags."""
    sums, scattered = bags.reduce(EmbeddingOf(basis.map_, scatter, device), title="embedding")
    return means_of(basis, bags, sums), scattered


def means_of(basis: Basis, bags: Bags, sums: BagSums) -> np.ndarray:
    (totals,) = sums.tables
    means = totals if totals.dtype == np.float64 else room(totals.shape)
    for part in parts_of(means):
        means[part] = totals[part] * (float(basis.scale_) / bags.sizes[part])[:, None]
    return means
