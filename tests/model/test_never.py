"""Never: what a steward says that no row is, no filled row is, whatever noise made of the model."""

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import privacyfunnel as pf
from checked_files import sealed
from filled_people import kept, people
from privacyfunnel.cli.app import run
from privacyfunnel.cli.releasing import release
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidProtocol, InvalidTable
from privacyfunnel.model.obeying import Obeying
from privacyfunnel.model.sampling import Sampler
from privacyfunnel.proof.fill_file import flaw_in_filled
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.fill import Fill, Filled, FillNoise, Inside
from privacyfunnel.protocols.never import GONE, Never, Values, leaves_a_value
from privacyfunnel.publishing import check
from privacyfunnel.recipes.recipe import load
from privacyfunnel.spec.of_protocol import spec_of
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.never import named_last
from privacyfunnel.tables.reading_back import rows_in_batches
from privacyfunnel.tables.sources import open_source

NEVER = "age < 30 and wage is not missing or job = 'x' and (town = 'a' or wage >= 700)"


def broken(table):
    """How many rows fulfil NEVER, reckoned by itself."""
    rows = table.select(["age", "wage", "job", "town"]).to_pylist()
    young = [r["age"] is not None and r["age"] < 30 and r["wage"] is not None for r in rows]
    odd = [r["job"] == "x" and (r["town"] == "a" or (r["wage"] is not None and r["wage"] >= 700)) for r in rows]
    return int(np.sum(young)), int(np.sum(odd))


@pytest.fixture(scope="module")
def table():
    plain = people(3_000)
    age, wage = plain["age"].to_pylist(), plain["wage"].to_pylist()
    own = [None if a is not None and a < 30 else w for a, w in zip(age, wage, strict=True)]
    return plain.set_column(plain.schema.get_field_index("wage"), "wage", pa.array(own, pa.int64()))


@pytest.fixture(scope="module")
def base(table, noise_with_seed):
    with noise_with_seed(5):
        return kept(table)


def filled(table, base, never, names=("wage", "job"), epsilon=2.0):
    return with_fill(base, open_source(table), list(names), epsilon, never=never)


@pytest.fixture(scope="module")
def protocol(table, base, noise_with_seed):
    with noise_with_seed(6):
        return filled(table, base, NEVER)


def test_no_row_is_drawn_that_was_declared_never_to_be(table, base, protocol, noise_with_seed):
    with noise_with_seed(6):
        free = filled(table, base, None)
    assert min(broken(free.sanitise(table, seed=1))) > 20  # by noise, and since the model knows no more than pairs
    for seed in range(3):
        assert broken(protocol.sanitise(table, seed=seed)) == (0, 0)


def test_columns_that_are_named_together_are_drawn_given_each_other(protocol):
    parents = {one.name: set(one.parents) for one in protocol.fill.filled}
    assert "age" in parents["wage"]
    assert "wage" in parents["job"] or "job" in parents["wage"]
    wage = protocol.fill.within("wage")
    assert 700 in wage.parts[:, 1]  # a cell begins where the condition does
    age = protocol.fill.within("age")
    assert 30 in age.parts[:, 1]


def test_a_file_says_what_never_occurs_and_keeps_its_proofs(protocol, capsys, tmp_path):
    again = from_text(to_text(protocol))
    assert to_text(again) == to_text(protocol)
    assert again.fill.never == protocol.fill.never
    assert spec_of(again, "people.csv").never == NEVER
    assert flaw_in_filled(again) is None
    assert pf.certify(again).holds
    protocol.save(tmp_path / "p.json")
    assert check.main([str(tmp_path / "p.json")]) == 0
    assert f"never     {NEVER}: no row" in capsys.readouterr().out
    assert NEVER in protocol.fill.words()


def test_rows_that_were_declared_never_to_be_are_no_release(table, protocol, tmp_path):
    pa.csv.write_csv(protocol.sanitise(table, seed=2), tmp_path / "open.csv")
    assert sum(len(rows) for rows in rows_in_batches(protocol, tmp_path / "open.csv")) == 3_000
    rows = protocol.sanitise(table, seed=2).to_pylist()
    next(row for row in rows if row["wage"] is not None and row["wage"] >= 700).update(job="x")
    pa.csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "other.csv")
    with pytest.raises(InvalidTable, match=r"never releases .*1 in rows that fulfil"):
        list(rows_in_batches(protocol, tmp_path / "other.csv"))


