"""Every command ends with the next one, in words that can be copied: each line is run here as it was printed."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from privacyfunnel.cli import next_command
from privacyfunnel.cli.app import COMMANDS, run
from privacyfunnel.recipes import recipe as recipes
from small_models import small_models

HERE = "Anna's release, 2024"
"""A folder with a quote and spaces in its name."""
HEIGHT = "--set bins=height=120,165,175,220"
FILLED = """
title = "Obesity in five towns"
licence = "CC-BY-4.0"
publisher = { name = "Office", url = "https://example.org" }
contact = { name = "Office", email = "data@example.org" }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a demo, and how it ended."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["demo", "--folder", HERE, "--json"]) == 0
    return place / HERE


@pytest.fixture
def folder(made, tmp_path, monkeypatch, sketched):
    """The same files in a folder of their own, seen from the one that it lies in."""
    shutil.copytree(made, tmp_path / HERE)
    monkeypatch.chdir(tmp_path)
    return Path(HERE)


@pytest.fixture
def following(capsys):
    """Run a command, and those that are printed one after the other until none is: their names."""

    def follow(*words):
        names, words = [], list(map(str, words))
        while words:
            capsys.readouterr()
            assert run(words) == 0, capsys.readouterr().err
            names.append(words[0])
            lines = capsys.readouterr().out.splitlines()
            if "--template" in words:
                names.append("fill in")
                Path(words[words.index("--template") + 1]).write_text(FILLED, encoding="utf-8")
            heads = [i for i, line in enumerate(lines) if re.match("(For you alone: )?[Nn]ext", line)]
            assert heads in ([], [len(lines) - 2])
            words = shlex.split(lines[-1])[1:] if heads else []
        return names

    return follow


TO_READERS = ["publish", "fill in", "publish", "estimate"]


def test_a_demo_leads_to_a_published_folder(folder, following):
    shutil.rmtree(folder)
    assert following("demo", "--folder", folder) == ["demo", *TO_READERS]
    assert (folder / "published" / "datapackage.json").is_file()


def test_a_private_fit_leads_to_a_published_folder(folder, following):
    shutil.copy(folder / "people.csv", "-people.csv")
    asked = ["./-people.csv", "--secret", "obese", "--domain", folder / "domain.json", "--where", "age >= 40"]
    assert following("fit", *asked, "--epsilon", "0.3", "-o", folder / "adults.json") == [
        *("fit", "sanitise", "audit"),
        *TO_READERS,
    ]
    assert (folder / "published" / "datapackage.json").is_file()
    assert len((folder / "published" / "table.csv").read_text().splitlines()) < 20_000  # by the words of --where


def test_a_recipe_leads_to_a_published_folder(folder, following):
    names = following("domain", folder / "people.csv", "-o", folder / "towns.json", "--columns", "obese,sex,town")
    assert names == ["domain", "init", "run", "run", *TO_READERS]
    recipe = recipes.load(folder / "recipe.toml")
    assert (recipe.fit.domain, recipe.fit.secret, recipe.fit.columns) == ("towns.json", (("obese",),), ("sex", "town"))
    assert (folder / recipe.output / "published" / "datapackage.json").is_file()


def test_a_recipe_that_publishes_ends_with_what_readers_do(folder, following):
    path = folder / "recipe.toml"
    assert run(["init", str(folder / "people.csv"), "-o", str(path), "--columns", "sex,town"]) == 0
    text = path.read_text(encoding="utf-8").replace('# domain = "domain.json"', 'domain = "domain.json"')
    path.write_text(
        text + f"\n[publish]{FILLED.split('publisher')[0]}publisher = 'Office'\ncontact = 'a@example.org'\n"
    )
    assert following("run", path) == ["run", "estimate"]


def test_a_curve_leads_to_a_fit_with_the_epsilon_that_it_proposes(folder, following):
    asked = f"--secret obese --columns sex,town --epsilons 0.05,1 --where 'age >= 30' {HEIGHT}"
    names = following("tradeoff", folder / "people.csv", *shlex.split(asked.replace("sex,town", "height,sex")))
    assert names == ["tradeoff", "fit", "sanitise", "audit", *TO_READERS]


def test_a_follow_up_leads_to_a_folder(folder, following, capsys):
    people, first, second = folder / "people.csv", folder / "first.json", folder / "second.json"
    kept = ["--person", "name", "--internal", str(folder / "kept.parquet"), "-o", str(folder / "first.csv")]
    asked = [str(people), "--secret", "obese", "--epsilon"]
    assert run(["fit", *asked, "0.2", "--columns", "sex,town", "-o", str(first)]) == 0
    assert run(["sanitise", str(people), "--protocol", str(first), *kept]) == 0
    more = ["0.5", "--columns", "sex,town,height", *HEIGHT.split(), "--set", f"after={first}"]
    more += ["--set", f'released="{folder / "kept.parquet"}"', "--set", "person=name"]
    names = following("fit", *asked, *more, "-o", second)
    assert names == ["fit", "sanitise", "audit", "publish", "fill in", "publish"]


