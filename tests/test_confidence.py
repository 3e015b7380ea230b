"""Confidence sets hold the truth as often as they say, and not by holding everything."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from tests.strategies import arrays

import privacyfunnel as pf
from privacyfunnel.confidence import confidence_set
from privacyfunnel.confidence_bounds import clopper_pearson, missing_mass
from privacyfunnel.shares import NOBODY, SCALE

ALARM = 1e-6
"""A simulation fails by chance this often."""


def holds(joint_of_truth, part):
    """Whether the distribution p[s, x] on the seen values, given each cell, is within its intervals."""
    for cell, members in enumerate(part.members):
        real = members[members != NOBODY]
        p = joint_of_truth[:, real]
        with np.errstate(invalid="ignore"):
            given_s = p / p.sum(axis=1, keepdims=True)
        prior = p.sum(axis=1) / p.sum()
        k = len(real)
        fine = (part.given.lower[cell, :, :k] / SCALE <= given_s) & (given_s <= part.given.upper[cell, :, :k] / SCALE)
        if not fine[p.sum(axis=1) > 0].all():
            return False
        if not ((part.prior.lower[cell] / SCALE <= prior) & (prior <= part.prior.upper[cell] / SCALE)).all():
            return False
    return True


@given(st.integers(1, 200), st.data(), st.sampled_from([0.025, 1e-3, 1e-7]))
def test_an_interval_ends_where_the_count_would_be_a_surprise(n, data, tail):
    k = data.draw(st.integers(0, n))
    lower, upper = (float(end) for end in clopper_pearson(np.array(float(k)), np.array(float(n)), tail))
    assert binom.sf(k - 1, n, lower) <= tail * (1 + 1e-6) if k else lower == 0
    assert binom.cdf(k, n, upper) <= tail * (1 + 1e-6) if k < n else upper == 1
    if k:
        assert binom.sf(k - 1, n, lower * 1.001) > tail
    if k < n:
        assert binom.cdf(k, n, upper - 2e-9 - 0.001 * (1 - upper) * upper) > tail


@given(arrays(min_s=2).filter(lambda a: a.dtype.kind == "i"), st.sampled_from([0.5, 0.95, 0.999]))
def test_the_counts_themselves_are_in_their_set(array, confidence):
    joint = pf.Joint(array)
    for part in confidence_set(joint, pf.LIP(1.0).views(joint), confidence):
        assert (part.given.lower <= part.given.upper).all()
        assert holds(joint.weights.astype(float), part)
        # so that every set has distributions in it, exactly
        assert (part.given.lower.sum(axis=2) <= SCALE).all()
        assert (part.given.upper.astype(object).sum(axis=2) >= SCALE).all()


def test_a_value_never_seen_with_a_secret_may_still_occur_with_it():
    joint = pf.Joint([[50, 0], [50, 50]])
    (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    assert part.given.lower[0, 0, 1] == 0
    assert 0.05 < part.given.upper[0, 0, 1] / SCALE < 0.3


def test_more_people_and_less_confidence_make_smaller_sets():
    counts = np.array([[30, 20, 10], [5, 10, 25]])

    def width(k, confidence):
        joint = pf.Joint(k * counts)
        (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), confidence)
        return float((part.given.upper - part.given.lower).sum() / SCALE)

    assert width(1, 0.95) > width(10, 0.95) > width(1000, 0.95)
    assert width(1, 0.5) < width(1, 0.95) < width(1, 0.999)
    assert width(10**8, 0.95) < 1e-3


TRUTH = np.array([[0.25, 0.12, 0.03, 0.10, 0.02], [0.05, 0.13, 0.20, 0.07, 0.03]])


def covered(shape, n, confidence, times, views_of):
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(times):
        counts = rng.multinomial(n, TRUTH.ravel()[: math.prod(shape)] / TRUTH.ravel()[: math.prod(shape)].sum())
        counts = counts.reshape(shape)
        if (counts.reshape(shape[0], -1).sum(axis=1) == 0).any():
            hits += 1  # such a sample is refused
            continue
        joint = pf.Joint(counts)
        seen = counts.reshape(shape[0], -1).any(axis=0)
        truth = (TRUTH.ravel()[: math.prod(shape)] / TRUTH.ravel()[: math.prod(shape)].sum()).reshape(shape[0], -1)
        parts = confidence_set(joint, views_of(joint), confidence)
        hits += all(holds(truth[:, seen], part) for part in parts)
    return hits


@pytest.mark.parametrize("n", [12, 60, 2000])
@pytest.mark.parametrize(("shape", "promise"), [((2, 5), pf.LIP(1.0)), ((2, 2, 2), pf.SRLIP(1.0))])
def test_the_set_holds_the_truth_at_least_as_often_as_it_says(n, shape, promise):
    hits = covered(shape, n, 0.8, 300, promise.views)
    assert binomtest(hits, 300, 0.8, alternative="less").pvalue > ALARM


def test_a_set_of_little_confidence_misses_the_truth():
    hits = covered((2, 5), 2000, 0.01, 300, pf.LIP(1.0).views)
    assert binomtest(hits, 300, 0.8, alternative="less").pvalue < ALARM


def test_what_was_not_seen_is_bounded_as_often_as_it_says():
    rng = np.random.default_rng(3)
    shares = np.array([0.3, 0.3, 0.2, *[0.02] * 10])
    for n in (10, 40, 200):
        over = 0
        for _ in range(300):
            counts = rng.multinomial(n, shares)
            bound = missing_mass(13.0, np.array([(counts > 0).sum()]), np.array([float(n)]), 0.2)[0]
            over += shares[counts == 0].sum() > bound
        assert binomtest(over, 300, 0.2, alternative="greater").pvalue > ALARM
    assert missing_mass(13.0, np.array([13]), np.array([40.0]), 0.05)[0] == 0
    assert missing_mass(13.0, np.array([1]), np.array([0.0]), 0.05)[0] == 1
    assert missing_mass(13.0, np.array([12]), np.array([1e6]), 0.05)[0] < 1e-4


def test_probabilities_have_no_confidence_set():
    joint = pf.Joint([[0.25, 0.25], [0.1, 0.4]])
    with pytest.raises(pf.PrivacyFunnelError, match="counts of people"):
        confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    with pytest.raises(pf.PrivacyFunnelError, match="counts of people"):
        pf.optimise(joint, pf.robust(pf.LIP(0.5)))


def test_ends_are_rounded_outwards():
    joint = pf.Joint([[3, 7], [6, 2]])
    (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    tail = 0.05 / (2 * 2 * 2 + 3 * 2 + 1)
    exact = clopper_pearson(np.array([3.0]), np.array([10.0]), tail)
    assert Fraction(int(part.given.lower[0, 0, 0]), SCALE) <= Fraction(float(exact[0][0]))
    assert Fraction(int(part.given.upper[0, 0, 0]), SCALE) >= Fraction(float(exact[1][0]))
