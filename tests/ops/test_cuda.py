"""Kernels of GPUs at every size for which they hold numbers in another way; interpreted where there is no GPU."""

import numpy as np
import pytest

from bochner import ops
from bochner.arrays import like, to_numpy
from helpers.devices import DEVICE, KERNELS

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not KERNELS, reason="there is no GPU, and TRITON_INTERPRET is not 1"),
]


def kernels():
    ops.dispatch.load_torch()
    return ops.BACKENDS["cuda"].versions


def definitions():
    return ops.BACKENDS["torch"].versions


def agree(name, rows, *arguments, tolerance=0.0):
    """A kernel takes the arguments, and gives what the definition gives."""
    (version,) = kernels()[name]
    given = tuple(like(part, rows) if isinstance(part, np.ndarray) else part for part in arguments)
    assert version.takes(rows, *given)
    found, expected = version.function(rows, *given), definitions()[name][0].function(rows, *given)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if tolerance:
        assert float((found - expected).abs().max()) < tolerance
    else:
        assert torch.equal(found, expected)


@pytest.mark.parametrize("power", range(5, 17))
@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_hadamard_transforms_of_every_size_have_the_bits_of_the_definition(power, dtype):
    if dtype == "bfloat16" and (power == 5 or not DEVICE.startswith("cuda")):
        pytest.skip("pairs of bfloat16 numbers are added by an instruction of GPUs, in rows of 64 or more")
    rng = np.random.default_rng(power)
    n = 3 if power > 10 else (1 << (11 - power)) + 1  # a program and a row of another one
    numbers = torch.from_numpy(np.rint(9 * rng.standard_normal((n, 1 << power))) if dtype == "int32" else
                               rng.standard_normal((n, 1 << power)))  # fmt: skip
    rows = numbers.to(getattr(torch, dtype)).to(DEVICE)
    agree("fwht", rows)
    agree("fwht", rows[::2])  # rows apart


def test_hadamard_transforms_of_float16_are_those_of_float32_rounded_once():
    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((4, 1 << 13))).to(torch.float16).to(DEVICE)
    (version,) = kernels()["fwht"]
    exact = definitions()["fwht"][0].function(rows.float())
    assert torch.equal(version.function(rows), exact.half())


def test_hadamard_transforms_of_rows_anywhere_in_memory():
    """Rows that begin between lines of 16 bytes: whichever way the compiler takes, the bits are the same."""
    numbers = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 2050)).astype(np.float32)).to(DEVICE)
    agree("fwht", numbers[:, 2:])
    agree("fwht", numbers[:, 1:-1])


