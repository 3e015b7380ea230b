"""Recipe: what is to be done to a table. Its keys are the options of the commands, without the hyphens before them."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from privacyfunnel.errors import InvalidInput
from privacyfunnel.publishing.belongs import alike
from privacyfunnel.publishing.described import OWN
from privacyfunnel.publishing.details import TO_FILL_IN, Text
from privacyfunnel.publishing.toml_file import STRICT, checked, read_toml
from privacyfunnel.tables.writing import FORMATS

VERSION = 1
"""Of what a recipe can say."""
PROTOCOL, REPORT, PUBLISHED, LOG, RECIPE = "protocol.json", "report.html", "published", "log.jsonl", "recipe.toml"
"""What the folder of a run holds, beside the released table."""
LONGEST_NAME = 1_000
"""Letters of a column's name, or of a path."""
OPEN = "open.csv"
"""What the released table is called unless it is said otherwise."""


def _bins(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    borders = isinstance(value, list) and value and all(type(one) in (int, float) and isfinite(one) for one in value)
    if not (whole or borders or isinstance(value, str)):
        raise ValueError('should be a number of ranges, borders such as [0, 18, 65], or "each" or "width:5"')
    return value


def _known(value: Any) -> Any:
    for known in value.values() if isinstance(value, dict) and value else [value]:
        names = isinstance(known, list) and known and all(isinstance(one, str) for one in known)
        if not (names or (isinstance(known, int) and not isinstance(known, bool))):
            raise ValueError("should be a number of columns, a list of their names, or one of these for each secret")
    return value


def _secret(value: Any) -> Any:
    lists = value if isinstance(value, list) and any(isinstance(one, list) for one in value) else [value]
    each = [one if isinstance(one, list) else [one] for one in lists]
    if not all(names and all(isinstance(name, str) and name for name in names) for names in each):
        raise ValueError("should be the name of a column, a list of names, or a list of such lists")
    if any(TO_FILL_IN in names for names in each):
        raise ValueError(f"should be filled in; it still says {TO_FILL_IN}")
    return value


def _notion(value: Any) -> Any:
    each = list(value.values()) if isinstance(value, dict) else [value]
    if not each or not all(isinstance(one, str) and one.strip() for one in each):
        raise ValueError('should be a kind of promise, or one for each, such as { ill = "lip", rent = "ldp" }')
    return value


def _epsilon(value: Any) -> Any:
    each = list(value.values()) if isinstance(value, dict) else [value]
    if not each or not all(type(one) in (int, float) and isfinite(one) for one in each):
        raise ValueError("should be a finite number, or one for each, such as { ill = 0.1, well = 1 }")
    return value


def _name(text: str) -> str:
    if not text.strip() or text == TO_FILL_IN:
        raise ValueError("should be filled in")
    if "\0" in text or len(text) > LONGEST_NAME:
        raise ValueError(f"should be a name of at most {LONGEST_NAME:,} letters")
    return text


def _file_name(text: str) -> str:
    if Path(text).name != text or not text.lower().endswith(FORMATS) or text.startswith((".", "-")):
        raise ValueError(f"should be the name of a file, without a folder, that ends in {', '.join(FORMATS)}")
    return text


Name = Annotated[str, AfterValidator(_name)]
"""Of a column, or of a path: with its spaces."""


class Fit(BaseModel):
    """Options of funnel fit."""

    model_config = STRICT

    secret: Annotated[Any, AfterValidator(_secret)]
    """A column; some, which are one secret together; or lists of columns, each of which has a promise of its own."""
    attributes: list[Name] | None = Field(default=None, min_length=1)
    columns: Text | None = None
    coarsen: Text | None = None
    exact: list[Name] | None = None
    notion: Annotated[Any, AfterValidator(_notion)] = None
    """Of all secrets, or of each."""
    epsilon: Annotated[Any, AfterValidator(_epsilon)] = None
    """One, or one for each secret or value of the secret."""
    lower: float | None = None
    upper: float | None = None
    keep: float | None = None
    error: dict[str, float] | None = None
    known: Annotated[Any, AfterValidator(_known)] = None
    confidence: float | None = None
    within: Text | None = None
    chain: list[list[Name]] | None = None
    ordered: bool | None = None
    per_range: float | None = None
    after: Name | None = None
    released: list[Name] | None = None
    person: Name | None = None
    was: list[Name] | None = None
    unchanged: Text | None = None
    cover: float | None = None
    private: float | None = None
    exact_fit: bool | None = None
    model: bool | None = None
    delta: float | None = None
    at_least: int | None = None
    insist: bool | None = None
    objective: Text | None = None
    readers: Text | None = None
    give_up: float | None = None
    weight: dict[str, float] | None = None
    bins: dict[str, Annotated[Any, AfterValidator(_bins)]] | None = None
    top: dict[str, int] | None = None
    dates: dict[str, Literal["year", "month", "day"]] | None = None
    group: dict[str, dict[str, Annotated[list[str], Field(min_length=1)]]] | None = None
    """By column and name of the group, the texts that are read as it."""
    missing: list[str] | None = None
    domain: Name | None = None
    allow_secret_attribute: bool | None = None
    gap: float | None = None
    time_limit: float | None = None

    @property
    def secrets(self) -> list[list[str]]:
        """The columns of each secret."""
        lists = isinstance(self.secret, list) and any(isinstance(one, list) for one in self.secret)
        return [one if isinstance(one, list) else [one] for one in (self.secret if lists else [self.secret])]


class Sanitise(BaseModel):
    """Options of funnel sanitise."""

    model_config = STRICT

    output: Annotated[str, AfterValidator(_file_name)] = OPEN
    keep_order: bool | None = None
    unseen: Text | None = None
    seed: int | None = None
    no_variant: bool | None = None
    remember: Name | None = None
    changed: Text | None = None
    released: list[Name] | None = None
    person: Name | None = None
    was: list[Name] | None = None
    internal: Annotated[str, AfterValidator(_file_name)] | None = None
    """A file of the folder, for the house."""


class Audit(BaseModel):
    """Options of funnel audit."""

    model_config = STRICT

    attack: bool | None = None
    after: Name | None = None
    was: list[Name] | None = None
    person: Name | None = None


class Report(BaseModel):
    """Options of funnel report."""

    model_config = STRICT

    public: bool | None = None
    curves: bool | None = None
    time_limit: float | None = None


class Publish(BaseModel):
    """Options of funnel publish."""

    model_config = STRICT

    details: Name | None = None
    title: Text | None = None
    description: Text | None = None
    licence: Text | None = None
    publisher: Text | None = None
    contact: Text | None = None
    url: Text | None = None
    health: bool | None = None


class Recipe(BaseModel):
    """The whole way from a table to what is published of it."""

    model_config = STRICT

    recipe: Literal[1]
    table: Name
    output: Name
    where: Text | None = None
    delimiter: str | None = None
    encoding: Text | None = None
    fit: Fit
    sanitise: Sanitise = Sanitise()
    audit: Audit = Audit()
    report: Report | None = None
    publish: Publish | None = None

    @model_validator(mode="after")
    def _publishable(self) -> Recipe:
        if self.publish is not None and self.fit.exact_fit:
            raise ValueError("fit.exact-fit is not for publication; take it out, or take out [publish]")
        if self.publish is not None and self.sanitise.seed is not None:
            raise ValueError("sanitise.seed can be undone by who knows it; take it out, or take out [publish]")
        named = {alike(name) for names in self.fit.secrets for name in names}
        for name in self.fit.attributes or () if self.publish is not None else ():
            if alike(name) in named:
                raise ValueError(f"fit.attributes has {name!r}, called like the secret; take it out, or [publish]")
        if self.sanitise.internal == self.sanitise.output:
            raise ValueError("sanitise.internal is for the house, and needs another name than sanitise.output")
        return self

    @property
    def own(self) -> frozenset[str]:
        """All that the folder of its run may hold."""
        table, kept = self.sanitise.output, self.sanitise.internal
        inside = {kept} if kept is not None else set()
        published = {f"{PUBLISHED}/{name}" for name in OWN}
        return frozenset({PROTOCOL, table, f"{table}.metadata.json", *inside, REPORT, *published, LOG, RECIPE})


def load(path: Path) -> Recipe:
    """The recipe in a file; a mistake is one line that names its key."""
    return from_content(read_toml(path), str(path))


def from_content(content: dict[str, Any], name: str) -> Recipe:
    """The recipe that the content of a file is."""
    if content.get("recipe") != VERSION or isinstance(content["recipe"], bool):
        raise InvalidInput(f"{name}: recipe should be {VERSION}, as funnel init writes it; is this a recipe?")
    return checked(Recipe, content, name)
