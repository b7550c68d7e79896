"""Matrices on disk: .npy, memory-mapped, and datasets of HDF5. Columns are named by their numbers, "0", "1", ..."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...storage import first_line
from ...tables.chunk import Chunk
from ..paths import matching
from ..regroup import regroup
from .base import Choice, Table, pick_columns, stamp

if TYPE_CHECKING:
    import h5py


class Mapped(NamedTuple):
    """A .npy file, in the place of its memory map: that would be sent as all its numbers."""

    file: str


class DenseTable(Table):
    """Matrices with the same number of columns, one below the other; targets are a column, or arrays of their own."""

    def __init__(
        self, files: list[str], arrays: list[Any], targets: list[Any] | None, choice: Choice, others: list[str]
    ) -> None:
        self.files, self.arrays, self.targets = [*files, *others], arrays, targets
        for file, array in zip(files, arrays, strict=True):
            if array.ndim != 2 or array.dtype.kind not in "biuf":
                raise ValueError(
                    f"{file!r} must hold a matrix of numbers; its shape is {array.shape} of {array.dtype}."
                )
            if array.shape[1] != arrays[0].shape[1]:
                raise ValueError(f"{file!r} has {array.shape[1]} columns and {files[0]!r} has {arrays[0].shape[1]}.")
        width = arrays[0].shape[1]
        present = [str(k) for k in range(width)]
        self.target = None if targets is not None else column_number(choice.target, width)
        self.weight = column_number(choice.weight, width)
        dropped = [column_number(name, width) for name in choice.drop]
        chosen = Choice(choice.wanted, self.target, self.weight, dropped, [])
        self.names = pick_columns(present, chosen, f"{files[0]!r}")
        self.texts: list[str] = []
        kinds = {array.dtype for array in arrays}
        small = all(np.can_cast(kind, np.float32) for kind in kinds)
        eight_bits = len(kinds) == 1 and next(iter(kinds)) in (np.dtype(np.uint8), np.dtype(np.int8))
        self.dtype = str(next(iter(kinds))) if eight_bits else "float32" if small else "float64"
        self.counts = [int(array.shape[0]) for array in arrays]

    @property
    def travels(self) -> bool:  # type: ignore[override]
        """Memory maps are opened again elsewhere; a dataset of HDF5 is not."""
        return all(isinstance(array, np.memmap) for array in [*self.arrays, *(self.targets or [])])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("arrays", "targets"):
            if state[name] is not None:
                state[name] = [Mapped(str(array.filename)) for array in state[name]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("arrays", "targets"):
            if state[name] is not None:
                setattr(self, name, [map_npy(array.file) for array in state[name]])

    def sizes(self) -> list[Any]:
        return [stamp(file) for file in self.files]

    def with_target(self, name: str) -> Table:
        other = super().with_target(name)
        assert isinstance(other, DenseTable)
        other.targets = None
        return other

    def column_name(self, name: str) -> str:
        width = self.arrays[0].shape[1]
        number = str(column_number(name, width))
        if int(number) not in range(width):
            raise ValueError(f"{self.files[0]!r} has no column {name!r}; it has {width}.")
        return number

    def kept(self, names: list[str], rows: int) -> Iterator[dict[str, Any]]:
        columns = [int(self.column_name(name)) for name in names]
        for array in self.regrouped(rows):
            yield {name: array[:, column] for name, column in zip(names, columns, strict=True)}

    def regrouped(self, rows: int) -> Iterator[np.ndarray]:
        """All matrices, `rows` rows at a time."""
        pieces = ((np.array(a[k : k + rows]), None, None) for a in self.arrays for k in range(0, a.shape[0], rows))
        return (block.X for block in regroup(pieces, 0, rows))

    def chunks_of(self, piece: int, start: int, rows: int) -> Iterator[Chunk]:
        array, columns = self.arrays[piece], [int(name) for name in self.names]
        everything = columns == list(range(array.shape[1]))
        for first in range(start, array.shape[0], rows):
            try:
                block = np.array(array[first : first + rows])
            except Exception as error:  # so can a damaged dataset of HDF5
                raise ValueError(f"{self.files[piece]!r} cannot be read: {first_line(error)}") from None
            target = None if self.target is None else block[:, int(self.target)]
            if self.targets is not None:
                target = plain_text(np.array(self.targets[piece][first : first + rows]))
            weight = None if self.weight is None else block[:, int(self.weight)]
            yield Chunk(block if everything else block[:, columns], {}, target, weight)


def plain_text(values: np.ndarray) -> np.ndarray:
    """Text as HDF5 gives it, as bytes, made text."""
    if values.dtype.kind not in "SO":
        return values
    return np.array([v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist()], dtype=np.str_)


def column_number(name: str | int | None, width: int) -> str | None:
    """A column as its number in text; negative numbers count from the end."""
    if name is None:
        return None
    try:
        number = int(name)
    except ValueError:
        raise ValueError(f"columns of a matrix have numbers, 0 to {width - 1}; there is no column {name!r}.") from None
    return str(number + width if -width <= number < 0 else number)


def open_npy(files: list[str], choice: Choice) -> DenseTable:
    """Matrices in .npy files; the target is a column, or a .npy file (as many as there are matrices)."""
    arrays = [map_npy(file) for file in files]
    if not (isinstance(choice.target, str) and choice.target.endswith(".npy")):
        return DenseTable(files, arrays, None, choice, [])
    others = matching(choice.target)
    return DenseTable(files, arrays, matching_targets(files, arrays, others), choice, others)


def matching_targets(files: list[str], arrays: list[Any], names: list[str]) -> list[Any]:
    targets = [map_npy(name) for name in names]
    if len(targets) != len(arrays):
        raise ValueError(f"there are {len(arrays)} files of rows and {len(targets)} of targets.")
    for file, array, target in zip(files, arrays, targets, strict=True):
        if len(target) != len(array):
            raise ValueError(f"{file!r} has {len(array):,} rows and its targets are {len(target):,}.")
    return targets


def map_npy(file: str) -> np.ndarray:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header can raise anything
        raise ValueError(f"{file!r} cannot be read as .npy: {first_line(error)}") from None


def open_hdf5(files: list[str], choice: Choice, rows: str | None) -> DenseTable:
    """Datasets of HDF5 files: `rows` names the matrix (or it is the only one), the target is a dataset or a column."""
    try:
        import h5py
    except ImportError:
        raise ImportError('reading HDF5 needs h5py: pip install "bochner[files]"') from None
    arrays: list[Any] = []
    targets: list[Any] = []
    for file in files:
        try:
            found = datasets(h5py.File(file, "r"), h5py.Dataset)
        except Exception as error:
            raise ValueError(f"{file!r} cannot be read as HDF5: {first_line(error)}") from None
        name = rows or only_matrix(found, file)
        if name not in found:
            raise ValueError(f"{file!r} has no dataset {name!r}; it has {', '.join(map(repr, found))}.")
        arrays.append(found[name])
        target = choice.target
        if isinstance(target, str) and target not in found and targets:
            raise ValueError(f"{file!r} has no dataset {target!r}, which {files[0]!r} has.")
        if isinstance(target, str) and target in found:
            if len(targets) < len(arrays) - 1:
                raise ValueError(f"{files[0]!r} has no dataset {target!r}, which {file!r} has.")
            if found[target].shape[:1] != found[name].shape[:1]:
                raise ValueError(f"in {file!r}, {name!r} and {target!r} have different numbers of rows.")
            targets.append(found[target])
    return DenseTable(files, arrays, targets or None, choice, [])


def datasets(handle: h5py.File, kind: type) -> dict[str, Any]:
    """All datasets of a file by their paths."""
    found: dict[str, Any] = {}

    def visit(name: str, node: object) -> None:
        if isinstance(node, kind):
            found[name] = node

    handle.visititems(visit)
    return found


def only_matrix(found: dict[str, Any], file: str) -> str:
    matrices = [name for name, node in found.items() if len(node.shape) == 2]
    if len(matrices) != 1:
        some = ", ".join(map(repr, matrices)) or "none"
        raise ValueError(f"{file!r} must have one matrix, or say which with rows=: it has {some}.")
    return matrices[0]
