"""Settings: sizes, contexts, threads."""

import threading

import pytest

import bochner
from bochner.config import bytes_of, memory_budget


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512MiB", 2**29), ("1.5 gb", 1_500_000_000), ("20kb", 20_000), (123, 123)]
)
def test_sizes(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "four GB", "-1GB", 0, -5, None, True, 1.5])
def test_bad_sizes(text):
    with pytest.raises(ValueError, match="memory must be a size such as '4GB'"):
        bytes_of(text)


def test_context_restores_also_after_an_error():
    before = bochner.get_config()
    with pytest.raises(RuntimeError), bochner.config_context(memory="1GB", block_rows=7, progress=True):
        assert bochner.get_config() == {"memory": "1GB", "block_rows": 7, "progress": True, "engine": "threads"}
        raise RuntimeError
    assert bochner.get_config() == before


def test_a_new_thread_starts_from_the_main_settings_and_keeps_its_own():
    seen = []

    def work():
        seen.append(memory_budget())
        bochner.set_config(memory="7GB")
        seen.append(memory_budget())

    with bochner.config_context(memory="3GB"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert memory_budget() == 3 * 10**9
    assert seen == [3 * 10**9, 7 * 10**9]


def test_a_bad_setting_changes_nothing():
    before = bochner.get_config()
    with pytest.raises(ValueError), bochner.config_context(memory="1GB", block_rows=-1):
        pass
    assert bochner.get_config() == before


def test_a_context_in_a_thread_leaves_the_main_settings_alone():
    entered, leave = threading.Event(), threading.Event()

    def work():
        with bochner.config_context(memory="1GB"):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    with bochner.config_context(memory="2GB"):
        leave.set()
        thread.join()
        seen = []
        other = threading.Thread(target=lambda: seen.append(memory_budget()))
        other.start()
        other.join()
        assert seen == [2 * 10**9]


def test_bad_block_rows():
    with pytest.raises(ValueError, match="block_rows must be 'auto' or a positive integer"):
        bochner.set_config(block_rows=0)
