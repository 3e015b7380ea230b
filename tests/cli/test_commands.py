"""The command line: the whole way on real and made-up tables, and one clear line for everything that is wrong."""

import gzip
import importlib
import inspect
import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.findings import findings
from privacyfunnel.cli import app, show
from privacyfunnel.cli.app import run
from privacyfunnel.protocols import file as protocol_file
from privacyfunnel.tables.auditing import audited_joint
from processes import finished, one_line

CANARY = "CANARY"
COMMANDS = tuple(app.COMMANDS)
FUNNEL = Path(sys.executable).with_name("funnel")


def not_json(constant):
    raise AssertionError(f"{constant} is not JSON")


def one_object(text):
    """The one JSON object that standard output must be."""
    assert text.count("\n") == 1
    found = json.loads(text, parse_constant=not_json)
    assert isinstance(found, dict)
    return found


def people(n=2_000, seed=0, dependence=0.3):
    """Text, numbers, dates, missing entries, and a secret that follows the town; values of the secret are canaries."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    sick = rng.random(n) < 0.3 + dependence * (town == 0)
    ages = [str(age) if age > 20 else ["", "?"][age % 2] for age in rng.integers(18, 90, n)]
    born = [f"{year}-0{1 + year % 9}-15" for year in rng.integers(1950, 1954, n)]
    return pa.table(
        {
            "diagnosis": [f"{CANARY} {'sick' if s else 'well'}" for s in sick],
            "town": np.array(["Ash", "Birch, Hill", "Dún"])[town],
            "age": ages,
            "born": born,
            "name": [f"{CANARY} record {i}" for i in range(n)],
        }
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    pa_csv.write_csv(people(), path)
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A protocol for `people`, released attributes town and age."""
    folder = tmp_path_factory.mktemp("fitted")
    pa_csv.write_csv(people(), folder / "people.csv")
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": 3})
    pf.optimise(joint, pf.LIP(0.1)).save(folder / "protocol.json")
    return folder / "protocol.json"


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


# --- the whole way -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "out"), [("csv", ".csv"), ("csv.gz", ".parquet"), ("parquet", ".csv.gz"), ("jsonl", ".csv")]
)
def test_fit_sanitise_audit_works_for_every_kind_of_file(kind, out, tmp_path, capsys):
    table = people()
    path = tmp_path / f"people.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(table, sink)
        data = sink.getvalue().to_pybytes()
        path.write_bytes(gzip.compress(data) if kind == "csv.gz" else data)
    protocol, released = tmp_path / "protocol.json", tmp_path / f"open{out}"
    asked = ["--secret", "diagnosis", "--columns", "town,age,born", "--epsilon", "0.2", "--set", "bins=age=4"]
    assert funnel("fit", path, *asked, "-o", protocol) == 0
    shown = capsys.readouterr().out
    assert "How each column is read" in shown
    assert "Not used: name." in shown
    assert "4 bins of about equal counts; '?' read as missing" in " ".join(shown.replace("│", " ").split())
    assert funnel("sanitise", path, "--protocol", protocol, "-o", released) == 0
    shown = capsys.readouterr().out
    assert "Released 2,000 rows of town, age, born" in shown
    assert "Dropped: diagnosis, name." in shown
    assert funnel("audit", protocol, "--table", path) == 0
    assert "KEPT" in capsys.readouterr().out
    found = pq.read_table(released) if out == ".parquet" else pa_csv.read_csv(released)
    assert found.column_names == ["town", "age", "born"]
    assert found.num_rows == 2_000
    assert CANARY not in str(found.to_pydict())


REAL = [
    ("adult", "income", "education,occupation,sex", []),
    (
        "adult",
        "marital_status",
        "age,education,occupation,sex,income",
        [
            *("--set", "bins=age=0,20,30,40,50,60,70,80,100"),
            *("--set", "group=marital_status:married=Married-civ-spouse,Married-AF-spouse"),
        ],
    ),
    ("adult", "race", "workclass,education,marital_status,occupation,sex", ["--set", "missing=?"]),
    ("compas", "race", "age_cat,sex,c_charge_degree,decile_score,two_year_recid", []),
    ("diabetes130", "readmitted", "race,gender,age,A1Cresult,insulin,change", ["--set", "unit=row"]),
    ("dutch_census2001", "household_position", "household_size,marital_status,age,sex", []),
    (
        "adult",
        "income,sex",
        "age,hours_per_week,workclass",
        ["--set", "bins=age=5", "--set", "bins=hours_per_week=width:4"],
    ),
]
NUMBERED = [f"{name}-{secret}-{i}" for i, (name, secret, _, _) in enumerate(REAL)]


