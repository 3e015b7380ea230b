"""Steps: the commands that a recipe stands for, word by word as they would be typed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from privacyfunnel.errors import InvalidInput
from privacyfunnel.recipes.recipe import PROTOCOL, PUBLISHED, REPORT, Recipe
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


def steps(recipe: Recipe, place: Path) -> list[Step]:
    """The commands, to be run in the folder that they fill; `place` is where the recipe lies, and sees its paths."""
    table, released = _seen(recipe.table, place), recipe.sanitise.output
    reading = _words({name: getattr(recipe, name) for name in READING})
    seen = recipe.fit.exact_fit or recipe.audit.attack
    drawing = _seen_from(recipe.sanitise, place, "remember", "released", "was")
    kept = (recipe.sanitise.internal,) if recipe.sanitise.internal is not None else ()
    found = [
        Step("fit", ("fit", table, *reading, *_fit(recipe, place), "-o", PROTOCOL), (PROTOCOL,)),
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
    fit = recipe.fit
    named = {"table": recipe.table, "fit.domain": fit.domain, "fit.after": fit.after, "audit.after": recipe.audit.after}
    named["publish.details"] = recipe.publish.details if recipe.publish is not None else None
    several = {"fit.released": fit.released, "sanitise.released": recipe.sanitise.released}
    several |= {"fit.was": fit.was, "sanitise.was": recipe.sanitise.was, "audit.was": recipe.audit.was}
    for key, paths in several.items():
        named |= {f"{key}.{i}": path for i, path in enumerate(paths or ())}
    return {key: place / path for key, path in named.items() if path is not None}


def _fit(recipe: Recipe, place: Path) -> list[str]:
    """Options of fit: lists of names are joined by commas, and what is said of columns becomes column=value."""
    fit = recipe.fit
    said = _seen_from(fit, place, "domain", "after", "released", "was")
    said["secret"] = [_joined(names, "fit.secret") for names in fit.secrets]
    if isinstance(fit.notion, dict):
        said["notion"] = _pairs(fit.notion, "fit.notion")
    if isinstance(fit.epsilon, dict):
        said["epsilon"] = _pairs(fit.epsilon, "fit.epsilon")
    if fit.attributes is not None:
        said["attributes"] = _joined(fit.attributes, "fit.attributes")
    if isinstance(fit.known, list):
        said["known"] = _joined(fit.known, "fit.known")
    elif isinstance(fit.known, dict):
        each = {name: "+".join(one) if isinstance(one, list) else one for name, one in fit.known.items()}
        said["known"] = _pairs(each, "fit.known")
    if fit.chain is not None:
        said["chain"] = [_joined(one, "fit.chain") for one in fit.chain]
    if fit.exact is not None:
        said["exact"] = [_typed(name, "fit.exact") for name in fit.exact]
    if fit.group is not None:
        said["group"] = [
            f"{_typed(name, 'fit.group')}:{_typed(label, 'fit.group')}={_joined(texts, 'fit.group')}"
            for name, each in fit.group.items()
            for label, texts in each.items()
        ]
    if fit.missing is not None:
        said["missing"] = [_typed(text, "fit.missing") for text in fit.missing]
    if fit.error is not None:
        said["error"] = [f"{name}={_number(value)}" for name, value in fit.error.items()]
    for key in ("bins", "top", "dates", "weight"):
        if said.get(key) is not None:
            said[key] = [f"{_typed(name, f'fit.{key}')}={_value(value)}" for name, value in said[key].items()]
    return _words(said)


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
    return value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return repr(value) if isinstance(value, float) and value != int(value) else str(int(value))


def _pairs(said: Mapping[str, Any], key: str) -> str:
    """What is said of each, in one text."""
    return ",".join(f"{_typed(name, key)}={_value(value)}" for name, value in said.items())


def _joined(names: list[str], key: str) -> str:
    return ",".join(_typed(name, key) for name in names)


def _typed(name: str, key: str) -> str:
    """A name as it is typed in a list: in double quotes where it would be read otherwise."""
    if '"' in name:
        raise InvalidInput(f"{key}: a name with a double quote in it cannot be said; rename the column {name!r}")
    return f'"{name}"' if {*",:="} & {*name} or name != name.strip() else name
