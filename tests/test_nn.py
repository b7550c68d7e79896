"""Layers are their bases when frozen, have right gradients when learnable, and travel as torch modules do."""

import doctest
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from bochner import Fastfood, GatedLinear, PatchFeatures, RandomFourier, RandomMaxout, RandomRidge, data, kernels
from helpers.cases import CASES
from helpers.places import DOCS, ROOT

pytestmark = pytest.mark.torch
NAMES = [name for name in CASES if name.startswith(("fourier", "fastfood", "maxout"))]
ODD = {
    "fourier odd": RandomFourier(31, bandwidth=1.3),
    "fourier one": RandomFourier(1, bandwidth=1.3),
    "fastfood odd": Fastfood(21, bandwidth=1.3),
    "fastfood part of an expansion": Fastfood(6, bandwidth=1.3),
    "maxout structured part": RandomMaxout(13, structured=True, pool_size=3),
}


def kinds():
    nn = pytest.importorskip("bochner.nn")
    return {RandomFourier: nn.FourierLayer, Fastfood: nn.FastfoodLayer, RandomMaxout: nn.MaxoutLayer}


def layer_of(basis, *arguments, **settings):
    return kinds()[type(basis)](basis, *arguments, **settings)


def basis_of(name):
    return clone({**CASES, **ODD}[name]).set_params(random_state=3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 5, 8])
@pytest.mark.parametrize("name", [*NAMES, *ODD])
def test_a_frozen_layer_is_its_basis(name, d, dtype):
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).standard_normal((6, d)).astype(dtype)
    basis = basis_of(name).fit(X)
    expected = basis.transform(X)
    # Rounding of a projection, which for heavy-tailed frequencies is that of a large number.
    directions = basis.map_.weights()[0] if isinstance(basis, RandomFourier) else np.eye(1, d)
    tolerance = 8.0 * np.finfo(dtype).eps * max(4.0, float(np.abs(X @ directions.T).max()))
    for learnable in (False, True):
        layer = layer_of(basis, learnable=learnable, dtype=getattr(torch, dtype))
        found = layer(torch.from_numpy(X))
        assert found.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=tolerance)
        assert bool(list(layer.parameters())) == found.requires_grad == learnable
    by_width = layer_of(basis_of(name), d, dtype=getattr(torch, dtype))(torch.from_numpy(X))
    np.testing.assert_allclose(by_width.numpy(), expected, atol=tolerance)
    deep = layer(torch.from_numpy(X.reshape(2, 3, d)))
    np.testing.assert_allclose(deep.detach().numpy().reshape(6, -1), expected, atol=tolerance)


