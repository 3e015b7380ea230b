"""What stewards stumbled over: what the command line now says of columns, promises and searches."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli import show
from privacyfunnel.cli.app import run
from privacyfunnel.optimiser.program.state import noticing_stops


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def visits(n=2_000, seed=0):
    """Patients with a number nearly each, a town that tells of the illness, and texts that mean missing."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    ill = rng.random(n) < 0.2 + 0.3 * (town == 0)
    return pa.table(
        {
            "patient_nbr": (rng.permutation(n) * 37 % 100_003).tolist(),
            "ill": np.where(ill, "yes", "no").tolist(),
            "town": np.array(["Ash", "Birch", "Clay"])[town].tolist(),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)].tolist(),
            "age": [str(age) if age > 25 else "NA" for age in rng.integers(18, 90, n)],
            "ward": np.array(["north", "south", "NA"])[rng.integers(0, 3, n)].tolist(),
        }
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.csv"
    pa_csv.write_csv(visits(), path)
    return path


@pytest.fixture
def fit(table, tmp_path, capsys):
    """What a fit says, as one line, or as data with --json."""

    def said(*arguments, asked=("--secret", "ill", "--epsilon", "0.5", "--time-limit", "5", "--set", "insist")):
        output = tmp_path / "protocol.json"
        assert funnel("fit", table, *asked, *arguments, "-o", output, "--force") == 0
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in arguments else " ".join(shown.out.replace("│", " ").split())

    return said


# --- identifiers --------------------------------------------------------------------------------------


def test_identifiers_are_left_out_and_that_is_said(fit):
    assert "Left out: patient_nbr, since nearly every row has its own" in fit()
    found = fit("--json")
    assert found["identifiers"] == ["patient_nbr"]
    assert "patient_nbr" not in {column["column"] for column in found["columns"]}


def test_an_identifier_that_is_asked_for_is_pointed_out(fit):
    shown = fit("--columns", "patient_nbr,town")
    assert "is this an identifier that should be left out?" in shown
    assert "Left out" not in shown


# --- missing ------------------------------------------------------------------------------------------


def labels(path, column):
    blocks = json.loads(path.read_text())["chain"]
    return next(c["labels"] for block in blocks for c in block["columns"] if c["name"] == column)


def test_a_text_that_means_missing_among_numbers_means_it_among_texts(fit, tmp_path):
    shown = fit("--columns", "age,ward")
    assert shown.count("'NA' read as missing") == 2
    assert labels(tmp_path / "protocol.json", "ward") == ["north", "south", None]


def test_a_text_that_may_mean_missing_is_kept_and_that_is_said(fit, tmp_path):
    shown = fit("--columns", "town,ward")
    assert "'NA' kept as a value: --set missing=NA if it means missing" in shown
    assert labels(tmp_path / "protocol.json", "ward") == ["NA", "north", "south"]


def test_codes_that_likely_mean_missing_are_pointed_out_and_kept(tmp_path, capsys):
    rng, n = np.random.default_rng(3), 600
    columns = {
        "ill": np.array(["yes", "no"])[rng.integers(0, 2, n)],
        "score": np.where(rng.random(n) < 0.1, -9, rng.integers(0, 4, n)),
        "change": rng.integers(-2, 3, n),  # others are below 0, too
        "sex": np.array(["f", "m", "Unknown/Invalid"])[rng.integers(0, 3, n)],
        "kind": np.array(["a known unknown", "other"])[rng.integers(0, 2, n)],
    }
    pa_csv.write_csv(pa.table(columns), tmp_path / "table.csv")
    asked = ["--secret", "ill", "--epsilon", "0.5", "--time-limit", "2", "--json", "--set", "insist"]
    assert funnel("fit", tmp_path / "table.csv", *asked, "-o", tmp_path / "p.json") == 0
    how = {column["column"]: column["done"] for column in json.loads(capsys.readouterr().out)["columns"]}
    assert "; -9 counts as a number: --set missing=-9 if it means missing" in how["score"]
    assert "'Unknown/Invalid' kept as a value: --set missing=Unknown/Invalid if it means missing" in how["sex"]
    assert "missing" not in how["change"] + how["kind"]
    assert labels(tmp_path / "p.json", "sex") == ["Unknown/Invalid", "f", "m"]
    assert funnel("fit", tmp_path / "table.csv", *asked, "--set=missing=-9", "-o", tmp_path / "p.json", "--force") == 0
    assert None in labels(tmp_path / "p.json", "score")


