"""Outputs that few rows are expected of: errors hold them, neither more than is due on average nor less by luck."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.estimates.cell_shares import cell_shares
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.measuring import Meter
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally

VALUES = 100
ROWS = 50
"""Half a row for each value: all outputs are rare."""
SAMPLES = 60


@pytest.fixture(scope="module")
def covariance():
    """That of rows[i]·w, for released rows of which counts[x] have the value x.

    The secret has nothing to do with the one column, so that every value is released as it is.
    """
    protocol = pf.optimise(pf.Joint(np.full((2, VALUES), 100), attributes=["x"]), pf.LIP(1.0))
    block, asker = protocol.block, Asker(protocol)
    scorer = Scorer(block)
    assert block.channel.n_outputs == VALUES

    def of(counts, rows):
        own = counts[block.labels]
        meter = Meter(Tally(np.flatnonzero(own), own[own > 0]), scorer)
        return cell_shares(Reader(meter, asker, {}, Presentation(0.95, model=False)), ["x"]).covariance(rows)

    return of


def test_errors_of_many_rare_outputs_are_what_they_should_be_on_average(covariance):
    rng = np.random.default_rng(1)
    rows = np.vstack([np.arange(VALUES), rng.standard_normal((3, VALUES))])
    drawn = rng.multinomial(ROWS, np.full(VALUES, 1 / VALUES), SAMPLES)
    found = np.mean([np.diag(covariance(counts, rows)) for counts in drawn], axis=0)
    # Were each output to count as much as is expected of it, it would be 1 + e^-½ times the truth, 1.6.
    ratio = found / (rows.var(axis=1) / ROWS)
    assert (ratio > 0.98).all(), ratio
    assert (ratio < 1.2).all(), ratio


def test_outputs_that_are_missing_by_luck_are_in_the_errors_all_the_same(covariance):
    half = np.arange(VALUES) < VALUES // 2
    counts = np.where(np.arange(VALUES) == 0, ROWS, 0)
    far = np.where(half, 0.0, 1.0)[None]
    assert covariance(counts, far).item() >= 0.25 / ROWS  # the variance of a share of a half


def test_they_are_in_the_errors_of_every_combination_of_coefficients(covariance):
    kind = np.arange(VALUES) % 2  # both rows alike for values of one kind, opposite for the other
    rows = np.vstack([np.ones(VALUES), 1.0 - 2 * kind]) * np.where(np.arange(VALUES) % 4 < 2, 1.0, -1.0)
    counts = np.where(kind == 0, 1, 0)  # only values at which the rows are alike were seen
    C = covariance(counts, rows)
    difference = np.array([1.0, -1.0])
    assert difference @ C @ difference >= 0.99 * ((rows[0] - rows[1]) ** 2).mean() / ROWS
    assert C[0, 0] >= 0.99 / ROWS
    assert C[1, 1] >= 0.99 / ROWS
