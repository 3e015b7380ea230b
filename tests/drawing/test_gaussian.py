"""Discrete Gaussian noise: OpenDP's draws have the σ that was asked for, and wrong ones are noticed."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from privacyfunnel.drawing.gaussian import checked_model_delta, gaussian_noised
from privacyfunnel.errors import InvalidInput

DRAWS = 20_000
CHANCE = 1e-9
"""Of a test that fails though nothing is wrong: the draws are new every time."""


def fit_of(noise, sigma):
    """The p-value of a sample of noise under P(z) ∝ e^(−z² / 2σ²), in cells of about σ/4."""
    z = np.arange(-math.ceil(14 * sigma), math.ceil(14 * sigma) + 1)
    p = np.exp(-((z / sigma) ** 2) / 2)
    width = max(1, round(sigma / 4))
    cell = np.clip(z // width, -12, 12) + 12
    expected = np.bincount(cell, weights=p / p.sum())
    seen = np.bincount(np.clip(np.asarray(noise) // width, -12, 12) + 12, minlength=len(expected))
    return chisquare(seen, expected * len(noise)).pvalue


@pytest.mark.parametrize("sigma", [5.0, 45.52])
def test_noise_has_the_sigma_that_was_asked_for_and_no_other(sigma):
    noise = gaussian_noised(np.zeros(DRAWS, dtype=np.int64), sigma)
    assert fit_of(noise, sigma) > CHANCE
    assert fit_of(noise, sigma / 2) < CHANCE
    assert fit_of(noise, sigma / math.sqrt(2)) < CHANCE
    assert fit_of(noise, 1.1 * sigma) < CHANCE


def test_every_cell_has_noise_of_its_own():
    counts = np.array([[10**6] * 2_000, [0] * 2_000])
    noise = gaussian_noised(counts, 20.0) - counts
    assert noise.shape == (2, 2_000)
    assert abs(np.corrcoef(noise)[0, 1]) < 0.15
    assert len(np.unique(noise[0])) > 50


def test_repeatable_noise_of_tests_has_the_same_law():
    from privacyfunnel.tables.wide import all_pairs  # the fixture of conftest.py has put its own there

    assert all_pairs.gaussian_noised is not gaussian_noised
    assert fit_of(all_pairs.gaussian_noised(np.zeros(DRAWS, dtype=np.int64), 30.0), 30.0) > CHANCE


@pytest.mark.parametrize("delta", [-1e-9, 1e-2, 1, math.nan, math.inf, True, "1e-6", 1e-30])
def test_a_delta_that_makes_no_sense_is_refused(delta):
    with pytest.raises(InvalidInput, match="or 0"):
        checked_model_delta(delta)


def test_zero_and_small_numbers_are_deltas():
    assert checked_model_delta(0) == 0.0
    assert checked_model_delta(1e-6) == 1e-6
