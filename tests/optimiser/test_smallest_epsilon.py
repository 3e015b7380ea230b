"""epsilon_for: the smallest ε that keeps enough, and proof that less does not."""

import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import privacyfunnel as pf
from privacyfunnel.optimiser.program.state import cancellable
from privacyfunnel.optimiser.smallest_epsilon import epsilon_for
from strategies import joints


@settings(max_examples=15)
@given(joints(min_s=2, min_x=2, max_x=5), st.sampled_from([pf.LIP, pf.LDP, pf.PML]), st.floats(0.05, 0.95))
def test_the_epsilon_keeps_enough_and_one_step_less_does_not(joint, kind, keep):
    step = 0.05
    try:
        wish = epsilon_for(joint, kind, keep, step=step)
    except pf.PrivacyFunnelError:  # some posteriors rule a value out, which no ε allows
        assert pf.optimise(joint, kind.at(51.0)).upper_bound < keep * joint.entropy + 1e-6
        return
    assert pf.optimise(joint, kind.at(wish.epsilon)).utility >= (keep - 1e-6) * joint.entropy
    assert wish.protocol.notion == kind.at(wish.epsilon)
    assert wish.kept >= keep - 1e-8
    if wish.epsilon > 0:
        assert wish.proven
        assert wish.too_small == pytest.approx(wish.epsilon - step)
        assert pf.optimise(joint, kind.at(wish.too_small)).upper_bound < (keep + 1e-6) * joint.entropy


def test_a_secret_that_is_the_column_itself_needs_the_epsilon_of_the_formula():
    # Posteriors may lie in [e^-ε/2, 1 − e^-ε/2], so half of the bit is kept where their entropy is half a bit.
    h = lambda v: -(v * math.log(v) + (1 - v) * math.log(1 - v))  # noqa: E731
    v = brentq(lambda v: h(v) - 0.5 * math.log(2), 1e-6, 0.5)
    wish = epsilon_for(pf.Joint([[1, 0], [0, 1]]), pf.LIP, keep=0.5)
    assert wish.epsilon == pytest.approx(math.ceil(-math.log(2 * v) * 1000) / 1000)


def test_a_secret_that_the_columns_do_not_tell_costs_nothing():
    wish = epsilon_for(pf.Joint([[10, 20], [20, 40]]), pf.LIP, keep=1.0)
    assert (wish.epsilon, wish.too_small, wish.kept) == (0.0, None, pytest.approx(1.0))


def test_promises_with_more_than_an_epsilon_are_given_as_functions():
    joint = pf.Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]], attributes=["a", "b"])
    wish = epsilon_for(joint, lambda epsilon: pf.SRLIP(epsilon, known=["a"]), keep=0.8, step=0.05)
    assert wish.protocol.notion == pf.SRLIP(wish.epsilon, known=["a"])


def test_what_no_epsilon_can_keep_is_refused():
    with pytest.raises(pf.PrivacyFunnelError, match="ask for less"):
        epsilon_for(pf.Joint([[1, 0], [0, 1]]), pf.LIP, keep=1.0)


@pytest.mark.parametrize("keep", [0, -0.1, 1.1, math.nan, "much", True])
def test_a_share_is_above_nothing_and_at_most_all(keep):
    with pytest.raises(pf.PrivacyFunnelError, match="keep must be"):
        epsilon_for(pf.Joint([[1, 2], [2, 1]]), pf.LIP, keep=keep)


@pytest.mark.parametrize("kind", [pf.LIP(0.5), "lip", int])
def test_a_kind_of_promise_is_asked_for(kind):
    with pytest.raises(pf.PrivacyFunnelError, match="kind of promise"):
        epsilon_for(pf.Joint([[1, 2], [2, 1]]), kind, keep=0.5)


def test_a_search_that_is_cancelled_ends_and_says_so():
    event = threading.Event()
    event.set()
    with cancellable(event), pytest.raises(pf.PrivacyFunnelError, match="stopped"):
        epsilon_for(pf.Joint([[40, 10], [10, 40]]), pf.LIP, keep=0.9)


def test_a_cancelled_search_for_one_epsilon_returns_what_passed_the_check():
    event, seen = threading.Event(), []
    joint = pf.Joint([[[9, 4, 2], [3, 8, 5]], [[2, 6, 9], [7, 1, 4]]])

    def follow(progress):
        seen.append(progress)
        event.set()

    with cancellable(event):
        protocol = pf.optimise(joint, pf.SRLIP(0.3), progress=follow)
    assert seen
    assert pf.certify(protocol, joint).holds
    assert protocol.upper_bound >= pf.optimise(joint, pf.SRLIP(0.3)).utility - 1e-9
