"""Upper sides of boxes that are lowered by a knapsack: no posterior that matters is cut off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.optimiser.generation import boxes
from privacyfunnel.optimiser.generation.box_simplex import minimise
from privacyfunnel.optimiser.generation.boxes import _fill, lower_sides
from privacyfunnel.optimiser.generation.branch import Tree
from privacyfunnel.optimiser.generation.pricing import Oracle, essential, extremes, reduced_cost
from privacyfunnel.optimiser.generation.tableau import Tableau
from privacyfunnel.optimiser.program.polytope import Polytope

NEARLY = 1e-7


def drawn(seed, epsilon=0.3, shape=(2, 2, 3, 3)):
    joint = pf.Joint(np.random.default_rng(seed).random(shape) ** 3 + 1e-3)
    polytope = Polytope.granted(joint, pf.SRLIP(epsilon))
    return joint, Oracle(Polytope(essential(polytope.G), polytope.p_x))


def posteriors(oracle, rng):
    """Vertices of Δ, and mixtures of them."""
    V = np.stack([oracle.minimise(cost) for cost in rng.normal(size=(30, oracle.n_x))])
    return np.vstack([V, rng.dirichlet(np.full(len(V), 0.1), 30) @ V])


def lowered(oracle, cost, most, lower, upper):
    """Whether anything is left of the box where cost·v ≤ most, and its upper sides."""
    rows = oracle.rows()
    m, n = rows.A.shape
    tableau = Tableau.of(rows.A, lazy=False)
    low, high, sides = np.empty(n + m), np.empty(n + m), upper.copy()
    _fill(rows, lower, upper, low, high)
    minimise(cost, low, high, np.inf, *tableau[:4])
    return lower_sides(rows, cost, most, low, high, lower.copy(), sides, tableau), sides


@given(seed=st.integers(0, 10**6), room=st.floats(0, 0.5))
def test_no_posterior_within_the_cost_is_cut_off(seed, room):
    _, oracle = drawn(seed)
    rng = np.random.default_rng(seed)
    V, cost = posteriors(oracle, rng), rng.normal(size=oracle.n_x)
    about = V[rng.integers(len(V))]
    lower, upper = about * rng.random(), about + (1 - about) * rng.random(oracle.n_x)
    most = float(cost @ about) + room
    left, sides = lowered(oracle, cost, most, lower, upper)
    assert left  # `about` is
    assert (sides <= upper).all()
    for v in V:
        if (v >= lower).all() and (v <= upper).all() and cost @ v <= most:
            assert (v <= sides + NEARLY).all()


@pytest.mark.parametrize("seed", range(5))
def test_sides_are_lowered_and_never_below_the_largest_value_that_a_solver_finds(seed):
    joint, oracle = drawn(seed)
    n = oracle.n_x
    cost = np.random.default_rng(seed).normal(size=n)
    corner = oracle.minimise(cost)
    lower, upper = np.zeros(n), extremes(oracle)[1]
    most = float(cost @ corner) + 0.02 * float(cost @ joint.p_x - cost @ corner)
    left, sides = lowered(oracle, cost, most, lower, upper)
    assert left
    assert (sides < upper - 1e-3).any() or corner.max() > 1 - NEARLY  # at a single value, curve and chord agree
    one_more = Oracle(Polytope(np.vstack([oracle.G, cost - most]), joint.p_x))  # Σv = 1: cost·v ≤ most as a row
    largest = np.diag(np.stack([one_more.minimise(-row) for row in np.eye(n)]))
    assert (sides >= largest - NEARLY).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_cost_that_nothing_has_leaves_nothing_of_the_box(seed):
    _, oracle = drawn(seed)
    cost = np.random.default_rng(seed).normal(size=oracle.n_x)
    least = float(cost @ oracle.minimise(cost))
    left, _ = lowered(oracle, cost, least - 1.0, np.zeros(oracle.n_x), extremes(oracle)[1])
    assert not left


@pytest.mark.parametrize("seed", range(6))
def test_proofs_of_large_programs_are_never_above_a_posterior(seed):
    joint, oracle = drawn(seed, shape=(2, 4, 4, 6))
    assert oracle.A.size > boxes.LARGE
    rng = np.random.default_rng(seed)
    y = rng.normal(size=joint.n_x)
    ends, values = oracle.ends(y, rng.dirichlet(np.full(joint.n_x, 0.3), 40))
    y = y + values.min() + 0.05
    tree = Tree.of(oracle, y, extremes(oracle)[1], 1e-3)
    tree.grow(150)
    least = min(reduced_cost(v, y) for v in np.vstack([ends, posteriors(oracle, rng)]))
    assert min(tree.bound, -1e-3) <= least + NEARLY
    assert tree.bound > -np.inf
