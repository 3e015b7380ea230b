"""The reference of a Spec: a table of its keys for people, and its JSON Schema for machines."""

from __future__ import annotations

import shlex
from typing import Any

from privacyfunnel.spec import as_toml
from privacyfunnel.spec.as_flags import flag
from privacyfunnel.spec.as_flags import typed as typed_as
from privacyfunnel.spec.form import simple
from privacyfunnel.spec.key import PANELS, keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened


def table(model: type[Spec] = Spec) -> str:
    """Markdown: for each panel its keys, how they are typed, how a recipe says them, and what they are for."""
    parts = []
    for panel, title in PANELS.items():
        rows = [_row(model, name) for name, key in keys_of(model).items() if key.panel == panel]
        parts.append("\n".join([f"## {title}", "", "| typed | in a recipe | |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def schema(model: type[Spec] = Spec) -> dict[str, Any]:
    """JSON Schema, with what is said of each key."""
    made = model.model_json_schema(by_alias=True)
    for name, key in keys_of(model).items():
        own = made["properties"][hyphened(name)]
        made["properties"][hyphened(name)] = {
            "description": key.help,
            **{word: one for word, one in own.items() if word not in ("title", "default")},
            "examples": [simple(value) for value in key.examples],
        }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _row(model: type[Spec], name: str) -> str:
    key = keys_of(model)[name]
    value = key.examples[0] if key.examples else None
    typed, said = flag(model, name), as_toml.written(model, name)
    if value is not None:
        typed = shlex.join(typed_as(model, {name: value})[:2])
        said = f"{said} = {as_toml.value_text(simple(value))}"
    cells = (f"`{typed}`", f"`{said}`", key.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
