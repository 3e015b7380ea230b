"""Private models of wide tables: what noise is spent on, that rows are redrawn exactly, and what a model misses."""

import numpy as np
import pytest
from scipy.stats import chi2

import privacyfunnel as pf
from privacyfunnel.attacks.by_tables import tell_most
from privacyfunnel.distribution import laplace_split
from privacyfunnel.distribution.fitting import _Table, fitted_model
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.drawing.below import below
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.protocols.wide.listed import Listed
from privacyfunnel.protocols.wide.mixing_rule import mixed_plan_of
from privacyfunnel.protocols.wide.rule import listed_plan, plan_of
from privacyfunnel.tables.wide import marginals
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.wide.marginals import (
    counted,
    distance_from_independence,
    exact_marginals,
    private_marginals,
)
from privacyfunnel.tables.wide.redrawing import Redrawing

SIZES = (4, 5, 3, 2)


def people(rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    a, c, d = (rng.integers(0, size, rows) for size in (4, 3, 2))
    b = (a + rng.integers(0, 3, rows)) % 5
    s = rng.random(rows) < 1 / (1 + np.exp(3 - a - 0.5 * b + 0.3 * c))
    table = np.zeros((2, *SIZES), dtype=np.int64)
    np.add.at(table, (s.astype(int), a, b, c, d), 1)
    return table


@pytest.fixture
def spent(monkeypatch):
    """What noise was asked for; none is added."""
    asked = []

    def exactly(counts, epsilon):
        asked.append((counts.copy(), epsilon))
        return counts

    monkeypatch.setattr(marginals, "noised_in_part", exactly)
    return asked


@pytest.mark.parametrize("pairs_each", [1.0, 5.0])
def test_all_noise_together_is_worth_the_epsilon_that_was_given(spent, monkeypatch, pairs_each):
    monkeypatch.setattr(laplace_split, "PAIRS_EACH", pairs_each)
    joint = pf.Joint(people())
    private_marginals(joint, 0.7)
    total = 0.0
    for counts, epsilon in spent:
        chosen = counts.ndim == 1  # distances, of which one row moves every one by 2: twice the ε of a single table
        total += 2 * epsilon if chosen else epsilon
    assert total <= 0.7
    assert total == pytest.approx(0.7, rel=1e-9)
    assert any(counts.ndim == 1 for counts, _ in spent) == (pairs_each == 1.0)


def test_every_count_that_is_told_has_noise(spent):
    joint = pf.Joint(people())
    told = private_marginals(joint, 1.0)
    measured = [counts for counts, _ in spent if counts.ndim > 1]
    assert len(measured) == len(told.singles) + len(told.pairs)
    for table in [*told.singles, *told.pairs.values()]:
        assert any(table is counts or np.array_equal(table, counts) for counts in measured)


def test_one_changed_row_moves_every_distance_by_at_most_two():
    table = people(300)
    rng = np.random.default_rng(1)
    joint = pf.Joint(table)
    singles = tuple(counted(joint, (j,)) + rng.integers(-9, 9, (2, size)) for j, size in enumerate(SIZES))
    for _ in range(60):
        other = table.copy()
        there, then = rng.choice(np.flatnonzero(table)), rng.integers(table.size)
        other.ravel()[there] -= 1
        other.ravel()[then] += 1
        for pair in ((0, 1), (1, 2), (0, 3)):
            moved = distance_from_independence(pf.Joint(other), singles, pair)
            assert abs(moved - distance_from_independence(joint, singles, pair)) <= 2


def test_the_pair_that_goes_together_is_chosen():
    found = private_marginals(pf.Joint(people()), 1.0)
    assert (0, 1) in found.pairs


def test_a_model_of_exact_tables_has_these_tables():
    joint = pf.Joint(people())
    tables = exact_marginals(joint)
    weights = fitted_model(tables).weights().reshape(2, *SIZES)
    model = weights / weights.sum()
    for i, j in ((0, 1), (1, 2), (2, 3)):
        others = tuple(k + 1 for k in range(4) if k not in (i, j))
        wanted = tables.pairs[i, j] / joint.total
        # Newton's steps are bounded, so that zeros are nearly met
        np.testing.assert_allclose(model.sum(axis=others), wanted, atol=2e-3)


def test_a_private_model_is_near_the_exact_one():
    joint = pf.Joint(people())
    exact = fitted_model(exact_marginals(joint)).weights()
    noisy = fitted_model(private_marginals(joint, 1.0)).weights()
    off = np.abs(exact / exact.sum() - noisy / noisy.sum()).sum()
    assert 0 < off < 0.1


def objective(table, theta, expected):
    """Σ (y − e)² / 2v + Σ θᵀ (β·1 + α·11ᵀ)⁻¹ θ / 2, with the inverse by linear algebra."""
    e = expected * np.exp(theta)
    precision = np.linalg.inv(table.beta * np.eye(len(theta)) + table.alpha * np.ones((len(theta), len(theta))))
    return ((table.y - e) ** 2).sum() / (2 * table.v) + np.einsum("sk,st,tk->", theta, precision, theta) / 2


@pytest.mark.parametrize("columns", [(0,), (0, 1)])
@pytest.mark.parametrize("secrets", [2, 3])
def test_steps_in_a_table_end_where_factors_are_likeliest(columns, secrets, monkeypatch):
    monkeypatch.setattr(_Table, "_learn", lambda self, own, shared: None)  # variances stay as they are
    rng = np.random.default_rng(secrets)
    expected = rng.uniform(20, 400, (secrets, 6))
    table = _Table.of(columns, rng.poisson(expected * rng.uniform(0.3, 3, expected.shape)), 900.0)
    for _ in range(30):
        table.improve(expected * np.exp(table.theta))
    least = objective(table, table.theta, expected)
    for _ in range(200):
        assert objective(table, table.theta + rng.normal(0, 1e-2, expected.shape), expected) > least


def test_variances_of_factors_are_found_where_there_is_little_noise():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 0.5, 4_000), rng.normal(0, 0.2, (2, 4_000))
    expected = np.full((2, 4_000), 1_000.0)
    table = _Table.of((0, 1), rng.normal(expected * np.exp(a + b), 30.0), 900.0)
    for _ in range(40):
        table.improve(expected * np.exp(table.theta))
    assert np.sqrt(table.alpha) == pytest.approx(0.5, rel=0.1)
    assert np.sqrt(table.beta) == pytest.approx(0.2, rel=0.1)


