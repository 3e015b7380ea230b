import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import history_brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.proof import together
from privacyfunnel.proof.exponentials import log_above
from privacyfunnel.proof.histories import Past
from privacyfunnel.proof.together import certify_together
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.by_history import ByHistory
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.drawn import drawing_digest
from privacyfunnel.protocols.protocol import Protocol

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
        pf.LIP(9.0), block_of(part, random_channel(rng, part.n_x), shared=True), 0.0, 9.0, 9.0, "random", "s"
    )


def by_hand(joint, quarters):
    """A protocol whose channel has these quarters as entries."""
    channel = Channel.from_numerators(np.array(quarters) * (UNIT // 4))
    return Protocol(pf.LIP(9.0), block_of(joint, channel, shared=True), 0.0, 9.0, 9.0, "by hand", "s")


def by_brute_force(protocols, joint):
    """The largest and least lifts of all releases together, in fractions, output by output."""
    weights = [[Fraction(int(w), joint.total) for w in row] for row in joint.weights]
    prior = [sum(row) for row in weights]
    matrices = []
    for protocol in protocols:
        block = protocol.block
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


def followed(rng, before, joint):
    """A random follow-up to all histories of a protocol, with a random channel for each."""
    past = Past(before, joint)
    histories = past.histories()
    histories = histories[[bool(past.numerators(tuple(h)).any()) for h in histories.tolist()]]
    pairs, rows, outputs, numerators = [], [], [], []
    for h, history in enumerate(histories.tolist()):
        for x in np.flatnonzero(past.numerators(tuple(history))).tolist():
            own = rng.choice(joint.n_x, size=min(joint.n_x, int(rng.integers(1, 3))), replace=False)
            parts = [UNIT] if len(own) == 1 else [UNIT // 4 * int(k := rng.integers(1, 4)), UNIT - UNIT // 4 * int(k)]
            rows += [len(pairs)] * len(own)
            outputs += sorted(own.tolist())
            numerators += parts
            pairs.append((h, x))
    channel = Channel.from_entries(np.array(rows), np.array(outputs), np.array(numerators), (joint.n_x, len(pairs)))
    pairs = np.array(pairs)
    outcomes = np.unique(np.column_stack([pairs[channel.inputs, 0], channel.outputs]), axis=0)
    marginal = np.zeros(len(outcomes), dtype=np.int64)
    marginal[0] = UNIT
    steps = ByHistory(joint.columns, joint.codes, histories, pairs, channel, marginal)
    return Protocol(pf.LIP(9.0), steps, 0.0, 9.0, 9.0, "random", "s", before=before)


def level_of_tree(joint, first, branches, others):
    """Of a first release, of releases that follow it, each by itself, and of others: enumerated in fractions."""
    values = history_brute.people(joint)
    outcomes = [{}]
    weights = [[Fraction(int(w)) for w in row] for row in joint.weights]
    likely = defaultdict(lambda: [Fraction(0)] * joint.n_x)
    for x, own in enumerate(values):
        outcomes = history_brute.draws(first, own)
        for branch in branches:
            following, wider = history_brute.draws(branch, own), {}
            for outcome, p in outcomes.items():
                for history, q in following.items():
                    if history[: len(outcome[:1])] == outcome[:1]:
                        wider[*outcome, *history[1:]] = p * q / history_brute.draws(first, own)[outcome[:1]]
            outcomes = wider
        for other in others:
            drawn = history_brute.draws(other, own)
            outcomes = {(*a, *b): p * q for a, p in outcomes.items() for b, q in drawn.items()}
        for outcome, p in outcomes.items():
            likely[outcome][x] += p
    prior = [sum(row) for row in weights]
    lifts = []
    for row in likely.values():
        seen = [sum(w * q for w, q in zip(own, row, strict=True)) for own in weights]
        lifts += [a * sum(prior) / (sum(seen) * b) for a, b in zip(seen, prior, strict=True)]
    return max(log_above(max(lifts)), log_above(1 / min(lifts)) if min(lifts) else math.inf)


def compare_trees(rounds, seed):
    rng, infinite = np.random.default_rng(seed), 0
    for _ in range(rounds):
        joint = random_joint(rng)
        first = random_protocol(rng, joint)
        branches = [followed(rng, first, joint) for _ in range(rng.integers(1, 3))]
        if drawing_digest(branches[0]) == drawing_digest(branches[-1]):
            branches = branches[:1]
        others = [random_protocol(rng, joint) for _ in range(rng.integers(0, 2))]
        others = [other for other in others if drawing_digest(other) != drawing_digest(first)]
        listed = [*branches, *others, *([first] if rng.random() < 0.5 else [])]
        found = certify_together(listed, joint, pf.LIP(0.5)).level
        assert found == level_of_tree(joint, first, branches, others)
        infinite += math.isinf(found)
    assert 0 < infinite < rounds


def test_the_level_of_follow_ups_among_other_releases_is_that_of_brute_force_in_fractions():
    compare_trees(40, 3)


@pytest.mark.long
def test_the_levels_of_2000_random_histories_with_follow_ups_are_those_of_brute_force_in_fractions():
    compare_trees(LONG_ROUNDS, 4)


def test_a_follow_up_counts_what_it_follows_once_and_is_drawn_once():
    joint = pf.Joint([[30, 10, 5], [10, 50, 20]])
    first = pf.optimise(joint, pf.LIP(0.2))
    second = pf.optimise(joint, pf.LIP(0.4), after=first)
    third = pf.optimise(joint, pf.LIP(0.5), after=second)
    alone = pf.certify(third, joint).level
    for listed in ([third], [first, third], [third, second, first]):
        assert certify_together(listed, joint, pf.LIP(1.0)).level == alone <= 0.5
    with pytest.raises(InvalidInput, match="cannot be listed twice"):
        certify_together([third, third], joint, pf.LIP(1.0))


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
    others = replace(protocol.block, codes=protocol.block.codes + 1)
    with pytest.raises(InvalidJoint, match="1 of 3 values of X are unknown"):
        certify_together([replace(protocol, step=others)], joint, pf.LIP(1.0))


def test_what_is_followed_cannot_be_drawn_twice():
    """It was counted once, so that one release more made the level smaller."""
    joint = pf.Joint([[30, 10], [10, 50]])
    first = pf.optimise(joint, pf.LIP(0.3))
    second = pf.optimise(joint, pf.LIP(0.8), after=first)
    assert certify_together([first, second], joint, pf.LIP(1.0)).level == pytest.approx(0.8, abs=1e-6)
    with pytest.raises(InvalidInput, match="drawn once"):
        certify_together([first, first, second], joint, pf.LIP(1.0))
