"""The first plan for many values: both marginals and the promise, whatever the table, and few pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.best_release import faithful
from privacyfunnel.optimiser.faithful.first_plan import redrawn_in_parts
from privacyfunnel.optimiser.faithful.first_program import ALL_PAIRS
from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.optimiser.faithful.task import SPARED
from strategies import arrays, epsilons, notions


def program_of(joint, notion):
    return Program(joint.p_x, Similarity.of(joint), Bands.of(notion.granted_rows(joint)), SPARED)


def plan_of(program):
    n = program.n_x
    keys, mass = redrawn_in_parts(program)
    pi = np.zeros((n, n))
    pi[keys // n, keys % n] = mass
    return pi


def many_values(seed, secrets=3):
    """800 combinations of four columns, each leaning to some of the secrets."""
    rng = np.random.default_rng(seed)
    codes = np.indices((4, 5, 8, 5)).reshape(4, -1)
    lean = sum(rng.normal(0, 0.3, (secrets, size))[:, code] for size, code in zip((4, 5, 8, 5), codes, strict=True))
    weights = rng.dirichlet(np.full(800, 0.5)) * np.exp(lean)
    return pf.Joint(np.round(1e5 * weights).reshape(secrets, 4, 5, 8, 5) + 1, attributes=["a", "b", "c", "d"])


@given(arrays(max_s=4, max_x=8, min_s=2, min_x=2), notions(epsilons(0.01, 3.0)), st.booleans())
@settings(max_examples=150)
def test_both_marginals_are_exact_and_the_promise_is_kept(array, notion, in_two_columns):
    columns = in_two_columns and array.shape[1] % 2 == 0
    joint = pf.Joint(array.reshape(len(array), -1, 2)) if columns else pf.Joint(array)
    program = program_of(joint, notion)
    pi = plan_of(program)
    np.testing.assert_allclose(pi.sum(axis=0), joint.p_x, rtol=1e-12)
    np.testing.assert_allclose(pi.sum(axis=1), joint.p_x, rtol=1e-12)
    posteriors = pi / pi.sum(axis=1, keepdims=True)
    G = notion.granted_rows(joint)
    assert (posteriors @ G.T <= 1e-12 * (posteriors @ np.abs(G).T)).all()


@pytest.mark.parametrize("notion", [pf.LIP(0.3), pf.LDP(0.5), pf.ALIP(0.2, 0.4), pf.PML(0.3)], ids=str)
def test_it_keeps_far_more_than_redrawing_all_with_far_fewer_pairs(notion):
    joint = many_values(5)
    program = program_of(joint, notion)
    keys, mass = redrawn_in_parts(program)
    fidelity = mass @ program.similarity.at(keys % joint.n_x, keys // joint.n_x)
    assert fidelity > program.constant + 0.5 * (1 - program.constant)
    assert len(keys) < joint.n_x**2 / 20


def test_a_search_without_time_ends_with_it():
    joint = many_values(6)
    assert joint.n_x > ALL_PAIRS
    release = faithful(joint, pf.LIP(0.3), time_limit=0.0)
    assert release.how.startswith("0 linear programs")
    assert release.fidelity > release.similarity.of_strangers(joint.p_x) + 0.2
    assert len(release.channel.numerators) < joint.n_x**2 / 10
    assert release.fidelity_bound == 1.0
