"""funnel changes: one table of what people were when they were released, and of what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import next_command, shared


def changes(
    table: shared.Table,
    was: Annotated[
        list[Path],
        typer.Option("--was", help="The table that was released before, as it was then; of several, the first first."),
    ],
    person: Annotated[str, typer.Option("--person", help="The column that says who rows are about, in both tables.")],
    columns: Annotated[str, typer.Option("--columns", help="The columns that were released, joined by commas.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz, .parquet, .sav, .dta or .xlsx.")
    ],
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = "utf-8",
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Put what people were beside what they are ("town", "town now"), so that who changed can be followed up.

    Example: funnel changes people.csv --was last-year.csv --person id --columns sex,town -o both.parquet
    """
    from privacyfunnel.cli import show
    from privacyfunnel.tables.changes import write_changes

    found = write_changes(
        table, was, output, person=person, columns=shared.names(columns), force=force, delimiter=delimiter,
        encoding=encoding,
    )  # fmt: skip
    if json:
        show.as_json({"output": str(output), **found.as_dict()})
        return
    screen = show.console()
    screen.print(found.words())
    screen.print(f"Written, for you alone: {output}. Today's values: {', '.join(found.columns)}.", markup=False)
    next_command.say(next_command.follow(output, person))
