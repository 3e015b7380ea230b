"""Posteriors with few values are taken from p_x, and all that is left keeps the promise."""

import threading
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting import peeling
from privacyfunnel.optimiser.splitting.peeling import Peeling
from privacyfunnel.promises.sparse_rows import sparse_rows_of


def peeled(joint, notion, share=0.999, seconds=5.0):
    state = State(joint.p_x, joint.entropy, 0.0, 5.0, None, threading.Event())
    found = Peeling(sparse_rows_of(notion.clauses(joint), share), joint.p_x)
    found.run(state, seconds)
    return found


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=40)
def test_what_is_taken_away_and_what_is_left_keep_the_promise_and_add_up(p, epsilon, spreads):
    joint, notion = pf.Joint(p), (pf.SRLDP if spreads else pf.SRLIP)(epsilon)
    found = peeled(joint, notion)
    G = sparse_rows_of(notion.clauses(joint))
    whole = found.left.copy()
    for piece in found.pieces:
        whole[piece.x] += piece.mass
        assert (G[:, piece.x] @ piece.mass <= 0).all()
    assert np.allclose(whole, joint.p_x, rtol=1e-9, atol=0)
    assert found.left.min() >= 0
    assert (G @ found.left <= 0).all()
    assert 0 <= found.told() <= joint.entropy + 1e-9


def test_a_value_that_tells_too_much_is_taken_with_just_enough_of_another():
    # P(s=1) is 0.2, and may become 0.1 to 0.4; the second value says 0.5. With q·(0.2, 0.8) taken away, what is left
    # has 0.5·(0.4 − 0.8q) ≥ 0.1·(1 − q), so q is at most 1/3.
    joint, notion = pf.Joint([[30, 10], [0, 10]], attributes=["x"]), pf.SRLIP(log(2))
    found = peeled(joint, notion, share=1.0)
    (piece,) = found.pieces[:1]
    assert piece.x.tolist() == [0, 1]
    assert piece.mass == pytest.approx([1 / 15, 4 / 15])
    best = pf.optimise(joint, notion)
    assert found.told() == pytest.approx(best.utility, abs=1e-6)


def test_companions_of_companions_are_looked_for():
    joint = pf.Joint(np.random.default_rng(5).dirichlet(np.full(120, 0.2)).reshape(2, 3, 4, 5))
    found = Peeling(sparse_rows_of(pf.SRLIP(0.3).clauses(joint)), joint.p_x)
    G = found.G.toarray()
    for x in range(joint.n_x):
        around = found.around(x)
        assert x in around
        assert len(np.unique(around)) == len(around)
        for row in G[G[:, x] > 0]:
            others = np.flatnonzero(row < 0)
            assert not len(others) or np.isin(others, around).any()


def test_with_no_time_left_hardly_anything_is_taken():
    joint = pf.Joint(np.random.default_rng(6).random((2, 3, 4, 5)))
    assert len(peeled(joint, pf.SRLIP(1.0), seconds=0.0).pieces) <= 1
    assert len(peeled(joint, pf.SRLIP(1.0)).pieces) > 10


def test_promises_with_too_many_conditions_are_left_whole(monkeypatch):
    monkeypatch.setattr(peeling, "MOST_ROWS_ENTRIES", 1)
    joint = pf.Joint(np.random.default_rng(6).random((2, 3, 4)))
    found = peeled(joint, pf.SRLIP(1.0))
    assert not found.pieces
    assert np.array_equal(found.left, joint.p_x)
