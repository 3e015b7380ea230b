"""funnel domain and fit --domain: a template that says it is one, and a protocol whose values nobody gave away."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.tables.domain import Domain
from spark_parts import require_spark

CANARY = "CANARY"


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 900
    town = rng.integers(0, 3, n)
    people = pa.table(
        {
            "name": [f"{CANARY} {i}" for i in range(n)],
            "town": np.array(["Ash", "Birch, Hill", "Dún"])[town],
            "age": rng.integers(18, 90, n),
            "ill": [
                f"{CANARY}{'yes' if p < 0.2 + 0.2 * t else 'no'}" for p, t in zip(rng.random(n), town, strict=True)
            ],
        }
    )
    pa_csv.write_csv(people, tmp_path / "people.csv")
    return tmp_path / "people.csv"


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def refusal(capsys, *arguments):
    """The one line that is said; nothing of a record is in it."""
    assert funnel(*arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("funnel: ")
    assert said.count("\n") == 1
    assert CANARY not in said
    return said


def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change({column["name"]: column for column in content["columns"]})
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_template_is_written_and_says_that_it_is_one(table, tmp_path, capsys):
    assert funnel("domain", table, "-o", tmp_path / "domain.json") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Columns: town, age, ill." in said
    assert "Left out: name (nearly every row has its own" in said
    assert "This is a template, not yet a public domain" in said
    assert "Next, when it is edited: funnel init" in said
    assert CANARY not in said
    made = Domain.load(tmp_path / "domain.json")
    assert made.names == ("town", "age", "ill")
    assert "nothing in it is public before you have read and edited it" in made.about[0]


def test_a_template_for_machines_and_for_chosen_columns(table, tmp_path, capsys):
    output = tmp_path / "domain.json"
    assert funnel("domain", table, "--columns", "ill,age", "-o", output, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["columns"] == ["ill", "age"]
    assert said["left_out"] == ["name", "town"]
    assert "template" in said["review"]
    assert said["next"][:2] == ["funnel", "init"]
    assert Domain.load(output).names == ("ill", "age")


def test_texts_that_mean_missing_are_in_the_template(table, tmp_path):
    assert funnel("domain", table, "--columns", "town", "--missing", "Ash", "-o", tmp_path / "domain.json") == 0
    (town,) = Domain.load(tmp_path / "domain.json").columns
    assert town.missing
    assert town.missing_texts == ("Ash",)
    assert "Ash" not in town.values


def test_a_template_replaces_nothing_unless_it_is_forced_and_never_its_table(table, tmp_path, capsys):
    output = tmp_path / "domain.json"
    output.write_text("mine")
    assert "exists; pass --force" in refusal(capsys, "domain", table, "-o", output)
    assert output.read_text() == "mine"
    assert funnel("domain", table, "-o", output, "--force") == 0
    assert "is the input itself" in refusal(capsys, "domain", table, "-o", table, "--force")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["domain.json", "people.csv"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--columns", "town,sex"], "has no column 'sex'"),
        (["--delimiter", "|"], "holds no column names"),
        (["--encoding", "utf-16"], "--encoding should be utf-8 or latin-1"),
    ],
)
def test_what_is_wrong_with_the_table_is_one_line_and_leaves_no_file(options, words, table, tmp_path, capsys):
    assert words in refusal(capsys, "domain", table, *options, "-o", tmp_path / "domain.json")
    assert not (tmp_path / "domain.json").exists()


def test_help_loads_nothing_that_reads_tables():
    code = (
        "import sys; from privacyfunnel.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'duckdb', 'rich.table') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "domain", "--help"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Example: funnel domain" in done.stdout


def test_a_protocol_by_a_domain_has_exactly_the_declared_values(table, tmp_path, capsys):
    domain, protocol = tmp_path / "domain.json", tmp_path / "protocol.json"
    assert funnel("domain", table, "-o", domain) == 0

    def change(columns):
        columns["town"] |= {"values": ["Clay", "Ash", "Dún"], "outside": "other"}
        columns["age"] |= {"edges": [0, 30, 60, None]}

    edit(domain, change)
    asked = ("fit", table, "--secret", "ill", "--domain", domain, "--epsilon", 0.5, "-o", protocol, "--time-limit", 5)
    assert funnel(*asked) == 0
    said = capsys.readouterr().out
    assert "declared: 3 values; the rest is 'other'" in said
    columns = list(pf.Protocol.load(protocol).columns)
    assert [column.labels for column in columns] == [
        ("Clay", "Ash", "Dún", "other"),
        ("[0, 30)", "[30, 60)", ">=60"),
    ]
    assert funnel("audit", protocol, "--table", table) == 0
    assert funnel("sanitise", table, "--protocol", protocol, "-o", tmp_path / "open.csv") == 0
    released = pa_csv.read_csv(tmp_path / "open.csv")
    assert set(released["town"].to_pylist()) <= {"Ash", "Dún", "other"}


def test_what_the_domain_does_not_declare_is_one_line(table, tmp_path, capsys):
    domain, protocol = tmp_path / "domain.json", tmp_path / "protocol.json"
    assert funnel("domain", table, "-o", domain) == 0
    fit = ("fit", table, "--secret", "ill", "--domain", domain, "--epsilon", 0.5, "-o", protocol)
    edit(domain, lambda columns: columns["town"]["values"].remove("Ash"))
    assert "values that the domain does not declare: 2" in refusal(capsys, *fit)
    assert "does not declare 'name'" in refusal(capsys, *fit, "--columns", "age,name")
    assert "say it there" in refusal(capsys, *fit, "--set", "bins=age=4")
    assert "say it there" in refusal(capsys, *fit, "--set", "top=town=4")
    assert "say it there" in refusal(capsys, *fit, "--set", "missing=?")
    edit(domain, lambda columns: columns["age"].update(edges=[3, 2]))
    assert "column 'age': the edges do not increase" in refusal(capsys, *fit)
    domain.unlink()
    assert "there is no file" in refusal(capsys, *fit)
    assert not protocol.exists()


def test_a_protocol_is_not_written_over_its_domain(table, tmp_path, capsys):
    domain = tmp_path / "domain.json"
    assert funnel("domain", table, "-o", domain) == 0
    fit = ("fit", table, "--secret", "ill", "--domain", domain, "--epsilon", 0.5, "-o", domain, "--force")
    assert "is the input itself" in refusal(capsys, *fit)


@pytest.mark.long
def test_spark_fits_by_a_domain_as_duckdb_does(table, tmp_path):
    require_spark()
    domain = tmp_path / "domain.json"
    assert funnel("domain", table, "-o", domain) == 0
    fit = ("fit", table, "--secret", "ill", "--domain", domain, "--epsilon", 0.5, "--time-limit", 5)
    assert funnel(*fit, "-o", tmp_path / "duckdb.json") == 0
    assert funnel(*fit, "-o", tmp_path / "spark.json", "--set", "engine=spark") == 0
    one, other = (pf.Protocol.load(tmp_path / name) for name in ("duckdb.json", "spark.json"))
    assert one.columns == other.columns
    assert one.secret_readings == other.secret_readings
