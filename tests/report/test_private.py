"""Private fits in the report: two levels, the public verdict, and nothing on a public page but what the file tells."""

import json
import re
import shlex
from dataclasses import replace
from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.exposure import exposure
from privacyfunnel.cli.app import run
from privacyfunnel.numeric.information import mutual_information
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.everything import EXACT_COUNTS, NO_BOUND, everything
from privacyfunnel.report.account import account
from privacyfunnel.report.commands import steps
from privacyfunnel.report.curves import compare
from privacyfunnel.report.page import report_page
from privacyfunnel.report.words import LINKING, percent
from privacyfunnel.tables import private_counts
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.sources import open_source


def people(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    town, age = rng.choice(4, n, p=[0.5, 0.3, 0.195, 0.005]), rng.integers(0, 5, n)
    sick = rng.random(n) < 0.2 + 0.4 * (town == 0)
    names = np.array(["Ash", "Birch", "Cole", "Dale"])
    return pa.table({"diagnosis": np.where(sick, "CANARYsick", "CANARYwell"), "town": names[town], "age": age})


COLUMNS = {"secret": "diagnosis", "attributes": ["town", "age"], "bins": {"age": "each"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("private")
    pa_csv.write_csv(people(), path / "people.csv")
    return path


@pytest.fixture(scope="module")
def exact(folder):
    return pf.Joint.from_table(folder / "people.csv", **COLUMNS)


@pytest.fixture(scope="module", params=["faithful", "information"])
def protocol(folder, request):
    joint = pf.Joint.from_table(folder / "people.csv", **COLUMNS, private=1.0, at_least=10)
    return pf.optimise(joint, pf.LIP(0.3), objective=request.param)


def text_of(page):
    plain = re.sub(r"<(style|script)>.*?</\1>|<svg.*?</svg>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(plain).split())


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


def test_one_row_and_everything_published_stand_beside_each_other_on_both_pages(protocol, exact):
    told = everything(protocol)
    for page in (report_page(account(protocol)), report_page(account(protocol, exact))):
        text = text_of(page)
        assert f"One row ×1.35 (e^ε) is the most a belief may change by it. {told.whom()}" in text
        assert f"Everything published {told.words()}" in text
        assert "×3.67 the same for everything published together" in text


def test_of_an_exact_fit_there_is_no_bound_and_the_people_whose_secret_the_file_tells_are_counted(exact):
    protocol = pf.optimise(exact, pf.LIP(0.3), objective="faithful")
    people = exposure(protocol, exact)
    assert people.few > 0
    public, private = text_of(report_page(account(protocol))), text_of(report_page(account(protocol, exact)))
    for text in (public, private):
        assert f"Everything published {NO_BOUND}" in text
        assert "no bound the same for everything published together" in text
    assert f"{NO_BOUND} {people.words()}" in private
    assert people.words() not in public  # it is counted in the table
    assert EXACT_COUNTS not in private  # the promise is about these counts


def test_the_public_page_of_a_private_fit_proves_the_promise_on_the_published_counts(protocol):
    joint, certificate = audit_publicly(protocol)
    text = text_of(report_page(account(protocol)))
    assert "Kept. Proven in exact arithmetic on the published counts" in text
    assert f"ε = {certificate.level:.9g}" in text
    assert str(certificate.worst.lift) in text
    assert "Secret diagnosis, with 2 values in these counts" in text
    together = protocol.channel_on(joint) @ joint.p.T
    assert f"{percent(float(together.max(axis=1).sum()))} best guess right" in text
    share = mutual_information(protocol.channel_on(joint) * joint.p_x) / joint.entropy
    assert (
        f"{percent(share)} of the information in the released columns, as rows are read, is kept"
        in text.partition("By the published")[2]
    )
    assert "for you alone" not in text.lower()
    assert "CANARY" not in text


def test_a_file_whose_counts_do_not_bear_its_promise_is_called_broken(protocol, folder, tmp_path):
    leaky = pf.optimise(published_joint(protocol), pf.LIP(5.0), objective=protocol.objective)
    forged = replace(protocol, step=leaky.block)
    about = account(forged)
    assert not about.verdict.holds
    assert "Broken. Do not release with this protocol." in text_of(report_page(about))
    forged.save(tmp_path / "forged.json")
    assert funnel("report", tmp_path / "forged.json", "--public", "-o", tmp_path / "r.html") == 1


def test_two_tables_with_the_same_noisy_counts_have_the_same_public_page(tmp_path, monkeypatch):
    noisy = np.random.default_rng(1).integers(20, 90, (2, 20))
    noisy[:, 3] = 1  # rare
    monkeypatch.setattr(private_counts, "noised", lambda counts, epsilon: noisy.reshape(counts.shape).copy())
    pages, reports = [], []
    for seed in (0, 1):
        table = people(seed=seed)
        joint = pf.Joint.from_table(table, **COLUMNS, private=1.0, at_least=10)
        made = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
        made.save(tmp_path / "protocol.json", force=True)
        assert funnel("report", tmp_path / "protocol.json", "--public", "--force", "-o", tmp_path / "page.html") == 0
        pages.append((tmp_path / "page.html").read_text())
        assert pages[-1] == report_page(account(made))  # in memory there is no more
        reports.append(report_page(account(made, pf.Joint.from_table(table, **COLUMNS))))
    assert pages[0] == pages[1]
    assert reports[0] != reports[1]


def test_a_page_with_a_number_from_exact_counts_would_be_noticed(monkeypatch):
    """The test above must be able to fail."""
    monkeypatch.setattr(private_counts, "noised", lambda counts, epsilon: counts.copy())
    pages = set()
    for seed in (0, 1):
        joint = pf.Joint.from_table(people(seed=seed), **COLUMNS, private=1.0)
        pages.add(report_page(account(pf.optimise(joint, pf.LIP(0.3), objective="faithful"))))
    assert len(pages) == 2


def test_with_the_table_the_verdict_is_that_of_the_promise_and_the_exact_one_is_for_the_owner(
    protocol, exact, folder, tmp_path, capsys
):
    assert not pf.certify(protocol, exact).holds  # as usual
    protocol.save(tmp_path / "p.json")
    asked = ["report", tmp_path / "p.json", "--table", folder / "people.csv", "--no-curves", "-o", tmp_path / "r.html"]
    assert funnel(*asked, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"]["holds"] is True
    assert found["steward_only"]["findings"]["holds"] is False
    assert found["everything_published"]["together"] == pytest.approx(1.3)
    text = text_of((tmp_path / "r.html").read_text())
    assert "Kept. Proven in exact arithmetic on the published counts" in text
    assert "BROKEN" not in text
    assert text.count(EXACT_COUNTS) == 2  # in the proof and with the attackers
    assert "For you alone: on the exact counts of this table" in text
    assert "the promise is not about" in text
    assert funnel(*asked, "--force") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert everything(protocol).whom() in said
    assert everything(protocol).words() in said


def test_how_many_rows_exceed_the_promise_on_exact_counts_is_what_counting_them_gives(protocol, exact):
    together = protocol.channel_on(exact) @ exact.p.T  # [y, s]
    together = together[together.sum(axis=1) > 0]
    q = together.sum(axis=1)
    logs = np.abs(np.log(together / q[:, None] / exact.p_s))
    measured = account(protocol, exact).measured
    assert measured.beyond == pytest.approx(q[(logs > 0.3 + 1e-9).any(axis=1)].sum())
    assert 0 < measured.beyond < 1
    fitted = pf.optimise(exact, pf.LIP(0.3))
    assert account(fitted, exact).measured.beyond == 0


def test_cells_are_compared_with_those_of_the_table_also_where_a_threshold_reads_them_as_others(protocol, exact):
    block = protocol.block
    Q, inputs = block.channel.dense(), block.inputs_of(exact)
    assert len(set(inputs.tolist())) < exact.n_x  # some are read as others
    for j, attribute in enumerate(account(protocol, exact).attributes):
        stays = [
            exact.p_x[x] * Q[y, inputs[x]]
            for x in range(exact.n_x)
            for y in range(block.channel.n_outputs)
            if block.values[block.labels[y], j] == exact.values[x, j]
        ]
        assert attribute.unchanged == pytest.approx(sum(stays))
        shares = np.bincount(exact.codes[:, j], weights=exact.p_x, minlength=len(attribute.labels))
        assert attribute.before == pytest.approx(shares)


def test_a_frequency_threshold_is_told_on_both_pages(protocol, exact):
    for page in (report_page(account(protocol)), report_page(account(protocol, exact))):
        text = text_of(page)
        assert "stands for fewer than 10 people, by noisy counts. Of " in text
        assert "class disclosure" in text


def test_the_threshold_of_an_exact_fit_is_counted_for_its_owner_alone(folder, exact):
    joint = pf.Joint.from_table(folder / "people.csv", **COLUMNS, at_least=10)
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    public, private = text_of(report_page(account(protocol))), text_of(report_page(account(protocol, exact)))
    rare = exact.weights.sum(axis=0) < 10
    share = int(exact.weights[:, rare].sum())
    assert f"Of {exact.n_x} combinations {exact.n_x - rare.sum()} are kept. The others, {share} people" in private
    assert "no value in the protocol stands for fewer than 10 people; combinations that fewer have" in public
    assert "are kept. The others" not in public
    assert exposure(protocol, exact).few == 0  # nobody's combination has an input of its own
    assert "but for rare combinations, which are read as others" in private
    assert "Count them as they stand" not in private


def test_faithful_releases_are_said_to_be_easier_to_link_with_the_levels_of_side_channels_beside(protocol, exact):
    for page in (report_page(account(protocol)), report_page(account(protocol, exact))):
        text = text_of(page)
        assert (LINKING in text) is (protocol.objective == "faithful")
        told = text.partition("What somebody learns who knows columns beforehand, by the published counts")[2]
        found = pf.attack(published_joint(protocol), protocol)
        one = next(attacker for attacker in found.attackers if attacker.known == ("town",))
        assert f"town {'no' if one.within else 'no, and more is learned'}" in told
        assert f"{percent(float(one.before))} {percent(float(one.after))}" in told


def test_the_commands_of_a_private_fit_make_one_like_it_and_say_that_it_is_another(
    protocol, exact, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pa_csv.write_csv(people(), tmp_path / "people.csv")
    typed = steps(protocol, "people.csv")
    assert "--private 1 --set at-least=10" in typed.fit
    assert typed.audit == "funnel audit protocol.json"
    assert run(shlex.split(typed.fit)[1:]) == 0
    assert run(shlex.split(typed.audit)[1:]) == 0
    again = pf.Protocol.load("protocol.json")
    assert (again.notion, again.noise.epsilon, again.at_least) == (protocol.notion, 1.0, 10)
    exec(compile(typed.python, "report", "exec"), {})  # noqa: S102 - our own lines
    in_python = pf.Protocol.load("protocol.json")
    assert (in_python.noise.epsilon, in_python.at_least, in_python.objective) == (1.0, 10, protocol.objective)
    text = text_of(report_page(account(protocol, exact)))
    assert "these commands make another protocol, not this one digit by digit" in text
    assert "Fitting again and publishing both costs ε₀ twice" in text


@pytest.mark.parametrize(
    ("made", "typed", "lines"),
    [
        ({}, "--set exact-fit --set objective", []),
        ({"at_least": 5}, "--set exact-fit --set at-least=5 --set objective", ["at_least=5"]),
        ({"private": 0.5}, "--private 0.5 --set objective", ["private=0.5"]),
        (
            {"private": 2.0, "delta": 1e-6},
            "--private 2 --set delta=1e-06 --set objective",
            ["private=2.0", "delta=1e-06"],
        ),
        ({"private": 1.0, "at_least": 20}, "--private 1 --set at-least=20", ["private=1.0", "at_least=20"]),
    ],
)
def test_what_a_protocol_was_computed_from_can_be_typed(folder, made, typed, lines):
    joint = pf.Joint.from_table(folder / "people.csv", **COLUMNS, **made)
    found = steps(pf.optimise(joint, pf.LIP(0.5)), "people.csv")
    assert typed in found.fit
    assert [line.strip(" ,") for line in found.python.splitlines() if re.match(r" +(private|delta|at_)", line)] == lines


@pytest.mark.parametrize("filled", [[], ["age"]])
def test_a_fit_without_a_threshold_is_typed_with_none_where_there_usually_is_one(folder, filled, monkeypatch):
    monkeypatch.setattr("privacyfunnel.tables.frequency_threshold.MOST_LISTED", 3)  # of four towns
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town"], private=1.0)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    if filled:
        protocol = with_fill(protocol, open_source(folder / "people.csv"), filled, 1.0)
    assert "--set at-least=1" in steps(protocol, "people.csv").fit


def test_a_promise_without_a_threshold_is_typed_without_one(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town", "age"], bins={"age": 2}, private=1.0)
    assert "at-least" not in steps(pf.optimise(joint, pf.SRLIP(0.5), time_limit=5), "people.csv").fit


def test_curves_of_promises_that_go_without_a_threshold_are_left_out_with_the_reason(folder):
    joint = pf.Joint.from_table(folder / "people.csv", **COLUMNS, private=1.0, at_least=10)
    found = compare(joint, [0.5], time_limit=5)
    assert {curve.kind for curve in found.curves} == {pf.LIP, pf.LDP, pf.PML}
    assert "the frequency threshold" in found.left_out["srlip"]


def test_the_curves_of_a_private_report_are_those_of_the_published_counts(folder, tmp_path):
    joint = pf.Joint.from_table(folder / "people.csv", **COLUMNS, private=1.0, at_least=10)
    protocol = pf.optimise(joint, pf.LIP(0.3))
    protocol.save(tmp_path / "p.json")
    asked = ["--table", folder / "people.csv", "--time-limit", "20", "-o", tmp_path / "r.html"]
    assert funnel("report", tmp_path / "p.json", *asked) == 0
    text = text_of((tmp_path / "r.html").read_text())
    kept = pf.optimise(joint, pf.LIP(0.5)).utility / joint.entropy
    assert f"LIP 0.5 ×1.65 {percent(kept)}" in text


def test_a_robust_private_fit_tells_the_population_from_the_published_counts(folder, exact):
    joint = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town"], private=1.0)
    protocol = pf.optimise(joint, pf.robust(pf.LIP(1.0), 0.95, "nested"), objective="faithful")
    public = account(protocol)
    found = pf.population_findings(protocol, published_joint(protocol))
    assert all(value.people <= exact.total for value in found.rarest)  # people, not parts of them
    assert all(cells.people <= exact.total + cells.cells for cells in found.rare_cells)
    text = text_of(report_page(public))
    assert f"kept: ε = {found.population_level:.4g}" in text
    assert "expects of a person what these say or leave open" in text
    table = pf.Joint.from_table(folder / "people.csv", "diagnosis", ["town"])
    assert account(protocol, table).population.as_dict() == public.population.as_dict()
