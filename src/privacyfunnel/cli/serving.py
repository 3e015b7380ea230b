"""funnel studio: the whole way in a browser, on this machine only."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

from privacyfunnel.cli import show
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.recipes.recipe import Recipe, load
from privacyfunnel.spec.files import seen_from
from privacyfunnel.studio.reopening import Start, start_of
from privacyfunnel.studio.serve import serve

MEBIBYTE = 2**20
"""Upload limits are given in these."""


def open_studio(
    table: Path | None,
    port: int,
    browser: bool,
    folder: Path | None,
    upload_limit: int,
    time_limit: float | None,
    recipe: Path | None,
    json: bool,
) -> None:
    """Choose columns and a promise in a browser, see what is kept and what is given away, and download the release."""
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
        return start_of(recipe.model_copy(update={"fit": seen_from(recipe.fit, path.absolute().parent)}))
    except InvalidInput as trouble:
        raise InvalidInput(f"{path}: {trouble}") from None
