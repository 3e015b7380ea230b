"""A fit says of the steward's own table what it does to it, and refuses to ruin it unless somebody insists."""

import json
import re

import numpy as np
import pytest

from privacyfunnel.cli.app import run
from privacyfunnel.cli.show import slow_secret, uncovered_lines
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.own_table import own_table
from privacyfunnel.report.account import account
from privacyfunnel.report.page import report_page
from privacyfunnel.tables.counting import count_table

PEOPLE, RARE = 2_000, 0.4


@pytest.fixture(scope="module")
def rows():
    """Six in ten people share three combinations; the others are spread over 900, about one in each."""
    random = np.random.default_rng(7)
    rare = np.arange(PEOPLE) < RARE * PEOPLE
    town = np.where(rare, random.integers(3, 33, PEOPLE), random.integers(0, 3, PEOPLE))
    job = np.where(rare, random.integers(3, 33, PEOPLE), town)
    ill = random.random(PEOPLE) < 0.3
    return [(f"t{t:02}", f"j{j:02}", "yes" if s else "no") for t, j, s in zip(town, job, ill, strict=True)]


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("ruined") / "people.csv"
    path.write_text("town,job,ill\n" + "".join(f"{t},{j},{s}\n" for t, j, s in rows), encoding="utf-8")
    return path


def fit(table, output, *more):
    return run(["fit", str(table), "--secret", "ill", "--epsilon", "0.5", "-o", str(output), *more])


@pytest.mark.parametrize("counts", [(), ("--delta", "1e-9"), ("--exact-fit", "--at-least", "10")])
def test_a_fit_that_reads_two_fifths_of_the_people_as_others_is_refused(
    table, tmp_path, capsys, repeatable_noise, counts
):
    assert fit(table, tmp_path / "p.json", *counts) == 2
    said = capsys.readouterr().err
    assert "of the people would be read as having another combination" in said
    assert "--insist" in said
    assert not (tmp_path / "p.json").exists()


def test_who_insists_is_told_first_what_becomes_of_the_table(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", "--insist") == 0
    said = " ".join(capsys.readouterr().out.split())
    own = said.index("For you alone: in your table")
    assert own < said.index("By the published counts:")
    assert "% of the people are read as having another combination" in said
    assert re.search(r"Values that vanish: [23]\d of 33 of town, [23]\d of 33 of job\.", said)
    assert "about 0 people" not in said


def test_figures_of_the_own_table_stand_under_one_key(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", "--insist", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    own = found["steward_only"]["own_table"]
    assert own["read_as_others"] == pytest.approx(RARE, abs=0.01)
    assert own["vanished"]["town"]["values"] == 33
    assert 25 <= own["vanished"]["town"]["vanished"] <= 30
    assert abs(found["threshold"]["share"] - RARE) < 4 * found["threshold"]["error"] + 0.05  # from noisy counts alone
    assert (
        run(["report", str(tmp_path / "p.json"), "--table", str(table), "-o", str(tmp_path / "r.html"), "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["steward_only"]["own_table"] == own
    assert run(["report", str(tmp_path / "p.json"), "--public", "-o", str(tmp_path / "public.html"), "--json"]) == 0
    public = json.loads(capsys.readouterr().out)
    outside = {key: value for key, value in told.items() if key not in ("steward_only", "report")}
    assert outside == {key: public[key] for key in outside}  # nothing exact stands outside


def test_the_public_page_does_not_say_that_nobody_is_read_as_another(rows, table, tmp_path, capsys, repeatable_noise):
    from privacyfunnel.protocols.any_file import load

    assert fit(table, tmp_path / "p.json", "--insist") == 0
    page = report_page(account(load(tmp_path / "p.json")))
    assert "about 0 people" not in page
    assert "your secret" not in page
    assert "--private" not in page
    assert "that is what the level of everything published bounds" not in page


def test_the_own_table_is_what_counting_by_hand_gives():
    import pandas as pd

    import privacyfunnel as pf

    people = pd.DataFrame({"s": list("ababab") * 10, "x": list("uuvvww") * 10})
    joint = count_table(people, "s", ["x"]).joint
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    found = own_table(protocol, joint)
    block = protocol.block
    stay = sum(joint.p_x[x] * protocol.channel[y, x] for x in range(3) for y in range(len(protocol.channel))
               if block.labels[y] == x)  # fmt: skip
    assert found.cells_unchanged == pytest.approx(stay) == found.rows_unchanged
    assert found.read_as_others == 0
    assert not found.vanished
    assert found.mean_error < 1e-9


def test_values_that_the_promise_does_not_cover_are_named_to_the_steward():
    from privacyfunnel.distribution.column import Column
    from privacyfunnel.distribution.noise import Noise, noisy_joint

    column = Column(name="x", kind="text", labels=("u", "v"))
    noise = Noise(1.0, 1003, ("x",), np.array([[400, 100], [200, 300], [2, 1]]))
    joint = noisy_joint(noise, (column,), "illness", secret_values=["flu", "none", "gout"])
    assert uncovered_lines(joint) == ["For you alone: too rare to show through the noise: gout."]
    assert uncovered_lines(Joint([[4, 1], [2, 3]])) == []


def test_a_time_limit_is_said_to_be_the_most_that_a_search_takes(capsys):
    slow_secret(9, 60.0)
    assert "It takes at most 60 s" in capsys.readouterr().err


def test_the_last_line_of_a_fit_makes_no_promise_to_everybody(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", "--insist") == 0
    said = " ".join(capsys.readouterr().out.split())
    last = said[said.index("Readers can count rows") : said.index("Written:")]
    assert "nobody's belief" not in last
