"""Partners: values that tell too much are put together with values that make up for it, few columns away.

Charges: a value x with weight m and P(s|x) at the distance d from a border of what is allowed has the charge m·d. Two
values on either side of the border, with equal charges, have together exactly the border as their P(s|·).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Vector

MOST_PASSES = 300
"""Sets of columns in which partners may differ that are gone through; then they differ in more and more at once."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Groups of two values: first[g] with weight m[g], second[g] with weight n[g]."""

    first: Integers
    second: Integers
    m: Integers
    n: Integers

    def take(self, which: NDArray[Any]) -> Pairs:
        """Some of them."""
        return Pairs(self.first[which], self.second[which], self.m[which], self.n[which])

    @classmethod
    def none(cls) -> Pairs:
        """No pairs."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    @classmethod
    def together(cls, parts: Sequence[Pairs]) -> Pairs:
        """All of them."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("first", "second", "m", "n")))


def differing(order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sets of columns in which partners differ: single ones first, as many as can be gone through, at last all.

    >>> list(differing([1, 0]))
    [(1,), (0,), (1, 0)]
    """
    passes, size = 0, 0
    while size < len(order) and passes + math.comb(len(order), size + 1) <= MOST_PASSES:
        size += 1
        passes += math.comb(len(order), size)
        yield from itertools.combinations(order, size)
    for more in range(size + 1, len(order) + 1):
        yield tuple(order[:more])


def along(changed: Sequence[int], sizes: Sequence[int]) -> tuple[Integers, Integers, Integers]:
    """Offsets of the values that differ in `changed` columns alone; lengths of the other columns, and their steps.

    >>> [part.tolist() for part in along((1,), (2, 3))]
    [[0, 1, 2], [2, 1], [3, 0]]
    """
    strides = [math.prod(sizes[j + 1 :]) for j in range(len(sizes))]
    offsets = np.zeros(1, dtype=np.int64)
    for j in changed:
        offsets = (offsets[:, None] + strides[j] * np.arange(sizes[j])).ravel()
    kept = [j for j in range(len(sizes)) if j not in changed]
    lengths = np.array([*(sizes[j] for j in kept), 1], dtype=np.int64)
    steps = np.array([*(strides[j] for j in kept), 0], dtype=np.int64)
    return offsets, lengths, steps


def partners(
    sizes: Sequence[int], order: Sequence[int], need: Integers, give: Integers, distance: Vector
) -> tuple[Pairs, Integers]:
    """Pairs of values with weights need[x] on one side of a border and give[x] on the other; what is left of both."""
    need, give = need.copy(), give.copy()
    most = int((need > 0).sum() + (give > 0).sum())  # every pair uses one of its two values up
    pairs = Pairs(
        np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    )
    count = 0
    for changed in differing(order):
        if not need.any() or not give.any():
            break
        offsets, lengths, steps = along(changed, sizes)
        count = pair_up(
            offsets, lengths, steps, need, give, distance, pairs.first, pairs.second, pairs.m, pairs.n, count
        )
    return pairs.take(np.arange(count)), need + give


@compiled
def pair_up(
    offsets: Integers,
    lengths: Integers,
    steps: Integers,
    need: Integers,
    give: Integers,
    distance: Vector,
    first: Any,
    second: Any,
    m: Integers,
    n: Integers,
    count: int,
) -> int:
    """Go through all values of the columns that stay, and pair up what differs in the others only.

    Near ones are matched with far ones: at a border a pair moves 2 / (d + d′) of its charge, which is convex. What is
    given is rounded up, so that the side that needs it never gets too little.
    """
    place = np.zeros(len(lengths), np.int64)
    base = 0
    short = np.empty(len(offsets), np.int64)
    spare = np.empty(len(offsets), np.int64)
    while True:
        k, free = 0, 0
        for offset in offsets:
            x = base + offset
            if need[x] > 0:
                short[k] = x
                k += 1
            elif give[x] > 0:
                spare[free] = x
                free += 1
        if k > 0 and free > 0:
            near = short[:k][np.argsort(distance[short[:k]], kind="mergesort")]
            far = spare[:free][np.argsort(-distance[spare[:free]], kind="mergesort")]
            i, j = 0, 0
            while i < k and j < free:
                x, z = near[i], far[j]
                asked = np.ceil(need[x] * (distance[x] / distance[z])) + 1.0  # a float: it may be too large for 64 bits
                if asked <= give[z]:
                    first[count], second[count], m[count], n[count] = x, z, need[x], np.int64(asked)
                    count += 1
                    give[z] -= np.int64(asked)
                    need[x] = 0
                    i += 1
                    if give[z] == 0:
                        j += 1
                else:
                    served = np.floor((give[z] - 1) * (distance[z] / distance[x]))
                    if served >= 1:
                        part = need[x] if served >= need[x] else np.int64(served)
                        first[count], second[count], m[count], n[count] = x, z, part, give[z]
                        count += 1
                        need[x] -= part
                        give[z] = 0
                        if need[x] == 0:
                            i += 1
                    j += 1
        c = len(lengths) - 1
        while c >= 0:
            place[c] += 1
            base += steps[c]
            if place[c] < lengths[c]:
                break
            base -= steps[c] * lengths[c]
            place[c] = 0
            c -= 1
        if c < 0:
            return count
