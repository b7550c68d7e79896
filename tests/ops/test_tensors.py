"""From features to predictions with tensors: they stay tensors from end to end, and say what numpy says."""

from contextlib import contextmanager

import numpy as np
import pytest

from bochner import ops
from bochner.arrays import is_torch, like, to_numpy
from bochner.moments import FoldedMoments, Moments, Rows, require_squares
from bochner.solvers import (
    DualPath,
    RidgePath,
    dual_problem,
    factor_gram,
    sampled_preconditioner,
    solve_dual,
    solve_gram,
    solve_products,
    solve_quickly,
    solve_several,
)
from bochner.streams import Stream
from helpers.devices import tensor

pytestmark = pytest.mark.torch
ALPHAS = 10.0 ** np.arange(-3.0, 3.0)
FOLDS, M = 3, 48


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@contextmanager
def tensors_only(torch):
    """Whatever would leave torch on the way fails."""

    def refuse(*arguments, **settings):
        raise AssertionError("a tensor was turned into an array")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("numpy", "__array__"):
            patch.setattr(torch.Tensor, name, refuse)
        yield


def rows(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)).astype(dtype)
    y = np.stack([np.sin(X[:, 0]) + X[:, 1] ** 2, X[:, 2] * X[:, 3]], axis=1) + 0.1 * rng.standard_normal((200, 2))
    return X, y, rng.uniform(0.2, 2.0, 200)


