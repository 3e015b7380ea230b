"""The clock of time limits stands while loops are compiled, and only then."""

import time

import numba
import pytest

from privacyfunnel.numeric import clock, compiled
from privacyfunnel.numeric.clock import Stopwatch, ticks

assert compiled  # which stops the clock


@pytest.fixture
def at(monkeypatch):
    """Set the time that there is."""
    now = [100.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])

    def set_to(seconds):
        now[0] = seconds

    return set_to


def test_it_stands_until_it_went_on_as_often_as_it_was_stopped(at):
    watch = Stopwatch()
    began = watch.ticks()
    at(103.0)
    assert watch.ticks() - began == 3
    watch.stop()
    at(110.0)
    watch.stop()
    at(120.0)
    watch.go_on()
    at(130.0)
    assert watch.ticks() - began == 3
    watch.go_on()
    assert watch.ticks() - began == 3
    at(131.5)
    assert watch.ticks() - began == 4.5


@pytest.fixture
def compiling(monkeypatch):
    """Even where tests are told to go without: `njit` that keeps nothing, so that it compiles every time."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    return numba.njit


def test_compiling_takes_none_of_the_time_of_a_search(compiling):
    @compiling
    def inner(x):
        return 2 * x

    @compiling
    def outer(x):
        return inner(x) + 1

    began, of_the_search = time.monotonic(), ticks()
    assert outer(3) == 7
    assert ticks() - of_the_search < (time.monotonic() - began) / 2
    began, of_the_search = time.monotonic(), ticks()
    assert outer(4) == 9
    time.sleep(0.05)
    assert ticks() - of_the_search == pytest.approx(time.monotonic() - began, abs=0.02)


def test_it_goes_on_after_what_cannot_be_compiled(compiling):
    @compiling
    def wrong(x):
        return x.nothing

    with pytest.raises(numba.TypingError):
        wrong(3)
    before = ticks()
    time.sleep(0.01)
    assert ticks() > before
