"""funnel fit: from a table to the protocol."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from privacyfunnel.advice.advise import Asked
from privacyfunnel.cli import advising, following, knowing, options, show
from privacyfunnel.cli.found import Found, data, told
from privacyfunnel.cli.promising import Asked as Promised
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.laplace import checked_delta, checked_epsilon
from privacyfunnel.errors import ExactFit, InvalidInput
from privacyfunnel.estimates.error_wish import ErrorWish, epsilon_for_errors
from privacyfunnel.optimiser.blocks.compose import Method, compose
from privacyfunnel.optimiser.improving import improve as improved
from privacyfunnel.optimiser.optimise import gap_for, optimise
from privacyfunnel.optimiser.program.state import Progress, noticing_stops
from privacyfunnel.optimiser.readers.sharpen import USUAL_GIVE_UP
from privacyfunnel.optimiser.smallest_epsilon import Wish, epsilon_for
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.confidence import Within
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import robust
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.fitting import FittedColumn
from privacyfunnel.tables.frequency_threshold import USUAL, of_noisy
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.writing import check_output


# One parameter for each option: they are what typer reads, and their order is that of --help. What follows from them is
# taken apart below: _Asked is what is sought, _Found what comes of it.
def fit(
    context: typer.Context,
    table: options.Table,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the protocol (JSON).")],
    secret: options.SecretToFit = None,
    attributes: options.Attributes = None,
    columns: advising.ColumnsOption = None,
    coarsen: advising.CoarsenOption = None,
    where: options.Where = None,
    notion: options.NotionName = "lip",
    epsilon: options.EpsilonText = None,
    ordered: options.OrderedFlag = False,
    per_range: options.PerRange = None,
    exact: options.ExactOption = None,
    lower: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that fall.")] = None,
    upper: Annotated[float | None, typer.Option(help="For alip: ε for beliefs that grow.")] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            help="Instead of ε: the share to keep, of cells or of information, such as 0.9; finds the smallest ε."
        ),
    ] = None,
    error: options.ErrorOption = None,
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
    model: Annotated[
        bool,
        typer.Option(
            "--model", help="For wide tables: counts of pairs of columns make a model of all combinations of values."
        ),
    ] = False,
    objective: options.ObjectiveName = "faithful",
    readers: options.ReadersName = "none",
    give_up: options.GiveUp = USUAL_GIVE_UP,
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
    improve: Annotated[
        Path | None,
        typer.Option(
            help="Instead of all the above: go on with the search for this protocol (a private one on its own noisy "
            "counts, which costs no more ε₀)."
        ),
    ] = None,
    after: following.After = None,
    released: following.Released = None,
    person: following.Person = None,
    gap: options.Gap = None,
    time_limit: options.TimeLimit = 60.0,
    engine: options.Engine = "duckdb",
    master: options.SparkMaster = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Find the protocol that keeps the most of a table's columns without giving away its secret.

    Example: funnel fit people.csv --secret diagnosis --attributes age,sex,town --epsilon 0.5 -o protocol.json
    A follow-up: funnel fit people.csv --secret diagnosis --attributes age,sex,town,job --epsilon 0.8
    --after protocol.json --released kept.parquet --person id -o second.json
    """
    check_output(output, force, (table, domain, improve, after, *(released or ())))
    past = advice = None
    if model:
        from privacyfunnel.cli.wide import check_options

        check_options(context)
    if improve is not None:
        asked = _to_improve(context, improve, gap, time_limit)
        with show.working(f"reading {improve.name}"):
            counted = _as_fitted(cast(Protocol, asked.start), table, delimiter, encoding, where)
    else:
        if not secret:
            raise InvalidInput("fit needs --secret, the column that is not to be given away; see funnel fit --help")
        about = Promised(secret, notion, epsilon, lower, upper, known, keep, error, ordered, per_range)
        promise = about.promise()
        kept_most = options.objective(objective)
        asked = _Asked(
            promise=_for_population(promise, confidence, within, chain),
            keep=keep,
            objective=kept_most,
            weights=options.weights(weight),
            blocks=blocks,
            method=cast(Method, method),
            gap=gap,
            time_limit=time_limit,
            errors=options.errors(error),
            readers=options.readers(readers, kept_most),
            give_up=give_up,
            exact=[name for text in exact or () for name in options.names(text)],
        )
        asked.check()
        with show.working("reading what was released before"):
            past = following.Past.asked(after, released, person, delimiter, encoding)
        if past is not None:
            following.check_goes_without(
                keep=keep, error=error, blocks=blocks, readers=asked.readers, confidence=confidence, exact=exact,
                columns=columns, coarsen=coarsen,
            )  # fmt: skip
        without = _without_threshold(about.kinds, confidence, blocks)
        counts = _Counts.asked(private, exact_fit, delta, at_least, without, within)
        auto = advising.Auto.asked(columns, coarsen, confidence, blocks)
        cluster = options.cluster(engine, master)
        wishes = options.wishes(bins, top, dates, missing)
        with show.working(f"counting {table.name}"):
            counted = options.counted(
                table, about.columns, attributes, wishes, allow_secret_attribute, delimiter, encoding, cluster, domain,
                where, past.columns if past is not None else None,
            )  # fmt: skip
        if person in counted.joint.attributes:
            raise InvalidInput(f"--person {person} would be released: name the columns to release with --attributes")
        if auto:
            counted, spent = auto.of(counted, counts.private)
            counts = counts.less(spent)
        elif past is None and not model:
            advice = advising.advice_for(counted, asked.for_advice(counts.at_least), counts.private is not None)
        if not json:
            show.console().print(show.columns_table(counted))
            if advice is not None:
                advising.say(advice)
        if model:
            from privacyfunnel.cli.wide import fit_model

            fit_model(counted, cast(Notion, promise), counts.private, output, force, json)
            return
        with show.working("adding noise to counts" if counts.private is not None else "merging rare combinations"):
            counted = counts.of(counted)
    if not json:
        show.slow_secret(counted.joint.n_s, time_limit)
    if past is not None:
        following.tell(asked.follow(counted, past), table, output, force, json)
        return
    costs = knowing.costs_for(counted.joint, asked.known_of(), time_limit)
    if not json:
        knowing.say(costs)
    found = _search(asked, counted)
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    if json:
        show.as_json({"protocol": str(output), **data(found), **advising.data(advice), **knowing.data(costs)})
        return
    some = ["--where", where] if where is not None else []
    again = shlex.join(["funnel", "sanitise", str(table), *some, "--protocol", str(output), "-o", "OUT.csv"])
    screen = show.console()
    for part in told(found):
        screen.print(part, markup=False)
    screen.print(f"Written: {output}. Next:", markup=False)
    screen.print(again, markup=False, soft_wrap=True)  # a line that can be copied


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
    start: Protocol | None = None
    """The protocol to go on from."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """The standard errors that the shares of some columns may have."""
    readers: str | None = None
    give_up: float = USUAL_GIVE_UP
    exact: Sequence[str] = ()
    """Columns that are released as they are."""

    def check(self) -> None:
        """Refuse what does not go together before a table is read."""
        gap_for(self.objective, self.gap, self.weights)
        if self.keep is not None and self.blocks is not None:
            raise InvalidInput("--keep finds one protocol for all attributes, so it goes without --blocks")
        if self.blocks is not None and (self.errors or self.readers is not None):
            raise InvalidInput("--readers and --error are for one protocol for all attributes, so without --blocks")
        if self.exact and (self.blocks or self.errors or self.readers or self.keep is not None):
            raise InvalidInput("--exact goes with one promise, so without --keep, --error, --readers and --blocks")
        if self.readers is None and not self.errors and self.give_up != USUAL_GIVE_UP:
            raise InvalidInput("--give-up says what readers may cost, so it needs --readers")
        if self.keep is not None and self.readers is not None:
            raise InvalidInput("--keep finds the most information, so it goes without --readers")
        if isinstance(self.promise, Notion) and self.promise.tested and self.objective != "information":
            raise InvalidInput("--within tested is for --objective information")

    def follow(self, counted: Counted, past: following.Past) -> following.FoundFollowUp:
        """The follow-up to what was released before."""
        return following.found(
            counted, past, cast(Notion, self.promise), self.objective, self.weights, self.gap, self.time_limit
        )

    def for_advice(self, at_least: int) -> Asked:
        """The release whose cost advice measures: with a promise to the people in the table, for one block."""
        plain = isinstance(self.promise, Notion) and self.promise.confidence is None and self.blocks is None
        promise = cast(Notion, self.promise) if plain else None
        return Asked(promise, self.objective, self.weights, at_least)

    def known_of(self) -> Notion | None:
        """The promise whose assumption about attackers is weighed: one for all columns, sought anew."""
        plain = isinstance(self.promise, Notion) and self.start is None and not self.blocks and not self.exact
        return cast(Notion, self.promise) if plain else None

    def best(
        self, joint: Joint, progress: Callable[[Progress], None] | None
    ) -> tuple[Protocol, Wish | ErrorWish | None]:
        """The protocol and, if only a share was asked for, how its ε was found."""
        if self.start is not None:
            return improved(self.start, joint, gap=self.gap, time_limit=self.time_limit, progress=progress), None
        kept: dict[str, Any] = {"objective": self.objective, "weights": self.weights}
        kept |= {"time_limit": self.time_limit, "progress": progress}
        who: dict[str, Any] = {"readers": self.readers, "give_up": self.give_up}
        if not isinstance(self.promise, Notion) and self.errors:
            by_error = epsilon_for_errors(joint, self.promise, self.errors, gap=self.gap, **kept, **who)
            return by_error.protocol, by_error
        if not isinstance(self.promise, Notion):
            wish = epsilon_for(joint, self.promise, self.keep or 0.0, gap=self.gap, **kept)
            return wish.protocol, wish
        if self.blocks is None:
            return optimise(joint, self.promise, gap=self.gap, exact=self.exact or None, **kept, **who), None
        return compose(joint, self.promise, options.blocks(self.blocks), self.method, **kept), None


@dataclass(frozen=True)
class _Counts:
    """What is computed from: counts with noise, or exact ones; and how rare a combination may be."""

    private: float | None
    delta: float | None
    at_least: int
    choosing: float = 0.0
    """What choosing the columns spent of ε₀."""

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
        return counted.safely(self.private, delta=self.delta, at_least=self.at_least, choosing=self.choosing)

    def less(self, spent: float) -> _Counts:
        """What is left for the counts when choosing the columns has spent some of ε₀."""
        return replace(self, private=None if self.private is None else self.private - spent, choosing=spent)


def _without_threshold(kinds: list[str], confidence: float | None, blocks: str | None) -> str | None:
    """Why there is no frequency threshold, if there is none."""
    knowing = [kind for kind in kinds if kind != Belief.name and "known" in options.kind(kind).parameters()]
    if knowing:
        return f"{knowing[0]} is for attackers who know columns as they are"
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
        raise InvalidInput("--keep and --error go by the people in the table, so they go without --confidence")
    return robust(promise, confidence, cast(Within | None, within), [options.names(one) for one in chain or ()])


def _search(asked: _Asked, counted: Counted) -> Found:
    begun = time.monotonic()
    with show.search_progress(asked.objective) as progress, noticing_stops() as stopped:
        protocol, wish = asked.best(counted.joint, progress)
    seconds = time.monotonic() - begun
    late = asked.time_limit is not None and seconds >= asked.time_limit
    with show.working("measuring what was found"):
        return Found.of(counted, protocol, wish, show.Ending(seconds, stopped.is_set() or late))


IMPROVING = {"table", "output", "improve", "where", "delimiter", "encoding", "gap", "time_limit", "force", "json"}
"""What may be said beside --improve: all else is in the protocol."""


def _to_improve(context: typer.Context, path: Path, gap: float | None, time_limit: float | None) -> _Asked:
    """What is sought to improve a protocol."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in IMPROVING and source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--improve takes all from its protocol, so it goes without {parameter.opts[0]}")
    start = Protocol.load(path)
    return _Asked(start.notion, None, start.objective, None, None, "tuned", gap, time_limit, start)


def _as_fitted(protocol: Protocol, table: Path, delimiter: str | None, encoding: str, where: str | None) -> Counted:
    """The counts that a protocol was fitted on: its own, if it is private; else those of the table."""
    fitted = tuple(FittedColumn(column, "as in the protocol") for block in protocol.blocks for column in block.columns)
    if protocol.noise is not None:
        joint = published_joint(protocol)
        return Counted(joint, (), fitted, (), threshold=of_noisy(joint))
    joint = audited_joint(protocol, table, delimiter=delimiter, encoding=encoding, where=where)
    return Counted(joint, (), fitted, ()).safely(None, at_least=protocol.at_least)
