"""Rows of faithful releases, counted as they stand: unbiased, with intervals that hold; other rows are not counted."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.counted import CountingMeter, share_between
from privacyfunnel.estimates.frequencies import Presentation, Reader, frequencies
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.summaries import summary
from privacyfunnel.estimates.which_rows import fits
from privacyfunnel.tables.reading_back import Tally, outputs_of_rows

NOISE = 4.5
"""Standard errors: a fair comparison exceeds this less than once in 100,000 times."""
ROWS_AT_ONCE = 20_000
P = np.random.default_rng(5).dirichlet(np.full(2 * 3 * 2 * 3, 2.0)).reshape(2, 3, 2, 3)
"""P(secret, town, sex, age): a population of which tables are samples."""
NAMES = ["town", "sex", "age"]
STRICT = pf.LIP(0.1)
"""Much is drawn anew under such a promise, so that drawing matters beside sampling."""


def people(n, seed, p=P):
    """A table of so many people from the population."""
    cells = np.random.default_rng(seed).choice(p.size, n, p=p.ravel())
    secret, *columns = np.unravel_index(cells, p.shape)
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)) | {"ill": secret})


def fitted(table, notion=STRICT, objective="faithful", names=NAMES):
    return pf.optimise(pf.Joint.from_table(table, "ill", names), notion, objective=objective)


def drawn(protocol, joint, rng):
    """The tally of a release of the rows that were fitted on."""
    block, rows = protocol.block, joint.weights.sum(axis=0)
    columns = block.channel.dense()[:, block.inputs_of(joint)].T
    counts = sum(rng.multinomial(n, q) for n, q in zip(rows, columns, strict=True))
    return Tally(np.flatnonzero(counts), counts[counts > 0])


def counts_of(protocol, table, releases):
    """counts[r, x]: rows of each value in release r of a table, as their labels say; small ones are drawn together."""
    block, together = protocol.block, max(1, ROWS_AT_ONCE // len(table))
    for first in range(0, releases, together):
        copies = pd.concat([table] * min(together, releases - first))
        y = outputs_of_rows(protocol, protocol.sanitise(copies, keep_order=True, seed=first))
        for part in block.labels[y].reshape(-1, len(table)):
            yield np.bincount(part, minlength=len(block.codes))


def largest_bias(protocol, joint, table, releases):
    """How many standard errors the mean counted share is off, at most, over real releases; single ones and of pairs."""
    names = joint.attributes
    asked = [[name] for name in names] + [list(pair) for pair in itertools.combinations(names, 2)]
    asker = Asker(protocol)
    sets = np.concatenate([asker.cells(each).rows for each in asked])
    true = sets @ np.bincount(protocol.block.inputs_of(joint), joint.weights.sum(axis=0))
    found = np.stack([sets @ counts for counts in counts_of(protocol, table, releases)])
    spread = found.std(axis=0, ddof=1) / math.sqrt(releases)
    return (np.abs(found.mean(axis=0) - true) / np.maximum(spread, 1e-9)).max()


@st.composite
def joints(draw):
    """Counts of people with up to 8 values, some of them rare."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(2, 3)), draw(st.integers(2, 8))
    weights = rng.dirichlet(np.full(shape[0] * shape[1], draw(st.sampled_from([0.3, 1.0, 5.0])))).reshape(shape)
    return pf.Joint(np.maximum(np.rint(weights * draw(st.sampled_from([30, 1_000, 10**5]))), 1).astype(np.int64))


# --- unbiased ------------------------------------------------------------------------------------------


def test_counted_shares_of_real_releases_are_unbiased_and_those_of_the_information_optimum_are_not():
    table = people(400, seed=1)
    joint = pf.Joint.from_table(table, "ill", NAMES)
    assert largest_bias(pf.optimise(joint, STRICT, objective="faithful"), joint, table, 200) < NOISE
    assert largest_bias(pf.optimise(joint, STRICT), joint, table, 40) > 4 * NOISE


