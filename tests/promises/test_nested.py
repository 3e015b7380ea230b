"""Nested confidence sets: what is in them, which statements they make, and how they are named and saved."""

import json
import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

import privacyfunnel as pf
from privacyfunnel.promises.marginal_tables import marginal_tables, tables_given
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.robust import MOST_COMBINATIONS
from privacyfunnel.promises.sets import NOBODY, SCALE

ALARM = 1e-6
SHAPES = [(2, 2), (2, 3), (1, 3), (2, 2, 2), (3, 2, 2)]
PROMISES = [pf.LIP(0.5), pf.LDP(0.5), pf.SRLIP(0.5), pf.SRLIP(0.5, known=1)]


@st.composite
def tables(draw):
    """Counts in which every secret occurs, and combinations may not."""
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_s, n = draw(st.integers(2, 3)), draw(st.sampled_from([5, 60, 4_000, 10**9]))
    array = rng.multinomial(n, rng.dirichlet(np.full(n_s * math.prod(shape), 0.3))).reshape(n_s, *shape)
    array[(slice(None), *[0] * len(shape))] += 1
    return array


def nested(array, promise=PROMISES[0], confidence=0.95, chains=()):
    joint = pf.Joint(array).completed
    return joint, pf.robust(promise, confidence, "nested", chains).possible(joint)


def shares_by_hand(array, part, place, over):
    """Counts given s in the cells of the table `over` of one cell of a view; and how many people there are."""
    joint = pf.Joint(array).completed
    own = joint.codes[part.members[place]]
    known = own[0, list(part.view.known)]
    inside = array[(slice(None), *(known[part.view.known.index(j)] if j in part.view.known else slice(None)
                                   for j in range(array.ndim - 1)))]  # fmt: skip
    left = [j for j in range(array.ndim - 1) if j not in part.view.known]
    away = tuple(1 + left.index(j) for j in left if j not in over)
    return inside.sum(axis=away).reshape(len(array), -1), inside.reshape(len(array), -1).sum(axis=1)


@given(tables(), st.sampled_from(PROMISES), st.sampled_from([0.5, 0.95, 0.999999]))
def test_every_interval_of_every_table_holds_the_share_that_was_counted(array, promise, confidence):
    joint, parts = nested(array, promise, confidence)
    for part in parts:
        assert (part.members != NOBODY).all()
        for place in range(len(part.cells)):
            for table in part.tables:
                counts, people = shares_by_hand(array, part, place, table.over)
                for s in np.flatnonzero(people):
                    share = [Fraction(int(k), int(people[s])) for k in counts[s]]
                    low, high = (ends[place, s].tolist() for ends in (table.lower, table.upper))
                    assert all(lo <= p * SCALE <= hi for lo, p, hi in zip(low, share, high, strict=True))
                # what is in the middle of the set is within all of its tables
                centre = np.zeros_like(table.lower[place])
                np.add.at(centre.T, table.of[place], part.given.centre[place].T)
                assert (table.lower[place] <= centre).all()
                assert (centre <= table.upper[place]).all()
                nobody = people == 0
                assert (table.lower[place][nobody] == 0).all()
                assert (table.upper[place][nobody] == SCALE).all()
        assert (part.given.lower <= part.given.centre).all()
        assert (part.given.centre <= part.given.upper).all()
    assert joint.n_x == math.prod(array.shape[1:])


def doubts(array, part, place, s):
    """The doubt of each end at a place, from the ends themselves: P(as many or more, or fewer | the end)."""
    joint = pf.Joint(array).completed
    weights = joint.weights.astype(np.int64)
    everybody = weights[:, part.members[place]].sum()
    found = [*_tails(weights[s, part.members[place]], part.given.lower[place, s], part.given.upper[place, s])]
    for table in part.tables:
        counts, _ = shares_by_hand(array, part, place, table.over)
        found += _tails(counts[s], table.lower[place, s], table.upper[place, s])
    people = weights[:, part.members[place]].sum(axis=1)
    found += _tail(people[s], everybody, part.prior.lower[place, s], part.prior.upper[place, s])
    return found


