"""The clock of time limits. It stands while a loop is compiled, which happens once on a machine, or loaded.

Compiling all loops of a search takes about a minute: a first search would spend its time on that.
"""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds, without those for which it was stopped. Who stopped it may stop it again before it goes on.

    >>> watch = Stopwatch()
    >>> watch.stop()
    >>> watch.ticks() == watch.ticks()
    True
    >>> watch.go_on()
    >>> watch.ticks() < time.monotonic()
    True
    """

    def __init__(self) -> None:
        self._stops = 0
        self._stood_and_since: tuple[float, float | None] = 0.0, None  # in one, for those who read in other threads

    def stop(self) -> None:
        """Let it stand."""
        self._stops += 1
        if self._stops == 1:
            self._stood_and_since = self._stood_and_since[0], time.monotonic()

    def go_on(self) -> None:
        """Let it go on, after as many calls as it was stopped."""
        self._stops -= 1
        stood, since = self._stood_and_since
        if self._stops == 0 and since is not None:
            self._stood_and_since = stood + time.monotonic() - since, None

    def ticks(self) -> float:
        """Seconds since some moment: only differences say something."""
        stood, since = self._stood_and_since
        return (time.monotonic() if since is None else since) - stood


SEARCHING = Stopwatch()
"""One for all: Numba compiles one loop at a time, and searches in other threads may wait for it."""
ticks = SEARCHING.ticks
