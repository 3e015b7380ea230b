"""Recipes as text: what is said and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from privacyfunnel.recipes.recipe import Recipe
from privacyfunnel.spec.toml_file import hyphened

ABOUT = "# What was chosen, as a recipe: funnel run recipe.toml does it all; funnel studio --recipe opens it again.\n"


def to_text(recipe: Recipe, about: str = ABOUT) -> str:
    """The recipe as a file that says the same."""
    parts: list[tuple[str, dict[str, Any]]] = [("", {})]
    for name in type(recipe).model_fields:
        value = getattr(recipe, name)
        if isinstance(value, BaseModel):
            parts.append((name, _said(value)))
        elif value is not None:
            parts[0][1][name] = value
    return about + "\n".join(_part(name, said) for name, said in parts)


def _said(part: BaseModel) -> dict[str, Any]:
    said = {name: getattr(part, name) for name in type(part).model_fields}
    return {name: value for name, value in said.items() if value is not None}


def _part(name: str, said: Mapping[str, Any]) -> str:
    head = f"[{name}]\n" if name else ""
    return head + "".join(f"{hyphened(key)} = {value_text(value)}\n" for key, value in said.items())


def value_text(value: Any) -> str:
    """A value as TOML writes it.

    >>> value_text({"age": [0, 18.5], "town": "Zürich"})
    '{ "age" = [0, 18.5], "town" = "Zürich" }'
    """
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{text(key)} = {value_text(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) if isinstance(value, str) else repr(value)


def text(value: str) -> str:
    r"""A text as TOML writes it: as JSON does, but for one sign that only JSON lets stand.

    >>> text("a\x7f\n")
    '"a\\u007f\\n"'
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
