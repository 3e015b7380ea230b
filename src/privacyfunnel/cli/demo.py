"""funnel demo: the whole way, on people who do not exist."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.errors import OutputRefused
from privacyfunnel.findings import Findings, findings
from privacyfunnel.notions import LIP
from privacyfunnel.optimiser.solve import optimise
from privacyfunnel.population import OBESE, as_csv, people
from privacyfunnel.protocol import Protocol
from privacyfunnel.tables.auditing import audit_table
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.release import Release
from privacyfunnel.tables.sources import open_source

PEOPLE = 20_000
ATTRIBUTES = ("sex", "town", "height", "weight")
HEIGHTS = [120, 160, 165, 170, 175, 180, 185, 220]
WEIGHTS = [35, 60, 70, 80, 90, 100, 110, 250]
WISHES = Wishes(bins={"height": HEIGHTS, "weight": WEIGHTS})


def demo(
    epsilon: Annotated[float, typer.Option(help="ε: beliefs change by at most the factor e^ε.")] = 0.2,
    folder: Annotated[Path | None, typer.Option(help="Keep the files in this folder (default: they go).")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for machines.")] = False,
) -> None:
    """Make up a population, sanitise it, and prove the promise: everything in under a minute.

    Example: funnel demo --epsilon 0.3 --folder demo
    """
    promise = LIP(epsilon)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = any(folder.iterdir())
        except OSError as trouble:
            raise OutputRefused(f"{folder} cannot be used as a folder: {trouble.strerror}") from None
        if taken:
            raise OutputRefused(f"{folder} is not empty; name a new folder")
        _tell(folder, promise, json)
        return
    with TemporaryDirectory() as temporary:
        _tell(Path(temporary), promise, json)


def _tell(folder: Path, promise: LIP, json: bool) -> None:
    screen = Console(quiet=True) if json else show.console()
    original, published, released = folder / "people.csv", folder / "protocol.json", folder / "open.csv"
    original.write_text(as_csv(people(PEOPLE, seed=1)), encoding="utf-8")
    screen.rule("1. A table with a secret")
    screen.print(
        f"{PEOPLE:,} made-up people with their sex, town, height and weight. Their secret: are they obese "
        f"(weight / height² of at least {OBESE:g} kg/m²)? Height alone hardly tells, height and weight tell all."
    )
    screen.print(_first_rows(original, "The table (made up)"))

    screen.rule("2. The best protocol")
    counted = count_table(original, "obese", list(ATTRIBUTES), wishes=WISHES)
    screen.print(show.columns_table(counted))
    with show.search_progress() as progress:
        protocol = optimise(counted.joint, promise, progress=progress)
    protocol.save(published)
    screen.print(f"[bold]The promise.[/bold] {promise.words()}")

    screen.rule("3. The released table")
    release: Release = Protocol.load(published).sanitise(original, released)
    screen.print(f"{release.rows:,} rows released, in shuffled order; dropped: {', '.join(release.dropped)}.")
    screen.print(_first_rows(released, "What everybody may see"))

    screen.rule("4. The proof")
    joint, certificate = audit_table(protocol, original)
    found = findings(protocol, joint, certificate)
    verdict = "KEPT" if found.holds else "BROKEN"
    screen.print(
        f"Checked in exact arithmetic, for every output and every value of the secret: [bold]{verdict}[/bold]."
    )
    screen.print(show.findings_table(found))
    screen.print(_in_words(found))
    screen.print(show.kept_line(found))
    if json:
        show.as_json({"people": PEOPLE, "released": release.rows, **found.as_dict()})
    if not found.holds:
        raise typer.Exit(1)


def _first_rows(path: Path, title: str, rows: int = 4) -> Table:
    source = open_source(path)
    batch = next(iter(source.batches(source.columns))).slice(0, rows)
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in source.columns:
        table.add_column(name)
    for row in batch.to_pylist():
        table.add_row(*(str(row[name]) for name in source.columns))
    return table


def _in_words(found: Findings) -> str:
    before, after = found.original, found.released
    certain = "with certainty" if before.smallest_lift <= 0 else f"by up to a factor {1 / before.smallest_lift:.1f}"
    return (
        f"Before: the original row lets anybody guess the secret right {before.best_guess:.1%} of the time, raises the "
        f"belief in it by up to a factor {before.largest_lift:.1f}, and rules it out {certain}. "
        f"After: the guess is right {after.best_guess:.1%} of the time (who sees nothing: {found.blind_guess:.1%}), "
        f"and no belief grows by more than a factor {after.largest_lift:.3f} or falls below {after.smallest_lift:.3f} "
        "of what it was."
    )
