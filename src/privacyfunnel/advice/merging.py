"""Merging for side channels: how finely to release columns so that most is kept for people who know columns as finely.

A promise to people who know columns holds for those who know them as they are read. Read finely, thin cells tell nearly
everything and little can be kept; read coarsely, there is little to keep. In between lies the best, and a search goes
there: from no column at all, one step after the other, where a step reads one column otherwise, adds it or leaves it
out. So what all columns keep is no less than what was found for some of them on the way.

Two bounds make it short. A way keeps at most H(X), so that one with less than the best has kept is not measured. And if
X′ has the columns of X and one more, a release of X′ keeps the promise to those who know columns of X, so that I(X;Y)
is at most what is kept of X at best, and I(X′;Y) ≤ I(X;Y) + H(X′|X). (Not so for a finer column: who knows an age in
decades knows none of the sets of columns of X′, and need not be covered.)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from privacyfunnel.advice.accepting import picked
from privacyfunnel.advice.attackers import CLOSE, Figures, check_search, quick_figures, takes_known, with_known
from privacyfunnel.advice.levels import asked_by
from privacyfunnel.advice.people import People, Place
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.program.state import interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.finer import level_for_finer
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.fitting import FittedColumn
from privacyfunnel.tables.groups import checked_groups

USUAL_SECONDS = 30.0
"""For a search."""
DOWN_TO = 1
"""Texts that are kept beside "other", or ranges, of a column that is released: fewer are none."""
VALUES = 16_000
"""Of all ways together, for which the time should do: each has its part by how many it has."""
FIRST = 10
"""One part in so many of the time is for all columns as they are read, however many values they have."""
LEAST_SECONDS = 0.2
"""For one way, however many there are."""
BESIDE = 2
"""Sets of columns that are followed side by side."""
AGAIN = 3
"""Ways that are measured further at the end: what is found of large ones grows with time."""
AGAIN_SHARE = 0.6
"""Of the time, for that."""
HOPE = 0.1
"""Of what is open between what a way keeps and what none exceeds, what more time is hoped to bring."""
GAINS = 1e-3
"""Of H(X) of all columns: a step that keeps no more than this is none."""

Places = tuple[Place, ...]


@dataclass(frozen=True)
class Way:
    """Columns read in some way, and what a promise to people who know them so keeps of them."""

    columns: tuple[str, ...]
    coarser: Mapping[str, str]
    """What is merged, by column."""
    combinations: int
    entropy: float
    """Nats in the columns, read so."""
    kept: float | None
    """Nats that a certified protocol keeps, found quickly: a longer search may keep more. None: too many attackers."""
    at_most: float
    """Nats: no protocol keeps more."""
    options: tuple[str, ...]
    """How the command line asks for it."""
    arguments: Mapping[str, Any]
    """How `Joint.from_table` does."""

    def words(self) -> str:
        """Its columns, with what is merged."""
        return ", ".join(f"{name} ({self.coarser[name]})" if name in self.coarser else name for name in self.columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Coarsening:
    """The way to release columns that keeps the most, of those that were tried."""

    joint: Joint
    """The distribution of the columns as they are to be read."""
    finer: Joint
    """Of all columns as finely as they are read now."""
    notion: Notion
    best: Way
    as_read: Way
    """All columns as finely as they are read."""
    tried: tuple[Way, ...]
    """What keeps most first."""
    left_out: tuple[str, ...]
    """Columns that are not released."""
    _people: People = field(repr=False)
    _places: Places = field(repr=False)

    def of(self, counted: Counted) -> Counted:
        """Other counts of the same columns, read in this way."""
        return picked(counted, self._people, self._places)

    @property
    def merged(self) -> bool:
        """Whether anything is read otherwise."""
        return bool(self.best.coarser or self.left_out)

    def words(self) -> str:
        """What was merged, and who is not covered for it."""
        if not self.merged:
            return "Nothing is merged: of what was tried, the columns keep most as finely as they are read."
        parts = [f"{name}: {what}" for name, what in self.best.coarser.items()]
        parts += [f"{name}: left out" for name in self.left_out]
        return (
            f"Merged, so that more is kept: {'; '.join(parts)}. The promise does not cover people who know these "
            "columns more finely than that."
        )

    def level_for_finer(self, protocol: Protocol) -> float:
        """The level of a protocol for people who know all columns as finely as they are read now; ∞ if there is none.

        They are not covered, whatever the promise takes to be known: this is for the steward, who knows what people
        may know.
        """
        return level_for_finer(protocol, self.finer, with_known(self.notion, None))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        tried = [way.as_dict() for way in self.tried]
        return {"best": self.best.as_dict(), "as_read": self.as_read.as_dict(), "tried": tried, "words": self.words()}


def coarsen(
    joint: Joint,
    notion: Notion,
    *,
    groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    seconds: float = USUAL_SECONDS,
) -> Coarsening:
    """How finely to read the columns of `joint` so that `notion`, SRLIP or SRLDP, keeps the most of them.

    Neighbouring ranges, the rarest texts, parts of dates, and `groups` of texts (by column and name of the group) may
    be merged, and columns left out. The promise is then to people who know the columns as they are read: somebody who
    knows them more finely is not covered. Figures are found quickly and certified; fit on `.joint`.

    >>> joint = Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]], attributes=["a", "b"])
    >>> found = coarsen(joint, SRLIP(0.5))
    >>> found.best.kept >= found.as_read.kept
    True
    """
    check_search(joint, notion, seconds)
    if joint.noise is not None:
        raise InvalidInput("counts with noise are of the columns as they are: merge before noise is added")
    given = groups or {}
    if not isinstance(given, Mapping):
        raise InvalidInput("groups are given by column, {'town': {'north': ['Ashford', 'Birch']}}")
    absent = sorted(map(str, set(given) - set(joint.attributes)))
    if absent:
        raise InvalidInput(f"there are groups for {absent[0]!r}, which is not an attribute")
    fitted = tuple(checked_groups(FittedColumn(column, ""), given.get(column.name, {})) for column in joint.columns)
    counted = Counted(joint, (), fitted, ())
    return coarsened(counted, notion, seconds)


def coarsened(seen: Counted, notion: Notion, seconds: float) -> Coarsening:
    """How to read columns so that most is kept, by what is `seen` of a table: its counts, or noisy ones."""
    check_task(seen.joint, notion, 1.0, seconds, None)
    if not takes_known(notion):
        raise InvalidPromise("merging is for srlip and srldp: other promises are to people who know no column")
    people = People.of(seen, True, DOWN_TO)
    with interruptible() as interrupted:
        climb = Climb(seen, people, notion, interrupted)
        best = climb.run(seconds)
    joint = picked(seen, people, best).joint
    gone = tuple(name for name in seen.joint.attributes if name not in joint.attributes)
    ways = sorted(climb.measured.values(), key=lambda way: -(way.kept or 0.0))
    kept, as_read = climb.measured[best], climb.measured[climb.as_read]
    return Coarsening(joint, seen.joint, notion, kept, as_read, tuple(ways), gone, people, best)


@dataclass(eq=False)
class Climb:
    """A search for the best way to read columns, and what was measured on the way."""

    seen: Counted
    people: People
    notion: Notion
    interrupted: threading.Event
    measured: dict[Places, Way] = field(default_factory=dict)
    _figures: dict[Places, Figures] = field(default_factory=dict)
    _pace: float = 0.0
    """Seconds for each value of a way."""

    @property
    def as_read(self) -> Places:
        """All columns as finely as they are read."""
        return tuple((j, 0) for j in range(len(self.people.levels)))

    def run(self, seconds: float) -> Places:
        """The best way that is found in so many seconds, with a few more for rounding and proofs."""
        begun, self._pace = ticks(), seconds / VALUES
        self._measure(self.as_read, seconds / FIRST)
        until = begun + (1 - AGAIN_SHARE) * seconds
        self._grow(until)
        self._otherwise(until)
        gained, least = self._further(begun + seconds), self._kept(self.as_read)
        enough = [places for places in self.measured if self._kept(places) >= least]
        return max(enough, key=lambda one: (self._kept(one) + gained.get(one, 0.0), -self.measured[one].combinations))

    def _further(self, until: float) -> dict[Places, float]:
        """Measure the best ways for longer, each once, and then the one that promises most by what it gained last.

        Where they gain no more, others have the time that is left: what was found of a way when there was no time for
        it says little. Returns what they gained: a search of which more time made more will do so again, where what was
        found of another is nearly all there is. Of one that had found less than half, nothing follows.
        """
        ways = sorted(filter(self._open, self.measured), key=self._hoped, reverse=True)
        values = {places: self.measured[places].combinations for places in ways}
        sizes = [values[places] for places in ways[:AGAIN]] or [0]
        pace = (until - ticks()) / max(1, sum(sizes) + max(sizes))
        gains, others = dict.fromkeys(ways[:AGAIN], math.inf), ways[AGAIN:]
        first = {places: self._kept(places) for places in ways}
        least = GAINS * self.people.entropy(*self.as_read)[0]
        while (left := until - ticks()) > LEAST_SECONDS and not self.interrupted.is_set():
            going = [places for places, gain in gains.items() if gain > least]
            if not going and not others:
                break
            places = max(going, key=lambda one: self._kept(one) + gains[one]) if going else others.pop(0)
            before = self._kept(places)
            self._measure(places, min(left, max(LEAST_SECONDS, pace * values[places])))
            gains[places] = self._kept(places) - before
        gained = {places: self._kept(places) - before for places, before in first.items()}
        return {places: gain for places, gain in gained.items() if gain < first[places]}

    def _grow(self, until: float) -> None:
        """From the columns that attackers are named to know on, a column more at a time, as it is read.

        The best BESIDE sets of columns go on, as the best of all may not come from the best one before. The first ones
        are measured however late it is: without them, all columns as they are read would be the best of one.
        """
        columns = range(len(self.people.levels))
        now = [tuple((j, 0) for j in columns if j in self._named)]
        if now[0]:
            self._tried(now[0], (), None)
        while now:
            larger = [(tuple(sorted([*one, (j, 0)])), one) for one in now for j in columns if (j, 0) not in one]
            larger.sort(key=lambda each: self.people.entropy(*each[0])[1])  # small ones take little of the time
            new = {
                places for places, one in larger if self._tried(places, one, until if one else None, self._kept(one))
            }
            now = sorted(new, key=self._kept, reverse=True)[:BESIDE]

    def _otherwise(self, until: float) -> None:
        """From the best way on, columns read otherwise, added or left out: the best step after the other."""
        now = max(self.measured, key=self._kept)
        while True:
            for places in sorted(self._beside(now), key=lambda one: -self._at_most(one, now)):
                self._tried(places, now, until)
            best = max(self.measured, key=self._kept)
            if self._kept(best) <= self._kept(now) + GAINS * self.people.entropy(*self.as_read)[0]:
                return
            now = best

    def _tried(self, places: Places, before: Places, until: float | None, at_least: float | None = None) -> bool:
        """Measure a way unless time is up, it was measured, or it cannot be better; whether that was done.

        Better than the best one, or than `at_least`. Without `until`, time is never up.
        """
        best = max(map(self._kept, self.measured)) if at_least is None else at_least
        late = until is not None and (ticks() >= until or self.interrupted.is_set())
        if late or places in self.measured or self._at_most(places, before) <= best:
            return False
        self._measure(places, max(LEAST_SECONDS, self._pace * self.people.entropy(*places)[1]))
        return True

    def _hoped(self, places: Places) -> float:
        """What more time may make of a way: a part of what is open."""
        return (1 - HOPE) * self._kept(places) + HOPE * self.measured[places].at_most

    def _open(self, places: Places) -> bool:
        """Whether more time may show that a way is the best."""
        way = self.measured[places]
        closed = way.kept is not None and way.at_most - way.kept <= 2 * CLOSE * way.entropy
        return not closed and way.at_most > max(map(self._kept, self.measured))

    def _beside(self, now: Places) -> Iterator[Places]:
        """The ways in which one column is read otherwise, added, or left out."""
        level_of = dict(now)
        for j, levels in enumerate(self.people.levels):
            others = [place for place in now if place[0] != j]
            for fineness in range(len(levels)):
                if fineness != level_of.get(j):
                    yield tuple(sorted([*others, (j, fineness)]))
            if j in level_of and j not in self._named and others:
                yield tuple(others)

    def _at_most(self, places: Places, now: Places) -> float:
        """What a way keeps at most, by its entropy and by what a step adds to that of the one before."""
        most = self.people.entropy(*places)[0]
        if set(now) < set(places) and now in self.measured:
            most = min(most, self.measured[now].at_most + most - self.people.entropy(*now)[0])
        return min(most, self.measured[places].at_most) if places in self.measured else most

    def _kept(self, places: Places) -> float:
        way = self.measured.get(places)
        return 0.0 if way is None or way.kept is None else way.kept

    def _measure(self, places: Places, seconds: float) -> None:
        """What is kept, found in so many seconds; if it was measured before, the search goes on from there."""
        joint = picked(self.seen, self.people, places).joint
        figures = quick_figures(joint, self.notion, seconds, self.interrupted, self._figures.get(places))
        self._figures[places] = figures
        self.measured[places] = self._way(places, joint, figures.kept, figures.at_most)

    def _way(self, places: Places, joint: Joint, kept: float | None, at_most: float) -> Way:
        levels = [self.people.level(place) for place in places]
        arguments: dict[str, Any] = {"attributes": list(joint.attributes), "bins": {}, "top": {}, "dates": {}}
        arguments["groups"] = {}
        for level in levels:
            if level.wish is not None:
                arguments[level.wish[0]][level.column.name] = level.wish[1]
        return Way(
            joint.attributes,
            {level.column.name: level.words for level in levels if level.words},
            joint.n_x,
            joint.entropy,
            kept,
            at_most,
            tuple(as_flags.typed(Spec, asked_by(joint.attributes, levels))),
            arguments,
        )

    @property
    def _named(self) -> set[int]:
        """Columns that attackers are named to know: these are released, if coarsely."""
        known = cast(Any, self.notion).known
        names = known if isinstance(known, tuple) else ()
        return {j for j, levels in enumerate(self.people.levels) if levels[0].column.name in names}
