"""Promises that fit can be asked for: several secrets, levels for values, beliefs, borders, exact columns."""

from __future__ import annotations

import html
import json
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privacyfunnel as pf
from privacyfunnel.cli.app import app
from privacyfunnel.cli.app import run as funnel
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.report.commands import steps
from spec.typed import typed

run = CliRunner()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(1)
    n = 4000
    income, ill = rng.integers(0, 3, n), rng.random(n) < 0.3
    town = np.where(rng.random(n) < 0.1 + 0.2 * ill, "Ashford", np.where(rng.random(n) < 0.5, "Birch", "Colby"))
    sport = (income + rng.integers(0, 3, n)) % 4
    frame = pd.DataFrame({"income": income, "illness": np.where(ill, "ill", "well"), "town": town, "sport": sport})
    path = tmp_path_factory.mktemp("promises") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def fit(table, tmp_path, *options, attributes="town,sport"):
    path = tmp_path / "protocol.json"
    done = run.invoke(app, ["fit", str(table), "--columns", attributes, "-o", str(path), "--json", "--force", *options])
    return done, path


CASES = {
    "several": (
        ("--secret", "income", "--secret", "illness", "--epsilon", "income=0.3,illness=0.2"),
        {"income": 0.3, "illness": 0.2},
    ),
    "kinds": (
        ("--secret", "income", "--secret", "illness", "--epsilon", "0.3", "--notion", "income=lip,illness=ldp"),
        {"income": 0.3, "illness": 0.3},
    ),
    "values": (
        ("--secret", "illness", "--epsilon", "ill=0.1,well=1"),
        {"illness = ill": 0.1, "illness = well": 1.0},
    ),
    "belief": (("--secret", "illness", "--notion", "belief", "--epsilon", "ill=0.4"), {"illness = ill": 0.4}),
    "ordered": (("--secret", "income", "--set", "ordered", "--epsilon", "0.2"), {"income, by borders": 0.2}),
    "both": (
        ("--secret", "income", "--set", "ordered", "--epsilon", "0.2", "--set", "per-range=0.5"),
        {"income, by borders": 0.2, "income": 0.5},
    ),
    "exact": (("--secret", "illness", "--epsilon", "1.5", "--keep-exact", "town"), {"illness": 1.5}),
    "exact for the population": (
        ("--secret", "illness", "--epsilon", "1.5", "--keep-exact", "town", "--confidence", "0.95"),
        {"illness": 1.5},
    ),
    "several for the population": (
        ("--secret", "income", "--secret", "illness", "--epsilon", "0.5", "--confidence", "0.95"),
        {"income": 0.5, "illness": 0.5},
    ),
    "belief for the population": (
        ("--secret", "illness", "--notion", "belief", "--epsilon", "ill=0.5", "--confidence", "0.95"),
        {"illness = ill": 0.5},
    ),
    "ordered for the population, information": (
        (
            "--secret",
            "income",
            "--set",
            "ordered",
            "--epsilon",
            "0.5",
            "--confidence",
            "0.9",
            "--set",
            "objective=information",
        ),
        {"income, by borders": 0.5},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_fit_is_audited_by_anybody_and_tells_each_level(table, tmp_path, name):
    options, promised = CASES[name]
    done, path = fit(table, tmp_path, *options)
    assert done.exit_code == 0, done.output
    audited = run.invoke(app, ["audit", str(path), "--json"])
    assert audited.exit_code == 0, audited.output
    levels = {one["subject"]: one for one in json.loads(audited.stdout)["certificate"]["levels"]}
    if "for the population" in name:
        told = json.loads(done.stdout)["population"]
        if "levels" not in told:  # one promise about one secret
            told = {"levels": [{part: told[f"{part}_level"] for part in ("sample", "population")} | told]}
        assert all(one["sample"] <= one["population"] <= one["promised"] for one in told["levels"])
    assert {subject: one["promised"] for subject, one in levels.items()} == promised
    assert all(one["holds"] and one["level"] <= one["promised"] for one in levels.values())
    assert json.loads(path.read_text())["guarantee"] == pf.Protocol.load(path).notion.words()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--secret", "income", "--secret", "illness", "--epsilon", "income=0.3"), "name each"),
        (("--secret", "income", "--secret", "income", "--epsilon", "0.3"), "once will do"),
        (("--secret", "income,illness", "--secret", "sport", "--epsilon", "0.3"), "name one column in each"),
        (("--secret", "illness", "--epsilon", "ill=0.1"), "has no level"),
        (("--secret", "illness", "--epsilon", "ill=much,well=1"), "--epsilon should be a number"),
        (("--secret", "illness", "--epsilon", "ill=0.1,well=1", "--notion", "ldp"), "compares values"),
        (("--secret", "illness", "--notion", "belief", "--epsilon", "ill=0.1"), "in the statistics"),
        (("--secret", "illness", "--notion", "belief", "--epsilon", "0.1"), "belief needs --epsilon for values"),
        (("--secret", "illness", "--notion", "belief", "--epsilon", "il=0.4"), "which the secret 'illness' never is"),
        (("--secret", "illness", "--set", "ordered", "--epsilon", "0.1"), "no order"),
        (
            ("--secret", "income", "--secret", "illness", "--epsilon", "0.3", "--known", "1"),
            "none of the secrets has such a promise",
        ),
        (
            (
                "--secret",
                "income",
                "--secret",
                "illness",
                "--notion",
                "srlip",
                "--epsilon",
                "0.3",
                "--known",
                "income=1,sex=1",
            ),
            "--known names 'sex'; the secrets are income, illness",
        ),
        (("--secret", "income", "--epsilon", "0.1", "--set", "per-range=1"), "--set per-range needs --set ordered"),
        (("--secret", "illness", "--epsilon", "0.001", "--keep-exact", "town"), "town cannot stay exact"),
        (("--secret", "illness", "--epsilon", "0.5", "--keep-exact", "village"), "none of the released columns"),
        (
            (
                *("--secret", "illness", "--epsilon", "0.5", "--keep-exact", "town"),
                "--set",
                "readers=pairs",
                "--set",
                "objective=information",
            ),
            "--keep-exact cannot be combined with --set readers",
        ),
        (
            (
                *("--secret", "illness", "--set", "error=sport=0.1", "--keep-exact", "town"),
                "--set",
                "objective=information",
            ),
            "for rows that are counted",
        ),
        (
            ("--secret", "illness", "--notion", "belief", "--epsilon", "ill=0.31", "--confidence", "0.95"),
            "of the population may have illness = ill",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(table, tmp_path, capsys, options, why):
    path = tmp_path / "protocol.json"
    code = funnel(["fit", str(table), "--columns", "town,sport", "-o", str(path), "--json", *options])
    said = capsys.readouterr().err
    assert code == 2
    assert why in said
    assert said.count("\n") == 1
    assert not path.exists()


@pytest.mark.long
def test_a_fit_and_a_report_say_what_several_promises_come_to_for_the_population(table, tmp_path):
    path, page = tmp_path / "protocol.json", tmp_path / "report.html"
    asked = ["--secret", "income", "--secret", "illness", "--epsilon", "income=0.5,illness=0.4", "--confidence", "0.95"]
    command = ["fit", str(table), "--columns", "town,sport", "-o", str(path), "--set", "exact-fit", *asked]
    done = run.invoke(app, command, env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    assert "Levels with 95% confidence: income: " in done.stdout
    assert "for the population, promised 0.4" in done.stdout
    done = run.invoke(app, ["report", str(path), "--table", str(table), "-o", str(page)])
    assert done.exit_code == 0, done.output
    said = page.read_text()
    assert "with 95% confidence for the population" in said
    assert "income=0.5,illness=0.4" in said


@pytest.mark.parametrize("wish", [("--set", "keep=0.9"), ("--set", "error=sport=0.03")])
def test_the_smallest_epsilon_at_which_a_column_stays_exact_is_found(table, tmp_path, wish):
    done, path = fit(table, tmp_path, "--secret", "illness", "--keep-exact", "town", "--set", "exact-fit", *wish)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert pf.Protocol.load(path).block.exact == ("town",)
    (asked,) = [part for part in told.values() if isinstance(part, dict) and "too_small" in part]
    joint = pf.Joint.from_table(table, "illness", ["town", "sport"])
    pf.optimise(joint, pf.LIP(asked["epsilon"]), exact=["town"], objective="faithful")
    with pytest.raises(pf.PrivacyFunnelError, match="cannot stay exact"):
        pf.optimise(joint, pf.LIP(0.05), exact=["town"], objective="faithful")


TWO = ("--secret", "income", "--secret", "illness")


@pytest.mark.parametrize(
    ("known", "promise"),
    [
        ("1", pf.Promises(income=pf.SRLIP(0.3, known=1), illness=pf.LDP(0.3))),
        ("town,sport", pf.Promises(income=pf.SRLIP(0.3, known=["town", "sport"]), illness=pf.LDP(0.3))),
        ("income=town+sport", pf.Promises(income=pf.SRLIP(0.3, known=["town", "sport"]), illness=pf.LDP(0.3))),
        (None, pf.Promises(income=pf.SRLIP(0.3), illness=pf.LDP(0.3))),
    ],
)
def test_attackers_on_one_of_the_secrets_may_know_columns(known, promise):
    knowing = [] if known is None else ["--known", known]
    assert typed([*TWO, "--notion", "income=srlip,illness=ldp", "--epsilon", "0.3", *knowing]).promise() == promise


def test_attackers_on_each_secret_may_know_other_columns():
    asked = ["--notion", "srlip", "--epsilon", "income=0.3,illness=1", "--known", "illness=town,income=2"]
    promise = pf.Promises(income=pf.SRLIP(0.3, known=2), illness=pf.SRLIP(1.0, known=["town"]))
    assert typed([*TWO, *asked]).promise() == promise
    assert promise.asked() == {
        "notion": "srlip",
        "epsilon": {"income": 0.3, "illness": 1},
        "known": {"income": 2, "illness": ("town",)},
    }


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_what_is_typed_to_do_the_same_makes_the_same_promise(table, tmp_path, name):
    """The commands and the Python of a report, with all digits of every ε."""
    options = [one.replace("0.3", "0.3000000001") for one in CASES[name][0]]
    done, path = fit(table, tmp_path, *options, "--set", "exact-fit", "--set", "objective=information")
    assert done.exit_code == 0, done.output
    protocol = pf.Protocol.load(path)
    again = steps(protocol, "people.csv")
    asked = typed(shlex.split(again.fit)[2:])
    joint = pf.Joint.from_table(table, asked.secret_columns, ["town", "sport"])
    assert asked.promise().made_for(joint) == protocol.notion
    line = next(line for line in again.python.splitlines() if line.startswith("protocol = "))
    best = eval(line.removeprefix("protocol = "), {"pf": pf, "joint": joint})  # noqa: S307 (what we printed ourselves)
    assert best.notion == protocol.notion
    assert best.block.exact == protocol.block.exact


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_every_kind_is_released_estimated_and_attacked(table, tmp_path, name):
    done, path = fit(table, tmp_path, *CASES[name][0])
    assert done.exit_code == 0, done.output
    released = tmp_path / "open.csv"
    assert funnel(["sanitise", str(table), "--protocol", str(path), "-o", str(released)]) == 0
    before, after = pd.read_csv(table), pd.read_csv(released)
    assert sorted(after.columns) == ["sport", "town"]
    for town in before["town"].unique() if name == "exact" else ():
        assert (after["town"] == town).sum() == (before["town"] == town).sum()
    estimated = run.invoke(app, ["estimate", str(released), "--protocol", str(path), "--json"])
    assert estimated.exit_code == 0, estimated.output
    audited = run.invoke(app, ["audit", str(path), "--table", str(table)])
    assert "On the published counts:" in audited.output
    for subject in CASES[name][1] if len(CASES[name][1]) > 1 or name == "belief" else ():
        assert f"{subject}: " in audited.output


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_every_kind_is_reported_and_published(table, tmp_path, name):
    done, path = fit(table, tmp_path, *CASES[name][0])
    assert done.exit_code == 0, done.output
    released, page, folder = tmp_path / "open.csv", tmp_path / "page.html", tmp_path / "folder"
    assert funnel(["sanitise", str(table), "--protocol", str(path), "-o", str(released)]) == 0
    report = ["report", str(path), "--no-curves", "--force", "-o", str(page)]
    assert funnel([*report, "--public"]) == 0
    assert funnel([*report, "--table", str(table)]) == 0
    words = pf.Protocol.load(path).notion.words()
    assert html.unescape(page.read_text()).count(words.split(". ")[0]) > 0
    who = ["--title", "t", "--licence", "CC-BY-4.0", "--publisher", "me", "--contact", "me@example.org"]
    assert funnel(["publish", str(released), "--protocol", str(path), *who, "-o", str(folder)]) == 0
    assert pf.Protocol.load(folder / "protocol.json").notion.words() == words


def test_curves_of_several_secrets_and_of_borders(table):
    begin = ["tradeoff", str(table), "--columns", "town", "--epsilons", "0.1,1", "--json"]
    for options in (["--secret", "income", "--secret", "illness"], ["--secret", "income", "--set", "ordered"]):
        done = run.invoke(app, [*begin, *options])
        assert done.exit_code == 0, done.output
        first, second = json.loads(done.stdout)["steward_only"]["points"]
        assert first["lip"] <= 0.1
        assert first["fidelity"] <= second["fidelity"]
    joint = pf.Joint.from_table(table, ["income", "illness"], ["town", "sport"])
    curve = pf.tradeoff(joint, lambda e: pf.Promises(income=pf.LIP(e), illness=pf.LDP(e)), [0.1, 1.0])
    assert curve.column("utility")[0] < curve.column("utility")[1]
    for strange in (pf.LIP(0.2), int, 3, lambda e: e):
        with pytest.raises(InvalidPromise, match="kind of promise such as LIP"):
            pf.tradeoff(joint, strange, [0.1])


@pytest.mark.parametrize(
    ("options", "why"),
    [(["--secret", "income", "--notion", "belief"], "has no ε to look for"), ([], "--secret is missing")],
)
def test_promises_without_a_curve_are_refused_in_one_line(table, capsys, options, why):
    assert funnel(["tradeoff", str(table), "--columns", "town", *options]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_keep_finds_one_epsilon_for_all_secrets():
    assert typed([*TWO, "--set", "keep=0.9"]).promise()(0.25) == pf.Promises(income=pf.LIP(0.25), illness=pf.LIP(0.25))
    ordered = typed(["--secret", "income", "--set", "keep=0.9", "--set", "ordered"])
    assert ordered.promise()(0.25) == pf.Ordered(pf.LIP(0.25))


def test_scikit_learn_knows_several_secrets_levels_and_exact_columns(table):
    from privacyfunnel.transformer import PrivacyFunnel

    frame = pd.read_csv(table)
    promise = pf.Promises(income=pf.LIP(0.5), illness=pf.LIP(0.9))
    funnel = PrivacyFunnel(promise, secret=["income", "illness"], exact=["town"]).fit(frame)
    assert (funnel.transform(frame)["town"] == frame["town"]).all()
    of_y = PrivacyFunnel(promise, exact=["town"]).fit(frame[["town", "sport"]], frame[["income", "illness"]])
    assert of_y.protocol_.notion == funnel.protocol_.notion
    assert list(of_y.transform(frame[["town", "sport"]]).columns) == ["town", "sport"]
    with pytest.raises(InvalidInput, match="both have a column 'income'"):
        PrivacyFunnel(promise).fit(frame[["town", "income"]], frame[["income", "illness"]])
    limited = PrivacyFunnel(pf.Belief({"ill": 0.4}), secret="illness").fit(frame[["town", "sport", "illness"]])
    assert limited.protocol_.notion.words() == pf.Belief({"ill": 0.4}).words()
    borders = PrivacyFunnel(pf.Ordered(pf.LIP(0.2), pf.LIP(0.5))).fit(frame[["town", "sport"]], frame["income"])
    assert len(borders.transform(frame[["town", "sport"]])) == len(frame)
    by_value = PrivacyFunnel(epsilon={"ill": 0.1, "well": 1.0}).fit(frame[["town", "sport"]], frame["illness"])
    assert by_value.protocol_.notion.levels == (("ill", 0.1), ("well", 1.0))
