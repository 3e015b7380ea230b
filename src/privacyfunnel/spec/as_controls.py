"""A Spec as the studio's controls hold it: one text for each key, empty where nothing is said."""

from __future__ import annotations

from collections.abc import Mapping

from privacyfunnel.spec.form import S, Said, field_called, texts_of, value_of
from privacyfunnel.spec.grammar import kinds_of
from privacyfunnel.spec.key import Keyed, keys_of
from privacyfunnel.spec.toml_file import hyphened
from privacyfunnel.spec.written import divided


def label(model: type[Keyed], name: str) -> str:
    """What a control is called, in the quotes of a sentence."""
    return f"“{keys_of(model)[name].label or hyphened(name)}”"


def said(model: type[S], controls: Mapping[str, str]) -> Said[S]:
    """What the controls say."""
    values = {}
    for typed, text in controls.items():
        name = field_called(model, typed)
        if text:
            whole = kinds_of(model.model_fields[name].annotation) == [str]
            texts = [text] if whole else [part for part in divided(text, "\n") if part.strip()]
            values[name] = value_of(model, name, texts, lambda name: label(model, name))
    return Said(model, values, {}, lambda name: label(model, name))


def controls(spec: Keyed) -> dict[str, str]:
    """What the controls hold for a Spec."""
    model = type(spec)
    said = spec.said()
    return {name: "\n".join(texts_of(model, name, said[name])) if name in said else "" for name in model.model_fields}
