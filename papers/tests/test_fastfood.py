"""What the McKernel and the learned-frequency experiments are built of: known answers and invariances."""

import time

import numpy as np
import pytest
from scipy.io import savemat
from scipy.optimize import check_grad

from bochner import LearnedFourierClassifier, data
from bochner.bench import time_shape
from bochner.solvers import SGD
from bochner_papers.learned_frequencies import aerosol, census, descents, entropy, pictures, small_data, spoken_digits
from bochner_papers.learned_frequencies.network import FourierNetwork
from bochner_papers.mckernel import minibatch, transform_speed
from bochner_papers.mckernel.pixel_softmax import PixelSoftmax
from bochner_papers.sound import hertz, log_mel_frames, mel, mel_bands

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = (np.sin(X[:, 0]) * X[:, 1] > 0).astype(int)


# ---- McKernel ----


def test_the_library_walks_as_plain_cosines_do():
    """Whole batches, so that no order of rows matters: the same coefficients but for the factor of the features."""
    split = minibatch.small_digits().first(200, 10)
    model = minibatch.kernel_model(64, 1)
    model.set_params(solver=SGD(**{**vars(model.solver), "batch_size": 200}))
    frequencies = 64
    plain = PixelSoftmax(learning_rate=minibatch.RATE, batch_size=200, bias=False)
    for _ in range(3):
        model.partial_fit(split.X, split.y, classes=np.arange(10))
        raw = np.sqrt(frequencies) * minibatch.features(64, 1).fit(split.X).transform(split.X).astype(np.float64)
        plain.partial_fit(raw, split.y, classes=np.arange(10))
    np.testing.assert_allclose(model.coef_ / np.sqrt(frequencies), plain.state["x"][:-1].T, rtol=1e-3, atol=1e-7)
    assert np.abs(plain.state["x"]).max() > 1e-4
    assert (model.intercept_ == 0).all()
    assert (plain.state["x"][-1] == 0).all()


def test_softmax_on_pixels_has_the_right_gradient():
    model = PixelSoftmax().partial_fit(X, Y)
    shape = model.state["x"].shape
    codes = np.where(Y[:, None] == [0, 1], 1.0, -1.0)

    def at(flat):
        model.state["x"] = flat.reshape(shape)
        return model

    def loss(flat):
        scores = at(flat).decision_function(X)
        return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(Y)), Y])

    start = RNG.standard_normal(shape[0] * shape[1])
    assert check_grad(loss, lambda flat: at(flat).gradient(X, codes).ravel(), start) < 1e-6


def test_numbers_that_are_learned():
    split = minibatch.small_digits()
    assert minibatch.learned_numbers(split, 2) == 10 * (2 * 64 * 2 + 1)
    assert [minibatch.padded(d) for d in (1, 64, 65, 784)] == [1, 64, 128, 1024]


def test_claims_of_the_figures_can_fail():
    split, names = minibatch.small_digits(), {1: "1 expansion", 2: "2 expansions"}
    worse = {"pixels": 3.0, "1 expansion": 4.0, "2 expansions": 5.0, "small network": 2.0}
    more, pixels, network, count = minibatch.claims(worse, names, split)
    assert [claim.verdict for claim in (more, pixels, network, count)] == ["does not hold"] * 3 + ["holds"]
    close = minibatch.comparable({**worse, "small network": 3.9}, names, 500)
    assert close.holds is None
    assert minibatch.comparable({**worse, "small network": 4.1}, names, 500).holds


def test_times_of_transforms():
    entries = time_shape(4, 256, np.float32, least=0.0, definition=True)
    assert {"numpy", "touch"} <= {entry.who for entry in entries}
    assert "numpy" not in {entry.who for entry in time_shape(4, 256, np.float32, least=0.0)}
    assert all(entry.seconds > 0 for entry in entries)
    assert transform_speed.together(10) == 32
    assert transform_speed.together(20) == 1
    assert transform_speed.compared(20, 1.0).verdict == "better"
    assert transform_speed.compared(10, 0.001).verdict == "agrees"
    times, kinds = {"a": 2.0, "b": 1.0, "numpy": 0.5}, {"a": "ours", "b": "ours", "numpy": "peer"}
    assert transform_speed.own(times, kinds) == 2.0  # not the best of ours, which would have had two tries
    assert transform_speed.best_peer(times, kinds)[0] == ""
    assert transform_speed.best_peer({**times, "c": 3.0}, {**kinds, "c": "peer"}) == ("c", 3.0)


# ---- learned frequencies ----


