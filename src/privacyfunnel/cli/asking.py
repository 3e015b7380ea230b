"""A command that is asked by a Spec: an option for every key that is shown, --set and --recipe for all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.form import Said, texts_of
from privacyfunnel.spec.grammar import is_flag
from privacyfunnel.spec.key import PANELS, Key, keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened

TABLE = "CSV, CSV.GZ, Parquet or JSON lines, with column names."
RECIPE = typer.Option("--recipe", help="Take what is not said here from a recipe.", rich_help_panel=PANELS["advanced"])
Command = Callable[..., None]


def asked(*only: str, model: type[Spec] = Spec) -> Callable[[Command], Command]:
    """A command whose first parameter is a Spec takes its keys as options; `only` some of them, if they are named."""
    keys = {name: key for name, key in keys_of(model).items() if not only or name in only}

    def of(command: Command) -> Command:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()

        def called(**typed: Any) -> None:
            command(**{first.name: spec_of(typed, keys, model)}, **{one.name: typed[one.name] for one in own})

        others = ", ".join(hyphened(name) for name, key in keys.items() if not key.shown and not key.argument)
        setting = typer.Option(
            as_flags.SET, metavar="KEY=VALUE", help=f"Repeatable: {others}.", rich_help_panel=PANELS["advanced"]
        )
        parameters = [
            *(_parameter(name, _option(model, name, key)) for name, key in keys.items() if key.argument or key.shown),
            _parameter("recipe", Annotated[Path | None, RECIPE]),
            _parameter("set", Annotated[list[str] | None, setting]),
            *(_among_the_basics(one) for one in own),
        ]
        shown: Any = called
        shown.__signature__ = inspect.Signature(parameters)
        shown.__annotations__ = {one.name: one.annotation for one in parameters}
        shown.__name__, shown.__doc__, shown.panels = command.__name__, command.__doc__, True
        return called

    return of


def spec_of(typed: Mapping[str, Any], keys: Mapping[str, Key], model: type[Spec] = Spec) -> Spec:
    """The Spec of what was typed, by the parameters of a command; what is typed wins over what a recipe says."""
    given = {name: typed[name] for name, key in keys.items() if key.shown or key.argument}
    said = _said(model, keys, given, typed["set"])
    return said.over(_of_recipe(model, typed["recipe"], keys)).spec()


def table_of(spec: Spec, command: str) -> Path:
    """The table, which a command needs."""
    if spec.table is None:
        raise InvalidInput(f"which table? funnel {command} people.csv --secret diagnosis")
    return Path(spec.table)


def _said(model: type[Spec], keys: Mapping[str, Key], shown: Mapping[str, Any], others: list[str] | None) -> Said[Spec]:
    given = {name: [str(value)] if isinstance(value, Path) else value for name, value in shown.items()}
    said = as_flags.said(model, given, others or ())
    for name in said.values:
        if name not in keys:
            known = ", ".join(map(hyphened, keys))
            raise InvalidInput(f"{said.label(name)} means nothing here; these keys do: {known}")
    return said


def _of_recipe(model: type[Spec], recipe: Path | None, keys: Mapping[str, Key]) -> Said[Spec]:
    """What a recipe says, with its paths as they are from here."""
    if recipe is None:
        return as_flags.said(model, {})
    from privacyfunnel.recipes.recipe import said_in

    return said_in(recipe, model, keys)


def _option(model: type[Spec], name: str, key: Key) -> Any:
    if key.argument:
        return Annotated[Path | None, typer.Argument(help=TABLE, show_default=False)]
    flags = [as_flags.flag(model, name), *(f"--{other}" for other in key.also)]
    told: dict[str, Any] = {"help": key.help, "rich_help_panel": PANELS[key.panel], "show_default": False}
    if is_flag(model.model_fields[name].annotation):
        return Annotated[bool, typer.Option(*flags, **told)]
    example = next((text for value in key.examples for text in texts_of(model, name, value)), "")
    return Annotated[list[str] | None, typer.Option(*flags, metavar=example, **told)]


def _among_the_basics(own: inspect.Parameter) -> inspect.Parameter:
    """An option that is no key, in a panel if it is in none."""
    kind, option = get_args(own.annotation)
    option = copy(option)
    option.rich_help_panel = option.rich_help_panel or PANELS["basics"]
    return own.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option])


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    usual = None if annotation.__metadata__ and annotation.__origin__ is not bool else False
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)
