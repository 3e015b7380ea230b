"""Compiled descents end where those by HiGHS end: in vertices of Δ that are local minima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.optimiser.generation.pricing import Oracle, descend, essential, local_search, reduced_cost
from privacyfunnel.optimiser.program.polytope import Polytope


def oracle_of(joint, notion):
    polytope = Polytope.granted(joint, notion)
    return Oracle(Polytope(essential(polytope.G), polytope.p_x))


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_descents_end_in_local_minima_that_keep_the_promise(p, epsilon, seed):
    joint = pf.Joint(p)
    oracle, rng = oracle_of(joint, pf.SRLIP(epsilon)), np.random.default_rng(seed)
    y = rng.normal(size=joint.n_x) * rng.choice([0.1, 1.0, 10.0])
    starts = rng.dirichlet(np.full(joint.n_x, 0.5), size=10)
    ends, values = oracle.ends(y, starts)
    assert len(ends) == len(starts)
    assert np.abs(ends.sum(axis=1) - 1).max() <= 1e-7
    assert (ends @ oracle.G.T).max(initial=0.0) <= 1e-7
    for end, value in zip(ends, values, strict=True):
        assert value == pytest.approx(reduced_cost(end, y), abs=1e-7)
        further = descend(oracle, y, end)
        assert reduced_cost(end, y) <= reduced_cost(further, y) + 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_compiled_descents_find_what_descents_by_the_solver_find(seed):
    joint = pf.Joint(np.random.default_rng(seed).random((2, 3, 3, 4)))
    oracle, rng = oracle_of(joint, pf.SRLIP(0.5)), np.random.default_rng(seed)
    y = rng.normal(size=joint.n_x) + 3
    starts = rng.dirichlet(np.full(joint.n_x, 0.5), size=40)
    found = oracle.ends(y, starts)[1]
    by_solver = [reduced_cost(descend(oracle, y, v), y) for v in starts]
    assert np.mean(found) == pytest.approx(np.mean(by_solver), abs=0.02)
    assert min(found) == pytest.approx(min(by_solver), abs=0.02)


def test_a_search_that_is_stopped_looks_no_further():
    joint = pf.Joint(np.random.default_rng(0).random((2, 3, 3, 4)))
    oracle = oracle_of(joint, pf.SRLIP(0.5))
    starts = np.random.default_rng(1).dirichlet(np.ones(joint.n_x), size=50)
    y = np.full(joint.n_x, 4.0)
    assert len(local_search(oracle, y, starts, 1e-3, lambda: False))
    assert not len(local_search(oracle, y, starts, 1e-3, lambda: True))
