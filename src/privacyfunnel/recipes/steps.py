"""Steps: the commands that a recipe stands for, word by word as they would be typed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from privacyfunnel.recipes.recipe import PROTOCOL, PUBLISHED, REPORT, Recipe
from privacyfunnel.spec import as_flags, as_toml
from privacyfunnel.spec.files import files_of, seen_from
from privacyfunnel.spec.grammar import number_text
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened

READING = ("where", "delimiter", "encoding")
"""How the table is read, by every command that reads it."""
NEGATED = frozenset({"curves"})
"""Options that are on unless they are turned off."""


@dataclass(frozen=True)
class Step:
    """One command."""

    name: str
    words: tuple[str, ...]
    """What is typed after funnel."""
    makes: tuple[str, ...]
    """What it writes into the folder of the run."""
    spec: Spec | None = None
    """What a fit is asked for."""


def steps(recipe: Recipe, place: Path) -> list[Step]:
    """The commands, to be run in the folder that they fill; `place` is where the recipe lies, and sees its paths."""
    table, released = _seen(recipe.table, place), recipe.sanitise.output
    spec = seen_from(recipe.fit, place)
    reading = _words({name: getattr(spec, name) for name in READING})
    seen = recipe.fit.exact_fit or recipe.audit.attack
    drawing = _seen_from(recipe.sanitise, place, "remember", "released", "was")
    kept = (recipe.sanitise.internal,) if recipe.sanitise.internal is not None else ()
    found = [
        Step("fit", ("fit", *as_flags.words(spec), "-o", PROTOCOL), (PROTOCOL,), spec),
        Step(
            "sanitise",
            ("sanitise", table, *reading, *_words(drawing), "--protocol", PROTOCOL, "-o", released),
            (released, *kept),
        ),
        Step(
            "audit",
            (
                *("audit", PROTOCOL, *(("--table", table, *reading) if seen else ())),
                *_words(_seen_from(recipe.audit, place, "after", "was")),
            ),
            (),
        ),
    ]
    if recipe.report is not None:
        whole = () if recipe.report.public else ("--table", table, *reading)
        found.append(Step("report", ("report", PROTOCOL, *whole, *_part(recipe.report), "-o", REPORT), (REPORT,)))
    if recipe.publish is not None:
        words = _words(_seen_from(recipe.publish, place, "details"))
        found.append(
            Step("publish", ("publish", released, "--protocol", PROTOCOL, *words, "-o", PUBLISHED), (PUBLISHED,))
        )
    return found


def inputs(recipe: Recipe, place: Path) -> dict[str, Path]:
    """The files that a recipe names, by its keys."""
    named: dict[str, str | Path | None] = {}
    for key, path in files_of(recipe.fit).items():
        field, dot, number = key.partition(".")
        named[as_toml.written(type(recipe.fit), field) + dot + number] = path
    named["audit.after"] = recipe.audit.after
    named["publish.details"] = recipe.publish.details if recipe.publish is not None else None
    several = {"sanitise.released": recipe.sanitise.released}
    several |= {"sanitise.was": recipe.sanitise.was, "audit.was": recipe.audit.was}
    for key, paths in several.items():
        named |= {f"{key}.{i}": path for i, path in enumerate(paths or ())}
    return {key: place / path for key, path in named.items() if path is not None}


def _of(part: BaseModel) -> dict[str, Any]:
    return {name: getattr(part, name) for name in type(part).model_fields}


def _part(part: BaseModel) -> list[str]:
    return _words(_of(part))


def _seen_from(part: BaseModel, place: Path, *paths: str) -> dict[str, Any]:
    """What a part says, with its paths as they are from anywhere; what it writes is said elsewhere."""
    said = {name: value for name, value in _of(part).items() if name != "output"}
    for name in paths:
        if isinstance(said[name], list):
            said[name] = [_seen(path, place) for path in said[name]]
        elif said[name] is not None:
            said[name] = _seen(said[name], place)
    return said


def _seen(path: str, place: Path) -> str:
    """A path of a recipe, as it is from anywhere."""
    return os.path.normpath(place / path)


def _words(said: Mapping[str, Any]) -> list[str]:
    """Options as typed; what is not said is left out."""
    words: list[str] = []
    for name, value in said.items():
        option = f"--{hyphened(name)}"
        if value is True:
            words.append(option)
        elif value is False:
            words += [f"--no-{hyphened(name)}"] if name in NEGATED else []
        elif value is not None:
            for one in value if isinstance(value, list) else [value]:
                text = _value(one)
                words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return words


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_value, value))
    return value if isinstance(value, str) else number_text(value)
