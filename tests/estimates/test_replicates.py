"""Replicates: plausible originals in the protocol's columns, whose analyses put together have intervals that hold."""

import math
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.measuring import Forecast
from privacyfunnel.estimates.replicates import _leans
from privacyfunnel.population import people
from released_people import NAMES, WAYS, fit, sample

RARE_AND_COMMON = [0.0, 0.0, 0.4, 0.6], [0.2, 0.2, 0.2, 0.4]
LEAST = 0.92
"""Of intervals at 95% that must hold: what was asked for."""
REPLICATES = 8
RELEASES = 60


@pytest.fixture(scope="module")
def release():
    table = sample(np.random.default_rng(3), 3_000)
    protocol = fit(table, "counted", pf.LIP(0.5))
    return table, protocol.sanitise(table[NAMES], seed=1), protocol


def test_they_come_one_by_one_in_the_columns_and_kinds_of_the_release(release):
    _, released, protocol = release
    found = pf.replicates(released, protocol, 3, seed=1)
    assert iter(found) is found
    tables = list(found)
    assert len(tables) == 3
    for table in tables:
        assert isinstance(table, pa.Table)
        assert table.schema.names == list(protocol.attributes)
        assert table.schema.types == pa.Table.from_pandas(released).schema.types
        assert len(table) == len(released)
    assert not tables[0].equals(tables[1])
    assert tables[0].equals(next(pf.replicates(released, protocol, 3, seed=1)))


def test_rows_that_say_what_they_were_come_back_as_they_are():
    table = sample(np.random.default_rng(3), 500)
    table["note"] = pd.Series(["a", None] * 250)
    joint = pf.Joint.from_table(table, "ill", [*NAMES, "note"])
    protocol = pf.optimise(joint, pf.LIP(20.0), objective="faithful")
    released = protocol.sanitise(pa.Table.from_pandas(table[[*NAMES, "note"]], preserve_index=False), seed=1)
    for one in pf.replicates(released, protocol, 2, seed=0, rows="fitted"):
        assert one.to_pylist() == released.to_pylist()


@pytest.mark.parametrize("way", WAYS)
def test_they_are_like_the_original_on_average(way):
    table = sample(np.random.default_rng(3), 6_000)
    protocol = fit(table, way, pf.LIP(0.5))
    rows = {"counted": "fitted", "private": "fitted", "worked back": None, "next year": "other"}[way]
    released = protocol.sanitise(table[NAMES], seed=1)
    shares = [
        np.bincount(one["town"], minlength=3) / 6_000 for one in pf.replicates(released, protocol, 10, 1, rows=rows)
    ]
    found = [pf.rubin(share, share * (1 - share) / 6_000) for share in np.transpose(shares)]
    true = np.bincount(table.town) / len(table)
    assert all(abs(each.value - share) < 4 * each.error for each, share in zip(found, true, strict=True))


def test_rows_that_do_not_tell_a_table_of_two_columns_are_refused():
    table = sample(np.random.default_rng(3), 300)
    protocol = fit(table, "worked back", pf.LIP(0.05))
    with pytest.raises(InvalidTable, match="ask estimate for what they tell"):
        pf.replicates(protocol.sanitise(table[NAMES], seed=1), protocol, 5)


def test_shares_that_would_be_cut_off_at_0_are_refused_and_those_that_would_not_are_drawn():
    few, many = (Forecast(np.array(values), np.full(4, 0.01), np.zeros(4)) for values in RARE_AND_COMMON)
    assert _leans(few, 2_500)  # two shares of 0 with an error of a point lie 0.8 points below it, together, on average
    assert not _leans(many, 2_500)
    assert not _leans(few, 25)  # where each share of the people is known to 10 points only, that is little
    assert _leans(Forecast(np.array([0.5, 0.5]), np.full(2, 0.031), np.zeros(2)), 2_500)
    assert not _leans(Forecast(np.array([0.0, 1.0]), np.zeros(2), np.zeros(2)), 10**9)


def test_what_makes_no_sense_is_refused_in_one_line_and_at_once(release):
    _, released, protocol = release
    for k in (1, 0, 2.5, True):
        with pytest.raises(InvalidInput, match="replicates are needed"):
            pf.replicates(released, protocol, k)
    with pytest.raises(InvalidInput, match="Protocol"):
        pf.replicates(released, "protocol.json", 5)


def test_rubins_rules_by_hand():
    found = pf.rubin([1.0, 3.0], [1.0, 2.0])
    assert (found.value, found.error) == (2.0, math.sqrt(1.5 + 1.5 * 2))
    assert found.degrees == (1 + 1.5 / 3) ** 2
    same = pf.rubin([1.0, 1.0], [4.0, 4.0])
    assert same.degrees == math.inf
    assert same.high == pytest.approx(1 + 1.96 * 2, abs=0.001)


