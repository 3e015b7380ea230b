"""Private fits on the command line: safe unless told otherwise, two promises said apart, and an audit for everybody."""

import json

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.population import as_csv, people

BINS = {"height": "120,165,175,220", "weight": "35,70,90,250"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("private") / "people.csv"
    path.write_text(as_csv(people(4_000, seed=1)), encoding="utf-8")
    return path


def fit(table, output, *more, attributes="sex,town,weight"):
    bins = [
        part for column, edges in BINS.items() if column in attributes for part in ("--set", f"bins={column}={edges}")
    ]
    given = ["--secret", "obese", "--columns", attributes, "--set", "objective=information"]
    return run(["fit", str(table), *given, *bins, "-o", str(output), *map(str, more)])


def told(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_fit_is_private_and_has_all_combinations_unless_told_otherwise(table, tmp_path, capsys):
    assert fit(table, tmp_path / "p.json", "--epsilon", 0.5, "--json") == 0
    found = told(capsys)
    assert found["fitted"] == "private counts"
    assert found["everything_published"]["fit"] == 1.0
    assert found["everything_published"]["together"] == 1.5
    assert found["threshold"] is None
    assert found["exposed"] is None
    protocol = pf.Protocol.load(tmp_path / "p.json")
    assert (protocol.noise.epsilon, protocol.at_least, protocol.noise.declared) == (1.0, 0, False)
    assert len(protocol.block.codes) == protocol.noise.counts.shape[1]


def test_both_promises_are_in_words(table, tmp_path, capsys):
    fit(table, tmp_path / "p.json", "--epsilon", 0.5, "--set", "at-least=10")
    text = " ".join(capsys.readouterr().out.split())
    assert "anyone who knows only the published statistics" in text
    assert "factor 4.49" in text  # e^(0.5 + 1), rounded up
    assert "factor 2.72" in text
    assert "read from the table and are not protected" in text
    assert "Frequency threshold" in text
    assert "class disclosure" in text


def test_an_exact_fit_says_so_and_whom_it_gives_away(table, tmp_path, capsys):
    assert fit(table, tmp_path / "p.json", "--epsilon", 0.5, "--set", "exact-fit") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Everything that is published: no bound" in text
    assert json.loads((tmp_path / "p.json").read_text())["fitted"] == "exact counts"
    assert run(["audit", str(tmp_path / "p.json")]) == 2  # not without the table


def test_anybody_can_audit_a_private_fit(table, tmp_path, capsys):
    fit(table, tmp_path / "p.json", "--epsilon", 0.5)
    capsys.readouterr()
    assert run(["audit", str(tmp_path / "p.json")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "On the published counts" in text
    assert "Not proven: that noise of the stated size was added to the counts" in text
    assert run(["audit", str(tmp_path / "p.json"), "--json"]) == 0
    found = told(capsys)
    assert found["holds"]
    assert found["not_proven"][0].startswith("Not proven: that noise of the stated size was added")
    assert "steward_only" not in found


def test_with_the_table_the_exact_counts_are_told_and_marked_as_for_the_steward_alone(table, tmp_path, capsys):
    fit(table, tmp_path / "p.json", "--epsilon", 0.05, "--private", 0.2)
    capsys.readouterr()
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(table)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "For you alone: on the exact counts of this table" in text
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(table), "--json"]) == 0
    found = told(capsys)
    assert found["holds"]
    assert not found["steward_only"]["holds"]  # noise of scale 10 was the people to this protocol


def test_with_a_confidence_the_noise_is_folded_in(table, tmp_path, capsys):
    more = ("--epsilon", 0.8, "--confidence", 0.95, "--time-limit", 5, "--json")
    assert fit(table, tmp_path / "p.json", *more, attributes="sex,weight") == 0
    found = told(capsys)
    assert found["threshold"] is None
    assert found["everything_published"]["robust"]
    assert run(["audit", str(tmp_path / "p.json")]) == 0
    exact = pf.Joint.from_table(table, "obese", ["sex", "weight"], bins={"weight": [35, 70, 90, 250]})
    assert pf.certify(pf.Protocol.load(tmp_path / "p.json"), exact, pf.LIP(0.8)).holds


def test_the_smallest_epsilon_is_found_from_noisy_counts(table, tmp_path, capsys):
    assert fit(table, tmp_path / "p.json", "--set", f"keep={0.9}", "--json") == 0
    assert told(capsys)["fitted"] == "private counts"


def test_side_channels_go_without_a_threshold(table, tmp_path, capsys):
    assert fit(table, tmp_path / "p.json", "--notion", "srlip", "--epsilon", 1, "--json", attributes="sex,weight") == 0
    assert told(capsys)["threshold"] is None
    assert run(["audit", str(tmp_path / "p.json")]) == 0


def test_rows_of_rare_combinations_are_read_as_the_nearest_and_nobody_is_refused(table, tmp_path):
    fit(
        table,
        tmp_path / "p.json",
        "--epsilon",
        0.5,
        "--set",
        f"at-least={60}",
        "--set",
        "insist",
        attributes="sex,town,height,weight",
    )
    protocol = pf.Protocol.load(tmp_path / "p.json")
    assert protocol.block.channel.n_inputs < 2 * 5 * 3 * 3
    assert run(["sanitise", str(table), "--protocol", str(tmp_path / "p.json"), "-o", str(tmp_path / "o.csv")]) == 0
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 4_001


def test_a_domain_too_large_to_go_through_is_told_by_its_large_counts(tmp_path, capsys):
    rng = np.random.default_rng(1)
    names = [f"c{j}" for j in range(9)]
    values = rng.integers(0, 6, (3_000, 9)) * (rng.random((3_000, 1)) < 0.05)
    rows = [
        ",".join([*(f"v{v}" for v in row), str(s)]) for row, s in zip(values, rng.integers(0, 2, 3_000), strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*names, "s"]), *rows]), encoding="utf-8")
    given = ["--secret", "s", "--epsilon", "0.5", "--set", "objective=information", "--set", "insist"]
    assert run(["fit", str(tmp_path / "t.csv"), *given, "-o", str(tmp_path / "p.json")]) == 0
    assert "may fail with a chance of 1e-09" in " ".join(capsys.readouterr().out.split())
    assert run(["audit", str(tmp_path / "p.json")]) == 0
    assert pf.Protocol.load(tmp_path / "p.json").noise.delta == 1e-9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "exact-fit", "--private", "1"], "without noise"),
        (["--set", "exact-fit", "--set", "delta=1e-9"], "without noise"),
        (["--private", "0"], "from 0.001 to 50"),
        (["--private", "nan"], "--private should be a number"),
        (["--set", "delta=2"], "1e-6"),
        (["--set", "at-least=0"], "from 1 on"),
        (["--set", "at-least=10", "--confidence", "0.95"], "cannot be combined with --set at-least"),
        (["--set", "at-least=10", "--notion", "srlip"], "cannot be combined with --set at-least"),
        (["--confidence", "0.95", "--set", "within=intervals"], "--set exact-fit"),
        (["--set", "at-least=100000"], "enough people"),
    ],
)
def test_what_does_not_go_together_is_one_line(options, words, table, tmp_path, capsys):
    assert fit(table, tmp_path / "p.json", "--epsilon", 0.5, *options) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "p.json").exists()


def test_saving_an_exact_fit_warns(tmp_path):
    protocol = pf.optimise(pf.Joint([[40, 10], [10, 40]]), pf.LIP(0.3))
    with pytest.warns(pf.errors.ExactFit, match="exact counts"):
        protocol.save(tmp_path / "p.json")
