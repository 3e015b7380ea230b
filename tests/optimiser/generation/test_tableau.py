"""Rows that come and go: bounds, points and proofs are those of tableaux that hold every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.generation.test_lanes import drawn
from optimiser.test_side_channels import tables
from privacyfunnel.numeric import cores
from privacyfunnel.optimiser.generation.boxes import bound_box
from privacyfunnel.optimiser.generation.branch import LANES, Tree
from privacyfunnel.optimiser.generation.pricing import Oracle, essential, extremes
from privacyfunnel.optimiser.generation.tableau import Tableau, drop_idle, renew
from privacyfunnel.optimiser.program.polytope import Polytope

NEARLY = 1e-7
LARGE = (2, 4, 4, 6)
NEVER = -100.0
"""A gap that no bound reaches, so that boxes stay as they are."""


def boxes_about(oracle, rng, count):
    """Boxes one after the other, some of which hold posteriors and some of which do not."""
    corners = extremes(oracle)[0]
    for _ in range(count):
        v = rng.dirichlet(np.full(len(corners), 0.2)) @ corners
        lower, upper = v * rng.random(oracle.n_x) ** 2, v + (1 - v) * rng.random(oracle.n_x) ** 2
        if rng.random() < 0.2:
            lower, upper = lower * 0.9, np.maximum(lower, upper * rng.random(oracle.n_x))
        yield lower, upper


def oracle_of(p, epsilon):
    joint = pf.Joint(p)
    polytope = Polytope.granted(joint, pf.SRLIP(epsilon))
    return Oracle(Polytope(essential(polytope.G), polytope.p_x))


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_bound_is_the_same_with_rows_that_come_and_go(p, epsilon, seed):
    oracle, rng = oracle_of(p, epsilon), np.random.default_rng(seed)
    rows, y = oracle.rows(), rng.normal(size=oracle.n_x)
    some, every = Tableau.of(rows.A, lazy=True), Tableau.of(rows.A, lazy=False)
    for lower, upper in boxes_about(oracle, rng, 20):
        bounds = [bound_box(rows, y, NEVER, lower.copy(), upper.copy(), tableau) for tableau in (some, every)]
        one, other = np.minimum(bounds, -NEVER)
        assert one == pytest.approx(other, abs=NEARLY)
        if one < -NEVER:
            v, within = some.x[: oracle.n_x], some.x[oracle.n_x :]
            assert np.abs(rows.A @ v - within).max() <= NEARLY
            assert (within <= rows.high + NEARLY).all()
            assert (within >= rows.low - NEARLY).all()


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
