"""funnel domain: a template of a public domain. What reads the table is loaded only to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import next_command, shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.spec.of_beginnings import DomainSpec

EDIT_WORDS = (
    "This is a template, not yet a public domain: its values and borders are those of the people in the table. Read "
    "every line, compare lists with the questionnaire or code list, and replace borders by ones that were decided "
    "without looking."
)
"""What a steward must not overlook."""


Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write the template (JSON).")]


@asked(model=DomainSpec)
def domain(spec: DomainSpec, output: Output, force: shared.Force = False, json: shared.Json = False) -> None:
    """Write a template of the values that columns may have, to be edited before it is public: see fit --domain.

    Example: funnel domain people.csv --columns diagnosis,age,sex,town -o domain.json
    """
    from privacyfunnel.cli import show
    from privacyfunnel.tables.declaring import template
    from privacyfunnel.tables.sources import open_source
    from privacyfunnel.tables.writing import check_output, whole_file

    table = table_of(spec, "domain")
    check_output(output, force, (table,))
    source = open_source(table, delimiter=spec.delimiter, encoding=spec.encoding or "utf-8")
    made = template(source, list(spec.columns) if spec.columns is not None else None, spec.missing or ())
    with whole_file(output, force) as file:
        file.write(made.to_text().encode())
    left_out = [name for name in source.columns if name not in made.names]
    then = next_command.begin(table, output, next_command.typed(spec, next_command.LAYOUT))
    if json:
        told = {"domain": str(output), "columns": made.names, "left_out": left_out, "review": EDIT_WORDS}
        show.as_json(told | next_command.data(then))
        return
    screen = show.console()
    screen.print(f"Columns: {', '.join(made.names)}.", markup=False)
    if left_out:
        why = (
            ""
            if spec.columns is not None
            else " (nearly every row has its own: do they name people? --columns takes them, too)"
        )
        screen.print(f"Left out: {', '.join(left_out)}{why}.", markup=False)
    screen.print(EDIT_WORDS)
    screen.print(f"Written: {output}.", markup=False)
    next_command.say(then, "Next, when it is edited:")
