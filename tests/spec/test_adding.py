"""To add an option is to add a field: flags, recipe, controls, keywords, the reference and the repetition have it."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer
from hypothesis import given
from typer.testing import CliRunner

from privacyfunnel.cli.app import command, run
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.fit import fit
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.notions import KINDS
from privacyfunnel.spec import as_controls, as_flags, as_keywords, as_toml
from privacyfunnel.spec.key import PANELS, Key, Number, Table, keys_of
from privacyfunnel.spec.reference import schema, table
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio.others import TITLES, others, others_part, place, said_by
from spec.random_specs import specs
from spec.test_forms import FORMS
from spec.typed import typed

DOCS = Path(__file__).resolve().parents[2] / "docs"


class More(Spec):
    """A Spec with two fields that it does not have."""

    colour: Annotated[
        Table[Number] | None,
        Key(
            "How bright a column is.",
            "columns",
            "for each column a number",
            ({"town": 3.0},),
            shown=True,
            label="Light",
        ),
    ] = None
    loudness: Annotated[Number | None, Key("How loud it is.", "advanced", "a number", (11.0,))] = None


ADDED = More(secret="ill", colour={"town": 3, "age, now": 0.5}, loudness=11)


@pytest.mark.parametrize("form", FORMS)
def test_a_field_that_is_added_is_said_in_every_form(form):
    assert FORMS[form](ADDED) == ADDED


def test_a_field_that_is_added_is_an_option_and_a_key_of_set():
    def told(spec: Spec) -> None:
        sys.stdout.write(repr(spec))

    app = typer.Typer()
    app.command()(asked(model=More)(told))
    heard = CliRunner().invoke(app, as_flags.words(ADDED))
    assert heard.stdout == repr(ADDED)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    assert "How bright a column is." in shown
    assert "loudness" in shown


def test_a_field_that_is_added_has_a_control_in_the_studio():
    page = str(others_part("columns", {"colour": "town=3"}, More)), str(others_part("promise", {}, More))
    for part, name, label, words in (
        (page[0], "colour", "Light", "How bright a column is."),
        (page[1], "loudness", "loudness", "How loud it is."),
    ):
        assert f'id="{place(name)}"' in part
        assert label in part
        assert words in part
    assert 'value="town=3"' in page[0]
    assert said_by(ADDED) == {"colour": as_controls.controls(ADDED)["colour"], "loudness": "11"}


def test_every_key_has_one_control_in_the_studio():
    made = [name for step in TITLES for name in others(Spec, step)]
    drawn = {name for name, key in keys_of(Spec).items() if key.drawn}
    assert len(made) == len(set(made))
    assert keys_of(Spec).keys() == drawn | set(made)
    assert not drawn & set(made)
    for step in TITLES:
        page = str(others_part(step, {}))
        assert all(f'id="{place(name)}"' in page for name in others(Spec, step))


def test_a_field_that_is_added_is_in_the_reference():
    assert '| `--colour town=3` | `fit.colour = { "town" = 3 }` | How bright a column is. |' in table(More)
    assert "| `--set loudness=11` | `fit.loudness = 11` | How loud it is. |" in table(More)
    assert schema(More)["properties"]["loudness"]["description"] == "How loud it is."


def test_a_field_that_is_added_is_refused_by_its_name_in_every_form():
    for said, name in (
        (lambda: as_flags.said(More, {"colour": ["town"]}), "--colour"),
        (lambda: as_flags.said(More, {}, ["loudness=x"]), "--set loudness"),
        (lambda: as_toml.said(More, {}, {"secret": "ill", "loudness": "x"}), r"fit\.loudness"),
        (lambda: as_controls.said(More, {"secret": "ill", "colour": "town"}), "“Light”"),
        (lambda: as_keywords.said(More, secret="ill", loudness="x"), "loudness"),
    ):
        with pytest.raises(InvalidInput, match=rf"^{name} should be"):
            said().spec()


def test_the_page_and_the_schema_in_the_documentation_are_of_today(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS.parent))
    from tools.options import page, schema_text

    assert (DOCS / "options.md").read_text(encoding="utf-8") == page(), "python tools/options.py"
    assert (DOCS / "spec.schema.json").read_text(encoding="utf-8") == schema_text(), "python tools/options.py"


def test_every_key_says_what_it_is_for_in_sentences():
    for name, key in keys_of(Spec).items():
        assert key.help[-1] == ".", name
        assert key.takes, name
        assert key.panel in PANELS, name
        for example in key.examples:
            assert as_keywords.said(Spec, **{name: example}).values


def test_the_help_of_notion_names_every_kind():
    assert all(f" {kind}" in keys_of(Spec)["notion"].help for kind in (*KINDS, Belief.name))


def test_fit_shows_on_a_screen_what_is_asked_most():
    assert len(inspect.signature(fit).parameters) <= 20
    shown = {option for part in command("fit").params for option in part.opts if option.startswith("--")}
    wanted = (
        "secret columns keep-exact leave-out promise notion epsilon known confidence private domain where time-limit"
    )
    wanted += " delimiter encoding recipe set json force output"
    assert shown == {f"--{name}" for name in wanted.split()} | ({"--help"} & shown)


HEAVY = {"numpy", "scipy", "numba", "highspy", "duckdb", "pyarrow", "cryptography", "altair", "pandas", "shiny"}


def test_help_loads_nothing_that_reads_or_searches():
    code = (
        "import sys\nfrom privacyfunnel.cli.app import COMMANDS, run\n"
        "assert [name for name in COMMANDS if run([name, '--help'])] == []\n"
        f"print([m for m in sys.modules if m in {HEAVY}], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
    assert all(title.split(" (")[0] in done.stdout for title in PANELS.values())


BAD_TEXTS = ("perhaps", ",", "", "a", "=")
BAD_VALUES = (True, -1, [], "perhaps", "", {})


def first_refused(values, made):
    for value in values:
        try:
            made(value)
        except InvalidInput:
            return value
    raise AssertionError("everything is taken")


@pytest.mark.parametrize("name", [name for name, key in keys_of(Spec).items() if not key.argument])
def test_a_bad_value_of_any_key_is_one_line_that_calls_it_as_it_was_typed(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    usual = {"secret": ["ill"], "epsilon": ["1"]}
    usual.pop(name, None)

    def made(text):
        key = keys_of(Spec)[name]
        given = usual | ({name: [text]} if key.shown else {})
        return as_flags.said(Spec, given, [] if key.shown else [f"{name}={text}"]).spec()

    bad = first_refused(BAD_TEXTS, made)
    flag = as_flags.flag(Spec, name)
    words = [f"{flag}={bad}"] if keys_of(Spec)[name].shown else ["--set", f"{name.replace('_', '-')}={bad}"]
    rest = [word for key, (text,) in usual.items() for word in (f"--{key}", text)]
    assert run(["fit", "people.csv", *rest, *words, "-o", "p.json"]) == 2
    heard = capsys.readouterr().err
    assert flag in heard
    assert heard.count("\n") == 1


@pytest.mark.parametrize("name", keys_of(Spec))
def test_a_bad_value_of_any_key_is_one_line_that_calls_it_as_a_recipe_does(name, tmp_path, capsys):
    key, usual = as_toml.written(Spec, name), {"secret": "ill", "epsilon": 1}

    def content(value):
        at_top = keys_of(Spec)[name].top
        top = {"recipe": 1, "table": "people.csv", "output": "out"} | ({key: value} if at_top else {})
        return top, usual | ({} if at_top else {key.removeprefix("fit."): value})

    bad = first_refused(BAD_VALUES, lambda value: as_toml.said(Spec, *content(value)).spec())
    top, part = content(bad)
    lines = [f"{name} = {as_toml.value_text(value)}" for name, value in top.items()]
    lines += ["[fit]", *(f"{name} = {as_toml.value_text(value)}" for name, value in part.items())]
    (tmp_path / "r.toml").write_text("\n".join(lines), encoding="utf-8")
    assert run(["run", str(tmp_path / "r.toml")]) == 2
    heard = capsys.readouterr().err
    assert f"r.toml: {key}" in heard
    assert heard.count("\n") == 1


def test_an_option_that_is_a_key_of_set_is_said_to_be_one(capsys):
    assert run(["fit", "people.csv", "--secret", "ill", "--at-least", "5"]) == 2
    assert capsys.readouterr().err == "funnel: No such option: --at-least; it is a key: --set at-least=…\n"
    assert run(["fit", "people.csv", "--secret", "ill", "--colour", "red"]) == 2
    assert "see funnel fit --help" in capsys.readouterr().err
    assert run(["audit", "p.json", "--set", "delimiter=;"]) == 2
    assert "each key is an option by itself: see funnel audit --help" in capsys.readouterr().err


@given(spec=specs())
def test_the_command_itself_reads_what_is_printed(spec):
    words = as_flags.words(spec)
    if spec.table is not None:  # a table may be called like an option
        words = [*words[1:], "--", words[0]]
    assert typed(words) == spec