REAL = {
    "compas": ("two_year_recid", ["sex", "race", "age_cat"], 0.3),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_counted_shares_of_real_tables_are_unbiased_and_those_of_the_information_optimum_are_not(name, shared):
    secret, names, epsilon = REAL[name]
    file = shared / "data" / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"{file.name} is not among the shared data")
    table = pa_csv.read_csv(file).select([secret, *names]).to_pandas()
    joint = pf.Joint.from_table(table, secret, names)
    table = table[names]
    assert largest_bias(pf.optimise(joint, pf.LIP(epsilon), objective="faithful"), joint, table, 200) < NOISE
    assert largest_bias(pf.optimise(joint, pf.LIP(epsilon)), joint, table, 20) > 4 * NOISE


@pytest.mark.long
def test_both_ways_agree_in_expectation():
    """Working back is unbiased, too, but farther off."""
    table = people(5_000, seed=2)
    protocol = fitted(table, pf.LIP(0.5), names=["town", "sex"])
    found = {way: [] for way in ("fitted", "other")}
    for seed in range(40):
        released = protocol.sanitise(table, seed=seed)
        for way, values in found.items():
            (one,) = pf.estimate(released, protocol, of="town", rows=way, model=False).tables
            values.append([e.share for e in one.estimates])
    true = np.bincount(table.town) / len(table)
    spread = {way: np.std(values, axis=0, ddof=1) for way, values in found.items()}
    for way, values in found.items():
        assert (np.abs(np.mean(values, axis=0) - true) <= NOISE * spread[way] / math.sqrt(40) + 1e-9).all()
    assert (spread["fitted"] <= spread["other"] + 1e-9).all()
    assert spread["fitted"].sum() < spread["other"].sum()


# --- intervals -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables():
    """Protocols for tables of the same population, each with a release, as tallies."""
    rng = np.random.default_rng(9)
    made = []
    for _ in range(160):
        joint = pf.Joint(rng.multinomial(600, P.ravel()).reshape(P.shape), attributes=NAMES)
        protocol = pf.optimise(joint, STRICT, objective="faithful")
        made.append((protocol, drawn(protocol, joint, rng)))
    return made


def meter_of(protocol, tally):
    return CountingMeter(tally, Scorer(protocol.block), protocol.people)


def true_share(names, values, where=None):
    """The share in the population, also among those with some values."""
    inside, whole = np.ones(P.shape[1:], bool), np.ones(P.shape[1:], bool)
    for axis, name in enumerate(NAMES):
        at = np.indices(P.shape[1:])[axis]
        if name in names:
            inside &= at == values[names.index(name)]
        if where and name in where:
            whole &= at == where[name]
    p = P.sum(axis=0)
    return p[inside & whole].sum() / p[whole].sum()


QUESTIONS = [
    (["town"], {}),
    (["sex"], {}),
    (["town", "age"], {}),
    (NAMES, {}),
    (["town"], {"sex": 1}),
    (["age"], {"town": 2}),
]


def test_intervals_of_counted_shares_hold_as_often_as_they_say(tables):
    coverage, naive = [], []
    for names, where in QUESTIONS:
        held, errors, off = [], [], []
        for protocol, tally in tables:
            meter, asker = meter_of(protocol, tally), Asker(protocol)
            fixed = {name: [asker.code(name, value)] for name, value in where.items()}
            for e in frequencies(Reader(meter, asker, fixed, Presentation()), names).estimates:
                true = true_share(names, e.values[0], where)
                held.append(e.low <= true <= e.high)
                off.append(e.share - true)
                errors.append(e.error)
                if names == NAMES:
                    low, high = share_between(np.array([600 * e.share]), 600.0, np.ones(1), 0.025)
                    naive.append(low <= true <= high)
                assert e.told
                assert e.likely is None
                assert e.counted == pytest.approx(e.share)
        assert np.mean(held) >= 0.95 - NOISE * math.sqrt(0.95 * 0.05 / len(tables))
        assert np.mean(np.square(off)) == pytest.approx(np.mean(np.square(errors)), rel=0.2)
        coverage += held
    assert 0.93 <= np.mean(coverage) <= 0.97
    assert np.mean(naive) < 0.935  # what a reader gets who takes released rows for a sample


