"""funnel sanitise: from a table to the released table. What draws rows is loaded only to draw them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.spec.of_steps import SanitiseSpec

Output = Annotated[
    Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz, .parquet, .sav, .dta or .xlsx.")
]


@asked(model=SanitiseSpec)
def sanitise(spec: SanitiseSpec, output: Output, force: shared.Force = False, json: shared.Json = False) -> None:
    """Draw a released row for every row of a table. Only the protocol's attributes are released.

    Example: funnel sanitise people.csv --protocol protocol.json -o open.csv
    A follow-up: funnel sanitise people.csv --protocol second.json --released kept.parquet --person id -o open2.csv
    Again: funnel sanitise people.csv --protocol protocol.json --remember people.key --person id -o open.csv
    People who changed: funnel sanitise people.csv --was last-year.csv --protocol second.json --remember people.key
    --person id -o open2.csv
    """
    with loaded():
        from privacyfunnel.cli.sanitising import sanitise_table
    sanitise_table(spec, output, force, json)
