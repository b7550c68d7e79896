"""`TableEncoder`: frames and arrays of mixed columns as numbers, behind scikit-learn's face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from ..lazy import by_partitions
from ..typing import Column, MatrixLike, RandomStateLike, VectorLike
from ..validation import require_choice, require_integer
from .columns import columns_of, is_frame
from .encodings import METHODS, CategoryEncoding, Encoding, date_encoding, number_encoding
from .learned import LearnedTable, rows_of
from .saving import restored, state_of
from .settling import category_encoding, chosen_outputs
from .targets import TYPES, out_of_fold


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn frames (pandas, polars, Arrow) and arrays of numbers, categories and dates into numbers.

    What a column holds is told by its type and, for text, by what it says: text of which 95 % are numbers or ISO dates
    is taken for that. Whole numbers with few values stay numbers, unless the frame says that they are categories.
    Missing numbers take the median, and one more column says where something is missing. Constant columns are
    dropped; `report_` says what was done and why.

    Parameters
    ----------
    numbers : {'robust', 'normal', 'standard', 'piecewise', None}, default='robust'
        How numbers are scaled: z / sqrt(1 + (z/3)^2) for z in robust spreads about the median; normal scores of ranks;
        mean 0 and variance 1; piecewise linear columns between quantiles; or not at all. The first two and
        'piecewise' are bounded, however far out a number is.
    categories : {'auto', 'onehot', 'hash', 'target'}, default='auto'
        How categories become numbers: a column of 0 and 1 for each; a few hashed columns; their effect on the target,
        shrunk towards none. 'auto' is the first up to `max_onehot` of them, and the other two together beyond.
    max_onehot : int, default=32
        Most categories of a column that get a column each by 'auto'.
    hash_columns : int, default=16
        Number of hashed columns.
    pieces : int, default=8
        Number of columns that a number becomes by 'piecewise'.
    smoothing : 'auto' or float, default='auto'
        How many rows the effect of a category is drawn towards none by; 'auto' is the variance within categories over
        that between them.
    target_type : {'auto', 'continuous', 'classes'}, default='auto'
        What y holds; 'auto' takes text, truth values and at most 20 different whole numbers for classes.
    categorical_features : array-like, default=None
        Columns that hold categories whatever they look like: names, indices, or a mask.
    cv : int, default=5
        Number of folds for `fit_transform`, where the effect of a row's category comes from the other folds.
    random_state : int, RandomState instance or None, default=0
        Decides which row is in which fold.

    Attributes
    ----------
    report_ : list of str
        What was done with each column, and why.
    column_of_ : ndarray of shape (n_columns_out,)
        The index of the column of X that each column came from.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, if it was a frame.

    Notes
    -----
    `fit(X, y).transform(X)` is not `fit_transform(X, y)` where effects of categories are used: the former gives each
    row effects that have seen its own target, and belongs to new rows.

    Examples
    --------
    >>> import pandas
    >>> from bochner import TableEncoder
    >>> frame = pandas.DataFrame({"age": [20.0, 40.0, None], "city": ["Oslo", "Rome", "Oslo"], "unit": "m"})
    >>> encoder = TableEncoder(numbers="standard").fit(frame)
    >>> encoder.transform(frame)
    array([[-1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'city=Oslo', 'city=Rome']
    >>> print(encoder.report_[2])
    unit: dropped: all its values are 'm'
    """

    def __init__(
        self,
        numbers: str | None = "robust",
        categories: str = "auto",
        *,
        max_onehot: int = 32,
        hash_columns: int = 16,
        pieces: int = 8,
        smoothing: str | float = "auto",
        target_type: str = "auto",
        categorical_features: Sequence[str | int | bool] | np.ndarray | None = None,
        cv: int = 5,
        random_state: RandomStateLike = 0,
    ) -> None:
        self.numbers = numbers
        self.categories = categories
        self.max_onehot = max_onehot
        self.hash_columns = hash_columns
        self.pieces = pieces
        self.smoothing = smoothing
        self.target_type = target_type
        self.categorical_features = categorical_features
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    # ---- learning ----

    def fit(self, X: MatrixLike, y: VectorLike | None = None) -> TableEncoder:
        """Learn how the columns of a table become numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, which effects of categories are learned from.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._forget()
        self._learn(X, y)
        return self

    def partial_fit(self, X: MatrixLike, y: VectorLike | None = None) -> TableEncoder:
        """Learn from more rows. What a column holds is decided by the first call.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets, if the first call had any.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: MatrixLike, y: VectorLike | None = None) -> np.ndarray:
        """Fit, and turn the same rows into numbers, no row by its own target.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets. The effect of a row's category on them comes from the rows of the other folds.

        Returns
        -------
        ndarray of shape (n_samples, n_columns_out)
            The numbers.
        """
        self._forget()
        columns, targets = self._learn(X, y)
        return self._encode(columns, targets)

    def merge(self, other: TableEncoder) -> TableEncoder:
        """Learn all that another encoder, of the same parameters and columns, has learned from other rows.

        Parameters
        ----------
        other : TableEncoder
            A fitted encoder. It stays as it is.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        self._learned.merge(other._learned)
        self._settle(self._learned)
        return self

    def rescaled(self, numbers: str | None) -> TableEncoder:
        """Return an encoder that has learned the same, and scales numbers in another way.

        Parameters
        ----------
        numbers : {'robust', 'normal', 'standard', 'piecewise', None}
            How numbers are scaled.

        Returns
        -------
        TableEncoder
            The other encoder. What both have learned is shared: neither is to learn any more.
        """
        check_is_fitted(self)
        other = clone(self).set_params(numbers=numbers)
        other._check_parameters()
        other._remember(self._learned.names, hasattr(self, "feature_names_in_"))
        other._settle(self._learned)
        return other

    def _forget(self) -> None:
        for name in ("_learned", "_encodings", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _learn(self, X: MatrixLike, y: VectorLike | None) -> tuple[list[Any], np.ndarray | None]:
        """Take in rows; their columns as they were read, and their targets as columns."""
        self._check_parameters()
        first = not hasattr(self, "_learned")
        columns = self._columns(X, reset=first)
        table = LearnedTable.begin(self._input_names(), columns, self._categorical()) if first else self._learned
        read = table.read(columns)
        targets = table.target_columns(y, rows_of(read), self.target_type, first)
        table.add(read, targets)
        self._settle(table)
        return read, targets

    def _check_parameters(self) -> None:
        if self.numbers is not None:
            require_choice("numbers", self.numbers, METHODS)
        require_choice("categories", self.categories, CategoryEncoding.kinds)
        require_choice("target_type", self.target_type, ("auto", *TYPES))
        for name, least in (("max_onehot", 0), ("hash_columns", 1), ("pieces", 1), ("cv", 2)):
            require_integer(name, getattr(self, name), least)
        given = self.smoothing
        if given != "auto" and (isinstance(given, str | bool) or not 0 <= given < np.inf):
            raise ValueError(f"smoothing must be 'auto' or a number of at least 0; got {self.smoothing!r}.")

    def _columns(self, X: MatrixLike, reset: bool) -> list[Column]:
        """The columns of a table, whose names and number are checked as scikit-learn does."""
        if scipy.sparse.issparse(X):
            raise TypeError("Sparse data was passed for X, but dense data is required: use X.toarray().")
        if is_frame(X) and len(X) < 1:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by TableEncoder.")
        table = X if is_frame(X) else check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
        validate_data(self, table, reset=reset, skip_check_array=True)
        return columns_of(table)

    def _remember(self, names: list[str], is_named: bool = True) -> None:
        """The columns of a table that is not at hand."""
        self.n_features_in_ = len(names)
        if is_named:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _categorical(self) -> set[int]:
        """The columns that `categorical_features` names, by number."""
        given = [] if self.categorical_features is None else np.asarray(self.categorical_features).ravel().tolist()
        number, names = self.n_features_in_, self._input_names()
        if given and all(isinstance(one, bool) for one in given):
            if len(given) != number:
                raise ValueError(f"categorical_features is a mask of {len(given)} columns; X has {number}.")
            return {k for k, one in enumerate(given) if one}
        for one in given:
            if one not in names if isinstance(one, str) else not (isinstance(one, int) and -number <= one < number):
                raise ValueError(f"categorical_features has {one!r}, which is no column of X.")
        return {names.index(one) if isinstance(one, str) else one % number for one in given}

    def _settle(self, table: LearnedTable) -> None:
        """Decide what becomes of each column, by all that was seen."""
        self._encodings = [self._encoding(table, k) for k in range(len(table.names))]
        self._learned = table
        self.report_ = [f"{name}: {e.reason}" for name, e in zip(table.names, self._encodings, strict=True)]
        self.column_of_ = np.repeat(np.arange(len(table.names)), [e.width for e in self._encodings])

    def _encoding(self, table: LearnedTable, k: int) -> Encoding:
        kind, found = table.kinds[k][0], table.statistics[k]
        if kind == "category":
            how = (self.categories, self.max_onehot, self.hash_columns, self.smoothing)
            return category_encoding(table.names[k], found, table.targets, *how)
        if kind == "date":
            return date_encoding(found, self.numbers, self.pieces)
        return number_encoding(found, self.numbers, self.pieces, "truth values" if kind == "boolean" else "numbers")

    # ---- encoding ----

    @by_partitions
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Turn rows into numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            A table with the columns of the fit. Categories that were not there have zeros, missing numbers the median.

        Returns
        -------
        ndarray of shape (n_samples, n_columns_out)
            The numbers.
        """
        check_is_fitted(self)
        return self._encode(self._learned.read(self._columns(X, reset=False)))

    def _encode(self, columns: list[Any], targets: np.ndarray | None = None) -> np.ndarray:
        """Columns as numbers; by the other folds where the rows' own targets are given."""
        rows = rows_of(columns)
        out = np.zeros((rows, len(self.column_of_)))
        folds = None if targets is None else check_random_state(self.random_state).permutation(rows) % self.cv
        place = 0
        for column, encoding in zip(columns, self._encodings, strict=True):
            part = out[:, place : place + encoding.width]
            if folds is not None and targets is not None and isinstance(encoding, CategoryEncoding):
                encoding.write(column, part, self._effects_by_others(column, encoding, targets, folds))
            else:
                encoding.write(column, part)
            place += encoding.width
        return out

    def _effects_by_others(
        self, column: Any, encoding: CategoryEncoding, targets: np.ndarray, folds: np.ndarray
    ) -> np.ndarray | None:
        if not encoding.outputs or self._learned.targets is None:
            return None
        found, chosen = encoding.statistics, targets[:, chosen_outputs(self._learned.targets)]
        return out_of_fold(found.slots(column), chosen, folds, len(found.counts), self.smoothing)

    def _input_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{k}" for k in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def get_feature_names_out(self, input_features: Sequence[str] | np.ndarray | None = None) -> np.ndarray:
        """Return the names of the columns that come out.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X; None is `feature_names_in_`, or x0, x1, ...

        Returns
        -------
        ndarray of str
            The names: 'age', 'city=Oslo', 'city effect', 'city=hash 3', 'age is missing' and the like.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        out: list[str] = []
        seen: set[str] = set()
        for name, encoding in zip(given, self._encodings, strict=True):
            for one in encoding.names(str(name)):
                while one in seen:  # a column may be called what another one becomes
                    one += "'"
                seen.add(one)
                out.append(one)
        return np.array(out, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

    # ---- files ----

    def to_state(self) -> dict[str, Any]:
        """Return what a file keeps: parameters and all that was learned, in plain values and arrays.

        Returns
        -------
        dict
            Values by name; `from_state` makes the same encoder of them, which can go on learning.
        """
        check_is_fitted(self)
        return state_of(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TableEncoder:
        """Make an encoder of what a file kept, and refuse what no fit gives.

        Parameters
        ----------
        state : dict
            What `to_state` returned.

        Returns
        -------
        TableEncoder
            The fitted encoder.
        """
        return restored(cls, state)