NOISE = FillNoise(1.0, 1e-6, 0.2, 50.0, 3)
PARTS = np.array([[0, 0, 3, UNIT // 4], [0, 4, 7, 3 * (UNIT // 4)], [1, 10, 10, UNIT]])
WEIGHTS = np.array([[UNIT // 2, UNIT // 4, UNIT // 4], [UNIT, 0, 0]])


def small(never):
    """Column b, given a: two values that are written as numbers, and a third that is missing."""
    inside = Inside("b", "integer", 0, None, PARTS, np.zeros(4, dtype=np.int64), (0, 0))
    return Fill((Filled("b", ("a",), WEIGHTS, WEIGHTS),), (inside,), ("a", "b"), NOISE, never)


def test_what_is_left_keeps_its_proportions():
    never = Never("?", ((Values("a", ((0, 0),), False), Values("b", ((4, 7),), False)),))
    rows = np.zeros((40_000, 1), dtype=np.int64)
    drawn = Sampler(small(never), [("a", 2)]).numbers(rows, Randomness.seeded(3))[:, 0]
    counts = np.array([*(np.sum(drawn == k) for k in range(4)), np.sum(drawn == 10), np.sum(drawn == GONE)])
    assert counts.sum() == len(rows)
    chances = np.array([1 / 32] * 4 + [1 / 4, 1 / 4]) / (5 / 8)
    expected = len(rows) * chances
    assert ((counts - expected) ** 2 / expected).sum() < 25
    other = len(rows) * np.array([1 / 32 + 3 / 32] * 4 + [1 / 4, 1 / 4])  # put off into the next part
    assert ((counts - other) ** 2 / other).sum() > 1_000


def test_other_rows_are_drawn_as_ever():
    never = Never("?", ((Values("a", ((1, 1),), False), Values("b", ((10, 10),), True)),))
    rows = np.zeros((500, 1), dtype=np.int64)
    free, bound = (Sampler(small(one), [("a", 2)]).numbers(rows, Randomness.seeded(3)) for one in (None, never))
    assert (free == bound).all()


def test_where_the_model_leaves_nothing_something_is_drawn_that_may_be():
    never = Never("?", ((Values("a", ((1, 1),), False), Values("b", ((0, 7),), False)),))
    drawn = Sampler(small(never), [("a", 2)]).numbers(np.ones((300, 1), dtype=np.int64), Randomness.seeded(4))
    assert set(drawn.ravel().tolist()) == {10, GONE}


def test_codes_go_with_the_numbers_that_are_drawn_again():
    never = Never("?", ((Values("b", ((0, 7),), False),),))
    fill = small(never)
    codes = Sampler(fill, [("a", 2)]).codes(np.zeros((200, 1), dtype=np.int64), Randomness.seeded(5))["b"]
    assert set(codes.tolist()) == {1, 2}
    obeying = Obeying.of(fill.filled[0], fill.inside[0], never.by_last(["a", "b"])["b"])
    assert obeying.parts[-1].tolist() == [2, GONE, GONE, UNIT]


def test_a_column_with_no_value_left_is_found_unless_what_forbids_it_cannot_come_together():
    left, right = Values("a", ((0, 4),), False), Values("a", ((5, 9),), True)
    some, others = Values("b", ((0, 1),), False), Values("b", ((2, 3),), False)
    numbers = np.arange(4)
    assert leaves_a_value([((left,), some), ((right,), others)], numbers)
    assert not leaves_a_value([((left,), some), ((Values("a", ((4, 6),), False),), others)], numbers)
    assert not leaves_a_value([((left,), some), ((Values("c", ((0, 0),), False),), others)], numbers)
    assert leaves_a_value([((left,), some), ((left,), others)], np.arange(5))


REFUSED = {
    "the secret": ("ill = 'yes' and job = 'x'", "'ill', which is not released"),
    "a column that nobody has": ("height < 3 and job = 'x'", "never is about a column at letter 1"),
    "no condition": ("job", "never cannot be read"),
    "kept columns alone": ("town = 'a' and age < 30", "all kept \\('town', 'age'\\): fill one"),
    "numbers as texts": ("wage = 'none' and town = 'a'", "compares 'wage' with a 'text'"),
    "values that nobody has": ("job = 'w' and town = 'a'", "check the values"),
    "too much": (" and ".join(["(job = 'x' or town = 'a')"] * 9), "more than 200 combinations"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_conditions_that_make_no_sense_are_refused_in_a_sentence(table, base, what):
    text, words = REFUSED[what]
    with pytest.raises(InvalidInput, match=words):
        filled(table, base, text)


def test_conditions_that_leave_no_value_are_refused(table, base, noise_with_seed):
    with noise_with_seed(6):
        with pytest.raises(InvalidProtocol, match="leaves column 'job' no value"):
            filled(table, base, "town = 'a' and job = 'x' or age > 40 and job != 'x'", ("job",))
        found = filled(table, base, "town = 'a' and job = 'x' or town != 'a' and job != 'x'", ("job",))
    rows = found.sanitise(table, seed=1).select(["town", "job"]).to_pylist()
    assert all((row["town"] == "a") != (row["job"] == "x") for row in rows)


def test_ranges_cannot_be_told_from_their_numbers(table, base):
    with pytest.raises(InvalidInput, match="leave out ranges"):
        with_fill(base, open_source(table), ["job"], 2.0, ranges=True, never="age < 30 and job = 'x'")


FORGED = {
    "kept columns alone": lambda never: never["combinations"][0].pop(),
    "a column that is not released": lambda never: never["combinations"][0][0].update(column="id"),
    "a column twice": lambda never: never["combinations"][0].append(never["combinations"][0][0]),
    "numbers that are drawn as one": lambda never: never["combinations"][0][1].update(ranges=[[1, 250]]),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_file_whose_combinations_do_not_fit_it_is_refused(protocol, what):
    content = json.loads(to_text(protocol))
    FORGED[what](content["chain"][1]["never"])
    with pytest.raises(InvalidProtocol):
        from_text(sealed(content))


def test_the_last_column_of_each_combination_is_filled():
    assert named_last(NEVER) == ("wage", "town")
    assert named_last("not (age >= 15 or income is missing)") == ("income",)


def test_a_fit_and_its_recipe_take_the_condition(table, tmp_path):
    pa.csv.write_csv(table, tmp_path / "people.csv")
    words = ["fit", str(tmp_path / "people.csv"), "--secret", "ill", "--columns", "town", "--private", "8", "--json"]
    words += ["--epsilon", "0.5"]
    with redirect_stdout(io.StringIO()):
        never = ["--set", "never=town = 'a' and job = 'x'"]
        assert run([*words, "--set", "fill=job", *never, "-o", str(tmp_path / "p.json")]) == 0
    assert pf.Protocol.load(tmp_path / "p.json").fill.never.words == "town = 'a' and job = 'x'"
    assert run([*words, *never, "-o", str(tmp_path / "q.json")]) == 2


def test_a_whole_table_fills_the_column_that_must_obey(table, tmp_path, noise_with_seed):
    short = table.select(["town", "job", "few", "ill"])
    pa.csv.write_csv(short, tmp_path / "people.csv")
    with noise_with_seed(4):
        told = release(
            tmp_path / "people.csv", tmp_path / "open", secret="ill", private=8.0, never="town = 'a' and job = 'x'"
        )
    (job,) = (one for one in told.roles if one.column == "job")
    assert (job.role, job.reason) == ("filled", "a condition of never is about it")
    rows = pa.csv.read_csv(tmp_path / "open" / "table.csv").to_pylist()
    assert not any(row["town"] == "a" and row["job"] == "x" for row in rows)
    assert load(told.recipe).fit.never == "town = 'a' and job = 'x'"
    assert "No row fulfils the condition" in (tmp_path / "open" / "README.md").read_text(encoding="utf-8")


def test_days_and_months_are_compared_as_they_are_written(table, base, noise_with_seed):
    with noise_with_seed(7):
        found = filled(table, base, "day >= '2020-07-01' and town = 'b'", ("day",), 8.0)
    rows = found.sanitise(table, seed=1).select(["day", "town"]).to_pylist()
    days = [str(row["day"]) for row in rows if row["town"] == "b"]
    assert max(days) < "2020-07-01"
    assert max(str(row["day"]) for row in rows) > "2021"


def test_a_protocol_without_the_condition_draws_other_rows(table, protocol):
    free = replace(protocol, fill=replace(protocol.fill, never=None))
    assert sum(broken(free.sanitise(table, seed=1))) > 0
