"""What is said of everything published, against the attackers whom it is said of, and those whom it is not."""

import math

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.noise import Noise, noisy_joint
from privacyfunnel.protocols.everything import Everything, everything

EPSILON, EPSILON_0, PEOPLE, VALUES = 0.2, 1.0, 400, 30
ROUNDED = 1e-9


def table(rng):
    """People by secret and by one of 30 values, some of which tell much."""
    shares, ill = rng.dirichlet(np.ones(VALUES)), np.clip(rng.normal(0.3, 0.2, VALUES), 0.02, 0.98)
    return rng.multinomial(PEOPLE, np.concatenate([shares * (1 - ill), shares * ill])).reshape(2, VALUES)


def fitted(counts, rng):
    """The counts with noise, and the protocol that follows from these."""
    going_on = 1 - math.exp(-EPSILON_0 / 2)
    noisy = counts + rng.geometric(going_on, counts.shape) - rng.geometric(going_on, counts.shape)
    column = Column(name="x", kind="text", labels=tuple(f"v{i:02}" for i in range(VALUES)))
    joint = noisy_joint(Noise(EPSILON_0, PEOPLE, ("x",), noisy, declared=True), (column,), "s")
    return noisy, joint, pf.optimise(joint, pf.LIP(EPSILON), objective="faithful")


def lifts(prior, like, channel):
    """P(s | file, row) / P(s), for somebody with this prior[s, x]; like[s, x] is the likelihood of the file."""
    given = np.array([channel @ (row * own) / row.sum() for row, own in zip(prior, like, strict=True)])
    return given / (prior.sum(axis=1) @ given)


def beyond(expect, seed):
    """The share of rows by which somebody who knows all others, and expects what `expect` says, moves beyond e^(ε+ε₀),
    and the furthest that they move, in nats."""
    rng = np.random.default_rng(seed)
    counts = table(rng)
    noisy, joint, protocol = fitted(counts, rng)
    block = protocol.block
    number = {int(code): i for i, code in enumerate(block.codes[:, 0])}
    nearest = block.read(np.arange(VALUES)[:, None])
    read = [number.get(x, int(nearest[x])) for x in range(VALUES)]
    published = np.zeros((2, VALUES))
    published[:, joint.codes[:, 0]] = joint.weights / joint.weights.sum()
    channel, share, most = protocol.channel[:, read], 0.0, 0.0
    for s, x in zip(*np.nonzero(counts), strict=True):
        others = counts.copy()
        others[s, x] -= 1
        like = np.exp((np.abs(noisy - others) - np.abs(noisy - others - 1)) * EPSILON_0 / 2)
        seen = channel[:, x] > 0
        with np.errstate(divide="ignore", invalid="ignore"):  # 0/0: a row that they held impossible
            moved = np.nan_to_num(np.abs(np.log(lifts(expect(published, others), like, channel[seen]))), posinf=np.inf)
        moved = moved.max(axis=0)
        share += counts[s, x] * channel[seen, x][moved > EPSILON + EPSILON_0 + ROUNDED].sum() / PEOPLE
        most = max(most, float(moved.max()))
    return share, most


@pytest.mark.parametrize("seed", range(3))
def test_who_expects_what_the_published_counts_say_moves_by_no_more_than_is_said(seed):
    share, most = beyond(lambda published, others: published, seed)
    assert share == 0
    assert most > EPSILON  # the file tells something, too


def test_who_expects_a_person_to_be_like_all_others_moves_further_and_is_named_as_not_covered():
    found = [beyond(lambda published, others: others / others.sum(), seed)[0] for seed in range(6)]
    assert all(share > 0.005 for share in found)
    assert 0.02 < np.mean(found) < 0.1
    told = Everything(EPSILON, EPSILON_0, 0.0, True, True, False).words()
    assert "somebody who knows everybody else's record, and expects this person to be like them, may learn more" in told
    assert "nobody" not in told


def test_the_same_holds_of_the_words_of_a_fitted_protocol():
    rng = np.random.default_rng(0)
    told = everything(fitted(table(rng), rng)[2])
    assert "about this person only what the published statistics say about everyone" in told.words()
    assert "factor 3.33 (e^(ε+ε₀), ε₀ = 1)" in told.words()  # rounded up
    assert "anyone who knows only the published statistics" in told.whom()


@pytest.mark.parametrize("limits", [(), ("×1.5 of a", "×2 of b")])
def test_a_chance_of_failing_is_said_with_what_may_fail(limits):
    told = Everything(EPSILON, EPSILON_0, 1e-9, True, True, False, limits=limits)
    assert "Both may fail with a chance of 1e-09 (δ₀)" in told.words()
    assert "Both may fail" not in Everything(EPSILON, EPSILON_0, 0.0, True, True, False, limits=limits).words()
    assert ",." not in told.words()


def test_values_of_the_secret_that_are_not_covered_are_counted_where_it_is_said():
    told = Everything(EPSILON, EPSILON_0, 0.0, True, True, False, faint=2, secrets=11)
    assert "It does not cover 2 of the 11 values of the secret, which are too rare to show through" in told.whom()
    assert "see below" not in told.whom()
    assert "one of the 11 values of the secret, which is too rare" in (
        Everything(EPSILON, EPSILON_0, 0.0, True, True, False, faint=1, secrets=11).whom()
    )
