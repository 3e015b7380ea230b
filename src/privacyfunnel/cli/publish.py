"""funnel publish: from a released table to a folder for a data portal. What writes it is loaded only to write it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import next_command, shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.of_steps import PublishSpec

ONCE_WORDS = "Publish this folder, and no other release of these people."
"""What a steward must not overlook."""
FITTED_WORDS = (
    "The folder says that these are the rows that the protocol was fitted on. If they are not, say --rows other."
)
"""What nobody else knows for sure."""
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="The folder to make; it appears whole or not at all.")
]
Template = Annotated[
    Path | None, typer.Option(help="Write a template of publish.toml here, to be filled in, and nothing else.")
]


@asked(model=PublishSpec)
def publish(
    spec: PublishSpec,
    output: Output = None,
    template: Template = None,
    force: shared.Force = False,
    json: shared.Json = False,
) -> None:
    """Make one folder for a data portal: table, protocol, report, README, and what machines read of them.

    Protocols that were fitted on exact counts, rows that a protocol did not release, and other columns are refused.

    Example: funnel publish open.csv --protocol protocol.json --details publish.toml -o folder
    """
    if template is not None:
        _write_template(template, next_command.publish_with(template, spec, output), force, json)
        return
    with loaded():
        from privacyfunnel.publishing.details import details_of
        from privacyfunnel.spec.step_rules import checked
    spec = checked(spec)
    if output is None:
        raise InvalidInput("where is the folder to be made? Add -o published")
    told = details_of(_path(spec.details), said_of(spec), health=bool(spec.health), today=date.today())
    from privacyfunnel.cli import show
    from privacyfunnel.protocols.file import load as load_protocol
    from privacyfunnel.publishing.publish import publish as publish_folder

    with show.working("publishing"):
        protocol, released = load_protocol(Path(str(spec.protocol))), Path(str(spec.released))
        made = publish_folder(protocol, released, output, told, rows=spec.rows, force=force)
    if json:
        show.as_json(made.as_dict() | next_command.data(next_command.estimate(output)))
        return
    screen = show.console()
    screen.print(f"Published {made.rows:,} rows of {', '.join(made.columns)}: {output}.", markup=False)
    screen.print(f"In it: {', '.join(file.name for file in made.files)}.", markup=False)
    screen.print(FITTED_WORDS if made.fitted else made.counting, markup=False)
    screen.print(ONCE_WORDS, markup=False)
    next_command.say(next_command.estimate(output), "Next, for its readers:")


def said_of(spec: PublishSpec) -> dict[str, str | None]:
    """What is said beside a file of details."""
    return {name: getattr(spec, name) for name in ("title", "description", "licence", "url", "publisher", "contact")}


def _path(named: str | None) -> Path | None:
    return Path(named) if named is not None else None


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
