"""Sampling: the filled columns of rows, drawn given their released values, in whole numbers.

For row i with released codes c[i, :] and each filled column in its order: a word u, uniform below 2³², falls into the
value v with Σ_{w < v} weights[a, w] ≤ u < Σ_{w ≤ v} weights[a, w], a the number of the parents' values. Nothing of
the original row is at hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from privacyfunnel.drawing.below import below
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.fill import CODE, FIRST, LAST, WEIGHT, Fill, Filled, Inside
from privacyfunnel.typing import Integers

GONE = -(2**63)
"""The number of a value that is written as missing."""
WORD_BITS = 32
"""Of a random word of 64 that decide."""


class Sampler:
    """Draws from a fill: `codes` of the model, and `numbers`, which stand for what is written."""

    def __init__(self, fill: Fill, kept: Sequence[tuple[str, int]]) -> None:
        self.fill = fill
        self._kept = [name for name, _ in kept]
        self._size = dict(kept) | {one.name: one.size for one in fill.filled}
        self._rows = {one.name: _starts(one.weights) for one in fill.filled}
        self._inside = [_Parts(one, self._size[one.name]) for one in fill.inside]

    def numbers(self, kept: Integers, randomness: Randomness) -> Integers:
        """z[i, k]: the number of what is written in the column fill.inside[k], given kept codes[i, j]; or GONE."""
        codes = self.codes(kept, randomness)
        drawn = [part.drawn(codes[part.name], randomness) for part in self._inside]
        return np.stack(drawn, axis=1) if drawn else np.empty((len(kept), 0), dtype=np.int64)

    def codes(self, kept: Integers, randomness: Randomness) -> dict[str, Integers]:
        """The codes of all columns, by name."""
        found = {name: kept[:, j] for j, name in enumerate(self._kept)}
        for one in self.fill.filled:
            found[one.name] = self._drawn(one, found, len(kept), randomness)
        return found

    def _drawn(self, one: Filled, found: dict[str, Integers], rows: int, randomness: Randomness) -> Integers:
        parents = np.zeros(rows, dtype=np.int64)
        for name in one.parents:
            parents = parents * self._size[name] + found[name]
        place = np.searchsorted(self._rows[one.name], parents * UNIT + _words(rows, randomness), side="right") - 1
        return np.asarray(place - parents * one.size)

    @cached_property
    def combinations(self) -> dict[str, int]:
        """How many combinations the parents of each filled column have."""
        return {one.name: math.prod(self._size[name] for name in one.parents) for one in self.fill.filled}


class _Parts:
    """The parts of an `Inside`, to be drawn from by code."""

    def __init__(self, inside: Inside, size: int) -> None:
        self.name, self._parts = inside.name, inside.parts
        weights = inside.parts[:, WEIGHT]
        before = np.cumsum(weights) - weights
        first = np.searchsorted(inside.parts[:, CODE], np.arange(size))
        self._there = np.bincount(inside.parts[:, CODE], minlength=size) > 0
        within = before - before[np.minimum(first, max(len(weights) - 1, 0))][inside.parts[:, CODE]]
        self._starts = inside.parts[:, CODE] * UNIT + within

    def drawn(self, codes: Integers, randomness: Randomness) -> Integers:
        """The numbers that are written for these codes."""
        found = np.full(len(codes), GONE, dtype=np.int64)
        there = np.flatnonzero(self._there[codes])
        if not len(there):
            return found
        place = np.searchsorted(self._starts, codes[there] * UNIT + _words(len(there), randomness), side="right") - 1
        first, last = self._parts[place, FIRST], self._parts[place, LAST]
        found[there] = first + below(last - first + 1, randomness)
        return found


def _starts(weights: Integers) -> Integers:
    """Where each value begins in the rows of a table, one row of 2³² after the other."""
    before = np.cumsum(weights, axis=1) - weights
    return np.asarray((before + np.arange(len(weights))[:, None] * UNIT).ravel())


def _words(rows: int, randomness: Randomness) -> Integers:
    """Uniform below 2³²."""
    return (randomness.words(rows) >> np.uint64(64 - WORD_BITS)).astype(np.int64)
