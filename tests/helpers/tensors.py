"""What tests of tensors share: nothing leaves torch but by `arrays.to_host`, and results are where rows are."""

import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone

from bochner import arrays
from bochner.arrays import to_numpy
from helpers.devices import DEVICE, tensor


@contextmanager
def in_torch(torch, most=arrays.FEW_ROWS):
    """Whatever would leave torch fails, but for `arrays.to_host`, which few numbers take: so many rows at most."""

    def guarded(method):
        def call(tensor, *others, **settings):
            assert sys._getframe(1).f_code is arrays.to_numpy.__code__, "a tensor was turned into an array"
            assert sys._getframe(2).f_code is arrays.to_host.__code__, "a tensor was turned into an array"
            assert tensor.ndim == 0 or len(tensor) <= most, f"{tuple(tensor.shape)} numbers left torch"
            return method(tensor, *others, **settings)

        return call

    def refuse(*others, **settings):
        raise AssertionError("a tensor was turned into an array")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "numpy", guarded(torch.Tensor.numpy))
        for name in ("__array__", "tolist"):
            patch.setattr(torch.Tensor, name, refuse)
        yield


def quietly(model, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **more)


def both(torch, model, X, y, weight=None):
    """The model fitted to arrays, and to tensors without leaving torch."""
    tensors = [None if part is None else tensor(part) for part in (X, y, weight)]
    mine = clone(model)
    with in_torch(torch):
        quietly(mine, *tensors)
    return quietly(clone(model), X, y, weight), mine


def require_close(torch, found, expected, loose):
    assert isinstance(found, torch.Tensor)
    assert found.device.type == DEVICE.partition(":")[0]
    right = np.asarray(expected)
    np.testing.assert_allclose(to_numpy(found), right, rtol=loose, atol=loose * np.abs(right).max(initial=1.0))
