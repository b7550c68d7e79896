"""Torch tensors in, torch tensors out, as numpy has them; and nobody pays for torch who does not use it."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from bochner.arrays import to_numpy
from helpers.cases import CASES, SPARSE
from helpers.devices import DEVICE, tensor

WITHOUT_TORCH = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("hidden")

sys.meta_path.insert(0, Hidden())
import bochner
try:
    import bochner.nn
except ImportError as error:
    print(error)
"""


def test_nothing_imports_torch():
    code = "import sys, numpy as np, bochner; bochner.RandomFourier().fit_transform(np.eye(3))\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_there_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True)
    assert done.stdout == "bochner.nn needs torch: pip install torch.\n"


@pytest.mark.torch
@pytest.mark.parametrize("name", [n for n in CASES if n not in SPARSE])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_have_the_features_of_arrays(name, dtype):
    """Floats to rounding: projections are added up by another library. The map has the same bits."""
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).standard_normal((9, 5)).astype(dtype)
    rows = tensor(X.copy())
    basis = clone(CASES[name]).set_params(random_state=0)
    features = basis.fit(rows).transform(rows)
    assert isinstance(features, torch.Tensor)
    assert str(features.dtype) == f"torch.{dtype}"
    assert clone(basis).fit(X).map_ == basis.map_
    close = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(to_numpy(features), clone(basis).fit(X).transform(X), rtol=close, atol=close)
    assert torch.equal(basis.map_(rows), features)
    assert np.array_equal(to_numpy(rows), X)


@pytest.mark.torch
def test_integer_features_of_a_tensor():
    torch = pytest.importorskip("torch")
    X = torch.arange(40, dtype=torch.uint8, device=DEVICE).reshape(8, 5)
    features = clone(CASES["fourier"]).set_params(precision="int8", random_state=0).fit_transform(X)
    assert features.dtype == torch.int8


@pytest.mark.torch
def test_a_tensor_with_a_gradient_is_read():
    torch = pytest.importorskip("torch")
    X = torch.ones(3, 2, requires_grad=True, device=DEVICE)
    assert CASES["fourier"].fit(X).transform(X).requires_grad is False


@pytest.mark.torch
def test_models_take_tensors():
    pytest.importorskip("torch")
    from bochner import RandomFeatureClassifier, RandomFeatureRegressor, RandomFourier

    X = np.random.default_rng(0).standard_normal((60, 3))
    basis = RandomFourier(30, bandwidth=2.0, random_state=0)
    for model, y in (
        (RandomFeatureRegressor(basis, alpha=0.1), X[:, 0] ** 2),
        (RandomFeatureClassifier(basis, alpha=0.1), X[:, 0] > 0),
    ):
        expected = clone(model).fit(X, y).predict(X)
        found = clone(model).fit(tensor(X), tensor(y)).predict(tensor(X))
        assert found.dtype == tensor(y).dtype
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-9, atol=1e-12)
