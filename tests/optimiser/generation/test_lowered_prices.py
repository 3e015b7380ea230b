"""Proofs at lowered prices: what they tell is true, whatever prices they end at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.optimiser.generation import lowered_prices, search
from privacyfunnel.optimiser.generation.branch import Tree
from privacyfunnel.optimiser.generation.lowered_prices import LoweredPrices
from privacyfunnel.optimiser.generation.pricing import Oracle, essential, extremes, reduced_cost
from privacyfunnel.optimiser.program.polytope import Polytope

SLACK = 1e-9


def drawn(seed, epsilon=0.5, shape=(2, 2, 3, 3)):
    """A joint with rare values, and linear programs over its Δ."""
    joint = pf.Joint(np.random.default_rng(seed).random(shape) ** 4 + 1e-4)
    polytope = Polytope.granted(joint, pf.SRLIP(epsilon))
    return joint, Oracle(Polytope(essential(polytope.G), polytope.p_x))


def posteriors(joint, oracle, y, seed):
    """Vertices of Δ with small and with any r(v), and mixtures of them."""
    rng = np.random.default_rng(seed)
    ends, _ = oracle.ends(y, rng.dirichlet(np.full(joint.n_x, 0.3), 60))
    anywhere = np.stack([oracle.minimise(cost) for cost in rng.normal(size=(20, joint.n_x))])
    V = np.vstack([ends, anywhere])
    return np.vstack([V, rng.dirichlet(np.full(len(V), 0.1), 20) @ V])


def prices_near(joint, oracle, seed):
    """Prices at which some posteriors pay."""
    y = np.random.default_rng(seed).normal(size=joint.n_x) + joint.entropy
    least = min(reduced_cost(v, y) for v in posteriors(joint, oracle, y, seed))
    return y + least + 0.2


@given(seed=st.integers(0, 10**6), cuts=st.integers(1, 60), cost=st.floats(0, 0.5))
def test_bounds_of_boxes_hold_after_prices_were_lowered(seed, cuts, cost):
    joint, oracle = drawn(seed)
    y = prices_near(joint, oracle, seed)
    tree = Tree.of(oracle, y, extremes(oracle)[1], 1e-3)
    tree.grow(cuts)
    before, less = tree.bound, cost * np.random.default_rng(seed).random(joint.n_x) / joint.p_x.clip(1e-3)
    tree.lower(less)
    tree.grow(cuts)
    assert tree.bound >= before
    least = min(reduced_cost(v, y - less) for v in posteriors(joint, oracle, y - less, seed))
    assert min(tree.bound, -1e-3) <= least + SLACK


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_what_is_told_of_lowered_prices_is_true_of_every_posterior(seed):
    joint, oracle = drawn(seed)
    y, told = prices_near(joint, oracle, seed), []
    whole = joint.entropy
    proofs = LoweredPrices(oracle, extremes(oracle)[1], joint.p_x, whole, lambda *one: told.append(one), lambda: False)
    improving = proofs.prove(y, 0.2)
    assert told
    for prices, bound in told:
        assert (prices <= y).all()
        V = posteriors(joint, oracle, prices, seed)
        assert min(reduced_cost(v, prices) for v in V) >= min(bound, -lowered_prices.TOLERANCE_SHARE * whole) - SLACK
    for v in improving:
        assert reduced_cost(v, y) < 0
        assert (oracle.G @ v <= 1e-7).all()


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_told_for_the_prices_that_were_lowered_first(seed):
    joint, oracle = drawn(seed)
    y, told = prices_near(joint, oracle, seed), []
    whole = joint.entropy
    proofs = LoweredPrices(oracle, extremes(oracle)[1], joint.p_x, whole, lambda *one: told.append(one), lambda: True)
    proofs.prove(y, 0.0)
    first = np.minimum(lowered_prices.MOST_LOWERED, lowered_prices.FIRST_SHARE * whole / (joint.n_x * joint.p_x))
    (prices, _), *more = told
    assert not more
    assert np.array_equal(prices, y - first)


@pytest.mark.parametrize("seed", range(4))
def test_lowering_stays_within_its_allowance_and_lifts_the_lowest_boxes(seed):
    joint, oracle = drawn(seed, shape=(2, 3, 3, 4))
    tree = Tree.of(oracle, prices_near(joint, oracle, seed), extremes(oracle)[1], 1e-3)
    tree.grow(1)
    r, _ = tree.lowest(100)
    less = lowered_prices._lift(tree, 100, joint.p_x, 0.01)
    assert (less >= 0).all()
    assert 0 < less @ joint.p_x <= 0.01 * (1 + 1e-9)
    tree.lower(less)
    after, _ = tree.lowest(100)
    assert after.min(initial=0.0) > r.min() + 0.01  # more than the same allowance off all prices would give


@pytest.mark.parametrize("seed", range(4))
def test_bounds_in_time_are_not_below_the_optimum(monkeypatch, seed):
    joint, _ = drawn(seed)
    best = pf.optimise(joint, pf.SRLIP(0.5), gap=1e-6)
    assert best.gap <= 1e-6
    monkeypatch.setattr(search, "SHARE", 0.0)  # late from the start, and with no plain proof
    monkeypatch.setattr(search, "prove", None)
    hurried = pf.optimise(joint, pf.SRLIP(0.5), gap=1e-6, time_limit=0.5)
    assert hurried.upper_bound >= best.utility - 1e-9
    assert hurried.utility <= best.upper_bound + 1e-9
    assert hurried.upper_bound < joint.entropy


def test_one_view_and_searches_without_a_limit_have_plain_proofs(monkeypatch):
    monkeypatch.setattr(search, "LoweredPrices", None)
    joint, _ = drawn(1)
    assert pf.optimise(joint, pf.SRLIP(0.5), gap=1e-4).gap <= 1e-4
    several = pf.Joint(np.random.default_rng(0).random((6, 12)))
    assert pf.optimise(several, pf.LIP(0.3), gap=0.05, time_limit=20).utility > 0
