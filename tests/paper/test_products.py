"""The paper's product: what is told of it is its true level, and its budget theorem fails on two distributions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import brute_level, spread, tables
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.paper import product
from privacyfunnel.paper.counterexamples import full_support, two_bits
from privacyfunnel.paper.products import product_of

pytestmark = pytest.mark.usefixtures("compiled_loops")

UNIT = 2**32


def dyadic(Q):
    """The channel in multiples of 2⁻³²."""
    N = np.floor(Q * UNIT)
    N[N.argmax(axis=0), np.arange(N.shape[1])] += UNIT - N.sum(axis=0)
    return N / UNIT


def random_channel(rng, outputs, inputs):
    """A channel, some of whose entries are small."""
    Q = rng.dirichlet(np.full(min(outputs, inputs), 0.5), size=inputs).T
    return 0.9999 * Q + 0.0001 / len(Q)


@pytest.mark.long
@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=15)
def test_a_tuned_product_keeps_its_promise_by_the_definition(p, epsilon, spreads):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    found = product(joint, kind(epsilon), method="tuned")
    assert found.holds
    assert found.level <= epsilon
    assert brute_level(p, spread(found, p), spreads) <= epsilon + 1e-9


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_the_exact_level_of_a_product_is_that_of_the_definition(p, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    channels = [dyadic(random_channel(rng, 3, joint.over([name]).n_x)) for name in joint.attributes]
    found = product_of(joint, pf.SRLIP(1e4), channels)
    assert found.level == pytest.approx(brute_level(p, spread(found, p)), rel=1e-9, abs=1e-12)
    together = found.channel * joint.p_x
    q, seen = together.sum(axis=1, keepdims=True), together > 0
    information = (together[seen] * np.log((found.channel / q)[seen])).sum()
    assert found.utility == pytest.approx(information, abs=1e-9)


def test_two_columns_tell_what_neither_does():
    case = two_bits()
    for alone in case.channels:
        assert pf.LIP(0).level(case.joint.over(["X1"]), alone) == 0
    found = case.product()
    assert case.budget == 0
    assert not found.holds
    assert found.level == math.inf
    assert not product(case.joint, pf.SRLIP(0.1), method="paper").holds


def test_the_budget_fails_with_full_support_too():
    case = full_support()
    assert pf.LIP(1).level(case.joint.over(["X1"]), case.channels[0]) == pytest.approx(case.budget / 2, abs=1e-8)
    found = case.product()
    assert not found.holds
    assert found.level == pytest.approx(0.5314, abs=1e-4)
    assert product(case.joint, pf.SRLIP(case.budget), method="paper").level > 3 * case.budget


@pytest.mark.parametrize(("case", "epsilon"), [(two_bits(), 0.0), (two_bits(), 0.1), (full_support(), None)])
def test_a_tuned_product_keeps_the_promise_where_the_papers_does_not(case, epsilon):
    epsilon = case.budget if epsilon is None else epsilon
    found = product(case.joint, pf.SRLIP(epsilon), method="tuned")
    assert found.holds
    assert found.level <= (epsilon or 1e-8)
    assert found.utility > 0


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_joint_optimum_keeps_most_then_tuned_then_the_paper(epsilon):
    joint = pf.Joint(np.random.default_rng(0).random((2, 2, 2, 3)))
    budget, tuned = (product(joint, pf.SRLIP(epsilon), method=method).utility for method in ("paper", "tuned"))
    best = pf.optimise(joint, pf.SRLIP(epsilon), gap=1e-4, time_limit=20)
    assert budget < tuned <= best.upper_bound
    assert tuned < best.utility


@pytest.mark.parametrize(
    "weights",
    [
        np.eye(3, dtype=int)[:, :, None] * np.array([1, 2]),  # a secret determined by one attribute
        np.eye(4, dtype=int)[None] * np.array([[[3], [1], [2], [5]], [[1], [4], [2], [1]]]),  # X¹ = X²
        np.array([[[3, 0]], [[1, 4]]]),  # an attribute with one value
        np.array([[[3, 0], [0, 2]], [[0, 1], [4, 0]]]),  # zero cells
    ],
    ids=["determined", "duplicated", "single", "zeros"],
)
def test_degenerate_attributes_do_no_harm(weights):
    joint = pf.Joint(weights)
    found = product(joint, pf.SRLIP(0.3))
    assert found.holds
    assert found.channel.shape[1] == joint.n_x


def test_limits_finer_than_any_rounding_are_met_by_telling_less():
    joint = pf.Joint([[[20, 41], [39, 13]], [[10**6, 10], [14, 22]]])
    assert product(joint, pf.LIP(1e-9)).holds


def test_what_makes_no_sense_is_refused_in_a_line():
    joint = pf.Joint(np.ones((2, 2, 2)))
    with pytest.raises(InvalidInput, match="paper, tuned"):
        product(joint, pf.SRLIP(1), method="best")
    with pytest.raises(InvalidPromise, match="one promise"):
        product(pf.Joint(np.ones((2, 2, 2), dtype=int)), pf.robust(pf.SRLIP(1)))
    with pytest.raises(InvalidInput, match="2, 2"):
        product_of(joint, pf.SRLIP(1), [np.eye(2), np.eye(3)])
