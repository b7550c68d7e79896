"""The pieces of the maxout experiments: nested least squares, sound, labels, decoding, scoring, readers."""

import io
import itertools
import wave

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from bochner import RandomMaxout
from bochner.moments import Moments
from bochner_papers.maxout.faces import order_found
from bochner_papers.maxout.phones import corpus, frames, labels, synthetic
from bochner_papers.maxout.phones.decoding import STATES, Grammar, best_path, phones_of
from bochner_papers.maxout.phones.recognition import Task
from bochner_papers.maxout.phones.scoring import edit_distance, phone_error_rate
from bochner_papers.maxout.prefixes import fit_prefixes
from bochner_papers.sound import mel_bands

# ---- least squares on prefixes ----


@pytest.mark.parametrize("intercept", [True, False])
def test_prefixes_are_ridge(intercept):
    """Each model is that of the first columns alone."""
    X, y = load_digits(return_X_y=True)
    codes = np.where(y[:, None] == np.arange(10), 1, -1).astype(np.int8)
    features = RandomMaxout(60, center=False, precision="int8", random_state=0).fit_transform(X.astype(np.uint8))
    models = fit_prefixes(Moments.of(features, codes), (5, 20, 60), 1e-2, intercept)
    wide = features.astype(np.float64)
    spread = wide - wide.mean(axis=0) if intercept else wide
    alpha = 1e-2 * np.mean(np.sum(spread**2, axis=0))
    for k, model in models.items():
        expected = Ridge(alpha=alpha, fit_intercept=intercept, solver="cholesky").fit(wide[:, :k], codes)
        assert np.allclose(model.coefficients, expected.coef_.T, rtol=1e-6, atol=1e-10)
        scores = expected.predict(wide[:, :k])
        assert model.error(features, y) == pytest.approx(100 * np.mean(scores.argmax(axis=1) != y), abs=0.06)


def test_integer_features_lose_nothing():
    """Errors with 8-bit features are those with floats, but for chance."""
    X, y = load_digits(return_X_y=True)
    codes = np.where(y[:, None] == np.arange(10), 1, -1).astype(np.int8)
    errors = {"int8": [], "float32": []}
    for precision, seed in itertools.product(errors, range(4)):
        rows = X.astype(np.uint8) if precision == "int8" else X
        basis = RandomMaxout(300, center=False, precision=precision, random_state=seed).fit(rows[:1200])
        moments = Moments.of(basis.features(rows[:1200]), codes[:1200])
        model = fit_prefixes(moments, [300], 1e-3, intercept=False)[300]
        errors[precision].append(model.error(basis.features(rows[1200:]), y[1200:]))
    assert abs(np.mean(errors["int8"]) - np.mean(errors["float32"])) < 1.0
    assert np.mean(errors["int8"]) < 10


# ---- faces ----


def test_order_found():
    along = np.linspace(0, 1, 20)
    arc = np.column_stack([np.cos(5 * along), np.sin(5 * along)])
    assert order_found(arc) == pytest.approx(1.0)
    assert order_found(arc[::-1] @ np.array([[0.6, -0.8], [0.8, 0.6]])) == pytest.approx(1.0)
    assert order_found(np.random.default_rng(0).standard_normal((200, 2))) < 0.2


# ---- sound ----


def test_frames_of_a_second():
    noise = np.random.default_rng(0).standard_normal(16_000)
    assert frames.log_mel(noise).shape == (98, 40)
    assert frames.cepstra(noise).shape == (98, 13)
    assert frames.log_mel(noise[:10]).shape == (1, 40)
    assert frames.frame_centres(2).tolist() == [200, 360]


def test_loudness_does_not_matter():
    signal = synthetic.utterances(1, 1)[0].signal.astype(float)
    for made in (frames.log_mel, frames.cepstra):
        soft, loud = (frames.normalized([made(gain * signal)])[0] for gain in (0.01, 3.0))
        assert np.allclose(soft, loud, atol=1e-6)
        assert np.allclose(soft.mean(axis=0), 0, atol=1e-9)


def test_a_tone_is_in_its_filter():
    tone = np.sin(2 * np.pi * 1000 * np.arange(8000) / frames.RATE)
    loudest = int(frames.log_mel(tone).mean(axis=0).argmax())
    bands = mel_bands(frames.FILTERS, 512, frames.RATE, frames.LOWEST)
    peaks = np.fft.rfftfreq(512, 1 / frames.RATE)[bands.argmax(axis=1)]
    assert abs(peaks[loudest] - 1000) < 80


def test_neighbours():
    rows = np.arange(6.0).reshape(3, 2)
    assert frames.spliced(rows, 1).tolist() == [[0, 1, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 4, 5]]


# ---- labels ----


def test_folding_is_complete():
    assert len(set(labels.TRANSCRIBED)) == 61
    assert len(labels.PHONES) == 49
    assert STATES == 147
    everything = labels.scored(labels.modelled(phone) for phone in labels.TRANSCRIBED)
    assert len(set(everything)) == 39
    assert "q" not in everything


def test_scored_merges_repeats():
    said = ["h#", "bcl", "b", "ix", "q", "ih", "pau", "h#"]
    assert labels.scored(labels.modelled(phone) for phone in said) == ["sil", "b", "ih", "sil"]


