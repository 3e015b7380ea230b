"""An outsider edits published files and seals them again: what contradicts itself is not said to be kept."""

import json
from copy import deepcopy
from functools import partial

import pytest

from attacked.outsider import CHECK, forge, funnel, population, sealed, write
from small_models import small_models

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def files(tmp_path_factory, noise_with_seed):
    """A private fit, one that tells large counts only, a follow-up and a model, as anybody can read them."""
    folder = tmp_path_factory.mktemp("forged")
    people = write(folder / "people.csv", ["id", *NAMES, "s"], population(5, 3000))
    asked = ["fit", people, "--secret", "s", "--epsilon"]
    with noise_with_seed(7):
        for name, options in {
            "single": ["0.3", "--columns", "a,b"],
            "wide": ["0.3", "--columns", "a,b,c", "--set", "at-least=40", "--set", "insist"],
            "large": ["0.3", "--columns", "a,b", "--set", "delta=1e-9", "--set", "insist"],
            "after": ["3", "--columns", "a,b,c", "--set", f"after={folder / 'single.json'}", "--set", "insist"],
            "filled": ["0.5", "--columns", "a,b", "--private", "4", "--set", "fill=c", "--set", "insist"],
            "model": ["0.5", "--columns", "a,b,c", "--time-limit", "1"],
        }.items():
            with small_models(name == "model"):
                assert funnel(*asked, *options, "-o", folder / f"{name}.json", "--json") == 0
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def put(where, value):
    """Another value at a place: "noise.epsilon" is that of the noise."""

    def change(content):
        *way, last = (int(step) if step.isdigit() else step for step in where.split("."))
        for step in way:
            content = content[step]
        content[last] = value

    return change


def people(number, *where):
    """Another number of people, wherever it stands."""

    def change(content):
        for place in where or ("people", "noise.people"):
            put(place, number)(content)

    return change


def unchanged(content):
    """Every row stays as it is, and a strange one, too."""
    (block,) = content["chain"]
    n = len(block["values"])
    block.update(outputs=n, channel=[[x, 2**32] for x in range(n)], labels=list(range(n)), draw=None)


def both(*changes):
    def change(content):
        for each in changes:
            each(content)

    return change


def earlier(change):
    """The same of the release before, which is sealed again."""

    def changed(content):
        change(content["before"])
        content["before"] = json.loads(sealed(content["before"]))

    return changed


def other_shares(content):
    """Of a filled column: as many people have another value as have it."""
    for row in content["chain"][1]["filled"][0]["weights"]:
        row[:2] = [row[1], row[0]]


def named_like_a_column(content):
    while content:
        content["secret"] = content["secret_readings"][0]["name"] = "b"
        content = content.get("before")


def renamed(content):
    """Today's values have a name that the release before does not know, so that nothing was checked of who has them."""
    content["chain"][0]["columns"][1]["labels"][2] = "q9"


def one_told(count):
    """One combination more is told, of so many people."""

    def change(content):
        noise = content["noise"]
        listed = {tuple(x) for x in noise["combinations"]}
        noise["combinations"].append(next([a, b] for a in range(4) for b in range(4) if (a, b) not in listed))
        for s, row in enumerate(noise["counts"]):
            row.append(count if s == 0 else 0)

    return change


FORGED = {
    "rows that stay": ("single", unchanged),
    "rows that stay, of many people": ("single", both(unchanged, people(10**8))),
    "more people": ("single", people(4000)),
    "one person": ("single", people(1)),
    "a count below all noise": ("single", put("noise.counts.0.15", -200)),
    "next to no noise": ("single", put("noise.epsilon", 50.0)),
    "noise that hides all": ("single", put("noise.epsilon", 0.001)),
    "noise twenty times as large": ("wide", put("noise.epsilon", 0.05)),
    "another promise": ("single", put("promise.epsilon", 0.1)),
    "other words": ("single", put("guarantee", "Nobody learns anything.")),
    "another threshold": ("single", put("at_least", 400)),
    "the secret released": ("single", named_like_a_column),
    "large counts, ε₀ restated": ("large", put("noise.epsilon", 0.1)),
    "large counts, δ₀ restated": ("large", put("noise.delta", 1e-15)),
    "large counts of many people": ("large", people(10**6)),
    "large counts of few people": ("large", people(300)),
    "one person told": ("large", one_told(1)),
    "nobody told": ("large", one_told(0)),
    "a follow-up of the secret": ("after", named_like_a_column),
    "a follow-up of many people": ("after", people(10**8)),
    "an earlier release of many people": ("after", earlier(people(10**8))),
    "an earlier release with little ε₀": ("after", earlier(put("noise.epsilon", 0.001))),
    "an earlier release with much ε₀": ("after", earlier(put("noise.epsilon", 40.0))),
    "an earlier release of rows that stay": ("after", earlier(unchanged)),
    "an earlier threshold": ("after", earlier(put("at_least", 400))),
    "a follow-up of values that were not known": ("after", renamed),
    "a model of the secret": ("model", named_like_a_column),
    "a model with less ε₀": ("model", put("noise.epsilon", 0.5)),
    "a model of more people": ("model", people(5000, "people")),
    "filled by other shares": ("filled", other_shares),
    "filled from counts of many": ("filled", put("chain.1.filled.0.counts.0.0", 10**6)),
    "filled from other counts": ("filled", lambda content: content["chain"][1]["inside"][0]["counts"].reverse()),
    "filled with less ε₀": ("filled", put("chain.1.noise.epsilon", 0.1)),
    "filled with a secret name": ("filled", put("chain.1.order.2", "s")),
    "filled from tables that do not vary": ("filled", put("chain.1.noise.sigma", 1e-3)),
}


