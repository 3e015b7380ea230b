"""Entropy and mutual information against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from privacyfunnel.numeric.information import entropy, mutual_information, plogp
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.released import information_kept
from strategies import joints, joints_with_channels, numerators

UNIT = 2**32


def test_a_fair_coin_has_ln_2_nats():
    assert float(entropy(np.array([0.5, 0.5]))) == pytest.approx(math.log(2), abs=1e-15)


def test_a_certain_value_has_no_entropy_and_zeros_cost_nothing():
    assert float(entropy(np.array([1.0, 0.0, 0.0]))) == 0
    assert plogp(np.array([0.0, 1.0])).tolist() == [0, 0]


def test_entropy_runs_along_the_last_axis():
    rows = np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    assert entropy(rows) == pytest.approx([brute.entropy(row) for row in rows.tolist()], abs=1e-15)


def test_integers_are_accepted():
    assert float(entropy(np.array([1, 0]))) == 0
    assert mutual_information(np.array([[1, 0], [0, 0]])) == 0


@pytest.mark.parametrize("smallest", [5e-324, 1e-300, 1e-12])
def test_tiny_probabilities_give_finite_numbers(smallest):
    assert np.isfinite(entropy(np.array([smallest, 1.0])))
    assert mutual_information(np.array([[smallest, 0.0], [0.0, 1.0]])) == pytest.approx(0, abs=1e-9)


def test_independent_variables_share_nothing():
    p, q = np.array([0.1, 0.2, 0.7]), np.array([0.4, 0.6])
    assert mutual_information(np.outer(p, q)) == pytest.approx(0, abs=1e-15)


def test_a_copy_shares_everything():
    p = np.array([0.1, 0.2, 0.7])
    assert mutual_information(np.diag(p)) == pytest.approx(brute.entropy(p), abs=1e-14)


@given(joints())
def test_mutual_information_is_symmetric_and_lies_between_0_and_both_entropies(joint):
    value = mutual_information(joint.p)
    assert value == pytest.approx(mutual_information(joint.p.T), abs=1e-12)
    assert 0 <= value <= min(brute.entropy(joint.p_s.tolist()), brute.entropy(joint.p_x.tolist())) + 1e-12


def kept(joint, Q):
    return mutual_information(Q * joint.p_x)


@given(joints_with_channels())
def test_information_kept_is_h_of_y_less_the_noise(pair):
    joint, N = pair
    expected = brute.information(joint.p_x.tolist(), (N / UNIT).tolist())
    assert kept(joint, N / UNIT) == pytest.approx(expected, abs=1e-12)
    assert information_kept(Channel.from_numerators(N), joint.p_x) == pytest.approx(expected, abs=1e-12)


@given(joints_with_channels())
def test_what_y_says_about_s_is_at_most_what_it_says_about_x_and_what_x_says_about_s(pair):
    joint, N = pair
    leakage = mutual_information((N / UNIT) @ joint.p.T)
    assert leakage <= kept(joint, N / UNIT) + 1e-12
    assert leakage <= mutual_information(joint.p) + 1e-12


@given(st.data())
def test_a_second_channel_never_adds_information(data):
    joint, N = data.draw(joints_with_channels())
    after = data.draw(numerators(len(N))) / UNIT
    assert kept(joint, after @ (N / UNIT)) <= kept(joint, N / UNIT) + 1e-12
