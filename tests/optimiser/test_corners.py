"""Two dimensions: triangles around the corners of what is allowed, against all posteriors one by one."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.optimiser.few_secrets import all_posteriors, corners
from privacyfunnel.optimiser.few_secrets.all_posteriors import Sweep
from privacyfunnel.optimiser.few_secrets.corners import ABOUT, Corner
from privacyfunnel.optimiser.few_secrets.faces import find_faces
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.program.supports import vertices

EACH = pf.Promises(a=pf.LIP(0.3), b=pf.LIP(0.2))


def two_secrets(seed, n, most):
    """Two secrets of two values and small counts: many values lie in the same direction from a corner, or in line."""
    counts = np.random.default_rng(seed).integers(0, most, size=(2, 2, n))
    counts[0, 0] += counts.sum(axis=(0, 1)) == 0
    counts[..., 0] += 1  # both values of both secrets occur
    return pf.Joint(counts, secret=["a", "b"])


def around(joint, notion=EACH):
    """The polytope that bounds are for, of classes of values."""
    return Classes.find(Polytope.of(joint, notion)).outer(Polytope.outer(joint, notion))


def test_the_polynomial_is_below_the_logarithm_and_near_it():
    m = np.linspace(1, 2, 100_001)
    below = np.log(m) - np.polynomial.Polynomial(ABOUT)(m)
    assert below.min() > 0
    assert below.max() < 0.002


@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 9, 1000]), st.sampled_from([0.05, 0.5, 3.0]))
@settings(max_examples=25)
def test_triangles_around_corners_are_all_the_posteriors_there(seed, most, spread):
    polytope = around(two_secrets(seed, 25, most))
    faces = find_faces(polytope)
    if faces is None or faces.rank != 3:
        return
    y = spread * np.random.default_rng(seed).normal(size=polytope.n_x)
    quick = Sweep(polytope, faces)
    found, least = quick.under(y, np.inf, lambda: False, everything=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Corner, "at", lambda *_: None)
        one_by_one = Sweep(polytope, faces)
    assert not one_by_one._corners
    other, same = one_by_one.under(y, np.inf, lambda: False, everything=True)
    assert least == pytest.approx(same, abs=1e-8)
    for columns in (found, other):  # and the best of each value is remembered
        costs = (columns.entropy() - columns.dot(y))[:, None]
        best = np.full(polytope.n_x, np.inf)
        np.minimum.at(best, columns.support, np.where(columns.mass > 0, costs, np.inf))
        assert best == pytest.approx(same, abs=1e-7)


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 1000]))
@settings(max_examples=40)
def test_no_posterior_costs_less_than_a_sweep_says_of_any_of_its_values(seed, most):
    polytope = around(two_secrets(seed, 9, most))
    faces = find_faces(polytope)
    if faces is None:
        return
    y = np.random.default_rng(seed).normal(size=polytope.n_x)
    _, least = Sweep(polytope, faces).under(y, 0.0, lambda: False, everything=True)
    pool = vertices(polytope, 3)
    costs = pool.entropy() - pool.dot(y)
    for i, cost in enumerate(costs):
        assert (least[pool.support[i][pool.mass[i] > 0]] <= max(cost, 0.0) + 1e-12).all()
    assert least.min() == pytest.approx(min(0.0, costs.min()), abs=1e-7)


def test_a_value_at_a_corner_has_no_direction():
    U, nowhere = np.array([[1.0, 0.5, 0.5], [1, 0, 0], [1, 1, 0], [1, 0, 1]]), np.zeros(3)
    assert Corner.at(np.array([1, 0.5, 0.5]), U, nowhere, np.array([0, 1])) is None
    assert Corner.at(np.array([1, 0.5, 0.4]), U, nowhere, np.array([0, 1])) is not None


def test_three_values_around_a_corner_by_hand():
    """A corner in the middle of a triangle gives each a third: ln 3, less the mean of the prices."""
    angles = np.array([0.1, 0.1 + 2 * math.pi / 3, 0.1 + 4 * math.pi / 3])
    U = np.stack([np.ones(3), np.cos(angles), np.sin(angles)], axis=1)
    corner = Corner.at(np.array([1.0, 0, 0]), U, np.zeros(3), np.array([0, 1]))
    G = np.ascontiguousarray(U[:, 1:].T)
    board = all_posteriors._empty(3, 3)
    task = corners.SweepTask(G, np.abs(G), np.array([0.3, 0.0, 0.6]), 1e-9, np.inf)
    corner.sweep(0, 1, task, board)
    assert board.best[:, 0] == pytest.approx(np.full(3, math.log(3) - 0.3))
    assert board.masses[0, 0] == pytest.approx(np.full(3, 1 / 3))


def test_prices_that_fall_by_what_their_values_lack_bound_as_well():
    """Two values: the posterior on both undercuts by 0.2, one of them alone by nothing."""
    state = State(np.array([0.5, 0.5]), 1.0, 1e-6, None, None, threading.Event())
    state.bound(np.array([0.4, 0.4]), np.array([-0.2, 0.0]))
    assert state.upper_bound == pytest.approx(1.0 - 0.4 + 0.1, abs=1e-9)
    state.bound(np.array([0.4, 0.4]), 0.0)
    assert state.upper_bound == pytest.approx(0.6, abs=1e-9)


def test_two_secrets_of_two_values_are_solved_to_the_default_gap():
    p = np.random.default_rng(1).random((2, 2, 150))
    protocol = pf.optimise(pf.Joint(p, secret=["a", "b"]), EACH)
    assert protocol.how.startswith("few secrets")
    assert protocol.gap <= 1e-6


@pytest.mark.long
def test_two_secrets_and_a_thousand_values_are_solved_to_a_thousandth_of_all_information():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=1000).T * rng.gamma(1.0, size=1000)
    joint = pf.Joint(p.reshape(2, 2, 1000), secret=["a", "b"])
    promise = pf.Promises(a=pf.LIP(0.2), b=pf.LIP(0.1))
    protocol = pf.optimise(joint, promise, gap=1e-3 * joint.entropy)
    assert protocol.gap <= 1e-3 * joint.entropy
    assert pf.certify(protocol, joint, promise).holds
