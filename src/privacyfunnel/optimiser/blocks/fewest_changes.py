"""Products whose blocks can be counted and change few cells: the faithful program of one block after the other.

Given the channels of the other blocks, a promise about the whole product is rows G v ≤ 0 on the posteriors v of one
block, so its best faithful channel is the program of `optimiser.faithful` with these rows. It starts from chains, in
which each block has its share of the limits given those before it, and from what redrawing gives.

The bound: whatever else is released can be left out, which breaks no promise. So each block alone keeps the promise
of the whole, and no product has a fidelity above Σ_b w_b F_b, where F_b bounds block b released alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser.blocks.construction import PASSES, Build, RowsFor, whole_rows
from privacyfunnel.optimiser.blocks.joint_outputs import Parts
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.plan_rounding import round_plan
from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.optimiser.faithful.redrawing import likeness_of, passed, shares_of, similarity_in
from privacyfunnel.optimiser.faithful.search import Standing, generate, polished
from privacyfunnel.optimiser.faithful.task import SPARED, not_exceeded
from privacyfunnel.promises.limits import Limits
from privacyfunnel.proof.certificate import MOST_WORK
from privacyfunnel.protocols.block import Block, faithful_block
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Matrix

MOST_CONDITIONS = 1_000_000
"""Numbers in the rows of one block, beyond which its program takes minutes and it stays as it is."""
BLOCK_GAP = 1e-4
"""Of the fidelity of a block, to which its program is solved."""
WORTH_A_ROUND = 1e-4
"""Fidelity that a pass over all blocks must gain for another to be worth it."""
OF_THE_TIME = 0.25
"""What bounds may take of the time that is left."""
OF_WHAT_IS_LEFT = 0.3
"""What one program may take of the time that is left: with very many conditions, one would take all of it."""

Chain = tuple[RowsFor, Sequence[int]]
"""The rows that each block must keep given those before it, and the order of the blocks."""


@dataclass(frozen=True, eq=False)
class Countable:
    """The search among products whose blocks can be counted."""

    parts: Parts
    limits: Limits
    weights: Mapping[str, float] | None
    standing: Standing
    """The time, and the best fidelity and bound so far."""

    def best(self, redrawn: Protocol, chains: Iterable[Chain], *, polish: bool) -> Protocol:
        """The best of what redrawing gives and of these chains, made better block by block if `polish`."""
        best = self._seen(redrawn)
        if self.parts.work([np.empty((joint.n_x, joint.n_x)) for joint in self.parts.joints]) > MOST_WORK:
            return self._with_bound(best)
        if polish:
            best = self._seen(self._polished(best))
        for rows, order in chains:
            if self.standing.stopped() or self.standing.closed():
                break
            start = self._chained(redrawn, rows, order)
            if start is not None:
                found = self._polished(start) if polish else start
                best = self._seen(max(best, found, key=_fidelity))
        return self._with_bound(best)

    def bound(self) -> None:
        """Bound every product by what its blocks could be alone, each with all of the promise."""
        nothing, total = Build.nothing(self.parts), 0.0
        left = self.standing.left() * OF_THE_TIME / len(self.parts)
        for b, weight in enumerate(self._weights):
            try:
                total += weight * self._searched(b, whole_rows(self.limits)(b, nothing), left)[1].upper_bound
            except InvalidPromise:  # too many conditions
                total += weight
        self.standing.upper_bound = min(1.0, total)

    def _with_bound(self, protocol: Protocol) -> Protocol:
        likeness, values = cast(Likeness, protocol.likeness), sum(joint.n_x for joint in self.parts.joints)
        most = min(1.0, not_exceeded(self.standing.upper_bound, likeness.fidelity, values))
        return replace(protocol, likeness=replace(likeness, fidelity_bound=most))

    def _chained(self, like: Protocol, rows: RowsFor, order: Sequence[int]) -> Protocol | None:
        """Block after block, each the best that these rows leave room for; None if that is none that passes."""
        build, channels = Build.nothing(self.parts), dict[int, Channel]()
        for b in order:
            channel = self._solved(b, rows, build)
            if channel is None:
                return None
            build, channels[b] = build.with_channel(b, channel.dense(), None), channel
        blocks = tuple(faithful_block(self.parts.joints[b], channels[b]) for b in order)
        return self._passed(like, blocks)

    def _polished(self, protocol: Protocol) -> Protocol:
        """Each block in turn made the best that the others leave room for, while that gains anything."""
        for _ in range(PASSES):
            before = _fidelity(protocol)
            for i in range(len(protocol.blocks)):
                if self.standing.stopped():
                    return protocol
                protocol = max(protocol, self._with_better(protocol, i), key=_fidelity)
            if _fidelity(protocol) < before + WORTH_A_ROUND:
                break
        return protocol

    def _with_better(self, protocol: Protocol, i: int) -> Protocol:
        """The i-th block of a protocol solved anew, given the others; the same protocol if that does not pass."""
        places = [self.parts.blocks.index(block.attributes) for block in protocol.blocks]
        build = Build.nothing(self.parts)
        for place, block in zip(places, protocol.blocks, strict=True):
            build = build.with_channel(place, block.channel.dense(), None)
        channel = self._solved(places[i], whole_rows(self.limits), build)
        if channel is None:
            return protocol
        blocks = list(protocol.blocks)
        blocks[i] = faithful_block(self.parts.joints[places[i]], channel)
        return self._passed(protocol, tuple(blocks)) or protocol

    def _solved(self, b: int, rows: RowsFor, build: Build) -> Channel | None:
        """The best faithful channel of block b for these rows; None if they are too many."""
        try:
            program, standing = self._searched(b, rows(b, build), self.standing.left() * OF_WHAT_IS_LEFT)
        except InvalidPromise:
            return None
        return round_plan(polished(program, standing), program.p)

    def _searched(self, b: int, G: Matrix, seconds: float) -> tuple[Program, Standing]:
        own = self.parts.joints[b]
        if G.size > MOST_CONDITIONS:
            raise InvalidPromise(f"a block has {len(G):,} conditions, too many for its program")
        program = Program(own.p_x, self._similarities[b], Bands.of(G), SPARED)
        standing = Standing.begun(BLOCK_GAP / 2, seconds, None, self.standing.interrupted, program.constant)
        generate(program, own, standing, None)
        return program, standing

    def _passed(self, like: Protocol, blocks: tuple[Block, ...]) -> Protocol | None:
        """The product of these blocks, if it passes the exact checks."""
        how = f"product of {len(blocks)} blocks, each with the fewest changes given the others"
        likeness = likeness_of(blocks, self.parts.joint, self.weights)
        seen = np.stack([self.parts.inputs[self.parts.blocks.index(block.attributes)] for block in blocks])
        return passed(replace(like, blocks=blocks, how=how, likeness=likeness, seen=seen), self.parts.joint)

    def _seen(self, protocol: Protocol) -> Protocol:
        """Tell how far things are."""
        self.standing.fidelity = max(self.standing.fidelity, _fidelity(protocol))
        self.standing.report()
        return protocol

    @cached_property
    def _similarities(self) -> list[Similarity]:
        return [similarity_in(own, self.weights) for own in self.parts.joints]

    @cached_property
    def _weights(self) -> list[float]:
        """How much of a row's similarity is that of each block."""
        weight = shares_of(self.parts.joint, self.weights)
        return [sum(weight[name] for name in block) for block in self.parts.blocks]


def _fidelity(protocol: Protocol) -> float:
    return protocol.fidelity or 0.0
