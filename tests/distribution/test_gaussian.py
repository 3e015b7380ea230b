"""Which δ₀ Gaussian noise on tables has: against sums over all noise, and against channels chosen to break it."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from privacyfunnel.distribution.gaussian import LEAST_SIGMA, GaussianNoise, delta_of, needed_delta, noise_for
from privacyfunnel.errors import InvalidInput


def law(sigma, width):
    z = np.arange(-width, width + 1)
    p = np.exp(-((z / sigma) ** 2) / 2)
    return z, p / p.sum()


def summed(a, sigma, coordinates):
    """max over sets of P(T) − e^a P(T moved by 1 in each coordinate): the sum of all noise, number by number."""
    _, p = law(sigma, math.ceil(14 * sigma))
    total = p
    for _ in range(coordinates - 1):
        total = np.convolve(total, p)
    S = np.arange(len(total)) - (len(total) // 2)
    moved = np.interp(S - coordinates, S, total, left=0.0, right=0.0)  # whole numbers, so that nothing is between them
    return max(np.maximum(total - math.exp(a) * moved, 0).sum(), np.maximum(moved - math.exp(a) * total, 0).sum())


@pytest.mark.parametrize(
    ("a", "sigma", "coordinates"),
    [(0.5, 5.0, 1), (0.5, 12.2, 2), (0.5, 15.0, 3), (1.0, 6.0, 2), (2.0, 5.0, 9), (0.4, 11.0, 4), (0.5, 20.0, 6)],
)
def test_delta_is_that_of_all_noise_summed_up_and_a_little_more(a, sigma, coordinates):
    exactly = summed(a, sigma, coordinates)
    assert exactly <= delta_of(a, sigma, coordinates) <= 1.5 * exactly
    assert summed(a, sigma / 2, coordinates) > 2 * delta_of(a, sigma, coordinates)  # half the noise is noticed


def test_delta_of_many_tables_is_that_of_continuous_noise_but_for_a_percent():
    for tables in (28, 55, 253):
        sigma = 8.6 * math.sqrt(tables)
        mu = math.sqrt(tables) / sigma
        continuous = ndtr(mu / 2 - 0.5 / mu) - math.exp(0.5) * ndtr(-mu / 2 - 0.5 / mu)
        assert continuous <= delta_of(0.5, sigma, tables) <= 1.01 * continuous


def test_where_delta_is_not_small_nothing_is_claimed():
    assert delta_of(0.01, 5.0, 4) == 1.0


@pytest.mark.parametrize("tables", [1, 3, 28, 55])
@pytest.mark.parametrize("choosing", [0.0, 0.05])
def test_the_least_noise_with_a_delta_has_it_and_less_does_not(tables, choosing):
    noise = noise_for(tables, 1.0, 1e-6, 0.5, choosing)
    assert noise.kept(1.0, 0.5)
    assert not GaussianNoise(0.9 * noise.sigma, tables, 1e-6, choosing).kept(1.0, 0.5)
    assert not noise.kept(1.0, 1.5)  # a weaker promise about rows needs more noise
    assert needed_delta(noise.sigma, tables, 1.0, 0.5, choosing) <= 1e-6


def test_noise_grows_as_the_root_of_the_tables_and_never_falls_below_what_is_proven():
    assert noise_for(100, 1.0, 1e-6, 0.5).sigma == pytest.approx(86.02, rel=1e-3)  # by continuous noise
    one, four = (noise_for(tables, 1.0, 1e-6, 0.5).sigma for tables in (25, 100))
    assert four / one == pytest.approx(2, rel=1e-3)
    assert noise_for(1, 50.0, 1e-3, 0.5).sigma == LEAST_SIGMA


def test_what_no_noise_has_is_refused_in_a_line():
    with pytest.raises(InvalidInput, match="say delta = 0"):
        noise_for(28, 50.0, 1e-15, 50.0)


def corners(p, epsilon):
    """All extreme g[x] = Q(1|x) of channels with two outputs that keep ε-LIP for p[s, x], for two values of x."""
    lines = []
    p_x, given = p.sum(axis=0), p / p.sum(axis=1, keepdims=True)
    for row in given:
        for n in (row - math.exp(epsilon) * p_x, math.exp(-epsilon) * p_x - row):
            lines += [(n, 0.0), (-n, -n.sum())]  # n·g ≤ 0, and the same for 1 − g
    for x in np.eye(2):
        lines += [(x, 1.0), (-x, 0.0)]
    found = []
    for (n, b), (m, c) in itertools.combinations(lines, 2):
        if abs(np.linalg.det([n, m])) > 1e-12:
            g = np.linalg.solve([n, m], [b, c])
            if all(k @ g <= d + 1e-9 for k, d in lines):
                found.append(g)
    return np.unique(np.round(found, 9), axis=0)


def worst(p, epsilon, epsilon_0, sigma):
    """The most by which P(T|s) exceeds e^(ε+ε₀) P(T), or the other way round, over all channels Q_f and sets T.

    One table of all four cells (s, x), K = 1. Tables f have noise z in each cell and the record adds 1 to one of them:
    P(f|s, x) = P(f without) exp((2z[s, x] − 1)/2σ²). Given f, all Q_f that keep the promise are mixtures of `corners`.
    """
    z, chance = law(sigma, round(5 * sigma))
    likely = np.exp((2 * z - 1) / (2 * sigma**2))
    shape = np.ix_(*[range(len(z))] * 4)
    m = math.prod(chance[axis] for axis in shape)
    like = [[likely[shape[2 * s + x]] for x in (0, 1)] for s in (0, 1)]
    most = 0.0
    factor = math.exp(epsilon + epsilon_0)
    for s in (0, 1):
        given = [p[s, x] / p[s].sum() * like[s][x] for x in (0, 1)]
        mean = [p[0, x] * like[0][x] + p[1, x] * like[1][x] for x in (0, 1)]
        for one, other in ((given, mean), (mean, given)):
            best = np.zeros(m.shape)
            for g in corners(p, epsilon):
                np.maximum(best, sum(g[x] * (one[x] - factor * other[x]) for x in (0, 1)), out=best)
            most = max(most, float((m * best).sum()))
    return most


@pytest.mark.parametrize("p", [[[0.4, 0.1], [0.1, 0.4]], [[0.6, 0.05], [0.15, 0.2]]], ids=str)
def test_no_channel_breaks_everything_published_by_more_than_delta(p):
    p, epsilon, epsilon_0 = np.array(p), 0.5, 0.6
    stated = needed_delta(LEAST_SIGMA, 1, epsilon_0, epsilon)
    assert stated < 0.05
    found = worst(p, epsilon, epsilon_0, LEAST_SIGMA)
    assert 0 < found <= stated
    assert worst(p, epsilon, epsilon_0, LEAST_SIGMA / 3) > stated  # a third of the noise would be noticed


def told_apart(sigma, cells, draws, rng):
    """D = max over pairs of records of ln P_r(f)/P_r′(f), in draws of f: two tables of so many cells each, K = 2.

    The true record has the first cell of each.
    """
    z, chance = law(sigma, round(8 * sigma))
    seen = [rng.choice(z, (draws, cells), p=chance) for _ in range(2)]
    for one in seen:
        one[:, 0] += 1
    return sum(one.max(axis=1) - one.min(axis=1) for one in seen) / sigma**2


@pytest.mark.parametrize(("sigma", "cells"), [(6.0, 2), (6.0, 4), (20.0, 12)])
def test_whatever_is_expected_no_two_records_are_told_apart_by_more_but_for_delta(sigma, cells):
    delta, rng = 0.01, np.random.default_rng(5)
    found = told_apart(sigma, cells, 40_000, rng)
    most = GaussianNoise(sigma, 2, delta).whatever_expected(cells**2)
    assert (found > most).mean() <= delta
    assert (found > 0.7 * most).mean() > delta  # and with little to spare
    assert GaussianNoise(sigma, 2, delta, 0.1).whatever_expected(cells**2) == pytest.approx(most + 0.1)


def test_who_takes_the_model_at_its_word_may_move_further_than_theorem_2_says_and_not_than_theorem_3():
    """The expectation is of two records only, those that the tables tell apart most; rows tell nothing, ε = 0."""
    tables, cells, delta, rng = 2, 40, 1e-4, np.random.default_rng(6)
    noise = noise_for(tables, 1.0, delta, 0.0)
    apart = np.exp(told_apart(noise.sigma, cells, 20_000, rng))
    rare = 1e-3  # of the secret that goes with the likelier record
    lifts = apart / (rare * apart + 1 - rare)
    assert (lifts > 1.02 * math.e).mean() > 51 * delta  # so theorem 2 is about expectations that are fixed
    assert (lifts > math.exp(noise.whatever_expected(2 * cells**2))).mean() <= delta


def test_with_more_records_more_is_left_open():
    noise = noise_for(28, 1.0, 1e-6, 0.5)
    found = [noise.whatever_expected(records) for records in (2, 2_240, 8_064_000)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.53, abs=0.005)  # docs/theory.md
    assert noise_for(6, 1.0, 1e-6, 0.5).whatever_expected(2_240) == pytest.approx(1.21, abs=0.005)
    assert GaussianNoise(10.0, 1, 1e-15).whatever_expected(10**16) == math.inf
