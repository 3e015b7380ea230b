"""fit --model: from a wide table to a protocol of its model; and what sanitise says of such protocols."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import typer

from privacyfunnel.attacks.by_tables import SURE, Told
from privacyfunnel.attacks.on_wide import Checked, checked_on
from privacyfunnel.cli import show
from privacyfunnel.cli.cluster import on_cluster
from privacyfunnel.cli.sought import CountsAsked
from privacyfunnel.cli.wide_redrawn import how_redrawn
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.expected import ExpectedErrors, expected_errors
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.wide.file import load_wide
from privacyfunnel.protocols.wide.moves import MOST_CELLS
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.wide.choosing import FOR_CHOOSING, chosen_columns
from privacyfunnel.tables.wide.fit import check_wide, fit_wide
from privacyfunnel.tables.wide.release import sanitise_wide, save_wide
from privacyfunnel.tables.writing import check_output

BESIDE_MODEL = {
    "table", "output", "secret", "attributes", "where", "notion", "epsilon", "lower", "upper", "private", "delta",
    "exact_fit", "model", "columns", "bins", "top", "dates", "missing", "domain", "delimiter", "encoding", "force",
    "json", "time_limit",
}  # fmt: skip
"""What may be said beside --model."""
LEAST_LIFT = 1e-9
"""Stands in for a lift of 0."""
MISFIT = 0.15
"""ln of the factor beyond the promise's at which a model is called too poor."""


