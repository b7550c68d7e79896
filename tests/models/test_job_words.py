"""Parameters in words: the same in every process, and others as soon as a number is another."""

import copy
import functools
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from bochner import FixedFourier, RandomFeatureRegressor, RandomFourier, RandomMaxout, kernels
from bochner.losses import Huber
from bochner.models.job_words import LONGEST, described

MANY = np.arange(5000.0)
OTHER = np.where(MANY == 2500, -1.0, MANY)  # numpy prints both alike


@dataclass
class Loss:
    weights: np.ndarray


class Slotted:
    __slots__ = ("shift",)

    def __init__(self, shift):
        self.shift = shift


class Plain:
    def __init__(self, shift):
        self.shift = shift
        self.learned_ = object()  # what a fit left behind


def shifted(by):
    return lambda x: x + by


DIFFERENT = {
    "numbers": (1.0, 1), "words": ("1", 1), "arrays": (MANY, OTHER), "dtypes": (MANY, MANY.astype(np.float32)),
    "shapes": (MANY, MANY[:, None]), "objects": (np.array(["a", 1], object), np.array(["a", 2], object)),
    "sparse": (scipy.sparse.csr_array(np.eye(50)), scipy.sparse.csr_array(2 * np.eye(50))),
    "lists": ([MANY], [OTHER]), "tuples": ((1,), [1]), "dictionaries": ({"a": MANY}, {"a": OTHER}),
    "dataclasses": (Loss(MANY), Loss(OTHER)), "slots": (Slotted(1), Slotted(2)), "attributes": (Plain(1), Plain(2)),
    "losses": (Huber(1.5), Huber(2.0)), "kernels": (kernels.Gaussian(), kernels.Laplacian()),
    "bases": (RandomFourier(10), RandomFourier(11)), "kinds": (RandomFourier(10), RandomMaxout(10)),
    "frequencies": (FixedFourier(MANY.reshape(-1, 2)), FixedFourier(OTHER.reshape(-1, 2))),
    "unions": (RandomFourier(10) + RandomMaxout(8), RandomFourier(10) + RandomMaxout(9)),
    "constants": (lambda x: x + 1, lambda x: x + 2), "operations": (lambda x: x + 1, lambda x: x - 1),
    "closures": (shifted(1), shifted(2)), "defaults": (lambda x, a=1: a, lambda x, a=2: a),
    "partials": (functools.partial(max, 1), functools.partial(max, 2)),
    "methods": (Plain(1).__init__, Plain(2).__init__), "functions": (np.sin, np.cos), "classes": (Plain, Slotted),
    "long": ("a" * LONGEST + "b", "a" * LONGEST + "c"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_changes_a_number_changes_the_words(name):
    one, other = map(described, DIFFERENT[name])
    assert one != other
    assert max(len(one), len(other)) < 2 * LONGEST
    if name not in ("constants", "operations", "closures", "defaults", "methods"):
        assert described(copy.deepcopy(DIFFERENT[name][0])) == one


def test_places_in_memory_and_what_a_fit_left_behind_do_not():
    assert described(Plain(1)) == described(Plain(1))
    assert described(shifted(1)) == described(shifted(1))
    assert described(np.random.default_rng(1)) == described(np.random.default_rng(2))
    basis, X = RandomFourier(10), np.eye(4)
    before = described(basis)
    basis.fit(X)
    assert described(basis) == before


def test_what_holds_itself_ends():
    ring = Plain(1)
    ring.shift = [ring]
    assert "..." in described(ring)


def test_words_are_the_same_in_every_process():
    code = """
from bochner import RandomFourier, RandomMaxout, kernels
from bochner.models.job_words import described
print(described([{"b", "a", "c"}, RandomFourier(10) + RandomMaxout(8), lambda x: x + 1, kernels.Stable(1, 1)]))
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_sums_of_other_frequencies_are_not_taken_up_again(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), rng.standard_normal(300)
    frequencies = rng.standard_normal((1200, 2))
    RandomFeatureRegressor(FixedFourier(frequencies), alpha=1.0).fit(X, y, checkpoint=tmp_path)
    frequencies[600] += 1.0
    with pytest.raises(ValueError, match=r"different: .*frequencies"):
        RandomFeatureRegressor(FixedFourier(frequencies), alpha=1.0).fit(X, y, checkpoint=tmp_path)
