"""Every op of every backend against numpy's definition; the choice of a backend by the array."""

import subprocess
import sys
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner import ops, streams
from bochner.arrays import like, to_numpy
from helpers.backend_battery import check_all_examples, check_every_version_is_tried, check_op, some_rows, version_for
from helpers.devices import DEVICE, KERNELS, tensor
from helpers.op_examples import ALGEBRA, EXAMPLES
from helpers.toy_backend import TOY


@pytest.fixture(autouse=True, scope="module")
def toy():
    ops.register(TOY)
    yield TOY
    ops.unregister(TOY)


@lru_cache(maxsize=2)
def examples(name, seed):
    return tuple(EXAMPLES[name](np.random.default_rng(seed)))


def backend_of(name):
    if name in ("torch", "cuda"):
        pytest.importorskip("torch")
        ops.dispatch.load_torch()
    return ops.BACKENDS[name]


# Named here, because only who has torch can ask the backend.
ON_GPUS = (
    "cross", "dense_cos_sin", "dense_maxout", "dense_winners", "distances", "fastfood", "fastfood_cos_sin",
    "float_gram", "fwht", "gram", "largest_chosen", "normal_int8", "normal_product", "patches", "pooled_maxout",
    "pooled_threshold",
    "project", "project_cos_sin", "project_lookup", "project_maxout", "project_threshold", "project_winners",
    "shifted_solutions", "standardize",
)  # fmt: skip
HERE = (ops.native.BACKEND, ops.dispatch.REFERENCE, TOY)
SERVED = [
    *((backend.name, name) for backend in HERE for name in backend.versions),
    *(pytest.param("torch", name, marks=pytest.mark.torch) for name in ops.OPS),
    *(pytest.param("cuda", name, marks=pytest.mark.torch) for name in ON_GPUS if KERNELS),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "name"), SERVED)
def test_an_op_equals_its_definition(backend, name):
    interpreted = backend == "cuda" and not DEVICE.startswith("cuda")  # slowly, so only some of them
    check_all_examples(backend_of(backend), name, 5 if interpreted else 1)
    check_every_version_is_tried(backend_of(backend), name)


@pytest.mark.parametrize(
    ("backend", "name"), SERVED if DEVICE.startswith("cuda") else SERVED[: len(SERVED) - len(ON_GPUS) * KERNELS]
)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_an_op_equals_its_definition_for_any_rows(backend, name, data):
    """Any numbers, shapes and dtypes of the examples; any rows of them, one after the other or apart."""
    seed = data.draw(st.integers(1, 2))
    arguments = examples(name, seed)[data.draw(st.integers(0, len(examples(name, seed)) - 1))]
    n = len(arguments[0])
    if n:
        start, step = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, 3))
        arguments = some_rows(name, arguments, slice(start, data.draw(st.integers(start + 1, n)), step))
    if data.draw(st.booleans()) and name not in ALGEBRA and name != "phase":  # which takes the bits of neighbours
        arguments = (np.asfortranarray(arguments[0]), *arguments[1:])
    check_op(backend_of(backend), name, arguments, seed)


@pytest.mark.torch
@pytest.mark.skipif(not KERNELS, reason="there is no GPU, and TRITON_INTERPRET is not 1")
def test_the_ops_of_gpus_are_tested():
    assert set(backend_of("cuda").versions) == {*ON_GPUS, "cholesky"}  # which test_cuda_factors.py holds to its error


@pytest.mark.torch
def test_torch_defines_every_op():
    assert set(backend_of("torch").versions) == set(ops.OPS)


def test_a_backend_is_chosen_by_what_it_takes(toy):
    """By dtype, layout and the rest of the arguments; what it does not take goes to the definition."""
    called = []

    @toy.serves("winners", dtypes=("float32",), when=lambda x, q: q > 1, note="pools of 2 or more")
    def winners(x, q):
        called.append(q)
        return ops.reference.winners(x, q)

    x = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    try:
        with ops.backend_context("toy"):
            for array, q in ((x, 2), (x, 1), (x.astype(np.float64), 2), (x, 3)):
                assert np.array_equal(ops.winners(array, q), ops.reference.winners(array, q))
            assert ops.describe()["ops"]["winners"] == "toy for float32 (pools of 2 or more); else reference"
            assert ops.describe()["ops"]["fwht"] == "reference"
        assert called == [2, 3]
        with ops.backend_context("reference"):
            ops.winners(x, 2)
        assert called == [2, 3]
    finally:
        del toy.versions["winners"]


