"""funnel fit: from a table to the protocol."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import RenderableType

from privacyfunnel.attacks.exposure import Exposure, exposure
from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.attacks.one_column import OneColumn, one_column
from privacyfunnel.cli import options, show
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.laplace import checked_delta, checked_epsilon
from privacyfunnel.errors import ExactFit, InvalidInput
from privacyfunnel.optimiser.blocks.compose import Method, compose
from privacyfunnel.optimiser.optimise import gap_for, optimise
from privacyfunnel.optimiser.program.state import Progress, noticing_stops
from privacyfunnel.optimiser.smallest_epsilon import Wish, epsilon_for
from privacyfunnel.promises.confidence import Within
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import robust
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.over_population import PopulationFindings, population_findings
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.everything import Everything, everything
from privacyfunnel.protocols.miscounting import counting_words
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.protocols.untold import Untold, untold_shares
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.frequency_threshold import USUAL
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.too_fine import Fineness, fineness
from privacyfunnel.tables.writing import check_output


# One parameter for each option: they are what typer reads, and their order is that of --help. What follows from them is
# taken apart below: _Asked is what is sought, _Found what comes of it.
def fit(
    table: options.Table,
    secret: options.Secret,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the protocol (JSON).")],
    attributes: options.Attributes = None,
    where: options.Where = None,
    notion: options.NotionName = "lip",
    epsilon: Annotated[float | None, typer.Option(help="ε: beliefs change by at most the factor e^ε.")] = None,
    lower: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that fall.")] = None,
    upper: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that grow.")] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            help="Instead of ε: the share to keep, of cells or of information, such as 0.9; finds the smallest ε."
        ),
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
        typer.Option(
            help="With --confidence: bound chance by nested sets (the default for several columns), intervals (the "
            "default for one), ball, or both; or choose with some people and test on the others: tested."
        ),
    ] = None,
    chain: Annotated[
        list[str] | None,
        typer.Option(
            help="With nested sets: columns by which tables are cut, in this order; by default in every order."
        ),
    ] = None,
    private: Annotated[
        float | None,
        typer.Option(
            help="ε₀: noise on every count before anything is computed, so that the protocol may be published "
            "(default: 1)."
        ),
    ] = None,
    exact_fit: Annotated[
        bool,
        typer.Option(
            "--exact-fit", help="Fit on exact counts: for research, and for protocols that nobody else will see."
        ),
    ] = False,
    delta: Annotated[
        float | None,
        typer.Option(help="δ₀: tell only counts above a threshold (the default, 1e-9, for domains too large)."),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            help="Read combinations of values that fewer people have as the nearest other (default: 10; none for "
            "srlip, srldp, --confidence, --blocks and --exact-fit)."
        ),
    ] = None,
    objective: options.ObjectiveName = "faithful",
    weight: options.WeightOption = None,
    blocks: options.Blocks = None,
    method: options.MethodName = "tuned",
    bins: options.BinsOption = None,
    top: options.TopOption = None,
    dates: options.DatesOption = None,
    missing: options.Missing = None,
    domain: options.DomainFile = None,
    allow_secret_attribute: options.AllowSecret = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    gap: options.Gap = None,
    time_limit: options.TimeLimit = 60.0,
    engine: options.Engine = "duckdb",
    master: options.SparkMaster = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Find the protocol that keeps the most of a table's columns without giving away its secret.

    Example: funnel fit people.csv --secret diagnosis --attributes age,sex,town --epsilon 0.5 -o protocol.json
    """
    promise = options.promise(notion, epsilon, lower, upper, known, keep)
    asked = _Asked(
        promise=_for_population(promise, confidence, within, chain),
        keep=keep,
        objective=options.objective(objective),
        weights=options.weights(weight),
        blocks=blocks,
        method=cast(Method, method),
        gap=gap,
        time_limit=time_limit,
    )
    asked.check()
    counts = _Counts.asked(private, exact_fit, delta, at_least, _without_threshold(notion, confidence, blocks), within)
    cluster = options.cluster(engine, master)
    check_output(output, force, (table, domain))
    wishes = options.wishes(bins, top, dates, missing)
    counted = options.counted(
        table, secret, attributes, wishes, allow_secret_attribute, delimiter, encoding, cluster, domain, where
    )
    if not json:
        show.console().print(show.columns_table(counted))
    counted = counts.of(counted)
    if not json:
        show.slow_secret(counted.joint.n_s, time_limit)
    found = _search(asked, counted)
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    if json:
        show.as_json({"protocol": str(output), **_data(found)})
        return
    some = ["--where", where] if where is not None else []
    again = shlex.join(["funnel", "sanitise", str(table), *some, "--protocol", str(output), "-o", "OUT.csv"])
    screen = show.console()
    for part in _told(found):
        screen.print(part, markup=False)
    screen.print(f"Written: {output}. Next: {again}", markup=False)


