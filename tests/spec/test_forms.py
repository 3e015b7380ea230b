"""Flags, recipes, controls and keywords say the same: what is printed in a form is read as the same Spec."""

import tomllib

import pytest
from hypothesis import given, settings

from privacyfunnel.spec import as_controls, as_flags, as_keywords, as_toml
from privacyfunnel.spec.key import keys_of
from spec.random_specs import specs


def by_toml(spec):
    top, part = as_toml.content(spec)
    lines = [f"{as_toml.text(key)} = {as_toml.value_text(value)}" for key, value in top.items()]
    lines += ["[fit]", *(f"{as_toml.text(key)} = {as_toml.value_text(value)}" for key, value in part.items())]
    read = tomllib.loads("\n".join(lines))
    fit = read.pop("fit")
    return as_toml.said(type(spec), read, fit).spec()


def by_keywords(spec):
    return as_keywords.said(type(spec), **eval(repr(as_keywords.keywords(spec)))).spec()  # noqa: S307 - our own


def by_controls(spec):
    return as_controls.said(type(spec), as_controls.controls(spec)).spec()


def by_flags(spec):
    words, shown, others = as_flags.words(spec), {}, []
    keys = {as_flags.flag(type(spec), name): name for name, key in keys_of(type(spec)).items() if key.shown}
    while words:
        word = words.pop(0)
        option, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        if option == as_flags.SET:
            others.append(words.pop(0))
        elif option in keys:
            shown.setdefault(keys[option], []).append(text if equals else words.pop(0))
        else:
            shown["table"] = [word]
    return as_flags.said(type(spec), shown, others).spec()


FORMS = {"flags": by_flags, "recipe": by_toml, "controls": by_controls, "keywords": by_keywords}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=200)
@given(spec=specs())
def test_what_is_printed_is_read_as_the_same(form, spec):
    assert FORMS[form](spec) == spec
