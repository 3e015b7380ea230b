"""fit: from a wide table to a protocol of its model; and what sanitise says of such protocols."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, cast

from rich.console import RenderableType

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.aimed import Aimed, other_noise
from privacyfunnel.cli.steward_only import StewardOnly
from privacyfunnel.cli.wide_own import tried
from privacyfunnel.cli.wide_redrawn import how_redrawn
from privacyfunnel.errors import ExactFit
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.counting import noise_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.for_steward import NOT_MEASURED, ForSteward
from privacyfunnel.tables.wide.choosing import FOR_CHOOSING, chosen_columns
from privacyfunnel.tables.wide.fit import check_wide, fit_wide, published_tables


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
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        protocol.save(output, force=force)
    tables = published_tables(protocol)
    with show.working("rehearsing what would do"):
        aimed = Aimed.of(protocol, tables, spec.seconds)
    with show.working("trying it on the table"):
        own = ForSteward(joint).told(lambda exact: tried(protocol, exact)) or StewardOnly(None, f"{NOT_MEASURED}\n")
    left_out = [name for name in counted.joint.attributes if name not in protocol.attributes]
    if json:
        told = {"protocol": str(output), "seconds": time.monotonic() - begun, **published(protocol)}
        told["aim"] = aimed.as_dict() if aimed else None
        told["other_noise"] = other_noise(protocol, tables, spec.seconds)  # which hangs on the clock
        show.as_json({**told, "left_out": left_out, "steward_only": own.data, **next_command.data(then)})
        return
    screen = show.console()
    if left_out:
        screen.print(_left_out(left_out, private), markup=False)
    own.say()
    for line in _lines(protocol, aimed):
        screen.print(line, markup=False)
    screen.print(f"Written: {output}.", markup=False)
    next_command.say(then)


def _left_out(names: list[str], private: float | None) -> str:
    """Which columns --columns auto left out, why, and at which cost."""
    text = (
        f"Left out: {', '.join(names)}. With them there are more combinations than can be rehearsed, and for their "
        "numbers of values they tell least about the secret"
    )
    return f"{text}, by noisy counts that took {FOR_CHOOSING:.0%} of ε₀." if private is not None else f"{text}."


def published(protocol: Protocol) -> dict[str, Any]:
    """What everybody who has the file knows."""
    step, told = protocol.by_model, everything(protocol)
    kept = step.kept
    return {
        "secret": protocol.secret,
        "attributes": list(protocol.attributes),
        "combinations": step.n_outputs,
        "redrawn_by": step.redrawn_by,
        "people": protocol.people,
        "promise": protocol.notion.words(),
        "epsilon": protocol.notion.epsilon,
        "private": step.epsilon,
        "delta": step.delta,
        "noise": step.noise_stated(),
        "everything_published": told.as_dict() if told is not None else None,
        "pairs_of_columns": [[protocol.attributes[j] for j in own] for own in step.model.sets if len(own) > 1],
        "entropy_nats": kept.entropy,
        "information_nats": kept.information,
        "kept_share": kept.information / kept.entropy if kept.entropy else 1.0,
        "rows_unchanged": kept.rows,
        "cells_unchanged": kept.cells,
        "columns_unchanged": dict(zip(protocol.attributes, kept.columns, strict=True)),
    }


def _lines(protocol: Protocol, aimed: Aimed | None) -> list[RenderableType]:
    step, told = protocol.by_model, everything(protocol)
    kept, share = step.kept, protocol.utility / protocol.entropy if protocol.entropy else 1.0
    return [
        f"Promise: {protocol.notion.words()} {told.whom() if told is not None else ''}",
        *([] if aimed is None else aimed.shown(protocol)),
        *([told.words()] if told is not None else []),
        f"All {step.n_outputs:,} combinations of values are covered. By the model, {share:.1%} of "
        f"the information is kept, {kept.rows:.1%} of rows and {kept.cells:.1%} of cells stay as they are.",
        how_redrawn(step),
    ]
