"""Sampling: the filled columns of rows, drawn given their released values, in whole numbers.

For row i with released codes c[i, :] and each filled column in its order: a word u, uniform below 2³², falls into the
value v with Σ_{w < v} weights[a, w] ≤ u < Σ_{w ≤ v} weights[a, w], a the number of the parents' values. Nothing of
the original row is at hand. What must never be together is drawn again (model/obeying.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from privacyfunnel.drawing.below import below
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.model.obeying import Obeying
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.fill import CODE, FIRST, LAST, WEIGHT, Fill, Inside
from privacyfunnel.protocols.never import GONE
from privacyfunnel.typing import Integers

WORD_BITS = 32
"""Of a random word of 64 that decide."""


class Sampler:
    """Draws from a fill: `codes` of the model, and `numbers`, which stand for what is written."""

    def __init__(self, fill: Fill, kept: Sequence[tuple[str, int]]) -> None:
        self.fill = fill
        self._kept = [name for name, _ in kept]
        self._size = dict(kept) | {one.name: one.size for one in fill.filled}
        self._rows = {one.name: _starts(one.weights) for one in fill.filled}
        self._inside = {one.name: _Parts(one, self._size[one.name]) for one in fill.inside}
        never = fill.never.by_last(fill.drawing([*self._size])) if fill.never is not None else {}
        within = {one.name: one for one in fill.inside}
        filled = {one.name: one for one in fill.filled}
        self._obeying = {name: Obeying.of(filled[name], within[name], own) for name, own in never.items()}

    def numbers(self, kept: Integers, randomness: Randomness) -> Integers:
        """z[i, k]: the number of what is written in the column fill.inside[k], given kept codes[i, j]; or GONE."""
        _, drawn = self._drawn(kept, randomness)
        each = [drawn[one.name] for one in self.fill.inside]
        return np.stack(each, axis=1) if each else np.empty((len(kept), 0), dtype=np.int64)

    def codes(self, kept: Integers, randomness: Randomness) -> dict[str, Integers]:
        """The codes of all columns, by name."""
        return self._drawn(kept, randomness)[0]

    def _drawn(self, kept: Integers, randomness: Randomness) -> tuple[dict[str, Integers], dict[str, Integers]]:
        """The codes of all columns, and the numbers that stand for what is written: where there are none, the codes."""
        codes = {name: kept[:, j] for j, name in enumerate(self._kept)}
        numbers = {name: self._number(name, own, randomness) for name, own in codes.items()}
        for one in self.fill.filled:
            parents = np.zeros(len(kept), dtype=np.int64)
            for name in one.parents:
                parents = parents * self._size[name] + codes[name]
            words = parents * UNIT + _words(len(kept), randomness)
            place = np.searchsorted(self._rows[one.name], words, side="right") - 1
            codes[one.name] = np.asarray(place - parents * one.size)
            numbers[one.name] = self._number(one.name, codes[one.name], randomness)
            if one.name in self._obeying:
                self._obeying[one.name].again(parents, codes[one.name], numbers, randomness)
        return codes, numbers

    def _number(self, name: str, codes: Integers, randomness: Randomness) -> Integers:
        return self._inside[name].drawn(codes, randomness) if name in self._inside else codes

    @cached_property
    def combinations(self) -> dict[str, int]:
        """How many combinations the parents of each filled column have."""
        return {one.name: math.prod(self._size[name] for name in one.parents) for one in self.fill.filled}


class _Parts:
    """The parts of an `Inside`, to be drawn from by code."""

    def __init__(self, inside: Inside, size: int) -> None:
        self._parts = inside.parts
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
