"""Work: a long task in a thread of its own, with progress, that can be told to stop, or be left altogether."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.numeric.leaving import Left, leavable
from privacyfunnel.optimiser.program.state import Progress, cancellable

T = TypeVar("T")
Follow = Callable[[Progress | str], None]
"""Is told where a search stands, or in words what is done now."""
LEFT = "it was left before there was a result"


class Work(Generic[T]):
    """A task that runs.

    `stop` asks a search to end with the best it has, which it still proves; `leave` says that nobody waits for it.
    """

    def __init__(self, task: Callable[[Follow], T]) -> None:
        self.progress: Progress | None = None
        self.doing = ""
        """What is done now, in words."""
        self.result: T | None = None
        self.trouble: str | None = None
        """Why there is no result, in a line."""
        self.begun = time.monotonic()
        self._stop, self._left = threading.Event(), threading.Event()
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

    @property
    def left(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._left.is_set()

    def stop(self) -> None:
        """Ask it to end with what it has."""
        self._stop.set()

    def leave(self) -> None:
        """Have it end without a result, as soon as it notices."""
        self._left.set()
        self._stop.set()

    def join(self, seconds: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            with cancellable(self._stop), leavable(self._left):
                self.result = self._task(self._follow)
        except Left:
            self.trouble = LEFT
        except PrivacyFunnelError as trouble:
            self.trouble = str(trouble)
        except MemoryError:
            self.trouble = "the memory is used up; use fewer columns or coarser values"
        except Exception as trouble:  # its message may quote data, so only its kind is told
            self.trouble = f"unforeseen {type(trouble).__name__}; please report it"

    def _follow(self, now: Progress | str) -> None:
        if isinstance(now, str):
            self.doing = now
        else:
            self.progress = now


_begun: WeakSet[Work[Any]] = WeakSet()


def end_all(patience: float) -> bool:
    """Leave every task, and wait for some seconds; whether all have ended.

    Python aborts if it ends while a thread is deep in a compiled library.
    """
    tasks = [work for work in _begun if work.running]
    for work in tasks:
        work.leave()
    until = time.monotonic() + patience
    for work in tasks:
        work.join(max(0.0, until - time.monotonic()))
    return not any(work.running for work in tasks)
