"""fit with model: from a wide table to a protocol of its model; and what sanitise says of such protocols."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, cast

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.cluster import on_cluster
from privacyfunnel.cli.steward_only import StewardOnly
from privacyfunnel.cli.wide_own import tried
from privacyfunnel.cli.wide_redrawn import how_redrawn
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.wide.file import load_wide
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.spec.counting import noise_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.for_steward import NOT_MEASURED, ForSteward
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.wide.choosing import FOR_CHOOSING, chosen_columns
from privacyfunnel.tables.wide.fit import check_wide, fit_wide
from privacyfunnel.tables.wide.release import sanitise_wide, save_wide
from privacyfunnel.tables.writing import check_output


def fit_model(spec: Spec, counted: Counted, output: Path, force: bool, json: bool, then: next_command.Words) -> None:
    """Choose columns if that is asked for, fit, save and tell. The program over all pairs has the time limit."""
    begun = time.monotonic()
    joint, chosen, private = counted.joint, None, noise_of(spec)
    if spec.columns == "auto":
        with show.working("choosing columns"):
            check_wide(joint)
            chosen = chosen_columns(joint, private)
            joint = joint.over(chosen.names)
    with show.working("fitting a model, and how rows are redrawn by it"):
        spent = chosen.spent if chosen else 0.0
        protocol = fit_wide(joint, cast(Notion, spec.promise()), private, spent, spec.delta, spec.seconds)
    save_wide(protocol, output, force)
    with show.working("trying it on the table"):
        own = ForSteward(joint).told(lambda exact: tried(protocol, exact)) or StewardOnly(None, f"{NOT_MEASURED}\n")
    left_out = [name for name in counted.joint.attributes if name not in protocol.attributes]
    if json:
        told = {"protocol": str(output), "seconds": time.monotonic() - begun, **published(protocol)}
        show.as_json({**told, "left_out": left_out, "steward_only": own.data, **next_command.data(then)})
        return
    screen = show.console()
    if left_out:
        screen.print(_left_out(left_out, private), markup=False)
    own.say()
    for line in _lines(protocol):
        screen.print(line, markup=False)
    screen.print(f"Written: {output}.", markup=False)
    next_command.say(then)


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
    again: next_command.Words | None,
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
    then = again or next_command.audit(path, None, table)
    if json:
        show.as_json({"output": str(output), **release.as_dict(), **next_command.data(then)})
        return
    screen = show.console()
    screen.print(release.own_words, markup=False)
    order = "in shuffled order" if release.shuffled else "in the order of the table"
    screen.print(f"Released {release.rows:,} rows of {', '.join(release.attributes)}, {order}: {output}.", markup=False)
    if release.dropped:
        screen.print(f"Dropped: {', '.join(release.dropped)}.", markup=False)
    if not release.secure:
        screen.print("INSECURE: the randomness was seeded, so whoever knows the seed can undo it. Do not publish this.")
        next_command.say(then)
        return
    screen.print(f"{release.counting[0].upper()}{release.counting[1:]}.", markup=False)
    if release.rows != protocol.people:
        screen.print(f"These are not the {protocol.people:,} rows that the protocol was fitted on.", markup=False)
    kept = "publish it with the rows" if protocol.epsilon is not None else "keep it to yourself"
    screen.print(f"Publish them once. What {path} says of everybody is private: {kept}." if protocol.epsilon is not None
                 else f"{path} was fitted without noise: {kept}.", markup=False)  # fmt: skip
    next_command.say(then)


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


def _lines(protocol: WideProtocol) -> list[str]:
    kept, counted = protocol.kept, math.prod(protocol.model.sizes)
    return [
        f"Promise: {protocol.notion.words()} {protocol.whom()}",
        protocol.everything(),
        f"All {counted:,} combinations of values are covered. By the model, {kept.information / kept.entropy:.1%} of "
        f"the information is kept, {kept.rows:.1%} of rows and {kept.cells:.1%} of cells stay as they are.",
        how_redrawn(protocol),
    ]
