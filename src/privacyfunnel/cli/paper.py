"""funnel paper: the source paper's experiments, by its methods and by ours. What it takes is loaded only to do it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.loading import loaded


def paper(
    figure: Annotated[int | None, typer.Option(help="1, 2 or 3: one comparison only (default: all).")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for pictures, tables and CSV.")] = None,
    draws: Annotated[int | None, typer.Option(help="Random distributions (default: as in the paper).")] = None,
    slow_draws: Annotated[
        int | None, typer.Option(help="How many of them where the paper's methods take minutes for each.")
    ] = None,
    epsilons: Annotated[str, typer.Option(help="The ε to try, joined by commas.")] = "0.5,1,1.5,2",
    seed: Annotated[int | None, typer.Option(help="Of the random distributions.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes (default: one for every processor).")] = None,
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Repeat the source paper's experiments: ε-LDP, ε-LIP and ε-SRLIP, by its own methods and by ours.

    Example: funnel paper --figure 1 --draws 3 -o results
    """
    with loaded():
        from privacyfunnel.cli.experiments import repeat_experiments
    repeat_experiments(figure, output, draws, slow_draws, epsilons, seed, jobs, force, json)