@pytest.mark.parametrize("name", ["single", "wide", "large", "after", "filled", "model"])
def test_files_as_they_are_published_are_kept(files, name, tmp_path):
    path = forge(deepcopy(files[name]), tmp_path / "file.json")
    assert json.loads(path.read_text(encoding="utf-8"))["digest"] == files[name]["digest"]
    assert funnel("audit", path) == 0


@pytest.mark.parametrize("forgery", FORGED)
def test_forged_files_are_not_said_to_be_kept_nor_made_pages_of(files, forgery, tmp_path, capsys):
    name, change = FORGED[forgery]
    content = deepcopy(files[name])
    change(content)
    path = forge(content, tmp_path / "file.json")
    assert funnel("audit", path) in (1, 2)
    said = capsys.readouterr()
    assert "KEPT" not in said.out
    assert funnel("report", path, "--public", "--no-curves", "-o", tmp_path / "page.html") in (1, 2)


def twice(text, key, value):
    """The first of two values with the same name is another one, which some readers take."""
    return text.replace(f'"{key}": ', f'"{key}": {value},\n"{key}": ', 1)


DAMAGED = {
    "a promise twice": partial(twice, key="promise", value='{"notion": "lip", "epsilon": 5}'),
    "a number of people twice": partial(twice, key="people", value="9"),
    "no number": lambda text: text.replace('"epsilon": 0.3', '"epsilon": NaN'),
    "no end": lambda text: text.replace('"epsilon": 0.3', '"epsilon": 1e400'),
    "digits without end": lambda text: text.replace('"people": 3000', f'"people": {"9" * 5000}'),
    "half a character": lambda text: text.replace('"a0"', '"\\ud800"'),
    "two columns of one name": lambda text: text.replace('"name": "b"', '"name": "a"'),
    "depths": lambda text: '{"a":' * 10_000,
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_texts_that_two_readers_read_differently_are_refused_in_a_line(files, damage, tmp_path, capsys):
    text = forge(files["single"], tmp_path / "file.json").read_text(encoding="utf-8")
    (tmp_path / "file.json").write_text(DAMAGED[damage](text), encoding="utf-8")
    assert (tmp_path / "file.json").read_text(encoding="utf-8") != text
    assert funnel("audit", tmp_path / "file.json") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_a_file_calls_its_values_does_not_reach_a_terminal_or_a_page_as_it_stands(files, tmp_path, capsys):
    content = deepcopy(files["single"])
    content["chain"][0]["columns"][0]["labels"][0] = "\x1b[2J\x1b[1;1HKEPT"
    content["how"] = "\x1b[2J<script>alert(1)</script>"
    path = forge(content, tmp_path / "file.json")
    assert funnel("audit", path) == 0
    page = tmp_path / "page.html"
    assert funnel("report", path, "--public", "--no-curves", "-o", page) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "<script>alert" not in page.read_text(encoding="utf-8")


def test_no_name_of_a_column_or_secret_reaches_a_terminal_by_check_py_as_it_stands(files, tmp_path, capsys):
    for name in ("single", "filled"):
        content = deepcopy(files[name])
        content["secret"] = content["secret_readings"][0]["name"] = "\x1b[2J\x1b[1;1H\nKEPT: the promise is proven."
        content["promise"]["epsilon"] = 0.01
        for column in (content["chain"][0]["columns"][0], content["noise"]["attributes"]):
            column[0 if isinstance(column, list) else "name"] = "a\x1b[2J"
        if name == "filled":
            content["chain"][1]["order"][0] = "a\x1b[2J"
        path = forge(content, tmp_path / "file.json")
        assert CHECK["main"]([path]) == 1
        said = capsys.readouterr().out
        assert said.startswith("BROKEN: ")
        assert "\x1b" not in said
        assert "\nKEPT" not in said


def test_a_page_says_what_stays_by_the_counts_and_not_what_a_file_states(files, tmp_path, capsys):
    for name in ("single", "model"):
        content, told = deepcopy(files[name]), []
        for figures in ({}, {"cells_unchanged": 0.9999, "rows_unchanged": 0.9999}):
            content["likeness"].update(figures)
            path, page = forge(content, tmp_path / "file.json"), tmp_path / "page.html"
            assert funnel("report", path, "--public", "--no-curves", "-o", page, "--force", "--json") == 0
            text = page.read_text(encoding="utf-8")
            assert "99.99%" not in text
            assert "99.9%" not in text
            found = json.loads(capsys.readouterr().out)
            told.append((found["cells_unchanged"], found["likeness"]["rows_unchanged"]))
        assert told[0] == told[1]
