"""Routines of BLAS that leave the interpreter free, beside numpy."""

import threading

import numpy as np
import pytest

from bochner.ops.blas import divide_by_triangle, subtract_product

rng = np.random.default_rng(0)


def columns(rows, count, dtype):
    """Some columns of a wider matrix in Fortran order, as factors take them."""
    return np.asfortranarray(rng.standard_normal((rows, count + 3)).astype(dtype))[:, 1 : count + 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "m", "n"), [(7, 5, 4), (1, 1, 1), (30, 1, 6), (30, 6, 1)])
def test_they_do_what_numpy_does(k, m, n, dtype):
    close = 1e-4 if dtype == np.float32 else 1e-12
    a, b, c = columns(k, m, dtype), columns(k, n, dtype), columns(m, n, dtype)
    expected = c - a.T @ b
    subtract_product(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=close, atol=close)
    triangle = np.asfortranarray(np.triu(columns(m, m, dtype)) + 5 * np.eye(m, dtype=dtype))
    expected = np.linalg.solve(triangle.T, c)
    divide_by_triangle(triangle, c)
    np.testing.assert_allclose(c, expected, rtol=close, atol=close)


def test_rows_next_to_one_another_are_refused():
    a = np.ones((4, 3))
    with pytest.raises(ValueError, match="columns must lie next to one another"):
        subtract_product(a, a, np.ones((3, 3)))


def test_other_threads_go_on_meanwhile():
    """Wrappers that hold the interpreter let one thread work at a time: factors took twice as long on two."""
    a, b = columns(1500, 1500, np.float64), columns(1500, 1500, np.float64)
    c, begun = np.zeros((1500, 1500), order="F"), threading.Event()

    def work():
        begun.set()
        subtract_product(a, b, c)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    steps = 0
    while thread.is_alive():
        steps += 1
    assert steps > 1000
