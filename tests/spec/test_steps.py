"""What every command can be asked for is read from one model: as options, and as its part of a recipe."""

import inspect
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from privacyfunnel.cli.app import COMMANDS, command, function, run
from privacyfunnel.cli.asking import spec_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.recipes.recipe import Drawing
from privacyfunnel.spec import as_flags, as_toml
from privacyfunnel.spec.grammar import is_flag
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.of_beginnings import ChangesSpec, DomainSpec, InitSpec
from privacyfunnel.spec.of_readers import EstimateSpec, RegressSpec
from privacyfunnel.spec.of_steps import AuditSpec, PublishSpec, ReportSpec, SanitiseSpec
from spec.random_specs import values
from spec.test_adding import BAD_TEXTS, first_refused

MODELS = {
    "sanitise": SanitiseSpec,
    "audit": AuditSpec,
    "report": ReportSpec,
    "publish": PublishSpec,
    "estimate": EstimateSpec,
    "regress": RegressSpec,
    "domain": DomainSpec,
    "init": InitSpec,
    "changes": ChangesSpec,
}
PARTS = (Drawing, AuditSpec, ReportSpec, PublishSpec)
NAMES = st.text(st.sampled_from("ab1é .,:=\"+'\t#{}|<>"), min_size=1, max_size=5)


@st.composite
def asked(draw, model, names):
    """What can be asked: values of some keys by their types."""
    found = model()
    for name in draw(st.lists(st.sampled_from(names), max_size=8)):
        flag = is_flag(model.model_fields[name].annotation)
        said = st.booleans() if keys_of(model)[name].off else st.just(True)
        value = draw(said if flag else values(model.model_fields[name].annotation, NAMES))
        try:
            found = model.model_validate({**found.said(), name: value})
        except ValidationError:
            continue
    return found


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_command_reads_what_is_printed_of_what_it_is_asked_for(name, data):
    model = MODELS[name]
    spec = data.draw(asked(model, list(model.model_fields)))
    arguments = [key for key, one in keys_of(model).items() if one.argument]
    if any(getattr(spec, key) is None for key in arguments):
        spec = spec.model_copy(update={key: getattr(spec, key) or "given" for key in arguments})
    own = [] if name in ("audit", "estimate", "regress", "publish", "init") else ["-o", "out.csv"]
    typed = command(name).make_context(name, [*as_flags.words(spec), *own]).params
    assert spec_of(typed, keys_of(model), model) == spec


@pytest.mark.parametrize("model", PARTS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_part_of_a_recipe_is_read_as_it_was_written(model, data):
    own = [name for name, key in keys_of(model).items() if not (key.run or key.top or name in ("output", "internal"))]
    spec = data.draw(asked(model, own))
    _, part = as_toml.content(spec)
    lines = [f"{as_toml.text(key)} = {as_toml.value_text(value)}" for key, value in part.items()]
    assert as_toml.said(model, {}, tomllib.loads("\n".join(lines))).spec() == spec


KEYS = [
    (name, key)
    for name, model in MODELS.items()
    for key, one in keys_of(model).items()
    if not one.argument and not is_flag(model.model_fields[key].annotation)
]


@pytest.mark.parametrize(("name", "key"), KEYS, ids=lambda one: one)
def test_a_bad_value_of_any_option_is_one_line_that_names_it(name, key, capsys):
    model = MODELS[name]
    bad = first_refused(BAD_TEXTS, lambda text: as_flags.said(model, {key: [text]}).spec())
    flag = as_flags.flag(model, key)
    first = ["x"] * sum(one.argument for one in keys_of(model).values())
    own = [] if name in ("audit", "estimate", "regress", "publish", "init") else ["-o", "out.csv"]
    assert run([name, *first, f"{flag}={bad}", *own]) == 2
    heard = capsys.readouterr().err
    assert heard.startswith(f"funnel: {flag} ")
    assert heard.count("\n") == 1


def test_what_a_run_says_itself_is_refused_in_a_recipe():
    with pytest.raises(InvalidInput, match=r"^audit\.protocol is said by the run itself; take it out$"):
        as_toml.said(AuditSpec, {}, {"protocol": "p.json"})
    with pytest.raises(InvalidInput, match=r"^sanitise\.where stands above the parts of a recipe, as where$"):
        as_toml.said(SanitiseSpec, {}, {"where": "age > 1"})


def test_no_command_spells_out_more_than_it_alone_can_say():
    own = {
        name: len(inspect.signature(getattr(function(name), "asked", function(name))).parameters) for name in COMMANDS
    }
    assert max(own.values()) <= 10, own
    assert max(own[name] for name in MODELS) <= 5, own


def test_a_command_that_lacks_what_it_needs_says_so_in_one_line(capsys):
    for words, heard in (
        (["sanitise", "people.csv", "-o", "o.csv"], "--protocol is missing: name the file that funnel fit wrote"),
        (["audit"], "PROTOCOL is missing: name the file that funnel fit wrote"),
        (["report", "p.json", "-o", "r.html"], "a report needs --table; a page without it is made with --public"),
        (["estimate", "o.csv"], "--protocol is missing"),
        (["domain", "-o", "d.json"], "which table? funnel domain people.csv"),
    ):
        assert run(words) == 2
        said = capsys.readouterr().err
        assert heard in said
        assert said.count("\n") == 1
