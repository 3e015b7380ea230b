"""Confidence sets hold the truth as often as they say, and not by holding everything."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom, binomtest
from tests.strategies import arrays

import privacyfunnel as pf
from privacyfunnel.optimiser.robust.region import Leeway
from privacyfunnel.promises.confidence import confidence_set
from privacyfunnel.promises.confidence_bounds import _ln_choices, clopper_pearson, missing_mass
from privacyfunnel.promises.sets import NOBODY, SCALE, Shares

ALARM = 1e-6
"""A simulation fails by chance this often."""


def holds(truth, part):
    """Whether the distribution truth[s, x] on the seen values, given each cell, is in the set."""
    for cell, members in enumerate(part.members):
        p = truth[:, members[members != NOBODY]]
        for s in np.flatnonzero(p.sum(axis=1) > 0):
            if not _within(p[s] / p[s].sum(), part.given, (cell, s)):
                return False
        if not _within(p.sum(axis=1) / p.sum(), part.prior, (cell,)):
            return False
    return True


def _within(r, shares, place):
    lower, upper = (end[place][: len(r)] / SCALE for end in (shares.lower, shares.upper))
    return ((lower <= r) & (r <= upper)).all()


@given(st.integers(1, 200), st.data(), st.sampled_from([0.025, 1e-3, 1e-7]))
def test_an_interval_ends_where_the_count_would_be_a_surprise(n, data, tail):
    k = data.draw(st.integers(0, n))
    lower, upper = (float(end) for end in clopper_pearson(np.array(float(k)), np.array(float(n)), tail))
    assert binom.sf(k - 1, n, lower) <= tail * (1 + 1e-6) if k else lower == 0
    assert binom.cdf(k, n, upper) <= tail * (1 + 1e-6) if k < n else upper == 1
    if k:
        assert binom.sf(k - 1, n, lower * 1.001) > tail
    if k < n:
        assert binom.cdf(k, n, upper - 2e-9 - 0.001 * (1 - upper) * upper) > tail


@pytest.mark.parametrize("tail", [1e-20, 1e-60, 1e-117, 1e-200, 1e-300])
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_an_interval_exists_however_small_its_tail(n, tail):
    """In fractions, as float64 has no such tails; below 1e-117 no set asks for one, and being a number is enough."""
    for k in range(n + 1):
        ends = clopper_pearson(np.array(float(k)), np.array(float(n)), tail)
        lower, upper = (Fraction(float(end)) for end in ends)
        assert 0 <= lower <= Fraction(k, n) <= upper <= 1
        if tail >= 1e-117:
            assert not k or _chance(lower, n, range(k, n + 1)) <= tail
            assert upper == 1 or _chance(upper, n, range(k + 1)) <= tail


def _chance(p, n, counts):
    """That so many of n have what a share p has."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in counts)


def test_more_intervals_than_tails_can_be_computed_for_are_refused():
    rng = np.random.default_rng(0)
    joint = pf.Joint.from_support([[2] * 60, [3] * 60], rng.integers(0, 12, (60, 200)))
    with pytest.raises(pf.PrivacyFunnelError, match="fewer attributes"):
        pf.robust(pf.LIP(0.5), 0.95, "intervals").possible(joint)


