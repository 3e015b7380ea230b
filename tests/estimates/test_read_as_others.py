"""Working back where people with rare combinations are read as others: refused, not answered with zeros."""

import json

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.show import value
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.contrasts import ODDS_RATIO, Figure, contrast
from privacyfunnel.estimates.noisy_counts import most_read_otherwise
from privacyfunnel.tables.domain import Domain

SIZES = {"town": 3, "work": 3, "sex": 2, "ill": 2}


def fitted(people: int, at_least: int) -> tuple[pf.Protocol, pa.Table]:
    rng = np.random.default_rng(1)
    columns = {
        name: rng.choice(size, people, p=1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum()).astype(str)
        for name, size in SIZES.items()
    }
    declared = [{"name": k, "kind": "text", "values": [str(i) for i in range(n)]} for k, n in SIZES.items()]
    domain = Domain.from_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": declared}))
    table = pa.table(columns)
    joint = pf.Joint.from_table(
        table, secret="ill", attributes=["town", "work", "sex"], domain=domain, private=1.0, at_least=at_least
    )
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
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


def test_contrasts_are_answered_where_every_combination_is_an_input() -> None:
    protocol, released = fitted(3000, 0)
    assert most_read_otherwise(protocol, 0.025) == 0
    assert pf.compare(released, protocol, "work", by="town", rows="other").contrasts


def test_an_odds_ratio_with_a_share_that_rounding_keeps_from_0_has_no_number() -> None:
    nearly, half = Figure(1 - 3e-17 - 1e-16, 0.1, 0.5, 1.0), Figure(0.5, 0.1, 0.3, 0.7)
    assert contrast(nearly, half, 0.0, ODDS_RATIO).value is None
    assert contrast(Figure(1e-17, 0.1, 0.0, 0.3), half, 0.0, ODDS_RATIO).high < 10
    assert contrast(half, Figure(1e-17, 0.1, 0.0, 0.3), 0.0, ODDS_RATIO).value is None


def test_whole_numbers_are_shown_without_a_point() -> None:
    assert [value(x) for x in (4.0, 4.5, "4.0", None)] == ["4", "4.5", "4.0", "(missing)"]
