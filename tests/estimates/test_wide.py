"""Estimates from a model's release: small channels by brute force, intervals that hold, and rows that are not told."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import ExactFit, InvalidInput, InvalidTable
from privacyfunnel.estimates.wide.leaning import leaning
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.optimiser.wide.margin import aimed_at
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.wide.column_counts import column_counts
from privacyfunnel.protocols.wide.mixing_rule import mixed_plan_of
from privacyfunnel.protocols.wide.moves import expected_shares, moves_of, place_of
from privacyfunnel.tables.wide import fit
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.wide.marginals import exact_marginals, private_marginals
from privacyfunnel.tables.wide.redrawing import Redrawing

NAMES = ["a", "b", "c", "d"]
SIZES = (4, 5, 3, 2)


def frame_of(rows, seed):
    """People in whom b goes with a, and the secret with both: the truth is known."""
    rng = np.random.default_rng(seed)
    a, c, d = (rng.integers(0, size, rows) for size in (4, 3, 2))
    b = (a + rng.integers(0, 3, rows)) % 5
    ill = rng.random(rows) < 1 / (1 + np.exp(1.5 - 0.5 * a - 0.3 * b + 0.3 * c))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "ill": np.where(ill, "yes", "no")})


def true_shares(*columns):
    """P(a, b, c, d) is that of the made-up people, summed over all other columns."""
    table = np.zeros(SIZES)
    for a, k, c, d in itertools.product(range(4), range(3), range(3), range(2)):
        table[a, (a + k) % 5, c, d] += 1 / (4 * 3 * 3 * 2)
    return table.sum(axis=tuple(j for j, name in enumerate(NAMES) if name not in columns))


@pytest.fixture(scope="module")
def frame():
    return frame_of(8_000, 1)


@pytest.fixture(scope="module")
def joint(frame):
    return pf.Joint.from_table(frame, "ill", NAMES)


@pytest.fixture(scope="module")
def protocol(joint, noise_with_seed):
    """By groups, as where combinations are many."""
    with noise_with_seed(0):
        return fit_wide(joint, pf.LIP(0.3), 1.0, seconds=0)


@pytest.fixture(scope="module")
def listed(joint, noise_with_seed):
    """By a list, as where combinations are few; at the borders of groups, which leave fewer cells for sure."""
    with noise_with_seed(0), pytest.MonkeyPatch.context() as patched:
        patched.setattr(fit, "lists_aim_at", aimed_at)
        return fit_wide(joint, pf.LIP(0.3), 1.0)


@pytest.fixture(scope="module")
def released(protocol, frame):
    return protocol.sanitise(frame, seed=1)


def channel_of(plan):
    """Q[x′, x] as fractions, from the definition: into a group by m_g(x)/W(x), out of it by m_g(x′)/M_g."""
    n = plan.W.size
    groups = [{x: int(plan.alone[x])} for x in range(n) if plan.alone[x]]
    for x, z, m, k in zip(plan.pairs.first, plan.pairs.second, plan.pairs.m, plan.pairs.n, strict=True):
        groups.append({int(x): int(m), int(z): int(k)})
    several, left = plan.groups, sum(int(w) for w in plan.leaving)
    for start, end in itertools.pairwise(several.start):
        groups.append(dict(zip(several.cells[start:end].tolist(), several.mass[start:end].tolist(), strict=True)))
    Q = [[Fraction(0)] * n for _ in range(n)]
    for group in groups:
        total = sum(group.values())
        for x, m in group.items():
            for other, k in group.items():
                Q[other][x] += Fraction(m, int(plan.W[x])) * Fraction(k, total)
    for x, other in itertools.product(range(n), repeat=2):
        Q[other][x] += Fraction(int(plan.rest[x]) * int(plan.leaving[other]), int(plan.W[x]) * left)
    for x, other, m in zip(plan.listed.source, plan.listed.target, plan.listed.mass, strict=True):
        Q[other][x] += Fraction(int(m), int(plan.W[x]))
    return Q


def plan_of_three_secrets():
    weights = np.exp(np.random.default_rng(3).normal(0, 1, (3, int(np.prod(SIZES)))))
    weights = (weights / weights.sum() * 2.0**60).astype(np.int64)
    return mixed_plan_of(mixing_rule_for(pf.LIP(0.2).limits, weights, SIZES), weights, SIZES)


@pytest.fixture(scope="module", params=["pairs", "groups", "list"])
def plan_and_channel(request, protocol, listed):
    kind = request.param
    plan = {"pairs": protocol.by_model.plan, "groups": plan_of_three_secrets(), "list": listed.by_model.plan}[kind]
    assert len({"pairs": plan.pairs.m, "groups": plan.groups, "list": plan.listed}[kind]) > 5
    return plan, np.array(channel_of(plan), dtype=np.float64)


@pytest.mark.long
@pytest.mark.parametrize("columns", [(0,), (2, 0), (1, 3), (0, 1, 2)])
def test_what_becomes_of_some_columns_is_that_of_all_summed_up(plan_and_channel, columns):
    plan, Q = plan_and_channel
    assert Q.sum(axis=0) == pytest.approx(np.ones(len(Q)))
    place = place_of(np.arange(plan.W.size), SIZES, columns)
    k = int(place.max()) + 1
    into = (np.arange(k)[:, None] == place) @ Q  # e[A, x]
    p = plan.W / plan.W.sum()
    moves = moves_of(plan, SIZES, columns)
    by_hand = np.stack([(into * p)[:, place == cell].sum(axis=1) / p[place == cell].sum() for cell in range(k)], axis=1)
    assert pytest.approx(by_hand, abs=1e-12) == moves.E
    assert moves.E @ moves.p == pytest.approx(moves.p)  # rows keep the model's distribution
    assert (moves.drawing >= (into * (1 - into)) @ p - 1e-12).all()
    people = np.random.default_rng(0).integers(0, 9, 30).astype(float)
    numbers = np.random.default_rng(1).choice(plan.W.size, 30, replace=False)
    given = np.bincount(numbers, people / people.sum(), plan.W.size)
    assert expected_shares(plan, SIZES, columns, numbers, people) == pytest.approx(into @ given, abs=1e-12)


def test_a_model_that_changes_nothing_but_one_row_in_thousands_is_counted_with_hardly_more_than_sampling():
    """A secret that is the parity of three columns: no pair of these tells it."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (3_000, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(ill=np.where(x.sum(axis=1) % 2, "yes", "no"))
    joint = pf.Joint.from_table(frame, "ill", ["a", "b", "c"])
    protocol = fit_wide(joint, pf.LIP(0.5), None)
    assert not len(protocol.by_model.plan.pairs.m)
    assert pf.expected_errors(protocol, joint, of="pairs").counted_typical < 1.01
    found = pf.estimate(protocol.sanitise(frame), protocol, of="a").table("a").estimates[0]
    assert found.error == pytest.approx(0.5 / np.sqrt(3_000), rel=0.02)


