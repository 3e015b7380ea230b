"""Loading: libraries take seconds on a busy machine, and whoever waits is shown that something happens."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from privacyfunnel.errors import NotLoaded
from privacyfunnel.numeric.stopping import Stopped, exit_code, waiting

EVERY = 1.0
"""Seconds until the first word, and between dots: who waits for less is told nothing."""
WORD = "loading "


@contextmanager
def loaded() -> Iterator[None]:
    """Imports of what reads tables and searches: if they fail, that is one line, and Ctrl-C waits for them."""
    try:
        with loading(), waiting():
            yield
    except Exception as trouble:
        if exit_code():  # while a library was being loaded
            raise Stopped from None
        raise NotLoaded(trouble) from trouble


@contextmanager
def loading() -> Iterator[None]:
    """A line that grows on a terminal while libraries are loaded, and is gone afterwards."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(done,), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(done: threading.Event) -> None:
    shown = ""
    with suppress(OSError, ValueError):  # the terminal was closed: nobody waits any more
        while not done.wait(EVERY):
            more = "." if shown else WORD
            shown += more
            sys.stderr.write(more)
            sys.stderr.flush()
        sys.stderr.write(f"\r{' ' * len(shown)}\r" if shown else "")
        sys.stderr.flush()
