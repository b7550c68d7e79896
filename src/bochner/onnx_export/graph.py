"""Nodes and constants of an ONNX graph in the making. A tensor is known by its name; arrays become constants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from onnx import NodeProto, TensorProto, helper, numpy_helper

LARGEST = 2**31 - 2**20  # bytes of a protobuf message, less room for the nodes


class Graph:
    """`graph("Add", a, b)` adds a node and gives the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._bytes = 0

    def __call__(self, operator: str, *inputs: str | np.ndarray | np.generic, name: str = "", **attributes: Any) -> str:
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, value: np.ndarray | np.generic) -> str:
        array = np.asarray(value, order="C")
        self._bytes += array.nbytes
        require_room(self._bytes)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str | np.ndarray, dtype: DTypeLike) -> str:
        """A constant is stored as narrow as it is given and widened when the file is loaded."""
        if isinstance(value, np.ndarray) and value.dtype == dtype:
            return self.constant(value)
        return self("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def double(self, value: str | np.ndarray) -> str:
        return self.cast(value, np.float64)

    def integer(self, value: str | np.ndarray) -> str:
        return self.cast(value, np.int64)

    def shaped(self, value: str, *shape: int) -> str:
        """Each row of `value` in this shape."""
        return self("Reshape", value, np.array([0, *shape]))

    def columns(self, value: str, index: np.ndarray) -> str:
        return self("Gather", value, index.astype(np.int32), axis=1)

    def scaled(self, value: str, factor: float, columns: int, dtype: Any) -> str:
        """All columns times a number that is rounded to `dtype`, as the library does it.

        The number is written once for each column: onnxruntime would fold a single one into the product next to it, and
        round it to float32 there.
        """
        return self("Mul", value, np.full(columns, np.dtype(dtype).type(factor), dtype=np.float64))

    def project(self, rows: str, directions: np.ndarray) -> str:
        """rows W' in double, where sums of products of small integers are exact.

        MatMulInteger would not be: on processors without VNNI onnxruntime's saturates at 16 bits.
        """
        return self("MatMul", rows, self.double(directions.T))


def require_room(size: int) -> None:
    if size > LARGEST:
        raise ValueError(
            f"the ONNX file would hold {size / 2**30:.1f} GiB of weights, and a file of one piece holds less than "
            "2 GiB: take fewer components."
        )
