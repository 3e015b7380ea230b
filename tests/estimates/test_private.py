"""Estimates from private fits: the intervals know of the noise, and of combinations that are read as others."""

import math

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidTable
from privacyfunnel.estimates.corrected import CorrectingMeter
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Presentation, Reader, frequencies
from privacyfunnel.estimates.noisy_counts import NoisyCounts, reach, read_otherwise
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.summaries import summary
from privacyfunnel.estimates.which_rows import fits, way_of
from privacyfunnel.tables.private_counts import private
from privacyfunnel.tables.reading_back import Tally

NOISE = 4.5
"""Standard errors: a fair comparison exceeds this less than once in 100,000 times."""
SLIGHTLY = 0.01
"""Errors also depend on the shares themselves, which differ a little."""
LEAST = 0.94
"""How often intervals of 95% hold at least."""
NAMES = ["town", "sex", "age"]
P = np.random.default_rng(5).dirichlet(np.full(2 * 8 * 2 * 4, 0.3)).reshape(2, 8, 2, 4)
"""P(secret, town, sex, age): a population in which many combinations are rare."""
QUESTIONS = [(["town"], {}), (["sex"], {}), (["town", "age"], {}), (NAMES, {}), (["town"], {"sex": 1})]


def fitted(joint, epsilon=1.0, at_least=10, objective="faithful", delta=None):
    return pf.optimise(private(joint, epsilon, at_least=at_least, delta=delta), pf.LIP(0.5), objective=objective)


def sample(rng, n, p=P):
    return pf.Joint(rng.multinomial(n, p.ravel()).reshape(p.shape), attributes=NAMES)


def released(protocol, joint, rng):
    """The tally of a release of a table."""
    block, rows = protocol.block, joint.weights.sum(axis=0)
    columns = block.channel.dense()[:, block.inputs_of(joint)].T
    counts = sum(rng.multinomial(n, q) for n, q in zip(rows, columns, strict=True))
    return Tally(np.flatnonzero(counts), counts[counts > 0])


def corrected(protocol, tally):
    noisy = NoisyCounts.of(protocol)
    return CorrectingMeter(tally, Scorer(protocol.block), noisy), Asker(protocol, noisy.codes)


def plain(protocol, tally):
    return CountingMeter(tally, Scorer(protocol.block), protocol.people), Asker(protocol)


def true_share(names, values, where):
    """The share in the population, also among those with some values."""
    at = np.indices(P.shape[1:])
    inside, whole = np.ones(P.shape[1:], bool), np.ones(P.shape[1:], bool)
    for axis, name in enumerate(NAMES):
        if name in names:
            inside &= at[axis] == values[names.index(name)]
        if name in where:
            whole &= at[axis] == where[name]
    p = P.sum(axis=0)
    return p[inside & whole].sum() / p[whole].sum()


def answers(meter, asker, names, where):
    fixed = {name: [asker.code(name, value)] for name, value in where.items()}
    try:
        return frequencies(Reader(meter, asker, fixed, Presentation()), names).estimates
    except InvalidTable:  # too small a group: as good as all of [0, 1]
        return ()


def coverage(n, epsilon, tables, delta=None):
    """How often intervals of each question hold, corrected and not; and those of means."""
    rng = np.random.default_rng(n)
    held = {(i, way): [] for i in range(len(QUESTIONS)) for way in (corrected, plain)}
    means, drowned = [], 0
    for _ in range(tables):
        joint = sample(rng, n)
        try:
            protocol = fitted(joint, epsilon, delta=delta)
        except InvalidJoint:  # the noise drowns the secret of so few people, and the fit says so
            drowned += 1
            continue
        tally = released(protocol, joint, rng)
        for (i, way), found in held.items():
            names, where = QUESTIONS[i]
            estimates = answers(*way(protocol, tally), names, where)
            if estimates:
                true = [true_share(names, e.values[0], where) for e in estimates]
                found.append(np.mean([e.low <= x <= e.high for e, x in zip(estimates, true, strict=True)]))
        mean = summary(Reader(*corrected(protocol, tally), {}, Presentation()), "age")
        means.append(mean.low <= P.sum(axis=(0, 1, 2)) @ np.arange(4) <= mean.high)
    assert drowned <= tables / 10
    return [(np.array(held[i, corrected]), np.array(held[i, plain])) for i in range(len(QUESTIONS))], np.mean(means)