@given(
    arrays(min_s=2).filter(lambda a: a.dtype.kind == "i"),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_the_counts_themselves_are_in_their_set(array, confidence):
    joint = pf.Joint(array)
    for part in confidence_set(joint, pf.LIP(1.0).views(joint), confidence):
        assert holds(joint.weights.astype(float), part)
        for shares in (part.given, part.prior):
            # so that every set has distributions in it, exactly
            assert (shares.centre.sum(axis=-1) == SCALE).all()
            assert (shares.lower <= shares.centre).all()
            assert (shares.centre <= shares.upper).all()


def test_a_value_never_seen_with_a_secret_may_still_occur_with_it():
    joint = pf.Joint([[50, 0], [50, 50]])
    (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    assert part.given.lower[0, 0, 1] == 0
    assert 0.05 < part.given.upper[0, 0, 1] / SCALE < 0.3


def test_more_people_and_less_confidence_make_smaller_sets():
    counts = np.array([[30, 20, 10], [5, 10, 25]])

    def width(k, confidence):
        joint = pf.Joint(k * counts)
        (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), confidence)
        return sum(float(((one.upper - one.lower) / SCALE).sum()) for one in (part.given, part.prior))

    assert width(1, 0.95) > width(10, 0.95) > width(1000, 0.95)
    assert width(1, 0.5) < width(1, 0.95) < width(1, 0.999)
    assert width(10**8, 0.95) < 1e-3


TRUTH = np.array([[0.25, 0.12, 0.03, 0.10, 0.02], [0.05, 0.13, 0.20, 0.07, 0.03]])
RARE = np.outer([0.3, 0.7], 1 / np.arange(1, 41) ** 1.5)
"""Forty values, most of which few samples show."""


def covered(truth, n, confidence, times, promise):
    """How often the set of n people drawn from truth[s, …] holds the truth."""
    rng = np.random.default_rng(5)
    truth = truth / truth.sum()
    hits = 0
    for _ in range(times):
        counts = rng.multinomial(n, truth.ravel()).reshape(truth.shape)
        flat = counts.reshape(len(truth), -1)
        if (flat.sum(axis=1) == 0).any():
            hits += 1  # such a sample is refused
            continue
        parts = pf.robust(promise, confidence, "intervals").possible(pf.Joint(counts))
        hits += all(holds(truth.reshape(len(truth), -1)[:, flat.any(axis=0)], part) for part in parts)
    return hits


@pytest.mark.parametrize("n", [12, 60, 2000])
@pytest.mark.parametrize(
    ("truth", "promise"),
    [(TRUTH, pf.LIP(1.0)), (TRUTH.ravel()[:8].reshape(2, 2, 2), pf.SRLIP(1.0)), (RARE, pf.LIP(1.0))],
    ids=["common", "cells", "rare"],
)
def test_the_set_holds_the_truth_at_least_as_often_as_it_says(n, truth, promise):
    hits = covered(truth, n, 0.8, 300, promise)
    assert binomtest(hits, 300, 0.8, alternative="less").pvalue > ALARM


def test_a_set_of_little_confidence_misses_the_truth():
    hits = covered(TRUTH, 2000, 0.01, 300, pf.LIP(1.0))
    assert binomtest(hits, 300, 0.8, alternative="less").pvalue < ALARM


def test_what_was_not_seen_is_bounded_as_often_as_it_says():
    rng = np.random.default_rng(3)
    shares = np.array([0.3, 0.3, 0.2, *[0.02] * 10])
    for n in (10, 40, 200):
        over = 0
        for _ in range(300):
            counts = rng.multinomial(n, shares)
            bound = missing_mass(13.0, np.array([(counts > 0).sum()]), np.array([float(n)]), 0.2)[0]
            over += shares[counts == 0].sum() > bound
        assert binomtest(over, 300, 0.2, alternative="greater").pvalue > ALARM
    assert missing_mass(13.0, np.array([13]), np.array([40.0]), 0.05)[0] == 0
    assert missing_mass(13.0, np.array([1]), np.array([0.0]), 0.05)[0] == 1
    assert missing_mass(13.0, np.array([12]), np.array([1e6]), 0.05)[0] < 1e-4


@given(st.integers(1, 400), st.data())
def test_sets_of_values_are_never_counted_too_low_and_hardly_too_high(possible, data):
    t = data.draw(st.integers(1, possible))
    exact = math.log(math.comb(possible, t))
    counted = float(_ln_choices(float(possible), np.array(float(t))))
    assert exact - 1e-9 <= counted <= exact + 0.5 * math.log(8 * possible)


def test_probabilities_have_no_confidence_set():
    joint = pf.Joint([[0.25, 0.25], [0.1, 0.4]])
    with pytest.raises(pf.PrivacyFunnelError, match="counts of people"):
        confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    with pytest.raises(pf.PrivacyFunnelError, match="counts of people"):
        pf.optimise(joint, pf.robust(pf.LIP(0.5)))


def test_more_combinations_than_a_float_can_count_are_refused():
    rng = np.random.default_rng(0)
    codes = np.array([[k] * 120 for k in range(1_000)])
    joint = pf.Joint.from_support(rng.integers(1, 9, (2, 1_000)), codes)
    with pytest.raises(pf.PrivacyFunnelError, match="fewer attributes"):
        pf.robust(pf.LIP(1.0), 0.95, "intervals").possible(joint)


def test_ends_are_rounded_outwards():
    joint = pf.Joint([[3, 7], [6, 2]])
    (part,) = confidence_set(joint, pf.LIP(1.0).views(joint), 0.95)
    tail = 0.05 / (2 * 2 * 2 + 3 * 2 + 1)
    exact = clopper_pearson(np.array([3.0]), np.array([10.0]), tail)
    assert Fraction(int(part.given.lower[0, 0, 0]), SCALE) <= Fraction(float(exact[0][0]))
    assert Fraction(int(part.given.upper[0, 0, 0]), SCALE) >= Fraction(float(exact[1][0]))


# --- the member of a set that leans furthest ----------------------------------------------------------


@st.composite
def sets_of_shares(draw, largest=40):
    """Lower and upper ends, and a centre between them that sums to `largest`; with many ties."""
    n = draw(st.integers(2, 6))
    cuts = sorted(draw(st.lists(st.integers(0, largest), min_size=n - 1, max_size=n - 1)))
    centre = np.diff([0, *cuts, largest])
    lower = np.array([draw(st.integers(0, int(c))) for c in centre])
    upper = np.array([draw(st.integers(int(c), largest)) for c in centre])
    unit = SCALE // largest
    centre, lower, upper = (np.asarray(part, dtype=np.int64) * unit for part in (centre, lower, upper))
    centre[centre.argmax()] += SCALE - centre.sum()
    return Shares(lower, np.maximum(upper, centre), centre)


def by_linear_program(shares, w):
    """The largest Σ r·w, with r = centre + a − b."""
    centre, n = shares.centre / SCALE, len(w)
    answer = linprog(
        -np.concatenate([w, -w]),
        A_eq=[[*np.ones(n), *-np.ones(n)]],
        b_eq=[0.0],
        bounds=[(0, most) for most in [*(shares.upper / SCALE - centre), *(centre - shares.lower / SCALE)]],
    )
    assert answer.status == 0, answer.message
    return float(centre @ w) - answer.fun


@given(sets_of_shares(), st.data())
def test_the_member_that_leans_furthest_is_that_of_a_linear_program(shares, data):
    n = len(shares.centre)
    w = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=np.float64)
    best = by_linear_program(shares, w)
    falling = np.argsort(-w, kind="stable").tolist()
    r = shares.leaning((), falling)
    assert sum(r) == SCALE
    assert _within(np.array(r) / SCALE, shares, ())
    assert float(np.array(r) / SCALE @ w) == pytest.approx(best, abs=1e-9)
    for sign, extreme in ((1, best), (-1, -by_linear_program(shares, -w))):
        found = Leeway(shares).extreme(w, sign)
        assert float(found.value) == pytest.approx(extreme, abs=1e-9)
        assert float(found.at @ w) == pytest.approx(extreme, abs=1e-9)
        assert found.at.sum() == pytest.approx(1.0)


