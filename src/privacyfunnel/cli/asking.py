"""A command that is asked by a Spec, or by what is said of another step: an option for every key that is shown.

What a fit can be asked for is more than fits on a screen: --set and --recipe give all of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.form import Said, texts_of
from privacyfunnel.spec.grammar import is_flag
from privacyfunnel.spec.key import PANELS, Key, Keyed, keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.toml_file import hyphened

if TYPE_CHECKING:
    from privacyfunnel.spec.of_beginnings import ChangesSpec, DomainSpec, InitSpec, PersonsSpec

RECIPE = typer.Option("--recipe", help="Take what is not said here from a recipe.", rich_help_panel=PANELS["advanced"])
Command = Callable[..., None]
S = TypeVar("S", bound=Keyed)


def asked(*only: str, model: type[Keyed] = Spec) -> Callable[[Command], Command]:
    """A command whose first parameter is a Spec takes its keys as options; `only` some of them, if they are named."""
    keys = {name: key for name, key in keys_of(model).items() if not only or name in only}

    def of(command: Command) -> Command:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()

        def called(**typed: Any) -> None:
            command(**{first.name: spec_of(typed, keys, model)}, **{one.name: typed[one.name] for one in own})

        panels = not model.all_shown
        parameters = [
            *(_parameter(name, _option(model, name, key)) for name, key in keys.items() if key.argument or key.shown),
            *(_others(keys) if panels else []),
            *(_among_the_basics(one) if panels else _by_name(one) for one in own),
        ]
        shown: Any = called
        shown.__signature__ = inspect.Signature(parameters)
        shown.__annotations__ = {one.name: one.annotation for one in parameters}
        shown.__name__, shown.__doc__, shown.panels, shown.asked = command.__name__, command.__doc__, panels, command
        return called

    return of


def spec_of(typed: Mapping[str, Any], keys: Mapping[str, Key], model: type[S]) -> S:
    """What was typed, by the parameters of a command; what is typed wins over what a recipe says."""
    given = {name: typed[name] for name, key in keys.items() if key.shown or key.argument}
    said = _said(model, keys, given, typed.get("set"))
    return said.over(_of_recipe(model, typed.get("recipe"), keys)).spec()


def table_of(spec: Spec | DomainSpec | InitSpec | ChangesSpec | PersonsSpec, command: str) -> Path:
    """The table, which a command needs."""
    if spec.table is None:
        secret = " --secret diagnosis" if isinstance(spec, Spec) else ""
        raise InvalidInput(f"which table? funnel {command} people.csv{secret}")
    return Path(spec.table)


def _said(model: type[S], keys: Mapping[str, Key], shown: Mapping[str, Any], others: list[str] | None) -> Said[S]:
    given = {name: [str(value)] if isinstance(value, Path) else value for name, value in shown.items()}
    said = as_flags.said(model, given, others or ())
    for name in said.values:
        if name not in keys:
            known = ", ".join(map(hyphened, keys))
            raise InvalidInput(f"{said.label(name)} means nothing here; these keys do: {known}")
    return said


def _of_recipe(model: type[S], recipe: Path | None, keys: Mapping[str, Key]) -> Said[S]:
    """What a recipe says, with its paths as they are from here."""
    if recipe is None:
        return as_flags.said(model, {})
    from privacyfunnel.recipes.recipe import said_in

    return said_in(recipe, model, keys)


def _others(keys: Mapping[str, Key]) -> list[inspect.Parameter]:
    """Options for all keys that are no options."""
    others = ", ".join(hyphened(name) for name, key in keys.items() if not key.shown and not key.argument)
    setting = typer.Option(
        as_flags.SET, metavar="KEY=VALUE", help=f"Repeatable: {others}.", rich_help_panel=PANELS["advanced"]
    )
    return [
        _parameter("recipe", Annotated[Path | None, RECIPE]),
        _parameter("set", Annotated[list[str] | None, setting]),
    ]


def _option(model: type[Keyed], name: str, key: Key) -> Any:
    if key.argument:
        return Annotated[Path | None, typer.Argument(help=key.help.removeprefix("The table: "), show_default=False)]
    flags = [as_flags.flag(model, name), *(f"--{other}" for other in key.also)]
    told: dict[str, Any] = {"help": key.help, "show_default": False}
    told |= {} if model.all_shown else {"rich_help_panel": PANELS[key.panel]}
    if is_flag(model.model_fields[name].annotation):
        if key.off:
            return Annotated[bool | None, typer.Option(f"{flags[0]}/--no-{hyphened(name)}", **told)]
        return Annotated[bool, typer.Option(*flags, **told)]
    example = next((text for value in key.examples for text in texts_of(model, name, value)), "")
    return Annotated[list[str] | None, typer.Option(*flags, metavar=example, **told)]


def _among_the_basics(own: inspect.Parameter) -> inspect.Parameter:
    """An option that is no key, in a panel if it is in none."""
    kind, option = get_args(own.annotation)
    option = copy(option)
    option.rich_help_panel = option.rich_help_panel or PANELS["basics"]
    return own.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option])


def _by_name(own: inspect.Parameter) -> inspect.Parameter:
    return own.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    usual = None if annotation.__metadata__ and annotation.__origin__ is not bool else False
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)
