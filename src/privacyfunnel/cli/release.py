"""funnel release: from a table to a folder that may be published, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import model_validator

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.key import PANELS
from privacyfunnel.spec.of_table import REST
from privacyfunnel.spec.spec import Spec

Folder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="The folder to make; it appears whole or not at all.",
        rich_help_panel=PANELS["basics"], show_default=False,
    ),
]  # fmt: skip
Details = Annotated[
    Path | None,
    typer.Option(
        "--details", help="A file publish.toml with title, licence and publisher.", rich_help_panel=PANELS["basics"],
        show_default=False,
    ),
]  # fmt: skip


class Whole(Spec):
    """A Spec of a whole table: what is not said of a column is chosen, and all others are filled."""

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, said: Any) -> Any:
        return {"fill": (REST,), **said} if isinstance(said, dict) else said


@asked(model=Whole)
def release(
    spec: Whole,
    output: Folder = None,
    details: Details = None,
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Release a whole table without giving away its secret: one command, one folder that may be published.

    Example: funnel release people.csv --secret diagnosis -o folder

    Some columns are kept and changed as seldom as the promise allows, the others are drawn from a private model.
    """
    table = table_of(spec, "release")
    if output is None:
        raise InvalidInput("where is the folder to be made? Add -o folder")
    with loaded():
        from privacyfunnel.cli.releasing import release_table
    release_table(spec, table, output, details, force, json)
