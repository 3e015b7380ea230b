"""Independent oracles for histories: everything that was released, enumerated output by output in fractions.

Nothing here uses the optimiser, the certificate or `proof`: channels are read from the protocols' own numerators.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import brute

UNIT = 2**32


def draws(protocol, values):
    """{history: P(history|x)} for a person whose attributes have these `values`, by name (one block)."""
    if protocol.before is not None:
        return _draws_after(protocol, values)
    block = protocol.block
    own = [values[name] for name in block.attributes]
    x = block.values.tolist().index(own)
    entries = range(block.channel.starts[x], block.channel.starts[x + 1])
    outputs, numerators = block.channel.outputs, block.channel.numerators
    return {(int(outputs[i]),): Fraction(int(numerators[i]), UNIT) for i in entries}


def _draws_after(protocol, values):
    steps = protocol.by_history
    own = tuple(column.labels.index(values[column.name]) for column in steps.columns)
    x = [tuple(row) for row in steps.codes.tolist()].index(own)
    histories = [tuple(row) for row in steps.histories.tolist()]
    place = {tuple(pair): i for i, pair in enumerate(steps.pairs.tolist())}
    found = {}
    for history, probability in draws(protocol.before, values).items():
        if history not in histories:
            continue
        i = place[histories.index(history), x]
        for j in range(steps.channel.starts[i], steps.channel.starts[i + 1]):
            y, numerator = int(steps.channel.outputs[j]), int(steps.channel.numerators[j])
            found[*history, y] = probability * Fraction(numerator, UNIT)
    return found


def people(joint):
    """The attributes of every value of X, by name."""
    return [dict(zip(joint.attributes, row, strict=True)) for row in joint.values.tolist()]


def released(joint, protocol):
    """{history: [P(s, history) for every s]}, in fractions on the scale of the weights."""
    weights = brute.fractions(joint.weights)
    found = defaultdict(lambda: [Fraction(0)] * joint.n_s)
    for x, values in enumerate(people(joint)):
        for history, probability in draws(protocol, values).items():
            row = [old + weights[s][x] * probability for s, old in enumerate(found[history])]
            found[history] = row
    return dict(found)


def lifts(joint, protocol):
    """P(s|history) / P(s) for everything that can be released."""
    prior = [sum(row) for row in brute.fractions(joint.weights)]
    whole = sum(prior)
    rows = released(joint, protocol)
    return brute.Lifts(
        {
            i: [whole * p / (sum(row) * q) for p, q in zip(row, prior, strict=True)]
            for i, row in enumerate(rows.values())
        }
    )


def fresh_lifts(joint, channels):
    """The same for independent releases through channels N[y][x] of numerators, drawn afresh each time."""
    rows = [[Fraction(1)] * joint.n_x]
    for N in channels:
        rows = [[a * Fraction(int(b), UNIT) for a, b in zip(row, n, strict=True)] for row in rows for n in N]
    weights = brute.fractions(joint.weights)
    prior = [sum(row) for row in weights]
    whole, found = sum(prior), {}
    for i, row in enumerate(rows):
        joint_row = [sum(w * q for w, q in zip(own, row, strict=True)) for own in weights]
        if sum(joint_row):
            found[i] = [whole * p / (sum(joint_row) * q) for p, q in zip(joint_row, prior, strict=True)]
    return brute.Lifts(found)
