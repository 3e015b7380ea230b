"""Draws for values never seen: which distributions of outputs keep a promise, whoever such values belong to.

People with a value that was not there when fitting get an output drawn from r. Any share of the people with secret s
may be such people, so P(y|s) becomes anything between P(y|s) and r(y), and P(y) anything between P(y) and r(y). With
A(y) = {P(y|s) : s} ∪ {r(y)} and B(y) = {P(y), r(y)}, the promise is kept for every such share exactly when

    e^-lower ≤ a/b ≤ e^upper  for a in A(y), b in B(y),    and    a ≤ e^spread a′  for a, a′ in A(y),

given each cell that an attacker may know. Beside the promise itself these are limits on r(y), for each y alone. The
proof is in docs/theory.md. All is in integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sets import SCALE, Possible
from privacyfunnel.promises.views import View
from privacyfunnel.proof.lifts import Entries, counts_of
from privacyfunnel.proof.worst_case import each_output
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Exact, Integers

Below = Callable[[float], Fraction]
"""From ε to a rational below e^ε."""


@dataclass(frozen=True, eq=False)
class Room:
    """The draws r that keep a promise: least[y] ≤ 2³²·r(y) ≤ most[y]."""

    least: Integers
    most: Integers

    def empty(self) -> bool:
        """Whether no distribution is in it."""
        return bool((self.least > self.most).any() or self.least.sum() > UNIT or self.most.sum() < UNIT)

    def holds(self, draw: Integers) -> bool:
        """Whether 2³²·r = draw is in it."""
        return bool(((self.least <= draw) & (draw <= self.most)).all())

    def meet(self, other: Room) -> Room:
        """The draws that are in both."""
        return Room(np.maximum(self.least, other.least), np.minimum(self.most, other.most))


def room_for(channel: Channel, inputs: Integers, joint: Joint, notion: Notion, below: Below) -> Room:
    """The draws that keep `notion` on `joint`, whose value x of X is input inputs[x] of `channel`.

    It stops as soon as nothing is left: a promise may have thousands of attackers.
    """
    entries = Entries.of(channel).at(inputs)
    left = Room(np.zeros(channel.n_outputs, dtype=np.int64), np.full(channel.n_outputs, UNIT))
    if not notion.simple:  # of several clauses nothing is proven here
        return Room(left.most, left.least)
    for view in while_awaited(notion.views(joint)):
        left = left.meet(_counted(entries, channel.n_outputs, joint, view, notion, below))
        if left.empty():
            return left
    for part in notion.possible(joint) if notion.confidence is not None else []:
        left = left.meet(_over(entries, channel.n_outputs, part, notion, below))
    return left


def _counted(entries: Entries, n_outputs: int, joint: Joint, view: View, notion: Notion, below: Below) -> Room:
    """The room that the counted people leave in each cell."""
    output, cell, given, prior = counts_of(entries, joint, view)
    limits = _DrawLimits(n_outputs, notion, below)
    for s in range(joint.n_s):
        real = np.flatnonzero(prior[cell, s] > 0)
        limits.given(output[real], given[real, s], given[real, s], prior[cell[real], s])
    all_given, all_prior = given.sum(axis=1), prior.sum(axis=1)[cell]
    real = np.flatnonzero(all_prior > 0)
    limits.overall(output[real], all_given[real], all_given[real], all_prior[real])
    met = np.bincount(output[all_given > 0], minlength=n_outputs)
    # An output that nobody in a cell has would tell that the value is new there; where nobody is, any output would.
    limits.most[met < view.n_cells] = 0
    return limits.room()


def _over(entries: Entries, n_outputs: int, part: Possible, notion: Notion, below: Below) -> Room:
    """The room that every distribution of a confidence set leaves, in its cells with several values."""
    limits = _DrawLimits(n_outputs, notion, below)
    for one in each_output(entries.inputs, entries.outputs, entries.numerators, part):
        y, low, high = np.array([one.output]), min(one.least), max(one.most)
        limits.given(y, _one(low), _one(high), _one(SCALE))
        lowest, highest = one.means()
        limits.overall(y, _one(lowest), _one(highest), _one(SCALE * SCALE))
    return limits.room()


class _DrawLimits:
    """Limits on 2³²·r(y), which become narrower with every P(y|s) and P(y) that is met."""

    def __init__(self, n_outputs: int, notion: Notion, below: Below) -> None:
        self.least: Integers = np.zeros(n_outputs, dtype=np.int64)
        self.most: Integers = np.full(n_outputs, UNIT)
        asked = notion.limits.granted()
        self._lower, self._upper, self._spread = (
            below(limit) if math.isfinite(limit) else None for limit in (asked.lower, asked.upper, asked.spread)
        )

    def given(self, y: Integers, low: Exact, high: Exact, under: Exact) -> None:
        """P(y|s) lies between low / under and high / under, in units of 2⁻³²."""
        self._at_least(y, high, under, self._upper)
        self._at_least(y, high, under, self._spread)
        self._at_most(y, low, under, self._lower)
        self._at_most(y, low, under, self._spread)

    def overall(self, y: Integers, low: Exact, high: Exact, under: Exact) -> None:
        """P(y) lies between low / under and high / under, in units of 2⁻³²."""
        self._at_least(y, high, under, self._lower)
        self._at_most(y, low, under, self._upper)

    def room(self) -> Room:
        return Room(self.least, self.most)

    def _at_least(self, y: Integers, over: Exact, under: Exact, factor: Fraction | None) -> None:
        """r(y)·factor ≥ over / under."""
        if factor is not None:
            least = -(-over * factor.denominator // (under * factor.numerator))
            np.maximum.at(self.least, y, np.minimum(least, UNIT + 1).astype(np.int64))

    def _at_most(self, y: Integers, over: Exact, under: Exact, factor: Fraction | None) -> None:
        """r(y) ≤ factor·over / under."""
        if factor is not None:
            most = over * factor.numerator // (under * factor.denominator)
            np.minimum.at(self.most, y, np.minimum(most, UNIT).astype(np.int64))


def _one(number: int) -> Exact:
    return np.array([number], dtype=object)
