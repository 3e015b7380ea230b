"""Every key that has no control of its own on the page: a text for each, under a fold, as it would be typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from htmltools import Tag, tags
from shiny import ui

from privacyfunnel.spec import as_controls
from privacyfunnel.spec.form import texts_of
from privacyfunnel.spec.grammar import is_flag
from privacyfunnel.spec.key import Key, keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened

OWN = {
    *("table", "secret", "columns", "notion", "epsilon", "known", "confidence", "within", "private", "exact_fit"),
    *("at_least", "insist", "objective", "bins", "top", "dates", "time_limit", "ordered", "per_range", "keep_exact"),
    "keep",
}
"""Keys whose controls are drawn one by one."""
ELSEWHERE = {
    *("leave_out", "allow_secret_attribute", "coarsen", "where", "delimiter", "encoding", "lower", "upper", "error"),
    *("person", "unchanged", "cover", "engine", "master", "delta", "written", "unit"),
}
"""Keys that the page has no place for: it shows one whole table, and a promise with one ε, with noise drawn once."""
TITLES = {True: "More about the columns", False: "All other options"}
"""Of the folds, in the step of the columns and in that of the promise."""
FOR_YES = "true"
"""What is typed for a key that is said by its name alone."""


def others(model: type[Spec], of_columns: bool) -> dict[str, Key]:
    """Keys for a step: those of columns, or the rest. Files lie on another machine, perhaps."""
    keys = keys_of(model).items()
    there = {name: key for name, key in keys if name not in OWN | ELSEWHERE and not key.path}
    return {name: key for name, key in there.items() if (key.panel == "columns") is of_columns}


def place(name: str) -> str:
    """What the control of a key is called on the page."""
    return f"key_{name}"


def others_part(of_columns: bool, said: Mapping[str, str], model: type[Spec] = Spec) -> Tag:
    """A fold with a text for each key, open if something is said there."""
    keys = others(model, of_columns)
    return tags.details(
        {"open": ""} if any(said.get(name) for name in keys) else {},
        tags.summary(TITLES[of_columns]),
        *(part for name, key in keys.items() for part in _control(model, name, key, said.get(name, ""))),
    )


def chosen(there: Callable[[str], bool], typed: Callable[[str], str], of_columns: bool) -> dict[str, str]:
    """What is typed, by the keys whose controls are on the page."""
    found = {name: typed(place(name)).strip() for name in others(Spec, of_columns) if there(place(name))}
    return {name: text for name, text in found.items() if text}


def said_by(spec: Spec) -> dict[str, str]:
    """What the controls hold for a Spec."""
    controls = as_controls.controls(spec)
    return {name: controls[name] for step in TITLES for name in others(type(spec), step) if controls[name]}


def _control(model: type[Spec], name: str, key: Key, said: str) -> tuple[Tag, Tag]:
    example = FOR_YES if is_flag(model.model_fields[name].annotation) else _example(model, name, key)
    label = key.label or hyphened(name)
    typed = ui.input_text(place(name), label, said, width="100%", placeholder=example, update_on="blur")
    return typed, tags.p(key.help, class_="meta")


def _example(model: type[Spec], name: str, key: Key) -> str:
    return next((text for value in key.examples for text in texts_of(model, name, value)), "")