def test_intervals_of_counted_means_and_quantiles_hold(tables):
    p = P.sum(axis=(0, 1, 2))
    held, halves = [], []
    for protocol, tally in tables:
        found = summary(Reader(meter_of(protocol, tally), Asker(protocol), {}, Presentation()), "age")
        held.append(found.low <= p @ np.arange(3) <= found.high)
        halves.append(found.quantiles[1].low <= np.searchsorted(np.cumsum(p), 0.5) <= found.quantiles[1].high)
        assert found.way == "counted"
    assert 0.92 <= np.mean(held) <= 0.985  # 160 tables: a standard error of 1.7%
    assert np.mean(halves) >= 0.93


def test_without_drawing_intervals_lie_within_those_of_clopper_and_pearson():
    k = np.arange(0, 101, 5.0)
    low, high = share_between(k, 100.0, np.ones(len(k)), 0.025)
    exact = [binomtest(int(x), 100).proportion_ci(0.95, method="exact") for x in k]
    assert low == pytest.approx([ci.low for ci in exact], abs=0.008)
    assert high == pytest.approx([ci.high for ci in exact], abs=0.008)
    assert (low >= [ci.low for ci in exact]).all()
    assert (high <= [ci.high for ci in exact]).all()


@given(joints(), st.sampled_from([0.05, 0.3, 1.0]))
def test_drawing_at_most_doubles_the_variance_and_is_that_of_the_theorem(joint, epsilon):
    protocol = pf.optimise(joint, pf.LIP(epsilon), objective="faithful")
    scorer, n = Scorer(protocol.block), joint.n_x
    half = (np.arange(n) % 2)[None, :].astype(float)
    whole = np.ones((1, n))
    counts = np.maximum(1, np.rint(1000 * scorer.marginal)).astype(np.int64)
    meter = CountingMeter(Tally(np.arange(n), counts), scorer, None)
    found = meter.excess(np.concatenate([half, np.eye(n)]), whole)
    assert ((found >= 1 - 1e-9) & (found <= 2 + 1e-9)).all()
    e, p = (half @ scorer.Q)[0], scorer.marginal / scorer.marginal.sum()
    f = e @ p
    if 1e-6 < f < 1 - 1e-6:
        assert found[0] == pytest.approx(1 + (p * e * (1 - e)).sum() / (f * (1 - f)), abs=1e-6)


def test_parts_of_a_release_and_several_releases_have_their_own_errors():
    """Half of the rows: twice the sampling, and as much drawing as in all. Two releases: half of the drawing."""
    table = people(2_000, seed=3)
    protocol = fitted(table)
    released = [protocol.sanitise(table, seed=seed) for seed in (1, 2)]
    both = pd.concat(released)
    error = {}
    for name, rows in (("half", released[0][:1_000]), ("one", released[0]), ("both", both)):
        (found,) = pf.estimate(rows, protocol, of="town", rows="fitted").tables
        e = found.estimates[0]
        error[name] = e.error**2 / (e.share * (1 - e.share))
    sampling, drawing = 1 / 2_000, error["one"] - 1 / 2_000
    assert 0 < drawing < sampling * 1.02
    assert error["half"] == pytest.approx(2 * sampling + drawing, rel=0.02)
    assert error["both"] == pytest.approx(sampling + drawing / 2, rel=0.02)


# --- which rows ----------------------------------------------------------------------------------------


@given(joints(), st.sampled_from([0.02, 0.2, 1.0]), st.integers(0, 10**6))
def test_rows_that_were_fitted_on_are_recognised(joint, epsilon, seed):
    protocol = pf.optimise(joint, pf.LIP(epsilon), objective="faithful")
    tally = drawn(protocol, joint, np.random.default_rng(seed))
    counts = np.bincount(tally.outputs, tally.counts, joint.n_x)
    assert fits(protocol.block, counts, joint.total)