def float_features(X):
    directions = Stream(0, "weights").normal(0, M // 2, 4)
    dtype = np.float32 if "float32" in str(X.dtype) else np.float64
    return ops.dense_cos_sin(X, directions.astype(dtype), np.zeros(0, dtype), dtype(np.sqrt(2 / M)))


def integer_features(X):
    codes = ops.quantize(X, np.zeros(1), 0.05, -127, 127)
    directions = Stream(0, "weights").normal_int8(0, M // 2, 4)
    multipliers = np.full(M // 2, 123_457, np.uint32)
    return ops.project_cos_sin(codes, directions, multipliers, np.zeros(0, np.uint32), ops.cosine_table(10, 127))


def folded(Z, y, weight):
    """The sums of three blocks, each with its rows in folds."""
    total = None
    for block in (slice(0, 50), slice(50, 130), slice(130, 200)):
        parts = []
        for fold in range(FOLDS):
            some = slice(block.start + fold, block.stop, FOLDS)
            parts.append(Rows(Z[some], y[some], None if weight is None else weight[some]))
        total = FoldedMoments.plus_rows(total, parts)
    return total


def fitted(Z, y, weight, scale):
    """Sums, penalty by folds, solution, predictions: all that a model does after features."""
    sums = folded(Z, y, weight)
    total = sums.total()
    errors = np.zeros(len(ALPHAS))
    for part in sums.folds:
        rest = (total - part).centered(scale)
        held_out = part.centered(scale)
        for k, b in enumerate(solve_several(rest.gram, rest.cross, ALPHAS)):
            errors[k] += float(held_out.errors_of(b, rest).sum())
    alpha = float(ALPHAS[errors.argmin()])
    problem = total.centered(scale)
    b = solve_quickly(problem.gram, problem.cross, alpha)[0].coefficients
    factor = factor_gram(problem.gram, alpha)
    predictions = ops.scores(Z, b * scale) + (problem.mean_y - problem.mean_z @ b)
    path = RidgePath(problem.gram, problem.cross, problem.square)
    told = [
        path.degrees(alpha), path.generalised_cross_validation(alpha, 200, True),
        path.log_marginal_likelihood(alpha, 200, True)[0], factor.log_determinant, sums.square_sum(scale, True),
    ]  # fmt: skip
    require_squares(total - sums.folds[0], total)
    found = [predictions, b, path.coefficients(alpha), total.deviations(), factor.half_solve(problem.cross)]
    return total, errors, told, found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["float32", "float64", "int8"])
def test_features_sums_penalty_solution_and_predictions(kind, weighted, torch):
    features, scale = (integer_features, np.sqrt(2 / M) / 127) if kind == "int8" else (float_features, 1.0)
    X, y, weight = rows("float32" if kind == "float32" else "float64")
    y = np.sign(y).astype(np.int8) if kind == "int8" else y
    weight = weight if weighted else None
    mine = [None if part is None else tensor(part) for part in (X, y, weight)]
    with tensors_only(torch):
        results = fitted(features(mine[0]), *mine[1:], scale)
    for value in (*vars(results[0]).values(), *results[3]):
        assert is_torch(value) or isinstance(value, int | float)
    expected = fitted(features(X), y, weight, scale)
    for name, sums in vars(expected[0]).items():
        found = to_numpy(getattr(results[0], name))
        if kind == "int8" and not weighted:
            assert np.array_equal(found, sums)
            assert np.asarray(found).dtype == np.asarray(sums).dtype
        else:
            np.testing.assert_allclose(found, sums, rtol=2e-5 if kind == "float32" else 1e-9, atol=1e-3)
    loose = 1e-3 if kind == "float32" else 1e-6
    np.testing.assert_allclose(results[1], expected[1], rtol=1e-3)
    np.testing.assert_allclose(results[2], expected[2], rtol=loose)
    for found, right in zip(results[3], expected[3], strict=True):
        np.testing.assert_allclose(to_numpy(found), right, rtol=loose, atol=loose * np.abs(right).max())


def solutions(Z, y, weight, intercept, alpha):
    """Primal, dual, by conjugate gradients, and recovered where a matrix is singular."""
    problem = Moments.of(Z, y, weight).centered(1.0, intercept)
    primal = solve_gram(problem.gram, problem.cross, alpha)
    dual = dual_problem(Z @ Z.T, y, weight, intercept)
    free = solve_products(
        lambda v: problem.gram @ v, problem.cross, alpha,
        precondition=sampled_preconditioner(Z[:60] - problem.mean_z, len(Z) / 60, alpha), tolerance=1e-11,
    )  # fmt: skip
    twice = Moments.of(Z[:, :1] * like(np.ones(3), Z), y, weight).centered(1.0, intercept)
    singular = solve_gram(twice.gram, twice.cross, 0.0)
    assert "2 of 3 directions dropped" in singular.status
    by_dual = (Z - problem.mean_z).T @ solve_dual(dual, alpha).coefficients
    path = DualPath(dual.kernel, dual.target)
    told = [
        path.degrees(alpha), path.log_marginal_likelihood(alpha, len(y), intercept)[0], primal.residual < 1e-10,
        float((dual.center_new(Z[:2] @ Z.T) ** 2).sum()),
        float(problem.columns(like(np.full(M, 2.0), Z), 5).gram.sum()),
    ]  # fmt: skip
    return [primal.coefficients, by_dual, free.coefficients, singular.coefficients, path.coefficients(alpha)], told


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_exact_solver(weighted, intercept, torch):
    X, y, weight = rows("float64")
    weight = weight if weighted else None
    mine = [None if part is None else tensor(part) for part in (X, y, weight)]
    with tensors_only(torch):
        found, told = solutions(float_features(mine[0]), *mine[1:], intercept, 0.1)
    assert all(is_torch(part) for part in found)
    expected, right = solutions(float_features(X), y, weight, intercept, 0.1)
    np.testing.assert_allclose(told, right, rtol=1e-8)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(to_numpy(mine), theirs, rtol=1e-6, atol=1e-7)


def test_what_is_forgotten_or_shifted(torch):
    """Integer sums subtract without a trace; other rows are refused; targets move."""
    X, y, _ = rows("float64")
    rows_there = tensor(X)
    Z, targets = integer_features(rows_there), tensor(np.sign(y).astype(np.int8))
    whole, part = Moments.of(Z, targets), Moments.of(Z[:60], targets[:60])
    left, rest = whole - part, Moments.of(Z[60:], targets[60:])
    for name in ("sum_z", "sum_y", "gram", "cross", "square"):
        assert bool((getattr(left, name) == getattr(rest, name)).all())
    assert bool((whole.prefix(7).gram == whole.gram[:7, :7]).all())
    with pytest.raises(ValueError, match="cannot take 200 rows away"):
        part - whole
    moved = whole.shifted_targets(np.array([1.0, -2.0]))
    assert is_torch(moved.square)
    again = Moments.of(Z, targets + tensor(np.array([1, -2], np.int8)))
    assert bool((moved.square == again.square).all() and (moved.cross == again.cross).all())
    gram = torch.eye(4)
    gram[1, 2] = float("nan")
    with pytest.raises(ValueError, match=r"the Gram matrix contains NaN \(first at row 1, column 2\)"):
        RidgePath(gram, gram, gram[0])


# ---- solutions side by side ----


@pytest.mark.parametrize("n", [1, 100, 128, 300])
def test_solutions_in_blocks_are_those_of_the_library(n, torch):
    """Of one block and several, the last not full; a matrix that is not positive definite spoils no other."""
    pytest.importorskip("triton")  # else the room of kernels is empty
    from bochner.ops.cuda import solutions

    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3, n, n + 3))
    matrices, columns = Z @ Z.swapaxes(1, 2) / n, rng.standard_normal((3, n, 2))
    matrices[1, -1, -1] = -0.5
    shifts = np.array([0.1, 1000.0])
    expected = ops.shifted_solutions(matrices, shifts, columns)
    assert np.isnan(expected).any(axis=(2, 3)).tolist() == [[False, True, False], [False] * 3]
    given = tensor(matrices)
    for function in (ops.shifted_solutions, solutions.shifted_solutions):
        found = function(given, tensor(shifts), tensor(columns))
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-9, atol=1e-10)
    assert np.array_equal(to_numpy(given), matrices)


def test_distances_of_several_tables_are_those_of_each(torch):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((3, 7, 4)), rng.standard_normal((3, 5, 4))
    for p in (1.0, 2.0):
        expected = np.stack([ops.distances(x, z, p) for x, z in zip(X, Z, strict=True)])
        np.testing.assert_allclose(ops.distances(X, Z, p), expected, rtol=1e-14)
        np.testing.assert_allclose(to_numpy(ops.distances(tensor(X), tensor(Z), p)), expected, rtol=1e-14)
