"""What a fit costs: time and memory."""

from __future__ import annotations

from .config import memory_budget


def gram_bytes(features: int) -> int:
    """Five matrices: sums of held-out rows and of the others, a part to add, centred, factored."""
    return 40 * features**2


def kernel_bytes(rows: int) -> int:
    """Six matrices of rows by rows."""
    return 48 * rows**2


def choose_exact(rows: int, features: int) -> tuple[str, str]:
    """For least squares. Fewer rows than features is the dual's case, if its matrix fits in memory."""
    budget, gram, kernel = memory_budget(), gram_bytes(features), kernel_bytes(rows)
    if rows < features and kernel <= budget:
        return "dual", f"{rows:,} rows are fewer than {features:,} features"
    if gram <= budget:
        return "cholesky", "the Gram matrix fits in memory"
    if kernel <= budget:
        return "dual", "the kernel matrix fits in memory, the Gram matrix does not"
    needs = f"{gram / 1e9:.1f} GB for the Gram and {kernel / 1e9:.1f} GB for the kernel matrix"
    return "cg", f"neither fits {budget / 1e9:.1f} GB: {needs}"
