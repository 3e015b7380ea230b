"""Noisy counts can have the noise that is stated: honest ones pass, whatever the people, and contradictions do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacyfunnel.distribution.noise import Noise, threshold_for
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.proof.stated_noise import ALIKE, NOT_SO_MANY, OUTSIDE, TOO_FEW, TOO_SMALL, check_stated_noise


def laplace(rng, shape, epsilon):
    going_on = 1 - np.exp(-epsilon / 2)
    return rng.geometric(going_on, shape) - rng.geometric(going_on, shape)


def sparse(rng, cells, people):
    """Counts of people of whom most are in few cells."""
    return rng.multinomial(people, rng.dirichlet(np.full(2 * cells, 0.1))).reshape(2, cells)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 5000), st.sampled_from([0.01, 0.1, 1.0, 10.0, 50.0]))
def test_noise_of_the_stated_size_passes_however_people_are_spread(seed, cells, people, epsilon):
    rng = np.random.default_rng(seed)
    counts = sparse(rng, cells, people) + laplace(rng, (2, cells), epsilon)
    check_stated_noise(Noise(epsilon, people, ("a",), counts))


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]), st.sampled_from([1e-12, 1e-9, 1e-4]))
def test_large_counts_that_reach_their_threshold_pass(seed, epsilon, delta):
    rng, least = np.random.default_rng(seed), threshold_for(epsilon, delta)
    exact = rng.integers(2, 10, (2, 9)) * least
    noisy = exact + laplace(rng, exact.shape, epsilon)
    told = np.where(noisy >= least, noisy, 0)
    there = told.max(axis=0) > 0
    check_stated_noise(Noise(epsilon, int(exact.sum()), ("a",), told[:, there], np.arange(9)[there, None], delta))


@pytest.mark.parametrize("overstated", [20, 100])
def test_much_less_noise_than_stated_shows_where_most_cells_are_empty(overstated):
    rng = np.random.default_rng(overstated)
    counts = sparse(rng, 100, 3000) + laplace(rng, (2, 100), 1.0)
    check_stated_noise(Noise(1.0, 3000, ("a",), counts))
    with pytest.raises(InvalidProtocol, match=ALIKE):
        check_stated_noise(Noise(1.0 / overstated, 3000, ("a",), counts))


COUNTS = np.array([[90, 60, -3], [40, 2, 5]])
LARGE = np.array([[90, 0], [0, 60]])
CODES = np.array([[0], [1]])
CONTRADICTIONS = [
    (NOT_SO_MANY, Noise(1.0, 10_000, ("a",), COUNTS)),
    (NOT_SO_MANY, Noise(1.0, 5, ("a",), COUNTS)),
    (OUTSIDE, Noise(1.0, 4, ("a",), np.array([[150, -150], [2, 2]]))),
    (TOO_SMALL, Noise(0.5, 150, ("a",), LARGE, CODES, 1e-9)),
    (TOO_SMALL, Noise(1.0, 150, ("a",), np.array([[90, 0], [60, 0]]), CODES, 1e-9)),
    (TOO_FEW, Noise(1.0, 301, ("a",), LARGE, CODES, 1e-9)),
    (NOT_SO_MANY, Noise(50.0, 10, ("a",), LARGE, CODES, 1e-9)),
]


@pytest.mark.parametrize(("reason", "noise"), CONTRADICTIONS)
def test_a_contradiction_is_refused_with_its_reason(reason, noise):
    with pytest.raises(InvalidProtocol, match=reason):
        check_stated_noise(noise)


def test_the_same_counts_without_it_pass():
    check_stated_noise(Noise(1.0, 194, ("a",), COUNTS))
    check_stated_noise(Noise(1.0, 150, ("a",), LARGE, CODES, 1e-9))