@pytest.mark.parametrize(
    ("size", "d", "kept"),
    [(32, 32, 64), (64, 51, 77), (512, 500, 1024), (1024, 1000, 2048), (1024, 999, 1500), (2048, 1026, 2048),
     (4096, 4095, 8000), (8192, 6000, 8192), (32768, 20000, 32768)],
)  # fmt: skip
def test_fastfood_of_every_size(size, d, kept):
    """Kept columns that end within an expansion or not, odd numbers of inputs, rows that several warps share."""
    rng = np.random.default_rng(size + d)
    expansions, n = -(-kept // size), 3 if size > 1024 else 19
    order = np.stack([rng.permutation(size) for _ in range(expansions)]).astype(np.int32)
    gaussian = rng.standard_normal((expansions, size)).astype(np.float32)
    weights = rng.choice([-1, 1], (expansions, size)).astype(np.int8), order, gaussian, np.abs(gaussian) / size
    x = like(rng.standard_normal((n, d)).astype(np.float32), torch.zeros(1, device=DEVICE))
    phases = rng.uniform(0, 6, 5).astype(np.float32)
    agree("fastfood", x, *weights)
    agree("fastfood_cos_sin", x, *weights, kept, phases[:0], 0.5, tolerance=1e-5)
    agree("fastfood_cos_sin", x, *weights, kept, phases, 0.5, tolerance=1e-5)
    assert to_numpy(x).shape == (n, d)


@pytest.mark.parametrize(("dtype", "m", "n"), [("int8", 40, 100), ("int8", 130, 65), ("bfloat16", 65, 33)])
def test_a_triangle_is_added_tile_by_tile(dtype, m, n):
    """Ragged tiles on and above the diagonal, their mirror images, and rows that end within a lot."""
    if dtype == "bfloat16" and not DEVICE.startswith("cuda"):
        pytest.skip("the interpreter multiplies no bfloat16 numbers")
    triangles = pytest.importorskip("bochner.ops.cuda.triangles")
    rng = np.random.default_rng(m)
    z = torch.from_numpy(rng.integers(-128, 128, (m, n + -n % 16))).to(getattr(torch, dtype)).to(DEVICE)[:, :n]
    before = torch.from_numpy(rng.integers(-9, 9, (m, m))).to(DEVICE)
    total = (before + before.T).to(torch.int64 if dtype == "int8" else torch.float64)
    expected = total.double() + z.double() @ z.double().T
    triangles.add_triangle(total, z, triangles.Tile(64, 64, 64, 4, 2) if DEVICE.startswith("cuda") else
                           triangles.Tile(16, 64, 32, 4, 2))  # fmt: skip
    assert torch.equal(total.double(), expected)


@pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="of so many columns only a GPU makes tiles in time")
@pytest.mark.parametrize("m", [4096, 5003])
def test_gram_matrices_of_many_columns(m):
    rng = np.random.default_rng(m)
    z = torch.from_numpy(rng.integers(-128, 128, (3000, m)).astype(np.int8)).to(DEVICE)
    expected = (z.double().T @ z.double()).long()
    total = expected.clone()
    assert torch.equal(ops.gram(z), expected)
    assert torch.equal(ops.gram(z, total), 2 * expected)
    few = (z >> 4).bfloat16()  # whose sums float32 holds exactly
    assert torch.equal(ops.float_gram(few, True), few.double().T @ few.double())


def test_products_in_halves_hold_four_digits():
    """Columns of very different sizes, weights, and a column of zeros."""
    rng = np.random.default_rng(0)
    z = torch.from_numpy(rng.integers(-127, 128, (500, 300)).astype(np.int8)).to(DEVICE)
    v = torch.from_numpy(rng.standard_normal((300, 4)) * np.array([1e-30, 1.0, 1e30, 0.0])).to(DEVICE)
    weight = torch.from_numpy(rng.uniform(0, 2, 500)).to(DEVICE)
    for w in (None, weight):
        found = kernels()["normal_product"][0].function(z, v, w)
        expected = definitions()["normal_product"][0].function(z, v, w)
        errors = (found - expected).norm(dim=0) / expected.norm(dim=0).clamp(min=1e-300)
        assert 0 < float(errors[:3].max()) < 2e-5 and float(errors[3]) == 0


def test_fast_cosines_and_sines_of_large_angles():
    """To the last bits of the angles themselves, up to thousands of turns."""
    rng = np.random.default_rng(0)
    ones = np.ones((1, 64), np.float32)
    weights = np.ones((1, 64), np.int8), np.arange(64, dtype=np.int32)[None], ones, ones / 64
    x = torch.from_numpy((3000 * rng.standard_normal((50, 64))).astype(np.float32)).to(DEVICE)
    agree("fastfood_cos_sin", x, *weights, 64, np.zeros(0, np.float32), 1.0, tolerance=5e-3)


@pytest.mark.parametrize("n", [1, 16, 77])
def test_the_largest_of_chosen_columns_wherever_they_are_in_memory(n):
    """Columns side by side or apart, on lines or not, up to the last byte that there is."""
    rng = np.random.default_rng(n)
    choices = torch.from_numpy(rng.integers(0, 9, (40, 3))).to(DEVICE)
    room = torch.from_numpy(rng.integers(-128, 128, (9, 96)).astype(np.int8)).to(DEVICE)
    for values in (room[:, :n].mT, room[:, 96 - n :].mT, room[:, 1 : 1 + n].mT, room[:, :n].mT.contiguous()):
        agree("largest_chosen", values, choices)