@pytest.mark.long
@pytest.mark.parametrize(("name", "secret", "attributes", "options"), REAL, ids=NUMBERED)
def test_fit_sanitise_audit_works_on_real_tables(name, secret, attributes, options, shared, tmp_path, capsys):
    table = shared / "data" / f"{name}.csv.gz"
    if not table.exists():
        pytest.skip(f"{table.name} is not in the shared folder")
    protocol, released = tmp_path / "protocol.json", tmp_path / "open.parquet"
    asked = ["--secret", secret, "--columns", attributes, "--epsilon", "0.5", "--time-limit", "2", *options]
    asked += ["--set", "insist"]  # some of these are far too fine for counts with noise
    command = [str(part) for part in (FUNNEL, "fit", table, *asked, "-o", protocol, "--json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # it was given 2 seconds
    assert (done.returncode, done.stderr) == (0, "")
    fit = one_object(done.stdout)
    assert 0 <= fit["kept_share"] <= 1
    listed = "gap_share" in fit  # of more combinations there is a model, and no bound
    assert funnel("sanitise", table, "--protocol", protocol, "-o", released, "--json") == 0
    release = one_object(capsys.readouterr().out)
    assert funnel("audit", protocol, "--table", table, "--json") == 0
    audit = one_object(capsys.readouterr().out)
    assert audit["holds"] is True
    assert audit["level"] <= 0.5
    assert audit["kept_share"] == pytest.approx(fit["kept_share"])
    if listed:
        assert fit["holds"] is True
        assert 0 <= fit["gap_share"] <= 1
        assert audit["released"]["largest_lift"] <= np.exp(0.5) * (1 + 1e-9)
    found = pq.read_table(released)
    assert found.column_names == attributes.split(",")
    assert found.num_rows == release["rows"]
    assert set(release["dropped"]) >= set(secret.split(","))


def test_adult_keeps_85_percent_inside_a_tenth_certified(shared, tmp_path, capsys):
    table = shared / "data" / "adult.csv.gz"
    if not table.exists():
        pytest.skip("adult.csv.gz is not in the shared folder")
    asked = ["--secret", "income", "--columns", "sex,race,marital_status,education", "--epsilon", "0.1"]
    assert funnel("fit", table, *asked, "--set", "objective=information", "-o", tmp_path / "p.json", "--json") == 0
    found = one_object(capsys.readouterr().out)
    assert found["kept_share"] >= 0.85
    assert found["gap_share"] < 1e-4
    assert found["holds"] is True
    assert found["level"] <= 0.1


# --- audit -------------------------------------------------------------------------------------------


def test_audit_exits_1_when_the_promise_is_broken(fitted, tmp_path, capsys):
    pa_csv.write_csv(people(seed=1, dependence=0.7), tmp_path / "other.csv")
    assert funnel("audit", fitted, "--table", tmp_path / "other.csv") == 1
    out, err = capsys.readouterr()
    assert "BROKEN" in out
    assert err == ""
    assert funnel("audit", fitted, "--table", tmp_path / "other.csv", "--json") == 1
    found = one_object(capsys.readouterr().out)
    assert found["holds"] is False
    assert found["level"] > 0.1


def test_audit_of_a_table_where_a_secret_is_ruled_out_is_still_json(fitted, tmp_path, capsys):
    rows = people()
    split = rows.set_column(0, "diagnosis", pa.array([f"{CANARY} {t}" for t in rows["town"].to_pylist()]))
    keep = pa.array([town != "Dún" for town in rows["town"].to_pylist()])
    pa_csv.write_csv(split, tmp_path / "split.csv")
    pa_csv.write_csv(split.filter(keep), tmp_path / "part.csv")
    for name in ("split.csv", "part.csv"):
        assert funnel("audit", fitted, "--table", tmp_path / name, "--json") == 1
        out, err = capsys.readouterr()
        assert one_object(out)["holds"] is False
        assert CANARY not in out + err


def test_audit_measures_a_table_in_which_some_values_do_not_occur(fitted, tmp_path, capsys):
    """The numbers are of the audited table, value by value."""
    rows = people(seed=5)
    part = rows.filter(pa.array([town != "Ash" for town in rows["town"].to_pylist()]))
    pa_csv.write_csv(part, tmp_path / "part.csv")
    assert funnel("audit", fitted, "--table", tmp_path / "part.csv", "--json") in (0, 1)
    found = one_object(capsys.readouterr().out)
    protocol = pf.Protocol.load(fitted)
    block = protocol.block
    places = {values: x for x, values in enumerate(map(tuple, block.values.tolist()))}
    coded = zip(*(c.encode(part[c.name].combine_chunks()) for c in block.columns), strict=True)
    p = np.zeros((2, block.channel.n_inputs))
    for codes, secret in zip(coded, part["diagnosis"].to_pylist(), strict=True):
        values = tuple(c.labels[i] for c, i in zip(block.columns, codes, strict=True))
        p[int(secret.endswith("sick")), places[values]] += 1
    released = p @ protocol.channel.T / p.sum()
    lifts = released / released.sum(axis=0) / released.sum(axis=1, keepdims=True)
    assert found["released"]["largest_lift"] == pytest.approx(lifts.max())
    assert found["released"]["best_guess"] == pytest.approx(released.max(axis=0).sum())
    assert 0 <= found["kept_share"] <= 1


def test_audit_of_a_table_with_combinations_the_protocol_does_not_know_is_no_approval(tmp_path, capsys):
    (tmp_path / "one.csv").write_text("s,x,y\n" + "a,p,u\nb,q,u\na,q,v\nb,p,u\n" * 20)
    (tmp_path / "two.csv").write_text("s,x,y\n" + "a,p,u\nb,q,u\na,q,v\nb,p,v\n" * 20)
    asked = ["--secret", "s", "--epsilon", "0.1", "--set", "exact-fit"]
    assert funnel("fit", tmp_path / "one.csv", *asked, "-o", tmp_path / "p.json") == 0
    capsys.readouterr()
    assert funnel("audit", tmp_path / "p.json", "--table", tmp_path / "two.csv") in (1, 2)
    assert "KEPT" not in capsys.readouterr().out


def test_audit_reads_a_secret_with_many_values_as_fit_did(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 6_000
    lines = [f"v{rng.integers(0, 130)},{'pq'[rng.integers(2)]}\n" for _ in range(n)]
    (tmp_path / "t.csv").write_text("s,x\n" + "".join(lines))
    code = funnel("fit", tmp_path / "t.csv", "--secret", "s", "--epsilon", "0.5", "-o", tmp_path / "p.json")
    if code == 2:  # refusing such a secret is as good
        return
    assert code == 0
    assert funnel("audit", tmp_path / "p.json", "--table", tmp_path / "t.csv") == 0


# --- JSON, help, completion --------------------------------------------------------------------------


def test_json_of_every_command_is_one_object(table, fitted, tmp_path, capsys):
    asked = ["--secret", "diagnosis", "--columns", "town,age", "--set", "bins=age=3"]
    for arguments in (
        ["fit", table, *asked, "--epsilon", "0.1", "-o", tmp_path / "p.json"],
        ["sanitise", table, "--protocol", fitted, "-o", tmp_path / "o.csv"],
        ["audit", fitted, "--table", table],
        ["tradeoff", table, *asked, "--epsilons", "0.1,1"],
        ["tradeoff", table, *asked, "--epsilons", "3", "--notion", "pml"],
        ["tradeoff", table, *asked, "--epsilons", "50", "--notion", "ldp"],
    ):
        assert funnel(*arguments, "--json") == 0
        out, err = capsys.readouterr()
        assert one_object(out)
        assert err == ""
        assert CANARY not in out


def test_json_of_a_curve_is_json_where_a_level_is_infinite(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("s,x\n" + "a,p\nb,q\nb,p\n" * 20)
    assert funnel("tradeoff", tmp_path / "t.csv", "--secret", "s", "--notion", "pml", "--epsilons", "5", "--json") == 0
    assert one_object(capsys.readouterr().out)


def test_a_curve_rises_with_the_promise(table, capsys):
    asked = ["--secret", "diagnosis", "--columns", "town,age", "--set", "bins=age=3"]
    for objective, name, bound in (
        ("information", "utility", "upper_bound"),
        ("faithful", "fidelity", "fidelity_bound"),
    ):
        curve = ["tradeoff", table, *asked, "--epsilons", "0.05,0.2,1", "--set", f"objective={objective}"]
        assert funnel(*curve, "--json") == 0
        found = one_object(capsys.readouterr().out)
        assert found["objective"] == objective
        kept = [point[name] for point in found["steward_only"]["points"]]
        assert all(before <= after + 1e-3 for before, after in pairwise(kept))
        assert kept[0] < kept[-1]
        assert all(point[name] <= point[bound] + 1e-9 for point in found["steward_only"]["points"])
        assert funnel(*curve) == 0
        out = capsys.readouterr().out
        assert "What is kept under lip" in out
        assert ("unchanged" in out) == (objective == "faithful")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    assert funnel(command, "--help") == 0
    out, err = capsys.readouterr()
    assert f"Example: funnel {command}" in " ".join(out.split())
    assert "--json" in out
    assert err == ""


def test_help_lists_every_command(capsys):
    assert funnel("--help") == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def test_no_command_shows_the_help_and_not_one_endless_line(capsys):
    funnel()
    shown = "".join(capsys.readouterr())
    assert "Usage" in shown
    assert max(map(len, shown.splitlines())) < 200


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_exists(shell):
    asked = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # whatever shell started the tests
    done = subprocess.run([FUNNEL, "--show-completion", shell], env=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_FUNNEL_COMPLETE" in done.stdout


def test_completion_completes_commands():
    asked = {"_FUNNEL_COMPLETE": "complete_bash", "COMP_WORDS": "funnel sa", "COMP_CWORD": "1"}
    done = subprocess.run([FUNNEL], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["sanitise"]


# --- everything that is wrong ------------------------------------------------------------------------


def refused(arguments, capsys, folder, says=""):
    """Exactly one line on stderr, exit code 2, nothing written, nothing quoted."""
    before = sorted(path.name for path in folder.iterdir())
    capsys.readouterr()
    code = funnel(*arguments)
    out, err = capsys.readouterr()
    assert code == 2, err
    assert err.startswith("funnel: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert says in err
    assert CANARY not in out + err
    assert sorted(path.name for path in folder.iterdir()) == before


def broken_tables():
    ok = "diagnosis,town\n" + f"{CANARY} a,Ash\n{CANARY} b,Birch\n" * 10
    packed = gzip.compress(ok.encode() * 300)
    flipped = packed[:200] + bytes(40) + packed[240:]
    sink = pa.BufferOutputStream()
    pq.write_table(people(), sink)
    parquet = sink.getvalue().to_pybytes()
    footer = len(parquet) - 8 - int.from_bytes(parquet[-8:-4], "little")
    return {
        "empty.csv": (b"", "is empty"),
        "empty.parquet": (b"", "is empty"),
        "empty.jsonl": (b"", "is empty"),
        "header.csv": (b"diagnosis,town\n", "no rows"),
        "ragged.csv": (ok.encode() + f"{CANARY} c\n{CANARY} a,b,c\n".encode(), "2 rows"),
        "unquoted.csv": (ok.encode() + f'"{CANARY} c,b\n'.encode(), "1 rows"),
        "twice.csv": (ok.replace("town", "diagnosis").encode(), "twice"),
        "latin.csv": (ok.replace("Ash", "Äsh").encode("latin-1"), "latin-1"),
        "utf16.csv": (ok.encode("utf-16"), ""),
        "binary.csv": (np.random.default_rng(0).bytes(3_000), ""),
        "short.csv.gz": (packed[:-20], ""),
        "flipped.csv.gz": (flipped, ""),
        "none.csv.gz": (ok.encode(), "gzip"),
        "line.csv": (b"x" * 300_000, ""),
        "blank.csv": (b"\n" + ok.encode(), ""),
        "unnamed.csv": (ok.replace("diagnosis,", ",").encode(), ""),
        "short.parquet": (parquet[: len(parquet) // 2], ""),
        "text.parquet": (ok.encode(), ""),
        "footer.parquet": (parquet[:footer] + bytes(60) + parquet[footer + 60 :], ""),
        "broken.jsonl": (f'{{"diagnosis": "{CANARY}", "town": \n'.encode(), ""),
        "array.json": (f'[{{"diagnosis": "{CANARY}", "town": "a"}}]'.encode(), ""),
        "nested.jsonl": (f'{{"diagnosis": "{CANARY}", "town": ["a"]}}\n'.encode() * 3, "nested"),
        "short.xlsx": (b"PK", "cannot be read as a .xlsx file"),
        "other.pdf": (b"%PDF", "should end in"),
    }


BROKEN = broken_tables()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_one_line(name, fitted, tmp_path, capsys):
    content, says = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    fit = ["fit", tmp_path / name, "--secret", "diagnosis", "--epsilon", "1", "-o", tmp_path / "p.json"]
    refused(fit, capsys, tmp_path, says)
    refused(["sanitise", tmp_path / name, "--protocol", fitted, "-o", tmp_path / "o.csv"], capsys, tmp_path)
    refused(["audit", fitted, "--table", tmp_path / name], capsys, tmp_path)
    refused(["tradeoff", tmp_path / name, "--secret", "diagnosis"], capsys, tmp_path, says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--secret", "none"], "no column 'none'"),
        (["--columns", "town,none"], "no column 'none'"),
        (["--columns", "town,diagnosis"], "--set allow-secret-attribute"),
        (["--columns", "town,none"], "no column"),
        (["--columns", ","], "--columns should be names of columns"),
        (["--secret", ","], "--secret should be the name"),
        (["--epsilon", "-0.1"], "--epsilon should be a number from 0 on"),
        (["--epsilon", "nan"], "--epsilon should be a number"),
        (["--epsilon", "inf"], "--epsilon should be a number"),
        (["--epsilon", "much"], "--epsilon"),
        (["--notion", "trust"], "--notion is one of"),
        (["--notion", "alip", "--set", "lower=1"], "--notion alip needs --set upper"),
        (["--notion", "perfect"], "takes no --epsilon"),
        (["--set", "lower=1"], "takes no --set lower"),
        (["--set", "bins=age"], "--set bins should be for each column"),
        (["--set", "bins=age="], "--set bins should be"),
        (["--set", "bins==3"], "--set bins should be"),
        (["--set", "bins=age=3,2,1"], "increasing"),
        (["--set", "bins=age=a,b"], "--set bins.age should be"),
        (["--set", "bins=age=5,"], "--set bins.age should be"),
        (["--set", "bins=age=0"], "--set bins.age should be"),
        (["--set", "bins=age=-3"], "should be"),
        (["--set", "bins=age=²"], ""),
        (["--set", "bins=age=width:x"], "should be"),
        (["--set", "bins=age=0,30"], "outside its bins"),
        (["--set", "bins=town=3"], "no numbers"),
        (["--set", "bins=none=3"], "no column"),
        (["--set", "bins=name=3"], "neither secret nor attribute"),
        (["--set", "top=town"], "--set top should be"),
        (["--set", "top=town=0"], "positive whole number"),
        (["--set", "top=town=x"], "positive"),
        (["--set", "top=town=²"], ""),
        (["--set", "top=diagnosis=1"], "secret"),
        (["--set", "dates=born=week"], "year, month or day"),
        (["--set", "dates=town=year"], "no dates"),
        (["--set", "delimiter=ab"], ""),
        (["--set", "delimiter=\\t"], ""),
        (["--set", 'delimiter="'], ""),
        (["--set", "delimiter=;"], ""),
        (["--set", "encoding=ebcdic"], "encoding"),
        (["--set", "gap=-1"], "gap"),
        (["--set", "gap=nan"], "gap"),
        (["--set", "objective=truth"], "--set objective should be faithful or information"),
        (["--set", "weight=town"], "--set weight should be"),
        (["--set", "weight=town=x"], "--set weight should be for each column a number"),
        (["--set", "weight=town=0"], "positive"),
        (["--set", "weight=town=2,age=-1"], "--set weight.age should be"),
        (["--set", "weight=name=2"], "none of the attributes"),
        (["--set", "objective=information", "--set", "weight=town=2"], "--set weight is for"),
        (["--time-limit", "-1"], "time"),
        (["--colour", "red"], "--colour"),
        (["--output", "no/folder/p.json"], "no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_of_fit_is_one_line(options, says, table, tmp_path, capsys):
    asked = ["--set", "insist", "-o", tmp_path / "p.json"]
    usual = {"--secret": "diagnosis", "--columns": "town,age,born", "--epsilon": "0.5" if "alip" not in options else ""}
    asked += [word for flag, text in usual.items() if text and flag not in options for word in (flag, text)]
    refused(["fit", table, *asked, *options], capsys, tmp_path, says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit"], "--secret is missing"),
        (["fit", "{table}", "--epsilon", "1", "-o", "p.json"], "--secret"),
        (["fit", "{table}", "--secret", "diagnosis", "--epsilon", "1"], "-o protocol.json"),
        (["fit", "{folder}/none.csv", "--secret", "a", "--epsilon", "1", "-o", "{folder}/p.json"], "no file"),
        (["fit", "{folder}", "--secret", "a", "--epsilon", "1", "-o", "{folder}/p.json"], "not a file"),
        (["fit", "{table}", "--secret", "diagnosis", "--epsilon", "1", "-o", "{table}", "--force"], "input itself"),
        (["fit", "{table}", "--secret", "diagnosis", "--epsilon", "1", "-o", "{folder}"], "is a folder"),
        (["sanitise", "{folder}/none.csv", "--protocol", "{protocol}", "-o", "{folder}/o.csv"], "no file"),
        (["sanitise", "{folder}", "--protocol", "{protocol}", "-o", "{folder}/o.csv"], "not a file"),
        (["sanitise", "{table}", "--protocol", "{folder}/none.json", "-o", "{folder}/o.csv"], "no file"),
        (["sanitise", "{table}", "--protocol", "{folder}", "-o", "{folder}/o.csv"], "cannot be read"),
        (["sanitise", "{table}", "--protocol", "{table}", "-o", "{folder}/o.csv"], "JSON"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{table}", "--force"], "input itself"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{folder}/o.docx"], "should end in"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{folder}/no/o.csv"], "no folder"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{folder}/o.csv", "--unseen", "x"], "--unseen"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{folder}/o.csv", "--seed", "x"], "--seed"),
        (["audit", "{folder}/none.json", "--table", "{table}"], "no file"),
        (["audit", "{protocol}", "--table", "{folder}/none.csv"], "no file"),
        (["audit", "{protocol}"], "--table"),
        (["tradeoff", "{table}", "--secret", "diagnosis", "--epsilons", "a,b"], "--epsilons"),
        (["tradeoff", "{table}", "--secret", "diagnosis", "--epsilons", ""], "at least one"),
        (["tradeoff", "{table}", "--secret", "diagnosis", "--epsilons", "-1"], "at least 0"),
        (["demo", "--epsilon", "-1"], "at least 0"),
        (["demo", "--folder", "{folder}"], "not empty"),
        (["demo", "--folder", "{table}"], ""),
        (["publish"], "publish"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_call_is_one_line(arguments, says, table, fitted, tmp_path, capsys):
    given = [a.format(table=table, folder=tmp_path, protocol=fitted) for a in arguments]
    refused(given, capsys, tmp_path, says)


def edited(text, what):
    content = json.loads(text)
    if what == "another schema":
        return text.replace("privacyfunnel/1", "privacyfunnel/2")
    if what == "a changed digit":
        return text.replace('"epsilon": 0.1', '"epsilon": 0.2')
    if what == "cut short":
        return text[: len(text) // 2]
    if what == "forged notion":
        content["promise"] = {"notion": []}
    if what == "forged ε":
        content["promise"] = {"notion": "lip", "epsilon": 10**400}
    if what == "forged labels":
        content["chain"][0]["labels"][0] = 10**30
    if what == "forged kind":
        content["chain"][0]["columns"][0]["kind"] = "integer"
    content.pop("digest")
    return protocol_file.written({**content, "digest": protocol_file.digest_of_content(content)})


@pytest.mark.parametrize(
    "what",
    ["another schema", "a changed digit", "cut short", "forged notion", "forged ε", "forged labels", "forged kind"],
)
def test_a_protocol_that_is_not_the_original_is_one_line(what, table, fitted, tmp_path, capsys):
    (tmp_path / "p.json").write_text(edited(fitted.read_text(), what))
    arguments = ["sanitise", table, "--protocol", tmp_path / "p.json", "-o", tmp_path / "o.csv"]
    refused(arguments, capsys, tmp_path, "p.json")
    refused(["audit", tmp_path / "p.json", "--table", table], capsys, tmp_path, "p.json")


def test_unseen_values_are_one_line_with_counts(table, fitted, tmp_path, capsys):
    table.write_text(f"town,age\n{CANARY},30\nAsh,{CANARY}\nAsh,30\n")
    arguments = ["sanitise", table, "--protocol", fitted, "-o", tmp_path / "o.csv"]
    refused(arguments, capsys, tmp_path, "1 rows in town, 1 rows in age")
    assert funnel(*arguments, "--unseen", "draw") == 0
    out = capsys.readouterr().out
    assert "2 values not seen when fitting were drawn" in out
    assert CANARY not in out + (tmp_path / "o.csv").read_text()


def test_a_table_without_header_does_not_have_its_first_record_quoted(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(f"{CANARY} 1,{CANARY} Ash\n{CANARY} 2,{CANARY} Birch\n")
    arguments = ["fit", tmp_path / "t.csv", "--secret", "diagnosis", "--epsilon", "1", "-o", tmp_path / "p.json"]
    refused(arguments, capsys, tmp_path, "no column 'diagnosis'")


def test_debug_shows_the_traceback(tmp_path, capsys):
    assert funnel("audit", tmp_path / "none.json", "--table", "x.csv", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


# --- nothing of the people is told -------------------------------------------------------------------


def test_no_output_contains_a_value_of_the_secret_or_a_record(table, tmp_path, capsys):
    asked = ["--secret", "diagnosis", "--columns", "town,age,born", "--set", "bins=age=3"]
    protocol = tmp_path / "p.json"
    for extra in ([], ["--json"]):
        assert funnel("fit", table, *asked, "--epsilon", "0.1", "-o", protocol, "--force", *extra) == 0
        assert funnel("audit", protocol, "--table", table, *extra) == 0
        assert funnel("tradeoff", table, *asked, "--epsilons", "0.1", *extra) == 0
        for suffix in (".csv", ".parquet"):
            for seed in ([], ["--seed", "1"]):
                output = tmp_path / f"open{suffix}"
                assert funnel("sanitise", table, "--protocol", protocol, "-o", output, "--force", *seed, *extra) == 0
    out, err = capsys.readouterr()
    assert out
    assert CANARY not in out + err
    written = [path for path in tmp_path.iterdir() if path != table]
    assert len(written) == 4
    for path in written:
        assert CANARY.encode() not in path.read_bytes()


def test_a_secret_of_numbers_keeps_its_values_out_of_the_protocol(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice([7654321, 8765432, 9876543])},{'pq'[rng.integers(2)]}\n" for _ in range(200)]
    (tmp_path / "t.csv").write_text("s,x\n" + "".join(lines))
    assert funnel("fit", tmp_path / "t.csv", "--secret", "s", "--epsilon", "1", "-o", tmp_path / "p.json") == 0
    told = "".join(capsys.readouterr()) + (tmp_path / "p.json").read_text()
    assert not any(value in told for value in ("7654321", "8765432", "9876543"))


# --- demo --------------------------------------------------------------------------------------------


def test_the_demo_tells_what_was_promised_kept_and_learned_and_leaves_nothing(tmp_path):
    before = os.times()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path / "home")}
    for name in ("tmp", "home", "here"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [FUNNEL, "demo"], capture_output=True, text=True, check=False, cwd=tmp_path / "here", env=environment
    )
    assert done.returncode == 0, done.stderr
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 60  # seconds of the processor, whoever else uses the machine
    for told in ("The promise.", "KEPT", "Kept:", "bits", "% of the information", "Before:", "After:", "best guess"):
        assert told in done.stdout
    assert "Readers can count rows as they stand: shares of one column are typically within ±" in " ".join(
        done.stdout.split()
    )
    assert done.stderr == ""
    assert [list((tmp_path / name).iterdir()) for name in ("tmp", "here")] == [[], []]


@pytest.mark.long
def test_the_demo_keeps_its_files_in_a_folder_when_asked(tmp_path, capsys):
    assert funnel("demo", "--folder", tmp_path / "demo", "--json") == 0
    found = one_object(capsys.readouterr().out)
    assert found["holds"] is True
    assert found["released"]["largest_lift"] <= np.exp(0.2) * (1 + 1e-9)
    counted, original = (found["readers"][name] for name in ("counted", "original"))
    assert counted.keys() == original.keys()
    released = pa_csv.read_csv(tmp_path / "demo" / "open.csv")["weight"].to_pylist()
    assert counted == {value: released.count(value) / 20_000 for value in counted}
    assert all(abs(counted[value] - original[value]) < 0.01 for value in original)  # six standard errors and more
    files = ["domain.json", "open.csv", "people.csv", "protocol.json"]
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == files
    assert funnel("audit", tmp_path / "demo" / "protocol.json") == 0


@pytest.mark.long
def test_the_demo_tells_what_an_exact_protocol_would_have_told_of_a_person(tmp_path, capsys):
    assert funnel("demo", "--folder", tmp_path / "demo", "--json") == 0
    told = one_object(capsys.readouterr().out)["told_by_the_file"]
    assert told["person"].startswith("Person ")
    assert told["named"] == told["secret"]
    assert told["exact"] == told["alone"] > 10
    assert told["private"] < told["alone"]
    row = next(line for line in (tmp_path / "demo" / "people.csv").read_text().splitlines() if told["person"] in line)
    assert row.endswith(told["secret"])


# --- the process around it ---------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("command", ["--help", "fit", "audit", "tradeoff"])
def test_a_reader_that_leaves_early_is_no_error(command, table, fitted, tmp_path):
    asked = ["--secret", "diagnosis", "--columns", "town"]
    arguments = {
        "--help": ["--help"],
        "fit": ["fit", table, *asked, "--epsilon", "1", "-o", tmp_path / "p.json"],
        "audit": ["audit", fitted, "--table", table],
        "tradeoff": ["tradeoff", table, *asked, "--epsilons", "1", "--json"],
    }[command]
    read, write = os.pipe()
    os.close(read)  # nobody will ever read
    done = subprocess.run(
        [str(part) for part in (FUNNEL, *arguments)], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_is_no_error(encoding, table, fitted, tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (
        ["fit", "--help"],
        ["audit", fitted, "--table", table],
    ):
        command = [str(part) for part in (FUNNEL, *arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, errors="replace")
        assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_package_is_light():
    heavy = "duckdb pyarrow numba pandas polars sklearn pyspark shiny altair vl_convert ppl matplotlib"
    code = f"import sys, privacyfunnel; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


HEAVY = (
    "numpy scipy numba highspy duckdb pyarrow pydantic cryptography altair vl_convert rich pandas polars sklearn shiny"
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []], ids=" ".join)
def test_what_calls_no_command_loads_none(arguments):
    code = (
        "import sys; from privacyfunnel.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"heavy = ['privacyfunnel.cli.' + name for name in {list(app.COMMANDS)}] + '{HEAVY}'.split()\n"
        "loaded = [m for m in sys.modules if m in heavy]\n"
        "assert 'typer' in sys.modules\n"
        "print(*loaded, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == ""


def test_audit_sanitise_and_estimate_load_nothing_of_the_search(fitted, table, tmp_path):
    code = (
        "import json, sys; from privacyfunnel.cli.main import main\n"
        "for asked in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = asked\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code, end\n"
        "    print(*(m for m in sys.modules if m.startswith('privacyfunnel.optimiser')), file=sys.stderr)\n"
    )
    asked = (
        ["audit", fitted, "--table", table, "--attack"],
        ["sanitise", table, "--protocol", fitted, "-o", tmp_path / "open.csv"],
        ["estimate", tmp_path / "open.csv", "--protocol", fitted],
    )
    command = [sys.executable, "-c", code, json.dumps([[str(word) for word in words] for words in asked])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "privacyfunnel.optimiser" not in done.stderr
    assert done.stderr.splitlines()[-1] == ""


@pytest.mark.parametrize("name", app.COMMANDS)
def test_what_is_listed_of_a_command_is_what_it_says_itself(name):
    own = getattr(importlib.import_module(f"privacyfunnel.cli.{name}"), name)
    assert app.COMMANDS[name] == inspect.getdoc(own).split("\n\n")[0].replace("\n", " ")
    assert app.command(name).help.startswith(app.COMMANDS[name])


@pytest.mark.parametrize(
    ("typed", "offered"), [("funnel s", ["sanitise", "studio"]), ("funnel audit --att", ["--attack"])]
)
def test_a_shell_completes_commands_and_their_options(typed, offered):
    completing = {"_FUNNEL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = subprocess.run([FUNNEL], env={**os.environ, **completing}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


def test_a_command_whose_library_is_broken_is_refused_in_a_line(tmp_path):
    (tmp_path / "duckdb.py").write_text("raise RuntimeError('some words of somebody else')")
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "privacyfunnel"]
    asked = ["fit", "people.csv", "--secret", "s", "--epsilon", "1", "-o", "p.json"]
    done = subprocess.run([*command, *asked], env=around, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("funnel: a library cannot be loaded (RuntimeError)")
    assert done.stderr.count("\n") == 1
    assert subprocess.run([*command, "--help"], env=around, capture_output=True, check=False).returncode == 0


def test_a_secret_may_be_released_when_that_is_said(table, tmp_path, capsys):
    asked = ["--secret", "diagnosis", "--columns", "town,diagnosis", "--epsilon", "0.1", "-o", tmp_path / "p.json"]
    assert funnel("fit", table, *asked, "--set", "allow-secret-attribute", "--set", "exact-fit") == 0
    assert funnel("audit", tmp_path / "p.json", "--table", table) == 0
    assert "KEPT" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [["--notion", "ldp"], ["--notion", "pml"], ["--notion", "alip"], ["--notion", "perfect"]],
    ids=lambda options: options[-1],
)
def test_every_notion_is_fitted_and_audited(options, table, tmp_path, capsys):
    more = {"alip": ["--set", "lower=0.1", "--set", "upper=0.3"], "perfect": []}.get(options[-1], ["--epsilon", "0.3"])
    asked = ["--secret", "diagnosis", "--columns", "town,age", "--set", "bins=age=3", "-o", tmp_path / "p.json"]
    assert funnel("fit", table, *asked, *options, *more) == 0
    assert funnel("audit", tmp_path / "p.json", "--table", table) == 0
    assert "KEPT" in capsys.readouterr().out


# --- headers as people make them ---------------------------------------------------------------------


@pytest.fixture
def messy(tmp_path):
    """Semicolons, a byte-order mark, a space before a name, a comma inside another, letters of all kinds."""
    rows = [f"{i};Müller, {i};{['Köln', 'Łódź'][i % 2]};{['ja', 'nein'][i % 3 > 0]}" for i in range(60)]
    path = tmp_path / "Patienten 2025.csv"
    path.write_text("\n".join(["Nr;Name, Vorname; Ort;Krank?", *rows]), encoding="utf-8-sig")
    return path


def test_half_of_a_name_with_a_comma_is_pointed_out_without_quoting_the_other_half(messy, tmp_path, capsys):
    asked = ["--secret", "Krank?", "--columns", "Name, Vorname", "--epsilon", 1]
    assert funnel("fit", messy, *asked, "-o", tmp_path / "p") == 2
    err = capsys.readouterr().err
    assert "quote a name with a comma in it twice" in err
    assert "Vorname" not in err


def test_a_release_of_nearly_as_many_combinations_as_people_comes_with_a_warning(messy, tmp_path, capsys):
    asked = ["--secret", "Krank?", "--epsilon", 1, "--set", "exact-fit"]
    assert funnel("fit", messy, *asked, "--columns", '" Ort"', "-o", tmp_path / "coarse") == 0
    assert "Too fine" not in capsys.readouterr().out
    assert funnel("fit", messy, *asked, "--columns", 'Nr," Ort"', "-o", tmp_path / "fine") == 0
    assert "Too fine: 60 people have" in capsys.readouterr().out


def test_what_cannot_be_kept_is_not_called_nothing_lost(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["s,same,other", *["a,1,1", "a,1,2", "b,2,1", "b,2,2"] * 50]))
    for column, says in (("same", "keeps even 0.01% more"), ("other", "nothing is lost")):
        asked = [
            "--secret",
            "s",
            "--columns",
            column,
            "--epsilon",
            0,
            "--set",
            "objective=information",
            "--set",
            "exact-fit",
        ]
        assert funnel("fit", path, *asked, "-o", tmp_path / column) == 0
        assert says in " ".join(capsys.readouterr().out.split())


def test_a_search_that_did_not_end_says_what_may_help(tmp_path, capsys):
    rng = np.random.default_rng(1)
    path = tmp_path / "wide.csv"
    rows = [f"{s},{x},{y}" for s, x, y in rng.integers(0, [8, 40, 20], (4_000, 3)).tolist()]
    path.write_text("\n".join(["s,x,y", *rows]))
    asked = [
        "--secret",
        "s",
        "--set",
        "bins=x=each",
        "--set",
        "bins=y=each",
        "--epsilon",
        0.2,
        "--time-limit",
        0.2,
        "--set",
        "insist",
    ]
    assert funnel("fit", path, *asked, "-o", tmp_path / "p") == 0
    assert "--time-limit" in capsys.readouterr().out


def test_a_secure_release_says_what_to_publish_and_a_seeded_one_does_not(fitted, tmp_path, capsys):
    table = fitted.parent / "people.csv"
    assert funnel("sanitise", table, "--protocol", fitted, "-o", tmp_path / "a.csv") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "publish it unless fit warned" in out
    assert "Counting rows misleads" in out
    assert funnel("sanitise", table, "--protocol", fitted, "-o", tmp_path / "b.csv", "--seed", 1) == 0
    assert "Publish it" not in capsys.readouterr().out


def test_an_audit_without_the_table_says_what_can_be_seen_without_it(fitted, tmp_path, capsys):
    refused(["audit", fitted], capsys, tmp_path, "funnel report PROTOCOL --public")


def test_a_name_that_differs_in_spaces_or_capitals_is_pointed_out(messy, tmp_path, capsys):
    for typed, meant in (("Ort", "' Ort'"), ("nr", "'Nr'")):
        assert funnel("fit", messy, "--secret", "Krank?", "--columns", typed, "--epsilon", 1, "-o", tmp_path / "p") == 2
        assert f"did you mean {meant}" in capsys.readouterr().err


def test_no_other_column_is_named_for_a_name_that_is_none(messy, tmp_path, capsys):
    assert funnel("fit", messy, "--secret", "Krank?", "--columns", "O", "--epsilon", 1, "-o", tmp_path / "p") == 2
    assert "Ort" not in capsys.readouterr().err


def test_quoted_names_may_hold_commas_and_spaces(messy, tmp_path, capsys):
    chosen = ["--secret", "Krank?", "--columns", '" Ort","Name, Vorname"', "--set", 'top="Name, Vorname"=2']
    assert funnel("fit", messy, *chosen, "--epsilon", 1, "--set", "insist", "-o", tmp_path / "p.json", "--json") == 0
    columns = one_object(capsys.readouterr().out)["columns"]
    assert [column["column"] for column in columns] == ["Krank?", " Ort", "Name, Vorname"]
    assert columns[2]["values"] == 3


def test_the_command_that_comes_next_can_be_copied(messy, tmp_path, capsys):
    chosen = ["--secret", "Krank?", "--columns", '" Ort"']
    assert funnel("fit", messy, *chosen, "--epsilon", 1, "-o", tmp_path / "p.json") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"funnel sanitise '{messy}'" in said


# --- names that are more than names ------------------------------------------------------------------

HOSTILE = ["[/b]\x1b[31m", "[bold]\x9b2J\u202e", "s\x1b]0;owned\x07[/red]"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose names hold markup and what a terminal obeys, with protocols and a release of it."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    rows = {name: np.array([f"\x1b{i}" for i in range(3)])[rng.integers(0, 3, 300)] for name in HOSTILE}
    pq.write_table(pa.table(rows), folder / "t.parquet")
    return folder


def test_no_name_moves_the_cursor_or_breaks_the_page(hostile, capsys):
    table, first, second = hostile / "t.parquet", hostile / "p.json", hostile / "q.json"
    asked = ["--secret", HOSTILE[2], "--epsilon", "0.5"]
    for arguments in (
        ["fit", table, *asked, "-o", first],
        ["fit", table, *asked, "--notion", "srlip", "--known", HOSTILE[0], "-o", second],
        ["fit", table, *asked, "--json", "-o", hostile / "r.json"],
        ["sanitise", table, "--protocol", first, "-o", hostile / "open.csv"],
        ["audit", second, "--table", table, "--attack"],
        ["audit", second, "--table", table, "--json"],
        ["estimate", hostile / "open.csv", "--protocol", first],
        ["tradeoff", table, "--secret", HOSTILE[2], "--epsilons", "0.5"],
    ):
        assert funnel(*arguments) == 0, arguments
        told = "".join(capsys.readouterr())
        assert told
        assert all(letter.isprintable() or letter == "\n" for letter in told.replace("\u202e", "")), arguments
        assert "\u202e" not in told or "--json" in arguments


@pytest.mark.long
def test_a_report_can_be_drawn_whatever_the_names(hostile):
    """In a process of its own: the library that draws ends the process at characters that XML has not."""
    pytest.importorskip("vl_convert", reason="needs vl-convert, which is not installed")
    table, protocol = hostile / "t.parquet", hostile / "s.json"
    assert funnel("fit", table, "--secret", HOSTILE[2], "--epsilon", "0.5", "-o", protocol, "--json") == 0
    command = ["report", protocol, "--table", table, "--no-curves", "-o", hostile / "report.html"]
    run_it = "import sys; from privacyfunnel.cli.app import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", run_it, *map(str, command)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\\x1b" in (hostile / "report.html").read_text()


def test_an_audit_says_of_which_secret_it_speaks_and_how_many_values_it_has(table, fitted, tmp_path, capsys):
    """A protocol file says how the secret is read: one that takes all its values for missing keeps any promise."""
    assert funnel("audit", fitted, "--table", table) == 0
    assert "Secret: diagnosis, with 2 values" in capsys.readouterr().out
    content = json.loads(fitted.read_text())
    content["secret_readings"][0]["missing"] = [f"{CANARY} sick", f"{CANARY} well"]
    del content["digest"]
    forged = tmp_path / "forged.json"
    forged.write_text(protocol_file.written({**content, "digest": protocol_file.digest_of_content(content)}))
    assert funnel("audit", forged, "--table", table) == 0
    assert "nothing to give away" in capsys.readouterr().out
    assert funnel("audit", forged, "--table", table, "--json") == 0
    found = one_object(capsys.readouterr().out)
    assert (found["secret"], found["secret_values"]) == ("diagnosis", 1)


@pytest.mark.parametrize("share", [0.5, 0.93401, 0.93449, 0.9999, 1.0])
def test_the_bound_that_is_told_is_not_below_the_bound(share, fitted, table):
    loaded = pf.Protocol.load(fitted)
    found = findings(loaded, audited_joint(loaded, table))
    line = show.kept_line(replace(found, kept_share=share - 1.01e-4, gap_share=1.01e-4))
    told = float(line.partition("keeps more than ")[2].partition("%")[0]) / 100
    assert share - 1e-12 <= told < share + 0.0011


def test_the_module_is_the_command():
    done = finished([sys.executable, "-m", "privacyfunnel", "audit", "nothing.json"])
    assert done.returncode == 2
    assert "nothing.json" in one_line(done.stderr)


@pytest.mark.long
@pytest.mark.parametrize("seconds", ["-1", "nan"])
def test_a_studio_is_not_opened_with_a_time_that_no_search_would_take(seconds):
    """In a process of its own, as a studio that opens stays open."""
    run_it = "import sys; from privacyfunnel.cli.app import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", run_it, "studio", "--no-browser", "--time-limit", seconds]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def thin(tmp_path):
    """Forty people in two towns, and three who live by themselves."""
    path = tmp_path / "thin.csv"
    rows = [f"{'sick' if i % 3 else 'well'},{'Ash' if i % 2 else 'Dale'}" for i in range(40)]
    path.write_text("\n".join(["diagnosis,town", *rows, "sick,Elm", "well,Fir", "well,Fir"]) + "\n")
    return path


def test_fit_says_how_many_people_the_protocol_file_gives_away(tmp_path, capsys):
    asked = ["fit", thin(tmp_path), "--secret", "diagnosis", "--epsilon", "0.3", "--set", "exact-fit"]
    assert funnel(*asked, "-o", tmp_path / "p.json") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The protocol file is not for publication: it was fitted on exact counts" in out
    assert "of 43 people 3 have a combination of values that fewer than 10 share, 1 of them one that nobody" in out
    assert funnel(*asked, "-o", tmp_path / "p.json", "--force", "--json") == 0
    found = one_object(capsys.readouterr().out)
    assert found["fitted"] == "exact counts"
    assert found["exposed"] == {"people": 43, "alone": 1, "few": 3, "fewer_than": 10}


def test_fit_says_nothing_against_publishing_where_everybody_is_one_of_many(table, tmp_path, capsys):
    assert (
        funnel("fit", table, "--secret", "diagnosis", "--columns", "town", "--epsilon", "0.3", "-o", tmp_path / "p")
        == 0
    )
    assert "not for publication" not in capsys.readouterr().out


def test_an_audit_says_what_may_be_done_with_values_never_seen(table, fitted, tmp_path, capsys):
    assert funnel("audit", fitted, "--table", table) == 0
    assert "Values never seen when fitting: rows drawn for them" in capsys.readouterr().out
    asked = ["--secret", "diagnosis", "--columns", "town,born", "--notion", "srlip", "--epsilon", "0.05"]
    assert funnel("fit", table, *asked, "-o", tmp_path / "p.json", "--time-limit", "2") == 0
    assert funnel("audit", tmp_path / "p.json", "--table", table) == 0
    capsys.readouterr()
    refused(
        ["sanitise", table, "--protocol", tmp_path / "p.json", "-o", tmp_path / "o.csv", "--unseen", "draw"],
        capsys,
        tmp_path,
        "cannot draw rows",
    )
