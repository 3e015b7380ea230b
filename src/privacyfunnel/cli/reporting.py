"""What funnel report does: measure a protocol, and write a page about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.aimed import cells_of
from privacyfunnel.cli.own_figures import OWN
from privacyfunnel.cli.steward import marked
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.stopping import BROKEN
from privacyfunnel.optimiser.aiming import late_after
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.report.account import Account, account
from privacyfunnel.report.curves import Comparison, compare, epsilons_with
from privacyfunnel.report.other_noise import EPSILONS, OtherNoise
from privacyfunnel.report.three_risks import three_risks
from privacyfunnel.spec.of_steps import ReportSpec
from privacyfunnel.spec.step_rules import checked
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.for_steward import ForSteward
from privacyfunnel.tables.wide.fit import published_tables
from privacyfunnel.tables.writing import check_output, whole_file

CURVE_SECONDS = 2.0
"""For each point of the curves, unless it is said."""


def report_on(spec: ReportSpec, output: Path, force: bool, json: bool) -> None:
    """Measure, write the page, and say what is in it."""
    spec = checked(spec)
    protocol, table = Path(str(spec.protocol)), Path(spec.table) if spec.table is not None else None
    layout: dict[str, Any] = {"delimiter": spec.delimiter, "encoding": spec.encoding or "utf-8", "where": spec.where}
    check_output(output, force, (protocol, table))
    seconds = CURVE_SECONDS if spec.time_limit is None else spec.time_limit
    loaded, joint = load_protocol(protocol), None

    def page_of(joint: Joint | None) -> tuple[Account, str, dict[str, Any]]:
        with show.working("checking the promise in exact arithmetic"):
            about = account(loaded, joint)
            about = replace(about, own=OWN[loaded.step.kind](loaded, joint)) if joint is not None else about
        compared = None
        if (
            joint is not None and about.own is None and spec.curves is not False
        ):  # of the counts that the protocol was fitted on
            compared = _curves(loaded, about.public.joint if about.public is not None else joint, seconds)
        noise = _other_noise(loaded, about, seconds) if joint is not None and spec.curves is not False else None
        from privacyfunnel.report.page import report_page  # its charts take a while to load

        name = table.name if table else None
        with show.working("drawing the page"):
            page = report_page(about, table_name=name, protocol_name=protocol.name, compared=compared, noise=noise)
        return about, page, _data(about)

    if table is not None:
        with show.working(f"counting {table.name}"):
            joint = audited_joint(loaded, table, **layout)
    measured = ForSteward(joint).told(page_of) if loaded.private else page_of(joint)
    about, page, content = measured if measured is not None else page_of(None)
    with whole_file(output, force) as file:
        file.write(page.encode("utf-8"))
    broken = about.verdict is not None and not about.verdict
    reading = next_command.typed(spec, next_command.READING)
    then = next_command.publish(protocol, loaded, table, reading, reported=True) if not broken else None
    if json:
        show.as_json({"report": str(output), **content, **next_command.data(then)})
    else:
        screen = show.console()
        told = about.everything
        if about.verdict is not None and broken:
            screen.print(f"BROKEN, in exact arithmetic: {about.verdict.reason}.", style="bold", markup=False)
        if about.measured is not None and about.measured.own is not None:
            screen.print(about.measured.own.words(), markup=False)
        for line in about.own.lines if about.own is not None else ():
            screen.print(marked(line), markup=False)
        screen.print(f"Promise: {loaded.notion.words()}{f' {told.whom()}' if told else ''}", markup=False)
        if told is not None:
            screen.print(told.words(), markup=False)
        screen.print(f"Written: {output}. It is one file that needs no network: open it in a browser.", markup=False)
        next_command.say(then)
    if broken:
        raise typer.Exit(BROKEN)


def _data(about: Account) -> dict[str, Any]:
    """All of it for machines."""
    content, risks = about.as_dict(), {"three_risks": three_risks(about).as_dict()}
    apart = content.get("steward_only") if about.own is None else None
    return content | (risks if apart is None else {"steward_only": {**apart, **risks}})


def _other_noise(protocol: Protocol, about: Account, seconds: float) -> OtherNoise | None:
    """What other ε₀ would give of a table whose fit was rehearsed."""
    if protocol.aim is None:
        return None
    limit = seconds * len(EPSILONS)
    cells = cells_of(protocol, about.public.joint, limit) if about.public is not None else None
    published = cells if protocol.step.listed else published_tables(protocol)
    with show.working("rehearsing other noise"):
        return OtherNoise.of(published, protocol.notion, late_after(limit, 1.0))


def _curves(protocol: Protocol, joint: Joint, time_limit: float) -> Comparison:
    """What other promises and other ε keep of what this protocol keeps the most of: cells, weighted alike, or nats."""
    weights = dict(protocol.likeness.weights) if protocol.likeness is not None else None
    with show.search_progress(protocol.objective) as progress:
        return compare(
            joint,
            epsilons_with(protocol.notion.epsilon),
            objective=protocol.objective,
            weights=weights,
            time_limit=time_limit,
            progress=progress,
        )
