"""funnel fit --set objective, --set weight and --set keep: what is kept the most of, and what people are told of it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.protocols.readers import points
from spec.typed import typed

ASKED = ["--secret", "sick", "--columns", "town,age", "--set", "bins=age=18,30,45,60,75,90"]


def people(n=3_000, seed=0):
    """A secret that follows age and town."""
    rng = np.random.default_rng(seed)
    town, age = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(18, 90, n)
    sick = rng.random(n) < 0.1 + 0.3 * (town == 0) + 0.4 * (age > 60)
    return pa.table({"sick": sick, "town": np.array(["Ash", "Birch", "Cole"])[town], "age": age})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objective")
    pa_csv.write_csv(people(), folder / "people.csv")
    return folder


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def fitted(folder, capsys, *more):
    """What fit tells machines, and the protocol."""
    assert funnel("fit", folder / "people.csv", *ASKED, *more, "-o", folder / "p.json", "--force", "--json") == 0
    return json.loads(capsys.readouterr().out), pf.Protocol.load(folder / "p.json")


def shown(folder, capsys, *more):
    """What it tells people, in one line."""
    assert funnel("fit", folder / "people.csv", *ASKED, *more, "-o", folder / "p.json", "--force") == 0
    return " ".join(capsys.readouterr().out.split())


def test_fit_makes_rows_that_can_be_counted_unless_asked_otherwise(folder, capsys):
    found, protocol = fitted(folder, capsys, "--epsilon", "0.3")
    assert (found["objective"], protocol.objective) == ("faithful", "faithful")
    assert found["readers"]["countable"] is True
    assert found["readers"]["average_bias"] < 1e-8
    assert found["gap_share"] <= 1e-3
    other, information = fitted(folder, capsys, "--epsilon", "0.3", "--set", "objective=information")
    assert (other["objective"], information.objective) == ("information", "information")
    assert other["readers"]["countable"] is False
    assert other["readers"]["likeness"] is None
    assert other["kept_share"] > found["kept_share"]


def test_fit_ends_with_what_matters_to_people(folder, capsys):
    found, protocol = fitted(folder, capsys, "--epsilon", "0.5", "--set", "exact-fit")
    joint = pf.Joint.from_table(folder / "people.csv", "sick", ["town", "age"], bins={"age": [18, 30, 45, 60, 75, 90]})
    Q, errors, of = protocol.channel_on(joint), [], []
    for j, column in enumerate(joint.columns):
        for a in range(len(column)):
            e = Q[joint.codes[:, j] == a].sum(axis=0)
            errors.append(np.sqrt(joint.p_x @ (e * (1 - e)) / joint.total))
            of.append(column.name)
    worst = int(np.argmax(errors))
    assert found["readers"]["typical_error"] == pytest.approx(np.median(errors), rel=1e-9)
    assert found["readers"]["worst_error"] == pytest.approx(errors[worst], rel=1e-9)
    assert found["readers"]["worst_column"] == of[worst]
    out = shown(folder, capsys, "--epsilon", "0.5", "--set", "exact-fit")
    cells = int(100 * found["readers"]["likeness"]["cells_unchanged"])
    last = out.partition("Readers can count rows as they stand: ")[2]
    near, most = points(float(np.median(errors))), points(float(errors[worst]))
    assert last.startswith(f"shares of one column are typically within ± {near} points of the original's, ")
    assert f", those of {of[worst]} within ± {most}; " in last
    assert f"{cells}% of all cells stay as they are. Written:" in last


def test_for_information_it_says_that_counting_misleads_and_by_how_much(folder, capsys):
    asked = ["--epsilon", "0.5", "--set", "objective=information", "--set", "exact-fit"]
    found, protocol = fitted(folder, capsys, *asked)
    joint = pf.Joint.from_table(folder / "people.csv", "sick", ["town", "age"], bins={"age": [18, 30, 45, 60, 75, 90]})
    q, block, off = protocol.channel_on(joint) @ joint.p_x, protocol.block, []
    for j, column in enumerate(joint.columns):
        for a in range(len(column)):
            label = block.codes[block.labels, j] == a
            off.append(abs(q[label].sum() - joint.p_x[joint.codes[:, j] == a].sum()))
    assert found["readers"]["average_bias"] == pytest.approx(np.mean(off), rel=1e-9)
    assert np.mean(off) > 1e-3
    told = f"Counting released rows misleads: shares are off by {points(float(np.mean(off)))} points on average."
    assert told in shown(folder, capsys, *asked)


def test_a_weight_keeps_the_cells_of_its_column(folder, capsys):
    joint = pf.Joint.from_table(folder / "people.csv", "sick", ["town", "age"], bins={"age": [18, 30, 45, 60, 75, 90]})

    def unchanged(protocol, j):
        Q, code = protocol.channel_on(joint), joint.codes[:, j]
        return joint.p_x @ (Q * (code[:, None] == code[None, :])).sum(axis=0)

    _, town = fitted(folder, capsys, "--epsilon", "0.1", "--set", "weight=town=9")
    _, age = fitted(folder, capsys, "--epsilon", "0.1", "--set", "weight=age=9,town=1")
    assert dict(town.likeness.weights) == {"town": 9.0}
    assert dict(age.likeness.weights) == {"age": 9.0, "town": 1.0}
    assert unchanged(town, 0) > unchanged(age, 0) + 0.02
    assert unchanged(age, 1) > unchanged(town, 1) + 0.02


def test_weights_may_be_repeated_listed_and_quoted():
    asked = ["--secret", "s", "--set", 'weight="a, b"=2,c=3', "--set", "weight=d=0.5"]
    assert typed(asked).weight == {"a, b": 2.0, "c": 3.0, "d": 0.5}
    assert typed(["--secret", "s", "--set", "weight=a=b=2"]).weight == {"a=b": 2.0}
    with pytest.raises(PrivacyFunnelError, match="--set weight should be for each column a number"):
        typed(["--secret", "s", "--set", "weight=a"])


def test_keep_is_about_cells_when_the_objective_is(folder, capsys):
    found, protocol = fitted(folder, capsys, "--set", "keep=0.85")
    wish = found["wish"]
    assert wish["kept"] == pytest.approx(protocol.fidelity, abs=0.05)  # the file tells fewer digits
    assert wish["kept"] >= 0.85
    assert wish["too_small"] < wish["epsilon"]
    joint = pf.Joint.from_table(folder / "people.csv", "sick", ["town", "age"], bins={"age": [18, 30, 45, 60, 75, 90]})
    assert pf.optimise(joint, pf.LIP(wish["too_small"]), objective="faithful").fidelity < 0.85
    assert "Keeping 0.85 of the cells (near ones in part) takes ε = " in shown(folder, capsys, "--set", "keep=0.85")


def test_results_that_are_seldom_meant_come_with_a_line(tmp_path, capsys):
    rng = np.random.default_rng(1)
    n = 2_000
    sick = rng.random(n) < 0.4
    nearly = np.where(rng.random(n) < 0.001, ~sick, sick)
    rows = [f"{s},{x},{y}" for s, x, y in zip(sick, rng.integers(0, 3, n), nearly, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["s,x,same", *rows]))
    cases = [
        ("x", ["--set", "keep=0.3"], "is next to nothing"),
        ("x", ["--set", "keep=0.3", "--set", "objective=information"], "see what funnel estimate tells them"),
        ("same", ["--set", "keep=0.999"], "hardly protects: beliefs may change by a factor"),
        ("same", ["--set", "keep=0.99", "--set", "objective=information"], "hardly protects"),
        ("same", ["--epsilon", "0.001"], "Next to nothing is released"),
        ("same", ["--epsilon", "0.001", "--set", "objective=information"], "Next to nothing is released"),
        ("x", ["--epsilon", "5"], "Everything is released"),
    ]
    for column, asked, says in cases:
        command = ["fit", tmp_path / "t.csv", "--secret", "s", "--columns", column, *asked]
        assert funnel(*command, "-o", tmp_path / "p.json", "--force") == 0
        assert says in " ".join(capsys.readouterr().out.split()), (column, asked)
        assert funnel(*command, "-o", tmp_path / "p.json", "--force", "--json") == 0
        assert any(says in remark for remark in json.loads(capsys.readouterr().out)["remarks"])


def test_an_ordinary_result_comes_without_such_a_line(folder, capsys):
    for asked in (["--epsilon", "0.3"], ["--epsilon", "0.3", "--set", "objective=information"], ["--set", "keep=0.9"]):
        assert fitted(folder, capsys, *asked)[0]["remarks"] == []


def test_sanitise_says_whether_rows_can_be_counted(folder, tmp_path, capsys):
    table, protocol = folder / "people.csv", folder / "p.json"
    fitted(folder, capsys, "--epsilon", "0.3")
    assert funnel("sanitise", table, "--protocol", protocol, "-o", tmp_path / "a.parquet") == 0
    assert "Rows can be counted as they stand" in " ".join(capsys.readouterr().out.split())
    noted = json.loads(pq.read_metadata(tmp_path / "a.parquet").metadata[b"privacyfunnel"])
    assert "rows can be counted as they stand" in noted["counting"]
    few = tmp_path / "few.csv"
    few.write_text("\n".join(table.read_text().splitlines()[:500]) + "\n")
    assert funnel("sanitise", few, "--protocol", protocol, "-o", tmp_path / "b.csv") == 0
    assert "These are not the 3,000 rows that the protocol was fitted on" in " ".join(capsys.readouterr().out.split())
    fitted(folder, capsys, "--epsilon", "0.3", "--set", "objective=information")
    assert funnel("sanitise", table, "--protocol", protocol, "-o", tmp_path / "c.csv", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["objective"] == "information"
    assert "counting rows misleads" in told["counting"]
    assert "counting rows misleads" in (tmp_path / "c.csv.metadata.json").read_text()


@pytest.mark.parametrize("notion", [["ldp"], ["pml"], ["srlip", "--known", "town"], ["srldp", "--known", "1"]])
def test_every_kind_of_promise_has_faithful_releases(notion, folder, capsys):
    found, protocol = fitted(folder, capsys, "--epsilon", "0.4", "--notion", *notion, "--time-limit", "10")
    assert found["holds"] is True
    assert protocol.objective == "faithful"
    assert found["readers"]["average_bias"] < 1e-8


def test_a_weight_given_twice_and_an_epsilon_beyond_all_numbers(tmp_path, capsys):
    table = tmp_path / "people.csv"
    table.write_text("town,ill\n" + "a,yes\nb,no\na,no\nb,yes\n" * 20, encoding="utf-8")
    asked = ["fit", table, "--secret", "ill", "--columns", "town", "-o", tmp_path / "protocol.json"]
    assert funnel(*asked, "--epsilon", "0.5", "--set", "weight=town=1,town=5") == 2
    assert "given twice for 'town'" in capsys.readouterr().err
    assert funnel(*asked, "--epsilon", "1e308") == 0
    assert "e^1.00000001e+308" in capsys.readouterr().out