@pytest.mark.parametrize("name", [*NAMES, *ODD])
def test_gradients(name):
    """By finite differences, for the input and for every weight."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer = layer_of(basis_of(name).set_params(n_components=11), 3, learnable=True, dtype=torch.float64)
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    names, weights = zip(*layer.named_parameters(), strict=True)

    def function(x, *weights):
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))

    assert torch.autograd.gradcheck(function, (x, *weights))


def test_the_gradient_at_zero_is_finite():
    torch = pytest.importorskip("torch")
    x = torch.zeros(2, 3, requires_grad=True)
    layer_of(RandomMaxout(8, random_state=0), 3)(x).sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("name", NAMES)
def test_state_round_trip_between_seeds_and_kinds(name, tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 4)
    learnt = layer_of(basis_of(name), 4, learnable=True)
    with torch.no_grad():
        for weights in learnt.parameters():
            weights += 0.1
    torch.save(learnt.state_dict(), tmp_path / "state")
    other = layer_of(basis_of(name).set_params(random_state=4), 4)
    assert not torch.equal(other(x), learnt(x))
    other.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    assert torch.equal(other(x), learnt(x))


@pytest.mark.parametrize("name", NAMES)
def test_moves_of_dtype_and_device(name):
    torch = pytest.importorskip("torch")
    layer = layer_of(basis_of(name), 4)
    assert layer.double()(torch.randn(2, 4, dtype=torch.float64)).dtype == torch.float64
    elsewhere = layer.float().to("meta")
    assert elsewhere(torch.empty(2, 4, device="meta")).device.type == "meta"
    made_there = layer_of(basis_of(name), 4, device="meta", dtype=torch.float64)
    assert {weights.device.type for weights in made_there.state_dict().values()} == {"meta"}


def test_a_deep_stack_learns():
    """A step of descent through three learnable layers lowers the loss, and every weight has a gradient."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = torch.sin(2 * x[:, :1]) * x[:, 1:2]
    model = torch.nn.Sequential(
        layer_of(RandomFourier(64, bandwidth=2.0, random_state=0), 6, learnable=True),
        layer_of(RandomMaxout(64, random_state=1), 64, learnable=True),
        layer_of(Fastfood(64, bandwidth=1.0, random_state=2), 64, learnable=True),
        torch.nn.Linear(64, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    assert losses[-1] < 0.2 * losses[0]
    assert all(weights.grad is not None for weights in model.parameters() if weights.numel())


def test_a_basis_can_be_fitted_to_what_the_layer_below_gives():
    torch = pytest.importorskip("torch")
    x = torch.randn(50, 3)
    first = layer_of(RandomFourier(40, random_state=0).fit(x))
    second = layer_of(RandomFourier(20, random_state=1).fit(first(x)))
    assert second(first(x)).shape == (50, 20)


def test_the_layer_keeps_its_weights_when_the_basis_is_fitted_again():
    basis = RandomFourier(4, bandwidth=1.0, random_state=0).fit(np.eye(3))
    layer = layer_of(basis)
    basis.fit(np.eye(5))
    assert layer.basis.n_features_in_ == layer.in_features == 3


@pytest.mark.parametrize(
    ("basis", "arguments", "message"),
    [
        (RandomFourier(4), (3,), "bandwidth='median' is learned from rows: fit the basis first"),
        (RandomFourier(4, bandwidth=1.0), (), "the basis is not fitted: fit it, or say how many columns"),
        (RandomFourier(4, bandwidth=1.0), (0,), "in_features must be an integer of at least 1; got 0."),
        (RandomFourier(4, bandwidth=1.0).fit(np.eye(3)), (5,), "the basis was fitted to 3 columns, not to 5."),
        (RandomFourier(4, bandwidth=1.0, precision="int8"), (3,), "precision='int8' has no gradient"),
    ],
)
def test_what_cannot_be_a_layer_is_refused(basis, arguments, message):
    with pytest.raises(ValueError) as caught:
        layer_of(basis, *arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["fourier", "fastfood", "maxout", "maxout shared", "maxout structured"])
def test_inputs_of_another_width_are_refused(name):
    torch = pytest.importorskip("torch")
    for columns in (4, 6, 9):
        with pytest.raises(ValueError, match=f"the layer takes 5 columns; the input has {columns}."):
            layer_of(basis_of(name), 5)(torch.ones(2, columns))


def test_other_bases_are_refused_and_kernels_may_bring_their_bandwidth():
    nn = pytest.importorskip("bochner.nn")
    with pytest.raises(ValueError, match="made from a RandomFourier; got RandomRidge"):
        nn.FourierLayer(RandomRidge(4), 3)
    assert nn.FourierLayer(RandomFourier(4, kernel=kernels.Gaussian(2.0)), 3).out_features == 4


def test_docstring_examples():
    assert doctest.testmod(pytest.importorskip("bochner.nn")).failed == 0


def test_code_of_the_page_runs():
    page = DOCS / "nn.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    exec(compile(block, "nn.md", "exec"), {})


def test_the_example_runs():
    """A few steps on a few pictures are better than chance."""
    if not (data.folder() / "mnist").is_dir():
        pytest.skip("MNIST is not here: set BOCHNER_DATA")
    example = ROOT / "examples" / "mnist_minibatch.py"
    command = [sys.executable, example, "--rows", "500", "--epochs", "1", "--expansions", "1"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["softmax on pixels", "1 expansions"]
    assert all(float(line.split()[-1]) > 0.4 for line in lines)


# ---- pictures ----


@pytest.mark.parametrize("inner", [None, RandomMaxout(), RandomRidge(activation="relu"), GatedLinear(pool_size=2)])
@pytest.mark.parametrize("pooling", ["auto", "max"])
def test_a_patch_layer_is_its_basis_and_has_its_slopes(inner, pooling):
    torch, nn = pytest.importorskip("torch"), pytest.importorskip("bochner.nn")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (30, 48)).astype(np.float64)
    X[0] = 5.0  # a blank picture
    basis = PatchFeatures(
        inner, image_shape=(4, 6, 2), patch_size=2, grid=2, n_filters=5, pooling=pooling, random_state=0
    ).fit(X)
    layer, x = nn.PatchLayer(basis, dtype=torch.float64), torch.tensor(X.reshape(3, 10, 48), requires_grad=True)
    made = layer(x)
    np.testing.assert_allclose(made.detach().numpy().reshape(30, -1), basis.transform(X), rtol=1e-9, atol=1e-10)
    (made @ torch.arange(made.shape[-1], dtype=torch.float64)).sum().backward()
    assert torch.isfinite(x.grad).all()
    if pooling == "auto" and inner is None:
        slopes = basis.map_.slopes(X[1:], np.arange(made.shape[-1], dtype=np.float64)[:, None])[:, :, 0]
        np.testing.assert_allclose(x.grad.reshape(30, 48)[1:].numpy(), slopes, rtol=1e-6, atol=1e-8)
    learnable = nn.PatchLayer(basis, learnable=True, dtype=torch.float64)
    learnable.load_state_dict(layer.state_dict())
    learnable(x.detach()).square().mean().backward()
    assert any(weights.grad is not None for weights in learnable.parameters())  # gates that open have no slope


def test_a_patch_layer_needs_fitted_floats():
    nn = pytest.importorskip("bochner.nn")
    basis = PatchFeatures(image_shape=(4, 6), patch_size=2, grid=1, n_filters=2, random_state=0)
    with pytest.raises(ValueError, match="fitted to pictures"):
        nn.PatchLayer(basis)
    with pytest.raises(ValueError, match="in floats"):
        nn.PatchLayer(basis.set_params(precision="int8").fit(np.arange(240.0).reshape(10, 24)))
