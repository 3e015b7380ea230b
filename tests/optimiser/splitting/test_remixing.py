"""Posteriors around single values: programs with few of their rows are the whole programs, and mixtures get better."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting import remixing
from privacyfunnel.optimiser.splitting.companions import Rows, around
from privacyfunnel.optimiser.splitting.covering import Covering, Part
from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.optimiser.splitting.nearby import descend, least, own_rows, program, search
from privacyfunnel.optimiser.splitting.remixing import Remixing
from privacyfunnel.optimiser.splitting.whole_numbers import rounded_pieces
from privacyfunnel.promises.sparse_rows import sparse_rows_of
from privacyfunnel.proof.certificate import certify_channel

pytestmark = pytest.mark.usefixtures("compiled_loops")


def rows_of(joint, notion, share=0.999):
    G = sparse_rows_of(notion.clauses(joint), share)
    most = abs(G).max(axis=1).toarray().ravel()
    return sparse.csr_array(sparse.diags_array(1 / most) @ G)


def told(joint, pieces):
    return joint.entropy - sum(piece.q * piece.entropy() for piece in pieces)


def everything(joint):
    return Piece(np.arange(joint.n_x), joint.p_x)


def remixed(joint, notion, seconds=4.0, pieces=None):
    state = State(joint.p_x, joint.entropy, 0.0, seconds, None, threading.Event())
    found = Remixing(sparse_rows_of(notion.clauses(joint), 0.999), joint.p_x, joint.entropy, state)
    return found.better(pieces or [everything(joint)])


@given(tables(), st.sampled_from([0.1, 0.5]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_program_with_rows_added_as_they_break_is_the_whole_program(p, epsilon, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    G = rows_of(joint, pf.SRLIP(epsilon))
    values = np.arange(joint.n_x)
    own = own_rows(Rows.of(G, joint.p_x), values, np.full(G.shape[0], -1))
    small = program(*own, joint.n_x)
    for _ in range(3):  # each from where the last one ended
        cost = rng.normal(size=joint.n_x)
        if not least(small, cost):  # given up, which is right only where there is no place for all rows
            assert small.tableau.used[0] == len(small.tableau.basic) < len(own[0]) - 1
            return
        v = small.tableau.x[: joint.n_x]
        best = linprog(cost, A_ub=G.toarray(), b_ub=np.zeros(G.shape[0]), A_eq=np.ones((1, joint.n_x)), b_eq=[1.0])
        assert cost @ v == pytest.approx(best.fun, abs=1e-6)
        assert (G @ v <= 1e-8).all()


@given(tables(), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_descent_ends_inside_and_its_value_is_that_of_its_end(p, epsilon, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    G, y = rows_of(joint, pf.SRLIP(epsilon)), 2 * rng.random(joint.n_x)
    own = own_rows(Rows.of(G, joint.p_x), np.arange(joint.n_x), np.full(G.shape[0], -1))
    ends, values = descend(*own, y, np.stack([joint.p_x, rng.dirichlet(np.ones(joint.n_x))]))
    for v, r in zip(ends, values, strict=True):
        assert v.sum() == pytest.approx(1, abs=1e-7)
        assert (G @ v <= 1e-8).all()
        some = v[v > 0]
        assert r == pytest.approx(-some @ np.log(some) - y @ v, abs=1e-6)


def test_numbers_of_rows_are_given_back():
    joint = pf.Joint(np.random.default_rng(0).random((2, 3, 4)))
    G = rows_of(joint, pf.SRLIP(0.2))
    number = np.full(G.shape[0], -1)
    starts, places, entries = own_rows(Rows.of(G, joint.p_x), np.array([1, 5, 7]), number)
    assert (number == -1).all()
    everyone, *rows = (tuple(zip(places[a:b], entries[a:b], strict=True)) for a, b in pairwise(starts))
    assert everyone == ((0, 1.0), (1, 1.0), (2, 1.0))
    wanted = sparse.csr_array(G[:, [1, 5, 7]])
    broken = wanted[np.flatnonzero(wanted.max(axis=1).toarray().ravel() > 0)]
    assert set(rows) == {tuple((j, row[j]) for j in np.flatnonzero(row)) for row in broken.toarray()}


def test_other_turns_look_at_other_companions():
    joint = pf.Joint(np.random.default_rng(5).dirichlet(np.full(240, 0.3)).reshape(2, 4, 5, 6))
    rows, there = Rows.of(rows_of(joint, pf.SRLIP(0.3)), joint.p_x), np.ones(120, dtype=bool)
    found = [set(around(rows, 7, 12, there, turn).tolist()) for turn in range(4)]
    assert all(7 in one for one in found)
    assert len(set(map(frozenset, found))) > 1
    there[list(found[0] - {7})] = False
    assert set(around(rows, 7, 12, there, 0).tolist()) & found[0] == {7}


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans(), st.sampled_from([3, remixing.FIRST]))
@settings(max_examples=15)
def test_a_mixture_adds_up_to_all_people_keeps_the_promise_and_tells_no_less(p, epsilon, spreads, heaviest):
    joint, notion = pf.Joint(p), (pf.SRLDP if spreads else pf.SRLIP)(epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remixing, "FIRST", heaviest)
        pieces = remixed(joint, notion, seconds=1.0)
    G, whole = sparse_rows_of(notion.clauses(joint)), np.zeros(joint.n_x)
    for piece in pieces:
        whole[piece.x] += piece.mass
        v = np.zeros(joint.n_x)
        v[piece.x] = piece.mass / piece.q
        assert (G @ v <= 1e-4 * (abs(G) @ v)).all()
    assert np.allclose(whole, joint.p_x, rtol=1e-6, atol=1e-9)
    assert told(joint, pieces) >= -1e-9
    channel = rounded_pieces(pieces, G, joint.p_x, 1e-12)
    assert certify_channel(channel, joint, notion).holds


def test_a_mixture_comes_near_the_best_one():
    joint = pf.Joint(np.random.default_rng(3).random((2, 4, 5, 6)))
    best = pf.optimise(joint, pf.SRLIP(1.0), gap=0.01, time_limit=30)
    assert told(joint, remixed(joint, pf.SRLIP(1.0))) >= 0.98 * best.utility


def test_a_mixture_is_what_it_was_where_programs_fail(monkeypatch):
    joint = pf.Joint(np.random.default_rng(3).random((2, 4, 5)))

    def fail(*_):
        raise SolverFailure("trouble")

    monkeypatch.setattr(Master, "solve", fail)
    (piece,) = remixed(joint, pf.SRLIP(0.5))
    assert piece.mass == pytest.approx(joint.p_x)


def test_values_for_which_nothing_is_found_go_to_a_rest_and_cost_little(monkeypatch):
    joint, notion = pf.Joint(np.random.default_rng(3).random((2, 4, 5, 6))), pf.SRLIP(1.0)
    everywhere, rare = told(joint, remixed(joint, notion)), int(np.argmin(joint.p_x))

    def without(self, centres, *others):
        found, any_found = around_all(self, centres, *others)
        return found.take(np.flatnonzero(~((found.support == rare) & (found.mass > 0)).any(axis=1))), any_found

    around_all = Remixing._around
    monkeypatch.setattr(Remixing, "_around", without)
    pieces = remixed(joint, notion)
    holds = [piece for piece in pieces if rare in piece.x]
    assert len(holds) == 1
    assert holds[0].q < 0.5
    assert told(joint, pieces) > 0.8 * everywhere > 0


def test_where_all_values_have_posteriors_nothing_is_left_to_a_rest():
    joint = pf.Joint(np.outer([3, 5], np.random.default_rng(5).integers(1, 9, 60)).reshape(2, 10, 6))  # independent
    assert [len(piece.x) for piece in remixed(joint, pf.SRLIP(0.5))] == [1] * 60


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_rest_holds_its_values_with_the_least_of_others_and_both_parts_keep_the_promise(p, epsilon, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    G, outside = rows_of(joint, pf.SRLIP(epsilon)), rng.random(joint.n_x) < 0.3
    B = G.toarray() * joint.p_x
    least = linprog(
        joint.p_x, np.vstack([B, -B]), np.concatenate([np.zeros(len(B)), -B.sum(axis=1)]),
        bounds=[(1.0, 1.0) if out else (0.0, 1.0) for out in outside],
    )  # fmt: skip
    try:
        part = Covering(G, joint.p_x).part(outside, 10.0)
    except SolverFailure:
        assert least.fun > 1 - 1e-4  # only where hardly anything is left
        return
    assert part.rest[outside] == pytest.approx(joint.p_x[outside])
    assert part.rest.sum() == pytest.approx(least.fun, abs=1e-5)
    left = np.zeros(joint.n_x)
    left[part.x] = part.q * part.v
    assert left + part.rest == pytest.approx(joint.p_x)
    for one in (left, part.rest):
        assert (G @ one <= 1e-4 * (abs(G) @ one) + 1e-12).all()


def test_posteriors_keep_their_values_from_part_to_part():
    joint = pf.Joint(np.random.default_rng(3).random((2, 4, 5)))
    part = Part.without(joint.p_x, np.where(np.arange(20) % 3 == 0, joint.p_x, 0.0))
    columns = Columns(np.array([[1, 4, 0], [1, 2, 3]]), np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
    inside = part.inside(columns)  # the second one has the value 3, which is not there
    assert len(inside) == 1
    assert np.array_equal(part.outside(inside).dense(20), columns.dense(20)[:1])


def test_posteriors_are_the_same_for_any_share_of_the_centres():
    joint = pf.Joint(np.random.default_rng(8).random((2, 4, 4, 5)))
    rows, y = Rows.of(rows_of(joint, pf.SRLIP(0.4)), joint.p_x), np.full(80, 2.0)
    noise, number, there = np.random.default_rng(0).random(101), np.full(len(rows.first) - 1, -1), np.ones(80, bool)

    def found(centres):
        most, lacking = np.full(len(centres), 40), np.arange(len(centres)) % 2 == 0
        return search(rows, centres, most, lacking, y, 1e-4, noise, number, there, 0)

    whole, again = found(np.arange(10)), found(np.arange(10))
    assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
    none = search(rows, np.arange(10), np.full(10, 40), np.zeros(10, bool), np.zeros(80), 1e-4, noise, number, there, 0)
    assert whole[3].any()
    assert not none[3].any()  # at a price of nothing, no posterior is worth it


def test_small_entries_of_many_people_are_rounded_up_rather_than_lost():
    # a tiny share of the many keeps the balance with a large share of the few: rounded down, the row would break
    joint = pf.Joint([[50_000_000, 0, 25_000_000], [50_000_000, 1, 25_000_000]], attributes=["x"])
    notion, few = pf.SRLIP(0.5), joint.p_x[1]
    G = sparse_rows_of(notion.clauses(joint))
    row = G.toarray()[(G.toarray()[:, 1] > 0)].max(axis=0)
    share = 1.0001 * row[1] * few / -row[0]  # of the first value, beside all of the second
    piece = Piece(np.array([0, 1]), np.array([share, few]))
    rest = Piece(np.arange(3), joint.p_x - np.array([share, few, 0.0]))
    rest = Piece(rest.x[rest.mass > 0], rest.mass[rest.mass > 0])
    channel = rounded_pieces([rest, piece], G, joint.p_x, 1e-16)
    assert certify_channel(channel, joint, notion).holds
    Q = channel.dense()
    own = Q[:, 1].argmax()
    assert Q[own, 1] > 0.9999
    assert Q[own, 0] > 0
    assert Q[own, 2] == 0  # nobody else is needed to keep the balance


def test_an_output_that_whole_numbers_would_cut_down_has_a_little_of_everybody():
    p_x, unit = np.array([0.2, 0.3, 0.5]), 2.0**32
    share = np.array([1.0, 7.9 / unit, 4.0 / unit])  # of each value, in the output
    needs = 0.2 * unit / (0.3 * 7.85)  # the first value needs the second, and that one the third
    G = sparse.csr_array(np.array([[1.0, -needs, 0.0], [0.0, 1.0, -0.3 * 1.98 / 0.5]]))
    assert (G @ (p_x * share) <= 0).all()
    assert (G @ (p_x * np.array([1.0, 7 / unit, 4 / unit])) > 0).any()
    assert (G @ (p_x * np.array([1.0, 8 / unit, 4 / unit])) > 0).any()
    pieces = [Piece(np.arange(3), p_x * share), Piece(np.array([1, 2]), (p_x * (1 - share))[1:])]
    told = np.asarray(rounded_pieces(pieces, G, p_x, 0.0).dense())
    assert (G @ (p_x[:, None] * told.T) <= 0).all()
    assert told[:, 0].max() > 0.999  # and not 7 / 7.85
