"""What each assumption about attackers costs: figures that a protocol and a proof stand for, in the right order."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.advice import attackers
from privacyfunnel.errors import InvalidInput, InvalidPromise, TooManyAttackers

pytestmark = pytest.mark.usefixtures("compiled_loops")


@pytest.mark.long
@given(tables(most=2), st.sampled_from([0.1, 0.5]), st.booleans())
@settings(max_examples=4)
def test_protecting_from_more_never_keeps_more_and_every_figure_encloses_the_best(p, epsilon, spreads):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    costs = pf.known_costs(joint, kind(epsilon), seconds=1)
    for weaker, stronger in itertools.pairwise(costs):
        assert weaker.kept >= stronger.kept
        assert weaker.at_most >= stronger.at_most
    for one in costs:
        best = pf.optimise(joint, kind(epsilon, known=one.known), gap=1e-3, time_limit=1)
        assert one.kept <= best.upper_bound
        assert best.utility <= one.at_most
    assert [one.asked for one in costs] == [False] * (len(costs) - 1) + [True]


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "known", "who"),
    [
        ((2, 2), None, ["nothing", "any columns"]),
        ((2, 2, 2), None, ["nothing", "any one column", "any columns"]),
        ((2, 2, 2), ("X1", "X3"), ["nothing", "any one column", "any columns", "any of X1, X3"]),
        ((2,) * 4, 2, ["nothing", "any one column", "any two columns", "any columns"]),
        ((2,) * 5, 3, ["nothing", "any one column", "any two columns", "any 3 columns", "any columns"]),
    ],
)
def test_every_assumption_has_a_line_and_so_has_the_one_that_was_asked_for(shape, known, who):
    joint = pf.Joint(np.random.default_rng(0).random((2, *shape)))
    costs = pf.known_costs(joint, pf.SRLIP(0.5, known=known), seconds=0.5)
    assert [one.who for one in costs] == who
    assert [one.known for one in costs if one.asked] == [known]
    assert costs[-1].kept >= (costs[-2].kept if isinstance(known, tuple) else 0)


@pytest.mark.parametrize(("known", "same"), [(1, None), (7, None), (("X1", "X2"), None), ((), 0)])
def test_the_same_assumption_in_other_words_has_no_line_of_its_own(known, same):
    joint = pf.Joint(np.random.default_rng(0).random((2, 2, 2)))
    costs = pf.known_costs(joint, pf.SRLIP(0.5, known=known), seconds=0.2)
    assert [(one.known, one.asked) for one in costs] == [(0, same == 0), (None, same is None)]


def test_searches_for_figures_need_a_number_of_seconds():
    with pytest.raises(InvalidInput, match="seconds"):
        pf.known_costs(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(0.5), seconds=None)


def test_large_tables_are_split_for_their_figures(monkeypatch):
    monkeypatch.setattr(attackers, "SPLIT_ABOVE", 10)
    joint = pf.Joint(np.random.default_rng(0).random((2, 3, 4, 5)))
    costs = pf.known_costs(joint, pf.SRLIP(1.0), seconds=10)
    assert all(0 < one.kept <= one.at_most <= one.entropy for one in costs)


def test_attackers_that_are_too_many_have_no_figure_but_a_bound(monkeypatch):
    searched = attackers.search

    def refuses(joint, notion, **how):
        if notion.known is None:
            raise TooManyAttackers("too many", known=1)
        return searched(joint, notion, **how)

    monkeypatch.setattr(attackers, "search", refuses)
    *_, last = pf.known_costs(pf.Joint(np.random.default_rng(0).random((2, 2, 2, 2))), pf.SRLIP(0.3), seconds=2)
    assert last.kept is None
    assert 0 < last.at_most < last.entropy


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.robust(pf.SRLIP(0.5))])
def test_promises_that_assume_nothing_of_attackers_are_refused(notion):
    with pytest.raises(InvalidPromise, match="known= is for srlip and srldp"):
        pf.known_costs(pf.Joint(np.ones((2, 2, 2), dtype=int)), notion)


def test_one_column_leaves_nothing_to_know():
    with pytest.raises(InvalidInput, match="with one column there is nothing to know"):
        pf.known_costs(pf.Joint(np.ones((2, 2))), pf.SRLIP(0.5))


def test_figures_that_are_taken_again_go_on_and_are_never_worse(monkeypatch):
    monkeypatch.setattr(attackers, "SPLIT_ABOVE", 10)
    joint, notion = pf.Joint(np.random.default_rng(3).random((2, 4, 4, 4))), pf.SRLIP(0.5)
    first = attackers.quick_figures(joint, notion, 2.0, threading.Event())
    assert first.search is not None
    # with no time for anything new, what was found before is found again
    again = attackers.quick_figures(joint, notion, 0.0, threading.Event(), replace(first, kept=0.0))
    assert again.kept == pytest.approx(first.kept, abs=1e-6)
    more = attackers.quick_figures(joint, notion, 0.5, threading.Event(), first)
    assert more.kept >= first.kept
    assert more.at_most <= first.at_most
