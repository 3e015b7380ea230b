"""funnel fit: from a table to the protocol. What reads a table is loaded only to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.key import PANELS
from privacyfunnel.spec.spec import Spec

Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Where to write the protocol (JSON).", rich_help_panel=PANELS["basics"],
        show_default=False,
    ),
]  # fmt: skip


@asked()
def fit(spec: Spec, output: Output = None, force: shared.Force = False, json: shared.Json = False) -> None:
    """Find the protocol that keeps the most of a table's columns without giving away its secret.

    Example: funnel fit people.csv --secret diagnosis --columns age,sex,town --epsilon 0.5 -o protocol.json

    Without a promise it shows what every ε would keep, proposes one, and writes nothing.
    """
    table = table_of(spec, "fit")
    if spec.promised or spec.improve is not None:
        if output is None:
            raise InvalidInput("where is the protocol to be written? Add -o protocol.json")
        with loaded():
            from privacyfunnel.cli.fitting import fit_spec
        fit_spec(spec, table, output, force, json)
        return
    with loaded():
        from privacyfunnel.cli.proposing import propose
    propose(spec, table, output, json)
