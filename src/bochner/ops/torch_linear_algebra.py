"""Dense linear algebra of symmetric matrices by torch, on the device of the matrix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from .linear_algebra import Factor, TridiagonalForm
from .torch_reference import defines


@defines
def symmetric_product(matrix: Tensor, columns: Tensor) -> Tensor:
    return matrix @ columns


@defines
def eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors


@defines
def eigvalsh(matrix: Tensor) -> Tensor:
    return torch.linalg.eigvalsh(matrix)


@defines
def shifted_solutions(matrices: Tensor, shifts: Tensor, columns: Tensor) -> Tensor:
    shifted = matrices.repeat(len(shifts), 1, 1, 1)
    shifted.diagonal(dim1=-2, dim2=-1).add_(shifts[:, None, None])
    lower, failed = torch.linalg.cholesky_ex(shifted)
    found = torch.cholesky_solve(columns.expand(len(shifts), *columns.shape), lower)
    return found.masked_fill_((failed != 0)[..., None, None], torch.nan)


@defines
def cholesky(matrix: Tensor, shift: float, scale: float, dtype: str) -> Factor | None:
    scaled = (matrix / scale).to(getattr(torch, dtype))
    scaled.diagonal().add_(shift / scale)
    lower, failed = torch.linalg.cholesky_ex(scaled)
    return None if int(failed) or not bool(torch.isfinite(lower.diagonal()).all()) else TorchFactor(lower, scale)


@dataclass(frozen=True, eq=False)
class TorchFactor(Factor):
    """R' of A = scale R'R as torch makes it, lower triangular."""

    lower: Tensor = field(repr=False)
    scale: float = 1.0

    def solve(self, columns: Tensor) -> Tensor:
        scaled, size = self._scaled(columns)
        return self._unscaled(torch.cholesky_solve(scaled, self.lower), size / self.scale, columns)

    def half_solve(self, columns: Tensor) -> Tensor:
        scaled, size = self._scaled(columns)
        solved = torch.linalg.solve_triangular(self.lower, scaled, upper=False)
        return self._unscaled(solved, size / self.scale**0.5, columns)

    def leading(self, rows: int) -> TorchFactor:
        return TorchFactor(self.lower[:rows, :rows], self.scale)

    @property
    def diagonal(self) -> Tensor:
        return self.lower.diagonal().double()

    @property
    def log_determinant(self) -> float:
        diagonal = self.diagonal
        return 2.0 * float(diagonal.log().sum()) + len(diagonal) * float(torch.log(torch.tensor(self.scale).double()))

    def _scaled(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Columns over their largest numbers: float32 would lose very small or large ones."""
        columns = (columns if columns.ndim == 2 else columns[:, None]).double()
        largest = columns.abs().amax(dim=0) if len(columns) else columns.new_ones(columns.shape[1])
        size = torch.where((largest > 0.0) & torch.isfinite(largest), largest, 1.0)
        return (columns / size).to(self.lower.dtype), size

    @staticmethod
    def _unscaled(solved: Tensor, size: Tensor, template: Tensor) -> Tensor:
        return (solved.double() * size).reshape(template.shape)


@defines
def tridiagonal_form(matrix: Tensor) -> TridiagonalForm:
    return EigenForm(*torch.linalg.eigh(matrix))


@dataclass(frozen=True, eq=False)
class EigenForm(TridiagonalForm):
    """A = Q diag(eigenvalues) Q'."""

    eigenvalues: Tensor
    vectors: Tensor

    def rotate(self, columns: Tensor) -> Tensor:
        return self.vectors.mT @ columns.double()

    def rotate_back(self, columns: Tensor) -> Tensor:
        return self.vectors @ columns

    def solve(self, alpha: float, rotated: Tensor) -> Tensor:
        shifted = self.eigenvalues + alpha
        if len(shifted) > 1 and not bool((shifted > 0.0).all()):  # as the factor of a tridiagonal matrix would find
            raise np.linalg.LinAlgError("the matrix is not positive definite.")
        return rotated / shifted[:, None]
