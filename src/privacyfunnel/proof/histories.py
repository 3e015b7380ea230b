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
from privacyfunnel.protocols.by_history import ByHistory, Read
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Exact, Integers


class Past:
    """The releases up to that of `protocol`, for the values of X of `joint`."""

    def __init__(self, protocol: Protocol, joint: Joint) -> None:
        self.protocol, self.joint = protocol, joint
        self._before = Past(protocol.before, joint) if protocol.before is not None else None
        if protocol.before is not None:
            self._read = protocol.by_history.read_in(joint)
            self._inputs = self._read.values
        else:
            self._inputs = protocol.block.inputs_of(joint)
            self._rows = _by_output(protocol.block.channel)

    def strangers(self) -> int:
        """How many values of X a release does not know."""
        return max(int((self._inputs < 0).sum()), self._before.strangers() if self._before is not None else 0)

    def numerators(self, history: tuple[int, ...]) -> Exact:
        """Integers N[x] in proportion to P(history|x), for all x on the same scale, 2³² to the number of draws."""
        if self._before is None:
            (y,) = history
            row = np.zeros(self.protocol.block.channel.n_inputs + 1, dtype=object)  # the last is for strangers
            if 0 <= y < len(self._rows):
                x, numerators = self._rows[y]
                row[x] = numerators
            return row[self._inputs]
        return self._before.numerators(history[:-1]) * self.last_row(history)

    def last_row(self, history: tuple[int, ...]) -> Exact:
        """2³²·P(y|x, h) of the last output of a history, for all values x of the joint; 0 where it is no input."""
        steps = self.protocol.by_history
        h = steps.number.get(history[:-1])
        if h is None:
            return np.zeros(self.joint.n_x, dtype=object)
        values, channel = steps.of(h)
        row = np.zeros(len(values) + 1, dtype=object)  # the last is for strangers
        at = channel.outputs == history[-1]
        row[channel.inputs[at]] = channel.numerators[at].astype(object)
        return row[_within(steps, h, steps.inputs(self._read, h))]

    def histories(self) -> Integers:
        """All histories that can occur: one output of every release."""
        if self._before is not None:
            steps = self.protocol.by_history
            return np.column_stack([steps.histories[steps.outcomes[:, 0]], steps.outcomes[:, 1]])
        return np.arange(self.protocol.block.channel.n_outputs)[:, None]

    def check(self, histories: Integers) -> Integers:
        """The histories, of the right form and each once."""
        if histories.ndim != 2 or histories.shape[1] != self.protocol.releases or not len(histories):
            raise InvalidChannel(f"a history of this protocol has {self.protocol.releases} outputs")
        return np.unique(histories, axis=0)


def entries_together(follow_up: Protocol, joint: Joint) -> tuple[Entries, int]:
    """Everything released, as one channel from the values of X of `joint`: an output is a history and what follows it.

    Numerators are in proportion to P(history, y|x) for each output; outputs are numbered in the order of the histories.
    Also how many pairs of a value and a history that can occur have no channel: for them nothing is promised.
    """
    steps = follow_up.by_history
    past, read = Past(follow_up.followed, joint), steps.read_in(joint)
    parts, before, strange = [], 0, 0
    for h, history in enumerate(steps.histories.tolist()):
        inputs = _within(steps, h, steps.inputs(read, h))
        found, unknown, outputs = _one_history(past.numerators(tuple(history)), steps.of(h)[1], inputs)
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
    """What was released with one history, N[x] ∝ P(history|x), and one output after it; outputs numbered from 0.

    `read` says which of the values that a step is for each x is read as, before there is a follow-up to ask.
    """
    values, channel = step
    place = np.full(max(int(read.max(initial=0)), int(values.max())) + 2, -1)
    place[values] = np.arange(len(values))
    return _one_history(numerators, channel, np.where(read >= 0, place[read], -1))[0]


def marginal_errors(follow_up: Protocol, joint: Joint) -> list[Fraction]:
    """The largest |P(Y = x|h) − P(X = x|h)| for every history h, exactly."""
    steps = follow_up.by_history
    past, read = Past(follow_up.followed, joint), steps.read_in(joint)
    errors, n = [], len(steps.codes)
    people = joint.weights.sum(axis=0).astype(object)
    for h, history in enumerate(steps.histories.tolist()):
        weights = people_by_value(steps, h, read, past.numerators(tuple(history)) * people)
        values, channel = steps.of(h)
        released = np.zeros(n, dtype=object)
        np.add.at(released, channel.outputs, weights[values[channel.inputs]] * channel.numerators.astype(object))
        total = int(weights.sum())
        errors.append(Fraction(int(np.abs(released - weights * UNIT).max()), UNIT * total) if total else Fraction(0))
    return errors


def people_by_value(steps: ByHistory, h: int, read: Read, people: Exact) -> Exact:
    """How many of the people with a history are taken for each value of X; people[i] have the i-th combination."""
    inputs = steps.inputs(read, h)
    known = inputs >= 0
    found = np.zeros(len(steps.codes), dtype=object)
    np.add.at(found, steps.pairs[inputs[known], 1], people[known])
    return found


def _within(steps: ByHistory, h: int, inputs: Integers) -> Integers:
    """Inputs numbered among those of their history; −1 stays."""
    return np.where(inputs >= 0, inputs - int(steps.starts[h]), -1)


def _one_history(numerators: Exact, channel: Channel, inputs: Integers) -> tuple[Entries, int, int]:
    """The entries of one history's outputs, numbered from 0; how many values lack a channel; and the outputs.

    inputs[x] is the input of the history's channel that x is read as; −1 if there is none.
    """
    x = np.flatnonzero(numerators)
    of = inputs[x]
    known, of = x[of >= 0], of[of >= 0]
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
