"""funnel init: a commented recipe for a table. What reads the table is loaded only to read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import next_command, shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.spec.of_beginnings import InitSpec

REVIEW_WORDS = (
    "These are suggestions, from names and numbers of values. Read every line: which column is the secret, which are "
    "released, and how far beliefs may change, nobody but you can say."
)
"""What a steward must not overlook."""


Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write the recipe (TOML).")]


@asked(model=InitSpec)
def init(
    spec: InitSpec, output: Output = Path(next_command.RECIPE), force: shared.Force = False, json: shared.Json = False
) -> None:
    """Write a commented recipe for a table, with what its columns suggest, to be reviewed and run.

    Example: funnel init people.csv -o recipe.toml
    """
    from privacyfunnel.cli import show
    from privacyfunnel.publishing.details import slug_of
    from privacyfunnel.recipes.beginning import beginning
    from privacyfunnel.tables.domain import opened
    from privacyfunnel.tables.sources import open_source
    from privacyfunnel.tables.suggesting import suggest
    from privacyfunnel.tables.writing import check_output, whole_file

    table, domain = table_of(spec, "init"), Path(spec.domain) if spec.domain is not None else None
    check_output(output, force, (table, domain))
    layout = {name: value for name, value in spec.said().items() if name in next_command.LAYOUT}
    declared = opened(domain)
    with show.working(f"looking at {table.name}"):
        source = open_source(table, **layout)
        found = suggest(source, secret=spec.secret, declared=declared.names if declared is not None else None)
    made = beginning(
        found,
        table=_seen_from(output, table),
        domain=_seen_from(output, domain) if domain is not None else None,
        name=output.name,
        output=f"{slug_of(table.name.split('.')[0])}-release",
        secret=spec.secret,
        attributes=spec.columns,
        reading=layout,
    )
    with whole_file(output, force) as file:
        file.write(made.encode())
    then = next_command.run(output, "--dry-run")
    if json:
        show.as_json({"recipe": str(output), "review": REVIEW_WORDS, **next_command.data(then)})
        return
    screen = show.console()
    screen.print(REVIEW_WORDS)
    screen.print(f"Written: {output}.", markup=False)
    next_command.say(then, "Next, when it is edited:")


def _seen_from(recipe: Path, path: Path) -> str:
    return Path(os.path.relpath(path, recipe.parent)).as_posix()