def _tails(counts, lower, upper):
    n = counts.sum()
    return list(chain.from_iterable(_tail(k, n, lo, hi) for k, lo, hi in zip(counts, lower, upper, strict=True)))


def _tail(k, n, low, high):
    """What each end may fail with; ends that are 0 or 1 cannot fail."""
    below = [float(beta.cdf(low / SCALE, k, n - k + 1))] if low > 0 else []
    above = [float(beta.sf(high / SCALE, k + 1, n - k))] if high < SCALE else []
    return below + above


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)], ids=str)
@pytest.mark.parametrize("chains", [(), (("X2", "X1"),)], ids=str)
def test_the_doubts_of_all_statements_together_are_at_most_what_the_confidence_leaves(promise, shape, chains):
    rng = np.random.default_rng(7)
    array = rng.integers(200, 900, (2, *shape))
    _, parts = nested(array, promise, 0.9, chains)
    total = 0.0
    for part in parts:
        for place in range(len(part.cells)):
            for s in range(2):
                total += sum(doubts(array, part, place, s))
    assert total <= 0.1
    # all of it is used, but for views in which single values are known
    assert total > 0.1 * (1 - 1e-5) * (1 if promise.name in ("lip", "ldp") else 0.5)


def statements(shape, n_s, views, family):
    """How many ends there are, each table of each view with its number of them."""
    found = []
    for view in views:
        left = [j for j in range(len(shape)) if j not in view.known]
        cells = math.prod(shape[j] for j in view.known)
        over = {tuple(j for j in table if j in left) for table in family} | {tuple(left)}
        found += [2 * n_s * cells * math.prod(shape[j] for j in table) for table in over if table]
        found.append(2 * n_s * cells)  # P(S)
    return found


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_each_end_has_an_even_share_of_its_table_s_doubt(promise):
    shape = (2, 3, 2)
    array = np.random.default_rng(8).integers(200, 900, (2, *shape))
    joint, parts = nested(array, promise, 0.9)
    family = [table for k in range(4) for table in combinations(range(3), k)]
    ends = statements(shape, 2, promise.views(joint), family)
    part = parts[0]
    expected = 0.1 / len(ends) / (2 * 2 * math.prod(shape[j] for j in part.view.known))
    left = math.prod(size for j, size in enumerate(shape) if j not in part.view.known)
    counts = joint.weights[0, part.members[0]].astype(np.int64)
    tails = _tails(counts, part.given.lower[0, 0], part.given.upper[0, 0])
    assert tails == pytest.approx([expected / left] * len(tails), rel=1e-5)


# --- the truth is in the set ------------------------------------------------------------------------------


def holds(part, joint_truth):
    """Whether P(x|s) and P(s) of a truth p[s, x] on all combinations are in every interval, cell by cell."""
    for place, members in enumerate(part.members):
        p = joint_truth[:, members]
        p_s = p.sum(axis=1)
        given_s = p / p_s[:, None]
        slack = 4096
        inside = [(part.given.lower[place], given_s, part.given.upper[place])]
        inside.append((part.prior.lower[place], p_s / p_s.sum(), part.prior.upper[place]))
        for table in part.tables:
            sums = np.zeros_like(table.lower[place], dtype=np.float64)
            np.add.at(sums.T, table.of[place], given_s.T)
            inside.append((table.lower[place], sums, table.upper[place]))
        if not all(((lo - slack <= r * SCALE) & (r * SCALE <= hi + slack)).all() for lo, r, hi in inside):
            return False
    return True


def dependent_truth():
    """Three dependent columns; one combination has a hundredth of a percent, one has nobody."""
    p = np.random.default_rng(9).dirichlet(np.full(12, 0.8), size=2).reshape(2, 2, 3, 2)
    p[:, 0, 0, 0], p[:, 1, 2, 1] = 1e-4, 0.0
    return p / p.sum()