def test_a_secret_in_two_columns_together_and_in_neither_alone_is_in_the_model():
    table = np.zeros((2, 2, 2, 3, 2), dtype=np.int64)
    for a, b in np.ndindex(2, 2):
        table[a ^ b, a, b] = 500
    weights = fitted_model(private_marginals(pf.Joint(table), 1.0)).weights().reshape(table.shape)
    told = weights.sum(axis=(3, 4))
    share = told[1] / told.sum(axis=0)
    assert share[0, 1] > 0.8
    assert share[1, 0] > 0.8
    assert share[0, 0] < 0.2
    assert share[1, 1] < 0.2


def test_noise_of_any_size_makes_a_model_or_is_refused():
    rng, found = np.random.default_rng(0), 0
    for _ in range(60):
        people = rng.dirichlet(np.full(48, 0.1)).reshape(2, 4, 3, 2) * 10 ** rng.uniform(1, 7)
        scale = 10 ** rng.uniform(-1, 5)

        def noisy(*kept, people=people, scale=scale):
            table = people.sum(axis=tuple(j + 1 for j in range(3) if j not in kept))
            return np.rint(table + rng.laplace(0, scale, table.shape)).astype(np.int64)

        pairs = {pair: noisy(*pair) for pair in ((0, 1), (1, 2))}
        singles = tuple(noisy(j) for j in range(3))
        tables = Marginals(1 + int(people.sum()), (4, 3, 2), singles, pairs, (2 * scale**2,) * 3, 2 * scale**2)
        try:
            weights = fitted_model(tables).weights()
        except InvalidInput:
            cells = [table[0].size for table in (*singles, *pairs.values())]
            deviation = 1 / np.sqrt(sum(1 / (number * 2 * scale**2) for number in cells))
            seen = np.minimum(np.mean([one.sum(axis=1) for one in singles], axis=0), tables.people)
            assert seen.min() <= 2.001 * deviation
        else:
            assert (weights >= 0).all()
            assert weights.sum() > 2**58
            found += 1
    assert found > 20


def test_noise_that_hides_the_secret_makes_no_model_whatever_numbers_it_comes_out_as():
    people = Marginals(1_000, (2, 2), (np.full((2, 2), 40_000),) * 2, {}, (1_000.0**2,) * 2, 0.0)
    with pytest.raises(InvalidInput, match="too rare to show through the noise"):
        fitted_model(people)


