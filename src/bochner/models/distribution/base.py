"""What the two distribution models share: embed bags by one basis, then learn from the embeddings with another."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...bases import Basis, FixedFourier, RandomFourier
from ...bases.heuristics import draw_seed
from ...blocks import Blocks, TableBlocks, rows_per_block
from ...maps.scaling import ColumnScaler, units_apart
from ...ops.devices import named_device, require_device
from ...streams import Stream
from ...typing import ArrayLike, Frame, MatrixLike, Penalty, RandomStateLike, VectorLike
from ...validation import require_choice, require_integer, require_positive, require_squares
from ..base import RandomFeatureModel
from ..checks import check_weights
from ..explaining import explain
from ..fitting import Limited
from ..learned.spectrum import Spectral, Stage
from ..saving import write
from ..trials import SCALERS
from ..unlabelled import require_no_union
from .bags import Bags
from .embedding import embed
from .given import LinearBasis
from .gradients import Net, Task
from .learned import learn
from .saving import KNOWN, from_state, to_state
from .survey import SampledPoints, survey
from .tables import BagsLike, BlockBags, TableBags, columns_of, open_bags, targets_of

LEARNED = "frequencies were learned from all bags after folds had chosen the penalty"


class DistributionModel(Spectral, BaseEstimator):
    """A basis for points, a mean over each bag, and a model on random features of the means."""

    basis: Basis | None
    second_basis: Basis | str | None
    learned: bool
    alpha: Penalty
    half_size: float | None
    scale: str | None
    solver: str
    fit_intercept: bool
    frequency_alpha: float
    optimizer: str
    max_iter: int
    batch_size: int
    learning_rate: float
    device: str | None
    n_jobs: int | None
    verbose: int
    random_state: RandomStateLike

    @abstractmethod
    def _second(self, basis: Basis, alpha: Penalty) -> RandomFeatureModel:
        """The model of the second stage, not fitted yet."""

    def _settings_of_second(self, alpha: Penalty) -> dict[str, Any]:
        """Embeddings are means of features, which share a unit: they are taken as they are."""
        return {
            "alpha": alpha, "solver": self.solver, "fit_intercept": self.fit_intercept, "scale": None, "linear": False,
            "device": self.device,
        }  # fmt: skip

    # ---- fitting ----

    def fit(
        self,
        X: BagsLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        bag: str | ArrayLike | None = None,
        target: str | None = None,
    ) -> Self:
        """Fit the model to bags.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        y : array-like of shape (n_bags,) or (n_bags, n_targets), default=None
            One target for each bag, in the order in which bags are met; None if `target` holds them.
        sample_weight : array-like of shape (n_bags,), default=None
            Weights of the bags; None is 1 for each.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.
        target : str, default=None
            Name of the column of the frame X that holds the target of a point's bag, in place of y.

        Returns
        -------
        object
            The model itself.
        """
        with self._settings():
            bags, sample, y, weight = self._begin(X, y, sample_weight, bag, target)
            means = self._embed_training(bags, sample, weight)
            self.second_ = self._second(self._second_basis(), self.alpha).fit(means, y, weight)
            if self.learned:
                self._learn_frequencies(bags, sample, y, weight)
        return self

    def _add(
        self,
        X: BagsLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        bag: str | ArrayLike | None,
        target: str | None,
        **more: VectorLike | None,
    ) -> Self:
        """partial_fit: the first call settles both bases, those after it only add to the sums of the second stage."""
        if self.learned:
            raise ValueError("learned frequencies need all bags at once: use fit.")
        with self._settings():
            if hasattr(self, "second_"):
                bags, means = self._embed(X, bag, target)
                y, weight = targets_of(bags, y), self._weights(sample_weight, bags.sizes)
                self.second_.partial_fit(means, y, sample_weight=weight, **more)
                self._count(bags)
                return self
            bags, sample, y, weight = self._begin(X, y, sample_weight, bag, target)
            means = self._embed_training(bags, sample, weight)
            second = self._second(self._second_basis(), self.alpha)
            self.second_ = second.partial_fit(means, y, sample_weight=weight, **more)
        return self

    def _count(self, bags: Bags) -> None:
        """Note how many bags there are and how large, those of earlier calls included."""
        smallest, largest = getattr(self, "bag_sizes_", (np.inf, 0))
        self.n_bags_ = getattr(self, "n_bags_", 0) + bags.n_bags
        self.bag_sizes_ = int(min(smallest, bags.sizes.min())), int(max(largest, bags.sizes.max()))

    def _begin(
        self,
        X: BagsLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        bag: str | ArrayLike | None,
        target: str | None,
    ) -> tuple[Bags, SampledPoints, np.ndarray, np.ndarray | None]:
        """Look at all points, and settle the first basis."""
        self._check_parameters()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        bags = open_bags(X, bag, target)
        weight = self._weights(sample_weight, bags.sizes)
        sample = survey(bags, None if weight is None else weight > 0)
        y = targets_of(bags, y)
        self.n_features_in_, self.bag_ = bags.n_columns, bag if isinstance(bag, str) else None
        if isinstance(bags, BlockBags) and bags.blocks.recipe is not None:
            self.recipe_ = bags.blocks.recipe
        if isinstance(bags, TableBags) and bags.names is not None:
            self.feature_names_in_ = np.array(bags.names, dtype=object)
        basis = self._first_basis()
        self.scaler_ = bags.scaler = self._settled_scaler(basis, sample.points)
        if self.scaler_ is not None:
            scaled = np.asarray(self.scaler_(sample.points))
            sample = SampledPoints(scaled, float(np.abs(scaled).max()))
        self.basis_ = basis.fit_sample(sample.points, sample.largest)
        self._count(bags)
        return bags, sample, y, weight

    def _settled_scaler(self, basis: Basis, points: np.ndarray) -> ColumnScaler | None:
        if self.scale is None or (self.scale == "auto" and basis.has_units):
            return None
        require_squares(float(np.abs(points).max()), "X")
        return units_apart(points) if self.scale == "auto" else SCALERS[self.scale](points)

    def _embed_training(self, bags: Bags, sample: SampledPoints, weight: np.ndarray | None) -> np.ndarray:
        return embed(self.basis_, bags, self.device)

    def _learn_frequencies(self, bags: Bags, sample: SampledPoints, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn the frequencies of both stages, then solve for the coefficients with the same penalty."""
        second, rows = self.second_, rows_per_block(8 * int(self.basis_.n_components) + bags.n_columns)
        fit = second._refresh()
        output = np.asarray(fit.solution.coefficients), np.asarray(fit.intercept)
        net = Net(frequencies(self.basis_), frequencies(second.basis_), *output)
        coding = second._targets.coding(second._targets.summarize(y, weight))
        weighed = coding.weigh(y, weight)
        task = Task(
            bags, np.asarray(coding.code(y), dtype=np.float64),
            np.ones(len(y)) if weighed is None else np.asarray(weighed), second.alpha_,
            float(self.frequency_alpha), bool(self.fit_intercept), rows,
        )  # fmt: skip
        found = learn(
            net, task, self.optimizer, self.max_iter, batch_size=self.batch_size, learning_rate=self.learning_rate,
            seed=self.basis_.seed_,
        )  # fmt: skip
        self.loss_, self.status_ = found.loss, found.status
        self._stages_learned = [
            Stage("points", found.net.points, net.points), Stage("embeddings", found.net.embeddings, net.embeddings)
        ]  # fmt: skip
        self.basis_ = FixedFourier(found.net.points, random_state=0).fit_sample(sample.points, sample.largest)
        means = self._embed_training(bags, sample, weight)
        given = FixedFourier(found.net.embeddings, random_state=0)
        self.second_ = self._second(given, task.alpha).fit(means, y, weight)

    def _stages(self) -> list[Stage]:
        check_is_fitted(self)
        if not self.learned:
            raise ValueError("these frequencies are drawn, not learned: fit with learned=True.")
        return self._stages_learned

    def _first_basis(self) -> Basis:
        basis = RandomFourier(100 if self.learned else 500) if self.basis is None else clone(self.basis)
        self.seed_ = draw_seed(self.random_state)
        return basis.set_params(random_state=self.seed_) if basis.random_state is None else basis

    def _second_basis(self) -> Basis:
        if isinstance(self.second_basis, str):
            return LinearBasis(int(self.basis_.n_components), random_state=0)
        basis = RandomFourier(100 if self.learned else 1000) if self.second_basis is None else clone(self.second_basis)
        # A seed of its own: the same one would give both stages the same draws.
        own = int(Stream(self.seed_, "second stage").bits(0, 1)[0, 0] >> 1)
        return basis.set_params(random_state=own) if basis.random_state is None else basis

    def _weights(self, sample_weight: VectorLike | None, sizes: np.ndarray) -> np.ndarray | None:
        weight = check_weights(sample_weight, len(sizes))
        weight = None if weight is None else np.asarray(weight)
        if self.half_size is None:
            return weight
        of_size = sizes / (sizes + float(self.half_size))
        return of_size if weight is None else weight * of_size

    # ---- bags to predict ----

    def _open(self, X: BagsLike, bag: str | ArrayLike | None, target: str | None = None) -> Bags:
        check_is_fitted(self, "second_")
        if bag is None and (hasattr(X, "columns") or isinstance(X, TableBlocks)):
            bag = self.bag_
        bags = open_bags(X, bag, target, self._encode)
        if bags.n_columns != self.basis_.n_features_in_:
            raise ValueError(
                f"bags have {bags.n_columns} columns; the model was fitted to {self.basis_.n_features_in_}."
            )
        if isinstance(X, Blocks) and X.recipe != getattr(self, "recipe_", None):
            raise ValueError(
                "the blocks were not encoded as those of the fit (other columns, categories or means): "
                "read them with bochner.read(..., recipe=model.recipe_)."
            )
        bags.scaler = self.scaler_
        self.second_.device = self.device  # which may be another one than that of the fit
        return bags

    def _embed(self, X: BagsLike, bag: str | ArrayLike | None, target: str | None = None) -> tuple[Bags, np.ndarray]:
        bags = self._open(X, bag, target)
        return bags, embed(self.basis_, bags, self.device)

    def _encode(self, frame: Frame) -> MatrixLike:
        if hasattr(self, "recipe_"):
            return self.recipe_.encode(frame)
        return columns_of(frame, self.feature_names_in_) if hasattr(self, "feature_names_in_") else frame

    def embed(self, X: BagsLike, *, bag: str | ArrayLike | None = None) -> np.ndarray:
        """Return the mean embeddings of bags: what the second stage is given.

        Parameters
        ----------
        X : list of array-like, array-like, frame or Blocks
            The bags: a list of matrices, one row for each point; an array of shape (n_bags, n_points, n_features); or
            all points as a matrix, frame or Blocks, with `bag` to tell them apart. Bags may differ in size.
        bag : str or array-like of shape (n_points,), default=None
            Which bag a point belongs to: a column of the frame or of the files, or one name for each point.

        Returns
        -------
        ndarray of shape (n_bags, n_components)
            Means of the features of each bag's points.
        """
        return np.asarray(self._embed(X, bag)[1])

    def _scored(
        self, X: BagsLike, y: VectorLike | None, bag: str | ArrayLike | None, target: str | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions of bags."""
        bags, means = self._embed(X, bag, target)
        return targets_of(bags, y), self.second_.predict(means)

    def explain_fit(self) -> str:
        """Say in words what was fitted, how and why so, how good it is and how exact.

        Returns
        -------
        str
            One line for each decision.
        """
        check_is_fitted(self, "second_")
        smallest, largest = self.bag_sizes_
        basis, again = self.basis_, "" if not self.learned else f"; learned by {self.status_}"
        return "\n".join([
            f"{type(self).__name__}: {self.n_bags_:,} bags of {smallest:,} to {largest:,} points, "
            f"{basis.n_features_in_} columns -> means of {int(basis.n_components):,} features of "
            f"{type(basis).__name__}{again}; then",
            explain(
                type(self.second_).__name__, self.second_._with_solution(), self.second_._parameters(),
                LEARNED if self.learned else "",
            ),
        ])  # fmt: skip

    @property
    def cv_score_(self) -> float | None:
        """Score to expect on new bags, by the folds that chose the penalty: R^2 or accuracy.

        None if the penalty was given, or frequencies were learned since.
        """
        check_is_fitted(self, "second_")
        return self.second_.cv_score_

    @property
    def cv_standard_error_(self) -> float | None:
        """Standard error of cv_score_, or None."""
        check_is_fitted(self, "second_")
        return self.second_.cv_standard_error_

    # ---- files ----

    def save(self, path: str | os.PathLike[str], *, sums: bool = False) -> None:
        """Write the model to a file, which `bochner.load` reads.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        sums : bool, default=False
            Whether to write the sums of the second stage too: a loaded model can then take more bags, and predict
            standard deviations.
        """
        check_is_fitted(self, "second_")
        if sums:
            self.second_._with_sums("save(sums=True)")
        write(self, path, to_state(self, sums), KNOWN)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Refuse: a graph has no input for bags.

        The second stage alone can be written, by `model.second_.to_onnx(path)`; it takes `model.embed(bags)`.

        Parameters
        ----------
        path : str or path-like
            Ignored.
        dtype : {'float32', 'float64'}, default='float32'
            Ignored.
        """
        raise ValueError(
            f"a {type(self).__name__} takes bags of points, for which an ONNX graph has no input: export its second "
            "stage by model.second_.to_onnx(path), and give it model.embed(bags)."
        )

    # ---- checks ----

    def _check_parameters(self) -> None:
        for name in ("basis", "second_basis"):
            value = getattr(self, name)
            if name == "second_basis" and isinstance(value, str):
                require_choice(name, value, ["linear"])
            elif value is not None and not isinstance(value, Basis):
                raise ValueError(f"{name} must be one of bochner's bases; got {value!r}.")
            require_no_union(value)
            if self.learned and value is not None and not learns(value):
                raise ValueError(f"learned=True needs a RandomFourier of pairs in floats as {name}; got {value!r}.")
        self._second(RandomFourier(), self.alpha)._check_parameters()
        if self.half_size is not None:
            require_positive("half_size", self.half_size)
        if self.scale is not None:
            require_choice("scale", self.scale, ["auto", *SCALERS])
        require_choice("optimizer", self.optimizer, ["lbfgs", "adam"])
        require_integer("max_iter", self.max_iter)
        require_integer("batch_size", self.batch_size)
        require_positive("learning_rate", self.learning_rate)
        if self.frequency_alpha != 0:
            require_positive("frequency_alpha", self.frequency_alpha)

    def _settings(self) -> AbstractContextManager[Any]:
        if self.learned and named_device(self.device) not in (None, "cpu"):
            raise ValueError("frequencies of bags are learned on the CPU: leave out device, or learned=True.")
        return Limited(self.n_jobs, self.verbose, 1, require_device(self.device))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags


def learns(basis: object) -> bool:
    """Whether the frequencies of a basis can be learned: cosines and sines in pairs, in floats."""
    if not isinstance(basis, RandomFourier) or not basis.pairs:
        return False
    return require_integer("n_components", basis.n_components) % 2 == 0 and basis.precision in (None, "float64")


def frequencies(basis: Basis) -> np.ndarray:
    """The drawn frequencies of a fitted RandomFourier, one per row."""
    return np.asarray(basis.map_.weights(0, int(basis.n_components) // 2)[0])
