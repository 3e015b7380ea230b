"""Recipes as text: what is said and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privacyfunnel.recipes.recipe import Recipe
from privacyfunnel.spec import as_toml
from privacyfunnel.spec.toml_file import hyphened

ABOUT = "# What was chosen, as a recipe: funnel run recipe.toml does it all; funnel studio --recipe opens it again.\n"


def to_text(recipe: Recipe, about: str = ABOUT) -> str:
    """The recipe as a file that says the same."""
    top, fit = as_toml.content(recipe.fit)
    parts: list[tuple[str, dict[str, Any]]] = [("", {"recipe": recipe.recipe, **top, "output": recipe.output})]
    parts.append(("fit", fit))
    for step in (recipe.sanitise, recipe.audit, recipe.report, recipe.publish):
        parts += [(step.part, as_toml.content(step)[1])] if step is not None else []
    return about + "\n".join(_part(name, said) for name, said in parts)


def _part(name: str, said: Mapping[str, Any]) -> str:
    head = f"[{name}]\n" if name else ""
    return head + "".join(f"{hyphened(key)} = {as_toml.value_text(value)}\n" for key, value in said.items())
