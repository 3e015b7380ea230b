"""funnel studio: the whole way in a browser, on this machine only."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared, show
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.recipes.recipe import Recipe, load
from privacyfunnel.studio.reopening import Start, start_of
from privacyfunnel.studio.serve import serve

MEBIBYTE = 2**20
"""Upload limits are given in these."""


def studio(
    table: Annotated[Path | None, typer.Argument(help="A table to open at once (default: upload one there).")] = None,
    port: Annotated[int, typer.Option(help="The port on this machine (default: any that is free).")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    folder: Annotated[
        Path | None, typer.Option(help="Where uploads lie until the studio ends (default: the temporary folder).")
    ] = None,
    upload_limit: Annotated[int, typer.Option(help="The largest upload, in MiB.")] = 200,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for each search.")] = 120.0,
    recipe: Annotated[
        Path | None, typer.Option(help="A recipe to open again: its table, and all that it chooses.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Choose columns and a promise in a browser, see what is kept and what is given away, and download the release.

    Only this machine can reach it, and only with the address it prints. Ctrl-C ends it and deletes all uploads.

    Example: funnel studio people.csv
    """
    if recipe is not None and table is not None:
        raise InvalidInput("a recipe names its table, so --recipe goes without one")
    chosen = load(recipe) if recipe is not None else None
    start = _start(recipe, chosen) if recipe is not None and chosen is not None else None
    if recipe is not None and chosen is not None:
        table = recipe.absolute().parent / chosen.table
    if table is not None and not table.is_file():
        raise InvalidTable(f"there is no file {table}")
    if upload_limit < 1:
        raise InvalidInput(f"--upload-limit takes a positive number of MiB; got {upload_limit}")
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInput(f"--time-limit takes a number of seconds that is at least 0; got {time_limit:g}")

    def ready(address: str) -> None:
        if json:
            show.as_json({"address": address})
        else:
            screen = show.console()
            screen.print(f"The studio is open at {address}", markup=False, soft_wrap=True)
            screen.print("The address works once, for one browser. Ctrl-C ends the studio and deletes all uploads.")
        sys.stdout.flush()
        if browser:
            webbrowser.open(address)

    serve(
        table.resolve() if table is not None else None,
        folder=folder,
        port=port,
        most_bytes=upload_limit * MEBIBYTE,
        time_limit=time_limit,
        ready=ready,
        start=start,
    )


def _start(path: Path, recipe: Recipe) -> Start:
    """What is chosen from the start."""
    try:
        return start_of(recipe)
    except InvalidInput as trouble:
        raise InvalidInput(f"{path}: {trouble}") from None
