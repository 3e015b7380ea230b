"""Several rows a person are noticed, counted and refused, until it is said what a person's rows are."""

import csv
import json
import stat

import pandas as pd
import pytest

from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.persons import write_persons

VISITS = pd.DataFrame(
    {
        "id": ["b", "a", "b", "c", "b", "a"],
        "costs": [1.5, 2.0, 3.0, 4.0, 5.0, None],
        "ward": ["x", "y", "z", "x", "z", "y"],
        "fall": ["no", "no", "yes", "no", "no", "no"],
        "day": ["2024-01-03", "2024-01-02", "2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"],
    }
)


@pytest.fixture
def visits(tmp_path):
    """300 people with three visits each, of whom each has one illness."""
    path = tmp_path / "visits.csv"
    rows = [[1_000 + i % 300, ("x", "y", "z")[(i * 7) % 3], ("no", "yes")[(i % 300) % 3 == 0]] for i in range(900)]
    pd.DataFrame(rows, columns=["person_id", "ward", "ill"]).to_csv(path, index=False)
    return path


def rows_of(path):
    with path.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("first", {("b", "1.5", "x"), ("a", "2", "y"), ("c", "4", "x")}),
        ("last", {("b", "5", "z"), ("a", "", "y"), ("c", "4", "x")}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_first_or_the_last_row_of_each_person_is_kept_in_order(tmp_path, rows, kept, kind):
    table = tmp_path / f"t.{kind}"
    VISITS.to_csv(table, index=False) if kind == "csv" else VISITS.to_parquet(table)
    found = write_persons(table, tmp_path / "o.csv", person="id", rows=rows)
    assert (found.rows, found.people, found.most) == (6, 3, 3)
    written = [(row[0], row[1].removesuffix(".0"), row[2]) for row in rows_of(tmp_path / "o.csv")]
    assert set(written) == kept
    assert [row[0] for row in written] == (["b", "a", "c"] if rows == "first" else ["c", "b", "a"])


def test_a_random_row_is_each_of_them_at_times(tmp_path):
    seen = set()
    for i in range(30):
        write_persons(VISITS, tmp_path / f"{i}.csv", person="id", rows="random")
        seen |= {row[:2] for row in rows_of(tmp_path / f"{i}.csv") if row[0] == "b"}
    assert seen == {("b", "1.5"), ("b", "3"), ("b", "5")}


def test_columns_are_merged_by_their_rule(tmp_path):
    rules = {"costs": "sum", "ward": "most", "fall": "any", "day": "least"}
    write_persons(VISITS, tmp_path / "o.csv", person="id", rows="last", merge=rules)
    assert set(rows_of(tmp_path / "o.csv")) == {
        ("b", "9.5", "z", "yes", "2024-01-01"),
        ("a", "2", "y", "no", "2024-01-02"),
        ("c", "4", "x", "no", "2024-02-01"),
    }


def test_the_rows_of_people_are_for_their_steward_alone(tmp_path):
    write_persons(VISITS, tmp_path / "o.csv", person="id", rows="first")
    assert stat.S_IMODE((tmp_path / "o.csv").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("frame", "how", "says"),
    [
        (VISITS.assign(id=["a", None, "b", "c", "", "a"]), {}, "2 rows have no 'id'"),
        (VISITS, {"merge": {"ward": "sum"}}, "6 values of column 'ward' are no numbers"),
        (VISITS, {"merge": {"nobody": "sum"}}, "no column 'nobody'"),
    ],
)
def test_what_cannot_be_made_one_is_refused_with_its_number(tmp_path, frame, how, says):
    with pytest.raises(InvalidTable, match=says):
        write_persons(frame, tmp_path / "o.csv", person="id", rows="first", **how)
    assert not (tmp_path / "o.csv").exists()


def fit(table, *more):
    asked = ["--secret", "ill", "--epsilon", "1", "--private", "8", "--time-limit", "3", "-o", str(table) + ".json"]
    return run(["fit", str(table), *asked, *more])


@pytest.mark.parametrize("more", [[], ["--columns", "ward"], ["--set", "person=person_id", "--columns", "ward"]])
def test_a_fit_of_several_rows_a_person_is_refused_and_says_what_next(visits, capsys, more):
    assert fit(visits, *more) == 2
    told = capsys.readouterr().err
    assert "300 different values in 900 rows" in told
    assert "funnel persons" in told
    assert "--set unit=row" in told


def test_one_row_of_each_is_fitted_and_a_row_that_is_the_unit_is_said_so(visits, capsys):
    one = visits.with_name("one.csv")
    command = ["persons", str(visits), "--person", "person_id", "--rows", "last", "-o", str(one), "--json"]
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["people"] == 300
    assert fit(one, "--columns", "ward", "--set", "person=person_id") == 0
    assert "about one row" not in capsys.readouterr().out
    assert fit(visits, "--columns", "ward", "--set", "unit=row") == 0
    assert "about one row, and not about one person" in " ".join(capsys.readouterr().out.split())


def test_a_column_of_few_values_or_one_of_its_own_for_each_row_numbers_nobody(tmp_path):
    table = tmp_path / "t.csv"
    rows = [[i, i % 40, ("x", "y", "z")[i % 3], ("no", "yes")[i % 2]] for i in range(900)]
    pd.DataFrame(rows, columns=["id", "household_nr", "ward", "ill"]).to_csv(table, index=False)
    assert fit(table, "--columns", "ward") == 0
