"""funnel run: everything that a recipe says, by the commands that it stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.loading import loaded


def run(
    recipe: Annotated[Path, typer.Argument(help="The recipe, as funnel init begins one (TOML).")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the recipe, show the commands that it stands for, and do nothing.")
    ] = False,
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Do all that a recipe says: fit, sanitise, audit, report, publish. The folder appears whole or not at all.

    Example: funnel run recipe.toml --dry-run
    """
    with loaded():
        from privacyfunnel.cli.running import run_recipe
    run_recipe(recipe, dry_run, force, json)
