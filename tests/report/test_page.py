"""The report: the library's numbers, one file that needs nothing else, and a public page that tells nothing more."""

import json
import math
import re
import shlex
from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.numeric.information import mutual_information
from privacyfunnel.promises.notion import factor
from privacyfunnel.protocols.published import published
from privacyfunnel.protocols.readers import points, share_errors
from privacyfunnel.report.account import account
from privacyfunnel.report.commands import in_lines, steps
from privacyfunnel.report.curves import compare, epsilons_with
from privacyfunnel.report.page import report_page
from privacyfunnel.report.words import percent

CANARY = "CANARY"


def people(n=3_000, seed=0):
    """A secret whose values are canaries, and columns of every kind."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    sick = rng.random(n) < 0.3 + 0.3 * (town == 0)
    return pa.table(
        {
            "diagnosis": [f"{CANARY}{'sick' if s else 'well'}" for s in sick],
            "town": np.array(["Ash", "Birch <b>", 'Dún "x"'])[town],
            "age": [str(age) if age > 20 else "?" for age in rng.integers(18, 90, n)],
            "born": [f"{year}-0{1 + year % 9}-15" for year in rng.integers(1950, 1956, n)],
            "street": [f"street {i}" for i in rng.integers(0, 300, n)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    pa_csv.write_csv(people(), path / "people.csv")
    joint = pf.Joint.from_table(
        path / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]}, missing=["?"]
    )
    pf.optimise(joint, pf.LIP(0.1)).save(path / "protocol.json")
    return path


def text_of(page):
    return unescape(re.sub(r"<(style|script)>.*?</\1>|<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL))


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


@pytest.mark.long
def test_the_report_shows_the_numbers_of_the_library(folder, tmp_path):
    assert funnel("report", folder / "protocol.json", "--table", folder / "people.csv", "-o", tmp_path / "r.html") == 0
    page = text_of((tmp_path / "r.html").read_text())
    protocol = pf.Protocol.load(folder / "protocol.json")
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    certificate = pf.certify(protocol, joint)
    Q = protocol.channel_on(joint)
    released = Q @ joint.p.T
    kept = mutual_information(Q * joint.p_x) / joint.entropy  # the file tells it with fewer digits
    guess = released.max(axis=1).sum()
    assert "Kept." in page
    assert protocol.notion.words() in page
    assert f"{kept:.1%}" in page
    assert f"{guess:.1%}" in page
    assert f"{joint.p.max(axis=0).sum():.1%}" in page
    assert str(certificate.worst.lift) in page
    assert f"ε = {certificate.level:.9g}" in page
    for curve_kind in (pf.LIP, pf.LDP, pf.PML):
        share = pf.optimise(joint, curve_kind(0.5)).utility / joint.entropy
        assert re.search(rf"{curve_kind.name.upper()}\s+0\.5\s+×1\.65\s+{re.escape(percent(share))}", page)
    sick = released[:, 0] / released.sum(axis=1)
    assert percent(float(sick.max())) in page


@pytest.mark.drawn
def test_the_report_is_one_file_that_asks_for_nothing(folder):
    protocol = pf.Protocol.load(folder / "protocol.json")
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    page = report_page(account(protocol, joint), compared=compare(joint, epsilons_with(0.1), time_limit=5))
    assert "<script" not in page
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+", page)) - {"http://www.w3.org"}  # the name of SVG
    assert addresses == set()
    assert re.findall(r'(?:src|href)="(?!#|data:,)', page) == []
    assert "@import" not in page
    assert re.findall(r"url\((?!#)", page) == []
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(names)) == len(names)


def test_texts_from_the_table_are_shown_as_texts(folder):
    protocol = pf.Protocol.load(folder / "protocol.json")
    page = report_page(account(protocol))
    assert "<b>" not in page.replace("<li><b>", "")
    assert "Birch &lt;b&gt;" in page


def test_the_report_says_which_columns_are_released_as_they_are():
    joint = pf.Joint([[[30, 12], [20, 15]], [[10, 25], [12, 30]]], attributes=["town", "sport"])
    for exact in (["town"], None):
        protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful", exact=exact)
        told = report_page(account(protocol, joint), table_name="people.csv")
        assert ("Released exactly as they are: town." in told) is (exact is not None)


def test_the_public_page_needs_no_table_and_names_no_value_of_the_secret(folder, tmp_path):
    assert funnel("report", folder / "protocol.json", "--public", "-o", tmp_path / "public.html") == 0
    page = (tmp_path / "public.html").read_text()
    assert CANARY not in page
    assert "What an attacker gains" not in page
    told = text_of(page)
    protocol = pf.Protocol.load(folder / "protocol.json")
    assert protocol.notion.words() in told
    assert f"{protocol.utility / protocol.entropy:.1%}" in told


@pytest.mark.parametrize(("notion", "named"), [(pf.LIP(0.3), False), (pf.SRLIP(0.3), True)])
def test_the_public_page_says_who_is_covered_and_that_rows_are_not_to_be_counted(notion, named):
    joint = pf.Joint(np.arange(1, 13).reshape(2, 2, 3), attributes=["age", "town"])
    told = text_of(report_page(account(pf.optimise(joint, notion))))
    assert "covers such people only if it names them, and only if they know columns in the ranges above" in told
    assert ("who already knows" in told) is named
    assert "funnel estimate" in told


def test_the_public_page_of_a_faithful_protocol_says_that_rows_are_to_be_counted():
    joint = pf.Joint(np.arange(1, 13).reshape(2, 2, 3) * 40, attributes=["age", "town"])
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    text = " ".join(text_of(report_page(account(protocol))).split())
    assert "Use them like the original ones" in text
    assert "does not give the original shares" not in text
    assert f"{percent(published(protocol).likeness.cells_unchanged)} of all cells stay as they are" in text
    assert percent(protocol.likeness.cells_unchanged) not in text  # more digits than the file tells
    assert text.count("in the table and in the release alike") == 2
    assert "typical error" not in text


def test_the_example_speaks_of_a_value_that_is_there_if_there_is_one():
    secrets = ["ill"] * 20 + ["well"] * 75 + [None] * 5
    table = pa.table({"s": secrets, "x": ["a", "b"] * 50})
    joint = pf.Joint.from_table(table, "s", ["x"])
    told = text_of(report_page(account(pf.optimise(joint, pf.LIP(0.3)), joint)))
    assert "For example: 20.0% of the people have s = ill" in told


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_the_public_page_is_the_same_for_two_tables_with_one_protocol(tmp_path, objective):
    # Whatever differs between the tables would be a number computed from counts.
    joint = pf.Joint([[30, 20, 10], [10, 20, 30]])
    protocol = pf.optimise(joint, pf.LIP(0.3), objective=objective)
    protocol.save(tmp_path / "protocol.json")
    page = report_page(account(pf.Protocol.load(tmp_path / "protocol.json")))
    other = pf.Joint([[300, 200, 100], [90, 190, 290]])
    full = [report_page(account(protocol, table)) for table in (joint, other)]
    assert full[0] != full[1]
    assert report_page(account(protocol)) == page


def test_a_broken_promise_is_called_so_and_ends_with_1(folder, tmp_path):
    told = people(seed=5).to_pydict()
    told["diagnosis"] = [f"{CANARY}{'sick' if town == 'Ash' else 'well'}" for town in told["town"]]
    pa_csv.write_csv(pa.table(told), tmp_path / "others.csv")
    output = tmp_path / "r.html"
    arguments = ["--table", tmp_path / "others.csv", "--no-curves", "-o", output]
    assert funnel("report", folder / "protocol.json", *arguments) == 1
    assert "Broken." in text_of(output.read_text())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--public", "--table", "people.csv"], "--public cannot be combined with --table"),
        ([], "needs --table"),
        (["--table", "nobody.csv"], "there is no file"),
    ],
)
def test_what_cannot_be_reported_on_is_one_line_and_no_file(folder, tmp_path, capsys, arguments, words):
    output = tmp_path / "r.html"
    assert funnel("report", folder / "protocol.json", *arguments, "-o", output) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1
    assert not output.exists()


def test_the_report_for_machines_is_one_object(folder, tmp_path, capsys):
    arguments = ["--table", folder / "people.csv", "--no-curves", "--json", "-o", tmp_path / "r.html"]
    assert funnel("report", folder / "protocol.json", *arguments) == 0
    shown = capsys.readouterr().out
    found = json.loads(shown)
    assert CANARY not in shown
    assert found["findings"]["holds"] is True
    assert {a["name"] for a in found["attributes"]} == {"town", "age"}


def digest(path):
    return json.loads(path.read_text())["digest"]


WISHES = {
    "as found": {},
    "bins": {"bins": {"age": [0, 30, 50, 120]}, "missing": ["?"]},
    "quantiles": {"bins": {"age": 3}, "top": {"street": 4}, "dates": {"born": "month"}},
}


NOTIONS = [pf.LIP(0.25), pf.ALIP(0.2, 0.3), pf.SRLDP(0.5, known=["town"])]


@pytest.mark.long
@pytest.mark.parametrize("wishes", WISHES.values(), ids=WISHES)
@pytest.mark.parametrize("notion", [pf.LIP(0.25), pf.ALIP(0.2, 0.3), pf.SRLDP(0.5, known=["town"])], ids=str)
def test_the_commands_and_the_python_of_a_report_make_the_protocol_again(folder, tmp_path, wishes, notion, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(people(), tmp_path / "people.csv")
    columns = ["town", "age", "born", "street"] if "top" in wishes else ["town", "age"]
    if "top" in wishes and isinstance(notion, pf.SRLDP):  # slower to solve
        columns = ["town", "street"]
        wishes = {"top": {"street": 2}}
    joint = pf.Joint.from_table("people.csv", "diagnosis", columns, **wishes)
    protocol = pf.optimise(joint, notion, time_limit=20)
    protocol.save("first.json")
    typed = steps(protocol, "people.csv", "second.json")
    assert in_lines(typed.fit).replace(" \\\n", "").split() == typed.fit.split()
    assert run(shlex.split(typed.fit)[1:]) == 0
    content = [json.loads((tmp_path / name).read_text()) for name in ("first.json", "second.json")]
    assert content[0]["chain"] == content[1]["chain"]
    assert content[0]["promise"] == content[1]["promise"]
    exec(compile(typed.python.replace("second.json", "third.json"), "report", "exec"), {})  # noqa: S102 - our own lines
    assert json.loads((tmp_path / "third.json").read_text())["chain"] == content[0]["chain"]
    assert run(shlex.split(typed.sanitise.replace("released.csv", "again.csv"))[1:]) == 0
    assert run(shlex.split(typed.audit)[1:]) == 0


def test_a_faithful_protocol_is_made_again_with_its_weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(people(), tmp_path / "people.csv")
    joint = pf.Joint.from_table("people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    protocol = pf.optimise(joint, pf.LIP(0.25), objective="faithful", weights={"town": 2.5})
    protocol.save("first.json")
    typed = steps(protocol, "people.csv", "second.json")
    assert "--set weight=town=2.5" in typed.fit
    assert run(shlex.split(typed.fit)[1:]) == 0
    exec(compile(typed.python.replace("second.json", "third.json"), "report", "exec"), {})  # noqa: S102 - our own lines
    assert digest(tmp_path / "first.json") == digest(tmp_path / "second.json") == digest(tmp_path / "third.json")


def test_the_report_of_a_faithful_protocol_says_what_readers_get(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    protocol = pf.optimise(joint, pf.LIP(0.1), objective="faithful")
    told, likeness = account(protocol, joint), protocol.likeness
    compared = compare(joint, [0.1], objective="faithful", time_limit=5)
    page = report_page(told, compared=compared)
    text = " ".join(text_of(page).split())
    assert f"{percent(likeness.cells_unchanged)} of all cells stay as they are" in text
    assert f"{percent(likeness.rows_unchanged)} of all rows entirely" in text
    errors = share_errors(protocol, joint)
    worst = f"{errors.column}: up to ± {points(errors.worst)}"
    assert f"± {points(errors.typical)} points: the typical error of a counted share ({worst})" in text
    assert f"By drawing alone, {errors.words()}." in text
    assert f"the fidelity is {math.floor(likeness.fidelity * 1000) / 1000:.1%}" in text
    assert f"has more than {math.ceil(likeness.fidelity_bound * 1000) / 1000:.1%}" in text
    assert f"by more than {pf.certify(protocol, joint).marginal_error:.2g} (promised: 2⁻³⁰)" in text
    assert "Use them like the original ones" in text
    assert "Counting them does not give the original shares" not in text
    assert text.count("in the table and, on average, in the release: the same.") == 2
    for attribute in told.attributes:
        assert f"{attribute.name} {percent(attribute.unchanged)} 0 points" in text
    assert "How many cells stay as they are at every ε" in text
    assert re.search(rf"LIP 0\.1 ×1\.11 {re.escape(percent(likeness.fidelity))}", text)
    assert "<del>" not in page  # no record is quoted


def test_the_report_of_an_informative_protocol_says_how_counting_misleads(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    told = account(pf.optimise(joint, pf.LIP(0.1)), joint)
    text = " ".join(text_of(report_page(told)).split())
    worst = max(attribute.miscounted for attribute in told.attributes)
    assert f"does not give the original shares (single ones are off by up to {points(worst)} points)" in text
    for attribute in told.attributes:
        assert f"on average, in the release: off by up to {points(attribute.miscounted)} points." in text
    assert "Count them as they stand" not in text


def test_of_other_rows_the_report_says_that_counts_lean():
    protocol = pf.optimise(pf.Joint([[30, 20, 10], [10, 20, 30]]), pf.LIP(0.3), objective="faithful")
    text = text_of(report_page(account(protocol, pf.Joint([[300, 200, 100], [190, 190, 190]]))))
    assert "counts lean towards the fitted ones" in text
    assert "this is not the table it was fitted on" in text
    assert "Count them as they stand" not in text


def test_columns_without_order_and_weight_need_no_second_word():
    table = pa.table(
        {"s": ["ill"] * 30 + ["well"] * 70, "x": ["a", "b", "c", "d"] * 25, "y": ["u", "u", "v", "u", "w"] * 20}
    )
    joint = pf.Joint.from_table(table, "s", ["x", "y"])
    text = text_of(report_page(account(pf.optimise(joint, pf.LIP(0.1), objective="faithful"), joint)))
    assert "fidelity" not in text
    assert "No release with this promise whose rows can be counted leaves more than" in text


def test_the_command_draws_curves_of_cells_for_a_faithful_protocol_with_its_weights(folder, tmp_path):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": [0, 30, 50, 120]})
    weights = {"age": 4.0}
    pf.optimise(joint, pf.LIP(0.1), objective="faithful", weights=weights).save(tmp_path / "faithful.json")
    asked = ["--table", folder / "people.csv", "--time-limit", "20", "-o", tmp_path / "r.html"]
    assert funnel("report", tmp_path / "faithful.json", *asked) == 0
    text = " ".join(text_of((tmp_path / "r.html").read_text()).split())
    assert "How many cells stay as they are at every ε" in text
    assert "The curves are those of protocols that keep the most information" not in text
    kept = pf.optimise(joint, pf.LIP(0.05), objective="faithful", weights=weights).fidelity
    alike = pf.optimise(joint, pf.LIP(0.05), objective="faithful").fidelity
    assert percent(kept) != percent(alike)  # the weights matter
    assert f"LIP 0.05 ×{factor(0.05)} {percent(kept)}" in text


def test_curves_of_information_beside_a_faithful_protocol_are_called_so(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town"])
    protocol = pf.optimise(joint, pf.LIP(0.1), objective="faithful")
    text = text_of(report_page(account(protocol, joint), compared=compare(joint, [0.1], time_limit=5)))
    assert "How much information is kept at every ε" in text
    assert "The curves are those of protocols that keep the most information" in text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.5, "50.0%"), (1.0, "100%"), (0.0, "0%"), (0.9999, "99.99%"), (0.00004, "0.004%"), (1e-9, "<0.001%")],
)
def test_shares_that_are_not_all_or_nothing_are_not_called_so(share, words):
    assert percent(share) == words


@pytest.mark.parametrize(
    ("notion", "words"), [(pf.LIP(0.5), "may change"), (pf.LDP(0.5), "may change"), (pf.PML(0.5), "may grow")], ids=str
)
def test_the_factor_is_said_to_bound_only_what_it_bounds(notion, words):
    told = text_of(report_page(account(pf.optimise(pf.Joint([[3, 2, 1], [1, 2, 3]]), notion))))
    assert f"×1.65 the most a belief {words}" in " ".join(told.split())


@pytest.mark.long
def test_a_robust_promise_is_told_for_the_sample_and_for_the_population():
    joint = pf.Joint([[300, 200, 100], [100, 200, 300]])
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.5)))
    told = text_of(report_page(account(protocol, joint)))
    found = pf.population_findings(protocol, joint)
    assert f"kept: ε = {found.population_level:.4g}" in told
    assert f"ε = {found.sample_level:.4g}" in told
    assert "95.0% confidence" in told
    assert "an interval for every share" in told
    typed = steps(protocol, "people.csv")
    assert "--notion lip --epsilon 0.5 --confidence 0.95" in " ".join(typed.fit.split())
    assert "--set within=intervals" in " ".join(typed.fit.split())
    assert "pf.robust(pf.LIP(epsilon=0.5), 0.95, within='intervals')" in typed.python


def test_a_promise_for_side_channels_that_is_too_large_for_a_chart_is_left_out_with_the_reason():
    rng = np.random.default_rng(0)
    joint = pf.Joint(rng.integers(1, 9, (2, 20, 20, 10)))
    found = compare(joint, [2.0], time_limit=0.01)
    assert "too large" in found.left_out["srlip"]
    assert {curve.kind for curve in found.curves} <= {pf.LIP, pf.LDP, pf.PML}


def test_keep_on_the_command_line_finds_the_smallest_epsilon(folder, tmp_path, capsys):
    asked = ["--secret", "diagnosis", "--columns", "town,age", "--set", "bins=age=3", "--set", "keep=0.95"]
    asked += ["--set", "objective=information", "--set", "exact-fit"]
    assert funnel("fit", folder / "people.csv", *asked, "--json", "-o", tmp_path / "p.json") == 0
    found = json.loads(capsys.readouterr().out)
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": 3})
    assert found["kept_share"] >= 0.95
    assert found["wish"]["epsilon"] == found["notion"]["epsilon"]
    before = found["wish"]["too_small"]
    assert before == pytest.approx(found["wish"]["epsilon"] - 0.001)
    assert pf.optimise(joint, pf.LIP(before)).upper_bound / joint.entropy < 0.95
    assert funnel("fit", folder / "people.csv", *asked, "--force", "-o", tmp_path / "p.json") == 0
    assert "no protocol can" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "keep=0.9", "--epsilon", "1"], "cannot be combined with --epsilon"),
        (["--set", "keep=90"], "--set keep should be a share above 0 and at most 1"),
        (["--set", "keep=0.9", "--notion", "perfect"], "perfect privacy has no ε"),
        (["--set", "keep=0.9", "--notion", "nothing"], "--notion is one of"),
    ],
)
def test_wishes_that_make_no_sense_are_one_line(folder, tmp_path, capsys, arguments, words):
    asked = ["--secret", "diagnosis", "--columns", "town,age", *arguments, "-o", tmp_path / "p.json"]
    assert funnel("fit", folder / "people.csv", *asked) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "p.json").exists()
