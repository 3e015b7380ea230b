"""coarsen = search: what is merged is said, recorded in the protocol, and paid for in a private fit."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run

pytestmark = pytest.mark.usefixtures("compiled_loops")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The secret is the parity of the age and the rooms: together, as they are, one tells it to who knows the other."""
    rng = np.random.default_rng(1)
    age, rooms = rng.integers(0, 8, 6_000), rng.integers(0, 4, 6_000)
    path = tmp_path_factory.mktemp("merging") / "people.csv"
    ill = np.where((age + rooms) % 2, "yes", "no")
    pd.DataFrame({"ill": ill, "age": age, "[red]rooms[/red]": rooms}).to_csv(path, index=False)
    return path


def fit(table, tmp_path, *options, coarsen="search", notion="srlip"):
    command = [
        "fit",
        str(table),
        "--secret",
        "ill",
        "--notion",
        notion,
        "--epsilon",
        "0.5",
        "--set",
        f"coarsen={coarsen}",
    ]
    usual = ["--set", "objective=information", "--time-limit", "8"]
    return run([*command, *usual, *options, "-o", str(tmp_path / "p.json"), "--force"])


def test_what_is_merged_is_said_and_in_the_protocol(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--set", "exact-fit") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "What merging would keep" in text
    assert re.search(r"Merged, so that more is kept: (\[red\]rooms\[/red\]: 2|age: 4) ranges\.", text)
    assert "does not cover people who know these columns more finely" in text
    assert "could rule values of the secret out about single people" in text
    protocol = pf.Protocol.load(tmp_path / "p.json")
    assert [column.edges[1:-1] for column in protocol.columns if column.edges] in ([(2.0,)], [(2.0, 4.0, 6.0)])
    assert protocol.utility > np.log(16) - 0.1


def test_machines_get_what_was_tried(table, tmp_path, capsys):
    fit(table, tmp_path, "--set", "exact-fit", "--json")
    found = json.loads(capsys.readouterr().out)["coarsened"]
    assert found["best"]["coarser"] in ({"[red]rooms[/red]": "2 ranges"}, {"age": "4 ranges"})
    assert found["best"]["kept"] > found["as_read"]["kept"]
    assert found["level_for_finer"] is None
    assert "could rule values of the secret out" in found["for_finer"]


def test_a_private_fit_pays_for_the_choice_and_anybody_can_audit_it(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--private", "1") == 0
    assert "single people" not in capsys.readouterr().out
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["noise"]["choosing"] == pytest.approx(0.2)
    assert content["noise"]["epsilon"] == pytest.approx(0.8)
    assert run(["audit", str(tmp_path / "p.json")]) == 0


def test_a_choice_that_noise_drowns_is_refused_with_what_it_had_and_what_to_do(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--private", "0.006") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "chooses by noisy counts for 0.0012 of ε₀, and fewer than two values of the secret show" in message
    assert "say yourself what to merge (bins, top, group)" in message
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("options", "notion", "message"),
    [
        (["--set", "exact-fit"], "lip", "--notion srlip or srldp"),
        (["--set", "exact-fit", "--keep-exact", "town"], "srlip", "leave out --set keep, --set error and --keep-exact"),
        (["--set", "exact-fit", "--columns", "auto"], "srlip", "leave out --columns auto"),
        (["--confidence", "0.95"], "srlip", "--confidence"),
    ],
)
def test_what_does_not_go_together_is_refused(table, tmp_path, capsys, options, notion, message):
    assert fit(table, tmp_path, *options, notion=notion) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "p.json").exists()


def test_anything_else_is_no_way_to_coarsen(table, tmp_path, capsys):
    assert fit(table, tmp_path, coarsen="more") == 2
    assert "--set coarsen should be auto or search" in capsys.readouterr().err


def test_a_time_limit_below_0_is_refused_as_it_was_typed(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--time-limit", "-1") == 2
    assert "--time-limit should be a number of seconds from 0 on" in capsys.readouterr().err


def test_weights_of_columns_that_are_left_out_are_no_mistake(tmp_path, capsys):
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, 2_000), rng.integers(0, 2, 2_000)
    path = tmp_path / "bits.csv"
    pd.DataFrame({"ill": np.where(a ^ b, "yes", "no"), "a": a, "b": b}).to_csv(path, index=False)
    assert fit(path, tmp_path, "--set", "exact-fit", "--set", "objective=faithful", "--set", "weight=a=3,b=2") == 0
    assert "left out" in capsys.readouterr().out


def test_columns_of_which_too_many_sets_may_be_known_are_left_out_and_the_protocol_is_written(tmp_path, capsys):
    rng = np.random.default_rng(3)
    many = pd.DataFrame(rng.integers(0, 3, (900, 14)).astype(str), columns=[f"c{i}" for i in range(14)])
    many.insert(0, "ill", np.where(rng.random(900) < 0.3, "yes", "no"))
    path = tmp_path / "many.csv"
    many.to_csv(path, index=False)
    assert fit(path, tmp_path, "--set", "exact-fit", "--time-limit", "2") == 0
    assert "too many sets of columns to know" in " ".join(capsys.readouterr().out.split())
    assert pf.Protocol.load(tmp_path / "p.json").utility > 1
