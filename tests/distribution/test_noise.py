"""From noisy counts to a distribution: the same for everybody, of as many people, and near the counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

import privacyfunnel as pf
from privacyfunnel.distribution.estimate import UNIT
from privacyfunnel.distribution.noise import Noise, balanced, noisy_joint, with_at_least
from privacyfunnel.errors import InvalidJoint

noisy_counts = arrays(np.int64, st.tuples(st.integers(1, 3), st.integers(1, 6)), elements=st.integers(-30, 60))


@given(noisy_counts, st.integers(1, 200))
def test_balanced_weights_have_the_right_sum_and_are_not_negative(counts, people):
    weights = balanced(counts, people)
    assert (weights >= 0).all()
    assert 0 <= people * UNIT - weights.sum() <= counts.size  # each is rounded down by less than a unit


@given(noisy_counts, st.integers(1, 200))
def test_larger_counts_of_a_secret_never_weigh_less(counts, people):
    for row, own in zip(balanced(counts, people), counts, strict=True):
        assert (np.diff(row[np.argsort(own, kind="stable")]) >= 0).all()


def test_balanced_weights_are_the_nearest_ones():
    counts, people = np.array([[9, -4, 2, 0, 30]]), 33
    found = balanced(counts, people)[0] / UNIT
    best = minimize(
        lambda w: ((w - counts[0]) ** 2).sum(),
        np.full(5, people / 5),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - people},
    )
    assert found == pytest.approx(best.x, abs=0.01)


def test_counts_without_noise_stay_as_they_are():
    counts = np.array([[3, 0, 5], [1, 1, 0]])
    assert (balanced(counts, 10) == counts * UNIT).all()


def noise_of(counts, people, **more):
    return Noise(1.0, people, ("X1", "X2"), np.array(counts), **more)


def columns_of(array):
    return pf.Joint(array, attributes=["X1", "X2"]).columns


def test_nobody_is_left_out_when_rare_combinations_are_read_as_others():
    counts = [[40, 3, 0, 20], [10, 2, 0, 25]]
    joint = noisy_joint(noise_of(counts, 100), columns_of([[[1, 1], [1, 1]]]), "S", at_least=10)
    assert joint.n_x == 3 - 1
    whole = joint.before_gathering
    assert whole.n_x == 3 + 1
    assert joint.total == whole.total == pytest.approx(100 * UNIT, abs=8)
    assert joint.p_s == pytest.approx(whole.p_s)
    assert joint.nearest
    assert joint.at_least == 10
    assert not joint.counted


def test_a_value_of_the_secret_that_does_not_show_goes_with_the_columns_as_everybody_does():
    told = noise_of([[400, 300, 0, 200], [90, 10, 0, 60], [-5, 8, -2, 0]], 1_061)
    joint = noisy_joint(told, columns_of([[[1, 1], [1, 1]]]), "S")
    assert told.faint.tolist() == [2]
    assert joint.n_s == 3
    assert joint.p_x_given_s[2] == pytest.approx(joint.p_x)
    assert joint.p_s[2] == pytest.approx(1 / 1_061, rel=0.01)


def test_where_one_value_of_the_secret_is_left_there_is_nothing_to_go_by():
    with pytest.raises(InvalidJoint, match="fewer than two values"):
        noisy_joint(noise_of([[400, 300, 0, 200], [-5, 8, -2, 0]], 901), columns_of([[[1, 1], [1, 1]]]), "S")


def test_where_nothing_is_common_enough_one_line_says_so():
    with pytest.raises(InvalidJoint, match="enough people"):
        noisy_joint(noise_of([[40, 30, 0, 20]] * 2, 180), columns_of([[[1, 1], [1, 1]]]), "S", at_least=100)


def test_an_exact_joint_takes_a_threshold_and_stays_counted():
    joint = pf.Joint([[[40, 3], [0, 20]], [[10, 2], [0, 25]]])
    fewer = with_at_least(joint, 10)
    assert fewer.counted
    assert fewer.total == joint.total
    assert fewer.weights.sum(axis=0).min() >= 10
    with pytest.raises(InvalidJoint, match="probabilities"):
        with_at_least(pf.Joint([[0.5, 0.2], [0.1, 0.2]]), 10)


def test_only_large_counts_may_be_told():
    told = noise_of([[40, 20], [10, 0]], 100, codes=np.array([[0, 1], [1, 1]]), delta=1e-9)
    joint = noisy_joint(told, columns_of([[[1, 1], [1, 1]]]), "S")
    assert joint.codes.tolist() == [[0, 1], [1, 1]]
    assert joint.p.tolist() == [[40 / 70, 20 / 70], [10 / 70, 0]]
