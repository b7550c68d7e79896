"""Exact kernels in ONNX: the rows of the fit stand in the file, and every row of X meets each of them in double.

A batch of n rows takes n times the rows of the fit times the columns numbers for a while: give it some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import to_numpy
from ..kernels import Cauchy, Gaussian, Laplacian, Matern, Stable
from .graph import Graph
from .preparation import encoded, scaled

CLOSED = (0.5, 1.5, 2.5)  # where the Matern kernel is a polynomial times an exponential


def kernel_scores(graph: Graph, model: BaseEstimator) -> str:
    """k(x, rows) a + intercept (n, outputs), in double."""
    kernel = model.kernel_
    if type(kernel) not in KERNELS or (isinstance(kernel, Matern) and kernel.nu not in CLOSED):
        raise ValueError(
            f"{kernel!r} cannot be exported to ONNX; kernels that can: Gaussian, Laplacian, Cauchy, Stable, and "
            "Matern with nu 0.5, 1.5 or 2.5."
        )
    rows = graph.double(encoded(graph, "X", getattr(model, "recipe_", None), np.dtype(np.float64))[0])
    if model.scaler_ is not None:
        rows = graph.double(scaled(graph, rows, model.scaler_, to_numpy(model.X_fit_).dtype)[0])
    rows = graph("Unsqueeze", rows, np.array([1]))
    offsets = graph("Sub", rows, graph.double(to_numpy(model.X_fit_)[None]))  # (n, rows of the fit, columns)
    values = KERNELS[type(kernel)](graph, graph("Div", offsets, np.float64(kernel.scale)), kernel)
    weights, intercept = to_numpy(model.dual_coef_), to_numpy(model.intercept_)
    return graph("Add", graph("MatMul", _centred(graph, values, model), weights), intercept)


def _centred(graph: Graph, values: str, model: BaseEstimator) -> str:
    """As inner products of centred features, where the model has an intercept."""
    dual = model._dual
    if dual is None:
        return values
    root = to_numpy(dual.root)
    shares = root**2 / np.sum(root**2)
    means = graph("MatMul", values, shares[:, None])
    return graph("Sub", graph("Sub", values, means), to_numpy(dual.row_means) - dual.grand_mean)


def _summed(graph: Graph, values: str) -> str:
    return graph("ReduceSum", values, np.array([2]), keepdims=0)


def _gaussian(graph: Graph, offsets: str, kernel: Gaussian) -> str:
    return graph("Exp", graph("Mul", _summed(graph, graph("Mul", offsets, offsets)), np.float64(-0.5)))


def _laplacian(graph: Graph, offsets: str, kernel: Laplacian) -> str:
    return graph("Exp", graph("Neg", _summed(graph, graph("Abs", offsets))))


def _cauchy(graph: Graph, offsets: str, kernel: Cauchy) -> str:
    terms = graph("Log", graph("Add", graph("Mul", offsets, offsets), np.float64(1)))
    return graph("Exp", graph("Neg", _summed(graph, terms)))


def _matern(graph: Graph, offsets: str, kernel: Matern) -> str:
    """With r = sqrt(2 nu) |x - z|/s: exp(-r), (1 + r) exp(-r), (1 + r + r^2/3) exp(-r)."""
    distance = graph("Sqrt", _summed(graph, graph("Mul", offsets, offsets)))
    r = graph("Mul", distance, np.float64(np.sqrt(2.0 * kernel.nu)))
    decay = graph("Exp", graph("Neg", r))
    if kernel.nu == 0.5:
        return decay
    polynomial = graph("Add", r, np.float64(1))
    if kernel.nu == 2.5:
        polynomial = graph("Add", polynomial, graph("Div", graph("Mul", r, r), np.float64(3)))
    return graph("Mul", polynomial, decay)


def _stable(graph: Graph, offsets: str, kernel: Stable) -> str:
    terms = _summed(graph, graph("Pow", graph("Abs", offsets), np.float64(kernel.p)))
    return graph("Exp", graph("Neg", graph("Pow", terms, np.float64(kernel.q / kernel.p))))


KERNELS: dict[type, Callable[[Graph, str, Any], str]] = {
    Gaussian: _gaussian,
    Laplacian: _laplacian,
    Cauchy: _cauchy,
    Matern: _matern,
    Stable: _stable,
}
