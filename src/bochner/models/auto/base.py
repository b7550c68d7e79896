"""What the two models without settings share: encoding, the search, the stack, and what is told of them."""

from __future__ import annotations

import os
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ...bases.heuristics import draw_seed
from ...blocks import Block, Blocks, rows_per_block
from ...blocks.base import RowsLike
from ...config import get_config
from ...ops.devices import require_device
from ...tables.columns import is_frame, target_values
from ...tables.several_encoders import EncodersRecipe, recipe_of_several
from ...typing import Frame, VectorLike
from ...validation import FitWarning, require_finite, require_integer, require_positive
from ..checks import forget_columns
from ..fitting import Limited
from ..saving import write
from ..targets import TargetEncoder
from .chains import CHAINS, MORE_CHAINS, ONE_UNIT, Chain
from .encoding import Tables
from .gathering import Reading, blocks_to_predict, gather
from .pictures import pixels_of, require_shape
from .placing import HOST, place_of
from .saving import from_state, to_state
from .search import Clock, Search, Trial
from .stacking import Stack, stack_weights

if TYPE_CHECKING:
    import altair
    import pandas


Encoded = Callable[[str | None], np.ndarray]
LIKE = 20.0  # times at most by which spreads of columns differ that share a unit
MANY_COLUMNS = 16  # from which columns may share one


