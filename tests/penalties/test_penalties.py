"""One interface: from sums, from a kernel matrix and from a probe the same penalty is chosen, by every criterion."""

import numpy as np
import pytest

from bochner import RandomFourier
from bochner.blocks import MemoryBlocks
from bochner.losses import REGRESSING
from bochner.penalties import (
    GIVEN,
    Chosen,
    FromHeldOut,
    FromKernel,
    FromProbe,
    FromSums,
    FromSumsAndRows,
    FromVMatrix,
    PenaltySelection,
    with_penalty,
)
from bochner.solvers import Problem
from bochner.solvers.kernel_rows import with_kernel
from bochner.solvers.matching import named
from bochner.solvers.sums import reduce_folds
from helpers.battery import X, Y

MAP = RandomFourier(40, bandwidth=2.0, random_state=0).fit(X).map_


def problem_for(asked, classifies=False):
    y = np.where(Y > 0, 1, -1)[:, None] if classifies else Y[:, None]
    return Problem(MAP, MemoryBlocks(X, y), asked, True, classifies)


def selections(problem):
    kernel = with_kernel(problem).kernel
    return {
        "sums": FromSumsAndRows.of(Problem(**{**vars(problem), "sums": reduce_folds(problem)})),
        "kernel": FromKernel(kernel, problem.classifies),
        "probe": FromProbe(problem),
        "held out": FromHeldOut(problem),
        "V-matrix": FromVMatrix(kernel.kernel, kernel.block, True, problem.classifies),
    }


@pytest.mark.parametrize("classifies", [False, True])
@pytest.mark.parametrize("asked", ["auto", "loo", "gcv", [1e-3, 1e-1, 10.0]], ids=str)
def test_the_same_penalty_from_sums_and_from_the_kernel(asked, classifies):
    problem = problem_for(asked, classifies)
    found = {name: selections(problem)[name].choose(asked) for name in ("sums", "kernel", "probe")}
    assert found["kernel"].alpha == pytest.approx(found["probe"].alpha)
    assert "sampled rows" in found["probe"].note
    if asked == "auto" and not classifies:  # between candidates they go by parabolas of their own
        assert found["sums"].alpha == pytest.approx(found["kernel"].alpha, rel=0.2)
    else:
        assert found["sums"].alpha == pytest.approx(found["kernel"].alpha, rel=1e-3)


@pytest.mark.parametrize("name", ["sums", "kernel", "probe", "held out", "V-matrix"])
def test_what_all_of_them_do(name):
    selection = selections(problem_for("auto"))[name]
    assert isinstance(selection, PenaltySelection)
    assert selection.choose(0.5) == Chosen(0.5, GIVEN)
    assert selection.choose(0.5).unit == 1.0
    listed = selection.choose([1e-6, 1e-2, 1e2])
    assert listed.alpha in (1e-6, 1e-2, 1e2)
    assert listed.unit is None
    assert listed.note != GIVEN
    assert selection.choose("auto").alpha > 0


def test_sums_alone_cannot_leave_one_out():
    problem = problem_for("auto")
    sums = FromSums(reduce_folds(problem), problem.scale, True, False, 0.0, 0)
    with pytest.raises(ValueError, match="needs a second pass"):
        sums.choose("loo")


@pytest.mark.parametrize("solver", ["cholesky", "dual", "cg", "newton", "sgd"])
def test_a_problem_gets_its_penalty(solver):
    problem, chosen = with_penalty(problem_for("auto"), named(solver)[0])
    assert problem.alpha == chosen.alpha
    assert problem.asked == "auto"
    assert (problem.sums is not None) == (solver == "cholesky")
    assert (problem.kernel is not None) == (solver == "dual")
    with pytest.raises(ValueError, match="the penalty is not chosen yet"):
        _ = problem_for("auto").alpha


def test_other_losses_go_by_their_own():
    chosen = [
        with_penalty(Problem(MAP, MemoryBlocks(X, Y[:, None]), "auto", True, False, 1, loss), named("sgd")[0])[1]
        for loss in REGRESSING.values()
    ]
    assert ["squared error" in one.note for one in chosen] == [True, False, False]
