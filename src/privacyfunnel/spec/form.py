"""What the forms share: a Spec of what was said, refused in one line that names the key as it was written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sized
from dataclasses import dataclass, replace
from difflib import get_close_matches
from string import Formatter
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.grammar import NotRead, read, written
from privacyfunnel.spec.impossible import Impossible
from privacyfunnel.spec.key import Keyed, key_of, keys_of
from privacyfunnel.spec.toml_file import hyphened

S = TypeVar("S", bound=Keyed)
Label = Callable[[str], str]
"""How a key is written, by the name of its field."""


@dataclass(frozen=True)
class Said(Generic[S]):
    """What was said in some form, and how its keys were written there."""

    model: type[S]
    values: Mapping[str, Any]
    labels: Mapping[str, str]
    usual: Label
    """How keys are written that were not said."""

    def over(self, other: Said[S]) -> Said[S]:
        """Both; what is said here wins."""
        return replace(self, values={**other.values, **self.values}, labels={**other.labels, **self.labels})

    def label(self, name: str) -> str:
        """How a key is called in a refusal."""
        return self.labels.get(name) or self.usual(name)

    def spec(self, before: str = "") -> S:
        """The Spec that was said, or one line that says what is wrong with which key; the line begins with `before`."""
        return made(self.model, self.values, self.label, before)


def made(model: type[S], said: Mapping[str, Any], label: Label, before: str = "") -> S:
    """The Spec that was said, or one line that says what is wrong with which key."""
    try:
        return model.model_validate(dict(said))
    except ValidationError as invalid:
        raise InvalidInput(f"{before}{_words(model, said, invalid, label)}") from None


def impossible(model: type[Keyed], trouble: Impossible, label: Label) -> str:
    """A refusal in which keys are called as they were written."""
    return Formatter().vformat(trouble.words, (), {name: label(name) for name in model.model_fields})


def should_be(model: type[Keyed], name: str, label: Label, inner: str = "") -> str:
    """What the value of a key should be."""
    key = key_of(model.model_fields[name])
    examples = " or ".join(one for value in key.examples for one in texts_of(model, name, value)[:1])
    return f"{label(name)}{inner} should be {key.takes}" + (f", such as {examples}" if examples else "")


def texts_of(model: type[Keyed], name: str, value: Any) -> list[str]:
    """A value as it is typed: a text for each time that its key is said."""
    field = model.model_fields[name]
    return written(field.annotation, value, key_of(field).joined)


def value_of(model: type[Keyed], name: str, texts: list[str], label: Label) -> Any:
    """The value that was typed."""
    field = model.model_fields[name]
    try:
        return read(field.annotation, texts, key_of(field).joined)
    except NotRead as trouble:
        if str(trouble):
            raise InvalidInput(f"{label(name)} {trouble}") from None
        raise InvalidInput(f"{should_be(model, name, label)}; got {', '.join(texts)!r}") from None


def field_called(model: type[Keyed], typed: str, names: Collection[str] = ()) -> str:
    """The name of the field that is typed so; `names` are those that are listed where there is none, or else all."""
    name = typed.strip().replace("-", "_")
    if name not in model.model_fields:
        there = [hyphened(one) for one in keys_of(model) if not names or one in names]
        alike = get_close_matches(hyphened(name), there, 1)
        known = f"did you mean {alike[0]}?" if alike else f"these are: {', '.join(there)}"
        raise InvalidInput(f"{typed} is no key that is known here; {known}")
    return name


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of keys without those that say nothing: no value, a no, an empty list or table. Zero says something.

    >>> without_empty({"epsilon": 0.0, "insist": False, "missing": [], "known": None})
    {'epsilon': 0.0}
    """
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and not (isinstance(value, Sized) and len(value) == 0)
    }


def simple(value: Any) -> Any:
    """A value as somebody would write it: lists, and what is alone without one.

    >>> simple((("ill",),)), simple((("ill", "age"),)), simple((("ill",), ("age",)))
    ('ill', ['ill', 'age'], [['ill'], ['age']])
    """
    if isinstance(value, Mapping):
        return {name: simple(one) for name, one in value.items()}
    if not isinstance(value, tuple):
        return value
    if not isinstance(value[0], tuple):
        return list(value)
    if len(value) > 1:
        return [list(names) for names in value]
    return value[0][0] if len(value[0]) == 1 else list(value[0])


def _words(model: type[Keyed], said: Mapping[str, Any], invalid: ValidationError, label: Label) -> str:
    errors = invalid.errors(include_url=False)
    first = next((error for error in errors if _place(said, error["loc"])), errors[0])
    own = first.get("ctx", {}).get("error")
    if isinstance(own, Impossible):
        return impossible(model, own, label)
    name, inner = field_called(model, str(first["loc"][0])), _place(said, first["loc"])
    if isinstance(own, ValueError) and str(own):
        return f"{label(name)}{inner} {own}"
    return should_be(model, name, label, inner)


def _place(said: Mapping[str, Any], steps: tuple[int | str, ...]) -> str:
    """The steps into the tables of a value that lead to a mistake; pydantic also names the kinds that it tried."""
    value, place = said.get(str(steps[0]).replace("-", "_")) if steps else None, ""
    for step in steps[1:]:
        if isinstance(value, Mapping) and step in value:
            value, place = value[step], f"{place}.{step}"
    return place
