"""Stopping: a process that somebody ends, by Ctrl-C or from outside, still removes what it has not finished."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

BROKEN = 1
"""Exit code of a command that did its work and found a promise broken: scripts can tell it from trouble."""
BAD_INPUT = 2
"""Exit code where the user can mend it, as that of other commands."""
BUG = 70
"""Exit code where only we can; EX_SOFTWARE in sysexits.h."""
SIGNALLED = 128
"""A process ended by signal n has the exit code 128 + n."""
INTERRUPTED = SIGNALLED + signal.SIGINT
"""Exit code after Ctrl-C."""
FROM_OUTSIDE = ("SIGTERM", "SIGHUP")
"""Who stops a job or closes its terminal sends these."""

ATTENTION = 0.1
"""Seconds between looks at whether long work is done."""

T = TypeVar("T")
_received: list[int] = []
_waiting = False


class Stopped(BaseException):
    """Somebody else ends this process. It is no Exception, so that nobody takes it for trouble of their own."""


def listen() -> None:
    """Have the signals that end a process raise an error instead, so that everything is cleared up on the way out.

    DuckDB also leaves original rows on the disk if it is ended while it uses more memory than there is.
    """
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # in the background of a script it is ignored
        signal.signal(signal.SIGINT, _interrupt)
    for name in FROM_OUTSIDE:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, _stop)


def exit_code() -> int | None:
    """The exit code of a process that was told to end; nothing if it was not.

    Libraries in the middle of something turn our errors into errors of theirs, so this is asked when one is met.
    """
    return SIGNALLED + _received[-1] if _received else None


@contextmanager
def waiting() -> Iterator[None]:
    """Signals wait until this is over: compiled modules whose loading is broken off in the middle crash."""
    global _waiting
    _waiting = True
    try:
        yield
    finally:
        _waiting = False
    if _received:
        raise Stopped


def attentive(work: Callable[[], T]) -> T:
    """The result of long work in compiled code, which hears no signal: another thread does it, and this one listens.

    Work that somebody ends is left to itself, and ends with the process at the latest.

    >>> attentive(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
        return work()
    found: list[T] = []
    trouble: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as met:  # raised again where it is waited for
            trouble.append(met)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(ATTENTION)
    if trouble:
        raise trouble[0]
    return found[0]


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if not _waiting:
        signal.default_int_handler(number, frame)


def _stop(number: int, _: FrameType | None) -> None:
    _received.append(number)
    if not _waiting:
        raise Stopped