def test_texts_that_mean_missing_are_a_list_or_given_one_by_one(fit, tmp_path):
    for asked in (["--set", "missing=NA,south"], ["--set", "missing=NA", "--set", "missing=south"]):
        shown = fit("--columns", "town,ward", *asked)
        assert "'NA', 'south' read as missing" in shown
        assert labels(tmp_path / "protocol.json", "ward") == ["north", None]


# --- how the search ended -----------------------------------------------------------------------------


def test_a_search_that_ended_by_itself_asks_for_no_more_time():
    protocol = pf.optimise(pf.Joint([[40, 10], [10, 40]]), pf.LIP(0.3), objective="faithful")
    by_itself, stopped = show.Ending(6.7, stopped=False), show.Ending(60.0, stopped=True)
    assert "a longer --time-limit may find it" in stopped.words(protocol, 0.05)
    assert "ended by itself after 6.7 s" in by_itself.words(protocol, 0.05)
    assert "Up to 5.0% of cells" in by_itself.words(protocol, 0.05)
    assert "may find it" not in by_itself.words(protocol, 0.05)
    assert stopped.words(protocol, 0.001) == by_itself.words(protocol, 0.001) == ""


def test_fit_knows_whether_time_was_up(fit):
    asked = "--secret", "ill", "--epsilon", "0.5", "--columns", "town,sex,age,ward", "--set", "insist"
    assert not fit("--json", asked=(*asked, "--time-limit", "60"))["search"]["stopped"]
    assert fit("--json", asked=(*asked, "--time-limit", "0"))["search"]["stopped"]


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_running_out_of_time_is_noticed_and_ending_by_oneself_is_not_taken_for_it(objective):
    joint = pf.Joint(np.random.default_rng(0).integers(1, 50, (3, 12)))
    with noticing_stops() as stopped:
        pf.optimise(joint, pf.LIP(0.3), objective=objective, time_limit=60)
    assert not stopped.is_set()
    with noticing_stops() as stopped:
        pf.optimise(joint, pf.LIP(0.3), objective=objective, time_limit=0)
    assert stopped.is_set()


# --- emptied columns ----------------------------------------------------------------------------------


def test_fit_sanitise_and_report_name_columns_of_which_nothing_is_left(fit, table, tmp_path, capsys):
    words = "Emptied: ill: its released values say next to nothing of the original ones."
    asked = "--secret", "town", "--columns", "ill,sex", "--epsilon", "0.01", "--set", "exact-fit"
    assert words in fit(asked=asked)
    assert fit("--json", asked=asked)["emptied"]["columns"] == ["ill"]
    protocol = tmp_path / "protocol.json"
    assert funnel("sanitise", table, "--protocol", protocol, "-o", tmp_path / "open.csv") == 0
    assert words in " ".join(capsys.readouterr().out.split())
    assert funnel("report", protocol, "--public", "-o", tmp_path / "report.html") == 0
    assert words in (tmp_path / "report.html").read_text()


# --- one column known ---------------------------------------------------------------------------------


def test_fit_says_what_knowing_one_column_changes_and_the_remedy_removes_it(fit):
    asked = (
        "--secret",
        "ill",
        "--columns",
        "town,sex,age",
        "--set",
        "bins=age=3",
        "--epsilon",
        "0.1",
        "--set",
        "exact-fit",
    )
    found = fit("--json", asked=asked)["one_column_known"]
    assert found["level"] > 0.1
    assert f"Knowing just {found['column']} beforehand" in fit(asked=asked)
    assert "Knowing just " not in fit("--notion", "srlip", "--known", "1", asked=asked)


# --- a secret of many values --------------------------------------------------------------------------


