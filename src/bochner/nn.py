"""The bases as torch modules: frozen, a layer is `basis.transform`; learnable, that is where it starts.

A layer takes rows of any leading shape, (..., d) to (..., m), and its weights are drawn by the basis, in float64, then
rounded once to the layer's dtype. Frozen weights are buffers and learnable ones parameters, of the same names, so the
state of either kind loads into the other.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import clone

from .bases import Basis, Fastfood, PatchFeatures, RandomFourier, RandomMaxout
from .kernels import maximum_mean
from .maps.frequencies import TURN
from .validation import require_integer

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise ImportError("bochner.nn needs torch: pip install torch.") from None

from .ops import torch_reference

__all__ = ["FastfoodLayer", "FourierLayer", "MaxoutLayer", "PatchLayer"]


class BasisLayer(nn.Module):
    """What the layers share: a fitted basis, and weights that are buffers or parameters."""

    def __init__(self, basis: Basis, in_features: int | None, kind: type[Basis], learnable: bool) -> None:
        super().__init__()
        self.basis = fitted(basis, in_features, kind)
        self.learnable = learnable
        self.in_features = int(self.basis.n_features_in_)
        self.out_features = int(self.basis.n_components)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the features of rows.

        Parameters
        ----------
        x : Tensor of shape (..., in_features)
            The rows.

        Returns
        -------
        Tensor of shape (..., out_features)
            The features.
        """
        if x.shape[-1] != self.in_features:  # padding to a power of two would hide it
            raise ValueError(f"the layer takes {self.in_features} columns; the input has {x.shape[-1]}.")
        return self._features(x)

    def _features(self, x: Tensor) -> Tensor:
        """The features of rows of the right width."""
        raise NotImplementedError

    def _drawn(self) -> tuple[np.ndarray, ...]:
        """All weights of the basis, floats in float64."""
        return self.basis.map_.weights()

    def _keep_expansions(
        self, drawn: tuple[np.ndarray, ...], dtype: torch.dtype | None, device: torch.device | str | None
    ) -> None:
        signs, permutation, gaussian, calibration = drawn
        for name, weights in (("signs", signs), ("gaussian", gaussian), ("calibration", calibration)):
            self._keep(name, weights, dtype, device)
        self.register_buffer("permutation", torch.tensor(permutation, dtype=torch.int64, device=device))

    def _expand(self, x: Tensor) -> Tensor:
        return torch_reference.fastfood(x, self.signs, self.permutation, self.gaussian, self.calibration)

    @property
    def _height(self) -> float:
        return float(np.sqrt(2.0 / self.out_features))

    def _keep(
        self, name: str, weights: np.ndarray, dtype: torch.dtype | None, device: torch.device | str | None
    ) -> None:
        tensor = torch.tensor(weights, dtype=dtype or torch.get_default_dtype(), device=device)
        if self.learnable:
            self.register_parameter(name, nn.Parameter(tensor))
        else:
            self.register_buffer(name, tensor)

    def extra_repr(self) -> str:
        """Return what `print` shows of the layer.

        Returns
        -------
        str
            Its sizes and its basis.
        """
        return f"{self.in_features}, {self.out_features}, basis={self.basis!r}, learnable={self.learnable}"


def fitted(basis: Basis, in_features: int | None, kind: type[Basis]) -> Basis:
    """A copy of the basis, fitted to so many columns if it is not fitted; what cannot be a layer is refused."""
    if not isinstance(basis, kind):
        raise ValueError(f"this layer is made from a {kind.__name__}; got {type(basis).__name__}.")
    if basis.is_integer:
        raise ValueError(f"layers compute in floats: precision={basis.precision!r} has no gradient; use None.")
    if hasattr(basis, "seed_"):
        if in_features not in (None, basis.n_features_in_):
            raise ValueError(f"the basis was fitted to {basis.n_features_in_} columns, not to {in_features}.")
        return copy(basis)
    if in_features is None:
        raise ValueError("the basis is not fitted: fit it, or say how many columns the layer has with in_features.")
    if isinstance(getattr(basis, "bandwidth", None), str) and getattr(vars(basis)["kernel"], "bandwidth", None) is None:
        raise ValueError(f"bandwidth={basis.bandwidth!r} is learned from rows: fit the basis first, or give a number.")
    return clone(basis).fit(np.eye(1, require_integer("in_features", in_features)))


