"""A start that takes long says so on a terminal, and leaves nothing behind."""

import io
import time

import pytest

from privacyfunnel.cli import loading


class Terminal(io.StringIO):
    """What a terminal was given."""

    def isatty(self):
        return True


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(loading, "EVERY", 0.01)


def wait_for(stream, text):
    for _ in range(1_000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(stream.getvalue())


def test_a_long_start_is_told_on_a_terminal_and_the_line_is_cleared(monkeypatch, quick):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with loading.loading():
        wait_for(terminal, f"{loading.WORD}..")
    shown, _, after = terminal.getvalue().partition("\r")
    assert shown == loading.WORD + "." * (len(shown) - len(loading.WORD))
    assert after == " " * len(shown) + "\r"


def test_a_short_start_says_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with loading.loading():
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_what_is_no_terminal_is_told_nothing(monkeypatch, quick, stream):
    monkeypatch.setattr("sys.stderr", stream)
    with loading.loading():
        time.sleep(0.05)
    assert stream is None or stream.getvalue() == ""


def test_trouble_while_loading_comes_through(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(ImportError), loading.loading():
        raise ImportError
