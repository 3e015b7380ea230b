"""Groups of a table's texts: asked for, counted, released, read back; or refused in one line."""

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.report.commands import steps

TOWNS = ["Ashford", "Birch", "Clayton", "Dale"]
NORTH = {"town": {"north": ["Ashford", "Clayton"]}}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    town = rng.choice(TOWNS, 3_000)
    ill = rng.random(3_000) < np.where(town == "Birch", 0.7, 0.4)
    code = rng.integers(1, 5, 3_000)
    return pd.DataFrame({"ill": np.where(ill, "yes", "no"), "town": town, "code": code})


def test_released_rows_have_the_names_of_groups_and_can_be_read_back(people, tmp_path):
    joint = pf.Joint.from_table(people, "ill", ["town"], groups=NORTH)
    assert joint.columns[0].labels == ("north", "Birch", "Dale")
    assert joint.n_x == 3
    protocol = pf.optimise(joint, pf.LIP(0.2), objective="faithful")
    protocol.save(tmp_path / "p.json")
    again = pf.Protocol.load(tmp_path / "p.json")
    assert again.columns == joint.columns
    assert pf.certify(again, joint).holds
    people.to_csv(tmp_path / "people.csv", index=False)
    again.sanitise(tmp_path / "people.csv", tmp_path / "open.csv", seed=1)
    released = pd.read_csv(tmp_path / "open.csv")
    assert set(released["town"]) == {"north", "Birch", "Dale"}
    shares = pf.estimate(tmp_path / "open.csv", again)
    assert "north" in str(shares)


def test_codes_that_look_like_numbers_can_be_grouped(people):
    joint = pf.Joint.from_table(people, "ill", ["code"], groups={"code": {"low": ["1", "2"]}})
    assert joint.columns[0].labels == ("low", "3", "4")


def test_groups_go_with_a_domain(people):
    domain = pf.Domain.from_text(
        '{"schema": "privacyfunnel-domain/1", "columns": ['
        '{"name": "ill", "kind": "text", "values": ["no", "yes"]},'
        '{"name": "town", "kind": "text", "values": ["Ashford", "Birch", "Clayton", "Dale", "Elm"]}]}'
    )
    joint = pf.Joint.from_table(people, "ill", ["town"], domain=domain, groups=NORTH)
    assert joint.declared
    assert joint.columns[0].labels == ("north", "Birch", "Dale", "Elm")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"town": {"Birch": ["Ashford"]}}, "contradict"),
        ({"town": {"a": ["Dale"], "b": ["Dale"]}}, "contradict"),
        ({"village": {"a": ["b"]}}, "no column"),
        ({"town": {"": ["Ashford", "Dale"]}}, "does not mean missing"),
        ({"town": {"unknown": ["Ashford", "Dale"]}}, "does not mean missing"),
        ({"town": {"north": "Ashford"}}, "groups.town.north should be for each column"),
        ({"town": {"north": []}}, "groups.town.north should be for each column"),
        ({"town": {"north": [1, 2]}}, "groups.town.north should be for each column"),
        ({"town": {"north": None}}, "groups.town.north should be for each column"),
        ({"town": {"north\udcff": ["Ashford"]}}, "groups.town should be text in UTF-8"),
        ({"town": {"north": ["Ashford", "\udcff"]}}, "in UTF-8"),
        ({"town": {1: ["Ashford"]}}, "groups.town.1 should be"),
        ({"town": [["Ashford", "Dale"]]}, "groups.town should be"),
        ({"town": None}, "groups.town should be"),
        ([["Ashford", "Dale"]], "groups should be for each column"),
    ],
)
def test_groups_that_make_no_sense_are_refused(people, groups, message):
    with pytest.raises(InvalidInput, match=message):
        pf.Joint.from_table(people, "ill", ["town"], groups=groups, missing="unknown")


@pytest.mark.parametrize("groups", [{"town": None}, {"town": {"north": "Ashford"}}, ["town"], {1: {}}])
def test_groups_that_make_no_sense_are_no_way_to_merge_either(people, groups):
    joint = pf.Joint.from_table(people, "ill", ["town", "code"])
    with pytest.raises(pf.PrivacyFunnelError):
        pf.coarsen(joint, pf.SRLIP(0.5), groups=groups, seconds=0)


def test_texts_of_groups_that_do_not_occur_are_pointed_out(people, tmp_path, capsys):
    people.to_csv(tmp_path / "people.csv", index=False)
    fit = ["fit", str(tmp_path / "people.csv"), "--secret", "ill", "--columns", "town", "--epsilon", "1"]
    assert (
        run([*fit, "--set", "exact-fit", "--set", "group=town:north=Ashfrod,Dale", "-o", str(tmp_path / "p.json")]) == 0
    )
    assert "groups name 'Ashfrod', which it does not have" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )


def test_numbers_that_are_cut_have_no_groups(people):
    with pytest.raises(InvalidTable, match="cut numbers with bins"):
        pf.Joint.from_table(people, "ill", ["code"], bins={"code": 2}, groups={"code": {"low": ["1"]}})


def test_the_command_line_takes_groups_and_says_how_to_type_them(people, tmp_path, capsys):
    people.to_csv(tmp_path / "people.csv", index=False)
    command = ["fit", str(tmp_path / "people.csv"), "--secret", "ill", "--columns", "town", "--epsilon", "0.2"]
    run([*command, "--set", "exact-fit", "--set", "group=town:north=Ashford,Clayton", "-o", str(tmp_path / "p.json")])
    assert "groups make 3 values" in " ".join(capsys.readouterr().out.split())
    assert pf.Protocol.load(tmp_path / "p.json").columns[0].labels == ("north", "Birch", "Dale")
    for typed in ("town=Ashford", "north=Ashford,Clayton", "town:north=", ":north=Ashford"):
        assert run([*command, "--set", "exact-fit", "--set", f"group={typed}", "-o", str(tmp_path / "q.json")]) == 2
        assert "--set group should be for each column" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "q.json").exists()


def test_the_report_says_how_to_fit_again_with_the_same_groups(people):
    joint = pf.Joint.from_table(people, "ill", ["town"], groups=NORTH)
    said = steps(pf.optimise(joint, pf.LIP(0.2)), "people.csv")
    assert "--set group=town:north=Ashford,Clayton" in said.fit
    assert "groups={'town': {'north': ['Ashford', 'Clayton']}}" in said.python