def holds(found):
    """Whether intervals hold often enough, as far as chance lets it show: errors of one table depend on each other."""
    return found.mean() >= LEAST - NOISE * max(found.std(ddof=1), 0.01) / math.sqrt(len(found))


@pytest.mark.long
@pytest.mark.parametrize("n", [300, 3_000])
def test_intervals_of_private_releases_hold_where_counting_alone_misleads(n):
    found, means = coverage(n, 1.0, 40)
    for ours, _ in found:
        assert holds(ours)
    assert np.concatenate([ours for ours, _ in found]).mean() >= LEAST - 0.015
    assert np.concatenate([counted for _, counted in found]).mean() < LEAST
    assert means >= 0.8


@pytest.mark.long
@pytest.mark.parametrize(("n", "epsilon"), [(300, 1.0), (1_500, 0.3), (3_000, 1.0), (30_000, 0.3), (30_000, 1.0)])
def test_intervals_of_private_releases_hold_with_few_and_many_people_and_much_noise(n, epsilon):
    """Not with 300 people and ε₀ = 0.3: their secret drowns in the noise four times of five, and the fit is refused."""
    found, means = coverage(n, epsilon, 150)
    for ours, _ in found:
        assert holds(ours)
    assert np.concatenate([ours for ours, _ in found]).mean() >= LEAST
    assert means >= LEAST - NOISE * math.sqrt(LEAST * (1 - LEAST) / 150)


def test_intervals_hold_where_only_large_counts_are_told():
    """What people have whose combinations are not told is left open."""
    found, _ = coverage(3_000, 1.0, 15, delta=1e-6)
    for ours, _ in found:
        assert holds(ours)


def test_released_rows_and_noisy_counts_together_tell_more_than_either():
    rng = np.random.default_rng(2)
    joint = sample(rng, 3_000)
    protocol = fitted(joint)
    tally = released(protocol, joint, rng)
    for names, _ in QUESTIONS[:4]:
        errors = {}
        for weight in (None, 0.0, 1.0):
            meter, asker = corrected(protocol, tally)
            if weight is not None:
                meter._weight = lambda noisy, w, *_, weight=weight: np.full(len(w), weight)
            errors[weight] = np.array([e.error for e in answers(meter, asker, names, {})])
        assert errors[None].sum() <= min(errors[0.0].sum(), errors[1.0].sum()) * (1 + SLIGHTLY)


def test_a_value_that_was_merged_away_is_told_with_its_noise():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"town": ["A"] * 400 + ["B"] * 596 + ["C"] * 4, "ill": rng.integers(0, 2, 1_000)})
    joint = pf.Joint.from_table(table, "ill", ["town"], private=1.0, at_least=30)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    open_table = protocol.sanitise(table[["town"]], seed=1)
    assert set(open_table.town) == {"A", "B"}
    found = pf.estimate(open_table, protocol, rows="fitted")
    assert found.way == "counted"
    assert "noisy counts" in found.why
    shares = {e.values[0][0]: e for e in found.table("town").estimates}
    assert list(shares) == ["A", "B", "C"]
    assert shares["C"].counted == 0
    assert shares["C"].share == pytest.approx(0.004, abs=0.06)
    assert shares["C"].low <= 0.004 + 0.03
    assert 0 < shares["C"].high < 0.1
    assert sum(e.share for e in shares.values()) == pytest.approx(1, abs=0.05)  # each is told in its own best way
    moved = pf.estimate(open_table, protocol, rows="fitted", project=True).table("town")
    assert all(0 <= e.share <= 1 for e in moved.estimates)


