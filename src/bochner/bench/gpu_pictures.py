"""The fits to pictures that `bochner bench gpu` times: bags of patches of a few sizes, as features of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .. import data
from ..bases import Basis, BasisUnion, PatchFeatures

Parts = tuple[tuple[int, int, int], ...]  # of each size of patches: pixels, cells along a side, filters
SIX: Parts = ((6, 4, 1000),)
THREE: Parts = ((5, 4, 333), (7, 4, 333), (9, 4, 333))
LARGE: Parts = ((5, 4, 480), (7, 4, 480), (9, 4, 480))
FOUR: Parts = ((5, 3, 320), (7, 2, 600), (9, 2, 600), (11, 2, 600))


class Fit(NamedTuple):
    """What is fitted to which pictures; `mirrored` bags have the patches of the mirror image too."""

    work: str
    load: Callable[[], data.Split]
    parts: Parts
    mirrored: bool = False

    def basis(self, quick: bool = False) -> Basis:
        """Parts of equal weight: their columns have one spread already."""
        made = [
            PatchFeatures(
                image_shape=(28, 28), patch_size=size, grid=grid, n_filters=30 if quick else filters,
                mirrored=self.mirrored,
            )
            for size, grid, filters in self.parts
        ]  # fmt: skip
        if len(made) == 1:
            return made[0].set_params(precision="int8", random_state=0)
        return BasisUnion(made, weights=[1.0] * len(made), precision="int8", random_state=0)

    @property
    def name(self) -> str:
        """The work, with sizes of patches and the number of features."""
        sizes = ", ".join(str(size) for size, *_ in self.parts)
        features = sum(2 * grid * grid * filters for _, grid, filters in self.parts)
        more = ", with mirror images" if self.mirrored else ""
        return f"{self.work}, patches of {sizes} pixels, {features:,} features{more}"


FITS = (
    Fit("Fashion-MNIST", data.fashion_mnist, SIX),
    Fit("Fashion-MNIST", data.fashion_mnist, SIX, mirrored=True),
    Fit("Fashion-MNIST", data.fashion_mnist, THREE, mirrored=True),
    Fit("Fashion-MNIST", data.fashion_mnist, LARGE, mirrored=True),
    Fit("MNIST", data.mnist, SIX),
    Fit("MNIST", data.mnist, FOUR),
)