class FourierLayer(BasisLayer):
    """Random Fourier features as a torch layer: cos<w, x>, sin<w, x>.

    Frozen, the layer is `basis.transform`; learnable, that is where it starts.

    Parameters
    ----------
    basis : RandomFourier
        The basis; if it is not fitted, a copy is, to `in_features` columns.
    in_features : int, default=None
        Columns of the input, for a basis that is not fitted.
    learnable : bool, default=False
        Whether frequencies and phases are parameters; else they are buffers.
    dtype : torch.dtype, default=None
        Type of the weights; None is torch's default.
    device : torch.device or str, default=None
        Where the weights are; None is torch's default.

    Examples
    --------
    >>> import torch
    >>> from bochner import RandomFourier
    >>> from bochner.nn import FourierLayer
    >>> layer = FourierLayer(RandomFourier(100, bandwidth=2.0, random_state=0), 5, learnable=True)
    >>> layer(torch.ones(3, 5)).shape, layer.frequencies.requires_grad
    (torch.Size([3, 100]), True)
    """

    def __init__(
        self, basis: RandomFourier, in_features: int | None = None, *, learnable: bool = False,
        dtype: object = None, device: object = None,
    ) -> None:  # fmt: skip
        super().__init__(basis, in_features, RandomFourier, learnable)
        directions, words = self._drawn()
        self._keep("frequencies", directions, dtype, device)
        self._keep("phases", words * (TURN * 2.0**-32), dtype, device)

    def _features(self, x: Tensor) -> Tensor:
        return torch_reference.dense_cos_sin(x, self.frequencies, self.phases, self._height)


class FastfoodLayer(BasisLayer):
    """Fastfood as a torch layer: Fourier features in O(m log d), with O(m) weights.

    Frozen, the layer is `basis.transform`; learnable, that is where it starts.

    Parameters
    ----------
    basis : Fastfood
        The basis; if it is not fitted, a copy is, to `in_features` columns.
    in_features : int, default=None
        Columns of the input, for a basis that is not fitted.
    learnable : bool, default=False
        Whether the diagonals B, G and C (and the phase of an odd column) are parameters; permutations stay as drawn.
    dtype : torch.dtype, default=None
        Type of the weights; None is torch's default.
    device : torch.device or str, default=None
        Where the weights are; None is torch's default.

    Examples
    --------
    >>> import torch
    >>> from bochner import Fastfood
    >>> from bochner.nn import FastfoodLayer
    >>> layer = FastfoodLayer(Fastfood(2048, kernel="ball_matern", bandwidth=1.0, random_state=0), 784)
    >>> layer(torch.zeros(2, 784)).shape, sum(weights.numel() for weights in layer.buffers())
    (torch.Size([2, 2048]), 4096)
    """

    def __init__(
        self, basis: Fastfood, in_features: int | None = None, *, learnable: bool = False,
        dtype: object = None, device: object = None,
    ) -> None:  # fmt: skip
        super().__init__(basis, in_features, Fastfood, learnable)
        *drawn, words, kept = self._drawn()
        self._keep_expansions(tuple(drawn), dtype, device)
        self._keep("phases", words * (TURN * 2.0**-32), dtype, device)
        self.frequencies = int(kept)

    def _features(self, x: Tensor) -> Tensor:
        return torch_reference.cos_sin(self._expand(x)[..., : self.frequencies], self.phases, self._height)


class MaxoutLayer(BasisLayer):
    """Random maxout as a torch layer: the largest of q projections, less its mean if the basis is centred.

    Frozen, the layer is `basis.transform`; learnable, that is where it starts.

    Parameters
    ----------
    basis : RandomMaxout
        The basis, which may have shared or structured projections; if it is not fitted, a copy is, to `in_features`
        columns.
    in_features : int, default=None
        Columns of the input, for a basis that is not fitted.
    learnable : bool, default=False
        Whether the projections (of a structured basis: its diagonals) are parameters; else they are buffers.
    dtype : torch.dtype, default=None
        Type of the weights; None is torch's default.
    device : torch.device or str, default=None
        Where the weights are; None is torch's default.

    Examples
    --------
    >>> import torch
    >>> from bochner import RandomMaxout
    >>> from bochner.nn import MaxoutLayer
    >>> stack = torch.nn.Sequential(
    ...     MaxoutLayer(RandomMaxout(64, random_state=0), 10), MaxoutLayer(RandomMaxout(32, random_state=1), 64)
    ... )
    >>> stack(torch.ones(7, 10)).shape
    torch.Size([7, 32])
    """

    def __init__(
        self, basis: RandomMaxout, in_features: int | None = None, *, learnable: bool = False,
        dtype: object = None, device: object = None,
    ) -> None:  # fmt: skip
        super().__init__(basis, in_features, RandomMaxout, learnable)
        self.pool_size, self.mean = int(basis.pool_size), maximum_mean(int(basis.pool_size)) if basis.center else 0.0
        if basis.structured:
            self._keep_expansions(self._drawn()[:4], dtype, device)
            return
        directions, *choices = self._drawn()
        self._keep("directions", directions, dtype, device)
        if choices:
            self.register_buffer("choices", torch.tensor(choices[0], dtype=torch.int64, device=device))

    def _features(self, x: Tensor) -> Tensor:
        largest = self._pools(x).amax(dim=-1) - self.mean * torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return largest * float(1.0 / np.sqrt(self.out_features))

    def _pools(self, x: Tensor) -> Tensor:
        """The projections of each unit, (..., m, q)."""
        if self.basis.structured:  # projection j of every unit comes from expansion j of its group
            groups = self._expand(x).unflatten(-1, (-1, self.pool_size, self.signs.shape[-1])).mT
            return groups.flatten(-3, -2)[..., : self.out_features, :]
        projections = x @ self.directions.mT
        if self.basis.shared_projections is not None:
            return projections[..., self.choices]
        return projections.unflatten(-1, (-1, self.pool_size))


