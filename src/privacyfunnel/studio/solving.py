"""What is searched for with what is chosen: the counts that it takes, the search itself, and how rows are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from privacyfunnel.advice.accepting import accepted
from privacyfunnel.advice.merged import merged_for
from privacyfunnel.estimates.error_wish import epsilon_for_errors
from privacyfunnel.optimiser.improving import improve
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.counted import as_fitted, counted
from privacyfunnel.spec.counting import is_modelled, kept_by, noise_of
from privacyfunnel.spec.filled import with_filled
from privacyfunnel.spec.following import Past
from privacyfunnel.spec.of_steps import SanitiseSpec
from privacyfunnel.spec.of_table import OfTable
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio.protecting import Counts, Protection
from privacyfunnel.tables.wide.fit import fit_wide

DRAWING = Spec.model_fields.keys() & SanitiseSpec.model_fields.keys() - {"table"}
"""What a fit and a drawing of rows have in common."""
COUNTING = OfTable.model_fields.keys() | DRAWING | {"after", "improve"}
"""What changes the counts that a search takes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What a search begins with."""

    counts: Counts
    past: Past | None = None
    start: Protocol | None = None


def basis(spec: Spec, counts: Counts, place: Path, protection: Protection, held: dict[Any, Counts]) -> Basis:
    """What a search begins with; `held` are counts that were made before, whose noise stays what it is."""
    if spec.improve is not None:
        start = load_protocol(Path(spec.improve))
        return Basis(_held(held, spec, lambda: Counts(as_fitted(spec, start, place))), start=start)
    past = Past.of(spec)
    if past is not None:
        source, columns = cast(Any, place), None
        if spec.was is not None:
            past, source, columns = past.changing(spec, place)
        before = past.columns
        return Basis(_held(held, spec, lambda: Counts(counted(spec, source, columns, before))), past)
    if spec.person is not None or spec.cluster is not None:
        counts = _held(held, spec, lambda: Counts(counted(spec, place)))
    return Basis(_coarser(spec, counts, protection.private, held))


def protection_for(spec: Spec, protection: Protection) -> Protection:
    """The same for the kept columns, where a part of ε₀ is for those that are filled; with its δ₀."""
    return replace(protection, private=noise_of(spec), delta=spec.delta or None)


def found_by(spec: Spec, basis: Basis, protection: Protection, limits: Mapping[str, Any], place: Path) -> Protocol:
    """The protocol that is asked for, with its filled columns."""
    joint = basis.counts.exact.joint
    if basis.start is not None:
        return improve(basis.start, joint, **limits, gap=spec.gap)
    if is_modelled(spec, joint):
        return fit_wide(joint, cast(Notion, spec.promise()), noise_of(spec), 0.0, spec.delta, limits["time_limit"])
    kept: dict[str, Any] = {**kept_by(spec), **limits}
    joint, past, promise = basis.counts.used(protection).joint, basis.past, spec.promise()
    if past is not None:
        left = {name: kept[name] for name in ("objective", "weights", "gap", "time_limit", "progress")}
        after: dict[str, Any] = {"after": past.protocol, "histories": past.histories, "keep_rows": past.keep_rows}
        return optimise(joint, cast(Notion, promise), cover=past.cover, **left, **after)
    if isinstance(promise, Notion):
        return with_filled(spec, optimise(joint, promise, **kept), place)
    return with_filled(spec, epsilon_for_errors(joint, promise, spec.error or {}, **kept).protocol, place)


def drawing(spec: Spec | None) -> dict[str, Any]:
    """How rows are drawn: of which table, and after what was released of the same people."""
    said = {} if spec is None else {name: one for name, one in spec.said().items() if name in DRAWING}
    for name in ("released", "was"):
        if name in said:
            said[name] = list(map(Path, said[name]))
    if not {"released", "was"} & said.keys():
        said.pop("person", None)
    return {name: one for name, one in said.items() if name not in ("engine", "master")}


def _held(held: dict[Any, Counts], spec: Spec, make: Any) -> Counts:
    key = tuple(sorted((name, repr(one)) for name, one in spec.said().items() if name in COUNTING))
    if key not in held:
        held[key] = make()
    return held[key]


def _coarser(spec: Spec, counts: Counts, private: float | None, held: dict[Any, Counts]) -> Counts:
    """The counts of coarser columns, where that is asked for; the search for them may spend some of ε₀."""
    if spec.coarsen is None:
        return counts
    promise = cast(Notion, spec.promise())
    key = id(counts), spec.coarsen, private, promise if spec.coarsen == "search" else None
    if key not in held:
        if spec.coarsen == "auto":
            exact, spent = accepted(counts.exact, False, True, private)
        else:
            exact, _, spent = merged_for(counts.exact, promise, private, spec.seconds)
        held[key] = Counts(exact, counts.wishes, counts.said, spent)
    return held[key]
