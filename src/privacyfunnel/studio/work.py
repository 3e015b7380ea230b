"""Work: a long task in a thread of its own, with progress, that can be told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.state import Progress, cancellable

T = TypeVar("T")


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
