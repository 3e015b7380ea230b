"""Discrete Laplace noise: its scale is what OpenDP grants, its draws are of that scale, and wrong ones are noticed."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from privacyfunnel.drawing.laplace import AT_ONCE, noised, noised_above
from privacyfunnel.errors import InvalidInput

DRAWS = 40_000
CHANCE = 1e-9
"""Of a test that fails though nothing is wrong: the draws are new every time."""


def fit_of(noise, scale):
    """The p-value of a sample of noise under P(z) ∝ e^(−|z| / scale)."""
    alpha, most = math.exp(-1 / scale), math.ceil(5 * scale)
    z = np.arange(-most, most + 1)
    p = (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
    p[[0, -1]] = alpha**most / (1 + alpha)
    seen = np.bincount(np.clip(noise, -most, most) + most, minlength=len(z))
    return chisquare(seen, p * len(noise)).pvalue


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_noise_has_the_scale_two_over_epsilon_and_no_other(epsilon):
    noise = noised(np.zeros(DRAWS, dtype=np.int64), epsilon)
    assert fit_of(noise, 2 / epsilon) > CHANCE
    assert fit_of(noise, 1 / epsilon) < CHANCE
    assert fit_of(noise, 2.2 / epsilon) < CHANCE


def test_every_cell_has_noise_of_its_own_in_tables_larger_than_one_list():
    noise = noised(np.zeros((2, AT_ONCE // 2 + 7), dtype=np.int64), 4.0)
    assert fit_of(noise.ravel(), 0.5) > CHANCE
    assert abs(np.corrcoef(noise)[0, 1]) < 0.05
    assert noise.shape == (2, AT_ONCE // 2 + 7)


def test_counts_are_what_they_were_but_for_the_noise():
    counts = np.array([[10**6, 0], [7, 10**9]])
    assert np.abs(noised(counts, 5.0) - counts).max() < 100


def test_above_a_threshold_only_large_counts_are_told():
    told = noised_above(np.array([10_000, 5_000, 1, 2, 1]), 1.0, 1e-9)
    assert (told[:2] > 4_000).all()
    assert not told[2:].any()  # each would be told with probability 1e-9


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, True, "1", None, 1e9])
def test_an_epsilon_that_makes_no_sense_is_refused(epsilon):
    with pytest.raises(InvalidInput):
        noised(np.zeros(3, dtype=np.int64), epsilon)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, math.nan, True, "1e-9"])
def test_a_delta_that_makes_no_sense_is_refused(delta):
    with pytest.raises(InvalidInput):
        noised_above(np.array([5]), 1.0, delta)
