"""Together: the exact level of several releases of the same people, each drawn by itself.

Given x, releases are independent: P(y₁, …, y_k|x) = Π P(y_i|x). Given s they are not, since each narrows down x. So
their levels do not add up. All of them are one channel on the values of X, in whole numbers, and the exact check of a
single release applies to it as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.by_history import ByHistory, Read
from privacyfunnel.protocols.drawn import drawing_digest
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

MOST_OUTCOMES = 4_000_000
"""Pairs of an x and of what is released of it that are gone through: exact integers take some 100 bytes each."""


def certify_together(protocols: Sequence[Protocol], joint: Joint, notion: Notion) -> Certificate:
    """Whether releases of the same people by each of these protocols, drawn independently, keep a promise together.

    A protocol that was drawn from twice is listed twice. A follow-up stands for itself and all that it follows, which
    is drawn once, however many follow it. Columns are found in `joint` by how they read a table, so that it may hold a
    column of one name more than once, cut in different ways.

    >>> joint = Joint([[30, 10], [10, 50]])
    >>> first, second = (optimise(joint, LIP(epsilon)) for epsilon in (0.1, 0.2))
    >>> round(certify_together([first], joint, LIP(1.0)).level, 3)
    0.1
    >>> round(certify_together([first, second], joint, LIP(1.0)).level, 3)
    0.298
    """
    whole = _Outcomes(joint)
    followed = {drawing_digest(one) for protocol in protocols for one in protocol.earlier}
    names = [drawing_digest(protocol) for protocol in protocols]
    if any(names.count(name) > 1 for name in followed):
        raise InvalidInput("a protocol that another follows is drawn once: it cannot be listed twice")
    for protocol in protocols:
        for one in (*protocol.earlier, protocol):
            whole.add(one, drawing_digest(one), once=one is not protocol or drawing_digest(one) in followed)
    return certify_entries(whole.entries, joint, notion)


class _Outcomes:
    """Everything that can be released of people, release by release."""

    def __init__(self, joint: Joint) -> None:
        n = joint.n_x
        self._joint = joint
        self.entries = Entries(np.arange(n), np.zeros(n, dtype=np.int64), np.full(n, 1, dtype=object))
        self._outputs = np.zeros((1, 0), dtype=np.int64)
        """_outputs[o, k]: the k-th draw of outcome number o."""
        self._draws: dict[str, list[int]] = {}
        """The draws of a release that others may follow, and of all that it follows, by its drawing."""

    def add(self, protocol: Protocol, name: str, once: bool) -> None:
        """One release more, unless it is there once for all."""
        if once and name in self._draws:
            return
        if protocol.before is not None:
            if name in self._draws:
                raise InvalidInput("a follow-up is drawn once: it cannot be listed twice")
            before = self._draws[drawing_digest(protocol.before)]
            self._follow(protocol, before)
            self._draws[name] = [*before, self._outputs.shape[1] - 1]
        else:
            block = protocol.block
            own = Entries.of(block.channel).at(inputs_read(block, self._joint))
            _check_size(self.entries, own, self._joint)
            self._renumber(self.entries.times(own, block.channel.n_outputs), block.channel.n_outputs)
            self._draws[name] = [self._outputs.shape[1] - 1]

    def _follow(self, follow_up: Protocol, before: list[int]) -> None:
        """P(y|x, h) for the history h that an outcome holds; outcomes whose history has no channel are out."""
        steps, entries = follow_up.by_history, self.entries
        number = np.array([steps.number.get(tuple(row), -1) for row in self._outputs[:, before].tolist()])
        n, read, of = len(steps.codes), _read(steps, self._joint), number[entries.outputs]
        place = np.full(len(of), -1)
        for h in np.unique(of[of >= 0]).tolist():
            at = of == h
            place[at] = steps.inputs(read, h)[entries.inputs[at]]
        kept = np.flatnonzero(of >= 0)
        if (place[kept] < 0).any():
            raise InvalidJoint("some people's values cannot have led to a history, for the follow-up: refit it")
        own = Entries.of(steps.channel).at(place[kept])
        if len(own.inputs) > MOST_OUTCOMES:
            raise InvalidInput(
                f"{len(own.inputs):,} outcomes of all releases are too many to go through exactly", steward_only=True
            )
        old = kept[own.inputs]
        numerators = entries.numerators[old] * own.numerators.astype(object)
        self._renumber(Entries(entries.inputs[old], entries.outputs[old] * n + own.outputs, numerators), n)

    def _renumber(self, entries: Entries, n_outputs: int) -> None:
        """Outcomes numbered from 0, so that the next release's cannot overflow, and what each of them holds."""
        different, outputs = np.unique(entries.outputs, return_inverse=True)
        self._outputs = np.column_stack([self._outputs[different // n_outputs], different % n_outputs])
        self.entries = Entries(entries.inputs, outputs.ravel(), entries.numerators)


def _read(steps: ByHistory, joint: Joint) -> Read:
    """What a follow-up takes the values of X in `joint` for, by the columns that read a table alike."""
    read = steps.read(_alike(steps.columns, joint))
    _all_known(read.values, joint)
    return read


def inputs_read(block: Block, joint: Joint) -> Integers:
    """For every value of X in `joint`, the input of the block, by the columns that read a table alike."""
    return _all_known(block.read(_alike(block.columns, joint)), joint)


def _alike(columns: tuple[Column, ...], joint: Joint) -> Integers:
    """The values of X in `joint` by the columns of it that read a table as these do."""
    return np.asarray(joint.codes[:, [joint.columns.index(column) for column in columns]])


def _all_known(found: Integers, joint: Joint) -> Integers:
    if (found < 0).any():
        raise InvalidJoint(
            f"{int((found < 0).sum())} of {joint.n_x} values of X are unknown to one of the protocols",
            steward_only=True,
        )
    return found


def _check_size(whole: Entries, own: Entries, joint: Joint) -> None:
    counts = [np.bincount(entries.inputs, minlength=joint.n_x).astype(np.float64) for entries in (whole, own)]
    outcomes = int(counts[0] @ counts[1])
    if outcomes > MOST_OUTCOMES:
        raise InvalidInput(
            f"{outcomes:,} outcomes of all releases together are too many to go through exactly", steward_only=True
        )


def promised(protocol: Protocol, notion: Notion) -> Limits | None:
    """What a protocol by itself keeps to, of this kind of promise; None if its promise is of another kind.

    None, too, where it limits a belief: what that is in terms of lifts depends on P(s).
    """
    own = protocol.notion.promise if isinstance(protocol.notion, Robust) else protocol.notion
    if own.beliefs_limited:
        return None
    if own != notion and _but_for_levels(own) != _but_for_levels(notion):
        return None
    return own.limits.granted()  # what holds for many distributions does for one


def _but_for_levels(notion: Notion) -> dict[str, Any]:
    """A promise without its ε, where that is one number; one with several levels is like nothing but itself."""
    said = notion.as_dict()
    levels = [said.pop(name, 0.0) for name in ("epsilon", "lower", "upper")]
    return said if all(isinstance(level, float) for level in levels) else {"like": id(notion)}
