"""The source paper's product: every column has a channel of its own, drawn independently of the others.

The level of a product is not the sum of its columns' levels (`counterexamples.py` has two cases), so what is told of a
product is its true level, computed from all its outputs together. Two splits of the budget:

- paper: equal shares, each column given what may be known of the others; what that promises can be wrong.
- tuned: the shares of a chain are scaled until the true level meets the promise, then each column in turn is made as
  good as the others leave room for; several splits and orders are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.optimiser.program.rounding import SLACKS
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.paper.building import Build, RowsFor, chained_rows, polished, scaled_chain, whole_rows
from privacyfunnel.paper.parts import Parts
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.typing import Integers, Matrix

Method = Literal["paper", "tuned"]
ALL_ORDERS = 3
"""Up to so many columns, every order is tried."""
Order = tuple[int, ...]
SPLITS = 6
"""Splits of the budget that are tried beside the equal one, drawn at random around the best."""
SHRINKS = (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
"""By how much limits are drawn in, until the exact check passes."""


@dataclass(frozen=True, eq=False)
class Product:
    """One exact channel for every column, what they keep together, and how far they go together."""

    joint: Joint
    channels: tuple[Channel, ...]
    """Of the joint's columns, in their order."""
    inputs: tuple[Integers, ...]
    """inputs[j][x]: the input of channel j that the joint's value x has."""
    utility: float
    """I(X;Y) in nats."""
    certificate: Certificate
    """Whether the promise is kept, and the true level, in exact arithmetic."""

    @property
    def level(self) -> float:
        """The smallest ε that is kept, rounded up."""
        return self.certificate.level

    @property
    def holds(self) -> bool:
        """Whether the promised ε is kept."""
        return self.certificate.holds

    @property
    def channel(self) -> Matrix:
        """Q[y, x] = P(y|x) in float64, for the joint's values of X; outputs in C order of the columns."""
        Q = np.ones((1, self.joint.n_x))
        for channel, x in zip(self.channels, self.inputs, strict=True):
            Q = (Q[:, None, :] * channel.dense()[None, :, x]).reshape(-1, self.joint.n_x)
        return Q


def product(joint: Joint, notion: Notion, method: Method = "tuned") -> Product:
    """The product that a split of the budget finds, with its true level.

    >>> found = product(Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]]), SRLIP(0.5))
    >>> len(found.channels), found.holds
    (2, True)
    """
    check_task(joint, notion, 1.0, None, None)
    if notion.confidence is not None or not notion.simple:
        raise InvalidPromise("a product is for one promise about one secret, to the people in the table")
    if method not in get_args(Method):
        raise InvalidInput(f"method is one of {', '.join(get_args(Method))}, not {method!r}")
    splits = _Splits(Parts(joint, notion.views(joint)), notion)
    return splits.paper() if method == "paper" else splits.tuned()


def product_of(joint: Joint, notion: Notion, channels: Sequence[ArrayLike]) -> Product:
    """The product of given channels Q[y, x], one for each column, with its true level."""
    exact = [Channel.from_dense(Q) for Q in channels]
    sizes = [joint.over([name]).n_x for name in joint.attributes]
    if [channel.n_inputs for channel in exact] != sizes:
        raise InvalidInput(f"one channel for each column is needed, with {sizes} inputs")
    return _told(Parts(joint, notion.views(joint)), notion, exact)


@dataclass(frozen=True, eq=False)
class _Splits:
    """One call of `product`."""

    parts: Parts
    notion: Notion

    def paper(self) -> Product:
        """Equal budgets, each column given what may be known of the others."""
        build, order = Build.nothing(self.parts), range(len(self.parts))
        rows = {b: chained_rows(self._limits, self._equal(), (b,)) for b in order}
        solved = [build.solved(b, rows[b]) for b in order]
        return _told(self.parts, self.notion, [solved[b].rounded(b, rows[b], SLACKS[0])[1] for b in order])

    def tuned(self) -> Product:
        """The best of several orders and splits, each scaled to the true level and polished."""
        nothing = best = Build.nothing(self.parts)
        starts = [(nothing, order) for order in self._orders()]
        starts += [(scaled_chain(self.parts, self._limits, shares, order), order) for shares, order in self._splits()]
        for start, order in starts:
            best = max(best, polished(start, self._limits, order), key=Build.utility)
        # Multiples of 2⁻³² may miss limits that are hardly above 0; releasing nothing meets any.
        for start, shrink in [*((best, shrink) for shrink in SHRINKS), (nothing, 0.0)]:
            found = _told(self.parts, self.notion, self._rounded(start, whole_rows(self._limits.times(1 - shrink))))
            if found.holds:
                return found
        raise NotCertified(f"no exact product was found that keeps {self.notion}; please report this")

    def _rounded(self, build: Build, rows: RowsFor) -> list[Channel]:
        """Column by column, each given the exact channels of those before it."""
        channels = []
        for b in range(len(self.parts)):
            build, channel = build.rounded(b, rows, SLACKS[0])
            channels.append(channel)
        return channels

    def _splits(self) -> Iterator[tuple[list[float], Order]]:
        """Splits of the budget, each with an order."""
        orders = list(self._orders())
        yield from ((self._equal(), order) for order in orders)
        rng = np.random.default_rng(0)
        for i in range(SPLITS):
            yield rng.dirichlet(np.full(len(self.parts), 3.0)).tolist(), orders[i % len(orders)]

    def _orders(self) -> Iterator[Order]:
        """All orders of few columns; else as given, and by how much a column alone could tell."""
        columns = range(len(self.parts))
        if len(self.parts) <= ALL_ORDERS:
            return permutations(columns)
        most_first = tuple(sorted(columns, key=lambda b: -self._alone[b]))
        return iter(dict.fromkeys([most_first, most_first[::-1], tuple(columns)]))

    @cached_property
    def _alone(self) -> list[float]:
        """What is kept if a single column is released, with all of the budget."""
        nothing, rows = Build.nothing(self.parts), whole_rows(self._limits)
        return [nothing.solved(b, rows).utility() for b in range(len(self.parts))]

    def _equal(self) -> list[float]:
        return [1 / len(self.parts)] * len(self.parts)

    @property
    def _limits(self) -> Limits:
        return self.notion.limits.granted()


def _told(parts: Parts, notion: Notion, channels: list[Channel]) -> Product:
    """The product of these channels, measured and checked as one channel."""
    joint, n = parts.joint, parts.joint.n_x
    entries = Entries(np.arange(n), np.zeros(n, dtype=np.int64), np.full(n, 1, dtype=object))
    for channel, x in zip(channels, parts.inputs, strict=True):
        entries = entries.times(Entries.of(channel).at(x), channel.n_outputs)
    utility = parts.utility([channel.dense() for channel in channels])
    return Product(joint, tuple(channels), tuple(parts.inputs), utility, certify_entries(entries, joint, notion))
