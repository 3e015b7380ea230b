"""What was chosen in the studio is a recipe that does the same, and that opens again as it was."""

import tomllib

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.recipes.recipe import from_content, load
from privacyfunnel.recipes.steps import steps
from spec.typed import typed

asked = pytest.importorskip("privacyfunnel.studio.asked")
desk = pytest.importorskip("privacyfunnel.studio.actions")
choosing = pytest.importorskip("privacyfunnel.studio.choosing")
columns = pytest.importorskip("privacyfunnel.studio.columns")
more = pytest.importorskip("privacyfunnel.studio.more")
protecting = pytest.importorskip("privacyfunnel.studio.protecting")
reopening = pytest.importorskip("privacyfunnel.studio.reopening")

CUTS = {"weight": ("bins", "0, 60.5, 80, 400"), "height": ("bins", "4"), "town": ("top", "3"), "age": ("each", "")}


def chosen(table, promise, private=2.0, at_least=5, cuts=CUTS, objective="faithful"):
    """A result for choices on the page, and its recipe as text."""
    opened = desk.open_table(table, "people.csv")
    counts = desk.count(opened, "obese", ["sex", "town", "weight"], cuts)
    protection = protecting.Protection(private, at_least)
    solved = desk.solve(counts, opened, promise, 20, lambda _: None, objective=objective, protection=protection)
    return solved, desk.recipe_of(solved, opened, counts, 30.0)


def test_a_recipe_of_the_studio_says_what_was_chosen_and_opens_again_as_it_was(table):
    _, text = chosen(table, pf.LIP(0.3))
    made = from_content(tomllib.loads(text), "recipe")
    assert made.fit.bins == {"weight": (0.0, 60.5, 80.0, 400.0)}  # of the columns that are used
    assert (made.fit.top, made.fit.private, made.fit.at_least, made.fit.time_limit) == ({"town": 3}, 2.0, 5, 30.0)
    start = reopening.start_of(made)
    assert (start.secret, start.attributes) == ("obese", ("sex", "town", "weight"))
    assert start.cuts == {"weight": ("bins", "0, 60.5, 80, 400"), "town": ("top", "3")}
    assert (start.notion, start.epsilon, start.private, start.at_least) == ("lip", 0.3, "2", "5")
    again = desk.open_table(table, "people.csv", start)
    assert {s.column for s in again.columns if s.part == "release"} == {"sex", "town", "weight"}
    page = str(columns.columns_step(again))
    assert 'value="0, 60.5, 80, 400"' in page
    assert page.count("<option selected") == len(again.columns) - page.count("<td>–</td>")
    counts = desk.count(again, start.secret, list(start.attributes), start.cuts)
    assert [len(column) for column in counts.exact.joint.columns] == [2, 4, 3]


def test_a_recipe_of_the_studio_runs_and_finds_the_same(table, tmp_path, capsys):
    solved, text = chosen(table, pf.LIP(0.3), private=None, at_least=1)
    (tmp_path / "people.csv").write_bytes(table.read_bytes())
    (tmp_path / "recipe.toml").write_text(text.replace("[report]\ncurves = false\n", ""), encoding="utf-8")
    assert run(["run", str(tmp_path / "recipe.toml")]) == 0
    found = pf.Protocol.load(tmp_path / "people-release" / "protocol.json")
    mine = solved.account.protocol
    assert (found.notion, found.attributes, found.fitted) == (mine.notion, mine.attributes, "exact counts")
    assert found.block.columns == mine.block.columns
    assert (found.block.channel.numerators == mine.block.channel.numerators).all()


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        (pf.LDP(0.2), {"notion": "ldp", "epsilon": 0.2}),
        (pf.SRLIP(0.2, known=1), {"notion": "srlip", "epsilon": 0.2, "known": 1}),
        (pf.SRLIP(0.2), {"notion": "srlip", "epsilon": 0.2}),
        (pf.PerfectPrivacy(), {"notion": "perfect"}),
        (pf.robust(pf.LIP(0.4), 0.95), {"notion": "lip", "epsilon": 0.4, "confidence": 0.95}),
        (pf.robust(pf.LIP(0.4), 0.9, "intervals"), {"notion": "lip", "confidence": 0.9, "within": "intervals"}),
    ],
)
def test_every_promise_of_the_page_is_said_as_options_and_comes_back(promise, said):
    from privacyfunnel.tables.fitting import Wishes

    private = None if promise.confidence else 1.0
    protection = protecting.Protection(private, 0)
    text = reopening.recipe_text("t.csv", "s", ("a",), Wishes(), promise, "information", protection, None)
    made = from_content(tomllib.loads(text), "recipe")
    for key, value in said.items():
        assert getattr(made.fit, key) == value
    start = reopening.start_of(made)
    assert back_of(start, more.More()) == promise
    assert start.objective == "information"
    step = next(step for step in steps(made, reopening_place()) if step.name == "fit")
    assert typed(step.words[1:]).promise() == step.asked.promise() == promise


