"""A Spec as it is typed: options that are shown, --set key=value for the others, and the table by its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.form import S, Said, field_called, should_be, texts_of, value_of
from privacyfunnel.spec.grammar import is_flag
from privacyfunnel.spec.key import Keyed, keys_of
from privacyfunnel.spec.toml_file import hyphened

SET = "--set"


def flag(model: type[Keyed], name: str) -> str:
    """How a key is written on the command line."""
    key = keys_of(model)[name]
    if key.argument:
        return name.upper()
    return f"--{hyphened(name)}" if key.shown else f"{SET} {hyphened(name)}"


def said(model: type[S], shown: Mapping[str, Sequence[str] | bool | None], others: Sequence[str] = ()) -> Said[S]:
    """What was typed: texts by the field of their option, and the key=value of --set."""
    typed: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    for name, given in shown.items():
        if given or (given is False and keys_of(model)[name].off):
            typed[name] = [str(given).lower()] if isinstance(given, bool) else list(given or ())
            labels[name] = flag(model, name)
    for text in others:
        written, equals, value = text.partition("=")
        name = _field(model, written)
        label = _set(name)
        if not equals and not is_flag(model.model_fields[name].annotation):
            raise InvalidInput(f"{should_be(model, name, _set)}; it has no value")
        if labels.setdefault(name, label) != label:
            raise InvalidInput(f"{label} and {labels[name]} say the same; leave out one of them")
        typed.setdefault(name, []).append(value if equals else "true")
    values = {name: value_of(model, name, texts, labels.__getitem__) for name, texts in typed.items()}
    return Said(model, values, labels, lambda name: flag(model, name))


def words(spec: Keyed) -> list[str]:
    """What is typed after funnel fit; what is read of it is the same Spec."""
    return typed(type(spec), spec.said())


def typed(model: type[Keyed], values: Mapping[str, Any]) -> list[str]:
    """How some values of keys are typed."""
    keys, found = keys_of(model), list[str]()
    for name, value in values.items():
        key, field = keys[name], model.model_fields[name]
        texts = texts_of(model, name, value)
        if key.argument:
            found += texts
        elif not key.shown:
            found += [part for text in texts for part in (SET, _setting(name, text, is_flag(field.annotation)))]
        elif is_flag(field.annotation):
            found += [flag(model, name)] if value else [f"--no-{hyphened(name)}"] if key.off else []
        else:
            found += [part for text in texts for part in _option(flag(model, name), text)]
    return found


def _set(name: str) -> str:
    return f"{SET} {hyphened(name)}"


def _field(model: type[Keyed], written: str) -> str:
    try:
        return field_called(model, written)
    except InvalidInput as trouble:
        raise InvalidInput(f"{SET} {trouble}") from None


def _setting(name: str, text: str, is_one: bool) -> str:
    return hyphened(name) if is_one and text == "true" else f"{hyphened(name)}={text}"


def _option(option: str, text: str) -> list[str]:
    return [f"{option}={text}"] if text.startswith("-") or not text else [option, text]


def again(model: type[S], values: Mapping[str, Any]) -> S:
    """A Spec of these values, refused as the command line would."""
    return Said(model, values, {}, lambda name: flag(model, name)).spec()
