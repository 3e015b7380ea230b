"""What is drawn is what is proven: for everybody who can come, the column that draws is the certified one."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.noise import with_at_least
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.proof.histories import Past, entries_together
from privacyfunnel.proof.together import certify_together
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.tables.pairs import PairSanitiser, sanitiser_of

SHAPE = (4, 5, 4)
AT_LEAST = 10
"""The command line's default."""


def people(seed, shape=SHAPE, n=2000):
    """A table of people whose columns go with the secret, so that many combinations are rare."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(int(np.prod(shape)), 0.5), size=2)
    counts = rng.multinomial(n // 2, p[0]), rng.multinomial(n - n // 2, 0.6 * p[0] + 0.4 * p[1])
    return pf.Joint(np.array(counts).reshape(2, *shape), attributes=["a", "b", "c"][: len(shape)])


def batch(joint, columns, x, history=None):
    """Rows with the x-th values of a joint, and with the number of a history."""
    places = [joint.attributes.index(name) for name in columns]
    arrays = [pa.array([joint.columns[j].labels[joint.codes[x, j]]]) for j in places]
    names = list(columns)
    if history is not None:
        arrays.append(pa.array([history[1]]))
        names.append(history[0])
    return pa.RecordBatch.from_arrays(arrays, names=names)


def drawn_first(protocol, joint):
    """Q[y, x]: with what a plain protocol draws y for somebody with the x-th values, in units of 2⁻³²."""
    sanitiser, channel = sanitiser_of(protocol), protocol.block.channel
    Q = np.zeros((channel.n_outputs, joint.n_x), dtype=object)
    for x in range(joint.n_x):
        own = int(sanitiser.inputs(batch(joint, protocol.attributes, x))[0, 0])
        a, b = channel.starts[own : own + 2]
        Q[channel.outputs[a:b], x] = channel.numerators[a:b].astype(object)
    return Q


def drawn(protocol, joint):
    """{history and output: with what it is drawn for each x}, in units of a power of 2⁻³², by what draws rows."""
    if not hasattr(protocol, "steps"):
        return {(y,): row for y, row in enumerate(drawn_first(protocol, joint)) if row.any()}
    steps, sanitiser, found = protocol.steps, PairSanitiser(protocol), {}
    for history, reached in drawn(protocol.before, joint).items():
        h = steps.number[history]
        for x in np.flatnonzero(reached):
            pair = int(sanitiser.inputs(batch(joint, protocol.attributes, int(x), (steps.history, h)))[0, 0])
            assert pair < len(steps.pairs), "somebody who can come cannot be drawn"
            a, b = steps.channel.starts[pair : pair + 2]
            for y, units in zip(
                steps.channel.outputs[a:b].tolist(), steps.channel.numerators[a:b].tolist(), strict=True
            ):
                row = found.setdefault((*history, y), np.zeros(joint.n_x, dtype=object))
                row[x] += reached[x] * units
    return found


def level(rows, joint):
    """The largest |ln P(s|y)/P(s)| of what is drawn, by fractions."""
    weights = joint.weights.astype(object)
    whole = weights.sum(axis=1)
    worst = Fraction(1)
    for row in rows.values():
        together = weights @ row
        for s, all_of_s in enumerate(whole):
            lift = Fraction(int(together[s]) * int(whole.sum()), int(together.sum()) * int(all_of_s))
            worst = max(worst, lift, 1 / lift if lift else Fraction(10**9))
    return float(np.log(float(worst)))


def follow_ups(seed, first, then, **what):
    """A release and one after it of the same people, with rare combinations read as others, as `fit` does it."""
    joint = people(seed)
    told = with_at_least(joint, AT_LEAST)
    before = pf.optimise(told, pf.LIP(first), gap=1e-3, **what)
    return joint, pf.optimise(told, pf.LIP(then), after=before, gap=1e-3, **what)


@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("seed", range(3))
def test_follow_ups_are_drawn_within_the_promise_that_is_proven(seed, objective):
    joint, second = follow_ups(seed, 0.2, 0.6, objective=objective)
    certificate = pf.certify(second, joint)
    assert certificate.holds
    assert second.steps.nearest
    assert level(drawn(second, joint), joint) == pytest.approx(certificate.level, abs=1e-9)
    assert certificate.level <= 0.6


@pytest.mark.parametrize("seed", range(3))
def test_every_column_that_a_follow_up_draws_from_is_the_certified_one(seed):
    joint, second = follow_ups(seed, 0.2, 0.6)
    rows, past = drawn(second, joint), Past(second, joint)
    assert {tuple(history) for history in past.histories().tolist()} >= set(rows)
    for history, row in rows.items():
        assert (past.numerators(history) == row).all()
    entries, strange = entries_together(second, joint)
    assert strange == 0
    assert sum(int(row.sum()) for row in rows.values()) == int(entries.numerators.sum())


def test_a_third_release_is_drawn_as_certified_too():
    joint = people(5)
    told = with_at_least(joint, AT_LEAST)
    protocol = pf.optimise(told, pf.LIP(0.2), gap=1e-3)
    for epsilon in (0.4, 0.7):
        protocol = pf.optimise(told, pf.LIP(epsilon), after=protocol, gap=1e-3)
    found = level(drawn(protocol, joint), joint)
    assert found == pytest.approx(pf.certify(protocol, joint).level, abs=1e-9)
    assert found <= 0.7


@pytest.mark.parametrize("seed", range(3))
def test_a_first_release_is_drawn_as_certified(seed):
    joint = people(seed)
    protocol = pf.optimise(with_at_least(joint, AT_LEAST), pf.LIP(0.4), gap=1e-3)
    rows = drawn(protocol, joint)
    assert (sum(rows.values()) == UNIT).all()
    assert level(rows, joint) == pytest.approx(pf.certify(protocol, joint).level, abs=1e-9)


def test_releases_together_read_rare_combinations_as_they_are_drawn():
    joint, second = follow_ups(1, 0.2, 0.6)
    assert certify_together([second], joint, pf.LIP(2.0)).level == pytest.approx(level(drawn(second, joint), joint))


def test_people_with_a_rare_combination_are_drawn_by_the_certified_law():
    """A real draw: 4,000 people with one rare combination, against its certified column."""
    joint, second = follow_ups(2, 0.2, 0.6)
    steps, past = second.steps, Past(second.before, joint)
    rare = next(x for x in range(joint.n_x) if not steps.read_in(joint).listed[x])
    h = next(h for h, history in enumerate(steps.histories.tolist()) if past.numerators(tuple(history))[rare])
    one = batch(joint, second.attributes, rare, (steps.history, h))
    sanitiser = PairSanitiser(second)
    x = np.repeat(sanitiser.inputs(one), 4000, axis=0)
    y = sanitiser.outputs(x, Randomness.seeded(1))[:, 0]
    pair = int(steps.inputs(steps.read_in(joint), h)[rare])
    a, b = steps.channel.starts[pair : pair + 2]
    certified = np.zeros(steps.channel.n_outputs)
    certified[steps.channel.outputs[a:b]] = steps.channel.numerators[a:b] / UNIT
    assert np.abs(np.bincount(y, minlength=len(certified)) / 4000 - certified).sum() / 2 < 0.05
