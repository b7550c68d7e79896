"""What was learned, seen in the frequencies: their covariance and principal components, of one layer or of several.

w and -w are the same frequency (a sine changes its sign, and its coefficient with it), so their law is symmetric: all
is about zero, not about the mean of the signs that happened to be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...validation import require_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Components(NamedTuple):
    """Principal components: axes (k, d), shares of the variance (k,), and the frequencies along the axes (p, k)."""

    axes: np.ndarray
    shares: np.ndarray
    coordinates: np.ndarray


class Stage(NamedTuple):
    """The frequencies (p, d) of one layer, as learned and as drawn."""

    name: str
    learned: np.ndarray
    drawn: np.ndarray


def covariance(frequencies: np.ndarray) -> np.ndarray:
    """W'W / p, (d, d). For a Gaussian kernel of bandwidth s, drawn frequencies have I/s^2."""
    return frequencies.T @ frequencies / len(frequencies)


def principal_components(frequencies: np.ndarray, n_components: int = 2) -> Components:
    count = min(require_integer("n_components", n_components), *frequencies.shape)
    _, sizes, axes = np.linalg.svd(frequencies, full_matrices=False)
    total = max(float(np.sum(sizes**2)), np.finfo(float).tiny)
    return Components(axes[:count], sizes[:count] ** 2 / total, frequencies @ axes[:count].T)


class Spectral:
    """Covariance and components of the learned frequencies, as numbers and as a picture; one stage a layer."""

    def _stages(self) -> list[Stage]:
        raise NotImplementedError

    def _stage(self, stage: int) -> Stage:
        stages = self._stages()
        if require_integer("stage", stage, 0) >= len(stages):
            raise ValueError(f"stage must be less than the number of layers, {len(stages)}; got {stage}.")
        return stages[stage]

    def frequency_covariance(self, stage: int = 0) -> np.ndarray:
        """Return the covariance of the learned frequencies, about zero.

        Parameters
        ----------
        stage : int, default=0
            Which layer; a model of bags has two, that of points and that of embeddings.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            W'W / n_frequencies. Large entries are the directions of x that matter.
        """
        return covariance(self._stage(stage).learned)

    def frequency_components(self, n_components: int = 2, stage: int = 0) -> Components:
        """Return the principal components of the learned frequencies.

        Parameters
        ----------
        n_components : int, default=2
            Number of components.
        stage : int, default=0
            Which layer; a model of bags has two, that of points and that of embeddings.

        Returns
        -------
        Components
            A named tuple: `axes` of shape (n_components, n_features), `shares` of the variance of shape
            (n_components,), and `coordinates` of shape (n_frequencies, n_components).
        """
        return principal_components(self._stage(stage).learned, n_components)

    def plot_frequencies(self) -> Figure:
        """Draw the covariance of the learned frequencies, and two components of them beside the drawn ones.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with a row for each layer.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("plot_frequencies needs matplotlib: pip install matplotlib") from None
        stages = self._stages()
        figure = Figure(figsize=(9.0, 4.0 * len(stages)), layout="constrained")
        for row, stage in zip(figure.subplots(len(stages), 2, squeeze=False), stages, strict=True):
            draw_stage(figure, row, stage)
        return figure


def draw_stage(figure: Figure, axes: Sequence[Axes], stage: Stage) -> None:
    table = covariance(stage.learned)
    reach = float(np.abs(table).max()) or 1.0
    image = axes[0].imshow(table, cmap="RdBu_r", vmin=-reach, vmax=reach)
    figure.colorbar(image, ax=axes[0])
    axes[0].set_title(f"{stage.name}: covariance")
    found = principal_components(stage.learned)
    drawn = stage.drawn @ found.axes.T
    for points, label, color in ((drawn, "drawn", "0.6"), (found.coordinates, "learned", "C3")):
        height = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
        axes[1].scatter(points[:, 0], height, s=12, label=label, color=color)
    axes[1].set_title(f"{stage.name}: {found.shares.sum():.0%} of the variance")
    axes[1].set_aspect("equal", adjustable="datalim")
    axes[1].legend()
