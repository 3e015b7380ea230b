"""A recipe says what the commands take, to the letter; a mistake in it is one line that names the key."""

import json
import re
import shlex
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from privacyfunnel.cli.app import command, run
from privacyfunnel.cli.asking import spec_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.recipes import recipe as recipes
from privacyfunnel.recipes.beginning import beginning
from privacyfunnel.recipes.recipe import Recipe, from_content
from privacyfunnel.recipes.steps import inputs, steps
from privacyfunnel.recipes.to_toml import to_text
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.of_steps import AuditSpec, PublishSpec, ReportSpec
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.suggesting import suggest
from spec.typed import typed

PARTS = {model.part: model for model in (recipes.Drawing, AuditSpec, ReportSpec, PublishSpec)}


@pytest.mark.parametrize("name", PARTS)
def test_keys_of_a_part_are_the_options_of_its_command(name):
    options = {parameter.name for parameter in command(name).params if parameter.name not in ("help", "force", "json")}
    assert set(PARTS[name].model_fields) | {"output"} == options - {"template"} | {"output"}


def least(**fit):
    return {"recipe": 1, "table": "people.csv", "output": "out", "fit": {"secret": "ill", "epsilon": 0.5} | fit}


def step_of(content, name):
    (step,) = [one for one in steps(from_content(content, "recipe.toml"), recipes.Path("/here")) if one.name == name]
    return step


def called(content, name):
    """What the command of a part is asked for, which is also what the one that is shown for it asks for."""
    step = step_of(content, name)
    typed_again = command(name).make_context(name, list(step.words[1:])).params
    assert spec_of(typed_again, keys_of(type(step.asked)), type(step.asked)) == step.asked
    return step.asked


def fit_of(content):
    """What a fit is asked for, which is also what the command that is shown for it asks for."""
    step = step_of(content, "fit")
    assert typed(step.words[1:]) == step.asked
    return step.asked


def test_every_key_of_fit_is_said_by_the_command_that_is_shown_for_it():
    said = least(
        columns=["age", "Name, first", "a=b", " x "],
        notion="srlip",
        known=["age", "a=b"],
        private=0.5,
        delta=1e-9,
        bins={"age": [-5, 18, 65.5], "a=b": "width:5", "n": 6},
        group={"a:b": {"c=d": ["e, f", "g"]}},
        top={"Name, first": 3},
        dates={"born": "year"},
        weight={"age": 2.5},
        missing=["NA", "a,b"],
        after="first.json",
    ) | {"where": "age > 1", "delimiter": ";", "encoding": "latin-1"}
    said["fit"]["exact-fit"] = False
    said["fit"]["time-limit"] = 7
    found = fit_of(said)
    assert found.columns == ("age", "Name, first", "a=b", " x ")
    assert (found.delta, found.private, found.seconds) == (1e-9, 0.5, 7.0)
    assert (found.where, found.delimiter, found.encoding) == ("age > 1", ";", "latin-1")
    assert found.after == "/here/first.json"
    assert found.exact_fit is False
    assert found.group == {"a:b": {"c=d": ("e, f", "g")}}


def test_promises_of_every_kind_can_be_said():
    secrets = [["ill"], ["rent, a month"]]
    levels = fit_of(least(secret=secrets, epsilon={"ill": 0.1, "rent, a month": 1}))
    assert levels.secret == (("ill",), ("rent, a month",))
    assert fit_of(least(secret=[["ill"], ["rent"]], notion={"ill": "lip", "rent": "ldp"})).kinds == ["lip", "ldp"]
    assert fit_of(least(secret=["ill", "rent"])).secret == (("ill", "rent"),)
    assert fit_of(least(notion="belief", epsilon={"yes": 0.05})).epsilon == {"yes": 0.05}
    said = from_content(least(secret=[["ill"], ["a"]], epsilon={"ill": 0.1, "a": 1}), "r")
    assert from_content(tomllib.loads(to_text(said)), "r") == said


def test_paths_are_seen_from_the_recipe_and_what_is_for_the_house_stays_in_the_folder():
    follow = {"after": "old/first.json", "released": ["old/kept.parquet", "/abs.parquet"], "person": "id"}
    content = least(**follow)
    content["sanitise"] = {"released": ["old/kept.parquet"], "person": "id", "internal": "kept.parquet"}
    content["audit"] = {"after": "old/first.json"}
    found = fit_of(content)
    assert found.after == "/here/old/first.json"
    assert found.released == ("/here/old/kept.parquet", "/abs.parquet")
    assert called(content, "sanitise").internal == "kept.parquet"
    assert called(content, "audit").after == "/here/old/first.json"
    made = from_content(content, "recipe")
    assert "kept.parquet" in made.own
    assert {"fit.after", "fit.released.1", "audit.after"} <= set(inputs(made, recipes.Path("/here")))
    content["sanitise"]["internal"] = "open.csv"
    with pytest.raises(InvalidInput, match=r"sanitise\.internal is for internal use only"):
        from_content(content, "recipe")


