"""Rows that come and go: points and proofs are as good as with all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.generation.test_lanes import drawn
from optimiser.test_side_channels import tables
from privacyfunnel.numeric import cores
from privacyfunnel.optimiser.generation.boxes import OVERSTEPS, _fill, bound_box
from privacyfunnel.optimiser.generation.branch import LANES, Tree
from privacyfunnel.optimiser.generation.pricing import Oracle, essential, extremes, reduced_cost
from privacyfunnel.optimiser.generation.tableau import (
    FULL,
    Tableau,
    add_worst,
    begin,
    drop_idle,
    overstepped,
    renew,
    solve,
    take_all_out,
    without_rows,
)
from privacyfunnel.optimiser.program.polytope import Polytope

NEARLY = 1e-7
LARGE = (2, 4, 4, 6)
NEVER = -1e6
"""A gap that no bound reaches, so that boxes stay as they are."""


def boxes_about(oracle, rng, count):
    """Boxes one after the other, each around some posterior."""
    corners = extremes(oracle)[0]
    for _ in range(count):
        v = rng.dirichlet(np.full(len(corners), 0.2)) @ corners
        yield v * rng.random(oracle.n_x) ** 2, v + (1 - v) * rng.random(oracle.n_x) ** 2


def least_in(rows, cost, lower, upper, tableau):
    """The solution where cost·v is least in the box, rows added until none is overstepped."""
    m, n = rows.A.shape
    low, high, d = np.empty(n + m), np.empty(n + m), np.empty(n)
    _fill(rows, lower, upper, low, high)
    begin(cost, low, high, d, tableau)
    for _ in range(m + 1):
        prices = solve(d, low, high, np.inf, tableau)
        assert not prices[~tableau.is_in].any()
        over = overstepped(rows.starts, rows.column, rows.entry, rows.low, rows.high, tableau)
        if add_worst(rows.starts, rows.column, rows.entry, over, OVERSTEPS, tableau) == 0:
            return tableau.x.copy()
    raise AssertionError("rows are added again and again")


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([(2, 2, 3), (2, 3, 3, 4)]))
@settings(max_examples=40)
def test_the_least_cost_in_a_box_is_the_solvers_and_keeps_every_row(seed, epsilon, shape):
    _, oracle = drawn(shape, epsilon, seed % 5)
    rng, rows, n = np.random.default_rng(seed), oracle.rows(), oracle.n_x
    tableau = Tableau.of(rows.A, lazy=True)
    for lower, upper in boxes_about(oracle, rng, 10):
        cost = rng.normal(size=n)
        x = least_in(rows, cost, lower, upper, tableau)
        assert cost @ x[:n] == pytest.approx(cost @ oracle.relax(cost, lower, upper)[0], abs=NEARLY)
        assert rows.A @ x[:n] == pytest.approx(x[n:], abs=NEARLY)
        assert (x[n:] <= rows.high + NEARLY).all()
        assert (x[n:] >= rows.low - NEARLY).all()
        assert (x[:n] >= lower - NEARLY).all()
        assert (x[:n] <= upper + NEARLY).all()
        drop_idle(tableau)


@pytest.mark.long
@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_boxes_shrink_around_every_posterior_that_matters_from_one_to_the_next(p, epsilon, seed):
    """One tableau for all boxes, as in a lane."""
    joint = pf.Joint(p)
    polytope = Polytope.granted(joint, pf.SRLIP(epsilon))
    oracle, rng = Oracle(Polytope(essential(polytope.G), polytope.p_x)), np.random.default_rng(seed)
    rows, y, gap = oracle.rows(), rng.normal(size=oracle.n_x), rng.normal()
    V, tableau = extremes(oracle)[0], Tableau.of(rows.A, lazy=True)
    V = np.vstack([V, rng.dirichlet(np.full(len(V), 0.2), 20) @ V])
    for lower, upper in boxes_about(oracle, rng, 20):
        low, high = lower.copy(), upper.copy()
        bound = bound_box(rows, y, gap, low, high, tableau)
        for v in V[(V.clip(lower, upper) == V).all(axis=1)]:
            assert min(bound, -gap) <= reduced_cost(v, y) + NEARLY
            if reduced_cost(v, y) < -gap - NEARLY:
                assert (low <= v + NEARLY).all()
                assert (v <= high + NEARLY).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_a_tableau_tells_each_basic_variable_while_rows_come_and_go(epsilon):
    _, oracle = drawn(LARGE, epsilon)
    rng, rows, n = np.random.default_rng(0), oracle.rows(), oracle.n_x
    y, tableau, counts = rng.normal(size=n), Tableau.of(rows.A), set()
    for k, (lower, upper) in enumerate(boxes_about(oracle, rng, 60)):
        bound_box(rows, y, NEVER, lower, upper, tableau)
        if k % 3 == 1:
            drop_idle(tableau)
        if k % 7 == 6:
            renew(rows.A, tableau)
        count, v = tableau.used[0], rng.normal(size=n)
        x = np.append(v, rows.A @ v)
        assert tableau.T[:count] @ x[tableau.outside] == pytest.approx(x[tableau.basic[:count]], abs=1e-5)
        numbers = np.concatenate([tableau.basic[:count], tableau.outside])
        assert sorted(numbers) == sorted([*range(n), *(n + np.flatnonzero(tableau.is_in))])
        counts.add(count)
    assert 1 < max(counts) < len(rows.A)
    assert len(counts) > 1


def test_a_tableau_takes_no_more_rows_than_it_has_place_for():
    _, oracle = drawn((3, 3, 4), 0.5)
    rows, small = oracle.rows(), without_rows(oracle.n_x, len(oracle.A), 3)
    over = np.array([2.0, 1.0] + [0.0] * (len(rows.A) - 2))
    assert add_worst(rows.starts, rows.column, rows.entry, over, 1.5, small) == 1
    assert np.flatnonzero(small.is_in).tolist() == [0]
    over = np.where(small.is_in, 0.0, 1.0)
    assert add_worst(rows.starts, rows.column, rows.entry, over, OVERSTEPS, small) == FULL
    assert small.used[0] == small.is_in.sum() == 3
    take_all_out(small)
    assert small.used[0] == small.is_in.sum() == 0
    assert small.outside.tolist() == list(range(oracle.n_x))


def test_only_large_tableaux_begin_without_rows():
    small, large = (drawn(shape, 0.5)[1].A for shape in ((3, 3, 4), LARGE))
    assert Tableau.of(small).used[0] == len(small)
    assert Tableau.of(large).used[0] == 0


def large_tree(threads, monkeypatch, cuts=150):
    monkeypatch.setattr(cores, "cores", lambda: threads)
    joint, oracle = drawn(LARGE, 0.3)
    y = np.full(joint.n_x, 3.0)
    tree = Tree.of(oracle, y, extremes(oracle)[1], 1e-3)
    tree.grow(cuts)
    return tree, oracle


def test_a_large_proof_is_the_same_for_any_number_of_threads(monkeypatch):
    alone, _ = large_tree(1, monkeypatch)
    lowest = alone.lowest(20)
    for threads in (2, LANES + 1):
        other, _ = large_tree(threads, monkeypatch)
        assert (alone.bound, alone.cut, alone.n_found) == (other.bound, other.cut, other.n_found)
        assert alone.found[: alone.n_found].tobytes() == other.found[: other.n_found].tobytes()
        assert [part.tobytes() for part in lowest] == [part.tobytes() for part in other.lowest(20)]


def test_points_that_a_large_proof_notes_meet_every_row(monkeypatch):
    tree, oracle = large_tree(1, monkeypatch)
    found = tree.found[: tree.n_found]
    assert len(found)
    assert (found @ oracle.G.T).max() <= NEARLY
    assert found.sum(axis=1) == pytest.approx(1, abs=NEARLY)
