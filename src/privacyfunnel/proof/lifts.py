"""Exact lifts: how far each output moves beliefs, as quotients of integers. No floats, and no limits yet."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
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


@dataclass(frozen=True, eq=False)
class Factor:
    """One block of a product: inputs[x] is the block's input that the joint's value x has."""

    inputs: Integers
    channel: Channel

    def numerators(self) -> Exact:
        """2³²·P(y|x) at [y, x], as Python integers."""
        N = np.zeros((self.channel.n_outputs, self.channel.n_inputs), dtype=object)
        N[self.channel.outputs, self.channel.inputs] = self.channel.numerators.astype(object)
        return N

    def own_spread(self) -> Fraction | None:
        """The largest P(y|x) / P(y|x′) over outputs and inputs that occur; None if it is infinite.

        Whatever else is known, and whatever other blocks released, P(y|·) is a mean of these P(y|x). So no
        lift of the output grows or falls by more than this factor.
        """
        N = self.numerators()[:, np.unique(self.inputs)]
        N = N[N.any(axis=1)]
        if (N == 0).any():
            return None
        return max(Fraction(int(high), int(low)) for high, low in zip(N.max(axis=1), N.min(axis=1), strict=True))

    def open_in(self, view: View) -> bool:
        """Whether its output can tell anything to somebody with this view: not if the cell determines its input."""
        pairs = np.unique(np.stack([view.cell, self.inputs], axis=1), axis=0)
        return self.channel.n_outputs > 1 and len(pairs) > view.n_cells


class Product:
    """Blocks that are drawn independently given x, on a joint distribution."""

    def __init__(self, factors: Sequence[Factor], joint: Joint) -> None:
        self.factors, self.joint = tuple(factors), joint
        self._numerators = [factor.numerators() for factor in factors]
        weights = joint.weights.astype(object)
        self._weights = weights // math.gcd(*weights.flat)

    def on(self, joint: Joint) -> Product:
        """The same blocks, for another secret."""
        return self if joint is self.joint else Product(self.factors, joint)

    def work(self, views: Sequence[View], blocks: Collection[int] | None = None) -> int:
        """How many multiplications `lifts` takes for all views."""
        return sum(self._work(view, self._open(view, blocks)) for view in views)

    def entries(self) -> int:
        """How many non-zero entries the product has as one channel."""
        counts = np.stack([np.diff(factor.channel.starts)[factor.inputs] for factor in self.factors]).astype(object)
        return int(counts.prod(axis=0).sum())

    def multiplied(self) -> Entries:
        """The product as one channel, for the joint's values of X; outputs are numbered in C order of the blocks."""
        whole = Entries(
            np.arange(self.joint.n_x),
            np.zeros(self.joint.n_x, dtype=np.int64),
            np.full(self.joint.n_x, 1, dtype=object),
        )
        for factor in self.factors:
            whole = whole.times(Entries.of(factor.channel).at(factor.inputs), factor.channel.n_outputs)
        return whole

    def lifts(self, view: View, blocks: Collection[int] | None = None) -> Lifts:
        """P(y|s, cell) / P(y|cell) for all outputs y of the product, or of some of its blocks.

        Outputs are numbered in C order of all blocks. A block whose input the cell determines tells nothing
        more: of its outputs, one stands for all.
        """
        opened = self._open(view, blocks)
        given_cells = self._with_outputs(view, opened)
        prior = given_cells.sum(axis=tuple(range(2, given_cells.ndim)))
        flat = given_cells.reshape(*given_cells.shape[:2], -1)
        cell, place = np.nonzero(flat.sum(axis=0))
        given = flat[:, cell, place].T
        over = given * prior.sum(axis=0)[cell][:, None]
        under = given.sum(axis=1)[:, None] * prior.T[cell]
        return Lifts(self._numbered(view, opened, cell, place), cell, over, under)

    def _open(self, view: View, blocks: Collection[int] | None) -> list[int]:
        asked = range(len(self.factors)) if blocks is None else sorted(blocks)
        return [b for b in asked if self.factors[b].open_in(view)]

    def _work(self, view: View, blocks: list[int]) -> int:
        """Multiplications of `_told`: one axis after the other goes from inputs to outputs."""
        sizes = [self.factors[b].channel.n_inputs for b in blocks]
        work = 0
        for i, b in enumerate(blocks):
            work += math.prod(sizes) * self.factors[b].channel.n_outputs
            sizes[i] = self.factors[b].channel.n_outputs
        return work * self.joint.n_s * view.n_cells

    def _with_outputs(self, view: View, blocks: list[int]) -> Exact:
        """Integers in proportion to P(s, cell, outputs of these blocks)."""
        shape = (view.n_cells, *(self.factors[b].channel.n_inputs for b in blocks))
        place = np.ravel_multi_index((view.cell, *(self.factors[b].inputs for b in blocks)), shape)
        given_cells = np.zeros((self.joint.n_s, math.prod(shape)), dtype=object)
        for row, weights in zip(given_cells, self._weights, strict=True):
            np.add.at(row, place, weights)
        given_cells = given_cells.reshape(self.joint.n_s, *shape)
        for axis, b in enumerate(blocks, start=2):
            given_cells = np.moveaxis(np.tensordot(self._numerators[b], given_cells, axes=(1, axis)), 0, axis)
        return given_cells

    def _numbered(self, view: View, opened: list[int], cell: Integers, place: Integers) -> Integers:
        """The outputs of the whole product; a block that is not open has one that occurs in the cell."""
        shape = [factor.channel.n_outputs for factor in self.factors]
        outputs = np.zeros((len(shape), len(place)), dtype=np.int64)
        if opened:
            outputs[opened] = np.unravel_index(place, [shape[b] for b in opened])
        someone = np.zeros(view.n_cells, dtype=np.int64)
        someone[view.cell] = np.arange(len(view.cell))
        for b, factor in enumerate(self.factors):
            if b not in opened:
                outputs[b] = factor.channel.outputs[factor.channel.starts[factor.inputs[someone[cell]]]]
        return np.asarray(np.ravel_multi_index(tuple(outputs), shape))