def test_what_is_not_said_is_left_to_the_command():
    assert set(fit_of(least()).said()) == {"table", "secret", "epsilon"}
    report = called(least() | {"report": {"curves": False}}, "report")
    assert (report.curves, report.public) == (False, None)


def test_the_table_is_audited_where_it_must_be():
    assert called(least(), "audit").table is None
    assert called(least() | {"audit": {"attack": True}}, "audit").table == "/here/people.csv"
    exact = least()
    exact["fit"]["exact-fit"] = True
    assert called(exact, "audit").table is not None
    assert called(least() | {"report": {"public": True}}, "report").table is None


LINES = ["recipe = 1", "table = 'people.csv'", "output = 'out'", "[fit]", "secret = 'ill'", "epsilon = 0.5"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("epsylon = 0.5", "fit.epsylon is no key"),
        ("epsilon = '0.5'", "fit.epsilon should be"),
        ("columns = 'age,sex'", "fit.columns should be"),
        ("columns = []", "fit.columns"),
        ("columns = [3]", "fit.columns should be"),
        ("secret = 3", "fit.secret should be"),
        ("secret = [['ill'], []]", "fit.secret should be"),
        ("secret = [['ill'], [3]]", "fit.secret should be"),
        ("epsilon = { yes = 'x' }", "fit.epsilon.yes should be a number from 0 on, or one for each"),
        ("epsilon = { yes = nan, no = 1 }", "fit.epsilon.yes should be a number"),
        ("epsilon = {}", "fit.epsilon should be"),
        ("epsilon = true", "fit.epsilon should be"),
        ("notion = { ill = 3 }", "fit.notion.ill should be a kind of promise"),
        ("secret = '…'", "fit.secret should be filled in"),
        ("at-least = 2.5", "fit.at-least should be"),
        ("exact-fit = 1", "fit.exact-fit should be"),
        ("bins = { age = true }", "fit.bins.age should be for each column a number of ranges"),
        ("dates = { born = 'week' }", "fit.dates.born should be"),
        ("known = true", "fit.known should be"),
        ("[sanitise]\noutput = '../x.csv'", "sanitise.output should be the name of a file"),
        ("[sanitise]\noutput = 'x.txt'", "sanitise.output should be the name of a file"),
        ("[sanitise]\nseed = 1\n[publish]", "sanitise.seed can be undone"),
        ("exact-fit = true\n[publish]", "fit.exact-fit is not for publication"),
        ("[publish]", "[publish]: a published table needs a title"),
        ("[publish]\ntitle = '…'", "publish.title should be filled in"),
        ("[publish]\ndetails = 'none.toml'", "publish.details: there is no file"),
        ("domain = 'none.json'", "fit.domain: there is no file"),
        ("[report]\ncurve = false", "report.curve is no key that is known here; did you mean curves?"),
        ("[reports]", "reports is no key"),
        ("[publish", "is not TOML"),
        ("epsilon = nan", "fit.epsilon should be a number"),
        ("private = inf", "fit.private should be a number"),
        ("weight = { age = inf }", "fit.weight.age should be for each column a number"),
        ("error = { age = -inf }", "fit.error.age should be for each column a standard error"),
        ("bins = { age = [0, nan] }", "fit.bins.age should be for each column a number of ranges"),
        ("columns = ['age', 'ILL']\n[publish]", "called like the secret"),
        ("table = '" + 1_001 * "x" + "'", "table should be a text of at most"),
        ('output = "a\\u0000b"', "output should be a text of at most"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_a_mistake_is_one_line_that_names_the_key(line, words, dry, tmp_path, capsys):
    table(120).to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "recipe.toml"
    key = line.split(" ")[0]
    own = [one for one in LINES if one.split(" ")[0] != key]
    at = LINES.index("[fit]") - 1 if key in ("table", "output") else len(own)
    path.write_text("\n".join([*own[:at], line, *own[at:]]) + "\n", encoding="utf-8")
    code = run(["run", str(path), *(["--dry-run"] if dry else [])])
    said = capsys.readouterr().err
    assert code == 2
    assert words in said
    assert said.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["people.csv", "recipe.toml"]


def test_a_kind_of_promise_that_there_is_not_is_one_line_that_names_the_key(tmp_path, capsys):
    table(120).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "recipe.toml").write_text("\n".join([*LINES, "notion = 'lop'"]))
    assert run(["run", str(tmp_path / "recipe.toml")]) == 2
    said = capsys.readouterr().err
    assert "recipe.toml: fit.notion is one of" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("first", ["recipe = 2", "recipe = true", ""])
def test_what_is_no_recipe_is_said_to_be_none(first, tmp_path, capsys):
    path = tmp_path / "recipe.toml"
    path.write_text("\n".join([first, *LINES[1:]]))
    assert run(["run", str(path)]) == 2
    assert "recipe should be 1" in capsys.readouterr().err


def table(rows=600, seed=1):
    import pandas as pd

    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    town = np.array(["Ash", "Birch, Hill", "Dún"])[rng.integers(0, 3, rows)]
    ill = np.where(rng.random(rows) < 0.1 + 0.006 * age, "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "ill": ill, "name": [f"person {i}" for i in range(rows)]})


def test_text_of_a_recipe_says_the_same():
    content = least(columns=['a "b"', "c\x7f\n", "ü"], bins={"a.b": [1, 2.5], "c": "each"})
    content |= {"report": {"curves": False}, "publish": {"title": "x", "health": True}, "where": "a = 'b'"}
    made = from_content(content, "recipe")
    assert from_content(tomllib.loads(to_text(made)), "again") == made


def test_a_beginning_is_a_recipe_with_what_is_suggested(tmp_path, capsys):
    table().to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "sub" / "recipe.toml"
    path.parent.mkdir()
    assert run(["init", str(tmp_path / "people.csv"), "-o", str(path)]) == 0
    made = recipes.load(path)
    assert (made.table, made.output) == ("../people.csv", "people-release")
    assert (made.fit.secret, made.fit.columns) == ((("ill",),), ("age", "town"))
    assert '  # "name",' in path.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["run", str(path), "--dry-run", "--json"]) == 0
    commands = json.loads(capsys.readouterr().out)["commands"]
    assert [shlex.split(line)[1] for line in commands] == ["fit", "sanitise", "audit", "report"]
    assert run(["init", str(tmp_path / "people.csv"), "-o", str(path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert run(["init", str(tmp_path / "people.csv"), "-o", str(path), "--force", "--secret", "town", "--json"]) == 0
    assert recipes.load(path).fit.secret == (("town",),)
    assert run(["init", str(tmp_path / "people.csv"), "-o", str(path), "--force", "--secret", "no"]) == 2
    assert "no column 'no'" in capsys.readouterr().err


def test_every_line_of_a_beginning_that_says_nothing_could_say_something(tmp_path):
    table().assign(born="1970-05-31").to_csv(tmp_path / "people.csv", index=False)
    columns = suggest(open_source(tmp_path / "people.csv"))
    text = beginning(columns, table="people.csv", name="recipe.toml", output="out", attributes=["age", "town", "born"])
    said = re.compile(r'# (?=(?:"[^"]*"|[a-z-]+) = |\[)')
    lines = [said.sub("", line, count=1) if said.match(line) else line for line in text.replace("…", "x").splitlines()]
    content = tomllib.loads("\n".join(lines))
    fit = content["fit"]
    assert (fit["bins"], fit["top"], fit["dates"]) == ({"age": 8}, {"town": 3}, {"born": "year"})
    assert (fit["domain"], fit["confidence"], content["where"]) == ("domain.json", 0.95, "age >= 18")
    for key, value in fit.items():  # each for itself: they cannot all be combined
        made = from_content({**content, "fit": {"secret": fit["secret"], "epsilon": 0.5, key: value}}, "recipe")
        assert key.replace("-", "_") in made.fit.said()
    assert made.publish.details == "publish.toml"


def test_columns_that_nobody_named_say_so_and_where_none_is_suggested_that_is_to_be_filled_in():
    data = pa.table({"ill": ["x", "y"] * 60, "again": ["v", "w"] * 60, "town": ["a", "b", "c"] * 40})
    columns = suggest(open_source(data))
    text = beginning(columns, table="t.csv", name="r.toml", output="o", attributes=["again"])
    assert '# "town",      # others were named for release; 3 values kept as they are' in text
    (only, again) = suggest(open_source(data.select(["ill", "again"])))
    text = beginning([only, again], table="t.csv", name="r.toml", output="o")
    with pytest.raises(InvalidInput, match=r"fit\.columns"):
        from_content(tomllib.loads(text), "recipe")
    assert "# none of these columns is suggested" in text


def test_names_of_columns_break_no_beginning():
    names = ['a "quoted"\n[fit]', "b # no comment", "c\\u0000", "secret = 1", "ill"]
    data = pa.table({name: ["x", "y"] * 60 if name == "ill" else ["x", "y", "z"] * 40 for name in names})
    text = beginning(suggest(open_source(data)), table='t"\n.csv', name="n\nsecret = 'x'", output="o")
    made = from_content(tomllib.loads(text), "recipe")
    assert (made.fit.secret, made.table) == ((("ill",),), 't"\n.csv')
    assert set(made.fit.columns) <= set(names)


def test_a_table_whose_secret_nobody_can_guess_is_to_be_filled_in(tmp_path):
    pa_csv.write_csv(pa.table({"a": ["x", "y", "z"] * 40, "b": ["p", "q", "r"] * 40}), tmp_path / "t.csv")
    text = beginning(suggest(open_source(tmp_path / "t.csv")), table="t.csv", name="r.toml", output="o")
    with pytest.raises(InvalidInput, match=r"fit\.secret should be filled in"):
        from_content(tomllib.loads(text), "r.toml")


def test_recipes_are_strict_all_the_way_down():
    models = [Recipe, *PARTS.values()]
    assert all(model.model_config["extra"] == "forbid" and model.model_config["strict"] for model in models)