@given(sets_of_shares(), st.integers(0, 2**32 - 1))
def test_no_member_of_a_set_leans_further_than_the_one_found(shares, seed):
    rng = np.random.default_rng(seed)
    w, n = rng.random(len(shares.centre)), len(shares.centre)
    most, least = Leeway(shares).extreme(w, 1).value, Leeway(shares).extreme(w, -1).value
    # members: from the centre, mass goes from one place to another as often as the set allows
    r = shares.centre / SCALE
    for _ in range(20):
        i, j = rng.integers(n, size=2)
        step = rng.random() * min(shares.upper[i] / SCALE - r[i], r[j] - shares.lower[j] / SCALE)
        if i != j and step > 0:
            r[i] += step
            r[j] -= step
        assert least - 1e-12 <= r @ w <= most + 1e-12


def test_the_set_misses_the_truth_where_values_were_chosen_from_the_same_people():
    """So a promise must not speak of its confidence without saying so: the commonest 99 of 3,000 are so by luck."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    population = (1 + np.arange(3_000)) ** -0.3
    population /= population.sum()
    missed = 0
    for _ in range(5):
        x = np.char.add("v", rng.choice(3_000, 3_000, p=population).astype(str))
        joint = pf.Joint.from_table(pa.table({"s": rng.integers(0, 2, 3_000).astype(str), "x": x}), "s", ["x"])
        truth = np.array([population[int(v[1:])] if v != "other" else 0 for v in joint.values[:, 0]])
        truth[truth == 0] = 1 - truth.sum()
        part = pf.robust(pf.LIP(0.5)).possible(joint)[0]
        lower, upper = (ends[0] / 2**60 for ends in (part.given.lower, part.given.upper))
        missed += not ((lower <= truth[part.members[0]]) & (truth[part.members[0]] <= upper)).all()
        assert joint.chosen == ("x",)
    assert missed == 5
    assert "which this confidence does not account for" in pf.robust(pf.LIP(0.5)).made_for(joint).words()
