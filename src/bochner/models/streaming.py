"""Sums that add: rows can come in any number of calls, models can be merged, rows forgotten, features added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..bases.design import Design
from ..blocks import Blocks, MemoryBlocks
from ..blocks.memory import is_mapped
from ..config import memory_budget
from ..costs import gram_bytes
from ..losses import Loss
from ..moments import FoldedMoments, require_squares
from ..solvers import DualPosterior, HeldOutScores, Problem, Solver, SolverLike
from ..solvers.matching import trains_on_batches
from ..solvers.problem import Alpha
from ..solvers.sums import reduce_folds
from ..validation import option
from .checks import split_target, with_recipe
from .fitting import Fit, fit_sums
from .partial_fit import resume
from .preparation import OpenJournal, PreparedData, own_targets, prepare_arrays, prepare_blocks


class Streaming(ABC):
    """The verbs of a model that keeps its sums. After a change the solution is made when it is first needed."""

    alpha: Alpha
    solver: str | SolverLike
    fit_intercept: bool
    max_coefficient: float | None
    design_: Design
    sums_: FoldedMoments | None
    _classifies = False
    _outputs: Any
    _solved: Fit
    _stale: bool
    _importances: np.ndarray | None
    _widest: Design | None = None  # the design whose sums are at hand, if the model uses only its first columns

    @property
    def _summed(self) -> Design:
        """The design whose sums are at hand."""
        return self._widest or self.design_

    def _add_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any, target: str | None) -> Any:
        """partial_fit: the first call settles the basis (and the precision), later ones only add their sums.

        A frame of more than plain numbers gets its recipe by the first call, too.
        """
        first = not hasattr(self, "design_")
        self._check_parameters()
        if not isinstance(X, Blocks):
            X, y = split_target(X, y, target)
        elif target is not None:
            raise ValueError("the blocks have their own targets: give target to bochner.read.")
        if first:
            self.__dict__.pop("recipe_", None)  # of a call that failed
            X, y, sample_weight = with_recipe(X, y, sample_weight)
        if trains_on_batches(self.solver, self._loss()):
            return self._resume(X, y, sample_weight, classes)
        self._refuse_leave_one_out("partial_fit")
        before = None if first else self._require_sums("partial_fit")
        with self._settings():
            ready = self._ready(X, y, sample_weight, first=first, classes=classes)
            if first:
                design = self._fitted_design(ready)
                self._require_room(design.n_components)
                self.design_ = design
            part = self._sums_of(ready.blocks)
        self.sums_ = part if before is None else before + part.beside(before)
        return self._outdated()

    def _resume(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Any:
        """partial_fit by steps on batches; after a fit it begins where that ended."""
        first = not hasattr(self, "design_")
        with self._settings():
            ready = self._ready(X, y, sample_weight, first=first, classes=classes)
            design = self._fitted_design(ready) if first else self.design_
            problem, (solver, _) = self._problem(design, ready.blocks), self._solver_for(design, ready.blocks.n_rows)
            before = None if first else self._refresh()
            self.design_, fit, held_out = resume(problem, design, solver, before)
        self._solved, self._importances = fit, None
        self.sums_, self._widest, self._stale = None, None, False
        self._rows = 0 if fit.training is None else fit.training.rows
        self._calibrate(held_out)
        return self

    def merge(self, other: Any) -> Any:
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
        mine, others = self._require_sums("merge"), other._require_sums("merge")
        if self._summed.identity() != other._summed.identity():
            raise ValueError(
                "only models with identical fitted bases merge (same seed, and the same numbers for bandwidth, scale "
                "and radius): give random_state and bandwidth as numbers."
            )
        self._require_same_targets(other)
        self.sums_ = mine + self._aligned(others, other).beside(mine)
        return self._outdated()

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
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
        sums = self._require_sums("forget")
        with self._settings():
            blocks = self._ready(X, y, sample_weight).blocks
            if blocks.n_rows >= sums.rows:
                raise ValueError(f"cannot forget {blocks.n_rows} of {sums.rows} rows: some must be left.")
            left = sums - self._sums_of(blocks).beside(sums)
            require_squares(left.total(), sums.total())
            self.sums_ = left
        return self._outdated()

    def grow(self, n_components: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
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
        widest = self._summed
        if X is None or n_components <= widest.basis.n_components:
            self._require_sums("grow")
            if n_components > widest.basis.n_components:
                raise ValueError(
                    f"growing from {widest.basis.n_components} to {n_components} features needs the rows again: "
                    "grow(n_components, X, y)."
                )
            self.design_, self._widest = widest.truncated(n_components), widest
            return self._outdated()
        with self._settings():
            ready = self._ready(X, y, sample_weight, whole=True)
            self._solve_rows(widest.enlarged(n_components), ready, climbs=False)
        return self

    def _outdated(self) -> Any:
        """The sums have changed: the solution is made when it is needed, and probabilities need new rows."""
        self._stale, self._importances = True, None
        self._calibrate(None)
        return self

    def _ready(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        first: bool = False,
        classes: Any = None,
        whole: bool = False,
        open_journal: OpenJournal = lambda blocks: None,
    ) -> PreparedData:
        """Rows with coded targets and weights, in blocks."""
        how: dict[str, Any] = {"first": first, "classes": classes, "whole": whole, "open_journal": open_journal}
        if isinstance(X, MemoryBlocks):
            X, y, sample_weight = own_targets(X, y, sample_weight)
        elif is_mapped(X) and X.dtype not in self._dtypes():  # a block at a time, never converted as a whole
            X = MemoryBlocks(X, y, sample_weight).in_blocks()
            y = sample_weight = None
        if not isinstance(X, Blocks):
            return prepare_arrays(self, X, y, sample_weight, **how)
        own_targets(X, y, sample_weight)
        return prepare_blocks(self, X, **how)

    def _aligned(self, sums: FoldedMoments, other: Any) -> FoldedMoments:
        """Another model's sums, with targets measured as this one's are."""
        return sums

    def _sums_of(self, blocks: Blocks) -> FoldedMoments:
        return reduce_folds(self._problem(self._summed, blocks))

    def _require_sums(self, verb: str) -> FoldedMoments:
        """The sums of all rows; after a dual fit, which keeps its rows, they are made when first needed."""
        check_is_fitted(self)
        self._refuse_leave_one_out(verb)
        if self.sums_ is None and isinstance(self._solved.posterior, DualPosterior):
            self._require_room(self.design_.n_components)
            self.sums_ = reduce_folds(self._solved.posterior.problem)
        if self.sums_ is None:
            how = self._solved.solution.method
            raise ValueError(
                f"{verb} needs the sums of the fit, which were not kept: fit with {option('loss', 'squared')} and "
                f"{option('solver', 'cholesky')} (this was {how}), and save with {option('sums', True)}."
            )
        return self.sums_

    def _refuse_leave_one_out(self, verb: str) -> None:
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError(f"alpha='loo' needs a second pass over all rows, which {verb} does not have.")

    def _require_room(self, features: int) -> None:
        needed = gram_bytes(features)
        if needed > memory_budget():
            sizes = f"{needed / 1e9:.3g} GB, over the budget of {memory_budget() / 1e9:.3g} GB"
            raise ValueError(f"the sums of {features:,} features need {sizes}.")

    def _require_same_targets(self, other: Any) -> None:
        if self._outputs != other._outputs:
            raise ValueError("the two models were fitted with different numbers of outputs.")

    def _refresh(self) -> Fit:
        """The solution; after sums changed it is made when first needed."""
        check_is_fitted(self, "design_")
        if self._stale:
            self._refuse_leave_one_out("a model of sums")
            if self.max_coefficient is not None:
                raise ValueError("sums alone are solved without max_coefficient: fit again, or set it to None.")
            sums, design, widest = self.sums_, self.design_, self._summed
            assert sums is not None
            if design.n_components != widest.n_components:
                sums = sums.prefix(design.n_components)
            how = self._alpha(), self.fit_intercept, self._classifies, design.linear_columns
            with self._settings():
                self._solved = fit_sums(sums, design.map, design.prefix_scale(widest), *how)
            self._stale = False
            self._tell_doubts()
        return self._solved

    # ---- what the model itself provides ----

    @abstractmethod
    def _check_parameters(self) -> None: ...
    @abstractmethod
    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]: ...
    @abstractmethod
    def _fitted_design(self, ready: PreparedData) -> Design: ...
    @abstractmethod
    def _solve_rows(self, design: Design, ready: PreparedData, climbs: bool = True) -> None: ...
    @abstractmethod
    def _problem(self, design: Design, blocks: Blocks) -> Problem: ...
    @abstractmethod
    def _solver_for(self, design: Design, rows: int) -> tuple[Solver, str]: ...
    @abstractmethod
    def _loss(self) -> Loss: ...
    @abstractmethod
    def _tell_doubts(self) -> None: ...
    @abstractmethod
    def _calibrate(self, held_out: HeldOutScores | None) -> None: ...
    @abstractmethod
    def _alpha(self) -> Alpha: ...
    @abstractmethod
    def _dtypes(self) -> list[Any]: ...
    @abstractmethod
    def _settings(self) -> AbstractContextManager[Any]: ...
