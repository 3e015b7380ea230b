"""funnel fit: from a table to the protocol."""

from __future__ import annotations

import shlex
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from privacyfunnel.cli import (
    advising,
    following,
    found_follow_up,
    knowing,
    merging,
    options,
    reading_columns,
    show,
    steward_only,
)
from privacyfunnel.cli.found import Found, data, told
from privacyfunnel.cli.promising import Asked as Promised
from privacyfunnel.cli.sought import CountsAsked, Sought, as_fitted, for_population, to_improve, without_threshold
from privacyfunnel.errors import ExactFit, InvalidInput
from privacyfunnel.optimiser.program.state import noticing_stops
from privacyfunnel.optimiser.readers.sharpen import USUAL_GIVE_UP
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.for_steward import ForSteward
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.writing import check_output


# One parameter for each option: they are what typer reads, and their order is that of --help. What follows from them is
# taken apart elsewhere: Sought is what is sought, Found what comes of it.
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
        str | None,
        typer.Option(
            help="For srlip, srldp: attackers know at most 2 attributes, or some of age,sex. For each of several "
            "secrets: income=2,illness=age+sex."
        ),
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
            help="With --confidence: bound chance by nested sets (the default for several columns) or intervals (the "
            "default for one)."
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
        typer.Option(
            help="δ₀: tell only counts above a threshold (the default, 1e-9, for domains too large). With --model: of "
            "Gaussian noise (default: 1e-6, for four columns and more); 0 for Laplace noise."
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            help="Read combinations of values that fewer people have as the nearest other (default: 10; none for "
            "srlip, srldp, --confidence and --exact-fit)."
        ),
    ] = None,
    insist: options.Insist = False,
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
    bins: reading_columns.BinsOption = None,
    top: reading_columns.TopOption = None,
    dates: reading_columns.DatesOption = None,
    group: reading_columns.GroupOption = None,
    missing: options.Missing = None,
    domain: reading_columns.DomainFile = None,
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
    was: following.Was = None,
    unchanged: following.Unchanged = None,
    cover: following.Cover = None,
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
    People who changed: funnel fit people.csv --was last-year.csv --person id --secret diagnosis --attributes sex,town
    --epsilon 0.8 --after protocol.json -o second.json
    """
    check_output(output, force, (table, domain, improve, after, *(released or ()), *(was or ())))
    past = coarser = steward = advise = None
    if model:
        from privacyfunnel.cli.wide import check_options

        check_options(context)
    if improve is not None:
        asked = to_improve(context, improve, gap, time_limit)
        with show.working(f"reading {improve.name}"):
            counted = as_fitted(cast(Protocol, asked.start), table, delimiter, encoding, where)
    else:
        if not secret:
            raise InvalidInput("fit needs --secret, the column that is not to be given away; see funnel fit --help")
        about = Promised(secret, notion, epsilon, lower, upper, known, keep, error, ordered, per_range)
        promise = about.promise()
        kept_most = options.objective(following.objective(context, objective, was, unchanged))
        asked = Sought(
            promise=for_population(promise, confidence, within, chain),
            keep=keep,
            objective=kept_most,
            weights=options.weights(weight),
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
        if past is None or not was:
            following.check_no_changes(was, unchanged, cover)
        if past is not None:
            following.check_goes_without(
                keep=keep, error=error, readers=asked.readers, confidence=confidence, exact=exact,
                columns=columns, coarsen=coarsen,
            )  # fmt: skip
        without = without_threshold(about.kinds, confidence)
        counts = CountsAsked.asked(private, exact_fit, delta, at_least, without, within, model, insist)
        auto = advising.Auto.asked(columns, coarsen, confidence)
        cluster = options.cluster(engine, master)
        wishes = reading_columns.wishes(bins, top, dates, missing, group, auto.search)
        with show.working(f"counting {table.name}"):
            source, names, which = cast(Path | Source, table), cast(str | list[str] | None, attributes), where
            if past is not None and was and cluster is None:
                layout = {"delimiter": delimiter, "encoding": encoding, "where": where, "secrets": about.columns}
                past, source, names = past.changing(
                    table, was, person, attributes, (unchanged, cover, kept_most == "faithful"), layout
                )
                which = None
            counted = options.counted(
                source, about.columns, names, wishes, allow_secret_attribute, delimiter, encoding, cluster, domain,
                which, past.columns if past is not None else None,
            )  # fmt: skip
        if person in counted.joint.attributes:
            raise InvalidInput(f"--person {person} would be released: name the columns to release with --attributes")
        if auto and not model:
            counted, spent = auto.of(counted, counts.private)
            counts = counts.less(spent)
        elif auto.search:
            counted, coarser, spent = merging.merged_for(counted, asked.known_of(), counts.private, time_limit)
            counts = counts.less(spent)
            asked = asked.with_the_rest_of(time_limit, merging.SHARE, coarser.left_out)
        elif past is None and not model:
            wanted, private_fit = asked.for_advice(counts.at_least), counts.private is not None
            advise = partial(advising.advice_for, asked=wanted, private=private_fit)
        if not json:
            show.console().print(show.columns_table(counted))
            if coarser is not None:
                merging.say(coarser)
        if model:
            from privacyfunnel.cli.wide import fit_model

            fit_model(counted, cast(Notion, promise), counts, auto.columns, time_limit, output, force, json)
            return
        steward = ForSteward(counted)
        what = "adding noise to counts" if counts.private is not None else "merging rare combinations"
        with steward_only.also_if_refused(steward, advise, json), show.working(what):
            counted = counts.of(counted)  # exact ones are out of reach from here on
    if not json:
        show.slow_secret(counted.joint.n_s, time_limit)
    if past is not None:
        found_follow_up.tell(asked.follow(counted, past), table, output, force, json)
        return
    costs = knowing.costs_for(counted.joint, asked.known_of(), time_limit)
    if not json:
        knowing.say(costs)
    found = _search(asked, counted)
    finer = merging.level_for_finer(coarser, found.protocol)
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    own, advice = steward_only.told(steward, found.protocol, advise)
    if json:
        alone = {"steward_only": {"own_table": own.data, "advice": advice.data}}
        told_of = data(found)
        told_of["search"] |= knowing.data(costs)  # which also hang on the clock
        show.as_json({"protocol": str(output), **alone, **told_of, **merging.data(coarser, finer)})
        return
    some = ["--where", where] if where is not None else []
    again = shlex.join(["funnel", "sanitise", str(table), *some, "--protocol", str(output), "-o", "OUT.csv"])
    advice.say()
    own.say()
    screen = show.console()
    for part in (*told(found), *filter(None, [merging.level_words(finer)])):
        screen.print(part, markup=False)
    screen.print(f"Written: {output}. Next:", markup=False)
    screen.print(again, markup=False, soft_wrap=True)  # a line that can be copied


def _search(asked: Sought, counted: Counted) -> Found:
    begun = time.monotonic()
    with show.search_progress(asked.objective) as progress, noticing_stops() as stopped:
        protocol, wish = asked.best(counted.joint, progress)
    seconds = time.monotonic() - begun
    late = asked.time_limit is not None and seconds >= asked.time_limit
    with show.working("measuring what was found"):
        return Found.of(counted, protocol, wish, show.Ending(seconds, stopped.is_set() or late), asked.time_limit)
