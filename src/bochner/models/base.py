"""What regressor and classifier share: fitting to rows, all at once or in parts."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..arrays import is_torch, like
from ..bases import REGISTRY, Basis
from ..blocks import Blocks, Journal, RowsLike
from ..config import get_config
from ..losses import LossLike
from ..moments import FoldedMoments, Moments
from ..ops.devices import named_device, placed, require_device
from ..solvers import SolverLike
from ..solvers.matching import require_torch
from ..solvers.matrix_free import Sums
from ..solvers.triangle import TriangleSums
from ..typing import ArrayLike, VectorLike
from .checks import (
    check_rows_and_targets,
    check_weights,
    collected,
    forget_columns,
    meet_blocks,
    recipe_of,
    split_target,
    with_recipe,
)
from .feature_fit import fit_features, refit_metric
from .fitted import FittedFeatureModel
from .job_words import described
from .parameters import adds_rows, new_basis
from .partial_fit import add_rows, merged, train_on, truncated, without_rows
from .placing import blocks_on
from .preparation import DataSummary, OpenJournal, Preparation, PreparedData, given_data
from .sampling import RowsByNumber, Sample
from .target_codes import LabelCounts, TargetSums

# What a checkpoint may hold beside numbers.
KEPT = (Moments, FoldedMoments, Sums, TriangleSums, DataSummary, Sample, RowsByNumber, LabelCounts, TargetSums)
FREE = ("verbose", "n_jobs")  # parameters that change no number


class RandomFeatureModel(FittedFeatureModel):
    """A basis, a loss and a solver. Subclasses say what encoder targets have, and how scores are read."""

    loss: str | LossLike
    max_coefficient: float | None
    solver: str | SolverLike

    def fit(
        self,
        X: RowsLike,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        target: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows. A frame may have text, dates, booleans and missing numbers: it is encoded as `bochner.read(frame,
            missing="mean")` does it. Blocks, such as those of `bochner.read`, have targets and weights of their own.
            Tensors stay in torch, on their device. Dask arrays and frames stay where they are: y and sample_weight may
            be collections too, and the workers of the current client make the sums.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` or the blocks hold them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.
        checkpoint : str or path-like, default=None
            Folder in which sums are kept while they are made. If the work is interrupted, the same call goes on where
            it stopped, and ends with the same bits. Delete the folder when the model is saved.

        Returns
        -------
        object
            The model itself.
        """
        X, y, sample_weight, target = collected(X, y, sample_weight, target)
        X, y = taken_from(X, y, target)
        X, y, sample_weight = with_recipe(X, y, sample_weight)
        parameters = self._parameters()
        if checkpoint is not None and (is_torch(getattr(X, "X", X)) or parameters.device not in (None, "cpu")):
            raise ValueError(
                "a checkpoint holds numpy's sums, and those of tensors are not: give numpy arrays, and no device."
            )
        self.__dict__.pop("_fitted", None)
        forget_columns(self)
        with self._settings(X), ExitStack() as stack:

            def open_journal(blocks: Blocks) -> Journal | None:
                if checkpoint is None:
                    return None
                return stack.enter_context(closing(Journal(checkpoint, self._job(blocks), KEPT)))

            ready = self._prepare(X, y, sample_weight, first=True, whole=True, open_journal=open_journal)
            ready = self._on_device(ready)
            self._fitted = fit_features(parameters, ready, recipe_of(self))
            self._tell_doubts()
        return self

    def _prepare(
        self,
        X: RowsLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        *,
        first: bool = False,
        classes: ArrayLike | None = None,
        whole: bool = False,
        open_journal: OpenJournal = lambda blocks: None,
    ) -> PreparedData:
        """Rows with coded targets and weights, in blocks; the columns of the first ones are remembered."""
        parameters, encoder = self._parameters(), self._encoder()
        if not first:
            encoder = encoder.with_fields(self._targets.to_fields(), self._targets.outputs)
        how = Preparation(encoder, parameters.dtypes, first, whole, classes, open_journal)
        X, y, sample_weight, _ = collected(X, y, sample_weight, recipe=None if first else recipe_of(self))
        given = given_data(X, y, sample_weight, parameters.dtypes)
        if given.in_blocks:
            meet_blocks(self, given.X, None if first else self.design_.n_features_in_)
            samples = parameters.samples(given.X.n_rows, given.X.n_columns) if whole else ()
            return replace(how, samples=samples).blocks(given.X)
        if is_torch(given.X):
            device = require_device(self.device)
            given = given._replace(X=placed(given.X, device), y=placed(given.y, device if is_torch(given.y) else None))
            require_torch(parameters.loss, parameters.solver, parameters.max_coefficient)
        y_numeric = not encoder.classifies
        rows, targets = check_rows_and_targets(
            self, given.X, given.y, parameters.dtypes, reset=first, y_numeric=y_numeric
        )
        return how.arrays(rows, targets, like(check_weights(given.weight, rows.shape[0]), rows))

    def _on_device(self, ready: PreparedData) -> PreparedData:
        """The same rows on the device that was asked for: what was settled by a sample of them is settled already."""
        there = blocks_on(ready.blocks, named_device(self.device))
        return ready if there is ready.blocks else ready._replace(blocks=there, of_tensors=True)

    def _job(self, blocks: Blocks) -> dict[str, Any]:
        """What must be the same for a fit to be taken up again: all but who does the work, and how it is shown."""
        parameters = {name: described(value) for name, value in self.get_params().items() if name not in FREE}
        settings = {name: value for name, value in get_config().items() if name not in ("progress", "engine")}
        return {"model": type(self).__name__, **parameters, **settings, **blocks.fingerprint()}

    # ---- rows that come and go ----

    def _add_rows(
        self,
        X: RowsLike,
        y: VectorLike | None,
        sample_weight: VectorLike | None,
        classes: ArrayLike | None,
        target: str | None,
    ) -> Self:
        """partial_fit: the first call settles the basis, precision and metric, later ones only add their sums.

        A frame of more than plain numbers gets its recipe by the first call, too. After a fit, steps on batches begin
        where that ended.
        """
        first, parameters = not hasattr(self, "_fitted"), self._parameters()
        known = None if first else recipe_of(self)
        X, y, sample_weight, target = collected(X, y, sample_weight, target, known)
        X, y = taken_from(X, y, target)
        if first:
            self.__dict__.pop("recipe_", None)  # of a call that failed
            X, y, sample_weight = with_recipe(X, y, sample_weight)
        steps = parameters.trains_on_batches
        if not steps:
            parameters.refuse_leave_one_out("partial_fit")
        before = None if first else self._with_solution() if steps else self._with_sums("partial_fit")
        with self._settings(X):
            ready = self._on_device(self._prepare(X, y, sample_weight, first=first, classes=classes))
            self._fitted = (train_on if steps else add_rows)(parameters, before, ready, recipe_of(self))
        return self

    def merge(self, other: RandomFeatureModel) -> Self:
        """Add the rows that another model of the same basis was fitted to; exact for integer features.

        Parameters
        ----------
        other : object
            A fitted model of the same class, whose fitted basis is identical: same seed, bandwidth and scaling.

        Returns
        -------
        object
            The model itself.
        """
        if type(self) is not type(other):
            raise ValueError(f"only models of one kind merge; got {type(self).__name__} and {type(other).__name__}.")
        mine, others = self._with_sums("merge"), other._with_sums("merge")
        self._fitted = merged(mine, others, self._parameters().loss)
        return self

    def forget(self, X: RowsLike, y: VectorLike | None, sample_weight: VectorLike | None = None) -> Self:
        """Take rows away again that were fitted before; of integer features no trace is left in the sums.

        What the first rows settled stays as it is: bandwidth, scaling and, for numbers, the mean that targets are
        measured from. Rows that cannot have been fitted are refused.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            The rows to take away.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that they were fitted with.

        Returns
        -------
        object
            The model itself.
        """
        found = self._with_sums("forget")
        with self._settings(X):
            blocks = self._on_device(self._prepare(X, y, sample_weight)).blocks
            self._fitted = without_rows(self._parameters(), found, blocks)
        return self

    def grow(
        self,
        n_components: int,
        X: RowsLike | None = None,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Change the number of features, of which the first stay the same.

        Fewer features than were ever fitted come from the sums at hand, so that a learning curve costs one fit. More
        need the rows again.

        Parameters
        ----------
        n_components : int
            Number of random features.
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features), default=None
            The rows of the fit, where there are to be more features than were ever fitted.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        object
            The model itself.
        """
        check_is_fitted(self)
        found, parameters = self._found(), self._parameters()
        if X is None or n_components <= found.summed.basis.n_components:
            self._fitted = truncated(self._with_sums("grow"), n_components, parameters.loss)
            return self
        with self._settings(X):
            ready = self._on_device(self._prepare(X, y, sample_weight, whole=True))
            larger = replace(found.chosen, design=found.summed.enlarged(n_components))
            self._fitted = fit_features(parameters, ready, recipe_of(self), larger, climbs=False)
        return self

    def refit_metric(self, X: RowsLike, y: VectorLike | None = None, sample_weight: VectorLike | None = None) -> Self:
        """Learn the metric again, first from the sums at hand, and fit to the rows in it.

        `partial_fit`, `merge` and `forget` leave the metric as the first rows made it. The sums of all rows since then
        tell a better one at no cost; the features in it need the rows again.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, tensor or Blocks of shape (n_samples, n_features)
            All rows that the model is to be fitted to.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their targets; None if X are Blocks, which have their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None is 1 for each.

        Returns
        -------
        object
            The model itself.
        """
        found, parameters = self._with_solution(), self._parameters()
        with self._settings(X):
            ready = self._on_device(self._prepare(X, y, sample_weight, whole=True))
            self._fitted = refit_metric(parameters, found, ready, recipe_of(self))
        return self

    # ---- parameters of the basis, given or not ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model, and those of its basis as basis__name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of the basis too, even if that is the default one.

        Returns
        -------
        dict
            Values by name.
        """
        parameters = super().get_params(deep)
        if deep and (self.basis is None or (isinstance(self.basis, str) and self.basis in REGISTRY)):
            inner = new_basis(self.basis).get_params()
            parameters |= {f"basis__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **parameters: object) -> Self:
        """Set parameters of the model, or of its basis as basis__name.

        Parameters
        ----------
        **parameters : dict
            Values by name. Where `basis` is None or a name, basis__name makes it an object first.

        Returns
        -------
        object
            The model itself.
        """
        inner = any(name.startswith("basis__") for name in parameters)
        if inner and "basis" not in parameters and not isinstance(self.basis, Basis):
            self.basis = new_basis(self.basis)
        return super().set_params(**parameters)


def takes_more_rows(model: RandomFeatureModel) -> bool:
    """Whether a model has partial_fit."""
    return adds_rows(model.loss, model.solver, model.max_coefficient, model._encoder().classifies)


def taken_from(X: RowsLike, y: VectorLike | None, target: str | None) -> tuple[Any, Any]:
    """Rows and targets; the target column is taken out of a frame, and blocks have their own."""
    if not isinstance(X, Blocks):
        return split_target(X, y, target)
    if target is not None:
        raise ValueError("the blocks have their own targets: give target to bochner.read.")
    return X, y
