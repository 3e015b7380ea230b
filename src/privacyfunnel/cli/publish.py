"""funnel publish: from a released table to a folder for a data portal. What writes it is loaded only to write it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from privacyfunnel.cli import next_command, shared
from privacyfunnel.errors import InvalidInput

ONCE_WORDS = "Publish this folder, and no other release of these people."
"""What a steward must not overlook."""
FITTED_WORDS = (
    "The folder says that these are the rows that the protocol was fitted on. If they are not, say --rows other."
)
"""What nobody else knows for sure."""
DETAILS = ("title", "description", "licence", "publisher", "contact", "url", "health", "rows")
"""What may be said beside a file of details."""


def publish(
    context: typer.Context,
    released: Annotated[
        Path | None, typer.Argument(help="The released table, as funnel sanitise wrote it.", show_default=False)
    ] = None,
    protocol: Annotated[Path | None, typer.Option(help="The protocol by which it was drawn.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder to make; it appears whole or not at all.")
    ] = None,
    details: Annotated[
        Path | None, typer.Option(help="A file publish.toml with title, licence, contact, contributors, sources, …")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the table is called.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is (default: its columns and rows).")] = None,
    licence: Annotated[str | None, typer.Option(help="Such as CC-BY-4.0, or an address.")] = None,
    publisher: Annotated[str | None, typer.Option(help="Who publishes it: a name, or “name <e-mail>”.")] = None,
    contact: Annotated[str | None, typer.Option(help="Whom to ask: an e-mail address, or “name <e-mail>”.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the folder will lie on the web.")] = None,
    health: Annotated[
        bool, typer.Option("--health", help="Also what HealthDCAT-AP asks for, from [health] in the details.")
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(help="Which rows these are: fitted (those of the fitted table) or other (default: find out)."),
    ] = None,
    template: Annotated[
        Path | None, typer.Option(help="Write a template of publish.toml here, to be filled in, and nothing else.")
    ] = None,
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Make one folder for a data portal: table, protocol, report, README, and what machines read of them.

    Protocols that were fitted on exact counts, rows that a protocol did not release, and other columns are refused.

    Example: funnel publish open.csv --protocol protocol.json --details publish.toml -o folder
    """
    if template is not None:
        then = next_command.publish_with(template, released, protocol, output, next_command.typed(context, DETAILS))
        _write_template(template, then, force, json)
        return
    if released is None or protocol is None or output is None:
        raise InvalidInput("publish needs a released table, --protocol and -o; see funnel publish --help")
    from privacyfunnel.publishing.details import details_of

    given = {"title": title, "description": description, "licence": licence, "url": url}
    given |= {"publisher": publisher, "contact": contact}
    told = details_of(details, given, health=health, today=date.today())
    from privacyfunnel.cli import show
    from privacyfunnel.protocols.file import load as load_protocol
    from privacyfunnel.publishing.publish import publish as publish_folder

    with show.working("publishing"):
        made = publish_folder(load_protocol(protocol), released, output, told, rows=cast(Any, rows), force=force)
    if json:
        show.as_json(made.as_dict() | next_command.data(next_command.estimate(output)))
        return
    screen = show.console()
    screen.print(f"Published {made.rows:,} rows of {', '.join(made.columns)}: {output}.", markup=False)
    screen.print(f"In it: {', '.join(file.name for file in made.files)}.", markup=False)
    screen.print(FITTED_WORDS if made.fitted else made.counting, markup=False)
    screen.print(ONCE_WORDS, markup=False)
    next_command.say(next_command.estimate(output), "Next, for its readers:")


def _write_template(path: Path, then: next_command.Words, force: bool, json: bool) -> None:
    from privacyfunnel.cli import show
    from privacyfunnel.publishing.details import template
    from privacyfunnel.tables.writing import check_output, whole_file

    check_output(path, force)
    with whole_file(path, force) as file:
        file.write(template(date.today()).encode())
    if json:
        show.as_json({"template": str(path), **next_command.data(then)})
        return
    show.console().print(f"Written: {path}.", markup=False)
    next_command.say(then, "Next, when it is filled in:")