def test_a_model_leads_to_a_folder_and_to_estimates_from_it(folder, following):
    asked = ["--secret", "obese", "--columns", "sex,town,height", *HEIGHT.split(), "--epsilon", "0.5"]
    with small_models():
        names = following("fit", folder / "people.csv", *asked, "-o", folder / "wide.json")
    assert names == ["fit", "sanitise", "audit", "publish", "fill in", "publish", "estimate"]


def test_a_recipe_of_a_model_leads_to_a_folder_and_to_estimates_from_it(folder, following):
    path = folder / "wide.toml"
    fit = "secret = 'obese'\ncolumns = ['sex', 'town']\nepsilon = 0.5"
    path.write_text(f"recipe = 1\ntable = 'people.csv'\noutput = 'wide'\n[fit]\n{fit}\n", encoding="utf-8")
    with small_models():
        assert following("run", path) == ["run", "publish", "fill in", "publish", "estimate"]


def test_a_fit_without_a_promise_leads_to_one_with_the_epsilon_that_it_proposes(folder, following):
    shutil.copy(folder / "people.csv", "people, old.csv")
    names = following("fit", "people, old.csv", "--secret", "obese", "--columns", "sex,town", "--where", "age < 50")
    assert names == ["fit", "fit", "sanitise", "audit", *TO_READERS]


def test_a_ledger_leads_to_its_proof(folder, following):
    people, key = folder / "people.csv", folder / "years.key"
    drawn = ["--remember", str(key), "--person", "name", "-o", str(folder / "keyed.csv")]
    assert run(["sanitise", str(people), "--protocol", str(folder / "protocol.json"), *drawn]) == 0
    assert following("ledger", "show", key) == ["ledger", "ledger"]


def test_an_exact_fit_is_not_sent_to_be_published(folder, following, capsys):
    asked = ["--secret", "obese", "--columns", "sex,town", "--epsilon", "0.5", "--set", "exact-fit"]
    names = following("fit", folder / "people.csv", *asked, "-o", folder / "exact.json")
    assert names == ["fit", "sanitise", "audit", "report"]


def test_rows_drawn_with_a_seed_are_to_be_drawn_again_and_not_published(folder, capsys):
    asked = [str(folder / "people.csv"), "--protocol", str(folder / "protocol.json"), "--keep-order"]
    (folder / "open.csv").unlink()
    assert run(["sanitise", *asked, "--seed", "1", "-o", str(folder / "open.csv"), "--json"]) == 0
    then = json.loads(capsys.readouterr().out)["next"]
    assert "--seed" not in then
    assert (then[-3:], Path(then[-1]).exists()) == (["--keep-order", "-o", str(folder / "open-2.csv")], False)
    assert run(["audit", str(folder / "protocol.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["next"] is None


def test_a_published_folder_leads_to_what_its_readers_do(folder, capsys):
    published = folder / "published"
    published.mkdir()
    (published / "datapackage.json").write_text("{}")
    shutil.copy(folder / "protocol.json", published / "protocol.json")
    assert run(["audit", str(published / "protocol.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["next"]
    assert found == [
        "funnel",
        *("estimate", str(published / "table.csv"), "--protocol", str(published / "protocol.json")),
    ]


def test_a_broken_promise_leads_nowhere(folder, tmp_path, capsys):
    content = (folder / "people.csv").read_text().splitlines()
    Path("few.csv").write_text("\n".join([content[0], *(line for line in content[1:] if line.endswith("yes"))][:300]))
    Path("all.csv").write_text("\n".join(content))
    asked = [
        "--secret",
        "obese",
        "--columns",
        "sex,town",
        "--epsilon",
        "0.01",
        "--set",
        "exact-fit",
        "-o",
        "exact.json",
    ]
    assert run(["fit", "all.csv", *asked]) == 0
    Path("half.csv").write_text("\n".join([content[0], *content[1:3000]]))
    capsys.readouterr()
    assert run(["audit", "exact.json", "--table", "half.csv"]) == 1
    assert "Next" not in capsys.readouterr().out


def test_words_that_only_a_person_knows_are_for_people(folder, capsys):
    words = next_command.sanitise(Path("t.csv"), Path("p.json"), ["--was", "old.csv"], Path("first.json"))
    assert next_command.data(words) == {"next": None}
    next_command.say(words)
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == "funnel sanitise t.csv --was old.csv --protocol p.json --remember KEY --person PERSON -o open.csv"
    Path("years.key.ledger").touch()
    words = next_command.sanitise(
        Path("t.csv"), Path("p.json"), ["--was", "o.csv", "--person", "id"], Path("first.json")
    )
    assert words[words.index("--remember") + 1] == "years.key"
    assert next_command.data(words) == {"next": words}


def test_files_are_called_alike_in_recipes_and_in_what_is_next():
    from privacyfunnel.publishing import described

    for name in ("OPEN", "PUBLISHED", "PROTOCOL", "REPORT", "RECIPE"):
        assert getattr(next_command, name) == getattr(recipes, name)
    assert next_command.PUBLISHED_TABLE == described.TABLE


def test_the_map_of_commands_names_commands_that_there_are():
    drawn = "".join(line for line in next_command.__doc__.splitlines() if "─▶" in line)
    named = set(re.findall(r"[a-z]{3,}", re.sub("--[a-z-]+|by its readers", "", drawn)))
    assert len(named) > 8
    assert named <= set(COMMANDS)
