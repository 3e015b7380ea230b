"""What all rows of one table tell together: they are draws without replacement, which no promise about a row covers."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.channel import UNIT


def arrangements(cells):
    """All ways to give these (cell, number of people) to people in a row."""
    if not any(n for _, n in cells):
        yield ()
        return
    for i, (cell, n) in enumerate(cells):
        if n:
            rest = [*cells[:i], (cell, n - 1), *cells[i + 1 :]]
            for others in arrangements(rest):
                yield (cell, *others)


def lifts_of_all_rows(joint, channel):
    """P(s of the first person | all rows, in order) / P(s) for somebody who knows the table but not who is who."""
    Q = [[Fraction(round(q * UNIT), UNIT) for q in row] for row in channel]
    cells = [((s, x), int(joint.weights[s, x])) for s in range(joint.n_s) for x in range(joint.n_x)]
    tables = list(arrangements(cells))
    prior = [Fraction(int(n), joint.total) for n in joint.weights.sum(axis=1)]
    for rows in product(range(len(Q)), repeat=joint.total):
        mass = defaultdict(Fraction)
        for table in tables:
            mass[table[0][0]] += math.prod((Q[y][x] for y, (_, x) in zip(rows, table, strict=True)), start=Fraction(1))
        total = sum(mass.values())
        if total:
            yield from (mass[s] / total / prior[s] for s in range(joint.n_s))


def level_of_all_rows(joint, channel):
    lifts = set(lifts_of_all_rows(joint, channel))
    return math.inf if 0 in lifts else max(abs(math.log(lift)) for lift in lifts)


def test_two_rows_of_a_table_of_two_together_reach_1_144():
    """docs/security.md states this number."""
    joint = pf.Joint([[1, 0], [0, 1]])
    protocol = pf.optimise(joint, pf.LIP(0.5))
    assert pf.certify(protocol, joint).level <= 0.5
    assert level_of_all_rows(joint, protocol.channel) == pytest.approx(1.144, abs=5e-4)
    odds = Fraction(max(protocol.block.channel.numerators.tolist()), min(protocol.block.channel.numerators.tolist()))
    assert min(lifts_of_all_rows(joint, protocol.channel)) == 2 / (1 + odds**2)  # each of the two rows counts in full


@pytest.mark.parametrize("k", [2, 3])
def test_more_people_make_the_worst_rows_rarer_and_not_better(k):
    joint = pf.Joint([[k, 0], [0, k]])
    protocol = pf.optimise(joint, pf.LIP(0.5))
    assert level_of_all_rows(joint, protocol.channel) == pytest.approx(1.144, abs=5e-4)


def test_independent_people_are_told_apart_by_their_own_row_alone():
    """With records that are independent given the distribution, the other rows say nothing about a person."""
    joint = pf.Joint([[3, 1], [2, 4]])
    Q = pf.optimise(joint, pf.LIP(0.3)).channel
    p = joint.p
    for rows in product(range(len(Q)), repeat=3):
        told = np.einsum("sx,x,tz,z,uw,w->s", p, Q[rows[0]], p, Q[rows[1]], p, Q[rows[2]])
        alone = p @ Q[rows[0]]
        assert told / told.sum() == pytest.approx(alone / alone.sum(), rel=1e-12)


def test_all_rows_together_can_rule_a_secret_out_although_one_cannot():
    joint = pf.Joint([[1, 0, 1], [0, 2, 0]])
    protocol = pf.optimise(joint, pf.LIP(0.5))
    assert pf.certify(protocol, joint).level <= 0.5
    assert level_of_all_rows(joint, protocol.channel) == math.inf