class PatchLayer(nn.Module):
    """Features of the patches of pictures as a torch layer, pooled over the cells of a grid.

    Frozen, the layer is `basis.transform`; learnable, that is where it starts. It has gradients by the pixels too:
    which of them matter to whatever stands behind it.

    Parameters
    ----------
    basis : PatchFeatures
        The basis, fitted to pictures; thresholds, RandomMaxout, RandomRidge or GatedLinear inside, in floats.
    learnable : bool, default=False
        Whether the filters are parameters; else they are buffers.
    dtype : torch.dtype, default=None
        Type of the weights; None is torch's default.
    device : torch.device or str, default=None
        Where the weights are; None is torch's default.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> from bochner import PatchFeatures
    >>> from bochner.nn import PatchLayer
    >>> X, _ = load_digits(return_X_y=True)
    >>> basis = PatchFeatures(image_shape=(8, 8), patch_size=4, grid=2, n_filters=10, random_state=0).fit(X)
    >>> PatchLayer(basis, learnable=True)(torch.ones(3, 64)).shape
    torch.Size([3, 80])
    """

    def __init__(
        self, basis: PatchFeatures, *, learnable: bool = False, dtype: object = None, device: object = None
    ) -> None:
        super().__init__()
        if not isinstance(basis, PatchFeatures) or not hasattr(basis, "map_"):
            raise ValueError("this layer is made from PatchFeatures that are fitted to pictures.")
        if basis.is_integer or not basis.map_.map.has_slopes:
            raise ValueError("layers compute in floats that have gradients: thresholds, maxout, ridge or gates inside.")
        self.basis, self.learnable, found = basis, learnable, basis.map_
        self.in_features, self.out_features = int(found.inputs), int(found.columns)
        dtype = dtype or torch.get_default_dtype()
        drawn = found.map.weights()
        self.weight_names = [f"filters_{k}" for k in range(len(drawn))]
        for name, weights in zip(self.weight_names, drawn, strict=True):
            tensor = torch.tensor(weights, dtype=dtype, device=device)
            if learnable:
                self.register_parameter(name, nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)
        factor = 1.0 / (found.spread * np.sqrt(found.columns))
        members = (found.geometry.cells[:, None] == np.arange(found.geometry.cell_count)) * found.geometry.shares
        kept = {"whitening": found.whitening, "offset": found.offset, "centre": found.centre, "factor": factor}
        for name, numbers in {**kept, "members": members}.items():
            self.register_buffer(name, torch.tensor(numbers, dtype=dtype, device=device))
        self.register_buffer("places", torch.tensor(found.geometry.places, dtype=torch.int64, device=device))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the features of pictures.

        Parameters
        ----------
        x : Tensor of shape (..., in_features)
            Pictures, flattened by height, width and channel.

        Returns
        -------
        Tensor of shape (..., out_features)
            The features.
        """
        if x.shape[-1] != self.in_features:
            raise ValueError(f"the layer takes {self.in_features} pixels; the input has {x.shape[-1]}.")
        found = self.basis.map_
        p = x[..., self.places]
        p = p - p.mean(dim=-1, keepdim=True)
        p = p / (found.contrast * p.square().mean(dim=-1, keepdim=True) + found.floor).sqrt()
        whitened = p @ self.whitening.mT - self.offset
        weights = tuple(getattr(self, name) for name in self.weight_names)
        made = torch.as_tensor(found.map.apply(whitened.flatten(0, -2), weights))
        features = made.unflatten(0, whitened.shape[:-1])
        return (self._pooled(features).flatten(-2) - self.centre) * self.factor

    def _pooled(self, features: Tensor) -> Tensor:
        """(..., columns, cells) of (..., patches, columns)."""
        if self.basis.map_.pooling == "max":
            parts = [features[..., cell > 0, :].amax(dim=-2) for cell in self.members.mT]
            return torch.stack(parts, dim=-1)
        means = features.mT @ self.members
        if self.basis.map_.pooling == "mean":
            return means
        there = means > 0  # elsewhere the root has no slope
        return torch.where(there, torch.where(there, means, 1.0).sqrt(), 0.0)

    def extra_repr(self) -> str:
        """Return what `print` shows of the layer.

        Returns
        -------
        str
            Its sizes and its basis.
        """
        return f"{self.in_features}, {self.out_features}, basis={self.basis!r}, learnable={self.learnable}"
