"""Working back where people with rare combinations are read as others: refused, not answered with zeros."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.show import value
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.as_read import AsReadMeter
from privacyfunnel.estimates.contrasts import ODDS_RATIO, RATIO, Figure, contrast
from privacyfunnel.estimates.measuring import Meter
from privacyfunnel.estimates.noisy_counts import NoisyCounts, most_read_otherwise
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.reading_back import tally

SIZES = {"town": 3, "work": 3, "sex": 2, "ill": 2}


def fitted(people: int, at_least: int, objective: str = "faithful") -> tuple[pf.Protocol, pa.Table]:
    rng = np.random.default_rng(1)
    columns = {
        name: rng.choice(size, people, p=1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum()).astype(str)
        for name, size in SIZES.items()
    }
    declared = [{"name": k, "kind": "text", "values": [str(i) for i in range(n)]} for k, n in SIZES.items()]
    domain = Domain.from_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": declared}))
    table = pa.table(columns)
    joint = pf.Joint.from_table(
        table,
        secret="ill",
        attributes=["town", "work", "sex"],
        domain=domain,
        private=1.0,
        at_least=at_least,
        insist=True,
    )
    protocol = pf.optimise(joint, pf.LIP(0.3), objective=objective)
    return protocol, protocol.sanitise(table, seed=1)


def test_contrasts_are_refused_where_people_are_read_as_others() -> None:
    protocol, released = fitted(500, 20)
    assert most_read_otherwise(protocol, 0.025) > 5
    with pytest.raises(InvalidTable, match="how columns go together cannot be estimated"):
        pf.compare(released, protocol, "work", by="town", rows="other")
    with pytest.raises(InvalidTable, match="how columns go together cannot be estimated"):
        pf.associate(released, protocol, "town", "work", rows="other")


def test_the_fitted_rows_are_answered_though_people_are_read_as_others() -> None:
    protocol, released = fitted(500, 20)
    assert pf.compare(released, protocol, "work", by="town", rows="fitted").way == "counted"


def test_nobody_is_told_to_say_what_is_then_refused() -> None:
    protocol, released = fitted(500, 20, "information")
    with pytest.raises(InvalidTable, match="cannot be counted instead") as refused:
        pf.compare(released, protocol, "work", by="town")
    assert "fitted rows, say so" not in str(refused.value)


def test_contrasts_are_answered_where_every_combination_is_an_input() -> None:
    protocol, released = fitted(3000, 0)
    assert most_read_otherwise(protocol, 0.025) == 0
    assert pf.compare(released, protocol, "work", by="town", rows="other").contrasts


@pytest.fixture(scope="module")
def with_a_rare_town(noise_with_seed):
    """500 people, 8 of them in a town that the protocol reads as another one; and their released rows."""
    with noise_with_seed(2):
        rng = np.random.default_rng(3)
        town = np.repeat(["A", "B", "C"], [300, 192, 8])
        table = pd.DataFrame({"town": town, "sex": rng.choice(["f", "m"], 500), "ill": rng.choice(["n", "y"], 500)})
        joint = pf.Joint.from_table(
            table, secret="ill", attributes=["town", "sex"], private=1.0, at_least=30, insist=True
        )
    protocol = pf.optimise(joint, pf.LIP(1.0), objective="faithful")
    return table, protocol, protocol.sanitise(table[["town", "sex"]], seed=1)


def test_a_value_that_is_read_as_another_has_an_interval_that_holds_it(with_a_rare_town):
    table, protocol, released = with_a_rare_town
    assert "C" not in set(released.town)
    found = pf.estimate(released, protocol, of=["town", ("town", "sex")], by=(), rows="other")
    assert found.way == "channel"
    assert "intervals hold that" in found.why
    shares = {e.values[0][0]: e for e in found.table("town").estimates}
    assert abs(shares["C"].share) < 1e-9
    assert shares["C"].low == 0
    assert shares["C"].high >= 8 / 500
    assert shares["C"].error > 0
    for one in found.table("town", "sex").estimates:
        true = ((table.town == one.values[0][0]) & (table.sex == one.values[0][1])).mean()
        assert one.low <= true <= one.high


def test_who_may_be_read_as_another_widens_intervals_on_the_side_where_it_counts(with_a_rare_town):
    _, protocol, released = with_a_rare_town
    counts = tally(protocol, released)
    noisy = NoisyCounts.of(protocol)
    scorer = Scorer(protocol.block)
    plain, ours = Meter(counts, scorer), AsReadMeter(counts, scorer, noisy)
    towns = noisy.codes[:, 0]
    A, B = ((towns == code).astype(float)[None, :] for code in (0, 1))
    widened = []
    for rows in (A, B):
        before = plain.measure(rows[:, noisy.inputs])
        after = ours.measure(rows)
        (low, high), (lower, higher) = (m.between(0.025, np.ones(1, dtype=bool)) for m in (before, after))
        assert after.values == before.values
        assert lower <= low
        assert higher >= high
        assert (after.told(0.025, 0.5) <= before.told(0.025, 0.5)).all()
        widened.append((float((low - lower)[0]), float((higher - high)[0])))
    assert max(down for down, _ in widened) >= 8 / 500  # the 8 people are read as living in one of these
    assert max(up for _, up in widened) == 0  # and nobody who lives there is read as living in C


def test_models_and_replicates_are_refused_where_people_are_read_as_others():
    protocol, released = fitted(500, 20)
    with pytest.raises(InvalidTable, match="how columns go together cannot be estimated"):
        pf.replicates(released, protocol, 2, rows="other", seed=1)
    numbers = pa.table({name: released.column(name) for name in ("town", "work", "sex")})
    with pytest.raises(InvalidTable, match="how columns go together cannot be estimated"):
        pf.regress(numbers, protocol, "C(sex) ~ C(town)", family="binomial", rows="other")


@pytest.mark.parametrize("scale", [RATIO, ODDS_RATIO])
def test_no_ratio_is_an_absurd_number(scale):
    tiny, half = Figure(1e-8, 1e-8, 2e-9, 0.01), Figure(0.5, 0.05, 0.4, 0.6)
    found = contrast(half, tiny, 0.0, scale)
    assert (found.value, found.error, found.high) == (None, None, None)
    assert found.low < 0.5 / 0.01 / 0.49
    found = contrast(tiny, half, 0.0, scale)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high >= 0.01
    small = Figure(1e-6, 2e-2, 5e-9, 0.02)
    assert contrast(half, small, 0.0, scale).high is None
    assert contrast(half, small, 0.0, scale).error is None


def test_an_odds_ratio_with_a_share_that_rounding_keeps_from_0_has_no_number() -> None:
    nearly, half = Figure(1 - 3e-17 - 1e-16, 0.1, 0.5, 1.0), Figure(0.5, 0.1, 0.3, 0.7)
    assert contrast(nearly, half, 0.0, ODDS_RATIO).value is None
    assert contrast(Figure(1e-17, 0.1, 0.0, 0.3), half, 0.0, ODDS_RATIO).high < 10
    assert contrast(half, Figure(1e-17, 0.1, 0.0, 0.3), 0.0, ODDS_RATIO).value is None


def test_whole_numbers_are_shown_without_a_point() -> None:
    assert [value(x) for x in (4.0, 4.5, "4.0", None)] == ["4", "4.5", "4.0", "(missing)"]