class AutoModel(BaseEstimator):
    """What the regressor and the classifier without settings share."""

    budget: float
    max_trials: int | None
    random_state: Any
    n_jobs: int | None
    device: str | None
    verbose: int
    image_shape: tuple[int, ...] | None
    _targets: TargetEncoder  # there after a fit
    _stack: Stack
    _encoders: dict[str, Any]  # by how they scale numbers
    _trials: list[Trial]
    recipe_: EncodersRecipe  # if columns have names

    @abstractmethod
    def _encoder(self) -> TargetEncoder:
        """The encoder of targets, before any are known."""

    @abstractmethod
    def _learn_from(self, held_out: np.ndarray, codes: np.ndarray, encoded: Encoded) -> None:
        """What scores of rows left out teach: the expected error, and how far to trust a prediction.

        `encoded` gives those rows, by how numbers are scaled.
        """

    def fit(self, X: RowsLike, y: VectorLike | None = None, *, target: str | None = None) -> Self:
        """Search for the best model within the budget, and fit it to all rows.

        Parameters
        ----------
        X : frame, array-like of shape (n_samples, n_features) or Blocks
            The rows: numbers, categories, dates, truth values, with missing values or without. Blocks, which
            `bochner.read` gives, hold the targets too; of more rows than find room in memory, a sample is taken.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; None if `target` names them.
        target : str, default=None
            Name of the column of the frame X that holds the targets, in place of y.

        Returns
        -------
        object
            The model itself. Interrupted (Ctrl-C), it is made of what was found so far.
        """
        self._check_parameters()
        clock = Clock(float(self.budget), self.max_trials)
        forget_columns(self)
        gathered = gather(X, y, target)
        shape = self._picture_shape(gathered.X)
        X, y = self._checked(gathered.X if shape is None else pixels_of(gathered.X, shape), gathered.y)
        encoder = self._encoder()
        encoder.check(y)
        self._targets = encoder.learn(encoder.summarize(y, None))
        Y = np.asarray(self._targets.coding().code(y), dtype=np.float64)
        with Limited(self.n_jobs, 0, 1):
            tables = Tables(X, y, Y - Y.mean(axis=0), shape)
            self._encoders = tables.encoders
            search = self._search(tables, clock)
            self._stacked(search, Y)
            self._explain_columns(tables)
        self._keep_encoders(gathered.reading)
        return self

    def _checked(self, X: RowsLike, y: VectorLike | None) -> tuple[np.ndarray | Frame, np.ndarray]:
        """Two rows or more, with a target for each of them; encoders check what columns hold."""
        if is_frame(X) and len(X) < 2:
            raise ValueError(f"X has n_samples={len(X)}, and two are needed: one to learn from, one to judge by.")
        rows: np.ndarray | Frame = (
            X if is_frame(X)
            else check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=2, estimator=self)
        )  # fmt: skip
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give y, or target, the "
                "column of a frame that holds it."
            )
        y = target_values(y)
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported: y.")
        if y.dtype.kind == "f":
            require_finite(y, "y")
        check_consistent_length(rows, y)
        return rows, y

    def _picture_shape(self, X: object) -> tuple[int, ...] | None:
        """The shape of pictures, which rows of two dimensions or more have by themselves; None for tables."""
        if self.image_shape is not None:
            return require_shape(self.image_shape)
        shape: tuple[int, ...] = getattr(X, "shape", ())
        return require_shape(shape[1:]) if len(shape) in (3, 4) else None

    def _keep_encoders(self, reading: Reading) -> None:
        """Those that members need, and one that knows the columns; of named columns, the recipe by which to read."""
        used = {str(member.setting.numbers) for member in self._stack.members} - {"robust"}
        used |= {"pixels"} & set(self._encoders)
        self._encoders = {name: self._encoders[name] for name in ["robust", *sorted(used)]}
        if hasattr(self, "feature_names_in_"):
            self.recipe_ = recipe_of_several(self._encoders.values(), *reading)

    def _search(self, tables: Tables, clock: Clock) -> Search:
        self._remember_columns()
        if not tables("robust").shape[1]:
            raise ValueError("no column of X says anything: all are constant.")
        show = Show(bool(self.verbose) or get_config()["progress"], clock)
        place = place_of(self.device)
        search = Search(tables, clock, show, draw_seed(self.random_state), place)
        chains: tuple[Chain, ...] = CHAINS
        if tables.shape is not None:
            chains = ONE_UNIT
        elif one_unit(tables(None)):
            chains = (CHAINS[0], *ONE_UNIT, *CHAINS[1:])
        if tables.shape is None and (search.whole or place is not HOST):
            chains = (*chains, *MORE_CHAINS)
        try:
            search.run(chains)
        except KeyboardInterrupt:
            if not search.members:
                raise
            warnings.warn(f"interrupted: the best of {clock.done} trials is kept.", FitWarning, stacklevel=3)
        finally:
            show.close()
        return search

    def _stacked(self, search: Search, Y: np.ndarray) -> None:
        level = Y.mean(axis=0)
        rows = search.rows("robust")
        judged, members = rows.judged, search.members
        errors = np.array([member.error for member in members])
        weights = stack_weights([member.held_out for member in members], rows.Y[judged], errors)
        held_out = sum(w * member.held_out for w, member in zip(weights, members, strict=True))
        if rows.error_of(np.asarray(held_out)) > members[0].error:  # plain ridge, the floor
            weights, held_out = np.eye(len(members))[0], members[0].held_out
        used = np.flatnonzero(weights)
        if not len(used):  # then the mean is the best that is known
            used = np.array([int(np.argmin(errors))])
        self._stack = Stack([members[m].expansion for m in used], weights[used], level)
        places = {int(m): float(weights[m]) for m in used}
        self._trials = search.trials
        self._shares = [0.0 if t.number is None else places.get(t.number, 0.0) for t in search.trials]
        self.cv_error_ = rows.error_of(np.asarray(held_out))
        self._rows, self._judged = len(Y), int(judged.sum())
        self._learn_from(np.asarray(held_out) + level, Y[judged], lambda numbers: search.tables(numbers)[judged])

    def _explain_columns(self, tables: Tables) -> None:
        """Importances: squared slopes of the members times the variance of the columns, added up by input column."""
        found = np.zeros(self.n_features_in_)
        for weight, member in zip(self._stack.weights, self._stack.members, strict=True):
            numbers = member.setting.numbers
            X, of = tables(numbers), self._encoders[str(numbers)].column_of_
            at = np.random.default_rng(0).permutation(len(X))[: member.slopes_at]
            gradients = place_of(self.device).gradients(member, X[at])
            slopes = np.mean(np.sum(gradients**2, axis=2), axis=0) * np.var(X, axis=0)
            found += weight * np.bincount(of, slopes, minlength=len(found))
        total = float(found.sum())
        self.feature_importances_ = found / total if total > 0 else np.full(len(found), 1.0 / len(found))

    def _remember_columns(self) -> None:
        encoder = self._encoders["robust"]
        self.n_features_in_ = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_

    def _check_parameters(self) -> None:
        require_positive("budget", self.budget)
        if self.max_trials is not None:
            require_integer("max_trials", self.max_trials, 1)
        require_device(self.device)

    def _scores(self, X: object) -> np.ndarray:
        check_is_fitted(self)
        return self._of_rows(X, self._scores_of)

    def _scores_of(self, encoded: Encoded) -> np.ndarray:
        """Scores of encoded rows, made on the device that was asked for."""
        return self._stack.scores(encoded, place_of(self.device))

    def _of_rows(self, X: object, function: Callable[[Encoded], np.ndarray]) -> np.ndarray:
        """What a function says of encoded rows, block by block where they come in blocks."""
        with Limited(self.n_jobs, 0, 1):
            if not isinstance(X, Blocks):
                return function(self._encoded(X))
            blocks = blocks_to_predict(X, getattr(self, "recipe_", None))
            rows = rows_per_block(blocks.n_columns + self.width)
            return np.concatenate([function(self._encoded(b)) for b in blocks.walk(rows, title="predictions")])

    @property
    def predicts_several(self) -> bool:
        """Whether a prediction is a row of numbers, not one."""
        check_is_fitted(self)
        return bool(getattr(self._targets, "shape", ()))

    @property
    def width(self) -> int:
        """Kernel values that the prediction of a row takes at a time."""
        check_is_fitted(self)
        return max(1, *(len(member.centres) for member in self._stack.members))

    def _encoded(self, X: object) -> Encoded:
        """Rows as encoders make them, by how these scale numbers; in a block of a table all of them have done so."""
        if isinstance(X, Block) and hasattr(self, "recipe_"):
            tables = dict(zip(self._encoders, self.recipe_.split(X.X), strict=True))
        else:
            X, tables = X.X if isinstance(X, Block) else X, {}
            if "pixels" in self._encoders:
                X = self._encoders["pixels"].transform(X)

        def encoded(numbers: str | None) -> np.ndarray:
            name = str(numbers)
            if name not in tables:
                tables[name] = self._encoders[name].transform(X)
            return tables[name]

        return encoded

    @property
    def leaderboard_(self) -> pandas.DataFrame | list[dict[str, Any]]:
        """What was tried, the best first: a pandas frame, or a list of dictionaries where pandas is not installed."""
        lines = self.leaderboard_lines()
        try:
            import pandas
        except ImportError:
            return lines
        return pandas.DataFrame(lines)

    def leaderboard_lines(self) -> list[dict[str, Any]]:
        """Return the lines of `leaderboard_` as dictionaries.

        Returns
        -------
        list of dict
            What was tried; models that were fitted to all rows come first, the best before the others.
        """
        check_is_fitted(self)
        lines: list[dict[str, Any]] = [
            {
                "model": "ridge" if not trial.centres else trial.setting.described(), "rows": trial.rows,
                "centres": trial.centres, "error": trial.error, "weight": share, "seconds": round(trial.seconds, 3),
            }
            for trial, share in zip(self._trials, self._shares, strict=True)
        ]  # fmt: skip
        return sorted(lines, key=lambda line: (-line["rows"], line["error"]))

    def plot_leaderboard(self, most: int = 20) -> altair.Chart:
        """Draw the errors of what was tried; those that the stack is made of are darker, by their weight.

        Parameters
        ----------
        most : int, default=20
            How many of the best to draw.

        Returns
        -------
        altair.Chart
            The chart, which notebooks show and `chart.save("leaderboard.html")` writes. Needs altair.
        """
        from .leaderboard import leaderboard_chart

        require_integer("most", most, 1)
        return leaderboard_chart(self.leaderboard_lines()[:most])

    def explain_fit(self) -> str:
        """Say in words what was tried, what the model is made of, and how good it is.

        Returns
        -------
        str
            One line for each decision.
        """
        check_is_fitted(self)
        lines = [
            f"{type(self).__name__}: {self._rows:,} rows, {self.n_features_in_} columns, {len(self._trials)} trials",
            f"expected: {self._expected()} (by {self._judged:,} rows left out)",
        ]
        for k, (weight, member) in enumerate(zip(self._stack.weights, self._stack.members, strict=True)):
            what = f"{member.setting.described()}, {len(member.centres):,} centres, alpha {member.setting.alpha:.1g}"
            lines.append(f"member {k + 1}: {weight:.2f} of {what if len(member.centres) else 'ridge'}")
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        order = np.argsort(-self.feature_importances_)[:5]
        lines.append("columns: " + ", ".join(f"{names[k]} {self.feature_importances_[k]:.0%}" for k in order))
        return "\n".join(lines)

    @abstractmethod
    def _expected(self) -> str:
        """The error to expect, in words."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `bochner.load` reads.

        The file holds the rows that are centres of kernels: predictions are made from them.

        Parameters
        ----------
        path : str or path-like
            Where to write. The file appears whole or not at all.
        """
        check_is_fitted(self)
        write(self, path, to_state(self))

    def to_onnx(self, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
        """Refuse: a graph has no operation for what the encoders of columns do.

        Parameters
        ----------
        path : str or path-like
            Ignored.
        dtype : {'float32', 'float64'}, default='float32'
            Ignored.
        """
        raise ValueError(
            f"a {type(self).__name__} encodes the columns of tables in ways that an ONNX graph has no operations for: "
            "save it by model.save(path), or export a RandomFeature or KernelRidge model."
        )

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def one_unit(X: np.ndarray) -> bool:
    """Whether columns may share a unit: there are many, and their spreads are alike."""
    if X.shape[1] < MANY_COLUMNS:
        return False
    spread = np.ptp(X, axis=0)
    spread = spread[spread > 0]
    return bool(len(spread) and spread.max() <= LIKE * np.median(spread))


class Show:
    """One line on the error stream: trials, the best error so far, seconds left."""

    def __init__(self, visible: bool, clock: Clock) -> None:
        self.visible, self.clock, self.best = visible, clock, np.inf

    def __call__(self, trial: Trial) -> None:
        self.best = min(self.best, trial.error)
        if self.visible:
            left = f"{max(self.clock.left(), 0.0):.0f} s left" if self.clock.trials is None else ""
            sys.stderr.write(f"\r{self.clock.done + 1} trials  best error {self.best:.4g}  {left}   ")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.visible:
            sys.stderr.write("\n")
