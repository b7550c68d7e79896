"""Data sets are fetched from a server, and nothing that is not what it should be ever gets a file's name."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import wave
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from bochner.cli import main
from bochner.data import catalogue, fetch
from bochner.data.catalogue import DataSet, File, content_digest
from bochner.data.making import CENSUS_COLUMNS, joined_census, spoken_digits

CONTENT = b"five rows\nof data\n" * 50


def tarred(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, body in members.items():
            entry = tarfile.TarInfo(f"delve/{name}")
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return buffer.getvalue()


SERVED = {
    "/plain": CONTENT,
    "/packed.gz": gzip.compress(CONTENT, 1, mtime=77),
    "/archive.tar.gz": tarred(other=b"x" * len(CONTENT), wanted=CONTENT),
    "/nested.tar.gz": tarred(other=b"", wanted=gzip.compress(CONTENT)),
    "/wrong": CONTENT[:-1] + b"!",
    "/bomb.gz": gzip.compress(bytes(10_000_000)),
    "/half.gz": gzip.compress(CONTENT)[:-20],
    "/empty": b"",
}


class Handler(BaseHTTPRequestHandler):
    asked: list = []  # noqa: RUF012

    def do_GET(self):
        Handler.asked.append(self.path)
        body = SERVED.get(self.path)
        if self.path == "/broken":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"only this")
        elif body is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path / "sets"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "sets"


def tiny(*urls, name="tiny/rows.gz", **other):
    file = File(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), urls, **other)
    return DataSet("tiny", "Tiny", {name: file}, "none", "5", "public domain", "nowhere", "Ask a friend for it.")


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", ["plain", "packed.gz", "archive.tar.gz", "nested.tar.gz"])
@pytest.mark.parametrize("name", ["tiny/rows.gz", "tiny/rows.txt"])
def test_content_is_found_in_any_wrapper_and_kept_in_that_of_its_name(server, root, path, name):
    told = []
    (outcome,) = fetch(tiny(f"{server}/{path}", name=name), root, tell=lambda *how_far: told.append(how_far))
    assert outcome.status == "fetched"
    kept = (root / name).read_bytes()
    assert (gzip.decompress(kept) if name.endswith("gz") else kept) == CONTENT
    assert told[-1] == (name, len(SERVED[f"/{path}"]), len(SERVED[f"/{path}"]))
    assert files_in(root) == [name]


def test_the_next_address_is_tried(server, root):
    (outcome,) = fetch(tiny(f"{server}/wrong", f"{server}/none", f"{server}/plain"), root)
    assert (outcome.status, outcome.detail) == ("fetched", f"{server}/plain")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("wrong", "another checksum"), ("none", "answered 404"), ("broken", "9"), ("bomb.gz", "another checksum"),
        ("half.gz", "another checksum"), ("empty", "another checksum"),
    ],
)  # fmt: skip
def test_nothing_wrong_gets_the_name(server, root, path, reason):
    (outcome,) = fetch(tiny(f"{server}/{path}"), root)
    assert outcome.status == "failed"
    assert f"{server}/{path}: " in outcome.detail
    assert reason in outcome.detail
    assert files_in(root) == []


def test_no_server_is_one_sentence(root):
    (outcome,) = fetch(tiny("http://127.0.0.1:9/x"), root)
    assert outcome.status == "failed"
    assert "refused" in outcome.detail


def test_what_is_there_is_left_alone(server, root):
    path = root / "tiny" / "rows.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(CONTENT, 3))
    before, asked = path.read_bytes(), len(Handler.asked)
    assert fetch(tiny(f"{server}/plain"), root, force=True)[0].status == "there"
    assert path.read_bytes() == before
    path.write_bytes(b"precious")
    assert fetch(tiny(f"{server}/plain"), root)[0].status == "different"
    assert path.read_bytes() == b"precious"
    assert len(Handler.asked) == asked
    assert fetch(tiny(f"{server}/wrong"), root, force=True)[0].status == "failed"
    assert path.read_bytes() == b"precious"
    assert fetch(tiny(f"{server}/plain"), root, force=True)[0].status == "fetched"
    assert gzip.decompress(path.read_bytes()) == CONTENT


def test_what_cannot_be_fetched_is_explained(root):
    (outcome,) = fetch(tiny(), root)
    assert outcome.status == "by hand"
    assert "Ask a friend for it." in outcome.detail
    assert str(root / "tiny" / "rows.gz") in outcome.detail
    assert fetch(tiny(extra=True), root) == []


def test_digest_of_archives_and_damaged_files(tmp_path):
    for name, level in (("a.zip", 1), ("b.zip", 9)):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
            for member in ("x", "y") if level == 1 else ("y", "x"):
                archive.writestr(member, member * 100)
    assert content_digest(tmp_path / "a.zip") == content_digest(tmp_path / "b.zip") != ""
    for name in ("c.zip", "c.gz", "c.npz"):
        (tmp_path / name).write_bytes(b"\x1f\x8b damaged")
        assert content_digest(tmp_path / name) == ""


# ---- the catalogue ----


def test_the_catalogue_is_complete():
    sets = catalogue.data_sets()
    for found in sets:
        assert found.title, found.name
        assert found.licence
        assert found.home.startswith("http")
        for name, file in found.files.items():
            assert name.startswith(f"{found.name}/")
            assert len(file.sha256) == 64
            assert file.urls or file.made or file.extra or found.by_hand, name
            assert all(url.startswith(("https://", "http://")) for url in file.urls)
    assert len({found.name for found in sets}) == len(sets) == 12


def test_census_columns_are_joined(tmp_path):
    """Each column once, by its number; rows in another order are refused."""
    table = np.random.default_rng(0).integers(0, 100, (7, 140)).astype(float)
    for task, numbers in CENSUS_COLUMNS.items():
        with gzip.open(tmp_path / f"house-price-{task}.data.gz", "wt") as file:
            np.savetxt(file, table[:, [*numbers, 139]])
    made = np.load(io.BytesIO(joined_census(b"", tmp_path)))
    assert made["X"].shape == (7, 36)
    assert np.array_equal(made["X"], table[:, made["attribute_id"]])
    assert np.array_equal(made["y"], table[:, 139])
    with gzip.open(tmp_path / "house-price-8L.data.gz", "wt") as file:
        np.savetxt(file, table[::-1][:, [*CENSUS_COLUMNS["8L"], 139]])
    with pytest.raises(ValueError, match="another order"):
        joined_census(b"", tmp_path)


def test_recordings_are_joined():
    """By the order of names, where 10 comes before 2."""
    signals = {"0_theo_2": [5, -6], "0_theo_10": [1, 2, 3], "7_jackson_0": [-32768]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("digits-abc/README.md", "text")
        for name, signal in signals.items():
            sound = io.BytesIO()
            with wave.open(sound, "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes(np.array(signal, dtype="<i2").tobytes())
            archive.writestr(f"digits-abc/recordings/{name}.wav", sound.getvalue())
    made = np.load(io.BytesIO(spoken_digits(buffer.getvalue(), None)))
    assert made["signal"].tolist() == [1, 2, 3, 5, -6, -32768]
    assert made["length"].tolist() == [3, 2, 1]
    assert list(zip(made["digit"], made["speaker"], made["index"], strict=True)) == [
        (0, "theo", 10), (0, "theo", 2), (7, "jackson", 0),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no recordings"):
        with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
            archive.writestr("x", "y")
        spoken_digits(buffer.getvalue(), None)


# ---- the command line ----


def run(capsys, *words):
    code = 0
    try:
        main(list(words))
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err


def test_list_fetch_check(server, root, capsys, monkeypatch):
    sets = [tiny(f"{server}/plain")]
    monkeypatch.setattr(catalogue, "data_sets", lambda: sets)
    code, out, _ = run(capsys, "data", "list")
    assert code == 0
    assert "1 missing" in out
    assert run(capsys, "data", "check")[0] == 1
    code, out, _ = run(capsys, "data", "fetch", "tiny")
    assert code == 0
    assert "fetched" in out
    assert "licence of tiny: public domain" in out
    assert "checksums match" in run(capsys, "data", "check")[1]
    (root / "tiny" / "rows.gz").write_bytes(b"precious")
    code, out, err = run(capsys, "data", "check", "--json")
    assert code == 1
    assert json.loads(out)[0]["broken"] == ["tiny/rows.gz"]
    assert "missing or different" in err
    code, out, err = run(capsys, "data", "fetch", "all", "--json")
    assert code == 1
    assert json.loads(out)["files"][0]["status"] == "different"
    assert "not fetched: tiny/rows.gz" in err
    assert run(capsys, "data", "fetch", "tiny", "--force")[0] == 0


def test_the_real_catalogue_is_listed_without_any_folder(root, capsys):
    code, out, _ = run(capsys, "data", "list", "--json")
    assert code == 0
    assert "mnist" in [row["name"] for row in json.loads(out)]
    code, _, err = run(capsys, "data", "fetch", "mnst")
    assert code == 1
    assert "did you mean 'mnist'?" in err
    code, out, err = run(capsys, "data", "fetch", "timit_sample")
    assert code == 1
    assert "read its licence" in out
    assert not root.exists()
