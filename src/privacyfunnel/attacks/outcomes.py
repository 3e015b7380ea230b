"""Outcomes: every released row that can come of every x, as exact integers; products and repetitions too.

Much like `proof.lifts.Entries`, and written apart from it on purpose: what an attacker reaches and what the certificate
says are checked against each other, so that a mistake in one of them is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.proof.together import MOST_OUTCOMES
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Exact, Integers


@dataclass(frozen=True, eq=False)
class Outcomes:
    """P(output|input) = numerator / scale; an input is a value of X in the order of a joint."""

    inputs: Integers
    outputs: Integers
    numerators: Exact
    scale: int

    @classmethod
    def of(cls, protocol: Protocol, joint: Joint) -> Outcomes:
        """All (x, y) with P(y|x) > 0, for the x of `joint`."""
        strange = sorted(set(protocol.attributes) ^ set(joint.attributes))
        if strange:
            raise InvalidJoint(f"attribute {strange[0]!r} is only in one of protocol and distribution")
        return cls.of_columns(protocol.block.channel, inputs_on(protocol.block, joint))

    @classmethod
    def of_columns(cls, channel: Channel, columns: Integers) -> Outcomes:
        """The outcomes of x drawn from the column columns[x] of a channel."""
        counts = np.diff(channel.starts)[columns]
        _check_size(int(counts.sum()))
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.repeat(channel.starts[columns], counts) + within
        inputs = np.repeat(np.arange(len(columns)), counts)
        return cls(inputs, channel.outputs[place], channel.numerators[place], UNIT)

    def times(self, other: Outcomes) -> Outcomes:
        """Both at once, drawn independently given x."""
        mine, theirs = self._pairs(other)
        width = int(other.outputs.max()) + 1
        outputs = self.outputs[mine] * width + other.outputs[theirs]
        _, outputs = np.unique(outputs, return_inverse=True)  # so that the next factor cannot overflow
        numerators = self.numerators[mine].astype(object) * other.numerators[theirs].astype(object)
        return Outcomes(self.inputs[mine], outputs.ravel(), numerators, self.scale * other.scale)

    def _pairs(self, other: Outcomes) -> tuple[Integers, Integers]:
        """All pairs of an entry of ours and one of theirs with the same x. Inputs are sorted in both."""
        first = np.searchsorted(other.inputs, self.inputs)
        counts = np.searchsorted(other.inputs, self.inputs, side="right") - first
        _check_size(int(counts.sum()))
        mine = np.repeat(np.arange(len(self.inputs)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return mine, np.repeat(first, counts) + within

    def repeated(self, k: int) -> Outcomes:
        """What k releases with fresh randomness show: y₁ ≤ … ≤ yₖ, since their order says nothing of x.

        P(multiset|x) = k!/Πmₒ! · Π P(yᵢ|x), with mₒ the times that output o occurs.
        """
        tuples, inputs, numerators = self.outputs[:, None], self.inputs, self.numerators.astype(object)
        for _ in range(k - 1):
            grown = Outcomes(inputs, tuples[:, -1], numerators, 1)
            mine, theirs = grown._pairs(self)
            ordered = tuples[mine, -1] <= self.outputs[theirs]
            mine, theirs = mine[ordered], theirs[ordered]
            tuples = np.column_stack([tuples[mine], self.outputs[theirs]])
            inputs, numerators = inputs[mine], numerators[mine] * self.numerators[theirs].astype(object)
        different, outputs = np.unique(tuples, axis=0, return_inverse=True)
        ways = np.array([_arrangements(row) for row in different.tolist()], dtype=object)
        return Outcomes(inputs, outputs.ravel(), numerators * ways[outputs.ravel()], self.scale**k)

    def forever(self) -> Outcomes:
        """What ever more releases show in the limit: the distribution P(·|x), so which x have the same one."""
        starts = np.searchsorted(self.inputs, np.arange(int(self.inputs.max()) + 2))
        seen: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        classes = []
        for begin, end in pairwise(starts):
            column = tuple(self.outputs[begin:end].tolist()), tuple(self.numerators[begin:end].tolist())
            classes.append(seen.setdefault(column, len(seen)))
        return Outcomes(np.arange(len(classes)), np.array(classes), np.ones(len(classes), dtype=np.int64), 1)


def inputs_on(block: Block, joint: Joint) -> Integers:
    """For every value of X in `joint`, the block's input that has the same values of the block's attributes."""
    inputs = block.inputs_of(joint)
    strangers = int((inputs < 0).sum())
    if strangers:
        raise InvalidJoint(
            f"{strangers} of {joint.n_x} values of X were not there when the protocol was fitted; "
            "attack it with the table it was made for",
            steward_only=True,
        )
    return inputs


def _arrangements(row: Sequence[int]) -> int:
    ways = math.factorial(len(row))
    for output in set(row):
        ways //= math.factorial(row.count(output))
    return ways


def _check_size(outcomes: int) -> None:
    if outcomes > MOST_OUTCOMES:
        raise InvalidInput(
            f"{outcomes:,} outcomes are too many to go through exactly; use fewer releases, attributes or values",
            steward_only=True,
        )