def test_gradient_of_the_network():
    network = FourierNetwork(5, 4, alpha=0.1, frequency_alpha=0.02)
    start = network.random_start(RNG)
    value, slope = (lambda v: network.objective(v, X, Y)[0]), (lambda v: network.objective(v, X, Y)[1])
    assert check_grad(value, slope, start) < 1e-6
    rows = [network.objective(start, X[k : k + 1], Y[k : k + 1])[1] for k in range(len(Y))]
    np.testing.assert_allclose(np.mean(rows, axis=0), slope(start), atol=1e-12)  # equation 9 is a share of equation 4


def test_the_network_is_that_of_the_library():
    model = LearnedFourierClassifier(
        10, loss="squared_probability", fit_intercept=False, alpha=0.01, frequency_alpha=0.003, max_iter=5,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    network = FourierNetwork(5, 4, alpha=0.01, frequency_alpha=0.003)
    coefficients = np.ravel(model.coef_)
    vector = np.concatenate([coefficients[0::2], coefficients[1::2], model.frequencies_.ravel()])
    np.testing.assert_allclose(network.objective(vector, X, Y)[0], model.objective_, rtol=1e-10)
    np.testing.assert_allclose(network.outputs(vector, X), model.predict_proba(X)[:, 1], rtol=1e-10)
    assert network.error(vector, X, Y) == pytest.approx(100 * (1 - model.score(X, Y)))


def watched(name, network, start, levels, rows=slice(None)):
    return descents.descend(name, descents.Watch(network, X[rows], Y[rows], levels, 1.0), start)


@pytest.mark.parametrize("name", descents.DESCENTS)
def test_descents(name):
    """Each ends at the last level it reaches, in the order of the levels, and leaves its start as it was."""
    network = FourierNetwork(2, 4)
    start = network.random_start(np.random.default_rng(1))
    before, first = start.copy(), network.objective(start, X, Y)[0]
    seen = watched(name, network, start, [0.99 * first, 0.9 * first])
    assert np.array_equal(start, before)
    assert seen.best <= 0.9 * first
    for (_, vector), level in zip(seen.reached, (0.99, 0.9), strict=True):
        assert network.objective(vector, X, Y)[0] <= level * first
    assert seen.reached[0][0] <= seen.reached[1][0]


def test_a_descent_ends_with_its_time():
    network = FourierNetwork(3, 4)
    seen = descents.Watch(network, X, Y, [0.0], 0.05)
    begun = time.process_time()
    descents.descend("gradient descent", seen, network.random_start(np.random.default_rng(2)))
    assert 0.05 <= time.process_time() - begun < 0.5
    assert seen.reached == []


def test_one_row_at_a_time_is_gradient_descent_on_one_row():
    network = FourierNetwork(3, 4)
    start = network.random_start(np.random.default_rng(2))
    level = [0.8 * network.objective(start, X[:1], Y[:1])[0]]
    one, other = (
        watched(n, network, start, level, slice(1)) for n in ("gradient descent", "stochastic gradient descent")
    )
    np.testing.assert_allclose(one.vector, other.vector, rtol=1e-12)


def test_the_share_of_chance_in_a_covariance():
    """Frequencies of a round law have a diagonal sqrt(pi m/2) times the rest: 12.5 for a hundred."""
    frequencies = np.random.default_rng(0).standard_normal((100, 108))
    seen = pictures.Picture(frequencies.T @ frequencies / 100, np.ones(2), np.ones((1, 2)), 0.0, 0.0)
    assert seen.ratio == pytest.approx(np.sqrt(50 * np.pi), rel=0.03)
    assert seen.diagonal == pytest.approx(1.0, rel=0.05)
    skewed = frequencies * np.where(np.arange(100) % 2, 1.0, 0.0)[:, None] + np.ones(108)
    assert pictures.Picture(skewed.T @ skewed / 100, np.ones(2), np.ones((1, 2)), 0.0, 0.0).ratio < 3


def test_rows_of_the_census(monkeypatch):
    rows = np.hstack([RNG.normal(5.0, 3.0, (50, 6)), RNG.integers(0, 2, (50, 3))])
    monkeypatch.setattr(data, "adult", lambda form: data.Split(rows[:40], np.ones(40), rows[40:], np.ones(10)))
    split = census.census(quick=False)
    np.testing.assert_allclose(split.X[:, :6].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.X[:, :6].std(axis=0), 1)
    assert np.array_equal(split.X[:, 6:], rows[:40, 6:])
    assert np.array_equal(split.X_test[:, 6:], rows[40:, 6:])


def test_halves_are_apart():
    split = small_data.halves(np.arange(40.0)[:, None], np.arange(40), 3)
    assert sorted([*split.y, *split.y_test]) == list(range(40))
    assert abs(split.X.mean()) < 1e-12


# ---- bags ----


def test_entropies():
    """The target is the entropy of the Gaussian that the points come from: the plain estimate of it has no bias."""
    bags, y = entropy.rotated_gaussians(400, 500, np.random.default_rng(0))
    errors = entropy.plug_in(bags) - y
    assert abs(errors.mean() + 0.5 / 500) < 4 * errors.std() / 20  # the logarithm of a variance is 1/n low
    assert errors.std() == pytest.approx(np.sqrt(2 / 500) / 2, rel=0.15)
    low, high = (0.5 * np.log(2 * np.pi * np.e * v) for v in (0.15, 1.0))
    assert low <= y.min() < y.max() <= high


def aerosol_pixels():
    table = RNG.standard_normal((6, 18))
    table[:, 0], table[:, 17] = [2, 1, 2, 1, 2, 1], [0.5, 0.25, 0.5, 0.25, 0.5, 0.25]
    return table


@pytest.mark.parametrize("name", ["MISR1.mat", "MISR1.csv"])
def test_aerosol_bags(tmp_path, monkeypatch, name):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"put the aerosol bags .* there"):
        data.aerosol()
    (tmp_path / "aerosol").mkdir()
    table, path = aerosol_pixels(), tmp_path / "aerosol" / name
    if path.suffix == ".mat":
        savemat(path, {"MISR1": table})
    else:
        np.savetxt(path, table, delimiter=",")
    bags, y = data.aerosol()
    assert y.tolist() == [0.25, 0.5]
    np.testing.assert_allclose(bags[0], table[1::2, 1:17])
    np.testing.assert_allclose(bags[1], table[0::2, 1:17])


