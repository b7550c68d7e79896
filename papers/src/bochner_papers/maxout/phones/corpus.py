"""Speech with transcripts of phones: TIMIT as its licence holders have it, or the sample of it that NLTK gives out.

TIMIT is looked for in the folder `timit` of the data sets (TRAIN and TEST below it, in capitals or not), the sample in
`timit_sample`. The two sentences that everybody reads (SA) are left out, as is customary: they would be learned by
heart.
"""

from __future__ import annotations

import io
import wave
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bochner import data

from .frames import RATE
from .labels import Segment

CORE_TEST = frozenset(
    """
    mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0
    mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0
    """.split()  # noqa: SIM905
)
DEVELOPED = 10  # every so many-th training speaker chooses the settings of the decoder


@dataclass(frozen=True)
class Utterance:
    speaker: str
    signal: np.ndarray
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Parts:
    """Utterances to learn from, to choose the decoder's settings by, and to be judged by; nobody is in two of them."""

    train: list[Utterance]
    development: list[Utterance]
    test: list[Utterance]


def read_sound(content: bytes) -> np.ndarray:
    """Samples of a recording of one channel, 16 bits and 16 kHz, in the RIFF or the NIST SPHERE format."""
    if content.startswith(b"NIST_1A"):
        return read_sphere(content)
    with wave.open(io.BytesIO(content)) as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
            raise ValueError("a recording must have one channel of 16 bits at 16 kHz.")
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def read_sphere(content: bytes) -> np.ndarray:
    """A header of text lines `name -type value`, as long as its second line says, then samples."""
    size = int(content[8:16])
    fields = {}
    for line in content[16:size].decode("ascii", "replace").splitlines():
        parts = line.split(maxsplit=2)
        if parts[:1] == ["end_head"]:
            break
        if len(parts) == 3:
            fields[parts[0]] = parts[2]
    if fields.get("sample_coding", "pcm") != "pcm":
        raise ValueError(f"the recording is coded as {fields['sample_coding']!r}: expand it first (w_decode -o pcm).")
    expected = {"channel_count": "1", "sample_n_bytes": "2", "sample_rate": str(RATE)}
    for name, value in expected.items():
        if fields.get(name, value) != value:
            raise ValueError(f"the recording has {name} {fields[name]}, not {value}.")
    order = ">i2" if fields.get("sample_byte_format", "01") == "10" else "<i2"
    whole = content[size : size + (len(content) - size) // 2 * 2]
    return np.frombuffer(whole, dtype=order)[: int(fields.get("sample_count", len(whole)))]


def read_segments(text: str) -> tuple[Segment, ...]:
    """Lines of first sample, end and phone."""
    rows = (line.split() for line in text.splitlines() if line.strip())
    return tuple((int(start), int(end), phone) for start, end, phone in rows)


def timit(root: Path) -> Parts:
    """The training speakers and the 24 of the core test set, from TRAIN|TEST/DR?/SPEAKER/*.WAV|PHN."""
    folders = {path.name.lower(): path for path in root.iterdir() if path.is_dir()}
    if len(folders) == 1:  # some copies have one more folder around all
        return timit(next(iter(folders.values())))
    if not {"train", "test"} <= folders.keys():
        raise FileNotFoundError(f"there are no folders TRAIN and TEST in {str(root)!r}.")
    everybody = list(utterances_below(folders["train"], lambda speaker: True))
    test = list(utterances_below(folders["test"], CORE_TEST.__contains__))
    chosen = set(sorted({utterance.speaker for utterance in everybody})[::DEVELOPED])
    return Parts(
        [utterance for utterance in everybody if utterance.speaker not in chosen],
        [utterance for utterance in everybody if utterance.speaker in chosen],
        test,
    )


def utterances_below(folder: Path, wanted: Callable[[str], bool]) -> Iterator[Utterance]:
    for path in sorted(folder.rglob("*")):
        speaker = path.parent.name.lower()
        if path.suffix.lower() != ".phn" or path.name.lower().startswith("sa") or not wanted(speaker):
            continue
        sound = next(other for other in path.parent.glob(path.stem + ".*") if other.suffix.lower() == ".wav")
        yield Utterance(speaker, read_sound(sound.read_bytes()), read_segments(path.read_text()))


def sample(archive: Path) -> list[Utterance]:
    """The 128 utterances of 16 speakers in NLTK's archive that are not SA sentences."""
    found = []
    with zipfile.ZipFile(archive) as files:
        for name in sorted(files.namelist()):
            path = Path(name)
            if path.suffix == ".phn" and not path.name.startswith("sa"):
                sound = read_sound(files.read(str(path.with_suffix(".wav"))))
                found.append(Utterance(path.parent.name, sound, read_segments(files.read(name).decode())))
    return found


def folds(utterances: list[Utterance], count: int) -> list[Parts]:
    """Each speaker is in the test part of one fold; two of the others are held out for the decoder."""
    speakers = sorted({utterance.speaker for utterance in utterances})
    made = []
    for fold in range(count):
        test = set(speakers[fold::count])
        held = set(speakers[(fold + 1) % count :: count][:2])
        made.append(Parts(
            [u for u in utterances if u.speaker not in test | held],
            [u for u in utterances if u.speaker in held],
            [u for u in utterances if u.speaker in test],
        ))  # fmt: skip
    return made


def timit_folder() -> Path | None:
    """Where the whole corpus is, if it is there."""
    folder = data.folder() / "timit"
    return folder if folder.is_dir() else None


def sample_archive() -> Path:
    archive = data.folder() / "timit_sample" / "timit_nltk_sample.zip"
    if not archive.is_file():
        raise FileNotFoundError(
            f"there is neither {str(data.folder() / 'timit')!r} nor {str(archive)!r}: put TIMIT or its sample there, "
            "set BOCHNER_DATA, or try --quick, which needs none."
        )
    return archive