def test_a_secret_of_many_values_is_said_to_take_its_time_before_the_search(table, tmp_path, capsys):
    asked = "--columns", "town,sex", "--epsilon", "0.5", "--time-limit", "5", "--force", "-o", tmp_path / "p.json"
    for secret, more, said in (("age", (), True), ("age", ("--json",), False), ("ill", (), False)):
        assert funnel("fit", table, "--secret", secret, *asked, *more) == 0
        err = capsys.readouterr().err
        assert ("at most 5 s (--time-limit)" in err) == said


# --- some rows ----------------------------------------------------------------------------------------


def test_every_command_takes_the_rows_that_are_meant(fit, table, tmp_path, capsys):
    some, protocol = ("--where", "age >= 40 and sex = 'f'"), tmp_path / "protocol.json"
    rows = visits().to_pandas()
    meant = int(((pd.to_numeric(rows["age"], errors="coerce") >= 40) & (rows["sex"] == "f")).sum())
    shown = fit("--columns", "town,ward", "--set", "exact-fit", *some)
    assert "--where 'age >= 40 and sex = '\"'\"'f'\"'\"''" in shown
    assert json.loads(protocol.read_text())["people"] == meant
    assert funnel("sanitise", table, *some, "--protocol", protocol, "-o", tmp_path / "open.csv") == 0
    assert f"Released {meant:,} rows" in capsys.readouterr().out
    assert funnel("audit", protocol, "--table", table, *some) == 0
    assert funnel("report", protocol, "--table", table, *some, "--no-curves", "-o", tmp_path / "r.html") == 0
    asked = "--secret", "ill", "--columns", "town", "--epsilons", "0.5"
    assert funnel("tradeoff", table, *asked, *some, "--json") == 0


@pytest.mark.parametrize("some", ["ill = 'yes'", "age >= ", "no_such = 1", "age > 1000"])
def test_rows_that_cannot_be_meant_are_refused_in_one_line(table, tmp_path, capsys, some):
    asked = "--secret", "ill", "--columns", "town", "--epsilon", "0.5", "-o", tmp_path / "p.json"
    assert funnel("fit", table, *asked, "--where", some) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--where" in err


def test_a_released_file_says_what_must_not_be_done_with_it(fit, table, tmp_path):
    fit("--columns", "town,sex")
    released = tmp_path / "open.parquet"
    assert funnel("sanitise", table, "--protocol", tmp_path / "protocol.json", "-o", released) == 0
    about = b" ".join(pq.read_schema(released).metadata.values()).decode()
    assert "nothing here is a fact about any one person" in about
    assert "do not publish these people's rows again" in about


# --- going on with a search ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "exact",
    [
        (),
        ("--set", "exact-fit"),
    ],
)
def test_a_search_goes_on_from_its_protocol(fit, table, tmp_path, capsys, exact):
    asked = "--secret", "ill", "--epsilon", "0.2", "--columns", "town,sex,ward", "--time-limit", "0"
    first = fit("--json", *exact, asked=asked)
    better = tmp_path / "better.json"
    again = "--set", f"improve={tmp_path / 'protocol.json'}", "-o", better, "--time-limit", "20", "--json"
    assert funnel("fit", table, *again) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["readers"]["likeness"]["fidelity"] > first["readers"]["likeness"]["fidelity"]
    before, after = (json.loads((tmp_path / name).read_text()) for name in ("protocol.json", "better.json"))
    assert before["noise"] == after["noise"]
    assert before["promise"] == after["promise"]
    assert funnel("audit", better, "--table", table) == 0


def test_what_a_protocol_says_cannot_be_said_otherwise_beside_improve(fit, table, tmp_path, capsys):
    fit("--columns", "town")
    again = "--set", f"improve={tmp_path / 'protocol.json'}", "-o", tmp_path / "better.json"
    for more in (
        ("--epsilon", "1"),
        ("--columns", "town"),
        ("--set", "exact-fit"),
    ):
        assert funnel("fit", table, *again, *more) == 2
        written = " ".join(more) if more[0] == "--set" else more[0]
        assert f"cannot be combined with {written}:" in capsys.readouterr().err
    assert funnel("fit", table, "--epsilon", "1", "-o", tmp_path / "other.json") == 2
    assert "--secret" in capsys.readouterr().err
