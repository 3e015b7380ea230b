"""funnel persons: one row of each person, where people have several."""

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
from privacyfunnel.spec.of_beginnings import PersonsSpec

Output = Annotated[
    Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz, .parquet, .sav, .dta or .xlsx.")
]


@asked(model=PersonsSpec)
def persons(spec: PersonsSpec, output: Output, force: shared.Force = False, json: shared.Json = False) -> None:
    """Make one row of each person's rows: the first, the last or a random one, others merged by a rule.

    Example: funnel persons visits.csv --person id --rows last --merge costs=sum -o people.csv
    """
    from privacyfunnel.cli import show
    from privacyfunnel.tables.persons import write_persons

    for name in ("person", "rows"):
        if getattr(spec, name) is None:
            raise InvalidInput(f"{should_be(PersonsSpec, name, partial(as_flags.flag, PersonsSpec))}; it is missing")
    found = write_persons(
        table_of(spec, "persons"), output, person=str(spec.person), rows=spec.rows or "first", merge=spec.merge,
        force=force, delimiter=spec.delimiter, encoding=spec.encoding or "utf-8",
    )  # fmt: skip
    if json:
        show.as_json({"output": str(output), **found.as_dict()})
        return
    screen = show.console()
    screen.print(found.words())
    screen.print(f"Written, for you alone: {output}.", markup=False)
    next_command.say(next_command.fit_one_each(output, str(spec.person)))
