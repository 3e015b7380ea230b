"""Learn, then test: what is released keeps the promise for the population as often as it says."""

import numpy as np
import pytest
from scipy.stats import binomtest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidJoint, InvalidPromise
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.robust import annealed_outputs, learn_and_test
from privacyfunnel.optimiser.robust.annealed_outputs import Window, candidate
from privacyfunnel.optimiser.robust.smoothed_counts import smoothed
from privacyfunnel.promises.limits import Limits

ALARM = 1e-6
"""A simulation fails by chance this often."""
DOUBT = 0.05
SHAPE = (3, 4, 5)


def truth(rare=False):
    """P(s, x1, x2, x3): columns that depend on each other, some combinations rare or impossible, some telling."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(60, 0.3 if rare else 2.0)).reshape(SHAPE)
    p = p * (1 + 3 * (np.arange(4)[:, None] == np.arange(5)))
    p[0, 0] = 0.0
    leaning = rng.beta(1, 2, SHAPE) if rare else rng.beta(2, 4, SHAPE)
    p = np.stack([p * (1 - leaning), p * leaning])
    return p / p.sum()


def sampled(p, n, rng):
    while True:
        found = rng.multinomial(n, p.ravel()).reshape(p.shape)
        if found.reshape(2, -1).any(axis=1).all():
            return pf.Joint(found)


def broken(protocol, p, notion):
    """Whether the promise is broken for the population, on all combinations of values."""
    population = pf.Joint(np.maximum(p, 1e-15))
    return notion.level(population, protocol) > notion.epsilon * (1 + 1e-9)


LARGE = [(300, 200), (3_000, 100), (30_000, 40)]


@pytest.mark.long
@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("notion", [pf.LIP(0.4), pf.LDP(0.6)])
@pytest.mark.parametrize(
    ("n", "samples"),
    [(40, 30), (300, 10), *[pytest.param(*case, marks=pytest.mark.long) for case in [(40, 300), *LARGE]]],
)
def test_the_promise_is_broken_at_most_as_often_as_stated(rare, notion, n, samples, monkeypatch):
    monkeypatch.setattr(annealed_outputs, "STEPS", 30_000)
    p, rng = truth(rare), np.random.default_rng(n)
    over = pf.robust(notion, within="tested")
    often = sum(broken(pf.optimise(sampled(p, n, rng), over), p, notion) for _ in range(samples))
    assert binomtest(often, samples, DOUBT, alternative="greater").pvalue > ALARM


@pytest.mark.parametrize(
    ("n", "samples"), [(300, 40), *[pytest.param(*case, marks=pytest.mark.long) for case in LARGE]]
)
def test_reckless_candidates_are_caught(n, samples, monkeypatch):
    """Margins so small that candidates mostly break the promise: then it is the test alone that keeps it."""
    monkeypatch.setattr(annealed_outputs, "STEPS", 30_000)
    monkeypatch.setattr(learn_and_test, "MARGINS", (0.3,))
    p, rng, notion = truth(), np.random.default_rng(n), pf.LIP(0.4)
    tried, passing = [], learn_and_test.passes
    monkeypatch.setattr(
        learn_and_test, "passes", lambda entries, *more: tried.append(entries) or passing(entries, *more)
    )
    often = bad = 0
    for _ in range(samples):
        protocol = pf.optimise(sampled(p, n, rng), pf.robust(notion, within="tested"))
        often += broken(protocol, p, notion)
        Q = np.zeros((tried[-1].outputs.max() + 1, 60))
        Q[tried[-1].outputs, tried[-1].inputs] = tried[-1].numerators / 2**32
        bad += notion.level(pf.Joint(np.maximum(p, 1e-15)), Q) > notion.epsilon
    assert bad > samples / 2
    assert binomtest(often, samples, DOUBT, alternative="greater").pvalue > ALARM


def test_it_keeps_something_and_the_same_every_time():
    joint = sampled(truth(), 30_000, np.random.default_rng(1))
    one, other = (pf.optimise(joint, pf.robust(pf.LIP(0.4), within="tested")) for _ in range(2))
    assert one.utility > 1.5
    assert (one.channel == other.channel).all()
    assert one.upper_bound >= joint.entropy
    assert one.draw is None
    assert "tested on" in one.how
    assert "no upper bound but H(X) is known" in one.how


def test_no_time_and_few_people_release_nothing():
    notion = pf.robust(pf.LIP(0.4), within="tested")
    joint = sampled(truth(), 30_000, np.random.default_rng(1))
    started = ticks()
    assert pf.optimise(joint, notion, time_limit=0).channel.shape == (1, 60)
    assert ticks() - started < 5
    few = pf.optimise(pf.Joint([[1, 0], [0, 1]]), notion)
    assert few.channel.shape == (1, 2)
    assert pf.certify(few, pf.Joint([[1, 0], [0, 1]])).holds


def test_progress_is_told():
    joint = sampled(truth(), 3_000, np.random.default_rng(1))
    told = []
    pf.optimise(joint, pf.robust(pf.LIP(0.6), within="tested"), progress=told.append)
    assert told
    assert 0 < told[0].utility <= told[-1].utility


def test_what_a_test_is_not_for_is_refused_in_a_line():
    joint = pf.Joint(np.random.default_rng(0).integers(1, 50, (2, 3, 4)))
    three = pf.Joint(np.random.default_rng(0).integers(1, 50, (3, 3, 4)))
    over = pf.robust(pf.LIP(0.5), within="tested")
    with pytest.raises(InvalidPromise, match="two values, and this one has 3"):
        pf.optimise(three, over)
    with pytest.raises(InvalidPromise, match="know nothing beforehand"):
        pf.optimise(joint, pf.robust(pf.SRLIP(0.5), within="tested"))
    with pytest.raises(InvalidPromise, match="objective 'information'"):
        pf.optimise(joint, over, objective="faithful")
    with pytest.raises(InvalidJoint, match="needs counts of people"):
        pf.optimise(pf.Joint(joint.p), over)
    many = pf.Joint.from_support([[1] * 200, [2] * 200], np.random.default_rng(0).integers(0, 100, (200, 3)))
    with pytest.raises(InvalidPromise, match="too many for a test"):
        pf.optimise(many, over)


@pytest.mark.parametrize("limits", [Limits(0.4, 0.4), Limits(spread=0.6), Limits(upper=0.3), Limits(0.2, 0.9)])
def test_a_window_is_what_the_promise_allows(limits):
    window = Window.of(limits, 0.3)
    assert (window.low, window.high) == pytest.approx(limits.belief_range(0.3), abs=1e-9)


def test_candidates_keep_their_margin_and_become_finer():
    p = truth().reshape(2, -1) * 0.999 + 0.001 / 120
    window, kept = Window.of(Limits(0.4, 0.4), p[1].sum()), []
    for margin in (8.0, 4.0):
        Q = candidate(p, 10_000.0, window, margin, seed=1)
        assert (Q.sum(axis=0) == 1).all()
        people = Q @ p.T * 10_000
        assert (window.margin(people.sum(axis=1), people[:, 1], 10_000.0) >= margin * (1 - 1e-6)).all()
        kept.append(len(Q))
    assert 1 < kept[0] < kept[1]


def test_smoothed_counts_know_of_combinations_that_nobody_has():
    n = np.random.default_rng(0).multinomial(200, truth().ravel()).reshape(2, -1)
    p = smoothed(n, list(SHAPE), np.random.default_rng(0))
    assert p.sum() == pytest.approx(1)
    assert p.min() > 0
    many = np.round(truth() * 10**8).astype(int).reshape(2, -1)
    assert smoothed(many, list(SHAPE), np.random.default_rng(0)) == pytest.approx(truth().reshape(2, -1), abs=1e-3)
    assert smoothed(np.array([[1, 0], [0, 0]]), [2], np.random.default_rng(0)).min() > 0
