"""Advice on a wide table: which columns carry the secret, which could be released together, how finely, at which cost.

It is computed from exact counts, so it is for the steward alone.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from privacyfunnel.advice.accepting import picked
from privacyfunnel.advice.carriers import Carrier, carriers
from privacyfunnel.advice.choosing import Fits, choose, room_for_noise, room_for_people, until_there_is_room
from privacyfunnel.advice.levels import asked_by
from privacyfunnel.advice.people import People, Place
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import with_at_least
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.showing.sheet import Mark, Sheet, number, share
from privacyfunnel.showing.shown import Shown
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.frequency_threshold import USUAL
from privacyfunnel.tables.too_fine import FEW, MUCH

USUAL_SECONDS = 9.0
"""For the fits that measure what proposals cost, together."""
LEAST_SECONDS = 1.0
"""For each of them, however long the others took."""
BOTH = "--columns auto --set coarsen=auto"
OPEN = 0.01
"""Of cells or information: what a fit that measures a cost may leave open; what leaves twice that is a lower bound."""
SLOWEST = 10.0
"""Seconds that pass for each of processor time, at most, before a busy machine is not waited for."""

FOR_YOU_ALONE = (
    "For you alone: these figures are exact. Columns that somebody picks by them tell a little about the people, which "
    "ε₀ does not cover; --columns auto picks privately, for a part of ε₀."
)


@dataclass(frozen=True)
class Subset:
    """Columns that could be released together, and what that costs."""

    option: str
    """How the command line asks for it."""
    columns: tuple[str, ...]
    coarser: Mapping[str, str]
    """What is merged, by column."""
    options: tuple[str, ...]
    """The same for the command line, column by column."""
    arguments: Mapping[str, Any]
    """The same for `Joint.from_table`."""
    combinations: int
    share: float
    """Of the people, those whose combination fewer than FEW share."""
    cells_unchanged: float | None = None
    """Of a faithful release with the promise that was asked for."""
    information_kept: float | None = None
    """Of the information in these columns."""
    at_least: bool = False
    """Whether a longer search may find a better release."""

    @property
    def enough(self) -> bool:
        """Whether the columns are not too fine."""
        return self.share <= MUCH


@dataclass(frozen=True)
class Advice(Shown):
    """What can be done about a table with too many columns."""

    people: int
    columns: int
    combinations: int
    share: float
    """Of the people, those whose combination fewer than FEW share."""
    carriers: tuple[Carrier, ...]
    """What each column tells about the secret, most first."""
    proposals: tuple[Subset, ...]
    """The best first."""
    private: bool = False
    """Whether a fit with noise on counts is meant, which needs more people for each combination."""

    @property
    def too_fine(self) -> bool:
        """Whether there is anything to do."""
        return self.share > MUCH

    @property
    def best(self) -> Subset | None:
        """What is proposed first."""
        return self.proposals[0] if self.proposals else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"too_fine": self.too_fine}

    def sheet(self) -> Sheet:
        """What a notebook shows: what columns tell about the secret, and what could be released together."""
        told = "; ".join(f"{one.column} {number(one.alone, 3)}" for one in self.carriers)
        rows = [
            [", ".join(one.columns), f"{one.combinations:,}", share(one.cells_unchanged), share(one.information_kept)]
            for one in self.proposals
        ]
        heads = ("columns", "combinations", "cells unchanged", "information kept")
        lines = [self.words(), FOR_YOU_ALONE, f"Bits that columns tell about the secret: {told}."]
        return Sheet(
            "Advice on a wide table", lines, heads, rows, [Mark(one.information_kept) for one in self.proposals]
        )

    def words(self) -> str:
        """What is wrong, in a sentence."""
        return (
            f"{'Too fine' if self.too_fine else 'Fine enough'}: {self.people:,} people have {self.combinations:,} "
            f"combinations of values in {self.columns} columns, and {self.share:.0%} of them share theirs with fewer "
            f"than {FEW - 1} others."
        )


@dataclass(frozen=True)
class Asked:
    """The release that is meant, so that its cost can be measured; without a promise there is none."""

    promise: Notion | None = None
    objective: Objective = "faithful"
    weights: Mapping[str, float] | None = None
    at_least: int = USUAL


def advise(
    table: Any,
    secret: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    *,
    promise: Notion | None = None,
    objective: Objective = "faithful",
    weights: Mapping[str, float] | None = None,
    at_least: int = USUAL,
    private: bool = True,
    bins: Mapping[str, Sequence[float] | int | str] | None = None,
    top: Mapping[str, int] | None = None,
    dates: Mapping[str, Literal["year", "month", "day"]] | None = None,
    missing: str | Sequence[str] = (),
    domain: Domain | str | Path | None = None,
    seconds: float = USUAL_SECONDS,
) -> Advice:
    """What could be released of a table with many columns: see `Advice`. It looks at exact counts: do not publish it.

    Tables, secrets and attributes are those of `Joint.from_table`. With a `promise`, the cost of each proposal is
    measured by a fit, for some `seconds` in all. `private` says that a private fit is meant.
    """
    wishes = Wishes(bins or {}, top or {}, dates or {}, missing)
    counted = count_table(table, secret, attributes, wishes=wishes, domain=domain, with_identifiers=False)
    return advice_on(counted, Asked(promise, objective, weights, at_least), private, seconds)


def advice_on(counted: Counted, asked: Asked, private: bool, seconds: float = USUAL_SECONDS) -> Advice:
    """Advice on a table that was counted. Seconds are of processor time: a busy machine promises no less."""
    begun, used = time.monotonic(), time.process_time()
    whole, as_read = People.of(counted, True), People.of(counted, False)
    fits = (room_for_noise if private else room_for_people)(whole)
    best = choose(whole, fits)
    told = carriers(whole, best)
    found = [
        (BOTH, best),
        ("--columns auto", choose(as_read, fits)),
        ("--set coarsen=auto", until_there_is_room(whole, fits) or []),
    ]
    found.append(_without_the_first(whole, told, best, fits))
    different: dict[tuple[Place, ...], str] = {}
    for option, places in found:
        if places:
            different.setdefault(tuple(sorted(places)), option)
    pace = min(SLOWEST, max(1.0, (time.monotonic() - begun) / max(time.process_time() - used, LEAST_SECONDS / SLOWEST)))
    until = ticks() + seconds * pace
    proposals = []
    for i, (together, option) in enumerate(different.items()):
        left = max(LEAST_SECONDS * pace, (until - ticks()) / (len(different) - i))
        proposals.append(_proposal(counted, whole, list(together), option, asked, left))
    return Advice(
        whole.total,
        len(whole.levels),
        counted.joint.n_x,
        rare_share(counted),
        told,
        tuple(proposals),
        private,
    )


def rare_share(counted: Counted) -> float:
    """The share of the people whose combination of all columns fewer than FEW share."""
    each = counted.joint.weights.sum(axis=0)
    return float(each[each < FEW].sum()) / counted.joint.total


def _without_the_first(
    people: People, told: Sequence[Carrier], best: Sequence[Place], fits: Fits
) -> tuple[str, list[Place]]:
    """Columns to be released without the one among the best that tells most about the secret."""
    name = next((one.column for one in told if any(people.level(p).column.name == one.column for p in best)), None)
    others = [levels[:0] if levels[0].column.name == name else levels for levels in people.levels]
    left = People(people.people, people.secret, people.secrets, people.declared_secrets, people.codes, tuple(others))
    return "", choose(left, fits)


def _proposal(
    counted: Counted, people: People, places: list[Place], option: str, asked: Asked, seconds: float
) -> Subset:
    """What columns come to; for what they cost, a fit of so many seconds."""
    smaller = picked(counted, people, places)
    levels = [people.level(place) for place in sorted(places)]
    names = smaller.joint.attributes
    options = tuple(as_flags.typed(Spec, asked_by(names, levels)))
    arguments: dict[str, Any] = {"attributes": list(names), "bins": {}, "top": {}, "dates": {}}
    for level in levels:
        if level.wish is not None:
            arguments[level.wish[0]][level.column.name] = level.wish[1]
    cells, kept, short = _cost(smaller.joint, asked, seconds)
    return Subset(
        option or shlex.join(options),
        names,
        {level.column.name: level.words for level in levels if level.words},
        options,
        arguments,
        smaller.joint.n_x,
        people.rare(people.numbered(places)),
        cells,
        kept,
        short,
    )


def _cost(joint: Joint, asked: Asked, seconds: float) -> tuple[float | None, float | None, bool]:
    """Cells unchanged and information kept by the best release that is found in so many seconds."""
    if asked.promise is None:
        return None, None, False
    if asked.at_least > 1:
        joint = with_at_least(joint, asked.at_least)
    weights = {name: weight for name, weight in (asked.weights or {}).items() if name in joint.attributes} or None
    gap = OPEN if asked.objective == "faithful" else OPEN * joint.entropy
    found = optimise(joint, asked.promise, objective=asked.objective, weights=weights, gap=gap, time_limit=seconds)
    kept, like = share_kept(found.utility, found.entropy), found.likeness
    if like is None:
        return None, kept, share_kept(found.upper_bound - found.utility, found.entropy) > 2 * OPEN
    return like.cells_unchanged, kept, like.fidelity_bound - like.fidelity > 2 * OPEN