@pytest.mark.parametrize("n", [40, 2_000, 100_000])
@pytest.mark.parametrize("promise", [pf.LIP(1.0), pf.SRLIP(1.0)], ids=["lip", "srlip"])
def test_the_set_holds_the_truth_at_least_as_often_as_it_says(n, promise):
    truth, rng, times = dependent_truth(), np.random.default_rng(n), 100
    declared = np.ones((2, *truth.shape[1:]), dtype=np.int64)
    hits = 0
    for _ in range(times):
        sample = rng.multinomial(n, truth.ravel()).reshape(truth.shape)
        joint = declared_joint(sample, declared.shape[1:])
        if joint is None:
            hits += 1
            continue
        parts = pf.robust(promise, 0.8, "nested").possible(joint)
        hits += all(holds(part, truth.reshape(2, -1)) for part in parts)
    assert binomtest(hits, times, 0.8, alternative="less").pvalue > ALARM


def declared_joint(sample, shape):
    """The counts on a domain that was declared beforehand, whether all of its values occur or not."""
    if not sample.any(axis=tuple(range(1, sample.ndim))).all():
        return None
    joint = pf.Joint(sample)  # the columns of an array have all numbers up to its shape, seen or not
    assert tuple(len(column) for column in joint.columns) == shape
    return joint.completed


def test_a_set_of_little_confidence_misses_the_truth():
    truth, rng = dependent_truth(), np.random.default_rng(1)
    truth = (truth + 0.01) / (truth + 0.01).sum()
    hits = 0
    for _ in range(300):
        joint = pf.Joint(rng.multinomial(20_000, truth.ravel()).reshape(truth.shape)).completed
        (part,) = pf.robust(pf.LIP(1.0), 0.01, "nested").possible(joint)
        hits += holds(part, truth.reshape(2, -1))
    assert binomtest(hits, 300, 0.8, alternative="less").pvalue < ALARM


# --- combinations that nobody has ---------------------------------------------------------------------------


def test_combinations_that_nobody_has_are_in_the_set_and_may_have_mass():
    joint = pf.Joint([[[40, 10, 0], [20, 0, 0]], [[30, 20, 0], [10, 0, 0]]])
    assert joint.combinations == 6
    assert joint.n_x == 3
    whole = joint.completed
    assert whole.n_x == 6
    assert whole.completed is whole
    assert whole.weights.tolist() == [[40, 10, 0, 20, 0, 0], [30, 20, 0, 10, 0, 0]]
    assert whole.total == joint.total
    assert whole.entropy == pytest.approx(joint.entropy)
    assert whole.counted == joint.counted
    assert (whole.columns, whole.attributes) == (joint.columns, joint.attributes)
    with pytest.raises(ValueError, match="read-only"):
        whole.weights[0, 0] = 1
    over = pf.robust(pf.LIP(0.5)).made_for(joint)
    assert over.within == "nested"
    assert over.domain(joint).n_x == 6
    (part,) = over.possible(over.domain(joint))
    assert (part.given.upper[0][:, [2, 4, 5]] > 0).all()
    assert (part.given.lower[0][:, [2, 4, 5]] == 0).all()
    columns = next(table for table in part.tables if table.over == (1,))
    assert (columns.upper[0][:, 2] > 0).all()  # a declared value that nobody has
    with pytest.raises(pf.PrivacyFunnelError, match="completed"):
        over.possible(joint)


# --- chains ----------------------------------------------------------------------------------------------------