def check_options(context: typer.Context) -> None:
    """Refuse options that mean nothing to a model."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in BESIDE_MODEL and source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(
                f"--model finds its own protocol for wide tables, so it goes without {parameter.opts[0]}"
            )


def fit_model(
    counted: Counted,
    promise: Notion,
    noise: CountsAsked,
    auto: bool,
    seconds: float | None,
    output: Path,
    force: bool,
    json: bool,
) -> None:
    """Choose columns if that is asked for, fit, save and tell. The program over all pairs has so many seconds."""
    begun = time.monotonic()
    joint, chosen, private = counted.joint, None, noise.private
    if auto:
        with show.working("choosing columns"):
            check_wide(joint)
            chosen = chosen_columns(joint, private)
            joint = joint.over(chosen.names)
    with show.working("fitting a model, and how rows are redrawn by it"):
        protocol = fit_wide(joint, promise, private, chosen.spent if chosen else 0.0, noise.delta, seconds)
    save_wide(protocol, output, force)
    with show.working("trying it on the table"):
        checked = checked_on(protocol, joint)
        expected = _expected(protocol, joint)
    left_out = [name for name in counted.joint.attributes if name not in joint.attributes]
    if json:
        show.as_json(
            {
                "protocol": str(output),
                "seconds": time.monotonic() - begun,
                **published(protocol),
                "left_out": left_out,
                "steward_only": {**_own(protocol, checked), "expected_errors": _times(expected)},
            }
        )
        return
    screen = show.console()
    if left_out:
        screen.print(_left_out(left_out, private), markup=False)
    for line in _lines(protocol, checked, expected):
        screen.print(line, markup=False)
    screen.print(f"Written: {output}. Next:", markup=False)
    screen.print(f"funnel sanitise TABLE --protocol {output} -o OUT.csv", markup=False, soft_wrap=True)


def _left_out(names: list[str], private: float | None) -> str:
    """Which columns --columns auto left out, why, and at which cost."""
    text = (
        f"Left out: {', '.join(names)}. With them there are more combinations than can be laid out, and for their "
        "numbers of values they tell least about the secret"
    )
    return f"{text}, by noisy counts that took {FOR_CHOOSING:.0%} of ε₀." if private is not None else f"{text}."


def sanitise_by_model(
    table: Path,
    path: Path,
    output: Path,
    rows: dict[str, Any],
    unseen: str,
    cluster: str | None,
    force: bool,
    json: bool,
) -> None:
    """Redraw the rows of a table by a model."""
    if unseen != "refuse":
        raise InvalidInput("a protocol of a model refuses values that it does not know: leave out --unseen, or refit")
    if cluster is None:
        check_output(output, force, (table, path))
    protocol = load_wide(path)
    with show.working("recomputing how rows are redrawn"):
        _ = protocol.plan
    release: Release
    if cluster is None:
        with show.row_progress(None) as progress:
            release = sanitise_wide(protocol, table, output, force=force, progress=progress, **rows)
    else:
        drawing = {"keep_order": rows["keep_order"], "seed": rows["seed"], "force": force}
        release = on_cluster(cluster, protocol, table, output, rows["delimiter"], rows["encoding"], drawing)
    if json:
        show.as_json({"output": str(output), **asdict(release), **release.metadata()})
        return
    screen = show.console()
    order = "in shuffled order" if release.shuffled else "in the order of the table"
    screen.print(f"Released {release.rows:,} rows of {', '.join(release.attributes)}, {order}: {output}.", markup=False)
    if release.dropped:
        screen.print(f"Dropped: {', '.join(release.dropped)}.", markup=False)
    if not release.secure:
        screen.print("INSECURE: the randomness was seeded, so whoever knows the seed can undo it. Do not publish this.")
        return
    screen.print(f"{release.counting[0].upper()}{release.counting[1:]}.", markup=False)
    if release.rows != protocol.people:
        screen.print(f"These are not the {protocol.people:,} rows that the protocol was fitted on.", markup=False)
    kept = "publish it with the rows" if protocol.epsilon is not None else "keep it to yourself"
    screen.print(f"Publish them once. What {path} says of everybody is private: {kept}." if protocol.epsilon is not None
                 else f"{path} was fitted without noise: {kept}.", markup=False)  # fmt: skip


def published(protocol: WideProtocol) -> dict[str, Any]:
    """What everybody who has the file knows."""
    kept = protocol.kept
    return {
        "secret": protocol.secret,
        "attributes": list(protocol.attributes),
        "combinations": math.prod(protocol.model.sizes),
        "redrawn_by": protocol.redrawn_by,
        "people": protocol.people,
        "promise": protocol.notion.words(),
        "epsilon": protocol.notion.epsilon,
        "private": protocol.epsilon,
        "delta": protocol.delta,
        "noise": protocol.noise_stated(),
        "everything_published": protocol.everything(),
        "pairs_of_columns": [[protocol.attributes[j] for j in own] for own in protocol.model.sets if len(own) > 1],
        "entropy_nats": kept.entropy,
        "information_nats": kept.information,
        "kept": kept.information / kept.entropy if kept.entropy else 1.0,
        "rows_unchanged": kept.rows,
        "cells_unchanged": kept.cells,
        "columns_unchanged": dict(zip(protocol.attributes, kept.columns, strict=True)),
    }


def _own(protocol: WideProtocol, checked: tuple[Checked, ...]) -> dict[str, Any]:
    """What only the steward may see."""
    off = max(_off(protocol, one) for one in checked)
    return {
        "on_the_table": _furthest(protocol, checked).as_dict(),
        "by_value": [one.as_dict() for one in checked] if len(checked) > 1 else [],
        "calibration_off": off,
        "misfit": any(_beyond(protocol, one) for one in checked) or off > math.exp(MISFIT),
    }


def _furthest(protocol: WideProtocol, checked: tuple[Checked, ...]) -> Checked:
    """The value of the secret about which a released row tells most, in proportion to what it may."""

    def told(one: Checked) -> float:
        low, high = _lifts_allowed(protocol, one)
        lifts = [max(found.lift, LEAST_LIFT) for found in one.released]
        return max(math.log(low) - math.log(lifts[0]), math.log(lifts[1]) - math.log(high))

    return max(checked, key=told)


def _expected(protocol: WideProtocol, joint: Joint) -> dict[str, ExpectedErrors]:
    """How far shares of single columns and of pairs of them will be off, counted as they stand."""
    sizes = {name: len(column) for name, column in zip(protocol.attributes, protocol.columns, strict=True)}
    pairs = [pair for pair in combinations(sizes, 2) if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS]
    found = {"singles": expected_errors(protocol, joint)}
    return found | ({"pairs": expected_errors(protocol, joint, of=pairs)} if pairs else {})


def _times(expected: dict[str, ExpectedErrors]) -> dict[str, Any]:
    """For machines, as multiples of the original table's errors."""
    return {
        kind: {
            "counted": each.counted_typical,
            "worst": each.counted_worst.counted_times if each.counted_worst else None,
            "worst_columns": list(each.counted_worst.attributes) if each.counted_worst else [],
        }
        for kind, each in expected.items()
    }


def _predicted(expected: dict[str, ExpectedErrors]) -> str:
    """For people, in a sentence; for the steward alone, as it depends on single people."""
    words = {"singles": "single columns", "pairs": "pairs of them"}
    parts = [
        f"of {words[kind]} typically {each.counted_typical:.2f} times the original table's error"
        + (f" (worst {each.counted_worst.counted_times:.1f}: {' and '.join(each.counted_worst.attributes)})"
           if each.counted_worst else "")
        for kind, each in expected.items()
    ]  # fmt: skip
    whom = "Predicted from the table, for your eyes only, of rows as they stand against the population"
    return f"{whom}: shares {', '.join(parts)}."


