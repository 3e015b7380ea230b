"""Recipe: what is to be done to a table. [fit] is a Spec; other keys are options, without the hyphens before them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, model_validator

from privacyfunnel.errors import InvalidInput
from privacyfunnel.publishing.belongs import alike
from privacyfunnel.publishing.described import OWN
from privacyfunnel.spec import as_toml
from privacyfunnel.spec.files import files_seen
from privacyfunnel.spec.form import S, Said
from privacyfunnel.spec.key import Key, Keyed, Name
from privacyfunnel.spec.of_steps import AuditSpec, PublishSpec, ReportSpec, SanitiseSpec
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import STRICT, checked, read_toml
from privacyfunnel.tables.writing import FORMATS

VERSION = 1
"""Of what a recipe can say."""
PROTOCOL, REPORT, PUBLISHED, LOG, RECIPE = "protocol.json", "report.html", "published", "log.jsonl", "recipe.toml"
"""What the folder of a run holds, beside the released table."""
OPEN = "open.csv"
"""What the released table is called unless it is said otherwise."""


def _file_name(text: str) -> str:
    if Path(text).name != text or not text.lower().endswith(FORMATS) or text.startswith((".", "-")):
        raise ValueError(f"should be the name of a file, without a folder, that ends in {', '.join(FORMATS)}")
    return text


FileName = Annotated[str, AfterValidator(_file_name)]
"""Of a table in the folder of a run."""


class Drawing(SanitiseSpec):
    """What a recipe says of the rows: also what the files are called that hold them."""

    output: Annotated[
        FileName, Key("What the released table is called.", "basics", "the name of a file", ("open.csv",))
    ] = OPEN
    internal: Annotated[
        FileName | None, Key("A copy for internal use only.", "advanced", "the name of a file", ("kept.parquet",))
    ] = None

    def drawn(self) -> SanitiseSpec:
        """What a drawing is asked for."""
        return SanitiseSpec(**{name: value for name, value in self.said().items() if name != "output"})


class Recipe(BaseModel):
    """The whole way from a table to what is published of it."""

    model_config = STRICT

    recipe: Literal[1]
    output: Name
    fit: Spec
    """With the table, and how it is read by all commands."""
    sanitise: Drawing = Drawing()
    audit: AuditSpec = AuditSpec()
    report: ReportSpec | None = None
    publish: PublishSpec | None = None

    @model_validator(mode="after")
    def _publishable(self) -> Recipe:
        if self.publish is not None and self.fit.exact_fit:
            raise ValueError("fit.exact-fit is not for publication; take it out, or take out [publish]")
        if self.publish is not None and self.sanitise.seed is not None:
            raise ValueError("sanitise.seed can be undone by who knows it; take it out, or take out [publish]")
        named = {alike(name) for name in self.fit.secret_columns}
        for name in self.fit.named or () if self.publish is not None else ():
            if alike(name) in named:
                raise ValueError(f"fit.columns has {name!r}, called like the secret; take it out, or [publish]")
        if self.sanitise.internal == self.sanitise.output:
            raise ValueError("sanitise.internal is for internal use only, and needs another name than sanitise.output")
        return self

    @property
    def table(self) -> str:
        """The table, which every recipe names."""
        return str(self.fit.table)

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
    _check_version(content, name)
    said = _said(content, Spec, name)
    if "table" not in said.values:
        raise InvalidInput(f"{name}: table is missing")
    found: dict[str, Keyed] = {"fit": said.spec(f"{name}: ")}
    for step in (Drawing, AuditSpec, ReportSpec, PublishSpec):
        if step.part in content:
            found[step.part] = _said({step.part: content[step.part]}, step, name).spec(f"{name}: ")
    return checked(Recipe, {key: value for key, value in content.items() if key not in said.values} | found, name)


def said_in(path: Path, model: type[S], keys: Collection[str]) -> Said[S]:
    """What a recipe says of a Spec, of these keys, with its paths as they are from here."""
    content = read_toml(path)
    _check_version(content, str(path))
    said = _said(content, model, str(path))
    values = {name: value for name, value in said.values.items() if name in keys}
    return replace(said, values=files_seen(model, values, path.parent))


def _check_version(content: dict[str, Any], name: str) -> None:
    if content.get("recipe") != VERSION or isinstance(content["recipe"], bool):
        raise InvalidInput(f"{name}: recipe should be {VERSION}, as funnel init writes it; is this a recipe?")


def _said(content: dict[str, Any], model: type[S], name: str) -> Said[S]:
    part = content.get(model.part, {})
    if not isinstance(part, dict):
        raise InvalidInput(f"{name}: {model.part} should be a part of its own, [{model.part}]")
    try:
        return as_toml.said(model, content, part)
    except InvalidInput as trouble:
        raise InvalidInput(f"{name}: {trouble}") from None
