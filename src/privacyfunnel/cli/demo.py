"""funnel demo: the whole way, on people who do not exist. What it takes is loaded only to do it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.loading import loaded


def demo(
    epsilon: Annotated[float, typer.Option(help="ε: beliefs change by at most the factor e^ε.")] = 0.2,
    folder: Annotated[Path | None, typer.Option(help="Keep the files in this folder (default: they go).")] = None,
    json: shared.Json = False,
) -> None:
    """Make up a population, sanitise it, and prove the promise: everything in under a minute.

    Example: funnel demo --epsilon 0.3 --folder demo
    """
    with loaded():
        from privacyfunnel.cli.demonstration import demonstrate
    demonstrate(epsilon, folder, json)
