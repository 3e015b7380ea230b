"""Key: what is said of one thing that can be asked for, and the types that its value may have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

from privacyfunnel.spec.toml_file import STRICT

Panel = Literal["basics", "columns", "promise", "advanced"]
PANELS: dict[Panel, str] = {
    "basics": "Basics",
    "columns": "Columns",
    "promise": "Promise",
    "advanced": "Advanced (by --set key=value, or in a recipe)",
}
"""What belongs together, as --help and the reference show it."""
LONGEST = 1_000
"""Letters of a name, of a path, or of another text."""
TO_FILL_IN = "…"
"""What stands where somebody is still to say something."""


@dataclass(frozen=True)
class Key:
    """What can be asked for, in words; its type and its default stand beside it in Spec."""

    help: str
    panel: Panel
    takes: str
    """What its value should be, after "should be"."""
    examples: tuple[Any, ...] = ()
    shown: bool = False
    """Whether it is an option of its own on the command line; the others are reached by --set."""
    also: tuple[str, ...] = ()
    """Other names of that option."""
    top: bool = False
    """Whether a recipe says it once for all commands, above its parts."""
    argument: bool = False
    """Whether the command line takes it by its place, not by its name."""
    path: bool = False
    """Whether it names files, which recipes see from where they lie."""
    label: str = ""
    """What its control is called in the studio."""
    joined: str = ","
    """What stands between names that are the value of one entry of a table."""
    off: bool = False
    """Whether it is on unless it is turned off, by --no- and its name."""
    drawn: bool = False
    """Whether the studio draws its control by hand; all other controls follow from what is said here."""
    run: bool = False
    """Whether a run says it for its steps, so that no recipe does."""


class Keyed(BaseModel):
    """What a command can be asked for: each field has its Key, and one that is None was not said."""

    model_config = ConfigDict(**STRICT, defer_build=True)  # so that --help need not wait
    part: ClassVar[str] = "fit"
    """The part of a recipe that says it."""
    all_shown: ClassVar[bool] = False
    """Whether every key is an option of its own, so that nothing is left to --set."""

    def said(self) -> dict[str, Any]:
        """What was said, by the name of its field."""
        return {name: getattr(self, name) for name in type(self).model_fields if getattr(self, name) is not None}


def key_of(field: FieldInfo) -> Key:
    """What is said of a field."""
    return next(mark for mark in field.metadata if isinstance(mark, Key))


def keys_of(model: type[Keyed]) -> dict[str, Key]:
    """What is said of every field of a model, in order."""
    keys = {name: key_of(field) for name, field in model.model_fields.items()}
    return {name: replace(key, shown=True) for name, key in keys.items()} if model.all_shown else keys


def _sayable(text: str) -> str:
    if "\0" in text or len(text) > LONGEST:
        raise ValueError(f"should be a text of at most {LONGEST:,} letters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("should be text in UTF-8") from None
    return text


def _filled(text: str) -> str:
    if text.strip() == TO_FILL_IN:
        raise ValueError(f"should be filled in; it still says {TO_FILL_IN}")
    if not text.strip():
        raise ValueError("should be filled in")
    return text


def _name(text: str) -> str:
    return _sayable(_filled(text))


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _simple(value: Any) -> Any:
    """A name or a list of names where a list of lists is meant."""
    if isinstance(value, str):
        return ((value,),)
    if isinstance(value, list | tuple) and not any(isinstance(one, list | tuple) for one in value):
        return (tuple(value),)
    if isinstance(value, list | tuple):
        return tuple((one,) if isinstance(one, str) else one for one in value)
    return value


def _finite(number: float) -> float:
    if not isfinite(number):
        raise ValueError
    return number


Name = Annotated[str, AfterValidator(_name)]
"""Of a column, or of a path: with its spaces."""
Value = Annotated[str, AfterValidator(_sayable)]
"""Of a column, as it stands in the table."""
Words = Annotated[str, AfterValidator(_filled)]
"""What is said of a table: as long as it takes."""
Text = Annotated[str, Field(min_length=1), AfterValidator(_sayable)]
Number = Annotated[float, AfterValidator(_finite)]
Count = Annotated[int, Field(ge=0)]
PositiveCount = Annotated[int, Field(ge=1)]
AtLeastZero = Annotated[Number, Field(ge=0)]
Positive = Annotated[Number, Field(gt=0)]
Between = Annotated[float, Field(gt=0, lt=1)]
"""A share that is neither nothing nor all."""
Share = Annotated[float, Field(gt=0, le=1)]
Names = Annotated[tuple[Name, ...], Field(strict=False, min_length=1), AfterValidator(_once)]
Values = Annotated[tuple[Value, ...], Field(strict=False, min_length=1), AfterValidator(_once)]
ListsOfNames = Annotated[
    tuple[Names, ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_simple, json_schema_input_type=str | list[str] | list[list[str]]),
]
Borders = Annotated[tuple[Number, ...], Field(strict=False, min_length=2)]
Way = Annotated[str, Field(pattern=r"^(each|width:[0-9.eE+-]+)$")]
"""How numbers are cut, in a word."""
T = TypeVar("T")
Table = Annotated[dict[Name, T], Field(min_length=1)]
"""What is said by the name of a column, or of a group."""
ByValue = Annotated[dict[Value, T], Field(min_length=1)]
"""What is said by the value of a column."""
