"""A Spec as a recipe says it: what is for all commands at the top, the rest in its part, such as [fit]."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.form import S, Said, field_called, simple
from privacyfunnel.spec.grammar import number_text
from privacyfunnel.spec.key import Keyed, keys_of
from privacyfunnel.spec.toml_file import hyphened


def written(model: type[Keyed], name: str) -> str:
    """How a key is written in a recipe."""
    return hyphened(name) if keys_of(model)[name].top else f"{model.part}.{hyphened(name)}"


def said(model: type[S], top: Mapping[str, Any], part: Mapping[str, Any]) -> Said[S]:
    """What a recipe says: of what stands above its parts only what is ours, and all of its part."""
    keys = keys_of(model)
    values = {name: top[hyphened(name)] for name, key in keys.items() if key.top and hyphened(name) in top}
    own = [name for name, key in keys.items() if not (key.top or key.run)]
    for typed, value in part.items():
        try:
            name = field_called(model, typed, own)
        except InvalidInput as trouble:
            raise InvalidInput(f"{model.part}.{trouble}") from None
        if keys[name].run:
            raise InvalidInput(f"{model.part}.{typed} is said by the run itself; take it out")
        if keys[name].top:
            raise InvalidInput(f"{model.part}.{typed} stands above the parts of a recipe, as {hyphened(name)}")
        values[name] = value
    return Said(model, values, {name: written(model, name) for name in values}, lambda name: written(model, name))


def content(spec: Keyed) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a recipe says at the top, and in its part."""
    keys = keys_of(type(spec))
    both: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for name, value in spec.said().items():
        both[not keys[name].top][hyphened(name)] = simple(value)
    return both


def value_text(value: Any) -> str:
    """A value as TOML writes it.

    >>> value_text({"age": [0, 18.5], "town": "Zürich"})
    '{ "age" = [0, 18.5], "town" = "Zürich" }'
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{text(key)} = {value_text(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) if isinstance(value, str) else number_text(value)


def text(value: str) -> str:
    r"""A text as TOML writes it: as JSON does, but for one sign that only JSON lets stand.

    >>> text("a\x7f\n")
    '"a\\u007f\\n"'
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
