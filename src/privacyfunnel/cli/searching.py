"""The search that a Spec asks for: the best protocol, the smallest ε, a better protocol, or a follow-up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from privacyfunnel.advice.advise import Asked
from privacyfunnel.cli import found_follow_up, show
from privacyfunnel.cli.found import Found
from privacyfunnel.estimates.error_wish import ErrorWish, epsilon_for_errors
from privacyfunnel.optimiser.aiming import optimise_inside
from privacyfunnel.optimiser.improving import improve
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.program.state import noticing_stops
from privacyfunnel.optimiser.smallest_epsilon import Wish, epsilon_for
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.counting import kept_by, threshold_of
from privacyfunnel.spec.following import Past
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted


def search(spec: Spec, counted: Counted, start: Protocol | None) -> Found:
    """The best protocol, sought anew or from a first one, and what was measured of it."""
    begun = time.monotonic()
    kept = spec.kept if start is None else start.objective
    with show.search_progress(kept) as progress, noticing_stops() as stopped:
        protocol, wish = _best(spec, counted, start, progress)
    seconds = time.monotonic() - begun
    with show.working("measuring what was found"):
        ending = show.Ending(seconds, stopped.is_set() or seconds >= spec.seconds)
        return Found.of(counted, protocol, wish, ending, spec.seconds)


def _best(
    spec: Spec, counted: Counted, start: Protocol | None, progress: Any
) -> tuple[Protocol, Wish | ErrorWish | None]:
    """The protocol and, if only a share was asked for, how its ε was found."""
    joint = counted.joint
    limits: dict[str, Any] = {"gap": spec.gap, "time_limit": spec.seconds, "progress": progress}
    if start is not None:
        return improve(start, joint, **limits), None
    kept = kept_by(spec) | limits
    promise = spec.promise()
    if isinstance(promise, Notion):
        return optimise_inside(joint, promise, **kept), None
    if spec.error is not None:
        by_error = epsilon_for_errors(joint, promise, spec.error, **kept)
        return by_error.protocol, by_error
    alike = {name: one for name, one in kept.items() if name not in ("readers", "give_up")}
    wish = epsilon_for(joint, promise, spec.keep or 0.0, **alike)
    return wish.protocol, wish


def follow(spec: Spec, counted: Counted, past: Past) -> found_follow_up.FoundFollowUp:
    """The best follow-up to what was released before."""
    begun = time.monotonic()
    with show.search_progress(spec.kept) as progress, noticing_stops() as stopped:
        protocol = optimise(
            counted.joint, cast(Notion, spec.promise()), objective=spec.kept, weights=spec.weight, gap=spec.gap,
            time_limit=spec.seconds, progress=progress, after=past.protocol, histories=past.histories,
            keep_rows=past.keep_rows, cover=past.cover,
        )  # fmt: skip
    ending = show.Ending(time.monotonic() - begun, stopped.is_set())
    with show.working("measuring what was found"):
        return found_follow_up.FoundFollowUp.of(counted, protocol, past, ending)


def for_advice(spec: Spec) -> Asked:
    """The release whose cost advice measures: with a promise to the people in the table."""
    promise = spec.promise()
    plain = promise if isinstance(promise, Notion) and promise.confidence is None else None
    return Asked(plain, spec.kept, spec.weight, threshold_of(spec))


def promise_to_knowing(spec: Spec) -> Notion | None:
    """The promise whose assumption about attackers is weighed: one for all columns, sought anew."""
    if spec.improve is not None or spec.keep_exact is not None:
        return None
    promise = spec.promise()
    return promise if isinstance(promise, Notion) else None


def with_the_rest_of(spec: Spec, share: float, gone: Sequence[str]) -> Spec:
    """The same when a share of the time is spent, and some columns are left out: their cells have no weight."""
    weights = {name: weight for name, weight in (spec.weight or {}).items() if name not in gone}
    return spec.model_copy(update={"time_limit": (1 - share) * spec.seconds, "weight": weights or None})
