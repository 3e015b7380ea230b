"""funnel studio: the whole way in a browser, on this machine only. What it takes is loaded only to do it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.loading import loaded


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
    with loaded():
        from privacyfunnel.cli.serving import open_studio
    open_studio(table, port, browser, folder, upload_limit, time_limit, recipe, json)
