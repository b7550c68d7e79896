"""Few rows, left out in several partitions: what follows from one decomposition is what refitting gives."""

import numpy as np
import pytest

from bochner import RandomFeatureRegressor, RandomFourier
from bochner.blocks import Block
from bochner.penalties.repeated import PARTITIONS, RepeatedFolds, groups_of, partitions_of
from bochner.solvers import dual_problem


def few_rows(n=30, copies=0):
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((n, 3)), rng.standard_normal((n, 2)), rng.uniform(0.1, 3.0, n)
    X[:copies] = X[n - copies :]
    return X, y, weight


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 10.0])
def test_errors_are_those_of_models_of_the_other_rows(alpha, weighted, intercept):
    X, y, weight = few_rows(copies=4)
    weight = weight if weighted else None
    kernel = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2))
    found = RepeatedFolds.of(kernel, Block(X, y, weight, 0), intercept, False)
    squares = np.zeros_like(y)
    for folds in found._partitions:
        for fold in range(found.folds):
            out, rest = folds == fold, folds != fold
            part = dual_problem(
                kernel[np.ix_(rest, rest)], y[rest], None if weight is None else weight[rest], intercept
            )
            a = np.linalg.solve(part.kernel + alpha * np.eye(rest.sum()), part.target) * part.root[:, None]
            rows = kernel[np.ix_(out, rest)]
            scores = (part.center_new(rows) if intercept else rows) @ a + part.mean_y
            squares[out] += (1.0 if weight is None else weight[out, None]) * (scores - y[out]) ** 2 / PARTITIONS
    np.testing.assert_allclose(found.errors(alpha)[0], squares, rtol=1e-5)


def test_partitions_are_even_and_copies_share_folds():
    X, _, _ = few_rows(40, copies=5)
    hashes, group = groups_of(X)
    partitions = partitions_of(hashes, 5)
    assert partitions.shape == (PARTITIONS, 35)
    assert all((np.bincount(folds) == 7).all() for folds in partitions)
    assert len({tuple(folds) for folds in partitions.tolist()}) == PARTITIONS
    assert np.array_equal(partitions[:, group][:, :5], partitions[:, group][:, 35:])
    order = np.random.default_rng(1).permutation(40)
    again = partitions_of(*[groups_of(X[order])[0], 5])[:, groups_of(X[order])[1]]
    assert np.array_equal(again, partitions[:, group][:, order])


def test_labels_are_counted_in_every_partition():
    X, y, _ = few_rows(60)
    codes = np.where(X[:, :1] + 0.5 * y[:, :1] > 0, 1.0, -1.0)
    found = RepeatedFolds.of(X @ X.T, Block(X, codes, None, 0), True, True)
    chosen = found.choose(10.0 ** np.arange(-6.0, 4.0), True)
    wrong = found.errors(chosen.alpha)[1]
    assert chosen.validated.score == pytest.approx(1.0 - wrong.mean())
    assert set(np.round(PARTITIONS * wrong).astype(int)) <= set(range(PARTITIONS + 1))
    assert min(found.errors(a)[1].sum() for a in (1e-3, 1.0, 1e3)) >= wrong.sum() - 1e-12
    assert "5 folds, 5 times" in chosen.note


@pytest.mark.parametrize("solver", ["cholesky", "dual"])
def test_sums_and_kernels_choose_one_penalty_for_few_rows(solver):
    X, y, _ = few_rows(50)
    model = RandomFeatureRegressor(RandomFourier(40), solver=solver, random_state=0).fit(X, X[:, 0] + 0.1 * y[:, 0])
    other = RandomFeatureRegressor(RandomFourier(40), solver="cg", random_state=0).fit(X, X[:, 0] + 0.1 * y[:, 0])
    assert model.alpha_ == pytest.approx(other.alpha_, rel=1e-6)
    assert "5 folds, 5 times" in model.explain_fit()
