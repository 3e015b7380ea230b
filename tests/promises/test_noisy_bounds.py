"""Bounds from noisy counts: tails of sums of noise against convolution, and shares against every count left open."""

import math

import numpy as np
import pytest

from privacyfunnel.promises.confidence_bounds import clopper_pearson
from privacyfunnel.promises.noisy_bounds import Between, largest_noise, shares_between


def tail_of_sum(cells, scale, above):
    """P(z₁ + … + z_m > above), by convolution."""
    alpha, most = math.exp(-1 / scale), math.ceil(60 * scale)
    p = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-most, most + 1))
    total = p
    for _ in range(cells - 1):
        total = np.convolve(total, p)
    middle = len(total) // 2
    return total[middle + int(above) + 1 :].sum()


@pytest.mark.long
@pytest.mark.parametrize("cells", [1, 2, 5, 40])
@pytest.mark.parametrize("scale", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("tail", [0.05, 1e-4, 1e-9])
def test_noise_exceeds_its_bound_as_rarely_as_is_said(cells, scale, tail):
    bound = float(largest_noise(np.array([cells]), scale, tail)[0])
    assert tail_of_sum(cells, scale, bound) <= tail * (1 + 1e-6)
    if cells == 1:
        assert tail_of_sum(cells, scale, bound - 1) > tail  # and the bound is no larger than it must be
    else:
        assert tail_of_sum(cells, scale, 0.4 * bound) > tail


def test_ends_hold_every_count_that_is_left_open():
    k, n = Between(np.array([3.0]), np.array([9.0])), Between(np.array([20.0]), np.array([30.0]))
    lower, upper = shares_between(k, n, 0.01)
    for people in range(20, 31):
        for own in range(3, 10):
            low, high = clopper_pearson(np.array([float(own)]), np.array([float(people)]), 0.01)
            assert lower[0] <= low[0]
            assert high[0] <= upper[0]


def test_of_nobody_nothing_is_known():
    nobody = Between(np.array([0.0]), np.array([0.0]))
    lower, upper = shares_between(nobody, nobody, 0.01)
    assert (lower[0], upper[0]) == (0.0, 1.0)


def test_counts_are_never_below_nothing():
    between = Between.of(np.array([-5.0, 100.0]), np.array([1, 1]), 2.0, 0.01)
    assert between.low[0] == 0
    assert between.high[0] >= 0
    assert between.low[1] < 100 < between.high[1]
