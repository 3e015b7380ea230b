"""Why exact fits are not for publication: from the file and public statistics alone, attacks name whoever is alone.

The attacks work on nothing but such files, so they are no part of the package: *two colours* and *balance of pairs*
need how many people have each combination, and *learned* the secrets of others.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

import privacyfunnel as pf
from attacks.test_from_protocol import shuffled, thin_table
from exact_fits.balance import by_balance, counts_by_balance
from exact_fits.learning import by_learning
from exact_fits.partners import Partners
from exact_fits.two_colours import by_two_colours
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.tables.private_counts import private

LUCK = 1e-6
"""Guessing does this well by luck no more often than that."""


@dataclass(frozen=True)
class Alone:
    """Of the people whose combination nobody shares: how many were named right, and would be by one guess for all."""

    people: int
    right: int
    guessing: int

    @property
    def luck(self):
        return binom.sf(self.right - 1, self.people, self.guessing / self.people)


def named_by_file(protocol, joint, seed=None):
    """What each attack names of those who are alone."""
    outcomes, people = Outcomes.of(protocol, joint), joint.weights.sum(axis=0).astype(np.int64)
    partners = Partners.of(outcomes, people)
    named = {"two colours": by_two_colours(partners, joint, people)}
    if joint.n_s == 2:
        named["balance of pairs"] = by_balance(outcomes, partners, joint, people, protocol.notion)
    if seed is not None:
        named["learned"] = by_learning(partners, joint, people, seed)
    alone = np.flatnonzero(people == 1)
    own = joint.weights[:, alone].argmax(axis=0)
    guess = int(np.bincount(own).max())
    return {attack: Alone(len(alone), int((secrets[alone] == own).sum()), guess) for attack, secrets in named.items()}


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_fit_tells_the_secret_of_everybody_who_is_alone(seed, epsilon):
    joint = pf.Joint(thin_table(seed))
    for each in named_by_file(pf.optimise(joint, pf.LIP(epsilon)), joint).values():
        assert (each.right, each.people) == (150, 150)
        assert each.guessing < 100


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_a_faithful_exact_fit_tells_nearly_as_much(epsilon):
    joint = pf.Joint(thin_table(3))
    found = named_by_file(pf.optimise(joint, pf.LIP(epsilon), objective="faithful"), joint)
    assert min(each.right for each in found.values()) > 120


@pytest.mark.parametrize("notion", [pf.LDP(0.4), pf.ALIP(0.2, 0.5), pf.PML(0.3)], ids=lambda notion: notion.name)
def test_other_promises_tell_as_much(notion):
    joint = pf.Joint(thin_table(5, rare=40, pairs=5))
    assert named_by_file(pf.optimise(joint, notion), joint)["two colours"].luck < LUCK


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_a_model_learns_from_others_what_the_protocol_says_of_those_who_are_alone(objective):
    pytest.importorskip("sklearn")
    joint = pf.Joint(thin_table(7))
    assert named_by_file(pf.optimise(joint, pf.LIP(0.1), objective=objective), joint, seed=1)["learned"].luck < LUCK


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_a_protocol_made_for_other_secrets_is_no_better_than_guessing(objective):
    """People with the same values, whose secrets have nothing to do with the fitted ones."""
    pytest.importorskip("sklearn")
    weights = thin_table(1)
    protocol = pf.optimise(pf.Joint(shuffled(weights, 1)), pf.LIP(0.3), objective=objective)
    assert min(each.luck for each in named_by_file(protocol, pf.Joint(weights), seed=1).values()) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_of_a_private_fit_they_read_no_more_than_the_noise_allows(objective):
    joint = pf.Joint(thin_table(2), attributes=["x"])
    protocol = pf.optimise(private(joint, 1.0), pf.LIP(0.3), objective=objective, time_limit=10)
    for each in named_by_file(protocol, joint, seed=1).values():
        guess = each.guessing / each.people
        allowed = math.e * guess / (math.e * guess + 1 - guess)
        assert binom.sf(each.right - 1, each.people, allowed) > LUCK


def test_two_secrets_that_are_equally_frequent_could_be_swapped_and_others_could_not():
    """P(s|y) is 0.45 or 0.55 for both secrets then, so every count could as well be that of the other secret."""
    joint = pf.Joint([[60, 3, 1, 0, 36], [36, 3, 0, 1, 60]])
    protocol = pf.optimise(joint, pf.LIP(math.log(1.1)))
    counts = counts_by_balance(Outcomes.of(protocol, joint), joint, joint.weights.sum(axis=0), protocol.notion)
    assert (counts == -1).sum() >= 4
    joint = pf.Joint([[61, 3, 1, 0, 31], [36, 3, 0, 1, 60]])
    protocol = pf.optimise(joint, pf.LIP(math.log(1.1)))
    people = joint.weights.sum(axis=0)
    counts = counts_by_balance(Outcomes.of(protocol, joint), joint, people, protocol.notion)
    told = counts >= 0
    assert told[[0, 2, 3, 4]].all()
    assert (counts[told] == joint.weights[1, told]).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_every_count_that_the_balance_tells_is_right(epsilon):
    joint = pf.Joint(thin_table(9))
    protocol = pf.optimise(joint, pf.LIP(epsilon))
    people = joint.weights.sum(axis=0)
    counts = counts_by_balance(Outcomes.of(protocol, joint), joint, people, protocol.notion)
    assert (counts >= 0).mean() > 0.7
    assert (counts[counts >= 0] == joint.weights[1, counts >= 0]).all()
