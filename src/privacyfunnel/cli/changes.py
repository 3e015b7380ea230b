"""funnel changes: one table of what people were when they were released, and of what they are."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import next_command, shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.form import should_be
from privacyfunnel.spec.of_beginnings import ChangesSpec

Output = Annotated[
    Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz, .parquet, .sav, .dta or .xlsx.")
]


@asked(model=ChangesSpec)
def changes(spec: ChangesSpec, output: Output, force: shared.Force = False, json: shared.Json = False) -> None:
    """Put what people were beside what they are ("town", "town now"), so that who changed can be followed up.

    Example: funnel changes people.csv --was last-year.csv --person id --columns sex,town -o both.parquet
    """
    from privacyfunnel.cli import show
    from privacyfunnel.tables.changes import write_changes

    for name in ("was", "person", "columns"):
        if getattr(spec, name) is None:
            raise InvalidInput(f"{should_be(ChangesSpec, name, partial(as_flags.flag, ChangesSpec))}; it is missing")
    found = write_changes(
        table_of(spec, "changes"), [Path(one) for one in spec.was or ()], output, person=str(spec.person),
        columns=list(spec.columns or ()), force=force, delimiter=spec.delimiter, encoding=spec.encoding or "utf-8",
    )  # fmt: skip
    if json:
        show.as_json({"output": str(output), **found.as_dict()})
        return
    screen = show.console()
    screen.print(found.words())
    screen.print(f"Written, for you alone: {output}. Today's values: {', '.join(found.columns)}.", markup=False)
    next_command.say(next_command.follow(output, str(spec.person)))