@dataclass(frozen=True)
class _Asked:
    """What is sought."""

    promise: Notion | Callable[[float], Notion]
    """Or, with `keep`, the promises among which the smallest ε is sought."""
    keep: float | None
    objective: Objective
    weights: dict[str, float] | None
    blocks: str | None
    method: Method
    gap: float | None
    time_limit: float | None

    def check(self) -> None:
        """Refuse what does not go together before a table is read."""
        gap_for(self.objective, self.gap, self.weights)
        if self.keep is not None and self.blocks is not None:
            raise InvalidInput("--keep finds one protocol for all attributes, so it goes without --blocks")
        if isinstance(self.promise, Notion) and self.promise.tested and self.objective != "information":
            raise InvalidInput("--within tested is for --objective information")

    def best(self, joint: Joint, progress: Callable[[Progress], None] | None) -> tuple[Protocol, Wish | None]:
        """The protocol and, if only a share was asked for, how its ε was found."""
        kept: dict[str, Any] = {"objective": self.objective, "weights": self.weights}
        kept |= {"time_limit": self.time_limit, "progress": progress}
        if not isinstance(self.promise, Notion):
            wish = epsilon_for(joint, self.promise, self.keep or 0.0, gap=self.gap, **kept)
            return wish.protocol, wish
        if self.blocks is None:
            return optimise(joint, self.promise, gap=self.gap, **kept), None
        return compose(joint, self.promise, options.blocks(self.blocks), self.method, **kept), None


@dataclass(frozen=True)
class _Counts:
    """What is computed from: counts with noise, or exact ones; and how rare a combination may be."""

    private: float | None
    delta: float | None
    at_least: int

    @classmethod
    def asked(
        cls,
        private: float | None,
        exact: bool,
        delta: float | None,
        at_least: int | None,
        without: str | None,
        within: str | None,
    ) -> _Counts:
        """Refuses what does not go together; `without` is what cannot have a frequency threshold."""
        if exact and (private is not None or delta is not None):
            raise InvalidInput("--exact-fit is without noise, so it goes without --private and --delta")
        if at_least is not None and at_least < 1:
            raise InvalidInput(f"--at-least takes a number of people from 1 on; got {at_least}")
        if at_least is not None and at_least > 1 and without is not None:
            raise InvalidInput(f"{without}, so it goes without --at-least")
        if not exact and within not in (None, "nested"):
            raise InvalidInput(f"noisy counts are bounded by nested sets; --within {within} needs --exact-fit")
        usual = 0 if exact or without is not None else USUAL
        return cls(
            None if exact else checked_epsilon(USUAL_EPSILON if private is None else private),
            None if delta is None else checked_delta(delta),
            usual if at_least is None else at_least,
        )

    def of(self, counted: Counted) -> Counted:
        """The counts that everything else is computed from."""
        return counted.safely(self.private, delta=self.delta, at_least=self.at_least)


def _without_threshold(notion: str, confidence: float | None, blocks: str | None) -> str | None:
    """Why there is no frequency threshold, if there is none."""
    if "known" in options.kind(notion).parameters():
        return f"{notion} is for attackers who know columns as they are"
    if confidence is not None:
        return "--confidence speaks of every combination of values"
    return "--blocks reads each block by itself" if blocks is not None else None


def _for_population(
    promise: Notion | Callable[[float], Notion], confidence: float | None, within: str | None, chain: list[str] | None
) -> Notion | Callable[[float], Notion]:
    """The promise, for all that the counts leave open if a confidence is asked for."""
    if within is not None and confidence is None:
        raise InvalidInput("--within says how chance is bounded for --confidence, so it needs that, such as 0.95")
    if chain and confidence is None:
        raise InvalidInput("--chain says how tables are cut for --confidence, so it needs that, such as 0.95")
    if confidence is None:
        return promise
    if not isinstance(promise, Notion):
        raise InvalidInput("--keep goes by the people in the table, so it goes without --confidence")
    return robust(promise, confidence, cast(Within | None, within), [options.names(one) for one in chain or ()])


