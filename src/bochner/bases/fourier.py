"""Random Fourier features of a shift-invariant kernel: its bandwidth is settled here; see `maps/fourier.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels import Cauchy, Coordinatewise, Gaussian, Laplacian, Matern, Radial
from ..maps.fourier import SAMPLINGS, FourierMap, require_few_columns
from ..validation import require_choice
from .base import Bounds
from .frequencies import FrequencyBasis


class RandomFourier(FrequencyBasis):
    """Random Fourier features of a shift-invariant kernel.

    Parameters
    ----------
    n_components : number of columns.
    kernel : "gaussian", "laplacian", "matern", "cauchy", or a kernel object with a spectral law.
    bandwidth : the scale s of the kernel, or "median" (the median distance between sampled rows), or a multiple of
        it, such as "0.5*median".
    nu : smoothness of the Matern kernel.
    pairs : interleaved (cos, sin) pairs, of lower variance for the Gaussian; else cosines with a random phase.
    sampling : "iid"; "orthogonal" directions in groups of d (radial kernels); "qmc", Sobol points with a random
        digital shift.
    precision : None follows X; "float32", "float64"; "int8", "int14" are exact integer maps.
    random_state : an integer is the seed.

    Attributes
    ----------
    seed_, bandwidth_, kernel_ ; scale_ : integer features times scale_ approximate the float ones.

    Examples
    --------
    >>> from bochner import RandomFourier
    >>> RandomFourier(4, bandwidth=1.0, random_state=0).fit_transform([[0.0, 0.0]]).round(4)
    array([[0.7071, 0.    , 0.7071, 0.    ]])
    """

    kind = FourierMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        pairs: bool = True,
        sampling: str = "iid",
        precision: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.pairs = pairs
        self.sampling = sampling
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: np.ndarray, largest: float) -> None:
        named = {
            "gaussian": Gaussian(),
            "laplacian": Laplacian(),
            "matern": Matern(nu=self.nu),
            "cauchy": Cauchy(),
        }
        self._settle_kernel(named, self.bandwidth, rows)
        self.kernel_ = self.kernel_.in_dimension(self.n_features_in_)
        if not isinstance(self.kernel_, Coordinatewise | Radial):
            raise ValueError(
                f"kernel={self.kernel!r} declares no spectral law; derive it from Radial, Product or Coordinatewise."
            )
        require_choice("sampling", self.sampling, SAMPLINGS)
        if self.sampling == "orthogonal" and not isinstance(self.kernel_, Radial):
            raise ValueError("sampling='orthogonal' needs a radial kernel; use 'iid' or 'qmc' for products.")
        if self.sampling == "orthogonal" and self.is_integer:
            raise ValueError(
                f"precision={self.precision!r} needs directions that are the same bits on every machine, and "
                "orthogonal ones come from a float factorisation; use sampling='iid' or 'qmc'."
            )
        require_few_columns(self.sampling, self.n_features_in_, self.kernel_)

    def _own_fields(self) -> dict[str, Any]:
        return {**super()._own_fields(), "pairs": self.pairs, "sampling": self.sampling}

    def _require_settled(self, example: Any) -> None:
        super()._require_settled(example)
        require_few_columns(self.sampling, self.n_features_in_, self.kernel_)

    @property
    def bounds(self) -> Bounds:
        if self.sampling == "qmc":
            raise ValueError("no bound is known for sampling='qmc': its frequencies share one random shift.")
        # Orthogonal groups are independent of each other, their d members are not.
        group = self.n_features_in_ if self.sampling == "orthogonal" else 1
        if self.pairs:  # a pair contributes cos(w'(x - z))
            return Bounds(columns=2 * group, product=1.0, second_moment=1.0, lipschitz=1.0)
        return Bounds(columns=group, product=2.0, second_moment=1.5, lipschitz=1.0)
