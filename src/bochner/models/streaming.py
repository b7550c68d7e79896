"""Sums that add: rows can come in any number of calls, models can be merged, rows forgotten, features added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..bases import Basis
from ..blocks import Blocks, MemoryBlocks
from ..blocks.memory import is_mapped
from ..config import memory_budget
from ..moments import Moments
from .rows import OpenJournal, Ready, own_targets, ready_arrays, ready_blocks
from .ways.dual import DualPosterior
from .ways.online import go_on
from .ways.primal import fit_moments, reduce_moments
from .ways.problem import Fit, Problem
from .ways.solve import Way
from .ways.strategy import METHODS, solver_name


class Streaming(ABC):
    """The verbs of a model that keeps its sums. After a change the solution is made when it is first needed."""

    alpha: Any
    solver: Any
    fit_intercept: bool
    max_coefficient: float | None
    basis_: Basis
    moments_: Moments | None
    _classifies = False
    _outputs: Any
    _solved: Fit
    _stale: bool
    _widest: Basis | None = None  # the basis whose sums are at hand, if the model uses only its first columns

    @property
    def _summed(self) -> Basis:
        """The basis whose sums are at hand."""
        return self._widest or self.basis_

    def _add_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Any:
        """partial_fit: the first call settles the basis (and the precision), later ones only add their sums."""
        first = not hasattr(self, "basis_")
        self._check_parameters()
        if solver_name(self.solver) in METHODS:
            return self._go_on(X, y, sample_weight, classes)
        self._refuse_leave_one_out("partial_fit")
        before = None if first else self._require_sums("partial_fit")
        with self._settings():
            ready = self._ready(X, y, sample_weight, first=first, classes=classes)
            if first:
                basis, reason = self._fitted_basis(ready)
                self._require_room(int(basis.n_components))
                self.basis_, self.precision_reason_ = basis, reason
            part = self._moments_of(ready.blocks)
        self.moments_ = part if before is None else before + part
        return self._outdated()

    def _go_on(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Any:
        """partial_fit by steps on batches; after a fit it begins where that ended."""
        first = not hasattr(self, "basis_")
        with self._settings():
            ready = self._ready(X, y, sample_weight, first=first, classes=classes)
            if first:
                basis, self.precision_reason_ = self._fitted_basis(ready)
            else:
                basis = self.basis_
            problem, way = self._problem(basis, ready.blocks), self._way(basis, ready.blocks.n_rows)
            before = None if first else self._refresh()
            self.basis_, fit, judged = go_on(problem, way, before)
        self._solved = fit
        self.moments_, self._widest, self._stale = None, None, False
        self._rows = 0 if fit.training is None else fit.training.rows
        self._calibrate(judged)
        return self

    def merge(self, other: Any) -> Any:
        """Add the rows that another model of the same basis was fitted to; exact for integer features."""
        if type(self) is not type(other):
            raise ValueError(f"only models of one kind merge; got {type(self).__name__} and {type(other).__name__}.")
        mine, others = self._require_sums("merge"), other._require_sums("merge")
        if self._summed.identity() != other._summed.identity():
            raise ValueError(
                "only models with identical fitted bases merge (same seed, and the same numbers for bandwidth, scale "
                "and radius): give random_state and bandwidth as numbers."
            )
        self._require_same_targets(other)
        self.moments_ = mine + self._aligned(others, other)
        return self._outdated()

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Take rows away again that were fitted before; for integer features no trace of them is left."""
        moments = self._require_sums("forget")
        with self._settings():
            blocks = self._ready(X, y, sample_weight).blocks
            if blocks.n_rows >= moments.rows:
                raise ValueError(f"cannot forget {blocks.n_rows} of {moments.rows} rows: some must be left.")
            self.moments_ = moments - self._moments_of(blocks)
        return self._outdated()

    def grow(self, n_components: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
        """The model of n_components features of the same streams.

        Fewer than were ever fitted come from the sums at hand, so a learning curve costs one Gram matrix. More need the
        rows again, as X and y.
        """
        check_is_fitted(self)
        widest = self._summed
        if X is None or n_components <= widest.n_components:
            self._require_sums("grow")
            if n_components > widest.n_components:
                raise ValueError(
                    f"growing from {widest.n_components} to {n_components} features needs the rows again: "
                    "grow(n_components, X, y)."
                )
            self.basis_, self._widest = widest.truncated(n_components), widest
            return self._outdated()
        with self._settings():
            ready = self._ready(X, y, sample_weight, whole=True)
            self._solve_rows(widest.enlarged(n_components), ready, climbs=False)
        return self

    def _outdated(self) -> Any:
        """The sums have changed: the solution is made when it is needed, and probabilities need new rows."""
        self._stale = True
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
    ) -> Ready:
        """Rows with coded targets and weights, in blocks."""
        how: dict[str, Any] = {"first": first, "classes": classes, "whole": whole, "open_journal": open_journal}
        if isinstance(X, MemoryBlocks):
            X, y, sample_weight = own_targets(X, y, sample_weight)
        elif is_mapped(X) and X.dtype not in self._dtypes():  # a block at a time, never converted as a whole
            X = MemoryBlocks(X, y, sample_weight).map(lambda block: block)
            y = sample_weight = None
        if not isinstance(X, Blocks):
            return ready_arrays(self, X, y, sample_weight, **how)
        own_targets(X, y, sample_weight)
        return ready_blocks(self, X, **how)

    def _aligned(self, moments: Moments, other: Any) -> Moments:
        """Another model's sums, with targets measured as this one's are."""
        return moments

    def _moments_of(self, blocks: Blocks) -> Moments:
        return reduce_moments(self._problem(self._summed, blocks))

    def _require_sums(self, verb: str) -> Moments:
        """The sums of all rows; after a dual fit, which keeps its rows, they are made when first needed."""
        check_is_fitted(self)
        self._refuse_leave_one_out(verb)
        if self.moments_ is None and isinstance(self._solved.posterior, DualPosterior):
            self._require_room(int(self.basis_.n_components))
            self.moments_ = reduce_moments(self._solved.posterior.problem)
        if self.moments_ is None:
            how = self._solved.solution.method
            raise ValueError(
                f"{verb} needs the sums of the fit, which are not at hand: fit with loss='squared' and "
                f"solver='cholesky' (this was {how}), and save with sums=True."
            )
        return self.moments_

    def _refuse_leave_one_out(self, verb: str) -> None:
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError(f"alpha='loo' needs a second pass over all rows, which {verb} does not have.")

    def _require_room(self, features: int) -> None:
        needed = 24 * features**2
        if needed > memory_budget():
            sizes = f"{needed / 1e9:.3g} GB, over the budget of {memory_budget() / 1e9:.3g} GB"
            raise ValueError(f"the sums of {features:,} features need {sizes}.")

    def _require_same_targets(self, other: Any) -> None:
        if self._outputs != other._outputs:
            raise ValueError("the two models have different numbers of targets.")

    def _refresh(self) -> Fit:
        """The solution; after sums changed it is made when first needed."""
        check_is_fitted(self, "basis_")
        if self._stale:
            self._refuse_leave_one_out("a model of sums")
            if self.max_coefficient is not None:
                raise ValueError("sums at hand are solved without bounds: fit again, or set max_coefficient=None.")
            moments = self.moments_
            assert moments is not None
            m, widest = int(self.basis_.n_components), int(self._summed.n_components)
            scale = float(self.basis_.scale_)
            if m != widest:
                moments = moments.prefix(m)
                if not moments.is_exact:  # float features carry 1/sqrt(number of columns) in themselves
                    scale *= float(np.sqrt(widest / m))
            with self._settings():
                self._solved = fit_moments(moments, scale, self._alpha(), self.fit_intercept, "from sums at hand")
                self._solved.posterior.forget()
            self._stale = False
        return self._solved

    # ---- what the model itself provides ----

    @abstractmethod
    def _check_parameters(self) -> None: ...
    @abstractmethod
    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]: ...
    @abstractmethod
    def _fitted_basis(self, ready: Ready) -> tuple[Basis, str]: ...
    @abstractmethod
    def _solve_rows(self, basis: Basis, ready: Ready, climbs: bool = True) -> None: ...
    @abstractmethod
    def _problem(self, basis: Basis, blocks: Blocks) -> Problem: ...
    @abstractmethod
    def _way(self, basis: Basis, rows: int) -> Way: ...
    @abstractmethod
    def _calibrate(self, judged: Any) -> None: ...
    @abstractmethod
    def _alpha(self) -> Any: ...
    @abstractmethod
    def _dtypes(self) -> list[Any]: ...
    @abstractmethod
    def _settings(self) -> AbstractContextManager[Any]: ...
