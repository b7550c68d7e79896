"""Random Fourier features: cos<w, x>, sin<w, x> with frequencies w from the kernel's spectral law.

Drawn: one frequency per pair of columns. Kernel: any shift-invariant one (Bochner). Error: 1/sqrt(frequencies).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import qmc

from .. import ops, portable
from ..kernels import Cauchy, Gaussian, Laplacian, Matern, NormalMixture, Product, Radial
from ..streams import Stream, int8_normal_deviation, uniform_from_bits
from ..validation import require_choice
from .base import Bounds
from .frequencies import TURN, FrequencyBasis, turns_to_words
from .hadamard import give_length

SOBOL_LIMIT = qmc.Sobol.MAXDIM


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
        if not isinstance(self.kernel_, Radial | Product):
            raise ValueError(f"kernel={self.kernel!r} declares no spectral law; derive it from Radial or Product.")
        require_choice("sampling", self.sampling, ["iid", "orthogonal", "qmc"])
        if self.sampling == "orthogonal" and not isinstance(self.kernel_, Radial):
            raise ValueError("sampling='orthogonal' needs a radial kernel; use 'iid' or 'qmc' for products.")
        if self.sampling == "orthogonal" and self._is_integer:
            raise ValueError(
                f"precision={self.precision!r} needs directions that are the same bits on every machine, and "
                "orthogonal ones come from a float factorisation; use sampling='iid' or 'qmc'."
            )
        self._require_few_columns()

    def _require_few_columns(self) -> None:
        if self.sampling == "qmc" and self.n_features_in_ > SOBOL_LIMIT:
            raise ValueError(f"sampling='qmc' has at most {SOBOL_LIMIT} columns; X has {self.n_features_in_}.")

    def _require_settled(self, example: Any) -> None:
        super()._require_settled(example)
        self._require_few_columns()

    @property
    def bounds(self) -> Bounds:
        if self.sampling == "qmc":
            raise ValueError("no bound is known for sampling='qmc': its frequencies share one random shift.")
        # Orthogonal groups are independent of each other, their d members are not.
        group = self.n_features_in_ if self.sampling == "orthogonal" else 1
        if self.pairs:  # a pair contributes cos(w'(x - z))
            return Bounds(columns=2 * group, product=1.0, second_moment=1.0, lipschitz=1.0)
        return Bounds(columns=group, product=2.0, second_moment=1.5, lipschitz=1.0)

    @property
    def _frequencies(self) -> int:
        return -(-self._m // 2) if self.pairs else self._m

    def _units(self) -> tuple[int, int, int]:
        return self._frequencies, self.n_features_in_, 2

    def _columns(self, unit: int) -> int:
        return min(2 * unit, self._m) if self.pairs else unit

    def _draw(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        alone = start
        if self.pairs:  # only the last frequency of an odd number of columns stands alone
            odd_and_last = stop == self._frequencies and self._m % 2 == 1
            alone = stop - 1 if odd_and_last else stop
        words = self._phase_words(alone, stop)
        if self._is_integer:
            return (*self._draw_integer(start, stop), words)
        return self._directions(start, stop) / self.bandwidth_, words

    def _map(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        directions, words = weights
        return ops.dense_cos_sin(X, directions, *self._phases(words, X.dtype))

    def _map_into(self, out: np.ndarray, feature_map: Any, X: Any, weights: tuple[np.ndarray, ...]) -> None:
        if self._is_integer:
            super()._map_into(out, feature_map, X, weights)
            return
        directions, words = weights
        ops.dense_cos_sin(X, directions, *self._phases(words, X.dtype), out)

    def _is_fused(self, dtype: np.dtype) -> bool:
        if self._is_integer:
            return ops.has_fast("project_cos_sin") and not isinstance(self.kernel_, Product)
        return ops.projects_dense(dtype)

    def _map_integer(self, X: Any, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        *directions, words = weights
        if len(directions) == 1:
            return ops.cos_sin_integer(ops.project_phase(X, directions[0]), words, self._cosine_table())
        return ops.project_cos_sin(X, *directions, words, self._cosine_table())

    # ---- frequencies for bandwidth 1 ----

    def _directions(self, start: int, stop: int) -> np.ndarray:
        kernel, d = self.kernel_, self.n_features_in_
        if self.sampling == "orthogonal":
            assert isinstance(kernel, Radial)
            return self._orthogonal(start, stop) * kernel.radii(self.seed_, start, stop, d)[:, None]
        if isinstance(kernel, Product):
            return kernel.quantile(self._uniforms(start, stop))
        normals = portable.normal_quantile(self._uniforms(start, stop))
        if isinstance(kernel, NormalMixture):
            return normals * kernel.mixing(self.seed_, start, stop)[:, None]
        assert isinstance(kernel, Radial)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return normals / lengths * kernel.radii(self.seed_, start, stop, d)[:, None]

    def _uniforms(self, start: int, stop: int) -> np.ndarray:
        """Points of the unit cube: independent, or Sobol's with every coordinate shifted by exclusive or."""
        d = self.n_features_in_
        if self.sampling != "qmc":
            return Stream(self.seed_, "frequencies").uniform(start, stop, d)
        engine = qmc.Sobol(d, scramble=False, bits=32)
        first = engine.random(1)  # the origin, drawn alone: an odd first lot gets a warning about balance
        if start > 1:
            engine.fast_forward(start - 1)
        points = engine.random(stop - max(start, 1)) if stop > max(start, 1) else np.empty((0, d))
        points = np.vstack([first, points]) if start == 0 else points
        shift = Stream(self.seed_, "shift").bits(0, 1, d)
        return uniform_from_bits((points * 2.0**32).astype(np.uint32) ^ shift)

    def _orthogonal(self, start: int, stop: int) -> np.ndarray:
        """Rows of random rotations, d at a time: each row is a uniform direction, rows of a group are orthogonal."""
        d = self.n_features_in_
        stream = Stream(self.seed_, "frequencies")
        groups = []
        for group in range(start // d, -(-stop // d)):
            q, r = np.linalg.qr(stream.normal(group * d, (group + 1) * d, d).T)
            groups.append((q * np.sign(np.diagonal(r))).T)
        return np.vstack(groups)[start % d :][: stop - start]

    def _draw_integer(self, start: int, stop: int) -> tuple[np.ndarray, ...]:
        """int8 normal directions with a phase multiplier each; 32-bit phases per coordinate for product kernels."""
        kernel, per_code = self.kernel_, self.quantizer_.step / (TURN * self.bandwidth_)
        if isinstance(kernel, Product):
            return (turns_to_words(kernel.quantile(self._uniforms(start, stop)) * per_code),)
        if self.sampling == "qmc":
            normals = portable.normal_quantile(self._uniforms(start, stop))
            directions = np.clip(np.rint(32.0 * normals), -127, 127).astype(np.int8)
        else:
            directions = Stream(self.seed_, "frequencies").normal_int8(start, stop, self.n_features_in_)
        if isinstance(kernel, NormalMixture):
            lengths = kernel.mixing(self.seed_, start, stop) / int8_normal_deviation()
        else:
            assert isinstance(kernel, Radial)
            give_length(directions)
            squares = np.sum(directions.astype(np.int64) ** 2, axis=1)
            lengths = kernel.radii(self.seed_, start, stop, self.n_features_in_) / np.sqrt(squares.astype(np.float64))
        return directions, turns_to_words(lengths * per_code)
