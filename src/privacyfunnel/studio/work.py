"""Work: a long task in a thread of its own, with progress, that can be told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.program.state import Progress, cancellable

T = TypeVar("T")
SECONDS_TO_END = 20.0
"""Seconds that are given to tasks when the studio ends."""


class Work(Generic[T]):
    """A task that runs. `stop` asks it to end with the best it has; searches then end within moments."""

    def __init__(self, task: Callable[[Callable[[Progress], None]], T]) -> None:
        self.progress: Progress | None = None
        self.result: T | None = None
        self.trouble: str | None = None
        """Why there is no result, in a line."""
        self._stop = threading.Event()
        self._task = task
        self._thread = threading.Thread(target=self._run, daemon=True)
        _begun.add(self)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is not done yet."""
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask it to end."""
        self._stop.set()

    def join(self, seconds: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            with cancellable(self._stop):
                self.result = self._task(self._follow)
        except PrivacyFunnelError as trouble:
            self.trouble = str(trouble)
        except MemoryError:
            self.trouble = "the memory is used up; use fewer columns or coarser values"
        except Exception as trouble:  # its message may quote data, so only its kind is told
            self.trouble = f"unforeseen {type(trouble).__name__}; please report it"

    def _follow(self, progress: Progress) -> None:
        self.progress = progress


_begun: WeakSet[Work[Any]] = WeakSet()


def end_all(patience: float = SECONDS_TO_END) -> None:
    """Stop every task and wait for it: Python aborts if it ends while a thread is deep in a compiled library."""
    tasks = [work for work in _begun if work.running]
    for work in tasks:
        work.stop()
    until = time.monotonic() + patience
    for work in tasks:
        work.join(max(0.0, until - time.monotonic()))
