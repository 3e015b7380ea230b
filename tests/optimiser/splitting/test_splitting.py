"""Thousands of values and many attackers: p_x is split in two, again and again, and the promise is kept."""

import importlib
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import privacyfunnel as pf
from optimiser.test_side_channels import brute_level, spread, tables
from privacyfunnel.errors import TooManyAttackers
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting import search
from privacyfunnel.optimiser.splitting.halves import Halving, Piece, stricter
from privacyfunnel.optimiser.splitting.tree import Tree
from privacyfunnel.optimiser.splitting.whole_numbers import rounded_pieces
from privacyfunnel.promises import sparse_rows
from privacyfunnel.promises.sparse_rows import sparse_rows_of
from privacyfunnel.proof.certificate import certify_channel

optimise_module = importlib.import_module("privacyfunnel.optimiser.optimise")  # whose name is that of its function
FIVE = ["sex", "race", "marital_status", "education", "occupation"]


def in_order(rows):
    return rows[np.lexsort(np.round(rows, 9).T)]


def split_anyway(joint, notion, **how):
    """`optimise` as for thousands of values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SPLIT_FROM", 2)
        return pf.optimise(joint, notion, **how)


def pieces_of(joint, notion, share=0.999, seconds=5.0):
    clauses = notion.clauses(joint)
    state = State(joint.p_x, joint.entropy, 0.0, seconds, None, threading.Event())
    return Tree(Halving(sparse_rows_of(clauses, share), joint.codes, joint.p_x), state).grown(joint.p_x)


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans(), st.sampled_from([None, 1, ["X1"]]))
def test_sparse_rows_are_the_rows_of_the_promise(p, epsilon, spreads, known):
    joint = pf.Joint(p)
    notion = (pf.SRLDP if spreads else pf.SRLIP)(epsilon, known=known)
    G = sparse_rows_of(notion.clauses(joint)).toarray()
    assert np.allclose(in_order(G), in_order(notion.rows(joint)), atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_rows_that_another_one_implies_can_be_left_out(seed):
    rng = np.random.default_rng(seed)
    A = np.zeros((30, 4))
    for row in A:
        row[rng.permutation(4)[:2]] = rng.normal(size=2)
    A = A[(A.max(axis=1) > 0) & (A.min(axis=1) < 0)]
    kept = stricter(sparse.csr_array(A)).toarray()
    f = rng.random((200, 4))
    assert len(kept) < len(A)
    assert np.array_equal((f @ A.T <= 0).all(axis=1), (f @ kept.T <= 0).all(axis=1))


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=20)
def test_pieces_add_up_to_all_people_and_each_keeps_the_promise(p, epsilon, spreads):
    joint, notion = pf.Joint(p), (pf.SRLDP if spreads else pf.SRLIP)(epsilon)
    pieces = pieces_of(joint, notion)
    whole = np.zeros(joint.n_x)
    for piece in pieces:
        whole[piece.x] += piece.mass
    assert np.allclose(whole, joint.p_x, rtol=1e-9, atol=0)
    G = sparse_rows_of(notion.clauses(joint))
    assert all((G[:, piece.x] @ piece.mass <= 0).all() for piece in pieces)


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=8)
def test_split_protocols_keep_the_promise_by_the_definition_and_stay_below_the_bound(p, epsilon, spreads):
    joint, notion = pf.Joint(p), (pf.SRLDP if spreads else pf.SRLIP)(epsilon)
    protocol = split_anyway(joint, notion, time_limit=5)
    assert pf.certify(protocol, joint).holds
    assert brute_level(p, spread(protocol, p), spreads) <= epsilon + 1e-9
    assert protocol.utility <= protocol.upper_bound


@pytest.mark.usefixtures("compiled_loops")
def test_splitting_finds_most_of_what_the_best_protocol_keeps(monkeypatch):
    monkeypatch.setattr(search, "MOST_ROWS_ENTRIES", 0)  # else posteriors around single values come first
    joint = pf.Joint(np.random.default_rng(2020).random((2, 3, 3, 4)))
    split = split_anyway(joint, pf.SRLIP(1.0))
    best = pf.optimise(joint, pf.SRLIP(1.0), gap=0.05)
    assert 0.8 * best.utility < split.utility <= best.upper_bound
    assert "split in two" in split.how


@pytest.mark.usefixtures("compiled_loops")
def test_a_search_goes_on_where_it_stopped():
    joint, notion = pf.Joint(np.random.default_rng(7).random((2, 4, 4, 5))), pf.SRLIP(0.5)
    going_on, nobody = search.Splitting(joint, notion), threading.Event()
    first, posteriors = going_on.found(2.0, None, nobody, ticks())
    # with no time for anything new
    again, same = going_on.found(0.0, None, nobody, ticks())
    assert again.utility == pytest.approx(first.utility, abs=1e-6)
    assert again.upper_bound == first.upper_bound
    assert len(same) == len(posteriors)
    more, _ = going_on.found(2.0, None, nobody, ticks())
    assert more.utility >= first.utility - 1e-6
    assert pf.certify(more, joint).holds


def test_values_that_are_decided_together_stay_in_proportion():
    joint = pf.Joint(np.random.default_rng(1).random((2, 3, 4, 5)))
    halving = Halving(sparse_rows_of(pf.SRLIP(1.0).clauses(joint)), joint.codes, joint.p_x)
    whole = Piece(np.arange(joint.n_x), joint.p_x)
    split = halving.split(whole, 20, 10.0, apart=False)
    rarest = np.argsort(-joint.p_x, kind="stable")[20:]
    assert np.ptp(split.f[rarest]) == 0
    assert np.ptp(split.f) > 0


@pytest.mark.parametrize("broken", [1, 4, 24])
def test_pieces_that_break_the_promise_are_never_released_as_they_are(broken):
    p = np.random.default_rng(3).dirichlet(np.full(48, 0.3)).reshape(2, 2, 3, 4)
    joint, notion = pf.Joint(p), pf.SRLIP(0.2)
    alone = [Piece(np.array([x]), joint.p_x[[x]]) for x in range(broken)]
    rest = np.arange(broken, joint.n_x)
    pieces = [*alone, *([Piece(rest, joint.p_x[rest])] if len(rest) else [])]
    channel = rounded_pieces(pieces, sparse_rows_of(notion.clauses(joint)), joint.p_x, 1e-12)
    assert certify_channel(channel, joint, notion).holds


def test_what_is_left_over_keeps_the_promise_as_well():
    joint, notion = pf.Joint([[60, 30], [0, 10]]), pf.LIP(0.8)
    fair = Piece(np.arange(2), np.array([0.05, 0.39]))  # P(s=1) = 0.222 within 0.1·e^±0.8; the rest has 0.004
    rest = Piece(np.arange(2), joint.p_x - fair.mass)
    channel = rounded_pieces([fair, rest], sparse_rows_of(notion.clauses(joint)), joint.p_x, 1e-12)
    assert certify_channel(channel, joint, notion).holds


def test_more_conditions_than_fit_into_memory_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(sparse_rows, "MOST_SPARSE_ENTRIES", 10)
    with pytest.raises(TooManyAttackers, match="too many to optimise"):
        sparse_rows_of(pf.SRLIP(1.0).clauses(pf.Joint(np.ones((2, 3, 4)))))


@pytest.mark.long
def test_five_columns_of_real_people_keep_nats_where_linear_programs_took_too_long(shared):
    table = shared / "data" / "adult.csv.gz"
    if not table.exists():
        pytest.skip("the table of real people is not there")
    joint = pf.Joint.from_table(table, "income", FIVE)
    protocol = pf.optimise(joint, pf.SRLIP(1.0), time_limit=20)
    assert joint.n_x > 3000
    assert pf.certify(protocol, joint).holds
    assert protocol.utility > 2.5


def test_some_hundred_values_keep_no_less_than_splitting_finds_first(monkeypatch):
    p = np.random.default_rng(7).integers(0, 9, (3, 4, 5, 7))
    joint, seen = pf.Joint(p), []
    assert search.FIRST_FROM <= joint.n_x < search.SPLIT_FROM
    first = optimise_module.split_first
    monkeypatch.setattr(optimise_module, "split_first", lambda *task: seen.append(first(*task)) or seen[-1])
    protocol = pf.optimise(joint, pf.SRLIP(0.3), time_limit=3)
    ((split, _),) = seen
    assert 0 < split.utility <= protocol.utility <= protocol.upper_bound <= split.upper_bound + 1e-9
    assert pf.certify(protocol, joint).holds
    assert brute_level(p, spread(protocol, p)) <= 0.3 + 1e-9
