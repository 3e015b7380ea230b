"""Whole numbers below a bound, each equally likely, as a function of a secret key, a person and their input.

The words of person w for the input x < 2²⁴ are the first 64 bits of AES-CMAC(k; 0 ‖ x + 2²⁴·t ‖ w), t = 0, 1, …: of
different messages, so that nobody without k tells them from independent uniform ones (drawing/keyed.py). Words beyond
the last whole multiple of a bound are passed over, as in `below`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.drawing.below import ALL_WORDS
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers

INPUT_BITS = 24
"""Of an input: models have up to ten million combinations."""
WORDS_EACH = 32
"""For a draw. With a bound below 2⁶¹ a word is passed over once in eight times at most: more than 32 of them never."""


class KeyedBelow:
    """Draws for rows, each a function of the key, the person and the input of its row."""

    def __init__(self, mac: Mac, persons: Persons, x: Integers, threads: int | None = None) -> None:
        if len(x) and int(x.max()) >= 1 << INPUT_BITS:
            raise InvalidInput("rows of so many combinations are not drawn with a key")
        self._mac, self._persons, self._x, self._threads = mac, persons, x, threads
        first = self._sealed(0)
        self._first, self.marks = first[:, 0].copy(), first[:, 1].copy()
        """marks[i]: equal if a person's inputs are, and independent of the words."""

    def __call__(self, bounds: Integers, rows: Integers, draw: int) -> Integers:
        """u[i] uniform on 0, …, bounds[i] − 1 for the row rows[i], in its draw number 0 or 1."""
        size = bounds.astype(np.uint64)
        last = (np.uint64(ALL_WORDS - 1) - size + np.uint64(1)) % size
        found, left = np.zeros(len(bounds), dtype=np.uint64), np.arange(len(bounds))
        for turn in range(WORDS_EACH):
            if not len(left):
                break
            words = self._words(draw * WORDS_EACH + turn)[rows[left]]
            fair = words <= np.uint64(ALL_WORDS - 1) - last[left]
            found[left[fair]] = words[fair] % size[left[fair]]
            left = left[~fair]
        return found.astype(np.int64)

    def _words(self, t: int) -> NDArray[np.uint64]:
        return self._first if t == 0 else self._sealed(t)[:, 0]

    def _sealed(self, t: int) -> NDArray[np.uint64]:
        return self._mac.of(self._persons, (self._x + (t << INPUT_BITS)).astype(np.int32), self._threads)
