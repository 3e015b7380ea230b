"""Association: right numbers where all is known, intervals that hold, refusals in one line."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from benchmarks.private_intervals import joint_of, opened
from scipy.stats import contingency, pearsonr, spearmanr

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.associate import association
from privacyfunnel.estimates.cell_shares import CellShares
from privacyfunnel.estimates.strength import away_from_independence, correlated, cramers_v
from privacyfunnel.estimates.strength import correlation as pearson
from privacyfunnel.tables.reading_back import Tally
from released_people import NAMES, WAYS, P, fit, releases, sample, table_of

LEAST = 0.92
"""Of intervals at 95% that must hold: what was asked for."""


def test_numbers_of_rows_that_stayed_as_they_are_are_those_that_everybody_knows(kept):
    table, released, protocol = kept
    found = pf.associate(released, protocol, "town", "age")
    assert found.way == "counted"
    assert found.pearson.value == pytest.approx(pearsonr(table.town, table.age)[0], abs=1e-12)
    assert found.spearman.value == pytest.approx(spearmanr(table.town, table.age)[0], abs=1e-12)
    counts = pd.crosstab(table.town, table.age).to_numpy()
    plain = contingency.association(counts)
    free = 4 / len(table) / 2  # what chance alone makes of V²: degrees of freedom over n, divided by k − 1
    assert found.cramers_v.value == pytest.approx(np.sqrt(max(0, plain**2 - free)), abs=0.002)
    assert found.cramers_v.low <= found.cramers_v.value <= found.cramers_v.high


def test_an_odds_ratio_of_rows_that_stayed_has_woolfs_error(kept):
    table, released, protocol = kept
    (odds, *_) = pf.associate(released, protocol, "sex", "town").odds_ratios
    n = pd.crosstab(table.town, table.sex)
    own = [
        n.loc[value, group] for value in (odds.value, odds.reference) for group in (odds.group, odds.group_reference)
    ]
    a, b, c, d = own
    assert odds.ratio.value == pytest.approx(a * d / (b * c))
    assert odds.ratio.error == pytest.approx(odds.ratio.value * np.sqrt(sum(1 / x for x in own)), rel=0.02)
    assert odds.ratio.low < odds.ratio.value < odds.ratio.high


def test_correlations_have_fishers_intervals(kept):
    table, released, protocol = kept
    r = pf.associate(released, protocol, "town", "age").pearson
    known = pearsonr(table.town, table.age).confidence_interval()
    assert (r.low, r.high) == (pytest.approx(known.low, abs=0.005), pytest.approx(known.high, abs=0.005))


def test_missing_is_left_out_of_correlations():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 2_000)
    table = pd.DataFrame({"x": x, "y": (x + rng.integers(0, 3, 2_000)).astype(float), "ill": rng.integers(0, 2, 2_000)})
    table.loc[::7, "y"] = np.nan
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["x", "y"]), pf.LIP(20.0), objective="faithful")
    found = pf.associate(protocol.sanitise(table[["x", "y"]], seed=1), protocol, "x", "y", rows="fitted")
    there = table.dropna()
    assert found.pearson.value == pytest.approx(pearsonr(there.x, there.y)[0], abs=1e-9)


def test_a_value_that_only_people_with_a_left_out_value_have_is_left_out_too():
    a = np.repeat([0, 0, 1, 1, 2, 2], [250, 250, 250, 250, 8, 8])
    b = np.repeat([0, 1, 0, 1, 2, 3], [250, 250, 250, 250, 8, 8])
    table = pd.DataFrame({"a": a, "b": b, "ill": np.arange(len(a)) % 2})
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["a", "b"]), pf.LIP(20.0), objective="faithful")
    found = pf.associate(protocol.sanitise(table[["a", "b"]], seed=1), protocol, "a", "b", rows="fitted")
    assert found.cramers_v.low == found.cramers_v.value == 0
    notes = [note.partition(":")[0] for note in found.notes if note.startswith("Cramér")]
    of = "Cramér's V is among people with other values of"
    assert notes == [f"{of} a than 2", f"{of} b than 2 and 3"]


def test_intervals_of_all_but_perfect_associations_hold():
    p = np.array([[0.6, 0.001], [0.001, 0.398]])
    joint = joint_of(np.rint(np.stack([p, p]) * 5_000).astype(np.int64))
    protocol, rng = pf.optimise(joint, pf.LIP(20.0), objective="faithful"), np.random.default_rng(0)
    r, held = correlation(p, np.arange(2), np.arange(2)), []
    for _ in range(80):
        counts = rng.multinomial(500, p.ravel())
        seen = np.flatnonzero(counts)
        found = association(opened(protocol, Tally(seen, counts[seen]), "fitted"), "a", "b")
        held.append([one.low <= r <= one.high for one in (found.cramers_v, found.pearson, found.spearman)])
    assert np.mean(held, axis=0).min() >= LEAST  # V is |r| of two by two


class Noisy(CellShares):
    """The shares of 10⁶ people with noise F z, z standard normal."""

    rows, identified = 10**6, True

    def __init__(self, p, F, rng):
        self.codes, self.F = np.indices(p.shape).reshape(2, -1).T, F
        self.values = p.ravel() + F @ rng.normal(size=F.shape[1])

    def covariance(self, rows):
        return rows @ self.F @ self.F.T @ rows.T


def test_a_correlation_that_noise_takes_beyond_1_is_told_and_holds():
    p, rng, held, beyond = np.array([[0.597, 0.003], [0.003, 0.397]]), np.random.default_rng(0), [], 0
    score = partial(pearson, np.arange(2), np.arange(2))
    for _ in range(300):
        cells = Noisy(p, 0.005 * np.eye(4), rng)
        beyond += score(cells.grid(p.shape).astype(complex)).real > 1
        held.append(within(correlated(cells, cells.grid(p.shape), score, 0.025), score(p.astype(complex)).real))
    assert beyond > 30
    assert held.count(None) < beyond / 3
    assert np.mean([one for one in held if one is not None]) >= LEAST


def test_cramers_v_holds_where_noise_may_hide_what_lies_in_its_direction():
    p = np.array([[0.060, 0.157, 0.227], [0.121, 0.031, 0.096], [0.078, 0.123, 0.107]])
    one = np.array([[-0.0131, 0.0253, -0.0122], [0.0079, -0.0090, 0.0011], [0.0052, -0.0163, 0.0111]])
    F, rng, held = np.column_stack([0.0005 * np.eye(9), one.ravel()]), np.random.default_rng(1), []
    true = np.linalg.norm(away_from_independence(p.astype(complex)).real) / np.sqrt(2)
    for _ in range(200):
        cells = Noisy(p, F, rng)
        held.append(within(cramers_v(cells, cells.grid(p.shape), (np.ones(3, dtype=bool),) * 2, 0.025), true))
    assert np.mean(held) >= LEAST


@pytest.mark.parametrize("rows", ["fitted", "other"])
def test_attributes_that_tell_each_other_have_an_interval(rows):
    table = pd.DataFrame({"a": np.repeat([0, 1], [107, 100]), "ill": np.arange(207) % 2})
    table["b"] = table.a
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["a", "b"]), pf.LIP(0.5), objective="faithful")
    found = pf.associate(protocol.sanitise(table[["a", "b"]], seed=1), protocol, "a", "b", rows=rows)
    for one in (found.cramers_v, found.pearson):
        assert 0.9 < one.low < 0.995 < one.value <= one.high == 1


def test_ranges_without_an_end_have_ranks_and_no_pearson_correlation():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"x": rng.normal(size=2_000), "y": rng.integers(0, 3, 2_000), "ill": rng.integers(0, 2, 2_000)}
    )
    joint = pf.Joint.from_table(table, "ill", ["x", "y"], bins={"x": [-1e308, -1.0, 1.0, 1e308]})
    protocol = pf.optimise(joint, pf.LIP(1.0), objective="faithful")
    found = pf.associate(protocol.sanitise(table[["x", "y"]], seed=1), protocol, "x", "y", rows="fitted")
    assert found.pearson is None
    assert found.spearman is not None
    assert any("no end" in note for note in found.notes)


def test_what_makes_no_sense_is_refused_in_one_line(kept):
    _, released, protocol = kept
    with pytest.raises(InvalidInput, match="named twice"):
        pf.associate(released, protocol, "sex", "sex")
    with pytest.raises(InvalidTable, match="does not release"):
        pf.associate(released, protocol, "sex", "shoes")
    with pytest.raises(InvalidInput, match="single value"):
        pf.associate(released, protocol, "sex", "town", where={"sex": 1})
    with pytest.raises(InvalidInput, match="Protocol"):
        pf.associate(released, "protocol.json", "sex", "town")


def test_what_the_rows_do_not_tell_is_refused():
    table = sample(np.random.default_rng(3), 300)
    protocol = fit(table, "worked back", pf.LIP(0.01))
    with pytest.raises((InvalidTable, InvalidInput)):
        pf.associate(protocol.sanitise(table[NAMES], seed=1), protocol, "sex", "town")


def test_the_command_shows_and_tells_associations(kept, tmp_path, capsys):
    _, released, protocol = kept
    released.to_csv(tmp_path / "open.csv", index=False)
    protocol.save(tmp_path / "protocol.json")
    command = ["estimate", str(tmp_path / "open.csv"), "--protocol", str(tmp_path / "protocol.json"), "--association"]
    assert run([*command, "--of", "sex:town,town:age"]) == 0
    assert "Cramér's V" in capsys.readouterr().out
    assert run([*command, "--of", "town:age", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["associations"][0]["pearson"]["low"] < told["associations"][0]["pearson"]["high"]
    for wrong in (["--of", "town"], [], ["--of", "sex:town", "--compare", "age"], ["--of", "sex:town", "--by", "age"]):
        assert run([*command, *wrong]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_intervals_of_associations_hold(way):
    held = {"v": [], "odds": [], "pearson": [], "spearman": []}
    both, numbers = table_of("sex", "town"), table_of("town", "age")
    expected = np.outer(both.sum(axis=1), both.sum(axis=0))
    v = np.sqrt(((both - expected) ** 2 / expected).sum())
    a, b = numbers.sum(axis=1), numbers.sum(axis=0)
    true = {"pearson": correlation(numbers, np.arange(3), np.arange(3))}
    true["spearman"] = correlation(numbers, np.cumsum(a) - a / 2, np.cumsum(b) - b / 2)
    for released, protocol, rows in releases(np.random.default_rng(8), way, 1_500, 120):
        found = pf.associate(released, protocol, "sex", "town", rows=rows)
        held["v"].append(within(found.cramers_v, v))
        for one in found.odds_ratios:
            share = both[one.group, one.value] / both[one.group, one.reference]
            other = both[one.group_reference, one.value] / both[one.group_reference, one.reference]
            held["odds"].append(within(one.ratio, share / other))
        found = pf.associate(released, protocol, "town", "age", rows=rows)
        for name in ("pearson", "spearman"):
            held[name].append(within(getattr(found, name), true[name]))
    shares = {name: np.mean([each for each in values if each is not None]) for name, values in held.items()}
    slack = 2 * np.sqrt(LEAST * (1 - LEAST) / 120)  # a share of 120 is known no better
    assert all(share >= LEAST - slack for share in shares.values()), shares
    assert all(values.count(None) < len(values) / 2 for values in held.values())


def correlation(p, x, y):
    a, b = p.sum(axis=1), p.sum(axis=0)
    x, y = x - a @ x, y - b @ y
    return x @ p @ y / np.sqrt(a @ x**2 * (b @ y**2))


def within(figure, true):
    if figure is None:
        return None
    low, high = figure.low, figure.high
    return (low is None or low <= true) and (high is None or true <= high)


def test_the_population_of_these_tests_is_a_distribution():
    assert P.sum() == pytest.approx(1)
