"""Products under construction: one channel for each column, solved and rounded one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.rounding import round_channel
from privacyfunnel.paper.parts import Parts
from privacyfunnel.paper.sketch import remix, sketch
from privacyfunnel.promises.limits import Limits
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Matrix, Vector

NEGLIGIBLE = 1e-12
"""Outputs less probable than this are not worth a row."""
STEPS = 7
"""Halvings of the interval in which the scale of the budgets lies."""
LARGEST_SCALE = 16.0
"""Times its share of the budget, what a column is given at most: chained budgets are pessimistic, so more is tried."""
PASSES = 4
"""Each solves every column anew; a pass that is not WORTH_A_PASS ends them before."""
WORTH_A_PASS = 1e-4
"""Nats that a pass over all columns must gain for another to be worth it."""

RowsFor = Callable[[int, "Build"], Matrix]
"""The rows that the channel of a column must keep, given the rest of a build."""


@dataclass(frozen=True, eq=False)
class Build:
    """For every column its channel, and the posteriors that it mixes (None: it releases nothing)."""

    parts: Parts
    channels: tuple[Matrix, ...]
    mixtures: tuple[tuple[Columns, Vector] | None, ...]

    @classmethod
    def nothing(cls, parts: Parts) -> Build:
        """Every column has a single output."""
        return cls(parts, tuple(np.ones((1, joint.n_x)) for joint in parts.joints), (None,) * len(parts))

    def utility(self) -> float:
        """I(X;Y) in nats."""
        return self.parts.utility(self.channels)

    def with_channel(self, b: int, channel: Matrix, mixture: tuple[Columns, Vector] | None) -> Build:
        """The same with another channel for column b."""
        channels = (*self.channels[:b], channel, *self.channels[b + 1 :])
        return replace(self, channels=channels, mixtures=(*self.mixtures[:b], mixture, *self.mixtures[b + 1 :]))

    def solved(self, b: int, rows: RowsFor) -> Build:
        """Column b anew, the best that a search finds for these rows; as it was, if these are too many."""
        p_x = self.parts.joints[b].p_x
        try:
            mixture = sketch(Polytope(rows(b, self), p_x))
            return self.with_channel(b, _channel(mixture, p_x), mixture)
        except InvalidPromise:  # too many conditions
            return self

    def rounded(self, b: int, rows: RowsFor, slack: float) -> tuple[Build, Channel]:
        """Column b as an exact channel that keeps these rows."""
        p_x, mixture = self.parts.joints[b].p_x, self.mixtures[b]
        constant = np.zeros(len(p_x), dtype=np.int64)
        channel = Channel.from_entries(np.arange(len(p_x)), constant, constant + UNIT, (1, len(p_x)))
        if mixture is not None:
            polytope = Polytope(rows(b, self), p_x)
            channel = round_channel(*remix(polytope, mixture[0]), polytope, slack)
        return self.with_channel(b, channel.dense(), mixture), channel


def chain(parts: Parts, limits: Limits, shares: Sequence[float], order: Sequence[int]) -> Build:
    """Column after column, each with its share of the limits given the outputs of those before it."""
    build = Build.nothing(parts)
    for b in order:
        build = build.solved(b, chained_rows(limits, shares, order))
    return build


def chained_rows(limits: Limits, shares: Sequence[float], order: Sequence[int]) -> RowsFor:
    """A share of the limits, given the outputs of the columns before."""
    order = list(order)

    def rows(b: int, build: Build) -> Matrix:
        before = order[: order.index(b)]
        return build.parts.chained_rows(b, build.channels, before, limits.times(shares[b]))

    return rows


def whole_rows(limits: Limits) -> RowsFor:
    """The limits of the whole product, given the channels of all other columns."""
    return lambda b, build: build.parts.whole_rows(b, build.channels, limits)


def scaled_chain(parts: Parts, limits: Limits, shares: Sequence[float], order: Sequence[int]) -> Build:
    """The chain whose budgets are as large as its true level allows, in these proportions."""
    low, high, best = 1.0, LARGEST_SCALE, chain(parts, limits, shares, order)
    for _ in range(STEPS):
        scale = (low * high) ** 0.5
        build = chain(parts, limits, [scale * share for share in shares], order)
        if parts.reached(build.channels).within(limits):
            low, best = scale, build
        else:
            high = scale
    return best


def polished(build: Build, limits: Limits, order: Sequence[int]) -> Build:
    """Each column in turn made the best that the others leave room for, while that gains anything."""
    utility = build.utility()
    for _ in range(PASSES):
        before = utility
        for b in order:
            other = build.solved(b, whole_rows(limits))
            if other.utility() > utility:
                build, utility = other, other.utility()
        if utility < before + WORTH_A_PASS:
            break
    return build


def _channel(mixture: tuple[Columns, Vector], p_x: Vector) -> Matrix:
    """Q[y, x] = q_y v_y[x] / p_x[x]."""
    columns, q = mixture
    worth = np.flatnonzero(q > NEGLIGIBLE)
    Q = q[worth, None] * columns.take(worth).dense(len(p_x)) / p_x
    return np.asarray(Q / Q.sum(axis=0))
