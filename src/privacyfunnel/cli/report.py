"""funnel report: a page about a protocol, for people. What measures and draws is loaded only to do so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.spec.of_steps import ReportSpec

Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write the page (HTML).")]


@asked(model=ReportSpec)
def report(spec: ReportSpec, output: Output, force: shared.Force = False, json: shared.Json = False) -> None:
    """Write one page with the promise, its proof, what was kept and what an attacker gains. Exit code 1: broken.

    Example: funnel report protocol.json --table people.csv -o report.html
    """
    with loaded():
        from privacyfunnel.cli.reporting import report_on
    report_on(spec, output, force, json)
