"""A fitted model as an ONNX file: the same predictions without Python, by onnxruntime and its like.

The file holds the drawn weights themselves, since ONNX has no streams: d numbers a projection (of one byte each for
integer bases), four numbers a projection where they are Hadamard's, whatever d is; and float64 coefficients.

How near the file's results are, as max |a - b| / max(1, max |a|):
- Integer features (int8, int14) are the same integers, so predictions differ by the rounding of one float64 product and
  of the output's type: 1e-7 for float32.
- Float features are computed in double from the weights that the model uses: 1e-13 where the library computes in
  float64, and where it computes in float32 the rounding that remains is the library's own, 1e-5 and mostly 1e-6. It
  grows with projections and coefficients: 3e-5 for Laplacian frequencies in 3000 columns, where |<w, x>| is 1000.
- Gates, stumps and bins jump. Stumps and bins compare the very numbers that the library compares; a float32 gate whose
  two best projections agree to seven digits may open otherwise.
- Learned frequencies and exact kernels are computed in double here as there: 1e-13, and 1e-7 for float32 outputs. The
  rows of an exact kernel's fit are in the file. Distributions are no rows, and have no form in ONNX.
A model that was fitted to a table takes its columns of numbers as they are in the table; text is refused.
The file does not check X: a NaN (unless a recipe imputes it) or an infinity, which `predict` refuses, gives some
number.
"""

from __future__ import annotations

import os

from sklearn.base import BaseEstimator

from ..maps import FeatureMap
from ..storage import replacing
from ..validation import require_choice

__all__ = ["export", "features_to_bytes", "to_bytes"]


def export(model: BaseEstimator, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
    """Write a fitted model of random or learned features, or of an exact kernel, as an ONNX file.

    The graph takes `X` of shape (n, columns). A regressor gives `predictions`, (n,) or (n, targets). A classifier gives
    `label` (n,), int64 or string, and `scores`, (n,) or (n, classes). The opset is 18; it was tried with onnxruntime
    1.15, 1.20 and 1.31.

    Parameters
    ----------
    model : object
        The fitted model.
    path : str or path-like
        Where to write. The file appears whole or not at all.
    dtype : {'float32', 'float64'}, default='float32'
        Type of the input and of the outputs.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> from bochner import RandomFeatureRegressor, RandomFourier, onnx_export
    >>> X = numpy.linspace(-3, 3, 50)[:, None]
    >>> model = RandomFeatureRegressor(RandomFourier(20), random_state=0).fit(X, numpy.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     onnx_export.export(model, os.path.join(folder, "model.onnx"))
    ...     os.listdir(folder)
    ['model.onnx']
    """
    data = to_bytes(model, dtype=dtype)
    with replacing(path) as file:
        file.write(data)


def to_bytes(model: BaseEstimator, *, dtype: str = "float32") -> bytes:
    """Return what `export` writes.

    Parameters
    ----------
    model : object
        The fitted model.
    dtype : {'float32', 'float64'}, default='float32'
        Type of the input and of the outputs.

    Returns
    -------
    bytes
        The ONNX file.

    Examples
    --------
    >>> import numpy
    >>> from bochner import RandomFeatureRegressor, RandomFourier, onnx_export
    >>> X = numpy.linspace(-3, 3, 50)[:, None]
    >>> model = RandomFeatureRegressor(RandomFourier(20), random_state=0).fit(X, numpy.sin(X[:, 0]))
    >>> len(onnx_export.to_bytes(model)) > 100
    True
    """
    require_onnx("to_onnx")
    from .model import build

    return build(model, require_choice("dtype", dtype, ["float32", "float64"])).SerializeToString()


def features_to_bytes(feature_map: FeatureMap, *, dtype: str = "float32") -> bytes:
    """Return a feature map alone as an ONNX file, from `X` (n, inputs) to `features` (n, columns), in double.

    Integer maps give the same integers; their scale is not in the file.

    Parameters
    ----------
    feature_map : FeatureMap
        The map, such as `basis.map_`.
    dtype : {'float32', 'float64'}, default='float32'
        Type of the input.

    Returns
    -------
    bytes
        The ONNX file.

    Examples
    --------
    >>> from bochner import RandomStumps, onnx_export
    >>> basis = RandomStumps(4, random_state=0).fit([[1.0], [-1.0]])
    >>> len(onnx_export.features_to_bytes(basis.map_)) > 100
    True
    """
    require_onnx("features_to_bytes")
    from .model import build_features

    return build_features(feature_map, require_choice("dtype", dtype, ["float32", "float64"])).SerializeToString()


def require_onnx(what: str) -> None:
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise ImportError(f'{what} needs onnx: pip install "bochner[onnx]"') from None
