"""Python's doors to a table read it by the keys of a Spec, and refuse what cannot be in the same words."""

import inspect

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec import as_controls, as_flags, as_keywords, as_toml
from privacyfunnel.spec.counted import CALLED
from privacyfunnel.spec.spec import Spec

KEYS = {called: name for name, called in CALLED.items()}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"ill;town;age\n" + "yes;Zürich;30\nno;Bern;40\nno;Bern;50\n".encode("latin-1") * 20)
    return path


@pytest.mark.parametrize("door", [pf.Joint.from_table, pf.Joint.from_spark])
def test_every_keyword_that_reads_a_table_is_a_key(door):
    names = [*inspect.signature(door).parameters][1:]
    assert {KEYS.get(name, name) for name in names} <= Spec.model_fields.keys()


def test_a_table_is_read_as_its_keywords_say(table):
    joint = pf.Joint.from_table(
        table, "ill", ["town", "age"], bins={"age": [0, 45, 90]}, where="age > 30", delimiter=";", encoding="latin-1"
    )
    assert joint.total == 40
    assert joint.columns[0].labels == ("Bern",)
    assert len(joint.columns[1]) == 2


WRONG = {
    "secret": "",
    "attributes": [],
    "bins": {"age": 0},
    "top": {"town": "many"},
    "dates": {"age": "century"},
    "written": {"age": "roman"},
    "groups": {"town": ["Bern"]},
    "private": -1.0,
    "delta": "small",
    "at_least": -1,
    "insist": "yes",
    "domain": "",
    "where": "",
    "delimiter": "||",
    "encoding": "utf-16",
    "missing": [3],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_bad_value_of_a_keyword_is_one_line_that_calls_it_as_python_does(name, table):
    with pytest.raises(InvalidInput, match=rf"^{name}\b") as refused:
        pf.Joint.from_table(table, **{"secret": "ill", "attributes": ["town"], name: WRONG[name]})
    assert "\n" not in str(refused.value)
    assert WRONG.keys() == inspect.signature(pf.Joint.from_table).parameters.keys() - {"table"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": -1}, "epsilon should be a number from 0 on"),
        ({"private": 0.0}, "private: "),
        ({"columns": ["age"], "leave_out": [3]}, "leave_out should be names of columns"),
        ({"promise": pf.LIP(0.5), "epsilon": 0.5}, "leave out epsilon="),
        ({"promise": pf.robust(pf.LIP(0.5), 0.95)}, "fill cannot be combined with confidence"),
    ],
)
def test_a_release_from_python_is_refused_as_a_spec_is(wrong, says, table, tmp_path):
    with pytest.raises(InvalidInput, match=says):
        pf.release(table, tmp_path / "folder", secret="ill", **wrong)
    assert not (tmp_path / "folder").exists()


BOTH = {"secret": "ill", "epsilon": 1.0, "objective": "information", "readers": "shares", "confidence": 0.95}


@pytest.mark.parametrize(
    ("said", "first", "second"),
    [
        (lambda: as_keywords.said(Spec, **BOTH), "confidence", "readers"),
        (lambda: as_toml.said(Spec, {}, BOTH), "fit.confidence", "fit.readers"),
        (
            lambda: as_flags.said(
                Spec,
                {"secret": ["ill"], "epsilon": ["1"], "confidence": ["0.95"]},
                ["objective=information", "readers=shares"],
            ),
            "--confidence",
            "--set readers",
        ),
        (
            lambda: as_controls.said(Spec, {name: str(value) for name, value in BOTH.items()}),
            "“At which confidence”",
            "“Readers estimate”",
        ),
    ],
)
def test_sharp_estimates_and_a_confidence_are_refused_with_what_to_do(said, first, second):
    with pytest.raises(InvalidInput) as refused:
        said().spec()
    assert str(refused.value).startswith(f"{first} cannot be combined with {second}: it promises about every ")
    assert str(refused.value).endswith("leave out one of the two")


def test_zero_is_a_level_like_any_other():
    with pytest.raises(InvalidInput, match="keep cannot be combined with epsilon"):
        as_keywords.said(Spec, secret="ill", keep=0.9, epsilon=0).spec()


LAYOUT = {"delimiter": ("||", "--delimiter should be one sign"), "encoding": ("utf-16", "--encoding should be utf-8")}


SHORT = ("tradeoff", "audit")
"""Commands that write nothing."""


@pytest.mark.parametrize("name", LAYOUT)
@pytest.mark.parametrize("command", ["fit", "release", "tradeoff", "sanitise", "audit", "report", "domain", "init"])
def test_how_a_file_is_written_is_an_option_of_every_command_that_reads_one(command, name, tmp_path, capsys):
    bad, says = LAYOUT[name]
    assert (
        run([command, "people.csv", f"--{name}={bad}", "-o", str(tmp_path / "new")][: 3 if command in SHORT else 5])
        == 2
    )
    heard = capsys.readouterr().err
    assert heard.startswith(f"funnel: {says}")
    assert heard.count("\n") == 1


def test_a_recipe_is_told_by_its_own_key_how_a_file_is_written(tmp_path, capsys):
    (tmp_path / "r.toml").write_text(
        'recipe = 1\ntable = "t.csv"\noutput = "o"\nencoding = "x"\n[fit]\nsecret = "s"\n', encoding="utf-8"
    )
    assert run(["run", str(tmp_path / "r.toml")]) == 2
    assert "r.toml: encoding should be utf-8 or latin-1" in capsys.readouterr().err
