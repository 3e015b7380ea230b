"""Private fits tell of nobody what exact ones tell of everybody who is alone: the same attacks, on the same people."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import privacyfunnel as pf
from privacyfunnel.attacks.from_protocol import GROUPS, from_protocol
from privacyfunnel.attacks.noisy_counts import NoisyTrial
from privacyfunnel.tables.private_counts import private

LUCK = 1e-6
TABLES = {
    "compas": ("two_year_recid", ["age_cat", "sex", "c_charge_degree", "score_text", "race"]),
    "adult": ("income", ["sex", "race", "marital_status", "education"]),
}
REAL = [pytest.param(name, marks=[] if name == "compas" else pytest.mark.long) for name in TABLES]


def counted(shared, name):
    file = shared / "data" / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"{file.name} is not among the shared data")
    secret, attributes = TABLES[name]
    return pf.Joint.from_table(file, secret, attributes)


def chance(each, epsilon):
    """How likely so many are named right where e^ε₀ is allowed on top of guessing.

    People who share their values are named together: there are fewer independent names than people.
    """
    guess = each.guessing / each.people
    allowed = math.exp(epsilon) * guess / (math.exp(epsilon) * guess + 1 - guess)
    size = GROUPS[each.group][1]
    return binom.sf(math.ceil(each.right / size) - 1, math.ceil(each.people / size), allowed)


@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("name", REAL)
def test_a_private_fit_of_a_real_table_names_nobody_beyond_guessing_and_what_is_allowed(name, objective, shared):
    joint = counted(shared, name)
    protocol = pf.optimise(private(joint, 1.0, at_least=10), pf.LIP(0.5), objective=objective, time_limit=20)
    for each in from_protocol(protocol, joint):
        assert chance(each, 1.0) > LUCK, each


@pytest.mark.parametrize("name", REAL)
def test_an_exact_fit_of_the_same_table_names_everybody_who_is_alone(name, shared):
    joint = counted(shared, name)
    protocol = pf.optimise(joint, pf.LIP(0.5), time_limit=20)
    found = {each.attack: each for each in from_protocol(protocol, joint) if each.group == "alone"}
    assert found["testing both secrets"].right == found["testing both secrets"].people
    assert chance(found["testing both secrets"], 1.0) < 1e-3 or found["testing both secrets"].people < 60


def alone(people, seed):
    """A table of people who each have a value of their own, beside a common one."""
    secrets = np.random.default_rng(seed).integers(0, 2, people)
    return pf.Joint(np.concatenate([np.array([[900], [300]]), np.eye(2, dtype=int)[:, secrets]], axis=1))


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_best_attack_on_noisy_counts_is_better_than_guessing_and_no_better_than_allowed(epsilon):
    joint = alone(2_000, seed=1)
    trial = NoisyTrial(private(joint, epsilon).noise, joint)
    secrets = joint.weights[:, 1:].argmax(axis=0)
    right = sum(trial.names(x + 1, int(s), np.array([0, 1])) == s for x, s in enumerate(secrets))
    allowed = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert binom.sf(right - 1, len(secrets), allowed) > LUCK
    assert binom.sf(right - 1, len(secrets), 0.5) < LUCK  # and better than guessing, or it would show nothing


def test_the_same_attack_on_a_quarter_of_the_noise_is_better_than_allowed():
    joint = alone(2_000, seed=2)
    trial = NoisyTrial(private(joint, 4.0).noise, joint)
    secrets = joint.weights[:, 1:].argmax(axis=0)
    right = sum(trial.names(x + 1, int(s), np.array([0, 1])) == s for x, s in enumerate(secrets))
    assert binom.sf(right - 1, len(secrets), math.e / (1 + math.e)) < LUCK
