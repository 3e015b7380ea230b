"""Several releases together: for a reader who has them all, one channel from X to everything that was released.

An output is a history and what was released after it. Scores for its outputs are unbiased as those of a single release
are, and sharper than those of either release alone. Probabilities are products, rounded to multiples of 2⁻³² again:
that moves a share by less than 10⁻⁹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.proof.histories import Past
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.earlier_releases import histories_released, tables_of
from privacyfunnel.tables.reading_back import FEWEST_ROWS, Tally
from privacyfunnel.typing import Integers, Vector


def together(follow_up: Protocol) -> Protocol:
    """Everything that was released as one protocol, with an output for each outcome and one for histories not known."""
    steps, n = follow_up.by_history, len(follow_up.by_history.codes)
    reached = _reached(follow_up)
    channel = steps.channel
    pair, y = channel.inputs, channel.outputs
    h, x = steps.pairs[pair].T
    keys = steps.outcomes[:, 0] * n + steps.outcomes[:, 1]
    outcome = np.searchsorted(keys, h * n + y)
    units = np.rint(reached[pair] * channel.numerators).astype(np.int64)
    whole = _filled(x, outcome, np.maximum(units, 1), (len(keys) + 1, n))
    labels = np.append(steps.outcomes[:, 1], 0)
    block = Block(
        steps.columns,
        steps.codes,
        whole,
        labels,
        _with_one_more(steps.marginal),
        nearest=steps.nearest,
        variants=_numbers(labels),
    )
    return follow_up.with_block(block)


def tally_together(
    follow_up: Protocol,
    released: Any,
    earlier: Any,
    person: str | None,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Tally:
    """How often every outcome of `together` was released, from all released tables joined by person."""
    if earlier is None or person is None:
        raise InvalidInput(
            "this protocol follows an earlier release, and rows tell little without it: give that, too, and the column "
            "that says which rows are one person's (--released first.csv --person id; in Python earlier= and person=)"
        )
    tables: Sequence[Any] = [*tables_of(earlier), released]
    found, counts = histories_released(follow_up, tables, person, delimiter=delimiter, encoding=encoding)
    if counts.sum() < FEWEST_ROWS:
        raise InvalidTable(
            f"{counts.sum()} people are in all tables, too few for an estimate; {FEWEST_ROWS} are needed"
        )
    steps, n = follow_up.by_history, len(follow_up.by_history.codes)
    h = np.array([steps.number.get(tuple(row), -1) for row in found[:, :-1].tolist()])
    keys = steps.outcomes[:, 0] * n + steps.outcomes[:, 1]
    place = np.searchsorted(keys, h * n + found[:, -1]).clip(0, len(keys) - 1)
    strange = (h < 0) | (keys[place] != h * n + found[:, -1])
    if strange.any():
        raise InvalidTable(
            f"{int(counts[strange].sum()):,} people have rows that this protocol never releases after each other; are "
            "these the tables of this protocol and of those that it follows, and was each left as it was released?"
        )
    return Tally(place, counts)


def for_estimates(follow_up: Protocol) -> Protocol:
    """`together`, with rows that are worked back."""
    return replace(together(follow_up), likeness=None)


def _reached(follow_up: Protocol) -> Vector:
    """P(h|x) of every pair; where combinations are read as others, in the mean of the published counts."""
    steps = follow_up.by_history
    people = _people(follow_up)
    past, read = Past(follow_up.followed, people), steps.read_in(people)
    p, unit = people.p_x, UNIT ** steps.histories.shape[1]
    mass = np.bincount(read.values, weights=p, minlength=len(steps.codes))
    found = np.zeros(len(steps.pairs))
    for h, history in enumerate(steps.histories.tolist()):
        numerators = past.numerators(tuple(history))
        of = np.array([int(number) / unit for number in numerators])
        inputs = steps.inputs(read, h)
        known = inputs >= 0
        found += np.bincount(inputs[known], weights=(p * of)[known], minlength=len(found))
    return np.minimum(found / np.maximum(mass[steps.pairs[:, 1]], np.finfo(float).tiny), 1.0)


def _people(follow_up: Protocol) -> Joint:
    """The combinations that people have: those of the published counts, or the values of the protocol."""
    steps, noise = follow_up.by_history, follow_up.noise
    if noise is not None:
        return noisy_joint(noise, steps.columns, follow_up.secret)
    return Joint.from_codes(np.ones((1, len(steps.codes)), dtype=np.int64), steps.codes, steps.columns, "", None)


def _filled(inputs: Integers, outputs: Integers, units: Integers, shape: tuple[int, int]) -> Channel:
    """A channel with these entries, and a last output that has what they leave."""
    exact = np.zeros(shape[1], dtype=np.int64)
    np.add.at(exact, inputs, units)
    over = np.maximum(exact - UNIT, 0)
    if over.any():  # by roundings: the largest entry of the column gives them back
        order = np.lexsort((-units, inputs))
        first = order[np.searchsorted(inputs[order], np.flatnonzero(over))]
        units = units.copy()
        units[first] -= over[over > 0]
    rest = UNIT - np.minimum(exact, UNIT)
    left = np.flatnonzero(rest)
    return Channel.from_entries(
        np.concatenate([inputs, left]),
        np.concatenate([outputs, np.full(len(left), shape[0] - 1)]),
        np.concatenate([units, rest[left]]),
        shape,
    )


def _with_one_more(marginal: Integers) -> Integers:
    """The marginal with a last output that hardly occurs."""
    longer = np.append(marginal, 1)
    longer[longer.argmax()] -= 1
    return longer


def _numbers(labels: Integers) -> Integers:
    """Which of the outputs with its label each is, from 0."""
    order = np.argsort(labels, kind="stable")
    numbers = np.empty(len(labels), dtype=np.int64)
    numbers[order] = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
    return numbers
