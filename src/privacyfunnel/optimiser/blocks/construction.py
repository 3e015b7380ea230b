"""Products under construction: one channel for each block, solved and rounded one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser.blocks.joint_outputs import Parts
from privacyfunnel.optimiser.blocks.quick_mixture import remix, sketch
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.rounding import round_channel
from privacyfunnel.promises.limits import Limits
from privacyfunnel.proof.certificate import MOST_WORK
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Matrix, Vector

NEGLIGIBLE = 1e-12
"""Outputs less probable than this are not worth a row."""
STEPS = 7
"""Halvings of the interval in which the scale of the budgets lies."""
LARGEST_SCALE = 16.0
"""Times its share of the budget, what a block is given at most: chained budgets are pessimistic, so more is tried."""
PASSES = 4
"""Each solves every block anew; a pass that is not WORTH_A_PASS ends them before."""
WORTH_A_PASS = 1e-4
"""Nats that a pass over all blocks must gain for another to be worth it."""

RowsFor = Callable[[int, "Build"], Matrix]
"""The rows that the channel of a block must keep, given the rest of a build."""


@dataclass(frozen=True, eq=False)
class Build:
    """For every block its channel, and the posteriors that it mixes (None: it releases nothing)."""

    parts: Parts
    channels: tuple[Matrix, ...]
    mixtures: tuple[tuple[Columns, Vector] | None, ...]
    alone: frozenset[int] = frozenset()
    """Blocks that keep their share by themselves, because the product would be too large to audit with them."""

    @classmethod
    def nothing(cls, parts: Parts) -> Build:
        """Every block has a single output."""
        return cls(parts, tuple(np.ones((1, joint.n_x)) for joint in parts.joints), (None,) * len(parts))

    def utility(self) -> float:
        """I(X;Y) in nats."""
        return self.parts.utility(self.channels)

    def with_channel(self, b: int, channel: Matrix, mixture: tuple[Columns, Vector] | None) -> Build:
        """The same with another channel for block b."""
        channels = (*self.channels[:b], channel, *self.channels[b + 1 :])
        return replace(self, channels=channels, mixtures=(*self.mixtures[:b], mixture, *self.mixtures[b + 1 :]))

    def solved(self, b: int, rows: RowsFor, stopped: Callable[[], bool], *, auditable: bool = True) -> Build:
        """Block b anew, the best that a search finds for these rows; as it was, if that would be too large to audit."""
        p_x = self.parts.joints[b].p_x
        try:
            mixture = sketch(Polytope(rows(b, self), p_x), stopped)
            better = self.with_channel(b, _channel(mixture, p_x), mixture)
            return better if not auditable or self.parts.work(better.channels) <= MOST_WORK else self
        except InvalidPromise:  # too many conditions
            return self

    def rounded(self, b: int, rows: RowsFor, slack: float) -> tuple[Build, Channel]:
        """Block b as an exact channel that keeps these rows."""
        p_x, mixture = self.parts.joints[b].p_x, self.mixtures[b]
        constant = np.zeros(len(p_x), dtype=np.int64)
        channel = Channel.from_entries(np.arange(len(p_x)), constant, constant + UNIT, (1, len(p_x)))
        if mixture is not None:
            polytope = Polytope(rows(b, self), p_x)
            channel = round_channel(*remix(polytope, mixture[0]), polytope, slack)
        return self.with_channel(b, channel.dense(), mixture), channel


def chain(
    parts: Parts, limits: Limits, shares: Sequence[float], order: Sequence[int], stopped: Callable[[], bool]
) -> Build:
    """Block after block, each with its share of the limits given the outputs of those before it.

    A block that would make the product too large to audit over all outputs keeps its share by itself instead,
    whatever is known or released besides.
    """
    build = Build.nothing(parts)
    for b in order:
        larger = build.solved(b, chained_rows(limits, shares, order), stopped)
        if larger is build and len(build.channels[b]) == 1:
            by_itself = replace(build, alone=build.alone | {b})
            larger = by_itself.solved(b, chained_rows(limits, shares, order), stopped, auditable=False)
        build = larger
    return build


def chained_rows(limits: Limits, shares: Sequence[float], order: Sequence[int]) -> RowsFor:
    """A share of the limits, given the outputs of the blocks before; or for the block by itself."""
    order = list(order)

    def rows(b: int, build: Build) -> Matrix:
        if b in build.alone:
            return build.parts.own_rows(b, limits.times(shares[b]))
        before = order[: order.index(b)]
        return build.parts.chained_rows(b, build.channels, before, limits.times(shares[b]))

    return rows


def whole_rows(limits: Limits) -> RowsFor:
    """The limits of the whole product, given the channels of all other blocks."""
    return lambda b, build: build.parts.whole_rows(b, build.channels, limits)


def scaled_chain(
    parts: Parts, limits: Limits, shares: Sequence[float], order: Sequence[int], stopped: Callable[[], bool]
) -> Build:
    """The chain whose budgets are as large as its true level allows, in these proportions."""
    low, high, best = 1.0, LARGEST_SCALE, chain(parts, limits, shares, order, stopped)
    for _ in range(STEPS):
        if stopped():
            break
        scale = (low * high) ** 0.5
        build = chain(parts, limits, [scale * share for share in shares], order, stopped)
        if parts.reached(build.channels).within(limits):
            low, best = scale, build
        else:
            high = scale
    return best


def polished(build: Build, limits: Limits, order: Sequence[int], stopped: Callable[[], bool]) -> Build:
    """Each block in turn made the best that the others leave room for, while that gains anything."""
    utility = build.utility()
    for _ in range(PASSES):
        before = utility
        for b in order:
            if stopped():
                return build
            other = build.solved(b, whole_rows(limits), stopped)
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
