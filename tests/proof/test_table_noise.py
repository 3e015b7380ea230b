"""Noisy tables: noise of the stated size is believed, far smaller and far larger noise is not, and no other people."""

import numpy as np
import pytest

from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.proof import table_noise
from privacyfunnel.proof.table_noise import LARGER, OTHER_PEOPLE, SMALLER, flaw_in_noise
from privacyfunnel.protocols.wide.noisy_tables import variances
from wide_files import gaussian, noisy_tables, people_like

SHAPES = [((4,), 2), ((3, 2), 2), ((2, 2, 2), 2), ((4, 3, 2), 3), ((3, 1, 2), 2), ((3, 2, 2, 4, 2), 2), ((2,) * 8, 2)]


def flaw(tables, noise):
    return flaw_in_noise(tables, isinstance(noise, LaplaceNoise))


def stated(tables, noise, epsilon=1.0):
    """The same tables under another statement about their noise."""
    return Marginals.of(tables.people, tables.sizes, tables.drawn, *variances(noise, epsilon, len(tables.sizes)))


@pytest.mark.parametrize(("sizes", "secrets"), SHAPES, ids=str)
@pytest.mark.parametrize(
    ("kind", "epsilon"), [("gaussian", 1.0), ("laplace", 0.2), ("laplace", 1.0), ("laplace", 40.0)]
)
def test_noise_of_the_stated_size_is_believed(sizes, secrets, kind, epsilon):
    rng = np.random.default_rng(len(sizes))
    noise = gaussian(len(sizes)) if kind == "gaussian" else LaplaceNoise()
    for people in (50, 20_000):
        for _ in range(20):
            tables = noisy_tables(rng, people_like(rng, secrets, sizes, people), noise, epsilon)
            assert flaw(tables, noise) is None


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_what_is_as_unlikely_as_said_happens_no_more_often(kind, monkeypatch):
    """With one in fifty instead of 10⁻⁹: counted in 600 draws of noise, which a test that refuses too much fails."""
    luck = 0.02
    monkeypatch.setattr(table_noise, "LUCK", luck)
    noise, rng = gaussian(4) if kind == "gaussian" else LaplaceNoise(), np.random.default_rng(3)
    counts = people_like(rng, 2, (3, 2, 4, 2))
    found = [flaw(noisy_tables(rng, counts, noise), noise) for _ in range(600)]
    most = 600 * luck + 4 * np.sqrt(600 * luck)
    assert sum(one == SMALLER for one in found) <= 2 * most  # two sums of squares are looked at
    assert sum(one in (LARGER, OTHER_PEOPLE) for one in found) <= most
    if kind == "gaussian":
        assert SMALLER in found  # or it would never refuse


@pytest.mark.parametrize(("sizes", "secrets"), [((4,), 2), ((3, 2), 2), ((4, 3, 2), 3), ((3, 2, 2, 4), 2)], ids=str)
def test_no_noise_can_be_said_to_be_a_million_people_large(sizes, secrets):
    rng, noise = np.random.default_rng(1), gaussian(len(sizes))
    tables = noisy_tables(rng, people_like(rng, secrets, sizes, 2_000), noise)
    absurd = type(noise)(1e6, noise.tables, noise.delta)
    assert flaw(tables, noise) is None
    assert flaw(stated(tables, absurd), absurd) == SMALLER


def test_no_epsilon_can_be_said_that_is_a_tenth_of_the_true_one():
    rng = np.random.default_rng(2)
    for kind in (LaplaceNoise(), gaussian()):
        tables = noisy_tables(rng, people_like(rng, 2), kind)
        claimed = kind if isinstance(kind, LaplaceNoise) else gaussian(epsilon=0.1)
        assert flaw(stated(tables, claimed, 0.1), claimed) == SMALLER


def test_tables_without_noise_or_with_more_than_is_said_are_not_believed():
    rng, noise = np.random.default_rng(4), gaussian()
    counts = people_like(rng, 2)
    assert flaw(stated(noisy_tables(rng, counts, None, None), noise), noise) == SMALLER
    loud = type(noise)(20 * noise.sigma, noise.tables, noise.delta)
    assert flaw(stated(noisy_tables(rng, counts, loud), noise), noise) in (LARGER, OTHER_PEOPLE)


def test_exact_tables_agree_to_the_last_person_or_are_refused():
    counts = people_like(np.random.default_rng(5), 2)
    tables = noisy_tables(None, counts, None, None)
    assert flaw(tables, None) is None
    off = {own: table.copy() for own, table in tables.drawn.items()}
    off[0, 1][0, 0, 0] += 1
    assert flaw(Marginals.of(tables.people, tables.sizes, off, 0.0, 0.0), None) in (LARGER, OTHER_PEOPLE)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_tables_of_other_people_are_not_believed(kind):
    rng = np.random.default_rng(6)
    noise = gaussian() if kind == "gaussian" else LaplaceNoise()
    tables, others = (noisy_tables(rng, people_like(rng, 2), noise) for _ in range(2))
    assert flaw(Marginals.of(30_000, tables.sizes, tables.drawn, *variances(noise, 1.0, 3)), noise) == OTHER_PEOPLE
    for own in tables.drawn:
        mixed = {**tables.drawn, own: others.drawn[own]}
        assert flaw(Marginals.of(tables.people, tables.sizes, mixed, *variances(noise, 1.0, 3)), noise) == LARGER
    negative = {own: table - 2_000 * (np.indices(table.shape).sum(axis=0) % 2 * 2 - 1) for own, table in
                tables.drawn.items()}  # fmt: skip
    assert flaw(Marginals.of(tables.people, tables.sizes, negative, *variances(noise, 1.0, 3)), noise) is not None