def test_columns_with_too_many_combinations_are_refused(protocol, monkeypatch):
    monkeypatch.setattr("privacyfunnel.protocols.wide.moves.MOST_CELLS", 10)
    with pytest.raises(InvalidInput, match="fewer columns"):
        moves_of(protocol.by_model.plan, SIZES, (0, 1))


def test_counts_of_a_column_weigh_its_tables_by_their_noise():
    joint = pf.Joint.from_table(frame_of(3_000, 2), "ill", NAMES)
    exact = column_counts(exact_marginals(joint))
    assert [own.variance for own in exact] == [0.0] * 4
    for j, own in enumerate(exact):
        assert list(own.people) == np.bincount(joint.codes[:, j], joint.weights.astype(float).sum(axis=0)).tolist()
    squares = []
    for _ in range(60):
        told = column_counts(private_marginals(joint, 1.0))
        squares += [
            (np.array(own.people) - np.array(true.people)) ** 2 / own.variance
            for own, true in zip(told, exact, strict=True)
        ]
    assert 0.8 < np.concatenate(squares).mean() < 1.25  # the variance that is said is that of the noise


@pytest.mark.parametrize("times", [1.0, 4.0, 20.0])
def test_how_far_rows_lean_is_found_and_not_taken_to_be_less(times):
    rng, found = np.random.default_rng(5), []
    drawing, noise = rng.uniform(0.5, 2, 40), rng.uniform(0, 3, 40)
    for _ in range(200):
        off = rng.normal(0, np.sqrt(noise + times * drawing))
        found.append(leaning(off, noise, drawing, np.ones(40)))
    assert times < np.median(found) < 2.2 * times + 1
    assert np.mean(np.array(found) >= times) > 0.85
    assert leaning(off, noise, np.zeros(40), np.ones(40)) == 1.0


def test_shares_are_those_of_the_rows_as_they_stand_and_intervals_hold_more_than_sampling(protocol, released):
    found = pf.estimate(released, protocol, of=["a", ("c", "b")])
    assert found.way == "counted"
    assert "lean towards its model" in found.why
    for one, share in zip(
        found.table("a").estimates, released.a.value_counts(normalize=True).sort_index(), strict=True
    ):
        assert one.share == pytest.approx(share)
        assert one.error > np.sqrt(share * (1 - share) / len(released))
        assert one.low < share < one.high
    both = found.table("b", "c")
    assert len(both.estimates) == 15
    assert sum(one.share for one in both.estimates) == pytest.approx(1.0)
    group = pf.estimate(released, protocol, of="b", where={"a": 0}).table("b", a=0)
    inside = released[released.a == 0].b.value_counts(normalize=True)
    assert [one.share for one in group.estimates] == pytest.approx([inside.get(b, 0.0) for b in range(5)])


@pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=pytest.mark.long)], ids=["groups", "list"])
def test_intervals_hold_about_as_often_as_they_say_where_plain_ones_do_not(seconds):
    """Twelve fits with noise, each of other people: shares of every column and of every pair."""
    held, plain = [], []
    for seed in range(12):
        frame = frame_of(6_000, 100 + seed)
        protocol = fit_wide(pf.Joint.from_table(frame, "ill", NAMES), pf.LIP(0.3), 1.0, seconds=seconds)
        pairs = list(itertools.combinations(NAMES, 2))
        found = pf.estimate(protocol.sanitise(frame, seed=seed), protocol, of=[*NAMES, *pairs])
        for table in found.tables:
            exact = true_shares(*table.attributes).ravel()
            for one, f in zip(table.estimates, exact, strict=True):
                if f * len(frame) > 20:
                    held.append(one.low <= f <= one.high)
                    plain.append(abs(one.share - f) <= 1.96 * np.sqrt(f * (1 - f) / len(frame)))
    assert np.mean(held) > 0.95
    assert np.mean(plain) < 0.93


def test_a_slope_that_rows_as_they_stand_shrink_is_worked_back():
    """The model's tables of pairs are shrunk by as much as noise made of them, and rows lean towards that."""
    truth = np.cov(np.stack(np.unravel_index(np.arange(120), SIZES))[:2], aweights=true_shares(*NAMES).ravel())
    slope, plain, worked, held = truth[0, 1] / truth[0, 0], [], [], []
    for seed in range(12):
        frame = frame_of(6_000, 200 + seed)
        protocol = fit_wide(pf.Joint.from_table(frame, "ill", NAMES), pf.LIP(0.5), 1.0, seconds=0)
        released = protocol.sanitise(frame, seed=seed)
        try:
            found = pf.regress(released, protocol, "b ~ a").coefficient("a")
        except InvalidTable:  # not told
            continue
        plain.append(np.polyfit(released.a, released.b, 1)[0] - slope)
        worked.append(found.value - slope)
        held.append(found.low <= slope <= found.high)
    assert len(held) > 6
    assert np.mean(held) > 0.8
    assert np.mean(plain) < -0.005
    assert abs(np.median(worked)) < abs(np.median(plain))


def test_groups_are_compared_from_the_same_file_and_strengths_are_not_told(protocol, released):
    compared = pf.compare(released, protocol, "b", by="d")
    assert compared.way == "channel"
    assert all(one.difference.low <= one.difference.value <= one.difference.high for one in compared.contrasts)
    with pytest.raises(InvalidTable, match=r"a and b go together in all: .* what the model has wrong"):
        pf.associate(released, protocol, "a", "b")


def test_other_rows_are_not_told(protocol, frame):
    fewer = protocol.sanitise(frame[:4_000])
    for ask in (
        lambda table, **more: pf.estimate(table, protocol, of="a", **more),
        lambda table, **more: pf.regress(table, protocol, "b ~ a", **more),
        lambda table, **more: pf.compare(table, protocol, "a", by="b", **more),
    ):
        with pytest.raises(InvalidTable, match="fitted on 8,000 rows, and these are 4,000"):
            ask(fewer)
        with pytest.raises(InvalidTable, match="other rows"):
            ask(protocol.sanitise(frame), rows="other")
    alike = protocol.sanitise(frame.assign(a=0), seed=3)
    with pytest.raises(InvalidTable, match="differ by far"):
        pf.estimate(alike, protocol, of="a")
    assert pf.estimate(alike, protocol, of="a", rows="fitted").table("a").estimates[3].high > 0.2
    with pytest.raises(InvalidInput, match="the rows are"):
        pf.estimate(fewer, protocol, rows="some")
    with pytest.raises(InvalidInput, match="follows no earlier release"):
        pf.estimate(fewer, protocol, person="a")
    with pytest.raises(InvalidTable, match="the secret of this protocol"):
        pf.estimate(frame, protocol)
    with pytest.raises(InvalidTable, match="never releases"):
        pf.estimate(protocol.sanitise(frame).assign(a=9), protocol)


def test_rows_that_were_swapped_for_others_of_the_same_number_make_intervals_wide(protocol, frame, released):
    """Nothing in a file tells whose rows they are; but how far they lean is found from them."""
    moved = frame.assign(a=np.where(np.arange(len(frame)) % 12 == 0, 0, frame.a))
    honest, again, swapped = (
        WideMeters.of(protocol, rows, "fitted", delimiter=None, encoding="utf-8").leaning
        for rows in (released, protocol.sanitise(frame, seed=4), protocol.sanitise(moved, seed=4))
    )
    assert swapped > 5 * honest  # with this noise; with other noise, 3.5 to 20 times
    assert again < 2 * honest


