"""funnel estimate and funnel audit --attack: readable tables, one JSON object, one clear line for what is wrong."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol

CANARY = "CANARY"


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def one_object(text):
    """The one JSON object that standard output must be; NaN and Infinity are not JSON."""
    assert text.count("\n") == 1
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """People whose secret follows their town, a protocol for them, and a release."""
    folder = tmp_path_factory.mktemp("estimate")
    rng = np.random.default_rng(0)
    n = 6_000
    town, age = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(18, 90, n)
    sick = rng.random(n) < 0.2 + 0.3 * (town == 0)
    names = np.array(["Ash", "[b]Birch[/b], Hill", ""])
    table = pa.table(
        {
            "diagnosis": [f"{CANARY} {s}" for s in sick],
            "town": names[town],
            "age": age,
            "name": [f"{CANARY} {i}" for i in range(n)],
        }
    )
    pa_csv.write_csv(table, folder / "people.csv")
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [18, 40, 65, 90]})
    protocol = pf.optimise(joint, pf.LIP(0.4))
    protocol.save(folder / "protocol.json")
    protocol.sanitise(folder / "people.csv", folder / "open.csv", seed=1)
    return folder


def test_estimates_are_a_readable_table(folder, capsys):
    assert funnel("estimate", folder / "open.csv", "--protocol", folder / "protocol.json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "6,000 released rows; each interval holds with 0.95 confidence." in out
    for word in ("Ash", "[b]Birch[/b], Hill", "(missing)", "[18, 40)", "most likely", "(labels counted)", "Numbers"):
        assert word in out
    assert CANARY not in out


def test_estimates_for_machines_are_those_of_python(folder, capsys):
    options = ["--of", "town,town:age", "--confidence", "0.9", "--simultaneous", "--project", "--json"]
    assert funnel("estimate", folder / "open.csv", "--protocol", folder / "protocol.json", *options) == 0
    found = one_object(capsys.readouterr().out)
    python = pf.estimate(
        folder / "open.csv",
        pf.Protocol.load(folder / "protocol.json"),
        of=["town", ("town", "age")],
        confidence=0.9,
        simultaneous=True,
        project=True,
    )
    assert found == {"next": None, **json.loads(json.dumps(python.as_dict()))}
    assert [table["attributes"] for table in found["tables"]] == [["town"], ["town", "age"]]


def test_groups_and_filters_are_shown(folder, capsys):
    asked = ["estimate", folder / "open.csv", "--protocol", folder / "protocol.json"]
    assert funnel(*asked, "--by", "town") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "age, where town is Ash" in out
    assert funnel(*asked, "--where", "age=[18, 40)|[40, 65)", "--json") == 0
    found = one_object(capsys.readouterr().out)
    assert found["tables"][0]["group"] == {"age": ["[18, 40)", "[40, 65)"]}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--of", "height"], "does not release 'height'"),
        (["--where", "town=Nowhere"], "has no value 'Nowhere'; it has"),
        (["--where", "town"], "--where should be for each column a value"),
        (["--confidence", "95"], "between 0 and 1"),
        (["--by", "town,age"], "no attribute is left"),
        (["--of", ":"], "--of takes attributes"),
    ],
)
def test_bad_options_are_one_clear_line(options, says, folder, capsys):
    assert funnel("estimate", folder / "open.csv", "--protocol", folder / "protocol.json", *options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("funnel: ")
    assert says in err


def test_a_table_of_another_protocol_is_one_clear_line(folder, tmp_path, capsys):
    cases = {
        "columns.csv": ("city,age\n" + "A,3\n" * 40, "lacks 1 of the 2 columns"),
        "labels.csv": ("town,age\n" + f'{CANARY},"[18, 40)"\n' * 40, "40 in 'town'"),
        "original.csv": ("town,age\n" + "Ash,35\n" * 40, "40 in 'age'"),
        "secret.csv": ("diagnosis,town,age\n" + 'sick,Ash,"[18, 40)"\n' * 40, "the secret of this protocol"),
        "few.csv": ("town,age\n" + 'Ash,"[18, 40)"\n' * 4, "4 rows, too few"),
        "empty.csv": ("town,age\n", "rows"),
    }
    for name, (text, says) in cases.items():
        (tmp_path / name).write_text(text)
        assert funnel("estimate", tmp_path / name, "--protocol", folder / "protocol.json") == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert says in err
        assert CANARY not in err


def test_an_attack_is_shown_with_the_audit(folder, capsys):
    pytest.importorskip("sklearn", reason="learned attackers need scikit-learn")
    asked = ["audit", folder / "protocol.json", "--table", folder / "people.csv", "--attack"]
    assert funnel(*asked) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Somebody who knows everything but this person" in out
    assert "Models trained on rows (6,000 rows, 5 folds)" in out
    assert "ever more" in out
    assert CANARY not in out
    assert funnel(*asked, "--json") == 0
    found = one_object(capsys.readouterr().out)["steward_only"]["attack"]
    assert found["within"] is True
    assert found["level"] <= 0.4
    assert [each["known"] for each in found["attackers"]] == [[], ["town"], ["age"]]
    assert [each["releases"] for each in found["repeated"]] == [1, 2, 3, "ever more"]
    assert found["repeated"][0]["level"] == found["level"]
    assert found["learned"]["released"]["accuracy"] <= found["learned"]["original"]["accuracy"] + 0.02
    assert CANARY not in json.dumps(found)


def test_an_audit_without_attack_has_none(folder, capsys):
    assert funnel("audit", folder / "protocol.json", "--table", folder / "people.csv", "--json") == 0
    assert "attack" not in one_object(capsys.readouterr().out)


def test_help_shows_an_example(capsys):
    assert funnel("estimate", "--help") == 0
    assert "Example: funnel estimate" in " ".join(capsys.readouterr().out.split())


def test_what_a_table_does_not_tell_and_what_was_done_to_it_is_said_beside_it(folder, tmp_path, capsys):
    """Two towns are treated alike, nobody lives in the fourth, and one age says that another protocol was at work."""
    joint = pf.Joint.from_support([[3, 2, 2, 1], [1, 2, 2, 3]], ["Ash", "Birch", "Cole", "Dale"], attributes=["town"])
    Q = np.array([[13, 1, 1, 1], [1, 14, 14, 1], [2, 1, 1, 14]]) / 16
    block = block_of(joint, Channel.from_dense(Q))
    protocol = Protocol(pf.LIP(50), block, 0.0, 0.0, 0.0, "by hand", "S")
    protocol.save(tmp_path / "p.json")
    labels = [block.values[x, 0] for x in block.labels]
    shares = block.channel.dense() @ [0.6, 0.2, 0.2, 0.0]
    rows = [name for name, share in zip(labels, shares, strict=True) for _ in range(round(4_000 * share))]
    (tmp_path / "open.csv").write_text("town\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert funnel("estimate", tmp_path / "open.csv", "--protocol", tmp_path / "p.json") == 0
    out = capsys.readouterr().out
    assert "Birch or Cole" in out
    assert "– 2 of these are not told by the released rows; the most likely share is a model's." in out
    assert "is this really the protocol" not in out
    (tmp_path / "other.csv").write_text("town\n" + f"{labels[0]}\n" * 4_000, encoding="utf-8")
    assert funnel("estimate", tmp_path / "other.csv", "--protocol", tmp_path / "p.json") == 0
    assert "is this really the protocol of this table?" in capsys.readouterr().out


def test_groups_of_which_nothing_can_be_said_and_moved_shares_are_named(tmp_path, capsys):
    joint = pf.Joint([[[30, 10], [20, 5]], [[10, 30], [5, 10]]], attributes=["a", "b"])
    block = block_of(joint, Channel.from_dense((np.eye(4) * 13 + 1 - np.eye(4)) / 16))
    Protocol(pf.LIP(50), block, 0.0, 0.0, 0.0, "by hand", "S").save(tmp_path / "p.json")
    values = [block.values[x] for x in block.labels]
    shares = block.channel.dense() @ [0.5, 0.5, 0.0, 0.0]  # nobody has a = 1
    rows = [f"{a},{b}" for (a, b), share in zip(values, shares, strict=True) for _ in range(round(4_000 * share))]
    (tmp_path / "open.csv").write_text("a,b\n" + "\n".join(rows) + "\n", encoding="utf-8")
    asked = ["estimate", tmp_path / "open.csv", "--protocol", tmp_path / "p.json"]
    assert funnel(*asked, "--of", "b", "--by", "a") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "b, where a is 0" in out
    assert "No table for a is 1: 4,000 released rows do not tell for sure that anybody has a = 1" in out
    assert funnel(*asked, "--of", "a:b", "--project") == 0
    assert "Shares were moved to the nearest distribution" in capsys.readouterr().out


def test_a_whole_number_is_printed_as_one_whatever_type_it_has(tmp_path, capsys):
    rng = np.random.default_rng(2)
    rooms, ill = rng.choice([2.0, 4.0], 2_000), rng.choice(["yes", "no"], 2_000)
    table = pa.table({"rooms": rooms, "ill": ill})
    joint = pf.Joint.from_table(table, "ill", ["rooms"])
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    protocol.save(tmp_path / "p.json")
    pq.write_table(protocol.sanitise(table, seed=1), tmp_path / "open.parquet")
    asked = ["estimate", str(tmp_path / "open.parquet"), "--protocol", str(tmp_path / "p.json"), "--rows", "fitted"]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert " 4 " in said
    assert "4.0" not in said
