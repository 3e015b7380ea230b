"""All pairs with Gaussian noise: what has it and how much, what follows from it, and where Laplace noise is better."""

import itertools

import numpy as np
import pytest
from tests.tables.test_wide import SIZES, people

import privacyfunnel as pf
from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.protocols.wide.column_counts import column_counts
from privacyfunnel.tables.wide import all_pairs
from privacyfunnel.tables.wide.all_pairs import gaussian_marginals, noise_on_pairs
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.wide.marginals import counted, exact_marginals, private_marginals

PAIRS = list(itertools.combinations(range(len(SIZES)), 2))


@pytest.fixture
def asked(monkeypatch):
    """Which noise was asked for on what; none is added."""
    found = []

    def exactly(counts, sigma):
        found.append((counts.copy(), sigma))
        return counts

    monkeypatch.setattr(all_pairs, "gaussian_noised", exactly)
    return found


def test_every_pair_has_the_noise_that_its_delta_needs_and_nothing_else_is_told(asked):
    joint = pf.Joint(people())
    noise = noise_on_pairs(4, 1.0, 1e-6, 0.5, 0.0)
    told = gaussian_marginals(joint, noise)
    assert noise.tables == len(PAIRS) == len(asked)
    assert list(told.pairs) == PAIRS
    for pair, (counts, sigma) in zip(PAIRS, asked, strict=True):
        np.testing.assert_array_equal(counts, counted(joint, pair))
        assert sigma == noise.sigma
    for j, table in enumerate(told.singles):  # without noise, sums of pairs are the tables of single columns
        np.testing.assert_array_equal(table, counted(joint, (j,)))


def test_one_column_has_its_table_and_nothing_else(asked):
    joint = pf.Joint(people().sum(axis=(2, 3, 4)))
    told = gaussian_marginals(joint, noise_on_pairs(1, 1.0, 1e-6, 0.5, 0.0))
    assert len(asked) == len(told.singles) == 1
    assert not told.pairs


def test_sums_of_pairs_and_counts_of_columns_have_the_noise_that_is_said_of_them():
    joint, noise = pf.Joint(people()), noise_on_pairs(4, 1.0, 1e-6, 0.5, 0.0)
    exact, off, counts_off = exact_marginals(joint), [[] for _ in SIZES], [[] for _ in SIZES]
    for _ in range(150):
        told = gaussian_marginals(joint, noise)
        counts = column_counts(told)
        for j in range(len(SIZES)):
            off[j].append((told.singles[j] - exact.singles[j]) ** 2 / told.single_variances[j])
            true = exact.singles[j].sum(axis=0)
            counts_off[j].append((np.array(counts[j].people) - true) ** 2 / counts[j].variance)
    for j in range(len(SIZES)):
        assert np.mean(off[j]) == pytest.approx(1, abs=0.25)
        assert np.mean(counts_off[j]) == pytest.approx(1, abs=0.3)


def test_a_model_of_all_pairs_is_nearer_to_the_exact_one_than_with_laplace_noise():
    joint, noise = pf.Joint(people()), noise_on_pairs(4, 1.0, 1e-6, 0.5, 0.0)
    exact = fitted_model(exact_marginals(joint)).weights()
    off = {"gaussian": [], "laplace": []}
    for _ in range(6):
        for kind, tables in (
            ("gaussian", gaussian_marginals(joint, noise)),
            ("laplace", private_marginals(joint, 1.0)),
        ):
            weights = fitted_model(tables).weights()
            off[kind].append(np.abs(exact / exact.sum() - weights / weights.sum()).sum())
    assert np.mean(off["gaussian"]) < np.mean(off["laplace"])
    assert np.mean(off["gaussian"]) < 0.1


def test_laplace_noise_is_kept_for_few_columns_and_for_a_delta_of_zero():
    assert [noise_on_pairs(m, 1.0, None, 0.5, 0.0) is None for m in (1, 2, 3, 4, 8, 11)] == [True] * 3 + [False] * 3
    assert noise_on_pairs(8, 1.0, 0.0, 0.5, 0.0) is None
    assert noise_on_pairs(2, 1.0, 1e-6, 0.5, 0.0) is not None


@pytest.mark.parametrize("notion", [pf.LIP(0.4), pf.LDP(0.5), pf.ALIP(0.3, 0.6), pf.PML(0.4)], ids=str)
def test_every_promise_has_a_file_that_states_a_delta_that_holds(notion):
    protocol = fit_wide(pf.Joint.from_table(frame(), "ill", list("abcd")), notion, 1.0)
    assert protocol.by_model.delta == 1e-6
    assert protocol.by_model.noise.kept(1.0, notion.epsilon)
    assert fit_wide(pf.Joint.from_table(frame(), "ill", list("abcd")), notion, None).noise is None


def frame():
    import pandas as pd

    table = people(4_000)
    rows = np.repeat(np.argwhere(table >= 0), table.ravel(), axis=0)
    return pd.DataFrame(rows, columns=["ill", *"abcd"])