def test_the_file_of_a_private_fit_tells_all_that_estimates_need(tmp_path):
    rng = np.random.default_rng(11)
    joint = sample(rng, 10_000)
    cells = np.repeat(np.arange(joint.n_x), joint.weights.sum(axis=0))
    table = pd.DataFrame(joint.codes[cells], columns=NAMES)
    protocol = fitted(joint)
    protocol.save(tmp_path / "protocol.json")
    open_table = protocol.sanitise(table, seed=1)
    here, there = (pf.estimate(open_table, p) for p in (protocol, pf.Protocol.load(tmp_path / "protocol.json")))
    assert here == there
    assert here.way == "counted"


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_rows_of_a_private_fit_are_recognised_and_others_are_not(epsilon):
    rng = np.random.default_rng(4)
    other = P.copy()
    other[:, 0] *= 3
    for _ in range(10):
        joint = sample(rng, 10_000)
        protocol = fitted(joint, epsilon)
        noisy, block = NoisyCounts.of(protocol), protocol.block
        for rows, same in ((joint, True), (sample(rng, 10_000, other / other.sum()), False)):
            tally = released(protocol, rows, rng)
            counts = np.bincount(tally.outputs, tally.counts, len(block.codes)).astype(np.int64)
            assert fits(block, counts, 10_000, noisy) == same
    assert way_of(protocol, released(protocol, joint, rng), None)[0] == "counted"


def test_shares_that_are_worked_back_say_how_many_people_are_read_as_others():
    rng = np.random.default_rng(6)
    joint = sample(rng, 2_000)
    protocol = fitted(joint, objective="information")
    way, why = way_of(protocol, released(protocol, joint, rng), None)
    assert way == "channel"
    assert f"about {read_otherwise(protocol):,} of the 2,000 people that it was fitted on" in why
    kept = set(map(tuple, protocol.block.codes.tolist()))
    rare = sum(n for code, n in zip(map(tuple, joint.codes.tolist()), joint.weights.sum(axis=0), strict=True)
               if code not in kept)  # fmt: skip
    assert abs(read_otherwise(protocol) - rare) < 100
    exact = pf.optimise(joint, pf.LIP(0.5))
    assert "read as" not in way_of(exact, released(exact, joint, rng), None)[1]


@pytest.mark.parametrize("cells", [1, 2, 10])
def test_noise_exceeds_its_reach_no_more_often_than_said(cells):
    rng = np.random.default_rng(cells)
    z = rng.laplace(size=(200_000, cells)).sum(axis=1)
    for tail in (0.025, 0.001):
        exceeds = np.mean(z > reach(math.sqrt(2 * cells), 3 / cells, tail))
        assert exceeds <= tail + NOISE * math.sqrt(tail / len(z))
        assert exceeds >= 0.4 * tail


def test_a_question_about_too_many_combinations_is_refused(monkeypatch):
    rng = np.random.default_rng(8)
    joint = sample(rng, 3_000)
    protocol = fitted(joint)
    monkeypatch.setattr("privacyfunnel.estimates.measuring.MOST_NUMBERS", 1_000)
    meter, asker = corrected(protocol, released(protocol, joint, rng))
    with pytest.raises(InvalidInput, match="too large"):
        frequencies(Reader(meter, asker, {}, Presentation()), NAMES)


def test_of_a_large_domain_only_inputs_are_listed_and_the_rest_is_left_open(monkeypatch):
    rng = np.random.default_rng(9)
    joint = sample(rng, 3_000)
    protocol = fitted(joint)
    tally = released(protocol, joint, rng)
    narrow = [e.high - e.low for e in answers(*corrected(protocol, tally), ["town"], {})]
    monkeypatch.setattr("privacyfunnel.estimates.noisy_counts.MOST_LISTED", 10)
    noisy = NoisyCounts.of(protocol)
    assert len(noisy.codes) == len(protocol.block.codes)
    assert not noisy.whole
    wide = [e.high - e.low for e in answers(*corrected(protocol, tally), ["town"], {})]
    assert np.mean(wide) > np.mean(narrow)