def test_aerosol_tables_that_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    (tmp_path / "aerosol").mkdir()
    savemat(tmp_path / "aerosol" / "MISR1.mat", {"other": np.ones(3)})
    with pytest.raises(ValueError, match="has no table MISR1"):
        data.aerosol()
    for wrong, message in ((np.ones((4, 17)), "has 18 columns"), (aerosol_pixels() * RNG.random(18), None)):
        if message is None:
            wrong[0, 17], message = 9.0, "different optical depths"
        savemat(tmp_path / "aerosol" / "MISR1.mat", {"MISR1": wrong})
        with pytest.raises(ValueError, match=message):
            data.aerosol()


def test_bags_are_parted():
    labelled = data.LabelledBags([np.full((2, 1), k) for k in range(10)], np.arange(10))
    parts = aerosol.parted(labelled, 7)
    assert len(parts.train) == 7
    assert sorted([*parts.y, *parts.y_test]) == list(range(10))
    assert all(bag[0, 0] == y for bag, y in zip(parts.train + parts.test, [*parts.y, *parts.y_test], strict=True))
    points = np.concatenate(parts.standardized().train)
    assert abs(points.mean()) < 1e-12
    assert points.std() == pytest.approx(1.0)


def test_recordings(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    (tmp_path / "fsdd").mkdir()
    signals = [np.arange(300, dtype=np.int16), np.arange(500, dtype=np.int16), np.arange(400, dtype=np.int16)]
    np.savez(
        tmp_path / "fsdd" / "fsdd_8khz_int16.npz", signal=np.concatenate(signals), length=[300, 500, 400],
        digit=[3, 1, 4], index=[4, 5, 0],
    )  # fmt: skip
    found = data.spoken_digits()
    assert [len(s) for s in found.signals] == [300, 500, 400]
    assert found.is_test.tolist() == [True, False, True]
    bags = spoken_digits.spoken()
    assert bags.y.tolist() == [1]
    assert bags.y_test.tolist() == [3, 4]
    assert bags.train[0].shape == (4, 40)  # frames of 200 samples, 80 apart


def test_frames_of_a_tone():
    seconds = np.arange(4000) / 8000
    centres = hertz(np.linspace(0, mel(4000), 22))[1:-1]
    for band in (4, 10, 17):
        frames = log_mel_frames(np.sin(2 * np.pi * centres[band] * seconds), 8000)
        assert frames.shape == (48, 20)
        assert (frames.argmax(axis=1) == band).all()
    louder = log_mel_frames(3.0 * np.sin(700 * seconds), 8000)
    np.testing.assert_allclose(louder - log_mel_frames(np.sin(700 * seconds), 8000), 2 * np.log(3.0))
    assert log_mel_frames(np.ones(50), 8000).shape == (1, 20)
    assert np.isfinite(log_mel_frames(np.zeros(500), 8000)).all()


def test_mel_bands_share_every_frequency():
    bands = mel_bands(12, 512, 8000)
    frequencies, centres = np.arange(257) * 8000 / 512, hertz(np.linspace(0, mel(4000), 14))
    inside = (frequencies >= centres[1]) & (frequencies <= centres[-2])
    np.testing.assert_allclose(bands[:, inside].sum(axis=0), 1.0)
    assert (bands >= 0).all()
    assert mel(1000.0) == pytest.approx(1000.0, rel=1e-3)
    assert hertz(np.array(mel(440.0))) == pytest.approx(440.0)
