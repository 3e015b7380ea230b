"""For the steward alone: figures on exact counts, which come last, and on which nothing that others see can depend."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Generic, TypeVar

E = TypeVar("E")
T = TypeVar("T")
NOT_MEASURED = "For you alone: what becomes of your own table could not be measured."
"""What is said where a figure is not there."""


class ForSteward(Generic[E]):
    """Exact counts, out of reach: a figure on them comes back or nothing does, without an error and without a warning.

    What a private fit decides follows from noisy counts: its file, whether there is one, the exit code, what is said of
    it. An error on exact counts would decide as well, and so tell of somebody's record whatever the noise.
    """

    def __init__(self, exact: E) -> None:
        self._exact = exact

    def told(self, measure: Callable[[E], T]) -> T | None:
        """What is measured; None if that fails."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return measure(self._exact)
            except Exception:
                return None
