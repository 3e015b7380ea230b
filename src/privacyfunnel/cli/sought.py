"""What funnel fit is asked for: what is sought, and which counts it is sought with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import typer

from privacyfunnel.advice.advise import Asked
from privacyfunnel.cli import following, found_follow_up, options, show
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.gaussian import checked_model_delta
from privacyfunnel.drawing.laplace import checked_delta, checked_epsilon
from privacyfunnel.errors import InvalidInput, TooManyReadAsOthers
from privacyfunnel.estimates.error_wish import ErrorWish, epsilon_for_errors
from privacyfunnel.optimiser.aiming import optimise_inside
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
from privacyfunnel.protocols.any_file import load as load_protocol
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.fitting import FittedColumn
from privacyfunnel.tables.frequency_threshold import USUAL, of_noisy
from privacyfunnel.tables.private_counts import USUAL_EPSILON

NOT_RUINED = (
    "release fewer columns, wider ranges (--bins) or fewer values (--top), let --columns auto --coarsen auto choose, "
    "fit a --model, or --insist"
)
"""What to do where too many people would be read as others."""


@dataclass(frozen=True)
class Sought:
    """What is sought."""

    promise: Notion | Callable[[float], Notion]
    """Or, with `keep`, the promises among which the smallest ε is sought."""
    keep: float | None
    objective: Objective
    weights: dict[str, float] | None
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
        if self.exact and self.readers:
            raise InvalidInput("--exact goes with one protocol for its cells, so without --readers")
        if self.exact and self.errors and self.objective != "faithful":
            raise InvalidInput("--exact with --error is for rows that are counted: --objective faithful")
        if self.readers is None and not self.errors and self.give_up != USUAL_GIVE_UP:
            raise InvalidInput("--give-up says what readers may cost, so it needs --readers")
        if self.keep is not None and self.readers is not None:
            raise InvalidInput("--keep finds the most information, so it goes without --readers")

    def follow(self, counted: Counted, past: following.Past) -> found_follow_up.FoundFollowUp:
        """The best follow-up to what was released before."""
        begun = time.monotonic()
        with show.search_progress(self.objective) as progress, noticing_stops() as stopped:
            protocol = optimise(
                counted.joint, cast(Notion, self.promise), objective=self.objective, weights=self.weights, gap=self.gap,
                time_limit=self.time_limit, progress=progress, after=past.protocol, histories=past.histories,
                keep_rows=past.keep_rows, cover=past.cover,
            )  # fmt: skip
        ending = show.Ending(time.monotonic() - begun, stopped.is_set())
        with show.working("measuring what was found"):
            return found_follow_up.FoundFollowUp.of(counted, cast(FollowUp, protocol), past, ending)

    def for_advice(self, at_least: int) -> Asked:
        """The release whose cost advice measures: with a promise to the people in the table."""
        plain = isinstance(self.promise, Notion) and self.promise.confidence is None
        promise = cast(Notion, self.promise) if plain else None
        return Asked(promise, self.objective, self.weights, at_least)

    def with_the_rest_of(self, seconds: float | None, share: float, gone: Sequence[str] = ()) -> Sought:
        """The same when a share of the time is spent, and some columns are left out: their cells have no weight."""
        weights = self.weights and {name: weight for name, weight in self.weights.items() if name not in gone}
        return replace(self, time_limit=None if seconds is None else (1 - share) * seconds, weights=weights)

    def known_of(self) -> Notion | None:
        """The promise whose assumption about attackers is weighed: one for all columns, sought anew."""
        plain = isinstance(self.promise, Notion) and self.start is None and not self.exact
        return cast(Notion, self.promise) if plain else None

    def best(
        self, joint: Joint, progress: Callable[[Progress], None] | None
    ) -> tuple[Protocol, Wish | ErrorWish | None]:
        """The protocol and, if only a share was asked for, how its ε was found."""
        if self.start is not None:
            return improved(self.start, joint, gap=self.gap, time_limit=self.time_limit, progress=progress), None
        kept: dict[str, Any] = {"objective": self.objective, "weights": self.weights}
        kept |= {"time_limit": self.time_limit, "progress": progress, "exact": self.exact or None}
        who: dict[str, Any] = {"readers": self.readers, "give_up": self.give_up}
        if not isinstance(self.promise, Notion) and self.errors:
            by_error = epsilon_for_errors(joint, self.promise, self.errors, gap=self.gap, **kept, **who)
            return by_error.protocol, by_error
        if not isinstance(self.promise, Notion):
            wish = epsilon_for(joint, self.promise, self.keep or 0.0, gap=self.gap, **kept)
            return wish.protocol, wish
        return optimise_inside(joint, self.promise, gap=self.gap, **kept, **who), None


@dataclass(frozen=True)
class CountsAsked:
    """What is computed from: counts with noise, or exact ones; and how rare a combination may be."""

    private: float | None
    delta: float | None
    at_least: int
    choosing: float = 0.0
    """What choosing the columns spent of ε₀."""
    insist: bool = False
    """Whether many people may be read as having another combination of values."""

    @classmethod
    def asked(
        cls,
        private: float | None,
        exact: bool,
        delta: float | None,
        at_least: int | None,
        without: str | None,
        within: str | None,
        model: bool = False,
        insist: bool = False,
    ) -> CountsAsked:
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
            None if delta is None else checked_model_delta(delta) if model else checked_delta(delta),
            usual if at_least is None else at_least,
            insist=insist,
        )

    def of(self, counted: Counted) -> Counted:
        """The counts that everything else is computed from; refused where they say that a table would be ruined."""
        try:
            return counted.safely(
                self.private, delta=self.delta, at_least=self.at_least, choosing=self.choosing, insist=self.insist
            )
        except TooManyReadAsOthers as trouble:
            raise InvalidInput(f"{trouble.what}: {NOT_RUINED}", steward_only=trouble.steward_only) from None

    def less(self, spent: float) -> CountsAsked:
        """What is left for the counts when choosing the columns has spent some of ε₀."""
        return replace(self, private=None if self.private is None else self.private - spent, choosing=spent)


def without_threshold(kinds: list[str], confidence: float | None) -> str | None:
    """Why there is no frequency threshold, if there is none."""
    knowing = [kind for kind in kinds if kind != Belief.name and "known" in options.kind(kind).parameters()]
    if knowing:
        return f"{knowing[0]} is for attackers who know columns as they are"
    if confidence is not None:
        return "--confidence speaks of every combination of values"
    return None


def for_population(
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


IMPROVING = {"table", "output", "improve", "where", "delimiter", "encoding", "gap", "time_limit", "force", "json"}
"""What may be said beside --improve: all else is in the protocol."""


def to_improve(context: typer.Context, path: Path, gap: float | None, time_limit: float | None) -> Sought:
    """What is sought to improve a protocol."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in IMPROVING and source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--improve takes all from its protocol, so it goes without {parameter.opts[0]}")
    start = load_protocol(path)
    return Sought(start.notion, None, start.objective, None, gap, time_limit, start)


def as_fitted(protocol: Protocol, table: Path, delimiter: str | None, encoding: str, where: str | None) -> Counted:
    """The counts that a protocol was fitted on: its own, if it is private; else those of the table."""
    fitted = tuple(FittedColumn(column, "as in the protocol") for column in protocol.columns)
    if protocol.noise is not None:
        joint = published_joint(protocol)
        return Counted(joint, (), fitted, (), threshold=of_noisy(joint))
    joint = audited_joint(protocol, table, delimiter=delimiter, encoding=encoding, where=where)
    return Counted(joint, (), fitted, ()).safely(None, at_least=protocol.at_least, insist=True)
