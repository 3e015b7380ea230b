"""Turns: around which values the next round looks, and how far.

After some rounds nothing more is found around most values, and those that lack posteriors may need more companions
than others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.typing import Integers

Flags = NDArray[np.bool_]

LONGEST_WAIT = 8
"""Rounds that a value is left out, at most: one more each time that nothing was found around it."""
IN_VAIN = 2
"""Rounds after which a value that still lacks posteriors should be looked around further."""


class Turns:
    """Of n values, which ones are looked around in a round."""

    def __init__(self, n: int) -> None:
        self._idle, self._wait, self._lacked = (np.zeros(n, dtype=np.int64) for _ in range(3))

    def next(self, lacking: Flags) -> Integers:
        """Those that lack posteriors, and all others that have waited long enough."""
        self._wait -= 1
        return np.flatnonzero((self._wait < 0) | lacking)

    def note(self, centres: Integers, found: Flags) -> None:
        """What came of it: whether anything was found around each of the centres."""
        self._idle[centres] = np.where(found, 0, np.minimum(self._idle[centres] + 1, LONGEST_WAIT))
        self._wait[centres] = self._idle[centres]

    def in_vain(self, lacking: Flags) -> Flags:
        """Those that have lacked posteriors for some rounds, since this was last said of them."""
        self._lacked = np.where(lacking, self._lacked + 1, 0)
        vain = self._lacked >= IN_VAIN
        self._lacked[vain] = 0
        return vain
