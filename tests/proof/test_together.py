import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.proof import together
from privacyfunnel.proof.exponentials import log_above
from privacyfunnel.proof.together import certify_together
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol, block_of

ROUNDS = 300
LONG_ROUNDS = 2_000


def random_joint(rng):
    """A small table of counts with one or two columns, in which every secret and every value occurs."""
    shape = [int(rng.integers(2, 4)), *rng.integers(2, 4, size=rng.integers(1, 3))]
    counts = rng.integers(0, 5, size=shape)
    flat = counts.reshape(shape[0], -1)
    flat[rng.integers(0, shape[0]), flat.sum(axis=0) == 0] = 1
    flat[flat.sum(axis=1) == 0, 0] = 1
    return pf.Joint(counts, attributes=["a", "b"][: len(shape) - 1])


def random_channel(rng, n_x):
    n_y = int(rng.integers(1, 4))
    N = rng.integers(0, 4, size=(n_y, n_x)) * int(rng.integers(1, 2**28))
    N[-1] += UNIT - N.sum(axis=0)
    return Channel.from_numerators(N[N.any(axis=1)])


def random_protocol(rng, joint):
    """A protocol, of no promise worth the name, on some or all columns."""
    names = [name for name in joint.attributes if rng.random() < 0.7] or [joint.attributes[0]]
    part = joint.over(names) if len(names) < len(joint.attributes) else joint
    return Protocol(
        pf.LIP(9.0), (block_of(part, random_channel(rng, part.n_x), shared=True),), 0.0, 9.0, 9.0, "random", "s"
    )


def by_hand(joint, quarters):
    """A protocol whose channel has these quarters as entries."""
    channel = Channel.from_numerators(np.array(quarters) * (UNIT // 4))
    return Protocol(pf.LIP(9.0), (block_of(joint, channel, shared=True),), 0.0, 9.0, 9.0, "by hand", "s")


def by_brute_force(protocols, joint):
    """The largest and least lifts of all releases together, in fractions, output by output."""
    weights = [[Fraction(int(w), joint.total) for w in row] for row in joint.weights]
    prior = [sum(row) for row in weights]
    matrices = []
    for protocol in protocols:
        (block,) = protocol.blocks
        dense = np.zeros((block.channel.n_outputs, block.channel.n_inputs), dtype=object)
        dense[block.channel.outputs, block.channel.inputs] = block.channel.numerators.astype(object)
        places = [joint.attributes.index(name) for name in block.attributes]
        of = [block.values.tolist().index([row[j] for j in places]) for row in joint.values.tolist()]
        matrices.append([[Fraction(int(dense[y, x]), UNIT) for x in of] for y in range(len(dense))])
    lifts = []
    for rows in product(*matrices):
        likely = [math.prod(column, start=Fraction(1)) for column in zip(*rows, strict=True)]
        seen = [sum(w * q for w, q in zip(row, likely, strict=True)) for row in weights]
        if sum(seen):
            lifts += [a / (sum(seen) * b) for a, b in zip(seen, prior, strict=True)]
    return max(lifts), min(lifts)


def level_by_brute_force(protocols, joint):
    rise, fall = by_brute_force(protocols, joint)
    return max(log_above(rise), log_above(1 / fall) if fall else math.inf)


def compare(rounds, seed):
    rng, infinite = np.random.default_rng(seed), 0
    for _ in range(rounds):
        joint = random_joint(rng)
        protocols = [random_protocol(rng, joint) for _ in range(rng.choice([1, 2, 2, 3]))]
        found = certify_together(protocols, joint, pf.LIP(0.5))
        expected = level_by_brute_force(protocols, joint)
        assert found.level == expected
        assert found.holds == (expected <= 0.5)
        infinite += math.isinf(expected)
    assert 0 < infinite < rounds / 2


def test_the_level_of_several_releases_is_that_of_brute_force_in_fractions():
    compare(ROUNDS, 1)


@pytest.mark.long
def test_the_levels_of_2000_random_histories_are_those_of_brute_force_in_fractions():
    compare(LONG_ROUNDS, 2)


def test_a_constant_release_adds_nothing_and_the_same_one_twice_does():
    joint = pf.Joint([[30, 10], [10, 50]])
    first = pf.optimise(joint, pf.LIP(0.1))
    constant = pf.optimise(joint, pf.PerfectPrivacy())
    once, twice = (certify_together([first] * k, joint, pf.LIP(1.0)).level for k in (1, 2))
    assert certify_together([first, constant], joint, pf.LIP(1.0)).level == pytest.approx(once, abs=1e-7)
    assert twice == pf.repeated(joint, first, [2])[0].level > once


def test_columns_cut_in_two_ways_are_told_apart():
    people = {"age": [10, 20, 30, 40] * 30, "ill": (["yes"] + ["no"] * 5 + ["yes"] * 2 + ["no"] * 4) * 10}
    halves, quarters = (
        pf.Joint.from_table(pd.DataFrame(people), "ill", bins={"age": edges})
        for edges in ([0, 25, 50], [0, 15, 25, 35, 50])
    )
    codes = np.column_stack([quarters.codes[:, 0], quarters.codes[:, 0] // 2])
    columns = quarters.columns + halves.columns
    joint = pf.Joint.from_codes(quarters.weights, codes, columns, "ill", quarters.secret_values)
    protocols = [by_hand(halves, [[3, 1], [1, 3]]), by_hand(quarters, [[2, 2, 1, 1], [2, 2, 3, 3]])]
    expected = pf.Joint(quarters.weights)  # the same by hand: each quarter's half is known
    fine = [by_hand(expected, [[3, 3, 1, 1], [1, 1, 3, 3]]), by_hand(expected, [[2, 2, 1, 1], [2, 2, 3, 3]])]
    found = certify_together(protocols, joint, pf.LIP(0.4)).level
    assert found == level_by_brute_force(fine, expected) > 0


def test_too_many_outcomes_and_unknown_values_are_refused(monkeypatch):
    joint = pf.Joint([[30, 10, 5], [10, 50, 20]])
    protocol = pf.optimise(joint, pf.LIP(0.3))
    monkeypatch.setattr(together, "MOST_OUTCOMES", 3)
    with pytest.raises(InvalidInput, match="too many to go through exactly"):
        certify_together([protocol, protocol], joint, pf.LIP(1.0))
    monkeypatch.undo()
    others = replace(protocol.blocks[0], codes=protocol.blocks[0].codes + 1)
    with pytest.raises(InvalidJoint, match="1 of 3 values of X are unknown"):
        certify_together([replace(protocol, blocks=(others,))], joint, pf.LIP(1.0))
