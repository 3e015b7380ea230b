"""Confidence from noisy counts: the set holds the true distribution as often as it says, and noise is what it takes."""

import numpy as np
import pytest
from scipy.stats import binom

import privacyfunnel as pf
from privacyfunnel.promises import tallies
from privacyfunnel.promises.confidence import confidence_set
from privacyfunnel.promises.noisy_bounds import Between
from privacyfunnel.promises.sets import SCALE
from privacyfunnel.tables.private_counts import private

CONFIDENCE = 0.8
SAMPLES = 150
LUCK = 1e-4
NAMES = ["X1", "X2"]
FLOAT = 1 << 20
"""Units of 1/SCALE that float64 may be off by."""


def truth(seed):
    """A distribution of two secrets and two dependent columns, some of it rare."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(2 * 3 * 4, 0.7)).reshape(2, 3, 4)


def sampled(p, n, rng, epsilon):
    counts = rng.multinomial(n, p.ravel()).reshape(p.shape)
    whole = np.where(counts.sum() > 0, counts, 0)
    joint = pf.Joint(whole, attributes=NAMES)
    return private(joint, epsilon)


def holds(possible, p, rows):
    """Whether every share of every table of a set is between its ends; up to float64."""
    own = p.reshape(2, -1)[rows]
    given, prior = own / own.sum(axis=1, keepdims=True), own.sum(axis=1) / own.sum()
    low, high = possible.given.lower[0], possible.given.upper[0]
    inside = [((low <= SCALE * given + FLOAT) & (SCALE * given <= high + FLOAT)).all()]
    inside.append(
        (possible.prior.lower[0] <= SCALE * prior + FLOAT).all()
        and (SCALE * prior <= possible.prior.upper[0] + FLOAT).all()
    )
    for table in possible.tables:
        blocks = np.stack([np.bincount(table.of[0], weights=row, minlength=table.lower.shape[2]) for row in given])
        inside.append(((table.lower[0] <= SCALE * blocks + FLOAT) & (SCALE * blocks <= table.upper[0] + FLOAT)).all())
    return all(inside)


def missed(n, epsilon, seed=3):
    rng, p = np.random.default_rng(seed), truth(seed)
    out = 0
    for _ in range(SAMPLES):
        joint = sampled(p, n, rng, epsilon)
        whole = joint.completed
        views = pf.LIP(0.5).views(whole)
        (possible,) = confidence_set(whole, views, CONFIDENCE, "nested")
        out += not holds(possible, p, np.arange(2))
    return out


@pytest.mark.parametrize(("n", "epsilon"), [(200, 1.0), (2_000, 0.3), (20_000, 1.0)])
def test_the_set_holds_the_truth_as_often_as_it_says(n, epsilon):
    assert binom.sf(missed(n, epsilon) - 1, SAMPLES, 1 - CONFIDENCE) > LUCK


def test_a_set_that_forgets_the_noise_does_not(monkeypatch):
    class Exact(Between):
        @classmethod
        def of(cls, noisy, *_):
            return Between(np.maximum(noisy, 0.0), np.maximum(noisy, 0.0))

    monkeypatch.setattr(tallies, "Between", Exact)
    assert binom.sf(missed(2_000, 0.3) - 1, SAMPLES, 1 - CONFIDENCE) < LUCK


def test_a_promise_over_noisy_counts_is_kept_for_the_truth():
    rng, p = np.random.default_rng(5), truth(5)
    broken = 0
    for _ in range(6):
        joint = sampled(p, 3_000, rng, 1.0)
        protocol = pf.optimise(joint, pf.robust(pf.LIP(0.8), 0.9), time_limit=3)
        broken += protocol.notion.promise.level(pf.Joint(p, attributes=NAMES), protocol) > 0.8 + 1e-9
    assert broken <= 1
