"""funnel fit --set readers and --set error, and sanitise --no-variant: protocols for readers of any table."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run

ASKED = ["--secret", "sick", "--columns", "town,sex,age", "--set", "objective=information"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readers")
    rng, n = np.random.default_rng(0), 6_000
    town, sex, age = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.integers(0, 2, n), rng.integers(0, 3, n)
    sick = rng.random(n) < 0.1 + 0.3 * (town == 0) + 0.3 * (age == 2) + 0.1 * sex
    pa_csv.write_csv(pa.table({"sick": sick, "town": town, "sex": sex, "age": age}), folder / "people.csv")
    return folder


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def fit(folder, *more):
    return funnel("fit", folder / "people.csv", *ASKED, *more, "-o", folder / "p.json", "--force")


def test_a_protocol_for_readers_is_fitted_released_and_read(folder, capsys):
    assert fit(folder, "--epsilon", "0.1", "--set", "readers=pairs", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    protocol = pf.Protocol.load(folder / "p.json")
    assert protocol.precision.give_up == 0.01
    assert found["precision"]["tables"][0] == ["town"]
    assert 1 <= found["expected_errors"]["typical"] <= found["expected_errors"]["worst"]
    assert fit(folder, "--epsilon", "0.1", "--set", "readers=pairs") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Estimated whatever the table: typically ×" in told
    assert "--no-variant" in told
    for more, columns in (((), ["town", "sex", "age", "variant"]), (("--no-variant",), ["town", "sex", "age"])):
        open_ = folder / "open.csv"
        args = "sanitise", folder / "people.csv", "--protocol", folder / "p.json", "-o", open_, "--force", *more
        assert funnel(*args) == 0
        assert "variant" in capsys.readouterr().out
        assert pa_csv.read_csv(open_).column_names == columns
        assert funnel("estimate", open_, "--protocol", folder / "p.json", "--of", "sex", "--json") == 0
        assert json.loads(capsys.readouterr().out)["rows"] == 6_000
    assert funnel("audit", folder / "p.json") == 0


def test_the_smallest_epsilon_for_an_error_is_found(folder, capsys):
    assert fit(folder, "--set", "error=town=0.008", "--json") == 0
    wish = json.loads(capsys.readouterr().out)["wish"]
    assert wish["reached"]["town"] <= 0.008
    assert fit(folder, "--set", "error=town=0.008") == 0
    assert "town within ± 0.008" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "wrong",
    [
        ["--epsilon", "0.1", "--set", "readers=everybody"],
        ["--epsilon", "0.1", "--set", "readers=pairs", "--set", "objective=faithful"],
        ["--epsilon", "0.1", "--set", "readers=pairs", "--set", "give-up=0"],
        ["--set", "keep=0.9", "--set", "readers=pairs"],
        ["--epsilon", "0.1", "--set", "error=town=0.01"],
        ["--set", "keep=0.9", "--set", "error=town=0.01"],
        ["--set", "error=town"],
        ["--set", "error=town=much"],
        ["--set", "error=town=2"],
        ["--set", "error=height=0.1"],
        ["--set", "error=town=0.0001"],
    ],
)
def test_what_does_not_go_together_is_one_line(folder, capsys, wrong):
    assert fit(folder, *wrong) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("funnel:")]
    assert len(lines) == 1


def test_it_is_not_improved_but_fitted_anew(folder, capsys):
    assert fit(folder, "--epsilon", "0.1", "--set", "readers=shares") == 0
    again = "fit", folder / "people.csv", "--set", f"improve={folder / 'p.json'}", "-o", folder / "q.json", "--force"
    assert funnel(*again) == 2
    assert "fit it anew" in " ".join(capsys.readouterr().err.split())


def test_what_readers_may_cost_is_not_said_without_readers(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("town,ill\nA,1\nB,0\n")
    asked = ["--secret", "ill", "--epsilon", "1", "--set", "give-up=0.5", "-o", str(tmp_path / "p.json")]
    assert run(["fit", str(tmp_path / "t.csv"), *asked]) == 2
    assert capsys.readouterr().err == "funnel: --set give-up says what readers may cost, so it needs --set readers\n"