MORES = {
    "two secrets": (more.More("age", 0.3), {"epsilon": {"obese": 0.5, "age": 0.3}, "secret": (("obese",), ("age",))}),
    "levels": (more.More(levels="yes=0.2, no=1"), {"epsilon": {"yes": 0.2, "no": 1.0}, "secret": (("obese",),)}),
    "exact": (more.More(exact=("sex",)), {"epsilon": 0.5, "keep_exact": ("sex",)}),
    "borders": (more.More(ordered=True), {"epsilon": 0.5, "ordered": True}),
    "borders and values": (more.More(ordered=True, per_range=1.0), {"epsilon": 0.5, "ordered": True, "per_range": 1.0}),
    "others": (more.More(others=(("weight", "sex=3"), ("gap", "0.01"))), {"weight": {"sex": 3.0}, "gap": 0.01}),
    "belief": (more.More(beliefs="yes=0.6"), {"notion": "belief", "epsilon": {"yes": 0.6}, "secret": (("obese",),)}),
}


@pytest.mark.parametrize("name", MORES)
def test_more_of_a_promise_is_kept_said_in_the_recipe_and_comes_back(name, table):
    wanted, said = MORES[name]
    opened = desk.open_table(table, "people.csv")
    first = "age" if wanted.ordered else "obese"
    counts = desk.count(opened, first, ["sex", "town"], {"age": ("bins", "0, 40, 60, 120")}, wanted.second)
    spec = asked.spec_of(first, LIP | ({"notion": "belief"} if wanted.beliefs else {}), wanted)
    promise = spec.promise()
    solved = desk.solve(
        counts,
        opened,
        promise,
        20,
        lambda _: None,
        protection=protecting.Protection(1.0, 10),
        more=wanted,
        spec=spec,
    )
    protocol = solved.account.protocol
    assert protocol.notion == promise.made_for(counts.exact.joint)
    assert solved.account.verdict.holds
    assert protocol.block.exact == wanted.exact
    made = from_content(tomllib.loads(desk.recipe_of(solved, opened, counts, 30.0)), "recipe")
    for key, value in said.items():
        assert getattr(made.fit, key) == value
    start = reopening.start_of(made)
    of_second = start.second_epsilon if start.second else None
    beliefs = start.beliefs or None
    others = tuple(start.others.items())
    back = more.More(
        start.second, of_second, start.levels, start.ordered, start.exact, start.per_range, beliefs, others
    )
    assert (start.notion == "belief") is (beliefs is not None)
    assert back_of(start, back) == promise
    assert back.exact == wanted.exact
    assert dict(back.others) == dict(wanted.others)
    step = next(step for step in steps(made, reopening_place()) if step.name == "fit")
    assert typed(step.words[1:]).promise() == promise


@pytest.mark.parametrize("levels", ["yes", "yes=", "yes=a", "="])
def test_levels_that_cannot_be_read_are_explained(levels):
    with pytest.raises(InvalidInput, match="should be a number from 0 on, or one for each"):
        asked.spec_of("obese", LIP, more.More(levels=levels))


def test_what_does_not_go_together_on_the_page_is_explained():
    def refused(words, wanted, **chosen):
        with pytest.raises(InvalidInput, match=words):
            asked.spec_of("obese", LIP | chosen, wanted)

    refused("the secrets are obese, age: name each", more.More("age", 0.3, levels="yes=0.1, no=1"))
    refused("ε of the second secret", more.More("age", None))
    refused("ldp compares values", more.More(levels="yes=0.1, no=1"), notion="ldp")
    for beliefs in ("", "yes=20"):
        refused("between 0 and 1", more.More(beliefs=beliefs), notion="belief")
    refused("“How far: ε” should be a number from 0 on", more.More(), epsilon="")
    refused("“How far: ε” should be a number from 0 on", more.More(), epsilon="-1")
    known = asked.spec_of("obese", LIP | {"notion": "srlip", "known": "1"}, more.More(levels="yes=0.1, no=1"))
    assert known.promise() == pf.SRLIP({"yes": 0.1, "no": 1.0}, known=1)
    looked_for = asked.spec_of("obese", LIP | {"epsilon": "", "keep": "0.9"}, more.More())
    assert looked_for.promise()(0.25) == pf.LIP(0.25)


LIP = {"notion": "lip", "epsilon": "0.5", "known": "any", "confidence": "", "within": "", "private": "1"}
"""What is chosen on the page at first."""