def test_a_rare_value_has_nearly_the_share_of_everybody_if_noise_hides_its_own():
    table = np.zeros((2, 5, 4), dtype=np.int64)
    table[0], table[1] = 3_000, 1_000
    table[:, 0] = [[90] * 4, [30] * 4]  # a quarter has the secret, as among all others
    joint, rng = pf.Joint(table), np.random.default_rng(3)
    exact, raw, fitted = exact_marginals(joint), [], []
    for _ in range(40):
        singles = tuple(np.rint(one + rng.laplace(0, 100, one.shape)).astype(np.int64) for one in exact.singles)
        noisy = Marginals(joint.total, exact.sizes, singles, {}, (2 * 100.0**2,) * 2, 0.0)
        weights = fitted_model(noisy).weights().reshape(2, 5, 4)[:, 0].sum(axis=1)
        fitted.append(weights[1] / weights.sum())
        raw.append(np.clip(singles[0][1, 0], 1, None) / np.clip(singles[0][:, 0], 1, None).sum())
    errors = [np.sqrt(np.mean((np.array(shares) - 0.25) ** 2)) for shares in (raw, fitted)]
    assert errors[1] < errors[0] / 3


def test_whole_numbers_below_a_bound_are_all_equally_likely():
    bounds = np.full(60_000, 7)
    drawn = np.bincount(below(bounds, Randomness.seeded(1)), minlength=7)
    assert ((drawn - 60_000 / 7) ** 2 / (60_000 / 7)).sum() < chi2.ppf(0.9999, 6)
    large = below(np.full(4_000, 3 * 2**61), Randomness.seeded(2))  # a quarter of the words is drawn again
    assert large.max() < 3 * 2**61
    assert abs((large < 2**61).mean() - 1 / 3) < 0.04
    assert abs((large >= 2**62).mean() - 1 / 3) < 0.04


def small_plan(notion):
    weights = (np.random.default_rng(4).uniform(0.1, 1, (2, 12)) * 2.0**50).astype(np.int64)
    return plan_of(rule_for(notion.limits, weights, (3, 4)), weights, (3, 4))


def probabilities(plan):
    n = plan.W.size
    Q = np.diag(plan.alone / plan.W).astype(float)
    Q += np.outer(plan.rest / plan.rest.sum(), plan.rest / plan.W)
    pairs = plan.pairs
    for x, z, m, k in zip(pairs.first, pairs.second, pairs.m, pairs.n, strict=True):
        for own, mass in ((x, m), (z, k)):
            Q[x, own] += mass / plan.W[own] * m / (m + k)
            Q[z, own] += mass / plan.W[own] * k / (m + k)
    assert Q.shape == (n, n)
    return Q


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_are_redrawn_with_the_probabilities_of_the_plan_and_not_with_others(wrong):
    plan = small_plan(pf.LIP(0.15))
    expected = probabilities(small_plan(pf.LIP(0.25)) if wrong else plan)
    rows = 20_000
    statistic, freedom = 0.0, 0
    for x in range(12):
        drawn = np.bincount(Redrawing(plan).drawn(np.full(rows, x), Randomness.seeded(x)), minlength=12)
        likely = expected[:, x] * rows > 5
        statistic += float((((drawn - expected[:, x] * rows) ** 2)[likely] / (expected[:, x] * rows)[likely]).sum())
        freedom += int(likely.sum()) - 1
    assert bool(statistic > chi2.ppf(0.9999, freedom)) is wrong