@pytest.mark.parametrize("n", [200, 2_000, 100_000])
def test_many_values_with_few_people_each_are_recognised_too(n):
    """The published marginal is coarse where values are rare, and one frequent value is off by what all of them are."""
    rng = np.random.default_rng(n)
    rare = np.minimum(rng.geometric(0.4, 150), 9)
    weights = np.stack([rng.binomial(np.append(rare, n), 0.4), np.append(rare, n)])
    weights[1] -= weights[0]
    joint = pf.Joint(weights, attributes=["x"])
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    for _ in range(20):
        tally = drawn(protocol, joint, rng)
        assert fits(protocol.block, np.bincount(tally.outputs, tally.counts, joint.n_x), joint.total)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted")
    table = people(3_000, seed=4)
    protocol = fitted(table, pf.LIP(0.3))
    protocol.save(folder / "protocol.json")
    table.to_csv(folder / "people.csv", index=False)
    protocol.sanitise(folder / "people.csv", folder / "open.csv", seed=1)
    return folder


def test_the_file_tells_which_rows_can_be_counted(release):
    found = pf.estimate(release / "open.csv", pf.Protocol.load(release / "protocol.json"))
    assert found.way == "counted"
    assert "these are the 3,000 rows that the protocol was fitted on" in found.why
    released = pd.read_csv(release / "open.csv")
    for e in found.table("town").estimates:
        assert e.share == pytest.approx((released.town == e.values[0][0]).mean())


def test_other_rows_are_worked_back(release):
    """Next year's rows, of as many people who have moved; fewer rows; another protocol."""
    protocol = pf.Protocol.load(release / "protocol.json")
    moved = P.copy()
    moved[:, 0] *= 0.8
    later = protocol.sanitise(people(3_000, seed=8, p=moved / moved.sum())[NAMES], seed=2)
    found = pf.estimate(later, protocol, model=False)
    assert (found.way, found.tables[0].way) == ("channel", "channel")
    assert found.why.startswith("Counts differ from those of the rows that the protocol was fitted on")
    assert "--rows fitted" in found.why
    fewer = pf.estimate(pd.read_csv(release / "open.csv")[:2_900], protocol, model=False)
    assert fewer.way == "channel"
    assert fewer.why.startswith("The protocol was fitted on 3,000 rows, and these are 2,900")
    unknown = pf.estimate(release / "open.csv", replace(protocol, people=None), model=False)
    assert unknown.way == "channel"
    assert "does not say" in unknown.why
    table = pd.read_csv(release / "people.csv")
    old = fitted(table, objective="information")
    assert pf.estimate(old.sanitise(table, seed=1), old).why.startswith("The protocol keeps information")


@pytest.mark.parametrize(
    ("rows", "epsilon", "way"), [(2_000, 0.05, "channel"), (1_000, 0.3, "channel"), (5_000, 2.0, "counted")]
)
def test_rows_are_taken_for_the_fitted_ones_only_if_others_would_show(rows, epsilon, way):
    """With a strict promise nearly all rows are redrawn, so those of any table look like those of the fitted one."""
    rng = np.random.default_rng(rows)

    def towns(share):
        town = rng.random(rows) < share
        return pd.DataFrame({"town": town, "ill": rng.random(rows) < np.where(town, 0.9, 0.1)})

    table = towns(0.5)
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(epsilon), objective="faithful")
    found = pf.estimate(protocol.sanitise(table, seed=1), protocol, model=False)
    assert found.way == way
    assert ("does not show" in found.why) == (way == "channel")
    assert pf.estimate(protocol.sanitise(table, seed=1), protocol, model=False, rows="fitted").way == "counted"
    others = pf.estimate(protocol.sanitise(towns(0.8), seed=1), protocol, model=False)
    assert others.way == "channel"
    told = [e for e in others.table("town").estimates if e.values == ((True,),) and e.low is not None]
    assert all(e.low <= 0.8 <= e.high for e in told)