def back_of(start, wanted):
    """The promise that a page makes which a recipe opened."""
    chosen = {name: str(getattr(start, name)) for name in LIP}
    return asked.spec_of(start.secret, chosen, wanted).promise()


def reopening_place():
    from pathlib import Path

    return Path("/here")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"improve": "p.json", "epsilon": None, "secret": None}, "fit.improve: the studio has no place"),
        ({"keep": 0.9, "epsilon": None}, "fit.keep: the studio has no place"),
        ({"secret": ["s", "t"]}, "fit.secret: the studio"),
        ({"secret": [["s"], ["t"], ["u"]]}, "fit.secret: the studio"),
        ({"secret": [["s"], ["t"]], "epsilon": {"s": 0.1}}, "fit.epsilon names s; the secrets are s, t"),
        ({"notion": "belief", "epsilon": None}, "fit.epsilon: the studio begins with a promise"),
        ({"notion": "promises"}, "fit.notion is one of"),
        ({"secret": [["s"], ["t"]], "notion": {"s": "lip", "t": "ldp"}}, "fit.notion: the studio has no place"),
        ({"private": 0.7}, "fit.private: the studio has 0.1, 0.5, 1, 2"),
        ({"at-least": 7}, "fit.at-least: the studio has"),
        ({"confidence": 0.8}, "fit.confidence: the studio has"),
        ({"notion": "srlip", "known": ["a"]}, "fit.known: the studio has"),
        ({"epsilon": None}, "fit.epsilon"),
    ],
)
def test_what_the_page_has_no_place_for_is_refused_by_its_key(said, words, tmp_path, capsys):
    fit = {"secret": "s", "epsilon": 0.5} | said
    content = {"recipe": 1, "table": "t.csv", "output": "o", "fit": {k: v for k, v in fit.items() if v is not None}}
    with pytest.raises(InvalidInput, match=words):
        reopening.start_of(from_content(content, "recipe"))


def test_a_recipe_for_another_table_is_refused_and_so_is_a_table_beside_it(table, tmp_path, capsys):
    start = reopening.Start("diagnosis", ("sex",))
    with pytest.raises(InvalidTable, match=r"'diagnosis', which people\.csv does not have"):
        desk.open_table(table, "people.csv", start)
    (tmp_path / "recipe.toml").write_text(
        'recipe = 1\ntable = "none.csv"\noutput = "o"\n[fit]\nsecret = "s"\nkeep = 0.9\n'
    )
    assert run(["studio", str(table), "--recipe", str(tmp_path / "recipe.toml"), "--no-browser"]) == 2
    assert "goes without one" in capsys.readouterr().err
    assert run(["studio", "--recipe", str(tmp_path / "recipe.toml"), "--no-browser"]) == 2
    assert "recipe.toml: fit.keep" in capsys.readouterr().err


def test_the_promise_step_shows_what_a_recipe_chose():
    start = reopening.Start("s", None, {}, "ldp", 0.07, "1", "information", "0.95", "nested", "0.5", "20")
    page = str(choosing.promise_step(start))
    for value in ("ldp", "information", "0.95", "0.5", "20"):
        assert f'<option value="{value}" selected' in page
    assert 'value="0.07"' in page
    assert '<option value="1" selected' in str(choosing.attackers_part(start))
    assert '<option value="nested" selected' in str(choosing.chance_part(start))


@pytest.mark.long
def test_a_recipe_is_downloaded_and_opens_again_in_a_browser(open_studio, chrome, table, tmp_path):
    from studio.test_studio import choose, get, set_epsilon, shows

    context = chrome.new_context()
    try:
        with open_studio(table) as (address, _):
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(address)
            page.wait_for_selector("#columns-step")
            choose(page, "obese", ["sex", "town"])
            set_epsilon(page, 0.3)
            shows(page, pf.LIP(0.3).words())
            path = get(page, "Recipe", tmp_path)
            page.close()
        assert load(path).fit.columns == ("sex", "town")
        (tmp_path / "people.csv").write_bytes(table.read_bytes())
        with open_studio("--recipe", path) as (address, _):
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(address)
            page.wait_for_selector("#columns-step")
            ticked = {box.get_attribute("value") for box in page.get_by_role("checkbox").all() if box.is_checked()}
            assert ticked == {"sex", "town"}
            page.click("#count")
            shows(page, pf.LIP(0.3).words())
            assert page.input_value("#epsilon") == "0.3"
            first, again = load(path), get(page, "Recipe", tmp_path)
            assert load(again) == first
            page.close()
    finally:
        context.close()
    assert first.fit.secret_columns == ["obese"]
