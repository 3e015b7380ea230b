"""Comparison of groups: right numbers where all is known, intervals that hold, refusals in one line."""

import json

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.contrasts import DIFFERENCE, ODDS_RATIO, RATIO, Figure, contrast
from released_people import WAYS, releases, table_of

LEAST = 0.92
"""Of intervals at 95% that must hold: what was asked for."""


def test_differences_of_rows_that_stayed_are_those_that_everybody_knows(kept):
    table, released, protocol = kept
    found = pf.compare(released, protocol, "town", by="sex")
    shares = pd.crosstab(table.town, table.sex, normalize="columns")
    sizes = table.sex.value_counts()
    for each in (c for c in found.contrasts if not c.mean):
        p, q = shares.loc[each.value, each.group], shares.loc[each.value, each.against]
        error = np.sqrt(p * (1 - p) / sizes[each.group] + q * (1 - q) / sizes[each.against])
        assert each.difference.value == pytest.approx(p - q)
        assert each.difference.error == pytest.approx(error, rel=0.02)
        assert each.difference.high - each.difference.low == pytest.approx(2 * 1.96 * error, rel=0.05)
        assert each.ratio.value == pytest.approx(p / q)
    mean = found.contrasts[-1]
    groups = table.groupby("sex").town.mean()
    assert mean.mean
    assert mean.difference.value == pytest.approx(groups[mean.group] - groups[mean.against])


def test_groups_are_compared_with_the_commonest_or_the_one_that_is_named(kept):
    table, released, protocol = kept
    found = pf.compare(released, protocol, "sex", by="town")
    assert {c.against for c in found.contrasts} == {table.town.value_counts().idxmax()}
    assert {c.against for c in pf.compare(released, protocol, "sex", by="town", against=2).contrasts} == {2}
    some = pf.compare(released, protocol, "sex", by="town", against=2, where={"town": [1, 2], "age": 0})
    assert {c.group for c in some.contrasts} == {1}
    assert some.group == {"town": (1, 2), "age": 0}


def test_what_makes_no_sense_is_refused_in_one_line(kept):
    _, released, protocol = kept
    with pytest.raises(InvalidInput, match="named twice"):
        pf.compare(released, protocol, "sex", by="sex")
    with pytest.raises(InvalidTable, match="does not release"):
        pf.compare(released, protocol, "sex", by="shoes")
    with pytest.raises(InvalidTable, match="no value"):
        pf.compare(released, protocol, "sex", by="town", against="Atlantis")
    with pytest.raises(InvalidInput, match="not among"):
        pf.compare(released, protocol, "sex", by="town", against=0, where={"town": [1, 2]})


def test_a_share_of_nobody_leaves_open_what_it_must():
    none, some = Figure(0.0, 0.01, 0.0, 0.04), Figure(0.5, 0.05, 0.4, 0.6)
    assert contrast(none, some, 0.0, RATIO) == Figure(0.0, None, 0.0, pytest.approx(0.1))
    assert contrast(some, none, 0.0, RATIO) == Figure(None, None, pytest.approx(10.0), None)
    assert contrast(none, none, 0.0, RATIO).value is None
    found = contrast(Figure(1.0, 0.0, 0.9, 1.0), some, 0.0, ODDS_RATIO)
    assert (found.value, found.high) == (None, None)
    assert found.low == pytest.approx(9 / 1.5)


def test_what_two_shares_have_in_common_narrows_their_difference():
    one, two = Figure(0.5, 0.03, 0.44, 0.56), Figure(0.3, 0.03, 0.24, 0.36)
    narrow, wide = contrast(one, two, 0.5, DIFFERENCE), contrast(one, two, -0.5, DIFFERENCE)
    assert narrow.error < wide.error
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_command_shows_and_tells_comparisons(kept, tmp_path, capsys):
    _, released, protocol = kept
    released.to_csv(tmp_path / "open.csv", index=False)
    protocol.save(tmp_path / "protocol.json")
    command = [
        "estimate",
        str(tmp_path / "open.csv"),
        "--protocol",
        str(tmp_path / "protocol.json"),
        "--compare",
        "sex",
    ]
    assert run(command) == 0
    assert "age by sex, against" in capsys.readouterr().out
    assert run([*command, "--of", "town", "--where", "age=0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["comparisons"]
    assert [each["attribute"] for each in told] == ["town"]
    for wrong in (["--of", "town:age"], ["--of", "sex"], ["--simultaneous"]):
        assert run([*command, *wrong]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_intervals_of_comparisons_hold(way):
    held = {"difference": [], "ratio": [], "mean": []}
    shares = table_of("town", "sex") / table_of("town", "sex").sum(axis=0)
    means = np.arange(3) @ shares
    for released, protocol, rows in releases(np.random.default_rng(4), way, 1_500, 120):
        for each in pf.compare(released, protocol, "town", by="sex", rows=rows).contrasts:
            if each.mean:
                held["mean"].append(within(each.difference, means[each.group] - means[each.against]))
                continue
            p, q = shares[each.value, each.group], shares[each.value, each.against]
            held["difference"].append(within(each.difference, p - q))
            held["ratio"].append(within(each.ratio, p / q))
    slack = 2 * np.sqrt(LEAST * (1 - LEAST) / 120)
    assert all(np.mean(values) >= LEAST - slack for values in held.values()), held


def within(figure, true):
    return (figure.low is None or figure.low <= true) and (figure.high is None or true <= figure.high)
