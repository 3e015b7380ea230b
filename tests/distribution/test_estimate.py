"""The estimate of people from noisy counts: of every combination, nearer to them than the counts, of as many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privacyfunnel.distribution.estimate import UNIT, estimated, lean

SIZES = (3, 4, 6)
VARIANCE = 8.0
noisy_counts = arrays(np.int64, st.tuples(st.integers(2, 4), st.just(12)), elements=st.integers(-30, 60))


def people(rng, size=20_000):
    """Counts of two secrets; what goes with the secret does so by each column, and by cells of its own."""
    parts = [rng.dirichlet(np.full(k, 2.0), 2) for k in SIZES]
    p = np.einsum("si,sj,sk->sijk", *parts).reshape(2, -1) * rng.gamma(20.0, size=(2, 72))
    return rng.multinomial(size, (p / p.sum()).ravel()).reshape(2, -1)


def noise(rng, shape):
    stop = -np.expm1(-0.5)  # of the scale 2
    return rng.geometric(stop, shape) - rng.geometric(stop, shape)


@given(noisy_counts, st.integers(12, 400))
def test_every_combination_is_there_and_everybody_is_counted(counts, number):
    weights = estimated(counts, number, (3, 4), VARIANCE)
    assert (weights >= 1).all()
    assert weights.sum() == pytest.approx((number + len(counts)) * UNIT, abs=(len(counts) + 1) * UNIT)


def test_exact_counts_stay_as_they_are():
    counts = people(np.random.default_rng(1))
    found = estimated(counts, int(counts.sum()), SIZES, 1e-9) / UNIT
    assert np.abs(found - counts)[counts > 0].max() < 1e-2 * counts.max() + 1


def test_the_estimate_is_nearer_to_the_people_than_their_noisy_counts():
    rng, far, near = np.random.default_rng(2), 0.0, 0.0
    for _ in range(5):
        counts = people(rng, 2_000)
        noisy = counts + noise(rng, counts.shape)
        found = estimated(noisy, 2_000, SIZES, VARIANCE) / UNIT
        far += float(np.abs(np.maximum(noisy, 0) - counts).sum())
        near += float(np.abs(found - counts).sum())
    assert near < 0.95 * far


def test_what_is_said_of_the_secret_in_thin_cells_is_less_than_noise_says():
    """Nobody's secret goes with anything: of four people, the noise of a cell says a lot, the estimate little."""
    rng = np.random.default_rng(3)
    counts = np.full((2, 72), 4)
    noisy = np.maximum(counts + noise(rng, counts.shape), 0)
    found = estimated(noisy, 576, SIZES, VARIANCE)
    said, noise_says = (np.abs(part[0] / np.maximum(part.sum(axis=0), 1) - 0.5).mean() for part in (found, noisy))
    assert said < 0.5 * noise_says


def test_counts_of_single_columns_are_not_biased():
    """Over many fits, the share of a value is off by chance alone."""
    rng = np.random.default_rng(4)
    counts, off = people(rng, 20_000), []
    first = counts.reshape(2, *SIZES).sum(axis=(0, 2, 3))
    for _ in range(40):
        found = estimated(counts + noise(rng, counts.shape), 20_000, SIZES, VARIANCE) / UNIT
        off.append(found.reshape(2, *SIZES).sum(axis=(0, 2, 3)) - first)
    share = first / 20_000
    sampling = np.sqrt(20_000 * share * (1 - share))
    assert (np.abs(np.mean(off, axis=0)) < 0.3 * sampling).all()


def test_no_noise_takes_the_counts_and_endless_noise_what_is_expected():
    y, expected = np.array([30.0, 10.0]), np.array([20.0, 20.0])
    assert lean(y, 0.0, expected) == pytest.approx(y)
    assert lean(y, 1e12, expected) == pytest.approx(expected)


def test_the_order_of_the_secrets_does_not_matter():
    rng = np.random.default_rng(5)
    counts = people(rng) + noise(rng, (2, 72))
    found = estimated(counts, 20_000, SIZES, VARIANCE)
    assert np.abs(found[::-1] - estimated(counts[::-1], 20_000, SIZES, VARIANCE)).max() <= 1
