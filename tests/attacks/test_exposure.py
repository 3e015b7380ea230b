"""What a protocol that was fitted on exact counts gives away by itself, and that we say so."""

import json
from collections import defaultdict, deque

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.exposure import exposure
from privacyfunnel.tables.too_fine import FEW

COMMON = 30
"""Of values that so many people have, everybody knows roughly which secret they lean to."""


def thin_table(seed, c=2, common=12, rare=60):
    """Counts by secret and value: some values that many people have, and many that one person has."""
    rng = np.random.default_rng(seed)
    leaning = rng.beta(2, 2, common)
    people = rng.integers(COMMON, 300, common)
    many = np.stack([people - np.rint(people * leaning), np.rint(people * leaning)]).astype(int)
    few = np.eye(c, dtype=int)[:, rng.integers(0, c, rare)]
    return np.concatenate([many, few], axis=1)


def sides(text):
    """The values of X in two colours, from the protocol file alone: an output that two values give pairs both sides.

    Returns colour[x] in −1, 1, and the part of the graph that x is in; 0 and −1 where x is in no pair.
    """
    block = json.loads(text)["chain"][0]
    gives = defaultdict(list)
    for x, column in enumerate(block["channel"]):
        for y in column[::2]:
            gives[y].append(x)
    partners = defaultdict(set)
    for pair in gives.values():
        if len(pair) == 2:
            partners[pair[0]].add(pair[1])
            partners[pair[1]].add(pair[0])
    colour, part = np.zeros(len(block["channel"]), dtype=int), np.full(len(block["channel"]), -1)
    for start in partners:
        if not colour[start]:
            colour[start], part[start], queue = 1, start, deque([start])
            while queue:
                x = queue.popleft()
                for other in partners[x] - set(np.flatnonzero(colour).tolist()):
                    colour[other], part[other] = -colour[x], start
                    queue.append(other)
    return colour, part


def told_secrets(text, weights):
    """The secret of everybody who is alone, as the file tells it to somebody who knows how common values lean."""
    colour, part = sides(text)
    people = weights.sum(axis=0)
    lean = np.where(people >= COMMON, weights[1] / people - weights[1].sum() / weights.sum(), 0.0)
    guess = np.zeros(len(people), dtype=int)
    for one in np.unique(part[part >= 0]):
        own = part == one
        guess[own] = (colour[own] * np.sign((colour[own] * lean[own]).sum()) > 0).astype(int)
    return guess


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_two_colours_of_a_protocol_file_name_the_secret_of_everybody_who_is_alone(epsilon, seed, tmp_path):
    """The words in README, docs/security.md and the output of fit rest on this attack."""
    weights = thin_table(seed)
    protocol = pf.optimise(pf.Joint(weights), pf.LIP(epsilon))
    protocol.save(tmp_path / "p.json")
    alone = np.flatnonzero(weights.sum(axis=0) == 1)
    right = told_secrets((tmp_path / "p.json").read_text(encoding="utf-8"), weights)[alone] == weights[1, alone]
    assert right.mean() == 1.0
    assert max(weights[:, alone].mean(axis=1)) < 0.7  # guessing does worse


def test_who_knows_everybody_else_asks_the_certificate_which_secret_fits():
    """The protocol keeps its promise on the true table, and on hardly any other."""
    weights = thin_table(7, rare=12)
    protocol = pf.optimise(pf.Joint(weights), pf.LIP(0.2))
    alone = np.flatnonzero(weights.sum(axis=0) == 1)
    for x in alone:
        levels = []
        for s in (0, 1):
            guessed = weights.copy()
            guessed[:, x] = np.eye(2, dtype=int)[s]
            levels.append(pf.certify(protocol, pf.Joint(guessed), pf.LIP(0.2)).level)
        assert int(np.argmin(np.abs(np.array(levels) - 0.2))) == weights[1, x]


def test_people_whose_combination_few_share_are_counted():
    joint = pf.Joint([[1, 0, 9, 5, 2], [0, 2, 0, 5, 30]])
    found = exposure(pf.optimise(joint, pf.LIP(0.5)), joint)
    assert (found.people, found.alone, found.few) == (54, 1, 1 + 2 + 9)
    assert "12 have" in found.words()
    assert "not for publication" in found.words()


def test_where_nobody_is_rare_nothing_is_said_against_publishing():
    joint = pf.Joint([[FEW, 20], [0, 20]])
    found = exposure(pf.optimise(joint, pf.LIP(0.5)), joint)
    assert (found.alone, found.few) == (0, 0)
    assert "not for publication" not in found.words()


def test_given_probabilities_expose_nobody_and_the_file_says_so(tmp_path):
    joint = pf.Joint([[0.3, 0.2], [0.1, 0.4]])
    protocol = pf.optimise(joint, pf.LIP(0.5))
    protocol.save(tmp_path / "p.json")
    assert exposure(protocol, joint) is None
    assert pf.Protocol.load(tmp_path / "p.json").fitted == "given probabilities"


def test_a_file_says_that_it_was_fitted_on_exact_counts(tmp_path):
    protocol = pf.optimise(pf.Joint([[3, 2], [1, 4]]), pf.LIP(0.5))
    protocol.save(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))["fitted"] == "exact counts"
    assert pf.Protocol.load(tmp_path / "p.json").fitted == "exact counts"
