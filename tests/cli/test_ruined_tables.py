"""A fit says of the steward's own table what it does to it, and refuses to ruin it unless somebody insists."""

import json
import re

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.cli.show import slow_secret, uncovered_lines
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.own_table import own_table
from privacyfunnel.report.account import account
from privacyfunnel.report.page import report_page
from privacyfunnel.tables.counting import count_table

PEOPLE, RARE = 2_000, 0.4
INSIST = ("--set", "at-least=10", "--set", "insist")


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


@pytest.mark.parametrize(
    "counts", [("--set", "at-least=10"), ("--set", "delta=1e-9"), ("--set", "exact-fit", "--set", "at-least=10")]
)
def test_a_fit_that_reads_two_fifths_of_the_people_as_others_is_refused(
    table, tmp_path, capsys, repeatable_noise, counts
):
    assert fit(table, tmp_path / "p.json", *counts) == 2
    said = capsys.readouterr().err
    assert "of the people would be read as having another combination" in said
    assert "--set insist" in said
    assert not (tmp_path / "p.json").exists()


def test_nobody_is_read_as_another_and_no_value_vanishes_unless_it_is_asked_for(
    table, tmp_path, capsys, repeatable_noise
):
    assert fit(table, tmp_path / "p.json", "--json", "--time-limit", "4") == 0
    own = json.loads(capsys.readouterr().out)["steward_only"]["own_table"]
    assert own["read_as_others"] == 0
    assert {one["vanished"] for one in own["vanished"].values()} <= {0}


