"""Whole numbers below a bound, each equally likely, from random words."""

from __future__ import annotations

import numpy as np

from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.typing import Integers

ALL_WORDS = 2**64
"""How many words there are."""


def below(bounds: Integers, randomness: Randomness) -> Integers:
    """u[i] uniform on 0, …, bounds[i] − 1, exactly: words beyond the last whole multiple of a bound are drawn again.

    >>> below(np.array([1, 1]), Randomness.seeded(0)).tolist()
    [0, 0]
    """
    size = bounds.astype(np.uint64)
    last = (np.uint64(ALL_WORDS - 1) - size + np.uint64(1)) % size  # 2⁶⁴ mod bound: so many words are too many
    drawn = np.zeros(len(bounds), dtype=np.uint64)
    left = np.arange(len(bounds))
    while len(left):
        words = randomness.words(len(left))
        fair = words <= np.uint64(ALL_WORDS - 1) - last[left]
        drawn[left[fair]] = words[fair] % size[left[fair]]
        left = left[~fair]
    return drawn.astype(np.int64)
