"""Histories: how probable everything that was released of somebody is, as exact integers.

P(y₁, …, y_k | x) is the product of what every release draws y_i with, given x and the outputs before. Each is an
integer over 2³², so all of it is one over a power of that, and the exact check of single releases applies as it stands.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidChannel
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.follow_up import FollowUp, inputs_read, length
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Exact, Integers

MOST_HISTORIES = 2_000_000
"""Outputs of several blocks together that are gone through."""


class Past:
    """The releases up to that of `protocol`, for the values of X of `joint`."""

    def __init__(self, protocol: Protocol, joint: Joint) -> None:
        self.protocol, self.joint = protocol, joint
        self._before = Past(protocol.before, joint) if isinstance(protocol, FollowUp) else None
        if isinstance(protocol, FollowUp):
            self._inputs = [protocol.steps.values_of(joint)]
        else:
            self._inputs = [
                inputs_read(block.columns, block.codes, block.nearest_to if block.nearest else None, joint)
                for block in protocol.blocks
            ]
            self._rows = [_by_output(block.channel) for block in protocol.blocks]

    def strangers(self) -> int:
        """How many values of X a release does not know."""
        unknown = (np.stack(self._inputs) < 0).any(axis=0)
        return max(int(unknown.sum()), self._before.strangers() if self._before is not None else 0)

    def numerators(self, history: tuple[int, ...]) -> Exact:
        """Integers N[x] in proportion to P(history|x), for all x on the same scale, 2³² to the number of draws."""
        if self._before is None:
            found = np.full(self.joint.n_x, 1, dtype=object)
            for y, rows, inputs, block in zip(history, self._rows, self._inputs, self.protocol.blocks, strict=True):
                row = np.zeros(block.channel.n_inputs + 1, dtype=object)  # the last is for strangers
                if 0 <= y < len(rows):
                    x, numerators = rows[y]
                    row[x] = numerators
                found = found * row[inputs]
            return found
        found = self._before.numerators(history[:-1])
        row = self.last_row(history)
        return found * row[self._inputs[0]]

    def last_row(self, history: tuple[int, ...]) -> Exact:
        """2³²·P(y|x, h) of the last output of a history, for all values x of the follow-up; 0 where it is no input."""
        follow_up = self.protocol
        if not isinstance(follow_up, FollowUp):
            raise InvalidChannel("only a follow-up has a channel for every history")
        row = np.zeros(len(follow_up.steps.codes) + 1, dtype=object)
        h = follow_up.steps.number.get(history[:-1])
        if h is None:
            return row
        values, channel = follow_up.steps.of(h)
        at = channel.outputs == history[-1]
        row[values[channel.inputs[at]]] = channel.numerators[at].astype(object)
        return row

    def histories(self) -> Integers:
        """All histories that can occur: one output of every release."""
        if isinstance(self.protocol, FollowUp):
            steps = self.protocol.steps
            return np.column_stack([steps.histories[steps.outcomes[:, 0]], steps.outcomes[:, 1]])
        sizes = [block.channel.n_outputs for block in self.protocol.blocks]
        if np.prod(sizes, dtype=np.float64) > MOST_HISTORIES:
            raise InvalidChannel(
                "the blocks have too many outputs together to go through them all; say which were released: released="
            )
        return np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1).astype(np.int64)

    def check(self, histories: Integers) -> Integers:
        """The histories, of the right form and each once."""
        if histories.ndim != 2 or histories.shape[1] != length(self.protocol) or not len(histories):
            raise InvalidChannel(f"a history of this protocol has {length(self.protocol)} outputs")
        return np.unique(histories, axis=0)


def entries_together(follow_up: FollowUp, joint: Joint) -> tuple[Entries, int]:
    """Everything released, as one channel from the values of X of `joint`: an output is a history and what follows it.

    Numerators are in proportion to P(history, y|x) for each output; outputs are numbered in the order of the histories.
    Also how many pairs of a value and a history that can occur have no channel: for them nothing is promised.
    """
    past, read = Past(follow_up.before, joint), follow_up.steps.values_of(joint)
    parts, before, strange = [], 0, 0
    for h, history in enumerate(follow_up.steps.histories.tolist()):
        found, unknown, outputs = _one_history(past.numerators(tuple(history)), follow_up.steps.of(h), read)
        parts.append(Entries(found.inputs, found.outputs + before, found.numerators))
        before, strange = before + outputs, strange + unknown
    return _joined(parts), strange


def entries_of_histories(past: Past, histories: Integers) -> Entries:
    """What was released before as a channel with one output for each history."""
    parts = []
    for h, history in enumerate(histories.tolist()):
        numerators = past.numerators(tuple(history))
        x = np.flatnonzero(numerators)
        parts.append(Entries(x, np.full(len(x), h), numerators[x]))
    return _joined(parts)


def entries_after(numerators: Exact, step: tuple[Integers, Channel], read: Integers) -> Entries:
    """What was released with one history, N[x] ∝ P(history|x), and one output after it; outputs numbered from 0."""
    return _one_history(numerators, step, read)[0]


def marginal_errors(follow_up: FollowUp, joint: Joint) -> list[Fraction]:
    """The largest |P(Y = x|h) − P(X = x|h)| for every history h, exactly."""
    past, read = Past(follow_up.before, joint), follow_up.steps.values_of(joint)
    errors, n = [], len(follow_up.steps.codes)
    for h, history in enumerate(follow_up.steps.histories.tolist()):
        weights = np.zeros(n, dtype=object)
        np.add.at(weights, read, past.numerators(tuple(history)) * joint.weights.sum(axis=0).astype(object))
        values, channel = follow_up.steps.of(h)
        released = np.zeros(n, dtype=object)
        np.add.at(released, channel.outputs, weights[values[channel.inputs]] * channel.numerators.astype(object))
        total = int(weights.sum())
        errors.append(Fraction(int(np.abs(released - weights * UNIT).max()), UNIT * total) if total else Fraction(0))
    return errors


def _one_history(numerators: Exact, step: tuple[Integers, Channel], read: Integers) -> tuple[Entries, int, int]:
    """The entries of one history's outputs, numbered from 0; how many values lack a channel; and the outputs."""
    values, channel = step
    place = np.full(max(int(read.max(initial=0)), int(values.max())) + 2, -1)
    place[values] = np.arange(len(values))
    x = np.flatnonzero(numerators)
    inputs = np.where(read[x] >= 0, place[read[x]], -1)
    known, of = x[inputs >= 0], inputs[inputs >= 0]
    own = Entries.of(channel).at(of)
    different, outputs = np.unique(own.outputs, return_inverse=True)
    own_numerators = own.numerators.astype(object) * numerators[known][own.inputs]
    return Entries(known[own.inputs], outputs.ravel(), own_numerators), len(x) - len(known), len(different)


def _joined(parts: list[Entries]) -> Entries:
    return Entries(
        np.concatenate([part.inputs for part in parts]),
        np.concatenate([part.outputs for part in parts]),
        np.concatenate([part.numerators for part in parts]),
    )


def _by_output(channel: Channel) -> list[tuple[Integers, Exact]]:
    """For every output, its inputs and numerators."""
    order = np.argsort(channel.outputs, kind="stable")
    ends = np.cumsum(np.bincount(channel.outputs, minlength=channel.n_outputs))[:-1]
    inputs, numerators = channel.inputs[order], channel.numerators[order].astype(object)
    return list(zip(np.split(inputs, ends), np.split(numerators, ends), strict=True))
