"""Columns for a model that is to be laid out: which stay, what choosing costs, and what a refusal advises."""

import math

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.rehearsal import MOST_COMBINATIONS
from privacyfunnel.tables.wide import choosing, fit
from privacyfunnel.tables.wide.choosing import SENSITIVITY, chosen_columns, scores, too_many, within
from privacyfunnel.tables.wide.fit import fit_wide

SIZES = (3, 4, 2)


def table_from(seed, rows=400):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, SIZES, (rows, 3))
    secret = (codes[:, 0] + rng.integers(0, 2, rows)) % 3
    table = np.zeros((3, *SIZES), dtype=np.int64)
    np.add.at(table, (secret, *codes.T), 1)
    return table


def with_secret(joint):
    joint.secret_columns = (Column(name="S", kind="integer", labels=(0, 1, 2)),)
    return joint


def test_one_changed_row_moves_every_score_by_at_most_its_sensitivity():
    rng, most = np.random.default_rng(0), 0
    for seed in range(40):
        table = table_from(seed, 30)
        secret = rng.integers(1, 50, 3)
        before = scores(pf.Joint(table), secret)
        other = table.copy()
        other.ravel()[rng.choice(np.flatnonzero(table))] -= 1
        other.ravel()[rng.integers(table.size)] += 1
        if (other.sum(axis=(1, 2, 3)) > 0).all():
            most = max(most, int(np.abs(scores(pf.Joint(other), secret) - before).max()))
    assert 2 <= most <= SENSITIVITY


def test_noise_on_scores_and_on_the_secret_is_worth_what_is_spent(monkeypatch):
    monkeypatch.setattr(choosing, "MOST_COMBINATIONS", 10)
    asked = []

    def exactly(counts, epsilon):
        asked.append((counts.size, epsilon))
        return counts

    monkeypatch.setattr(choosing, "noised_in_part", exactly)
    chosen = chosen_columns(pf.Joint(table_from(1)), 1.0)
    (secrets, for_secret), (columns, for_scores) = asked
    assert (secrets, columns) == (3, 3)
    # counts of the secret move by 2 in all, which ε is for; scores by SENSITIVITY each
    assert for_secret + columns * for_scores * SENSITIVITY / 2 == pytest.approx(chosen.spent)
    assert chosen.spent == pytest.approx(0.05)
    assert "X1" in chosen.names


def test_what_fits_is_left_alone_and_costs_nothing():
    chosen = chosen_columns(pf.Joint(table_from(1)), 1.0)
    assert chosen.names == ("X1", "X2", "X3")
    assert chosen.spent == 0


def test_columns_that_tell_least_for_their_number_of_values_are_left_out():
    sizes = (10_000, 100, 50, 20, 2)
    assert within(sizes, np.array([0, 900, 800, 700, 600])) == (1, 2, 3, 4)
    assert within(sizes, np.array([9_000, 0, 1, 700, 600])) == (0, 4)
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = tuple(int(size) for size in np.exp(rng.uniform(0.7, 6, rng.integers(1, 14))))
        left = within(sizes, rng.integers(-50, 1_000, len(sizes)))
        room = MOST_COMBINATIONS // math.prod(sizes[j] for j in left)
        assert room >= 1
        assert all(sizes[j] > room for j in range(len(sizes)) if j not in left)  # nothing that is out would fit


def test_a_refusal_names_columns_by_their_numbers_of_values_alone():
    text = too_many(["town", "sex", "job"], [30_000, 2, 1_000])
    assert "60,000,000 combinations" in text
    assert "leave out town (30,000 values), or give it at most 5,000 values" in text
    assert "a (9,999,999 values) and b (9,000,000 values)" in too_many(["a", "b", "c"], [9_999_999, 9_000_000, 4_000])


def test_what_was_spent_on_choosing_is_not_spent_again(monkeypatch):
    found, real = [], fit.private_marginals
    monkeypatch.setattr(fit, "private_marginals", lambda joint, epsilon: found.append(epsilon) or real(joint, epsilon))
    protocol = fit_wide(with_secret(pf.Joint(table_from(1, 20_000))), pf.LIP(0.5), 1.0, spent=0.05, delta=0)
    assert protocol.by_model.epsilon == 1.0
    assert protocol.by_model.noise == LaplaceNoise(0.05)
    assert found[0] <= 0.95
    assert found[0] == pytest.approx(0.95)


def test_what_was_spent_on_choosing_is_paid_for_by_more_gaussian_noise():
    joint = with_secret(pf.Joint(table_from(1, 20_000)))
    plain, after = (fit_wide(joint, pf.LIP(0.5), 1.0, spent=spent, delta=1e-6).by_model.noise for spent in (0.0, 0.05))
    assert after.choosing == 0.05
    assert after.sigma > 1.04 * plain.sigma
    assert after.kept(1.0, 0.5)


def test_a_table_that_is_too_wide_is_refused_with_advice():
    joint = with_secret(pf.Joint(table_from(1)))
    joint.columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k)))
        for name, k in zip("abc", (4_000, 3_000, 2), strict=True)
    )
    with pytest.raises(InvalidInput, match=r"leave out a \(4,000 values\).*--columns auto"):
        fit_wide(joint, pf.LIP(0.5), 1.0)
