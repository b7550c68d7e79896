"""Many rows: a tree parts them into leaves, nearest rows together, and each leaf has a kernel fit of its own.

Rows far apart in the metric hardly matter to one another where kernels are narrow, so n rows in leaves of L cost
n L^2 / 3 operations, not n^3 / 3. A node is cut at the median of the column, in the metric, that varies most there.
The tree is grown on the host, wherever the fits are made: those on a device one after the other, which fill it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import FEW_ROWS, Array, empty, is_torch, like, namespace, to_host
from .expansion import Expansion, Setting, average_product
from .fits import ALPHAS, Member, Part, Rows, beside, chosen, downhill, nearest, solved

LEAST = 0.1  # share of a node's rows that either side of a cut must have
TRIED = 8  # leaves by which the penalty is chosen


class Tree(NamedTuple):
    """A complete binary tree: node i has the children 2i+1, to which rows up to its cut go, and 2i+2."""

    axes: np.ndarray
    cuts: np.ndarray

    def leaf_of(self, Z: np.ndarray) -> np.ndarray:
        """The leaf of each row, counted from 0."""
        node = np.zeros(len(Z), dtype=np.int64)
        for _ in range(int(np.log2(len(self.axes) + 1))):
            node = 2 * node + 1 + (Z[np.arange(len(Z)), self.axes[node]] > self.cuts[node])
        return node - len(self.axes)


def grown(Z: np.ndarray, size: int) -> Tree:
    """The tree whose leaves have about `size` rows; a node that no cut parts well sends all its rows one way."""
    depth = max(0, int(np.ceil(np.log2(len(Z) / size))))
    axes, cuts = np.zeros(2**depth - 1, dtype=np.int64), np.full(2**depth - 1, np.inf)
    members = {0: np.arange(len(Z))}
    for node in range(len(axes)):
        at = members.pop(node)
        axes[node], cuts[node] = best_cut(Z[at])
        above = Z[at, axes[node]] > cuts[node]
        members[2 * node + 1], members[2 * node + 2] = at[~above], at[above]
    return Tree(axes, cuts)


def best_cut(Z: np.ndarray) -> tuple[int, float]:
    """The column that varies most among those whose median parts the rows, and that median."""
    if len(Z):
        for axis in np.argsort(-np.var(Z, axis=0)):
            cut = float(np.median(Z[:, axis]))
            if min(np.mean(Z[:, axis] > cut), np.mean(Z[:, axis] <= cut)) >= LEAST:
                return int(axis), cut
    return 0, np.inf


@dataclass(frozen=True, eq=False)
class LocalExpansion:
    """A function of encoded rows, one in each leaf of a tree."""

    setting: Setting
    tree: Tree
    leaves: list[Expansion]
    slopes_at: ClassVar[int] = Expansion.slopes_at

    @property
    def centres(self) -> Array:
        """The centres of all leaves."""
        found: Array = namespace(self.leaves[0].centres).concatenate([leaf.centres for leaf in self.leaves])
        return found

    def __call__(self, X: Array) -> Array:
        """Scores (n, outputs)."""
        return self._by_leaf(X, [leaf.__call__ for leaf in self.leaves], self.leaves[0].intercept.shape)

    def gradients(self, X: Array) -> Array:
        """Slopes (n, d, outputs) at rows."""
        return self._by_leaf(X, [leaf.gradients for leaf in self.leaves], self.leaves[0].slopes.shape)

    def metric(self, X: Array) -> np.ndarray:
        """The average gradient outer product at rows (d, d), its largest diagonal entry 1."""
        return average_product(self.gradients(X))

    def _by_leaf(self, X: Array, functions: list[Callable[[Array], Array]], shape: tuple[int, ...]) -> Array:
        of, out = self.tree.leaf_of(on_host(self.setting.metric(X))), empty((len(X), *shape), X)
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(functions) + 1))

        def fill(number: int) -> None:
            at = order[ends[number] : ends[number + 1]]
            if len(at):
                out[like(at, X)] = functions[number](chosen(X, at))

        performed([partial(fill, number) for number in np.unique(of).tolist()], X)
        return out


def on_host(Z: Array) -> np.ndarray:
    """All rows as an array."""
    if not is_torch(Z):
        return np.asarray(Z)
    return np.concatenate([to_host(Z[start : start + FEW_ROWS]) for start in range(0, max(len(Z), 1), FEW_ROWS)])


def performed(tasks: Sequence[Callable[[], Any]], X: Array) -> list[Any]:
    """What tasks return: beside one another for arrays, in turn on a device."""
    return [task() for task in tasks] if is_torch(X) else beside(list(tasks))


def local_fit(rows: Rows, setting: Setting, size: int) -> tuple[Member, LocalExpansion] | None:
    """The member with a fit in each leaf of about `size` rows; fold 0 judges it, and is left out of it for good."""
    rest, out = np.flatnonzero(~rows.judged), np.flatnonzero(rows.judged)
    Z = on_host(setting.metric(chosen(rows.X, rest)))
    median = replace(setting, factor=1.0).kernel(Z).scale
    tree = grown(Z, size)
    inside, outside = tree.leaf_of(Z), tree.leaf_of(on_host(setting.metric(chosen(rows.X, out))))
    rng = np.random.default_rng(0)
    places = [rng.permutation(rest[inside == leaf])[: 2 * size] for leaf in range(len(tree.axes) + 1)]

    def part(leaf: int, new: np.ndarray) -> Part:
        at = places[leaf] if len(places[leaf]) else rest[:1]
        return Part(chosen(rows.X, at), chosen(rows.Y, at), setting, chosen(rows.X, new), median)

    at = chosen_penalty(rows, setting, [out[outside == leaf] for leaf in range(len(places))], part)
    setting = replace(setting, alpha=float(ALPHAS[at]))

    def fitted(leaf: int) -> Expansion | None:
        one = part(leaf, rest[:0])
        c = solved(one.kernels(setting.factor, setting.linear)[0], one.Y, setting.alpha)
        return None if c is None else one.expansion(setting, c)

    leaves = performed([partial(fitted, leaf) for leaf in range(len(places))], rows.X)
    if any(leaf is None for leaf in leaves):
        return None
    found = LocalExpansion(setting, tree, leaves)
    predicted = found(chosen(rows.X, out))
    return Member(found, to_host(predicted), rows.error_of(predicted)), found


def chosen_penalty(
    rows: Rows, setting: Setting, outs: list[np.ndarray], part: Callable[[int, np.ndarray], Part]
) -> int:
    """The number of the penalty with the smallest squared error of judged rows in a few leaves."""
    tried = np.random.default_rng(1).permutation([leaf for leaf, out in enumerate(outs) if len(out)])[:TRIED]
    parts = performed([partial(part, int(leaf), outs[leaf]) for leaf in tried], rows.X)
    kernels = performed([partial(one.kernels, setting.factor, setting.linear) for one in parts], rows.X)
    errors: dict[int, float] = {}

    def missed(one: Part, pair: tuple[Array, Array], out: np.ndarray, alpha: float) -> float:
        c = solved(pair[0], one.Y, alpha)
        return np.inf if c is None else float(((pair[1] @ c + one.level - chosen(rows.Y, out)) ** 2).sum())

    def error(k: int) -> float:
        if k not in errors:
            these = zip(parts, kernels, tried, strict=True)
            missing = [partial(missed, one, pair, outs[t], float(ALPHAS[k])) for one, pair, t in these]
            errors[k] = sum(performed(missing, rows.X))
        return errors[k]

    return downhill(error, nearest(setting.alpha), len(ALPHAS))