def _lines(protocol: WideProtocol, checked: tuple[Checked, ...], expected: dict[str, ExpectedErrors]) -> list[str]:
    kept, counted, one = protocol.kept, math.prod(protocol.model.sizes), _furthest(protocol, checked)
    worst = max(checked, key=lambda other: _off(protocol, other))
    beyond = next((other for other in (one, *checked) if _beyond(protocol, other)), None)
    lines = [
        f"Promise: {protocol.notion.words()} {protocol.whom()}",
        protocol.everything(),
        f"All {counted:,} combinations of values are covered. By the model, {kept.information / kept.entropy:.1%} of "
        f"the information is kept, {kept.rows:.1%} of rows and {kept.cells:.1%} of cells stay as they are.",
        how_redrawn(protocol),
        "Tried on the table, for your eyes only, since it depends on single people: "
        f"{one.rows_unchanged:.1%} of rows and {one.cells_unchanged:.1%} of cells stayed. Shares of single "
        f"values, counted as they stand, were off by {one.singles:.2f} standard errors of the original table in "
        f"the median, those of pairs by {one.pairs:.2f}; with its own error, {one.factor:.2f} times that in "
        "all.",
        _predicted(expected),
        _attackers(one, _secret(checked, one)),
        _calibration(protocol, worst, _secret(checked, worst)),
    ]
    return [*lines, _fits() if beyond is None else _misfit(protocol, beyond)]


def _secret(checked: tuple[Checked, ...], one: Checked) -> str:
    """What to call the value of the secret that is spoken of: the secret, if there are but two."""
    return "the secret" if len(checked) == 1 else f"{one.value!r}"


def _calibration(protocol: WideProtocol, checked: Checked, secret: str) -> str:
    """How P(s|x) of the model fits the people, in the group where it fits worst."""
    worst = max(checked.calibration, key=lambda one: abs(one.predicted - one.found))
    text = (
        f"Of twentieths of the people, by what the model says of them, it is furthest off where it expects {secret} "
        f"in {worst.predicted:.1%}: {worst.found:.1%} (±{2 * worst.error:.1%}) have it."
    )
    off = _off(protocol, checked)
    if off <= math.exp(MISFIT):
        return text
    return (
        f"{text} THE MODEL IS OFF by a factor {off:.2f} there, beyond {math.exp(MISFIT):.2f}: fit with less noise (a "
        "larger --private), fewer columns, or fewer values of them (--bins, --top)."
    )


def _off(protocol: WideProtocol, checked: Checked) -> float:
    """The largest factor by which P(s|x) surely is off, among what may be told."""
    least, most = protocol.notion.limits.belief_range(checked.prior)
    return max(one.off((1 - most, least), SURE) for one in checked.calibration)


def _attackers(checked: Checked, secret: str) -> str:
    before, after = checked.original, checked.released
    return (
        f"Who knows half of the people's secrets and counts rows by up to three columns finds {secret} among the 5% "
        f"that tell most {_of(before)} times as often as in all on the original, {_of(after)} times on the release."
    )


def _of(told: tuple[Told, Told]) -> str:
    return " or ".join(f"{one.lift:.2f} (±{2 * one.error:.2f}; {', '.join(one.columns)})" for one in told)


def _fits() -> str:
    factor = f"{math.exp(MISFIT):.2f}"
    return f"That is within the promise and a factor {factor}: no three columns show that the model misses them."


def _lifts_allowed(protocol: WideProtocol, checked: Checked) -> tuple[float, float]:
    """The least and the largest lift that a model is held to: the promise's, and a factor beyond."""
    least, most = protocol.notion.limits.belief_range(checked.prior)
    return max(LEAST_LIFT, least / checked.prior) * math.exp(-MISFIT), most / checked.prior * math.exp(MISFIT)


def _beyond(protocol: WideProtocol, checked: Checked) -> list[Told]:
    """What tells more, on the table, than a model is held to, by three standard errors."""
    low, high = _lifts_allowed(protocol, checked)
    return [one for one in checked.released if one.lift + SURE * one.error < low or one.lift - SURE * one.error > high]


def _misfit(protocol: WideProtocol, checked: Checked) -> str:
    """What to say and do where rows tell more, on the table, than the model says."""
    columns = " and ".join(dict.fromkeys(name for one in _beyond(protocol, checked) for name in one.columns))
    return (
        f"THE MODEL IS TOO POOR here: rows tell more about the secret by {columns} than it says, beyond the promise "
        f"and a factor {math.exp(MISFIT):.2f}. Who knows many people's secrets learns that much. Release fewer of "
        "these columns, give them fewer values (--bins, --top), fit with less noise (a larger --private), or fit these "
        "columns alone without --model."
    )
