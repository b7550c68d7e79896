"""Random Fourier features of a shift-invariant kernel: its bandwidth is settled here; see `maps/fourier.py`."""

from __future__ import annotations

from typing import Any

from ..arrays import Rows
from ..bases.base import Basis
from ..kernels import Cauchy, Coordinatewise, Gaussian, Kernel, Laplacian, Matern, Radial
from ..maps.fourier import SAMPLINGS, FourierMap, require_few_columns
from ..typing import RandomStateLike
from ..validation import require_choice
from .base import Bounds
from .frequencies import FrequencyBasis


class RandomFourier(FrequencyBasis):
    """Random Fourier features of a shift-invariant kernel.

    Frequencies w are drawn from the Fourier transform of the kernel, and

        phi(x) = sqrt(2 / n_components) (cos <w_1, x>, sin <w_1, x>, cos <w_2, x>, ...),

    so that `<phi(x), phi(z)>` is near k(x, z) = k(x - z), with an error that falls as 1 / sqrt(n_components). A linear
    model on these features is a kernel machine whose cost grows with the number of rows, not with its square. This is
    the basis to start with.

    Parameters
    ----------
    n_components : int, default=100
        Number of features: columns of the output.
    kernel : {'gaussian', 'laplacian', 'matern', 'cauchy'} or Kernel, default='gaussian'
        Kernel to approximate: a name, or an object of `bochner.kernels` that has frequencies, such as `Stable(1, 1)`.
    bandwidth : float or str, default='median'
        Length scale s of the kernel. 'median' takes the median distance between sampled rows, and '0.5*median' a
        multiple of it. A number is in the units of X.
    nu : float, default=1.5
        Smoothness of the Matern kernel; other kernels ignore it.
    pairs : bool, default=True
        Whether each frequency gives a cosine and a sine. If False it gives one cosine with a random phase.
    sampling : {'iid', 'orthogonal', 'qmc'}, default='iid'
        How frequencies are drawn: independently; with orthogonal directions in groups of n_features (radial kernels,
        floats); or from Sobol points with a random shift. The last two usually have lower variance.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features. None keeps that of X. 'int8' and 'int14' compute in integers alone: the same bits
        on every machine, and faster. Such features are to be multiplied by `scale_`.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws. An int gives the same features on every machine; None draws a seed.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth that was given, or was found by looking at X.
    kernel_ : Kernel
        The kernel with that bandwidth.
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    map_ : FeatureMap
        The feature map: small, immutable, and callable as `map_(X)`.
    scale_ : float
        Factor after which integer features have `<phi(x), phi(z)> ~ k(x, z)`; 1.0 for floats.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.
    quantizer_ : Quantizer
        How X is rounded to 8 bits; only for integer precisions.
    clipped_fraction_ : float
        Share of the sampled numbers that rounding clips; only for integer precisions.

    See Also
    --------
    Fastfood : The same kernel in less time where X has hundreds of columns or more.
    FixedFourier : Fourier features of given frequencies.
    RandomFeatureRegressor, RandomFeatureClassifier : Models that choose, fit and scale a basis.

    References
    ----------
    Rahimi and Recht, Random Features for Large-Scale Kernel Machines, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> basis = RandomFourier(2000, bandwidth=1.0, random_state=0).fit(X)
    >>> Z = basis.transform(X)
    >>> Z.shape
    (50, 2000)
    >>> bool(abs(Z @ Z.T - basis.kernel(X)).max() < 0.1)
    True
    """

    kind = FourierMap

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidth: float | str = "median",
        nu: float = 1.5,
        pairs: bool = True,
        sampling: str = "iid",
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.nu = nu
        self.pairs = pairs
        self.sampling = sampling
        self.precision = precision
        self.random_state = random_state

    def _settle(self, rows: Rows, largest: float) -> None:
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
                f"kernel={self.kernel!r} has no frequencies to draw; derive it from Radial, Product or Coordinatewise."
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

    def _require_settled(self, example: Basis) -> None:
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
