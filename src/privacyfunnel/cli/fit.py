"""funnel fit: from a table to the protocol."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, cast

import typer

from privacyfunnel.attacks.exposure import exposure
from privacyfunnel.attacks.findings import findings
from privacyfunnel.cli import options, show
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.blocks.compose import Method, compose
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.smallest_epsilon import epsilon_for
from privacyfunnel.promises.confidence import Within
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import DEFAULT, robust
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.over_population import population_findings
from privacyfunnel.tables.writing import check_output


def fit(
    table: options.Table,
    secret: options.Secret,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the protocol (JSON).")],
    attributes: options.Attributes = None,
    notion: options.NotionName = "lip",
    epsilon: Annotated[float | None, typer.Option(help="ε: beliefs change by at most the factor e^ε.")] = None,
    lower: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that fall.")] = None,
    upper: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that grow.")] = None,
    keep: Annotated[
        float | None,
        typer.Option(help="Instead of ε: the share to keep, such as 0.9; finds the smallest ε that does."),
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="For srlip, srldp: attackers know at most 2 attributes, or some of age,sex.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Keep the promise for the population, too, at this confidence (0.95): the table is a sample."
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="With --confidence: bound chance by intervals (the default), ball, or both."),
    ] = None,
    blocks: options.Blocks = None,
    method: options.MethodName = "tuned",
    bins: options.BinsOption = None,
    top: options.TopOption = None,
    dates: options.DatesOption = None,
    missing: options.Missing = None,
    allow_secret_attribute: options.AllowSecret = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    gap: options.Gap = 1e-6,
    time_limit: options.TimeLimit = 60.0,
    engine: options.Engine = "duckdb",
    master: options.Master = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Find the protocol that keeps the most of a table's columns without giving away its secret.

    Example: funnel fit people.csv --secret diagnosis --attributes age,sex,town --epsilon 0.5 -o protocol.json
    """
    promise = options.promise(notion, epsilon, lower, upper, known, keep)
    if keep is not None and (blocks is not None or confidence is not None):
        raise InvalidInput("--keep finds one protocol for all attributes, so it goes without --blocks and --confidence")
    if within is not None and confidence is None:
        raise InvalidInput("--within says how chance is bounded for --confidence, so it needs that, such as 0.95")
    if confidence is not None and isinstance(promise, Notion):
        promise = robust(promise, confidence, cast(Within, within or DEFAULT))
    cluster = options.cluster(engine, master)
    check_output(output, force, (table,))
    asked = options.wishes(bins, top, dates, missing)
    counted = options.counted(table, secret, attributes, asked, allow_secret_attribute, delimiter, encoding, cluster)
    screen = show.console()
    if not json:
        screen.print(show.columns_table(counted))
    with show.search_progress() as progress:
        wish = None
        if not isinstance(promise, Notion):
            wish = epsilon_for(counted.joint, promise, keep or 0.0, gap=gap, time_limit=time_limit, progress=progress)
            protocol = wish.protocol
        elif blocks is None:
            protocol = optimise(counted.joint, promise, gap=gap, time_limit=time_limit, progress=progress)
        else:
            parts, how = options.blocks(blocks), cast(Method, method)
            protocol = compose(counted.joint, promise, parts, how, time_limit=time_limit, progress=progress)
    found = findings(protocol, counted.joint, certify(protocol, counted.joint))
    population = population_findings(protocol, counted.joint) if confidence is not None else None
    exposed = exposure(protocol, counted.joint)
    protocol.save(output, force=force)
    if json:
        show.as_json(
            {
                "protocol": str(output),
                "columns": show.columns_data(counted),
                "not_used": counted.dropped,
                "found_by": protocol.how,
                "fitted": protocol.fitted,
                "exposed": exposed.as_dict() if exposed else None,
                "wish": wish.as_dict() if wish else None,
                "blocks": [list(block.attributes) for block in protocol.blocks],
                **found.as_dict(),
                **({"population": population.as_dict()} if population else {}),
            }
        )
        return
    if counted.dropped:
        screen.print(f"Not used: {', '.join(counted.dropped)}.", markup=False)
    if wish is not None:
        screen.print(wish.words(), markup=False)
    screen.print(f"Promise: {found.promise}", markup=False)
    screen.print(show.kept_line(found))
    for remark in show.remarks(counted.joint, found):
        screen.print(remark)
    if confidence is not None and counted.joint.chosen:
        screen.print(show.chosen_line(counted.joint.chosen), markup=False)
    if population:
        screen.print(population.words(), markup=False)
    screen.print(show.findings_table(found))
    again = shlex.join(["funnel", "sanitise", str(table), "--protocol", str(output), "-o", "OUT.csv"])
    if exposed is not None and exposed.few:
        screen.print(exposed.words(), markup=False)
    screen.print(f"Written: {output}. Next: {again}", markup=False)
