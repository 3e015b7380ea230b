"""On which columns released values depend."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.proof.over_population import population_findings, rare_cells
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.coarseness import merging_words, released_by
from privacyfunnel.protocols.protocol import Protocol


def protocol_with(joint, rows):
    channel = Channel.from_dense(np.array(rows))
    return Protocol(pf.LIP(5.0), block_of(joint, channel), 0.1, 1.0, joint.entropy, "by hand", joint.secret)


@pytest.fixture
def joint():
    return pf.Joint(np.full((2, 2, 2), 5), attributes=["sex", "town"])


def test_rows_are_counted_by_the_columns_they_depend_on(joint):
    # by sex half of the time, by sex and town in a quarter, and by nothing in the rest
    rows = [
        [0.5, 0.5, 0, 0],
        [0, 0, 0.5, 0.5],
        [0.25, 0, 0, 0.25],
        [0.25, 0.5, 0.5, 0.25],
    ]
    found = dict(released_by(protocol_with(joint, rows), joint))
    assert found[("sex",)] == pytest.approx(0.5)
    assert found[("sex", "town")] == pytest.approx(0.5)


def test_nothing_is_said_where_all_depend_on_all_columns(joint):
    assert released_by(protocol_with(joint, np.eye(4)), joint) == ()
    assert merging_words(()) == ""


def test_constant_rows_depend_on_nothing(joint):
    assert released_by(protocol_with(joint, np.full((2, 4), 0.5)), joint) == (((), pytest.approx(1.0)),)


def test_words_name_the_largest_shares_and_sum_up_the_rest():
    shares = ((("a",), 0.5), (("b",), 0.3), ((), 0.1), (("c",), 0.06), (("d",), 0.04))
    assert merging_words(shares) == (
        " For the sake of rare combinations, rows are released by fewer columns: 50% of the rows by a, "
        "30% of the rows by b, 10% of the rows by nothing, 10% by others."
    )


def test_rare_cells_are_those_whose_interval_alone_breaks_the_promise():
    counts = np.array([[[400, 20], [380, 22]], [[410, 30], [390, 25]]])
    joint = pf.Joint(counts, attributes=["sex", "town"])
    by_sex, by_town = rare_cells(joint, pf.robust(pf.LIP(0.3), within="nested"))
    assert (by_sex.columns, by_sex.cells, by_sex.too_rare) == (("sex",), 2, 0)
    assert (by_town.columns, by_town.too_rare, by_town.people) == (("town",), 1, 97)


def test_findings_say_what_is_too_rare_and_what_was_done():
    counts = np.array([[[400, 20], [380, 22]], [[410, 30], [390, 25]]])
    joint = pf.Joint(counts, attributes=["sex", "town"])
    found = population_findings(pf.optimise(joint, pf.robust(pf.LIP(0.3))), joint)
    assert found.holds
    assert "too rare" in found.words()
    assert [table["columns"] for table in found.as_dict()["rare_cells"]] == [["sex"], ["town"]]
    assert found.as_dict()["within"] == "nested"
