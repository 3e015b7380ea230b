"""A control for every key that the page does not draw by hand: it follows from what is said of the field, and its type.

Files are uploaded, words are chosen from a list, and all else is typed as on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args, get_origin

from htmltools import Tag, tags
from shiny import ui

from privacyfunnel.spec import as_controls
from privacyfunnel.spec.form import texts_of
from privacyfunnel.spec.grammar import is_flag, kinds_of
from privacyfunnel.spec.key import Key, keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened
from privacyfunnel.spec.written import quoted

Step = Literal["table", "columns", "promise"]
TITLES: dict[Step, str] = {
    "table": "More about the table",
    "columns": "More about the columns",
    "promise": "All other options",
}
"""Of the folds, by the step of the page that they belong to."""
OPTION = re.compile(r"--(?:set )?(?P<key>[a-z]+(?:-[a-z]+)*)(?:=(?P<value>[^\s,;:]+))?")
"""A key as the command line calls it."""
FOR_YES = "true"
"""What is typed for a key that is said by its name alone."""


class Page(Protocol):
    """What is on a page: a value for every control that is there, by its place."""

    def __contains__(self, place: str) -> bool: ...

    def __getitem__(self, place: str) -> Any: ...


def step_of(key: Key) -> Step:
    """The step in which a key is asked for: what all commands say of a table comes before its columns."""
    if key.top:
        return "table"
    return "columns" if key.panel == "columns" else "promise"


def others(model: type[Spec], step: Step) -> dict[str, Key]:
    """The keys of a step whose controls are made here."""
    return {name: key for name, key in keys_of(model).items() if not key.drawn and step_of(key) == step}


def place(name: str) -> str:
    """What the control of a key is called on the page."""
    return f"key_{name}"


def others_part(step: Step, said: Mapping[str, str], model: type[Spec] = Spec) -> Tag:
    """A fold with a control for each key, open if something is said there."""
    keys = others(model, step)
    return tags.details(
        {"open": ""} if any(said.get(name) for name in keys) else {},
        tags.summary(TITLES[step]),
        *(part for name, key in keys.items() for part in _control(model, name, key, said.get(name, ""))),
    )


def chosen(given: Page, step: Step, before: Mapping[str, str]) -> dict[str, str]:
    """What is said by the controls that are on the page; files that were named `before` stay until one is uploaded."""
    found = {}
    for name, key in others(Spec, step).items():
        if key.path:
            files = _files(given, name)
            found[name] = ",".join(quoted(file["datapath"]) for file in files) or before.get(name, "")
        elif place(name) in given:
            found[name] = str(given[place(name)]()).strip()
    return {name: text for name, text in found.items() if text}


def uploaded(given: Page) -> dict[str, str]:
    """What their owner calls the files that were uploaded, by where they lie."""
    names = [name for step in TITLES for name, key in others(Spec, step).items() if key.path]
    return {file["datapath"]: file["name"] for name in names for file in _files(given, name)}


def with_labels(words: str) -> str:
    """Words of the command line, with keys called as they are on the page; whole commands stay what they are.

    >>> with_labels("in Latin: try --encoding latin-1; funnel init --encoding latin-1; or --set unit=row")
    'in Latin: try “Encoding” latin-1; funnel init --encoding latin-1; or “What the promise is about” row'
    """
    parts = words.split(";")
    return ";".join(part if "funnel " in part else OPTION.sub(_labelled, part) for part in parts)


def said_by(spec: Spec) -> dict[str, str]:
    """What the controls hold for a Spec."""
    controls = as_controls.controls(spec)
    return {name: controls[name] for step in TITLES for name in others(type(spec), step) if controls[name]}


def _labelled(found: re.Match[str]) -> str:
    name = found["key"].replace("-", "_")
    if name not in Spec.model_fields:
        return found[0]
    return as_controls.label(Spec, name) + (f" {found['value']}" if found["value"] else "")


def _files(given: Page, name: str) -> list[dict[str, Any]]:
    return list(given[place(name)]() or ()) if place(name) in given else []


def _control(model: type[Spec], name: str, key: Key, said: str) -> tuple[Tag, Tag]:
    words = f"{key.help} From the recipe: {said}." if key.path and said else key.help
    return _made(model, name, key, said), tags.p(words, class_="meta")


def _made(model: type[Spec], name: str, key: Key, said: str) -> Tag:
    label, annotation = key.label or hyphened(name), model.model_fields[name].annotation
    kinds = kinds_of(annotation)
    if key.path:
        return ui.input_file(place(name), label, multiple=get_origin(kinds[0]) is tuple, width="100%")
    if len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        words = {"": "–", **{word: word for word in get_args(kinds[0])}}
        return ui.input_select(place(name), label, words, selected=said, width="100%")
    example = FOR_YES if is_flag(annotation) else _example(model, name, key)
    return ui.input_text(place(name), label, said, width="100%", placeholder=example, update_on="blur")


def _example(model: type[Spec], name: str, key: Key) -> str:
    return next((text for value in key.examples for text in texts_of(model, name, value)), "")