def test_columns_of_thousands_of_values_are_looked_at_by_their_commonest():
    rng = np.random.default_rng(9)
    place = np.minimum(rng.geometric(0.002, 60_000), 3_000)
    table = pd.DataFrame({"place": place, "ill": rng.random(60_000) < 0.3 + 0.1 * np.sin(place)})
    joint = pf.Joint.from_table(table, "ill", ["place"], bins={"place": "each"})
    assert joint.n_x > 2_000
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", time_limit=0.0)
    found = pf.estimate(protocol.sanitise(table, seed=1), protocol, of="place", model=False)
    assert found.way == "counted"
    assert sum(e.share for e in found.table("place").estimates) == pytest.approx(1.0)


def test_another_table_of_the_same_people_is_not_taken_for_the_fitted_one_if_it_differs_clearly(release):
    """Counting would lean towards the fitted table: its bias is that of the channel, and working back has none."""
    protocol = pf.Protocol.load(release / "protocol.json")
    moved = P.copy()
    moved[:, 0] *= 0.5
    true = moved[:, 0].sum() / moved.sum()
    later = people(3_000, seed=8, p=moved / moved.sum())[NAMES]
    share = {way: [] for way in ("fitted", "other")}
    for seed in range(8):
        for way, values in share.items():
            (table,) = pf.estimate(protocol.sanitise(later, seed=seed), protocol, of="town", rows=way).tables
            values.append(table.estimates[0].share)
    assert np.mean(share["fitted"]) > true + 0.02
    assert abs(np.mean(share["other"]) - true) < 0.02


def test_readers_can_say_which_rows_they_have(release):
    protocol, rows = pf.Protocol.load(release / "protocol.json"), release / "open.csv"
    assert pf.estimate(rows, protocol, rows="other").way == "channel"
    some = pd.read_csv(rows)[:500]
    assert pf.estimate(some, protocol, rows="fitted").way == "counted"
    flat = pd.concat([some[:1]] * 3_000)
    assert "though their counts hardly fit" in pf.estimate(flat, protocol, rows="fitted").why
    with pytest.raises(InvalidInput, match="'fitted' or 'other'"):
        pf.estimate(rows, protocol, rows="all")
    table = pd.read_csv(release / "people.csv")
    old = fitted(table, objective="information")
    with pytest.raises(InvalidInput, match="cannot be counted as they stand"):
        pf.estimate(old.sanitise(table, seed=1), old, rows="fitted")


def test_a_group_without_rows_is_said_to_have_none(release):
    protocol = pf.Protocol.load(release / "protocol.json")
    nobody = pd.read_csv(release / "open.csv").query("town != 1")
    found = pf.estimate(nobody, protocol, of="age", by="town", rows="fitted")
    assert [empty.reason for empty in found.empty] == ["no released row has town = 1; ask for a larger group"]
    with pytest.raises(InvalidTable, match="no released row"):
        pf.estimate(nobody, protocol, of="age", where={"town": 1}, rows="fitted")


def test_the_command_line_says_what_it_did_and_why(release, capsys):
    asked = ["estimate", str(release / "open.csv"), "--protocol", str(release / "protocol.json"), "--of", "town"]
    assert run(asked) == 0
    out = capsys.readouterr().out
    assert "they are counted as they stand" in " ".join(out.split())
    assert "most likely" not in out
    assert "labels counted" not in out
    assert run([*asked, "--rows", "other"]) == 0
    out = capsys.readouterr().out
    assert "worked back from how the protocol draws rows" in " ".join(out.split())
    assert "most likely" in out
    assert run([*asked, "--project", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["way"], found["tables"][0]["way"], found["tables"][0]["projected"]) == ("counted", "counted", False)
    assert "as they stand" in found["why"]
    assert run([*asked, "--rows", "all"]) == 2
    assert "--rows should be fitted or other" in capsys.readouterr().err
