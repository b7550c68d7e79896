"""Several bases side by side, `RandomFourier(2000) + RandomCells(4096)`: the scikit-learn face of `maps/union.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Rows
from ..fields import LARGEST, either, names, nothing, number, require_fields, several, text, whole
from ..maps import PRECISIONS, Union
from ..maps.union import is_sparse
from ..typing import RandomStateLike
from ..validation import require_choice, require_finite
from .base import MOST_COLUMNS, Basis, Bounds
from .checking import checked_rows, laid_in_rows
from .heuristics import draw_seed

APART = 1_000_003  # between the seeds of parts: of one kind they must not draw the same
MOST = 64  # parts
PART = re.compile(r"basis_(\d+)(?:__(.*))?")


class BasisUnion(Basis):
    """Several bases side by side, whose kernel is a weighted sum of theirs.

    `basis + other` makes one. A linear model of such features penalises the columns of each part by itself: those of a
    part of weight s by 1 / s^2 of the penalty. Features of dense and sparse parts are CSR if an eighth of all columns
    is filled, or less. Parts that are unions are taken apart.

    Parameters
    ----------
    bases : list of Basis
        The parts. Their parameters are reached as `basis_0__bandwidth` and so on, and they themselves as `basis_0`.
    weights : list of float or 'auto', default='auto'
        Weight s of each part. With 'auto' a model chooses them by rows left out; without targets they are all 1.
    precision : {'float32', 'float64', 'int8', 'int14'}, default=None
        Number type of the features of all parts. None keeps that of X. 'int8' and 'int14' compute in integers alone.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the random draws, from which those of parts are made that have none of their own. An int gives the same
        features on every machine; None draws a seed.

    Attributes
    ----------
    n_components : int
        Number of columns: the sum of those of the parts.
    bases_ : list of Basis
        The parts, fitted.
    weights_ : ndarray of shape (n_parts,)
        Weight of each part.
    seed_ : int
        Seed of the draws; with the other fitted numbers it determines the features.
    map_ : FeatureMap
        The feature map: small, immutable, and callable as `map_(X)`.
    scale_ : float or ndarray of shape (n_components,)
        Factor of the columns after which `<phi(x), phi(z)> ~ k(x, z)`: weights of parts, and scales of integers.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X; only if X is a frame whose column names are all strings.

    See Also
    --------
    bochner.maps.Union : The same for fitted maps.

    Examples
    --------
    >>> from bochner import RandomCells, RandomFourier
    >>> both = RandomFourier(20) + RandomCells(64, depth=3)
    >>> both.set_params(basis_0__kernel="laplacian", random_state=0).fit([[0.0], [1.0], [3.0]]).transform([[2.0]]).shape
    (1, 84)
    """

    def __init__(
        self,
        bases: Sequence[Basis],
        *,
        weights: str | Sequence[float] | np.ndarray = "auto",
        precision: str | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.bases = bases
        self.weights = weights
        self.precision = precision
        self.random_state = random_state

    # ---- parts ----

    @property
    def parts(self) -> list[Basis]:
        """The parts as they were given, unions among them taken apart."""
        if not isinstance(self.bases, Sequence) or not 0 < len(self.bases) <= MOST:
            raise ValueError(f"bases must be a list of one to {MOST} bases; got {self.bases!r}.")
        found: list[Basis] = []
        for basis in self.bases:
            if not isinstance(basis, Basis):
                raise ValueError(f"bases must be bochner's bases; got {basis!r}.")
            found += basis.parts if isinstance(basis, BasisUnion) else [basis]
        return found

    @property
    def chooses_weights(self) -> bool:
        """Whether a model is to choose the weights."""
        return isinstance(self.weights, str) and len(self.parts) > 1

    def _given_weights(self) -> np.ndarray:
        """Weights of all parts."""
        inner = [basis._given_weights() if isinstance(basis, BasisUnion) else np.ones(1) for basis in self.bases]
        if isinstance(self.weights, str):
            require_choice("weights", self.weights, ["auto"])
            return np.concatenate(inner)
        given = np.asarray(self.weights, dtype=np.float64)
        if given.shape != (len(inner),):
            raise ValueError(f"weights must be {len(inner)} numbers, one for each basis; its shape is {given.shape}.")
        require_finite(given, "weights")
        if not (given > 0).all():
            raise ValueError(f"weights must be positive; got {given.tolist()}.")
        return np.concatenate([weight * weights for weight, weights in zip(given, inner, strict=True)])

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of columns: the sum of those of the parts."""
        return sum(int(part.n_components) for part in self.parts)

    @property
    def entries(self) -> int:
        """Numbers that the features of a row take in memory: one for each column, unless they are sparse."""
        return sum(part.entries for part in self.parts) if is_sparse(self.parts) else self._m

    @property
    def quantizes_input(self) -> bool:
        """Whether integer precisions of some part work on 8-bit codes of x."""
        return any(part.quantizes_input for part in self.parts)

    @property
    def has_units(self) -> bool:
        """Whether a bandwidth or radius of some part was given as a number, which is in the units of X."""
        return any(part.has_units for part in self.parts)

    @property
    def is_of_pictures(self) -> bool:
        """Whether all parts are of pictures."""
        return all(part.is_of_pictures for part in self.parts)

    @property
    def copied_places(self) -> np.ndarray | None:
        """Those of the parts, which must agree."""
        first, *others = (part.copied_places for part in self.parts)
        for other in others:
            if other is first is None or (other is not None and first is not None and np.array_equal(first, other)):
                continue
            raise ValueError("all parts of a union must have the same copies of a picture.")
        return first

    # ---- the scikit-learn face ----

    def _fit_rows(self, rows: Rows, largest: float) -> Self:
        parts, weights = [clone(part) for part in self.parts], self._given_weights()
        if self.precision is not None:
            require_choice("precision", self.precision, PRECISIONS)
        if any(part.precision not in (None, self.precision) for part in parts):
            raise ValueError("parts have the precision of their union: give it to the BasisUnion.")
        self.seed_ = draw_seed(self.random_state)
        for place, part in enumerate(parts):
            own = part.random_state if self.random_state is None else None
            part.set_params(
                precision=self.precision, random_state=self.seed_ + APART * place if own is None else draw_seed(own)
            )
            part.fit_sample(rows, largest)
        self._keep(parts, weights)
        return self

    def _keep(self, parts: list[Basis], weights: np.ndarray) -> None:
        self.bases_, self.weights_ = parts, weights
        self.map_ = Union([part.map_ for part in parts], weights.tolist())  # type: ignore[assignment]
        self.scale_, self._n_features_out = self.map_.scale, self.map_.columns

    def _settle(self, rows: Rows, largest: float) -> None:
        raise NotImplementedError("parts settle their own numbers")

    def _own_fields(self) -> dict[str, Any]:
        raise NotImplementedError("a union has no fields of its own")

    def _checked(self, X: Rows, reset: bool = False) -> Rows:
        bytes_too = ["uint8", "int8"] if self.is_integer else []  # parts look closer at what they are given
        return checked_rows(self, laid_in_rows(self, X), ["float64", "float32", *bytes_too], reset)

    @property
    def bounds(self) -> Bounds:
        raise ValueError("there is no bound for a union: ask each of its parts.")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and those of the parts as basis_0__name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parts and their parameters too.

        Returns
        -------
        dict
            Values by name.
        """
        found = super().get_params(deep=False)
        if deep and isinstance(self.bases, Sequence):
            for place, basis in enumerate(self.bases):
                found[f"basis_{place}"] = basis
                inner = basis.get_params(deep=True) if hasattr(basis, "get_params") else {}
                found |= {f"basis_{place}__{name}": value for name, value in inner.items()}
        return found

    def set_params(self, **parameters: object) -> Self:
        """Set parameters, those of parts as basis_0__name, and parts as basis_0.

        Parameters
        ----------
        **parameters : dict
            Values by name.

        Returns
        -------
        BasisUnion
            The union itself.
        """
        own = {name: value for name, value in parameters.items() if not PART.fullmatch(name)}
        super().set_params(**own)
        for name in sorted(set(parameters) - set(own), key=len):  # parts before their parameters
            place, inner = PART.fullmatch(name).groups()  # type: ignore[union-attr]
            if int(place) >= len(self.bases):
                raise ValueError(f"{name!r} is of no part of this union: it has {len(self.bases)}.")
            if inner is None:
                part: Any = parameters[name]  # `fit` says what is no basis
                self.bases = [*self.bases[: int(place)], part, *self.bases[int(place) + 1 :]]
            else:
                self.bases[int(place)].set_params(**{inner: parameters[name]})
        return self

    # ---- unions of other sizes ----

    def sized(self, n_components: int) -> BasisUnion:
        """Return an unfitted copy with another number of features, parts in proportion.

        Parameters
        ----------
        n_components : int
            Number of features, about: each part has some.

        Returns
        -------
        BasisUnion
            The copy, not fitted.
        """
        share = n_components / self._m
        return self._of_parts([part.sized(max(1, int(share * int(part.n_components)))) for part in self.parts])

    def _of_parts(self, parts: list[Basis]) -> BasisUnion:
        """A union of the first parts in other sizes, not fitted."""
        weights = self.weights if self.chooses_weights else self._given_weights()[: len(parts)].tolist()
        return BasisUnion(parts, weights=weights, precision=self.precision, random_state=self.random_state)

    def truncated(self, n_components: int) -> Self:
        check_is_fitted(self)
        sizes = [one.columns for one in self.map_.truncated(n_components).maps]  # type: ignore[attr-defined]
        return self._resized([part.truncated(size) for part, size in zip(self.bases_, sizes, strict=False)])

    def enlarged(self, n_components: int) -> Self:
        check_is_fitted(self)
        *before, last = self.bases_
        size = self.map_.enlarged(n_components).maps[-1].columns  # type: ignore[attr-defined]
        return self._resized([*before, last.enlarged(size)])

    def _resized(self, parts: list[Basis]) -> Self:
        other = copy(self)
        unfitted = [clone(part).set_params(precision=None) for part in parts]  # theirs is that of the union
        other.__dict__.update(vars(self._of_parts(unfitted)))
        other._keep(parts, self.weights_[: len(parts)])
        return other

    # ---- equality and files ----

    def identity(self) -> tuple[Any, ...]:
        check_is_fitted(self)
        return type(self), tuple(part.identity() for part in self.bases_), tuple(self.weights_.tolist())

    def to_state(self) -> dict[str, Any]:
        check_is_fitted(self)
        kept = {name: getattr(self, name, None) for name in ("n_features_in_", "feature_names_in_", "precision")}
        return {**kept, "seed_": self.seed_, "bases_": tuple(self.bases_), "weights_": tuple(self.weights_.tolist())}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        require_fields(
            state,
            {
                "n_features_in_": whole(1, MOST_COLUMNS),
                "feature_names_in_": either(nothing, names()),
                "precision": either(nothing, text(*PRECISIONS)),
                "seed_": whole(-(1 << 64), 1 << 64),
                "bases_": several(lambda part: isinstance(part, Basis) and not isinstance(part, BasisUnion), MOST),
                "weights_": several(number(1.0 / LARGEST, LARGEST), MOST),
            },
        )
        parts, columns = list(state["bases_"]), state["n_features_in_"]
        if any(part.n_features_in_ != columns or part.precision != state["precision"] for part in parts):
            raise ValueError("the parts of a union belong to different rows")
        given = [type(part)(**{**part.get_params(deep=False), "precision": None}) for part in parts]
        basis = cls(given, weights=list(state["weights_"]), precision=state["precision"], random_state=state["seed_"])
        kept = {name: state[name] for name in ("seed_", "n_features_in_")}
        if state["feature_names_in_"] is not None:
            kept |= {"feature_names_in_": state["feature_names_in_"]}
            if len(kept["feature_names_in_"]) != columns:
                raise ValueError("the names belong to other columns")
        basis.__dict__.update(kept)
        basis._keep(parts, np.array(state["weights_"]))
        return basis
