"""Steps: what a recipe asks of each command, and how that would be typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacyfunnel.recipes.recipe import PROTOCOL, PUBLISHED, REPORT, Recipe
from privacyfunnel.spec import as_flags, as_toml
from privacyfunnel.spec.files import files_of, seen_from
from privacyfunnel.spec.form import Label
from privacyfunnel.spec.key import Keyed, keys_of
from privacyfunnel.spec.of_steps import StepSpec
from privacyfunnel.spec.step_rules import checked

READING = ("where", "delimiter", "encoding")
"""How the table is read, by every command that reads it."""
MADE = frozenset({"remember"})
"""Files that are made where there is none."""


@dataclass(frozen=True)
class Step:
    """What one command is asked for."""

    asked: Keyed
    output: str | None = None
    """What it writes into the folder of the run."""
    also: tuple[str, ...] = ()
    """What it writes beside that."""

    @property
    def name(self) -> str:
        """The command."""
        return self.asked.part

    @property
    def words(self) -> tuple[str, ...]:
        """What would be typed after funnel."""
        return (self.name, *as_flags.words(self.asked), *(("-o", self.output) if self.output is not None else ()))

    @property
    def makes(self) -> tuple[str, ...]:
        """All that it writes into the folder of the run."""
        return (*((self.output,) if self.output is not None else ()), *self.also)

    def check(self) -> None:
        """Refuse what cannot be, by the keys of the recipe."""
        if isinstance(self.asked, StepSpec):
            checked(self.asked, label_of(type(self.asked)))


def steps(recipe: Recipe, place: Path) -> list[Step]:
    """The commands, to be run in the folder that they fill; `place` is where the recipe lies, and sees its paths."""
    spec = seen_from(recipe.fit, place)
    read = {"table": spec.table, **{name: getattr(spec, name) for name in READING}}
    protocol = {"protocol": PROTOCOL}
    drawn = _with(seen_from(recipe.sanitise.drawn(), place), read | protocol)
    seen = recipe.fit.exact_fit or recipe.audit.attack or recipe.audit.was is not None
    audited = _with(seen_from(recipe.audit, place), protocol | (read if seen else {}))
    kept = (recipe.sanitise.internal,) if recipe.sanitise.internal is not None else ()
    found = [Step(spec, PROTOCOL), Step(drawn, recipe.sanitise.output, kept), Step(audited)]
    if recipe.report is not None:
        reported = _with(seen_from(recipe.report, place), protocol | ({} if recipe.report.public else read))
        found.append(Step(reported, REPORT))
    if recipe.publish is not None:
        published = _with(seen_from(recipe.publish, place), protocol | {"released": recipe.sanitise.output})
        found.append(Step(published, PUBLISHED))
    return found


def label_of(model: type[Keyed]) -> Label:
    """How a recipe calls a key; what the run says itself is called as an option."""
    keys = keys_of(model)
    return lambda name: as_flags.flag(model, name) if keys[name].run else as_toml.written(model, name)


def inputs(recipe: Recipe, place: Path) -> dict[str, Path]:
    """The files that a recipe names, by its keys."""
    named: dict[str, Path] = {}
    parts = (recipe.fit, recipe.sanitise, recipe.audit, recipe.report, recipe.publish)
    for part in filter(None, parts):
        for key, path in files_of(part).items():
            field, dot, number = key.partition(".")
            if field not in MADE:
                named[as_toml.written(type(part), field) + dot + number] = place / path
    return named


def _with(asked: StepSpec, more: Mapping[str, Any]) -> StepSpec:
    """The same, with what the run says itself."""
    return asked.model_copy(update=dict(more))