def test_chains_name_the_tables_and_the_finest_is_always_there():
    names = ["a", "b", "c"]
    assert marginal_tables(names) == [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert marginal_tables(names, [["b"]]) == [(), (1,), (0, 1, 2)]
    assert marginal_tables(names, [["c", "a", "b"], ["b"]]) == [(), (1,), (2,), (0, 2), (0, 1, 2)]
    assert marginal_tables(names, [[]]) == [(), (0, 1, 2)]
    many = marginal_tables([f"x{k}" for k in range(9)])
    assert {len(table) for table in many} == set(range(10))
    assert len(many) == 1 + 9 + 36 + 7
    assert tables_given(marginal_tables(names), (1,), 3) == [(0,), (2,), (0, 2)]
    assert tables_given(marginal_tables(names, [["b"]]), (1,), 3) == [(0, 2)]


def test_fewer_tables_leave_more_doubt_to_each():
    array = np.random.default_rng(2).integers(50, 400, (2, 2, 3, 2))
    _, (every,) = nested(array)
    _, (few,) = nested(array, chains=[["X1", "X2"]])
    assert [table.over for table in few.tables] == [(0,), (0, 1)]
    assert len(every.tables) == 6
    assert (few.given.upper <= every.given.upper).all()
    assert (few.given.lower >= every.given.lower).all()


@pytest.mark.parametrize(
    ("chains", "says"),
    [
        ([["town"]], "'town', which is none of the attributes"),
        ([["X1", "X1"]], "twice"),
        (["X1"], "lists of columns"),
        ("X1", "lists of columns"),
        ([[1]], "lists of columns"),
        (5, "lists of columns"),
    ],
)
def test_chains_of_what_there_is_not_are_refused_in_a_line(chains, says):
    joint = pf.Joint([[[40, 10], [20, 9]], [[30, 20], [10, 9]]])
    with pytest.raises(pf.PrivacyFunnelError, match=says) as caught:
        pf.optimise(joint, pf.robust(pf.LIP(0.5), chains=chains))
    assert "\n" not in str(caught.value)


def test_chains_are_for_nested_sets_alone():
    with pytest.raises(pf.PrivacyFunnelError, match="nested"):
        pf.robust(pf.LIP(0.5), within="intervals", chains=[["X1"]])


# --- too much ---------------------------------------------------------------------------------------------------


def wide_joint(columns, values):
    rng = np.random.default_rng(3)
    codes = np.unique(rng.integers(0, values, (300, columns)), axis=0)
    return pf.Joint.from_support(rng.integers(1, 9, (2, len(codes))), codes)


def test_too_many_combinations_are_refused_if_asked_for_and_else_intervals_are_used():
    joint = wide_joint(6, 6)
    assert joint.combinations > MOST_COMBINATIONS
    assert pf.robust(pf.LIP(0.5)).made_for(joint).within == "intervals"
    for promise in (pf.robust(pf.LIP(0.5), within="nested"), pf.robust(pf.LIP(0.5), chains=[["X1"]])):
        with pytest.raises(pf.PrivacyFunnelError, match="too many for a nested set"):
            pf.optimise(joint, promise)
    with pytest.raises(pf.PrivacyFunnelError, match="too many for a nested set"):
        pf.robust(pf.LIP(0.5), within="nested").domain(joint)  # as for a table that is audited


def test_one_column_has_intervals_unless_nested_sets_are_asked_for():
    joint = pf.Joint([[40, 10, 30], [20, 9, 50]])
    assert pf.robust(pf.LIP(0.5)).made_for(joint).within == "intervals"
    asked = pf.optimise(joint, pf.robust(pf.LIP(0.5), within="nested"))
    assert asked.notion.within == "nested"
    assert pf.certify(asked, joint).holds


# --- promises as data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", [*PROMISES, pf.ALIP(0.3, 0.6), pf.PML(0.5), pf.SRLDP(0.5)], ids=str)
@pytest.mark.parametrize("chains", [(), (("b", "a"), ("a",))], ids=["every", "chains"])
def test_a_nested_promise_is_read_back_as_it_was_written(promise, chains):
    over = pf.robust(promise, 0.9, "nested", chains)
    content = json.loads(json.dumps(over.as_dict()))
    assert content["within"] == "nested"
    assert notion_from(content) == over
    assert "marginal table" in over.words()
    assert over.times(0.5).chains == over.chains


def test_what_was_left_open_stays_open_in_a_file():
    over = pf.robust(pf.LIP(0.3), 0.9)
    assert notion_from(json.loads(json.dumps(over.as_dict()))) == over