def test_a_backend_that_is_forgotten_serves_no_more(toy):
    with ops.backend_context("toy"):
        assert ops.has_fast("maxout")
        assert not ops.has_fast("fwht")
        assert ops.tiles_for(np.zeros(1)) is toy.tiles
    with ops.backend_context("reference"):
        assert not ops.has_fast("maxout")
    ops.unregister(toy)
    with pytest.raises(ValueError, match="'toy' is not one of native, reference"):
        ops.use_backends("toy")
    ops.register(toy)


@pytest.mark.skipif(not ops.native.INSTALLED, reason="the extension is not installed")
def test_native_says_where_the_definition_takes_over():
    """What it does not take, it refuses by saying so, not by calling numpy in silence."""
    with ops.backend_context("native"):
        told = ops.describe()["ops"]
    assert told["project"] == "native for int8, uint8; else reference"
    assert told["gram"] == "native for int8, int16 (int16 within 8191; added to C-ordered int64); else reference"
    assert "float64 (cosines by numpy)" in told["fastfood_cos_sin"]
    assert told["phase"] == "reference"
    native = ops.BACKENDS["native"]
    wide = np.full((3, 2), 8192, np.int16)
    assert version_for(native, "gram", (wide,)) is None
    assert version_for(native, "gram", (wide - 1,)) is not None
    assert version_for(native, "gram", (wide.astype(np.float32),)) is None
    assert version_for(native, "scores", (wide, np.zeros((2, 65)))) is None


@pytest.mark.torch
def test_tensors_have_no_other_backend_than_torch():
    torch = pytest.importorskip("torch")
    z = torch.ones(5, 3, dtype=torch.int8, device=DEVICE)
    for names in (("native",) if ops.native.INSTALLED else (), ("reference",), ("torch",)):
        with ops.backend_context(*names):
            assert isinstance(ops.gram(z), torch.Tensor)
            assert isinstance(ops.gram(to_numpy(z)), np.ndarray)
            assert ops.describe()["torch"]["gram"].endswith("torch (dense; sparse is refused)")
    with pytest.raises(LookupError, match="the op 'gram' for sparse float32 arrays of torch"):
        ops.gram(torch.ones(5, 3).to_sparse())
    assert isinstance(ops.gram(torch.ones(5, 3)), torch.Tensor)


@pytest.mark.torch
def test_weights_may_be_arrays_and_are_put_where_the_rows_are():
    """Arrays that cannot be written too, without a warning; a subclass of tensors is a tensor."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, w, phases = rng.standard_normal((4, 3)), rng.standard_normal((5, 3)), np.zeros(1)
    w.flags.writeable = False
    expected = ops.dense_cos_sin(x, w, phases, np.float64(0.5))
    for rows in (tensor(x), torch.nn.Parameter(tensor(x))):
        found = ops.dense_cos_sin(rows, w, phases, np.float64(0.5))
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-12, atol=1e-12)
    assert like(np.float32(2), torch.ones(1)).dtype == torch.float32


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int8"])
def test_rows_of_tensors_have_the_hashes_of_arrays(dtype):
    """Bit for bit: the folds of a fit do not hang on the library of its rows."""
    pytest.importorskip("torch")
    from bochner.ops.torch_reference import row_words

    x = (40 * np.random.default_rng(0).standard_normal((500, 7))).astype(dtype)
    x[3:6], x[7, 2] = x[2], 0
    expected = streams.row_hashes(-x if dtype == "float64" else x)
    found = row_words(tensor(-x if dtype == "float64" else x))
    assert np.array_equal(to_numpy(found).view(np.uint64), expected)
    for folds in (2, 3, 5, 1000):
        assert np.array_equal(to_numpy(ops.row_folds(tensor(x), folds)), ops.row_folds(x, folds))


@pytest.mark.torch
def test_torch_refuses_what_numpy_refuses():
    torch = pytest.importorskip("torch")
    with pytest.raises(ops.NotFiniteError):
        ops.stumps(torch.tensor([[float("nan")]]), np.zeros(1, np.int32), np.zeros(1, np.float32), np.int8(1))
    with pytest.raises(ValueError, match="the sums are of 3 columns"):
        ops.gram(torch.ones(5, 3, dtype=torch.int8), torch.zeros(4, 4, dtype=torch.int64))
    with pytest.raises(TypeError):
        ops.gram(torch.ones(5, 3), torch.zeros(3, 3, dtype=torch.int64))


@pytest.mark.torch
def test_torch_is_loaded_with_the_first_tensor_and_not_before():
    pytest.importorskip("torch")
    code = (
        "import sys, numpy as np\nfrom bochner import ops\n"
        "ops.gram(np.ones((3, 2))); assert 'torch' not in ops.describe()\n"
        "assert 'torch' not in sys.modules and 'bochner.ops.torch_reference' not in sys.modules\n"
        "import torch\nassert ops.gram(torch.ones(3, 2)).shape == (2, 2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