@dataclass(frozen=True, eq=False)
class _Found:
    """The protocol, and what was measured of it on the table."""

    counted: Counted
    protocol: Protocol
    wish: Wish | None
    ending: show.Ending
    findings: Findings
    population: PopulationFindings | None
    fineness: Fineness | None
    untold: Untold | None
    emptied: Emptied
    one_column: OneColumn | None
    exposed: Exposure | None
    everything: Everything | None


def _search(asked: _Asked, counted: Counted) -> _Found:
    begun = time.monotonic()
    with show.search_progress(asked.objective) as progress, noticing_stops() as stopped:
        protocol, wish = asked.best(counted.joint, progress)
    seconds = time.monotonic() - begun
    late = asked.time_limit is not None and seconds >= asked.time_limit
    joint, robustly = counted.joint, protocol.notion.confidence is not None
    return _Found(
        counted,
        protocol,
        wish,
        show.Ending(seconds, stopped.is_set() or late),
        findings(protocol, joint, certify(protocol, joint)),
        population_findings(protocol, joint) if robustly else None,
        fineness(joint),
        untold_shares(protocol, joint),
        emptied(protocol, joint),
        one_column(protocol, joint),
        exposure(protocol, joint),
        everything(protocol),
    )


def _data(found: _Found) -> dict[str, Any]:
    """All of it for machines."""
    protocol, population = found.protocol, found.population
    return {
        "columns": show.columns_data(found.counted),
        "not_used": found.counted.dropped,
        "identifiers": found.counted.identifiers,
        "found_by": protocol.how,
        "search": asdict(found.ending),
        "fitted": protocol.fitted,
        "exposed": found.exposed.as_dict() if found.exposed else None,
        "everything_published": found.everything.as_dict() if found.everything else None,
        "threshold": found.counted.threshold.as_dict() if found.counted.threshold else None,
        "fineness": found.fineness.as_dict() if found.fineness else None,
        "untold_shares": asdict(found.untold) if found.untold else None,
        "emptied": found.emptied.as_dict(),
        "one_column_known": found.one_column.as_dict() if found.one_column else None,
        "wish": found.wish.as_dict() if found.wish else None,
        "blocks": [list(block.attributes) for block in protocol.blocks],
        "objective": protocol.objective,
        "readers": show.readers_data(protocol, found.counted.joint),
        "remarks": show.seldom_meant(protocol, found.findings, found.wish is not None),
        **found.findings.as_dict(),
        **({"population": population.as_dict()} if population else {}),
    }


def _told(found: _Found) -> list[RenderableType]:
    """All of it for people, what matters most to them last."""
    protocol, joint, measured = found.protocol, found.counted.joint, found.findings
    lines: list[RenderableType] = []
    lines += show.dropped_lines(found.counted)
    if found.wish is not None:
        lines.append(found.wish.words())
    lines.append(f"Promise: {measured.promise}{f' {found.everything.whom()}' if found.everything else ''}")
    if found.everything is not None:
        lines.append(found.everything.words())
    if joint.noise is not None and joint.noise.codes is not None:
        lines.append(show.large_domain_line(joint))
    if found.counted.threshold is not None:
        lines.append(found.counted.threshold.words())
    lines += show.kept_lines(protocol, measured)
    remarks = [found.fineness.words() if found.fineness else "", show.untold_line(found.untold)]
    remarks += [found.ending.words(protocol, measured.gap_share), found.emptied.words()]
    lines += show.seldom_meant(protocol, measured, found.wish is not None)
    lines += filter(None, remarks)
    if found.population is not None:
        lines += [show.chosen_line(joint.chosen)] if joint.chosen else []
        lines.append(found.population.words())
    if found.one_column is not None and found.one_column.much_more:
        lines.append(found.one_column.words())
    lines.append(show.findings_table(measured))
    if found.exposed is not None and found.exposed.few:
        lines.append(found.exposed.words())
    return [*lines, counting_words(protocol, joint)]
