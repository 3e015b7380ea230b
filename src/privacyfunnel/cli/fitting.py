"""What funnel fit does, for the command, for recipes and for whatever else has a Spec: count, search, save and tell."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from privacyfunnel.advice.accepting import accepted
from privacyfunnel.advice.merged import SHARE, merged_for
from privacyfunnel.advice.merging import Coarsening
from privacyfunnel.cli import advising, found_follow_up, knowing, merging, next_command, searching, show, steward_only
from privacyfunnel.cli.aimed import cells_of, other_noise
from privacyfunnel.cli.filling import filled_data, whole_words
from privacyfunnel.cli.found import Found, data, told
from privacyfunnel.errors import ExactFit, InvalidInput
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.counted import as_fitted, safely
from privacyfunnel.spec.counted import counted as counted_of
from privacyfunnel.spec.counting import is_modelled, noise_of
from privacyfunnel.spec.files import files_of
from privacyfunnel.spec.filled import with_filled
from privacyfunnel.spec.following import Past
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.for_steward import ForSteward
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.writing import check_output


def fit_spec(spec: Spec, table: Path, output: Path, force: bool, json: bool) -> None:
    """From a table to the protocol in a file, and what it is, told."""
    check_output(output, force, (table, *files_of(spec).values()))
    if spec.improve is not None:
        with show.working(f"reading {Path(spec.improve).name}"):
            start = load_protocol(Path(spec.improve))
            counted = as_fitted(spec, start, table)
        _search(spec, _Counts(counted), start, table, output, force, json)
        return
    with show.working("reading what was released before"):
        past = Past.of(spec)
    if past is not None:
        _follow_up(spec, past, table, output, force, json)
        return
    chosen = _modelled_or_chosen(spec, _exact(spec, table), table, output, force, json)
    if chosen is not None:
        _search(*chosen, None, table, output, force, json)


@dataclass(frozen=True, eq=False)
class _Counts:
    """What is computed from, and what only the steward is told."""

    used: Counted
    steward: ForSteward[Counted] | None = None
    coarser: Coarsening | None = None
    advise: steward_only.Advise | None = None


def _exact(spec: Spec, table: Path | Source, columns: Sequence[str] | None = None, past: Past | None = None) -> Counted:
    """The exact counts."""
    with show.working(f"counting {Path(spec.table or '').name}"):
        counted = counted_of(spec, table, columns, past.columns if past is not None else None)
    if spec.person is not None and spec.person in counted.joint.attributes:
        raise InvalidInput(f"{spec.person!r} says whose rows they are, and would be released: name other --columns")
    return counted


def _say(exact: Counted, json: bool) -> None:
    if not json:
        show.console().print(show.columns_table(exact))


def _modelled_or_chosen(
    spec: Spec, exact: Counted, table: Path, output: Path, force: bool, json: bool
) -> tuple[Spec, _Counts] | None:
    """What a search is to be made with; None where combinations are so many that a model was fitted instead."""
    if not is_modelled(spec, exact.joint):
        return _chosen(spec, exact, json)
    from privacyfunnel.cli.wide import fit_model

    _say(exact, json)
    fit_model(spec, exact, output, force, json, next_command.after_fit(spec, table, output))
    return None


def _chosen(spec: Spec, exact: Counted, json: bool) -> tuple[Spec, _Counts]:
    """The counts that everything else is computed from, once it is clear of which columns; and what is then asked."""
    spent, coarser, advise, noise = 0.0, None, None, noise_of(spec)
    if spec.columns == "auto" or spec.coarsen == "auto":
        with show.working("choosing columns"):
            exact, spent = accepted(exact, spec.columns == "auto", spec.coarsen == "auto", noise)
    elif spec.coarsen == "search":
        promise = searching.promise_to_knowing(spec)
        with show.working("looking for what to merge"):
            exact, coarser, spent = merged_for(exact, promise, noise, spec.seconds)
        spec = searching.with_the_rest_of(spec, SHARE, coarser.left_out)
    else:
        advise = partial(advising.advice_for, asked=searching.for_advice(spec), private=noise is not None)
    _say(exact, json)
    if coarser is not None and not json:
        merging.say(coarser)
    steward = ForSteward(exact)
    return spec, _Counts(_used(spec, exact, spent, steward, advise, json), steward, coarser, advise)


def _used(
    spec: Spec,
    exact: Counted,
    spent: float,
    steward: ForSteward[Counted],
    advise: steward_only.Advise | None,
    json: bool,
) -> Counted:
    """The counts that everything else is computed from: exact ones are out of reach from here on."""
    what = "merging rare combinations" if noise_of(spec) is None else "adding noise to counts"
    with steward_only.also_if_refused(steward, advise, json), show.working(what):
        used = safely(spec, exact, spent)
    if not json:
        show.slow_secret(used.joint.n_s, spec.seconds)
    return used


def _follow_up(spec: Spec, past: Past, table: Path, output: Path, force: bool, json: bool) -> None:
    """The best protocol after what was released before."""
    past, used = _counts_after(spec, past, table, json)
    then = next_command.after_fit(spec, table, output)
    found_follow_up.tell(searching.follow(spec, used, past), output, force, json, then)


def _counts_after(spec: Spec, past: Past, table: Path, json: bool) -> tuple[Past, Counted]:
    """The counts that a follow-up is computed from; where people changed, with what they were."""
    source, columns = cast(Path | Source, table), None
    if spec.was is not None:
        with show.working(f"counting {table.name}"):
            past, source, columns = past.changing(spec, table)
    exact = _exact(spec, source, columns, past)
    _say(exact, json)
    return past, _used(spec, exact, 0.0, ForSteward(exact), None, json)


def _search(
    spec: Spec, counts: _Counts, start: Protocol | None, table: Path, output: Path, force: bool, json: bool
) -> None:
    """Search, save and tell."""
    costs = knowing.costs_for(counts.used.joint, searching.promise_to_knowing(spec), spec.seconds)
    if not json:
        knowing.say(costs)
    found = searching.search(spec, counts.used, start)
    whole = _whole(spec, found.protocol, table)
    finer = merging.level_for_finer(counts.coarser, found.protocol)
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        whole.save(output, force=force)
    own, advice = steward_only.told(counts.steward, found.protocol, counts.advise)
    then = next_command.after_fit(spec, table, output)
    if json:
        alone = {"steward_only": {"own_table": own.data, "advice": advice.data}}
        told_of: dict[str, Any] = data(found)
        told_of["search"] |= knowing.data(costs)  # which also hang on the clock
        told_of |= filled_data(whole)
        cells = cells_of(found.protocol, counts.used.joint, spec.seconds)
        told_of["other_noise"] = other_noise(found.protocol, cells, spec.seconds)  # which hangs on the clock, too
        told_of |= merging.data(counts.coarser, finer) | next_command.data(then)
        show.as_json({"protocol": str(output), **alone, **told_of})
        return
    advice.say()
    own.say()
    _tell(found, finer, output)
    if whole.fill is not None:
        show.console().print(f"{whole.fill.words()} {whole_words(whole)}", markup=False)
    next_command.say(then)


def _whole(spec: Spec, protocol: Protocol, table: Path) -> Protocol:
    if spec.fill is None:
        return protocol
    with show.working("fitting the model of the filled columns"):
        return with_filled(spec, protocol, table)


def _tell(found: Found, finer: float | None, output: Path) -> None:
    screen = show.console()
    for part in (*told(found), *filter(None, [merging.level_words(finer)])):
        screen.print(part, markup=False)
    screen.print(f"Written: {output}.", markup=False)