@pytest.mark.parametrize(
    "wrong", [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, 2.0], [1.0, -1.0]), ([1.0, math.nan], [1, 1])]
)
def test_rules_without_numbers_are_refused(wrong):
    with pytest.raises(InvalidInput, match="Rubin's rules"):
        pf.rubin(*wrong)


# --- how often intervals hold -------------------------------------------------------------------------


def demo(seed, n=6_000):
    found = pd.DataFrame(people(n, seed))
    found["age"] = pd.cut(found.age, [17, 30, 45, 60, 75, 90], labels=False)
    found["height"] = pd.cut(found.height, [0, 165, 172, 180, 300], labels=False)
    return found[["sex", "age", "height", "obese"]]


def compas(shared):
    file = shared / "data" / "compas.csv.gz"
    if not file.exists():
        pytest.skip(f"{file.name} is not among the shared data")
    found = pa_csv.read_csv(file).to_pandas()
    found["score"], found["prior"] = (found.decile_score - 1) // 3, np.minimum(found.priors_count, 3)
    return found[["sex", "race", "prior", "score", "two_year_recid"]]


def analysed(table, y, x, share):
    """A share, a mean and both slopes of a regression, each with its variance in a table of people."""
    own = (table[share[0]] == share[1]).to_numpy(dtype=float)
    v = table[y].to_numpy(dtype=float)
    X = np.column_stack([np.ones(len(v)), table[x].to_numpy(dtype=float), table.sex.str.lower() == "male"])
    back = np.linalg.inv(X.T @ X)
    b = back @ X.T @ v
    around = back @ ((X * ((v - X @ b) ** 2)[:, None]).T @ X) @ back
    estimates = [own.mean(), v.mean(), *b[1:]]
    return np.array(estimates), np.array([own.var() / len(v), v.var() / len(v), *np.diag(around)[1:]])


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data", ["demo", "compas"])
def test_put_together_they_have_intervals_that_hold(way, data, shared):
    if data == "demo":
        secret, asked, whole, draw = "obese", ("height", "age", ("sex", "male")), demo(0, 10**6), demo
    else:
        secret, asked, whole = "two_year_recid", ("score", "prior", ("race", "Caucasian")), compas(shared)
        if way in ("worked back", "next year"):  # such rows do not tell the rare races
            whole, asked = whole.drop(columns="race"), ("score", "prior", ("sex", "Male"))
        draw = lambda seed: whole.sample(2_500, replace=True, random_state=seed)  # noqa: E731 - like `demo`
    names, protocol, rows = [name for name in whole if name != secret], None, None
    true, held = analysed(whole, *asked)[0], []
    for seed in range(1, RELEASES + 1):
        table = draw(seed)
        if protocol is None or way != "next year":
            private = {"private": 1.0, "at_least": 10, "insist": True} if way == "private" else {}
            joint = pf.Joint.from_table(table, secret, names, **private)
            objective = "information" if way == "worked back" else "faithful"
            # Rows that are worked back tell every table of two columns only under a milder promise, or by luck.
            mild = {("demo", "worked back"): 0.8, ("demo", "next year"): 0.8}.get((data, way), 1.2)
            notion = pf.LIP(0.5 if way in ("counted", "private") else mild)
            protocol = pf.optimise(joint, notion, objective=objective, time_limit=1)
            rows = None if way == "worked back" else "other" if way == "next year" else "fitted"
        try:
            drawn = pf.replicates(protocol.sanitise(table[names], seed=seed), protocol, REPLICATES, seed, rows=rows)
        except InvalidTable:  # refused for what the protocol does, whatever the rows are
            continue
        found = np.array([analysed(one.to_pandas(), *asked) for one in drawn])
        put = [pf.rubin(found[:, 0, i], found[:, 1, i]) for i in range(len(true))]
        held.append([each.low <= one <= each.high for each, one in zip(put, true, strict=True)])
    print(way, data, len(held), np.mean(held, axis=0))  # noqa: T201 - what the documentation tells
    assert len(held) >= RELEASES / 2
    slack = 2 * math.sqrt(LEAST * (1 - LEAST) / len(held))  # a share of so few is known no better
    assert (np.mean(held, axis=0) >= LEAST - slack).all(), np.mean(held, axis=0)
    assert np.mean(held) >= LEAST, np.mean(held)


def test_not_all_are_drawn_if_not_all_are_asked_for(release):
    _, released, protocol = release
    assert len(list(islice(pf.replicates(released, protocol, 10**6), 2))) == 2