def test_who_insists_is_told_first_what_becomes_of_the_table(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", *INSIST) == 0
    said = " ".join(capsys.readouterr().out.split())
    own = said.index("For you alone: in your table")
    assert own < said.index("By the published counts:")
    assert "% of the people are read as having another combination" in said
    assert re.search(r"Values that vanish: [23]\d of 33 of town, [23]\d of 33 of job\.", said)
    assert "about 0 people" not in said


def test_figures_of_the_own_table_stand_under_one_key(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", *INSIST, "--json") == 0
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
    del own["people"]  # what an attacker finds in the table stands in a part of the report of its own
    assert told["steward_only"]["own_table"] == own
    assert run(["report", str(tmp_path / "p.json"), "--public", "-o", str(tmp_path / "public.html"), "--json"]) == 0
    public = json.loads(capsys.readouterr().out)
    outside = {key: value for key, value in told.items() if key not in ("steward_only", "report", "next")}
    assert outside == {key: public[key] for key in outside}  # nothing exact stands outside


def test_the_public_page_does_not_say_that_nobody_is_read_as_another(rows, table, tmp_path, capsys, repeatable_noise):
    from privacyfunnel.protocols.file import load

    assert fit(table, tmp_path / "p.json", *INSIST) == 0
    page = report_page(account(load(tmp_path / "p.json")))
    assert "about 0 people" not in page
    assert "your secret" not in page
    assert "--private" not in page
    assert "that is what the level of everything published bounds" not in page


def test_the_own_table_is_what_counting_by_hand_gives():
    import pandas as pd

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
    assert fit(table, tmp_path / "p.json", *INSIST) == 0
    said = " ".join(capsys.readouterr().out.split())
    last = said[said.index("Readers can count rows") : said.index("Written:")]
    assert "nobody's belief" not in last


def test_sanitise_says_first_what_it_did_to_the_table(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", *INSIST) == 0
    capsys.readouterr()
    asked = ["sanitise", str(table), "--protocol", str(tmp_path / "p.json"), "-o", str(tmp_path / "o.csv"), "--force"]
    assert run(asked) == 0
    assert capsys.readouterr().out.startswith("For you alone: in your table")
    assert run([*asked, "--json", "--keep-order"]) == 0
    own = json.loads(capsys.readouterr().out)["steward_only"]["own_table"]
    before, after = (np.array([line.replace('"', "").split(",")[:2] for line in path.read_text().splitlines()[1:]])
                     for path in (table, tmp_path / "o.csv"))  # fmt: skip
    same = before == after
    assert own["cells_unchanged"] == pytest.approx(same.mean())
    assert own["rows_unchanged"] == pytest.approx(same.all(axis=1).mean())
    assert own["read_as_others"] == pytest.approx(RARE, abs=0.002)  # noise lets some single people through
    towns, kept = (dict(zip(*np.unique(part[:, 0], return_counts=True), strict=True)) for part in (before, after))
    off = {town: abs(kept.get(town, 0) - people) / PEOPLE for town, people in towns.items()}
    assert own["vanished"]["town"] == {"vanished": len(towns) - len(kept), "values": len(towns)}
    assert own["worst_error"] >= max(off.values()) - 1e-12


def test_a_report_says_first_what_becomes_of_the_table(table, tmp_path, capsys, repeatable_noise):
    assert fit(table, tmp_path / "p.json", *INSIST) == 0
    capsys.readouterr()
    asked = ["report", str(tmp_path / "p.json"), "--table", str(table), "-o", str(tmp_path / "r.html"), "--no-curves"]
    assert run(asked) == 0
    assert capsys.readouterr().out.startswith("For you alone: in your table")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.index("For you alone: in your table") < page.index("of all cells stay as they are, by the published")


def test_a_model_says_of_the_own_table_what_counting_one_release_gives():
    import pandas as pd

    from privacyfunnel.attacks.on_wide import own_table_of
    from privacyfunnel.tables.wide.fit import fit_wide

    rng = np.random.default_rng(4)
    people = pd.DataFrame({"x": rng.choice(list("abc"), 900), "z": rng.choice(list("uv"), 900)})
    people["s"] = np.where(rng.random(900) < 0.2 + 0.4 * (people["x"] == "a"), "yes", "no")
    joint = count_table(people, "s", ["x", "z"]).joint
    protocol = fit_wide(joint, pf.LIP(0.3), 1.0, seconds=0)
    own = own_table_of(protocol, joint)
    assert own.with_chance
    assert own.rows_unchanged <= own.cells_unchanged < 1
    assert own.cells_unchanged == pytest.approx(protocol.by_model.kept.cells, abs=0.1)
    assert own.mean_error <= own.worst_error < 0.1
    assert "with chance" in own.words()


def test_a_large_domain_counts_those_whose_combination_is_not_told(tmp_path, capsys, repeatable_noise):
    rng = np.random.default_rng(3)
    rare = rng.random(20_000) < 0.4
    columns = [np.where(rare, rng.integers(0, 150, 20_000), rng.integers(0, 3, 20_000)) for _ in range(3)]
    ill = np.where(rng.random(20_000) < 0.2 + 0.1 * (columns[0] == 1), "yes", "no")
    rows = [f"a{a:03},b{b:03},c{c:03},{s}" for a, b, c, s in zip(*columns, ill, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,ill", *rows]) + "\n", encoding="utf-8")
    tops = [word for name in "abc" for word in ("--set", f"top={name}=150")]
    asked = [
        "--secret",
        "ill",
        "--columns",
        "a,b,c",
        *tops,
        "--epsilon",
        "0.5",
        "--set",
        "delta=1e-9",
        "--set",
        "at-least=2",
        "--set",
        "insist",
    ]
    assert run(["fit", str(tmp_path / "t.csv"), *asked, "-o", str(tmp_path / "p.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = found["steward_only"]["own_table"]
    for kept in (own, found["readers"]["likeness"]):
        assert kept["rows_unchanged"] < 0.65  # and not 1, as of those that are told
        assert kept["cells_unchanged"] < 0.7
    assert "none is changed" not in " ".join(found["remarks"])


REFUSED = "of the people would be read as having another combination of values, more than 5%"


def fitted_elsewhere(table, way, insist):
    """A fit from Python, by scikit-learn, or in the studio; the sentence that refuses it is the same."""

    if way == "python":
        return pf.Joint.from_table(table, "ill", private=1.0, at_least=10, insist=insist).noise
    if way == "exact counts":
        return pf.Joint.from_table(table, "ill", at_least=10, insist=insist).before_gathering
    if way == "scikit-learn":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("sklearn")
        asked = {"secret": "ill", "private": 1.0, "at_least": 10, "insist": insist}
        return pf.PrivacyFunnel("lip", 0.5, **asked).fit(pd.read_csv(table)).protocol_
    desk = pytest.importorskip("privacyfunnel.studio.actions")
    opened = desk.open_table(table, "people.csv")
    counts = desk.count(opened, "ill", ["town", "job"])
    chosen = desk.protection_of("1", "10", "lip", "", insist)
    return desk.solve(counts, opened, pf.LIP(0.5), 5, lambda _: None, protection=chosen).account.protocol


OPTIONS = {"python": "(insist=True)", "exact counts": "(insist=True)", "scikit-learn": "(insist=True)",
           "studio": "choose “Fit even if more than 5% of the people"}  # fmt: skip


@pytest.mark.parametrize("way", OPTIONS)
def test_a_table_is_not_ruined_elsewhere_unless_somebody_insists(table, way, repeatable_noise):
    with pytest.raises(pf.PrivacyFunnelError, match=re.escape(REFUSED)) as refused:
        fitted_elsewhere(table, way, insist=False)
    assert OPTIONS[way] in str(refused.value)
    assert "--" not in str(refused.value)  # options of a shell are of no use here
    assert fitted_elsewhere(table, way, insist=True) is not None


def test_what_somebody_insisted_on_is_repeated_with_that(table, tmp_path, capsys, repeatable_noise):
    from privacyfunnel.protocols.file import load
    from privacyfunnel.report.commands import steps

    assert fit(table, tmp_path / "p.json", *INSIST, "--time-limit", "2") == 0
    again = steps(load(tmp_path / "p.json"), "people.csv")
    assert "--set insist" in again.fit
    assert "insist=True," in again.python
    few = ["fit", str(table), "--secret", "ill", "--columns", "town", "--set", "top=town=3", "--epsilon", "0.5"]
    assert run([*few, "-o", str(tmp_path / "few.json")]) == 0
    again = steps(load(tmp_path / "few.json"), "people.csv")
    assert "insist" not in again.fit + again.python


def test_the_studio_keeps_in_its_recipe_that_somebody_insisted(table, repeatable_noise):
    import tomllib

    desk = pytest.importorskip("privacyfunnel.studio.actions")
    reopening = pytest.importorskip("privacyfunnel.studio.reopening")
    from privacyfunnel.recipes.recipe import from_content

    opened = desk.open_table(table, "people.csv")
    counts = desk.count(opened, "ill", ["town", "job"])
    chosen = desk.protection_of("1", "10", "lip", "", True)
    solved = desk.solve(counts, opened, pf.LIP(0.5), 5, lambda _: None, protection=chosen)
    made = from_content(tomllib.loads(desk.recipe_of(solved, opened, counts, 5.0)), "recipe")
    assert made.fit.insist
    assert reopening.start_of(made).insist
