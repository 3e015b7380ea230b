"""A rest beside known posteriors: the best mixture of them, whatever is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.splitting.covering import A_LITTLE
from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.optimiser.splitting.resting import Resting
from privacyfunnel.optimiser.splitting.search import no_more_than
from privacyfunnel.optimiser.splitting.turns import IN_VAIN, LONGEST_WAIT, Turns
from privacyfunnel.promises.sparse_rows import sparse_rows_of

SECONDS = 10.0


def rows_of(joint, epsilon):
    return sparse_rows_of(pf.SRLIP(epsilon).clauses(joint), 0.999)


def vertices(G, n, rng, count):
    """Posteriors that keep the promise, each where some random prices are least."""
    found = [
        linprog(rng.normal(size=n), A_ub=G.toarray(), b_ub=np.zeros(G.shape[0]), A_eq=np.ones((1, n)), b_eq=[1.0]).x
        for _ in range(count)
    ]
    V = np.where(np.array(found) > 1e-9, found, 0.0)
    return V / V.sum(axis=1, keepdims=True)


def as_columns(V):
    return Columns(np.tile(np.arange(V.shape[1]), (len(V), 1)), V)


def entropy(v):
    return -float(v[v > 0] @ np.log(v[v > 0]))


def cost(pieces):
    """H(X|Y), where the last one, the rest, costs what the program takes for it."""
    n = len(pieces[-1].x)
    return sum(piece.q * piece.entropy() for piece in pieces[:-1]) + math.log(n) * pieces[-1].q


@given(tables(), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_a_mixture_with_a_rest_is_the_best_one_and_each_part_keeps_the_promise(p, epsilon, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    G, n = rows_of(joint, epsilon), joint.n_x
    V = vertices(G, n, rng, 2 * n)
    pieces = Resting(G, joint.p_x).mixed(np.zeros(n, dtype=bool), [as_columns(V)], SECONDS)
    whole = np.zeros(n)
    for piece in pieces:
        part = np.zeros(n)
        part[piece.x] = piece.mass
        whole += part
        assert (G @ part <= 1e-4 * (abs(G) @ part)).all()
    assert whole == pytest.approx(joint.p_x)
    dense, identity = G.toarray(), np.eye(n)
    best = linprog(
        [*map(entropy, V), *np.full(n, math.log(n)), joint.entropy],
        A_ub=np.hstack([np.zeros((len(dense), len(V))), dense, np.zeros((len(dense), 1))]), b_ub=np.zeros(len(dense)),
        A_eq=np.hstack([V.T, identity, joint.p_x[:, None]]), b_eq=joint.p_x,
    )  # fmt: skip
    assert cost(pieces) == pytest.approx(best.fun, abs=1e-4)


def test_where_nothing_is_known_all_people_are_the_rest_or_stay_together():
    joint = pf.Joint(np.random.default_rng(3).random((2, 3, 4)))
    pieces = Resting(rows_of(joint, 0.5), joint.p_x).mixed(np.zeros(12, dtype=bool), [], SECONDS)
    for piece in pieces:
        assert piece.mass / piece.q == pytest.approx(joint.p_x)


def test_values_outside_are_in_the_rest_whole_and_others_have_a_little_in_it():
    joint, rng = pf.Joint(np.random.default_rng(3).random((2, 3, 4))), np.random.default_rng(0)
    G, outside = rows_of(joint, 0.5), np.arange(12) % 5 == 0
    *others, rest = Resting(G, joint.p_x).mixed(outside, [as_columns(vertices(G, 12, rng, 200))], SECONDS)
    assert rest.mass[outside] == pytest.approx(joint.p_x[outside])
    assert (rest.mass >= 0.999 * A_LITTLE * joint.p_x).all()
    assert not any(outside[piece.x].any() for piece in others)


def test_a_rest_that_misses_the_promise_is_refused(monkeypatch):
    joint = pf.Joint(np.random.default_rng(3).random((2, 3, 4)))

    def only_one(self):
        self.lent = np.where(np.arange(12) == 3, self.p_x, 0.0)
        return np.zeros(len(self.columns)), np.zeros(12), 0.0

    monkeypatch.setattr(Master, "solve", only_one)
    with pytest.raises(SolverFailure, match="misses the promise"):
        Resting(rows_of(joint, 0.1), joint.p_x).mixed(np.zeros(12, dtype=bool), [], SECONDS)


def test_more_pieces_than_values_are_put_together_the_least_ones_first():
    masses = np.array([[0.3, 0.1], [0.2, 0.05], [0.01, 0.2], [0.0, 0.14]])
    pieces = [Piece(np.flatnonzero(m), m[m > 0]) for m in masses]
    fewer = no_more_than(2, pieces)
    assert [piece.q for piece in fewer] == pytest.approx([0.4, 0.6])
    assert fewer[1].mass == pytest.approx([0.21, 0.39])
    assert no_more_than(4, pieces) is pieces


def test_values_around_which_nothing_is_found_wait_longer_each_time_but_are_not_forgotten():
    turns, nobody = Turns(3), np.zeros(3, dtype=bool)
    looked = []
    for _ in range(60):
        centres = turns.next(nobody)
        turns.note(centres, centres == 0)
        looked.append(set(centres.tolist()))
    assert all(0 in one for one in looked)
    waits = np.diff([i for i, one in enumerate(looked) if 1 in one])
    assert waits[:3].tolist() == [2, 3, 4]
    assert waits.max() == waits[-1] == LONGEST_WAIT + 1


def test_values_that_lack_posteriors_are_always_looked_around_and_further_after_some_rounds():
    turns, lacking = Turns(3), np.array([False, True, False])
    told = []
    for _ in range(2 * IN_VAIN):
        centres = turns.next(lacking)
        assert 1 in centres
        turns.note(centres, np.zeros(len(centres), dtype=bool))
        told.append(turns.in_vain(lacking).tolist())
    never, now = [False] * 3, lacking.tolist()
    assert told == 2 * [*([never] * (IN_VAIN - 1)), now]
