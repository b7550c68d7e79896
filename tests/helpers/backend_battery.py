"""What every backend must do, as functions of a backend; test_backends.py walks all that are registered."""

import numpy as np

from bochner import ops
from bochner.arrays import dtype_name, is_torch, like, to_numpy
from bochner.ops.linear_algebra import Factor, TridiagonalForm
from helpers.devices import DEVICE
from helpers.op_examples import ALGEBRA, EXAMPLES

PER_ROW = {
    "project_maxout": 3,
    "dense_maxout": 3,
    "gates": 1,
    "cross": 1,
    "normal_product": 2,
}  # arguments that have a row for each of x
WHOLE = ("pooled", "pooled_threshold", "pooled_maxout")  # whose rows are patches of whole pictures
BITS = ("fwht", "fastfood")  # floats whose order of additions is fixed


def version_for(backend, name, arguments):
    """The first version of an op that takes these arguments, or None."""
    return next((version for version in backend.versions[name] if version.takes(*arguments)), None)


def given_to(backend, arguments):
    """The arguments as arrays of the backend's library."""
    if backend.library == "numpy":
        return arguments
    import torch

    rows = torch.from_numpy(arguments[0].copy()).to(DEVICE)  # some are views of numbers that cannot be written
    return (rows, *(like(other, rows) for other in arguments[1:]))


def some_rows(name, arguments, rows):
    """The arguments for some rows alone."""
    if name in (*ALGEBRA, *WHOLE):
        return arguments
    which = (0, PER_ROW.get(name))
    return tuple(part[rows] if k in which and part is not None else part for k, part in enumerate(arguments))


def check_op(backend, name, arguments, seed=0):
    """A version that takes the arguments gives what the definition gives: integers bit for bit, floats to rounding."""
    expected = ops.BACKENDS["reference"].versions[name][0].function(*arguments)
    given = given_to(backend, arguments)
    version = version_for(backend, name, given)
    if version is None:
        assert not backend.defines
        return
    before = [np.array(to_numpy(part)) for part in given if hasattr(part, "shape")]
    found = version.function(*given)
    for left, part in zip(before, (part for part in given if hasattr(part, "shape")), strict=True):
        assert np.array_equal(left, to_numpy(part), equal_nan=left.dtype.kind == "f")
    pairs = list(zip(numbers(found, given[0], seed), numbers(expected, arguments[0], seed), strict=True))
    for mine, right in pairs:
        assert is_torch(mine) == (backend.library == "torch")
        assert dtype_name(mine) == dtype_name(right)
        check_equal(np.asarray(to_numpy(mine)), right, exact=name in BITS)


def check_equal(found, expected, exact):
    assert found.shape == expected.shape
    if exact or expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
    elif expected.size:
        # Rounding of the largest number in sight: of a sum whose terms cancel too.
        close = 64 * np.finfo(expected.dtype).eps * (1.0 + np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=1e-5 if expected.dtype == np.float32 else 1e-9, atol=close)


def numbers(result, matrix, seed):
    """All that can be said of a result as arrays: of a factor, what it solves; of vectors, what they span."""
    if result is None:
        return []
    if isinstance(result, tuple) and len(result) == 2:  # eigenvalues and vectors, whose signs are anybody's
        values, vectors = result
        return [values, (vectors * values) @ vectors.T]
    if isinstance(result, tuple):
        return list(result)
    columns = like(np.random.default_rng(seed).standard_normal((len(matrix), 2)), matrix)
    if isinstance(result, Factor):
        # A factor of float32 is that exact, whatever is made of it.
        tell = [result.solve(columns), result.solve(columns[:, 0]), (result.half_solve(columns) ** 2).sum(axis=0)]
        tell += [like(np.array([result.log_determinant, result.smallest_pivot]), matrix)]
        half = len(matrix) // 2
        tell += [result.leading(half).solve(columns[:half])]
        return [part.round(decimals=4) for part in tell]
    if isinstance(result, TridiagonalForm):
        solved = result.rotate_back(result.solve(0.5, result.rotate(columns)))
        return [result.eigenvalues, solved, result.rotate_back(result.rotate(columns))]
    return [result]


def check_all_examples(backend, name, step=1):
    for arguments in list(EXAMPLES[name](np.random.default_rng(0)))[::step]:
        check_op(backend, name, arguments)


def check_every_version_is_tried(backend, name):
    """What a version says it takes, some example gives it: each dtype that it names."""
    tried = set()
    for arguments in EXAMPLES[name](np.random.default_rng(0)):
        given = given_to(backend, arguments)
        for k, version in enumerate(backend.versions[name]):
            if version.takes(*given):
                tried.add((k, dtype_name(given[0])))
                break
    promised = {(k, dtype) for k, version in enumerate(backend.versions[name]) for dtype in version.dtypes or ()}
    assert promised <= tried
