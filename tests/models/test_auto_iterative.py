"""Exact kernel fits by conjugate gradients: the answer of a direct solution, and nothing of the rows left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bochner
from bochner.models.auto.chains import Chain
from bochner.models.auto.encoding import Tables
from bochner.models.auto.expansion import Setting, with_metric
from bochner.models.auto.fits import Rows, exact_fit
from bochner.models.auto.iterative import KernelEquations, iterative_fit, kernel_matrix
from bochner.models.auto.search import CLEAN, Clock, Search


def smooth_rows(n: int = 700, outputs: int = 2, noise: float = 0.1) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    Y = np.stack([np.sin((k + 1) * X[:, k]) + X[:, 2] for k in range(outputs)], axis=1)
    Y += noise * rng.normal(size=Y.shape)
    return Rows(X, Y - Y.mean(axis=0), np.arange(n) % 5, True)


def settings() -> list[Setting]:
    root = np.random.default_rng(1).normal(size=(4, 4))
    return [
        Setting("robust", 2.0, 2.0), Setting("robust", 1.0, 1.0, linear=0.05),
        with_metric(Setting("robust", 2.0, 1.0, factor=2.0), root @ root.T, True),
    ]  # fmt: skip


@pytest.mark.parametrize("setting", settings(), ids=["gaussian", "laplacian and a line", "full metric"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-1, 10.0])
def test_conjugate_gradients_find_what_a_factor_finds(setting: Setting, alpha: float) -> None:
    rows = smooth_rows()
    equations, seen = KernelEquations(rows, setting, np.arange(300)), ~rows.judged
    answer = equations.solve(alpha, equations.eigenvectors(seen), None)
    line = rows.X - rows.X.mean(axis=0)
    K = equations.kernel(equations.Z) + setting.linear * line @ line.T
    inner, Y = K[np.ix_(seen, seen)], rows.Y[seen] - rows.Y[seen].mean(axis=0)
    expected = K[:, seen] @ np.linalg.solve(inner + alpha * np.eye(len(inner)), Y)
    assert np.linalg.norm(answer.products - expected) < 3e-3 * np.linalg.norm(expected)
    assert not answer.coefficients[~seen].any()


def test_an_answer_for_another_penalty_is_a_start() -> None:
    rows = smooth_rows()
    equations = KernelEquations(rows, settings()[2], np.arange(300))
    basis = equations.eigenvectors(np.ones(700, dtype=bool))
    cold = equations.solve(1e-2, basis, None)
    warm = equations.solve(1e-2, basis, equations.solve(1e-1, basis, None))
    assert np.linalg.norm(cold.products - warm.products) < 3e-3 * np.linalg.norm(cold.products)


@pytest.mark.parametrize("setting", settings(), ids=["gaussian", "laplacian", "full metric"])
def test_the_matrix_is_the_kernel_of_rows_far_from_zero_and_of_copies(setting: Setting) -> None:
    rng = np.random.default_rng(2)
    Z = setting.metric(1000.0 + rng.normal(size=(600, 4)))
    Z[300:310] = Z[:10]
    Z[310:320] = Z[:10] + 1e-5
    kernel = setting.kernel(Z)
    line = rng.normal(size=(600, 2))
    np.testing.assert_allclose(kernel_matrix(kernel, Z, line), kernel(Z) + line @ line.T, atol=3e-6)


def test_rows_left_out_have_no_say() -> None:
    rows, order = smooth_rows(), np.random.default_rng(3).permutation(700)
    other = rows._replace(Y=np.where(rows.judged[:, None], 5.0 - rows.Y, rows.Y))
    found = [iterative_fit(part, replace(settings()[0], alpha=1.0), order) for part in (rows, other)]
    assert found[0] is not None and found[1] is not None
    at = np.random.default_rng(4).normal(size=(50, 4))
    unseen = [function(at) for _, function in found]
    if found[0][0].expansion.setting.alpha == found[1][0].expansion.setting.alpha:
        np.testing.assert_array_equal(*unseen)
    member, function = found[0]
    np.testing.assert_allclose(member.held_out, function(rows.X[rows.judged]), atol=2e-3)
    assert member.error == pytest.approx(rows.error_of(function(rows.X[rows.judged])), rel=1e-3)
    assert member.error < 0.2 < found[1][0].error


@pytest.mark.parametrize("setting", settings(), ids=["gaussian", "laplacian and a line", "full metric"])
@pytest.mark.parametrize("kind", ["copies", "far out", "alike"])
def test_rows_that_are_hard_have_finite_answers_or_none(kind: str, setting: Setting) -> None:
    """Encoders bring far rows near; here they come as they are, and a line through them may be bad, but says so."""
    rows, rng = smooth_rows(600, 1), np.random.default_rng(5)
    X = rows.X.copy()
    if kind == "copies":
        X = X[rng.integers(0, 5, 600)]
    elif kind == "far out":
        X[:3] *= 1e6
    else:
        X = np.ones_like(X) + 1e-9 * X
    found = iterative_fit(rows._replace(X=X), setting, rng.permutation(600))
    if found is not None:
        member, unseen = found
        assert np.isfinite(member.held_out).all() and (member.error < 1.5 or kind == "far out")
        assert member.error == pytest.approx(rows.error_of(member.held_out))
        assert np.isfinite(member.expansion(X[:50])).all() and np.isfinite(unseen(X[:50])).all()


def searched(noise: float) -> Search:
    rows = smooth_rows(2000, 1, noise)
    found = Search(Tables(rows.X, rows.Y[:, 0], rows.Y), Clock(30.0, 8), lambda trial: None)
    found.run((Chain("robust", 2.0, 2.0, "none"),))
    return found


def test_the_search_takes_all_rows_as_centres() -> None:
    search = searched(0.3)
    assert {trial.centres for trial in search.trials[1:] if trial.rows == 2000} == {2000}
    assert search.ways == [search._iterative]


def test_without_noise_a_factor_in_float64_is_tried_too() -> None:
    search = searched(0.0)
    iterative, direct = search.members[1:3]
    assert search.ways == [exact_fit] and direct.error < iterative.error < CLEAN


def test_a_matrix_that_finds_no_room_is_not_made() -> None:
    with bochner.config_context(memory="20MB"):
        rows = smooth_rows(2000, 1)
        search = Search(Tables(rows.X, rows.Y[:, 0], rows.Y), Clock(30.0, 4), lambda trial: None)
    assert search._iterative not in search.ways
