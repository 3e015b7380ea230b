"""Exact lifts: how far each output moves beliefs, as quotients of integers. No floats, and no limits yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.exact import INT64_BITS
from privacyfunnel.promises.views import View
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.typing import Exact, Integers, Vector

ALMOST = 1 - 4 * np.finfo(np.float64).eps
"""Times the largest of correctly rounded quotients: whichever is truly the largest is not below."""


@dataclass(frozen=True, eq=False)
class Entries:
    """A channel's non-zero entries as exact integers: P(output|input) ∝ numerator, on a scale common to all."""

    inputs: Integers
    outputs: Integers
    numerators: Exact

    @classmethod
    def of(cls, channel: Channel) -> Entries:
        return cls(channel.inputs, channel.outputs, channel.numerators)

    def at(self, inputs: Integers) -> Entries:
        """The entries of the columns `inputs`, renumbered 0, 1, 2, …"""
        starts = np.searchsorted(self.inputs, inputs)
        counts = np.searchsorted(self.inputs, inputs, side="right") - starts
        place = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        return Entries(np.repeat(np.arange(len(inputs)), counts), self.outputs[place], self.numerators[place])

    def times(self, other: Entries, n_outputs: int) -> Entries:
        """Both outputs, drawn independently given the input; `n_outputs` is how many the other has."""
        starts, stops = (np.searchsorted(other.inputs, self.inputs, side=side) for side in ("left", "right"))
        counts = stops - starts
        own = np.repeat(np.arange(len(self.inputs)), counts)
        theirs = np.arange(counts.sum()) + np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        outputs = self.outputs[own] * n_outputs + other.outputs[theirs]
        numerators = self.numerators.astype(object)[own] * other.numerators.astype(object)[theirs]
        return Entries(self.inputs[own], outputs, numerators)


@dataclass(frozen=True, eq=False)
class Ratios:
    """Ratios over[i] / under[i] of exact integers that a promise bounds, and the place of each.

    Where both are 0 there is no ratio; where only `under` is, it is infinite.
    """

    over: Exact
    under: Exact
    places: Integers
    """places[i] = (output, cell, secret, the secret it is compared with or −1)."""

    def keep(self, bound: Fraction) -> bool:
        """Whether every ratio is at most `bound`, in integers."""
        return bool((self.over * bound.denominator <= self.under * bound.numerator).all())

    def largest(self) -> tuple[Fraction | None, Integers]:
        """The largest ratio, None if infinite, and its place."""
        infinite = np.flatnonzero((self.under == 0) & (self.over != 0))
        if infinite.size:
            return None, self.places[infinite[0]]
        real = np.flatnonzero(self.under != 0)
        if not real.size:  # nowhere are two secrets possible
            return Fraction(1), self.places[0]
        over, under = self.over[real], self.under[real]
        # Quotients of Python integers are rounded correctly, so the true largest is among the nearly largest.
        rounded = _rounded(over, under)
        near = np.flatnonzero(rounded >= rounded.max() * ALMOST)
        best, ahead = near[0], near
        while ahead.size:  # often all are the same: products are compared, of all at once, and no fraction is made
            best = ahead[np.argmax(rounded[ahead])]
            ahead = ahead[over[ahead] * under[best] > over[best] * under[ahead]]
        first = near[over[near] * under[best] == over[best] * under[near]][0]
        return Fraction(int(over[best]), int(under[best])), self.places[real[first]]


def _rounded(over: Exact, under: Exact) -> Vector:
    """Over / under in float64, infinite where that is too large for it."""
    try:
        return np.asarray(over / under, dtype=np.float64)
    except OverflowError:  # a cell of probability 1e-320, say
        return np.array([_quotient(int(a), int(b)) for a, b in zip(over, under, strict=True)])


def _quotient(over: int, under: int) -> float:
    try:
        return over / under
    except OverflowError:
        return math.inf


def counts_of(entries: Entries, joint: Joint, view: View) -> tuple[Integers, Integers, Exact, Exact]:
    """The outputs y and cells that go together, N[y, s, cell] = Σ_x n[s, x] N[y, x] over the cell, and n[s, cell].

    N is at [i, s] for the i-th pair of y and cell, and n at [cell, s].
    """
    cell = view.cell[entries.inputs]
    order = np.lexsort((cell, entries.outputs))
    outputs, cells, inputs = entries.outputs[order], cell[order], entries.inputs[order]
    first = np.flatnonzero(np.append(True, (np.diff(outputs) != 0) | (np.diff(cells) != 0)))
    weights, numerators = joint.weights, entries.numerators[order]
    bits = joint.total.bit_length() + int(numerators.max()).bit_length()
    if weights.dtype != object and (numerators.dtype == object or bits >= INT64_BITS):
        weights = weights.astype(object)  # int64 would overflow
    given_cells = [np.add.reduceat(row[inputs] * numerators.astype(row.dtype), first) for row in weights]
    given = np.stack(given_cells, axis=1).astype(object)
    prior = np.zeros((view.n_cells, joint.n_s), dtype=object)
    np.add.at(prior, view.cell, joint.weights.T.astype(object))
    return outputs[first], cells[first], given, prior


@dataclass(frozen=True, eq=False)
class Lifts:
    """The lifts over / under in one view: row i for an output y and a cell that go together, column s.

    over[i, s] = N[y, s, cell]·N[cell] and under[i, s] = N[y, cell]·N[s, cell], integers in proportion to P.
    A secret that is impossible in the cell has over = under = 0.
    """

    output: Integers
    cell: Integers
    over: Exact
    under: Exact

    @classmethod
    def of(cls, entries: Entries, joint: Joint, view: View) -> Lifts:
        output, cell, given, prior = counts_of(entries, joint, view)
        over = given * prior.sum(axis=1)[cell][:, None]
        return cls(output, cell, over, given.sum(axis=1)[:, None] * prior[cell])

    def ratios(self, about: Sequence[int] | None = None) -> list[tuple[str, Ratios]]:
        """What the limits named lower, upper and spread bound; a single secret has nothing to be compared with.

        With `about`, the lifts of these secrets alone, and no comparisons.
        """
        some = np.arange(self.over.shape[1]) if about is None else np.array(about)
        named = [("lower", self.falls(some)), ("upper", self.rises(some))]
        named += [("spread", self.spreads())] if about is None else []
        return [(name, ratios) for name, ratios in named if len(ratios.over)]

    def falls(self, s: Integers) -> Ratios:
        """1 / lift of these secrets."""
        return Ratios(self.under[:, s].ravel(), self.over[:, s].ravel(), self._places(s, None))

    def rises(self, s: Integers) -> Ratios:
        """Their lifts."""
        return Ratios(self.over[:, s].ravel(), self.under[:, s].ravel(), self._places(s, None))

    def spreads(self) -> Ratios:
        """Lift / lift′ for every two secrets."""
        s, t = np.nonzero(~np.eye(self.over.shape[1], dtype=bool))
        over, under = self.over[:, s] * self.under[:, t], self.under[:, s] * self.over[:, t]
        return Ratios(over.ravel(), under.ravel(), self._places(s, t))

    def _places(self, s: Integers, t: Integers | None) -> Integers:
        pair = np.stack([s, t if t is not None else np.full(len(s), -1)], axis=1)
        here = np.stack([self.output, self.cell], axis=1)
        return np.concatenate([np.repeat(here, len(s), axis=0), np.tile(pair, (len(here), 1))], axis=1)