def test_states_are_thirds():
    segments = [(0, 300, "aa"), (300, 600, "s")]
    found = labels.states(segments, np.array([0, 99, 100, 299, 300, 599, 700]))
    aa, s = (3 * labels.modelled(phone) for phone in ("aa", "s"))
    assert found.tolist() == [aa, aa, aa + 1, aa + 2, s, s + 2, s + 2]


# ---- decoding ----


def test_best_path_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(5):
        likelihoods, transitions = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
        initial, final = rng.standard_normal(3), rng.standard_normal(3)

        def total(path, terms=(likelihoods, initial, transitions, final)):
            heard, first, step, last = terms
            moves = sum(step[a, b] for a, b in itertools.pairwise(path))
            return first[path[0]] + heard[range(5), path].sum() + moves + last[path[-1]]

        best = max(itertools.product(range(3), repeat=5), key=total)
        assert best_path(likelihoods, initial, transitions, final).tolist() == list(best)


def test_grammar():
    """Probabilities add up, and what is certain to be heard is what is decoded."""
    a, b = 3 * labels.modelled("aa"), 3 * labels.modelled("s")
    states = np.array([a, a, a + 1, a + 2, b, b + 1, b + 1, b + 2, a, a + 1, a + 2])
    grammar = Grammar.of([states])
    initial, transitions, final = grammar.machine(1.0, 0.0)
    assert np.allclose(np.exp(transitions).sum(axis=1), 1.0)
    assert np.exp(grammar.first).sum() == pytest.approx(1.0)
    assert np.exp(grammar.prior).sum() == pytest.approx(1.0)
    heard = np.where(np.arange(STATES) == states[:, None], 0.0, -50.0)
    path = best_path(heard, initial, transitions, final)
    assert path.tolist() == states.tolist()
    assert phones_of(path).tolist() == [a // 3, b // 3, a // 3]


def test_a_phone_may_follow_itself():
    a = 3 * labels.modelled("aa")
    assert phones_of(np.array([a, a + 1, a + 2, a, a + 1, a + 2])).tolist() == [a // 3, a // 3]


# ---- scoring ----


@pytest.mark.parametrize(
    ("said", "heard", "edits"),
    [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abcd", "bcde", 2), ("ab", "ba", 2)],
)
def test_edit_distance(said, heard, edits):
    assert edit_distance(said, heard) == edits == edit_distance(heard, said)


def test_phone_error_rate():
    assert phone_error_rate([("abcd", "abcd"), ("abcdef", "abxdefg")]) == pytest.approx(20.0)


# ---- readers ----


def sphere(samples, order="01", **extra):
    given = {"channel_count": 1, "sample_count": len(samples), "sample_rate": 16000, "sample_n_bytes": 2, **extra}
    lines = [f"{name} -{'s3' if isinstance(value, str) else 'i'} {value}" for name, value in given.items()]
    head = "\n".join(["NIST_1A", "   1024", *lines, f"sample_byte_format -s2 {order}", "end_head", ""])
    return head.encode().ljust(1024) + np.asarray(samples).astype("<i2" if order == "01" else ">i2").tobytes()


def riff(samples):
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(np.asarray(samples, dtype="<i2").tobytes())
    return file.getvalue()


@pytest.mark.parametrize("content", [sphere([1, -2, 300]), sphere([1, -2, 300], "10"), riff([1, -2, 300])])
def test_sound_is_read(content):
    assert corpus.read_sound(content).tolist() == [1, -2, 300]


def test_other_sound_is_refused():
    with pytest.raises(ValueError, match="expand it first"):
        corpus.read_sound(sphere([1], sample_coding="pcm,embedded-shorten-v2.00"))
    with pytest.raises(ValueError, match="sample_rate 8000"):
        corpus.read_sound(sphere([1], sample_rate=8000))


def test_timit_folders(tmp_path):
    """Core test speakers only, no SA sentences, and development speakers apart from the training ones."""
    speakers = {"TRAIN/DR1": [f"FAAA{k}" for k in range(10)] + ["MBBB0"], "TEST/DR1": ["MDAB0", "FXXX0"]}
    for region, names in speakers.items():
        for name in names:
            folder = tmp_path / "TIMIT" / region / name
            folder.mkdir(parents=True)
            for sentence in ("SA1", "SX10"):
                (folder / f"{sentence}.WAV").write_bytes(sphere(np.arange(800)))
                (folder / f"{sentence}.PHN").write_text("0 400 h#\n400 800 aa\n")
    parts = corpus.timit(tmp_path)
    assert [utterance.speaker for utterance in parts.test] == ["mdab0"]
    assert len(parts.train) == 9
    assert {utterance.speaker for utterance in parts.development} == {"faaa0", "mbbb0"}
    assert parts.test[0].segments == ((0, 400, "h#"), (400, 800, "aa"))
    assert len(parts.test[0].signal) == 800


def test_nobody_is_in_two_parts():
    utterances = synthetic.utterances(8, 1)
    judged = []
    for parts in corpus.folds(utterances, 4):
        groups = [{u.speaker for u in part} for part in (parts.train, parts.development, parts.test)]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 8
        judged += groups[2]
    assert len(set(judged)) == len(judged) == 8


def test_task():
    """Each frame has its row, its state, and a place in the utterance that says the same as the transcript."""
    utterances = synthetic.utterances(3, 1)
    task = Task.of(corpus.folds(utterances, 3)[0])
    spoken = task.test[0]
    assert spoken.rows.shape == (len(spoken.states), 440)
    assert labels.scored(phones_of(spoken.states)) == spoken.said