def plan_of_three(notion):
    weights = (np.random.default_rng(4).dirichlet([2, 2, 2], 12).T * 2.0**52).astype(np.int64)
    return mixed_plan_of(mixing_rule_for(notion.limits, weights, (3, 4)), weights, (3, 4))


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_of_three_secrets_are_redrawn_with_the_probabilities_of_the_plan_and_not_with_others(wrong):
    plan, rows = plan_of_three(pf.LIP(0.15)), 20_000
    told = plan_of_three(pf.LIP(0.25)) if wrong else plan
    assert np.diff(plan.groups.start).max() > 2
    expected = np.diag(told.alone / told.W) + np.outer(told.rest / told.rest.sum(), told.rest / told.W)
    for first, end in zip(told.groups.start[:-1], told.groups.start[1:], strict=True):
        own, mass = told.groups.cells[first:end], told.groups.mass[first:end]
        expected[np.ix_(own, own)] += np.outer(mass / mass.sum(), mass / told.W[own])
    np.testing.assert_allclose(expected.sum(axis=0), 1)
    statistic, freedom = 0.0, 0
    for x in range(12):
        drawn = np.bincount(Redrawing(plan).drawn(np.full(rows, x), Randomness.seeded(x)), minlength=12)
        likely = expected[:, x] * rows > 5
        statistic += float((((drawn - expected[:, x] * rows) ** 2)[likely] / (expected[:, x] * rows)[likely]).sum())
        freedom += int(likely.sum()) - 1
    assert bool(statistic > chi2.ppf(0.9999, freedom)) is wrong


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_are_redrawn_as_a_list_says_and_not_otherwise(wrong):
    """Half of each value is listed, at random; the rest goes through everything, which is left with what is lacking."""
    rng = np.random.default_rng(9)
    W = rng.integers(2**40, 2**41, 6) * np.array([1, 1, 1, 1, 1, 0])
    x, z = (part.ravel() for part in np.indices((5, 5)))
    listed = Listed.of(x, z, rng.integers(1, 2**38 // 6, 25))
    plan = listed_plan(listed, np.stack([W - W // 3, W // 3]))
    assert (plan.rest != plan.leaving).any()
    expected = np.outer(plan.leaving / plan.leaving.sum(), plan.rest / np.maximum(plan.W, 1))
    expected[:, 5] = plan.leaving / plan.leaving.sum()
    np.add.at(expected, (listed.source, listed.target) if wrong else (listed.target, listed.source),
              listed.mass / plan.W[listed.target if wrong else listed.source])  # fmt: skip
    statistic, freedom, rows = 0.0, 0, 400_000
    for value in range(6):
        drawn = np.bincount(Redrawing(plan).drawn(np.full(rows, value), Randomness.seeded(value)), minlength=6)
        likely = expected[:, value] * rows > 5
        assert drawn[~likely].sum() < 30
        statistic += float(
            (((drawn - expected[:, value] * rows) ** 2)[likely] / (expected[:, value] * rows)[likely]).sum()
        )
        freedom += int(likely.sum()) - 1
    assert bool(statistic > chi2.ppf(0.9999, freedom)) is wrong


def test_values_that_the_model_gives_no_weight_are_drawn_like_everybody():
    plan = small_plan(pf.LIP(0.15))
    weights = plan.weights.copy()
    weights[:, 3] = 0
    plan = plan_of(rule_for(pf.LIP(0.15).limits, weights, (3, 4)), weights, (3, 4))
    drawn = Redrawing(plan).drawn(np.full(5_000, 3), Randomness.seeded(1))
    assert 3 not in drawn
    assert len(np.unique(drawn)) == 11


def joint_with_columns(table):
    from privacyfunnel.distribution.column import Column

    joint = pf.Joint(table)
    joint.secret_columns = (Column(name="S", kind="integer", labels=tuple(range(len(table)))),)
    return joint


def test_what_a_model_is_not_for_is_refused_before_anything_is_drawn():
    joint = joint_with_columns(people())
    for notion in (pf.SRLIP(0.5), pf.robust(pf.LIP(0.5), 0.95)):
        with pytest.raises(InvalidInput, match="know nothing"):
            fit_wide(joint, notion, 1.0)
    many = np.concatenate([people(300, seed) for seed in range(7)])
    for secrets in (many[:13], many[:1]):
        with pytest.raises(InvalidInput, match="two to 12 values"):
            fit_wide(joint_with_columns(secrets), pf.LIP(0.5), 1.0)


def test_a_parity_that_no_pair_shows_is_seen_by_who_counts_three_columns():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (4_000, 4))
    secret = codes[:, :3].sum(axis=1) % 2 == 1
    least, most = tell_most(codes, secret, ("a", "b", "c", "d"))
    assert set(least.columns) == {"a", "b", "c"} == set(most.columns)
    assert least.lift == 0
    assert most.lift > 1.9
    least, most = tell_most(codes, rng.random(4_000) < 0.5, ("a", "b", "c", "d"))
    assert least.lift + 4 * least.error > 1
    assert most.lift - 4 * most.error < 1


def test_of_a_value_that_none_of_the_attacked_people_has_nothing_is_found():
    codes = np.random.default_rng(0).integers(0, 3, (200, 2))
    known = np.random.default_rng(0).permutation(200)[0]  # tell_most attacks the second half of this order
    least, most = tell_most(codes, np.arange(200) == known, ("a", "b"))
    assert (least.lift, most.lift) == (1.0, 1.0)
    assert least.error == most.error == np.inf