@pytest.mark.parametrize("kind", ["groups", "list"])
def test_expected_errors_are_those_of_many_releases(protocol, listed, joint, frame, kind):
    protocol = protocol if kind == "groups" else listed
    expected = pf.expected_errors(protocol, joint, of=["a", ("a", "b")])
    numbers = np.ravel_multi_index(tuple(frame[name].to_numpy() for name in NAMES), SIZES)
    drawing = Redrawing(protocol.by_model.plan)
    randomness = Randomness.seeded(8)
    releases = [drawing.drawn(numbers, randomness) for _ in range(300)]
    for one in expected.shares[::4]:
        columns = [NAMES.index(name) for name in one.attributes]
        cell = np.ravel_multi_index(one.values, [SIZES[j] for j in columns])
        off = [np.mean(place_of(x, SIZES, columns) == cell) - one.share for x in releases]
        square = np.mean(np.square(off)) + one.original**2  # the table itself is a sample
        assert 0.9 < one.counted**2 / square < 1.5  # drawing is bounded from above
        assert one.estimated is None
    assert expected.counted_typical >= 1.0
    with pytest.raises(InvalidInput, match="other columns"):
        pf.expected_errors(protocol, pf.Joint(np.ones((2, 3, 3))))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_tables_come_back_in_their_own_kind(protocol, frame, tmp_path, kind):
    (tmp_path / "wide.json").write_text(to_text(protocol), encoding="utf-8")
    loaded = pf.Protocol.load(tmp_path / "wide.json")
    table = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}[kind]
    released = loaded.sanitise(table)
    assert type(released) is type(table)
    assert len(released) == len(frame)
    assert pf.estimate(released, loaded, of="a").rows == len(frame)


def test_a_model_without_noise_warns_when_it_is_saved(joint, tmp_path):
    exact = fit_wide(joint, pf.LIP(0.3), None)
    with pytest.warns(ExactFit, match="fitted on exact counts"):
        exact.save(tmp_path / "wide.json")
    assert to_text(pf.Protocol.load(tmp_path / "wide.json")) == to_text(exact)


COMMANDS = {
    "estimate": ["estimate", "{released}", "--protocol", "{file}"],
    "compare": ["estimate", "{released}", "--protocol", "{file}", "--of", "a", "--compare", "b"],
    "regress": ["regress", "{released}", "c ~ d", "--protocol", "{file}"],
    "sanitise": ["sanitise", "{table}", "--protocol", "{file}", "-o", "{output}"],
    "audit": ["audit", "{file}"],
    "report": ["report", "{file}", "--public", "-o", "{output}"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, protocol, frame, released):
    folder = tmp_path_factory.mktemp("wide")
    frame.to_csv(folder / "people.csv", index=False)
    released.to_csv(folder / "open.csv", index=False)
    (folder / "wide.json").write_text(to_text(protocol), encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", ["cut", "edited", "later", "earlier", "count", "no counts", "empty"])
def test_a_broken_file_is_refused_in_a_line_by_every_command(folder, tmp_path, capsys, command, fault):
    text = (folder / "wide.json").read_text(encoding="utf-8")
    broken = {
        "cut": text[: len(text) // 2],
        "edited": text.replace('"people": 8000', '"people": 7999'),
        "later": text.replace("privacyfunnel/1", "privacyfunnel/99"),
        "earlier": text.replace("privacyfunnel/1", "privacyfunnel-wide/4"),
        "count": text.replace('"people": [', '"people": [0.5, ', 1),
        "no counts": text.replace('"tables": [', '"tables": [], "more": ['),
        "empty": "",
    }[fault]
    (tmp_path / "broken.json").write_text(broken, encoding="utf-8")
    places = {
        "released": folder / "open.csv", "table": folder / "people.csv", "file": tmp_path / "broken.json",
        "output": tmp_path / "out.csv",
    }  # fmt: skip
    assert run([part.format(**places) for part in COMMANDS[command]]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "Traceback" not in error
    assert not (tmp_path / "out.csv").exists()


def test_the_command_line_answers_in_the_same_form_as_for_other_protocols(folder, capsys):
    given = ["--protocol", str(folder / "wide.json"), "--json"]
    assert run(["estimate", str(folder / "open.csv"), "--of", "a,b:c", *given]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"rows", "way", "why", "confidence", "tables", "summaries", "empty"} <= set(answer)
    assert {"values", "share", "error", "low", "high"} <= set(answer["tables"][0]["estimates"][0])
    assert run(["regress", str(folder / "open.csv"), "c ~ d", *given]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["coefficients"]] == ["Intercept", "d"]
    assert run(["estimate", str(folder / "open.csv"), "--of", "nothing", *given]) == 2
    assert "does not release 'nothing'" in capsys.readouterr().err
