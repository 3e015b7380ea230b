"""Settling: who of today's people is new, unchanged, changed or gone, and what each of them is given.

Somebody who was released by this protocol before, from other values than today's, keeps the row they have. A new row,
even one drawn quite by itself, would tell that something changed, and nothing is promised about what that tells. See
docs/over-time.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.tables.remembered.records import PeopleFile, Records, kind_of
from privacyfunnel.tables.remembered.staying import Staying

Changed = Literal["keep", "drop"]
CHANGED: tuple[Changed, ...] = ("keep", "drop")
History = tuple[int, ...]
"""How often somebody was drawn by each protocol, always from the same values."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier release: the number of its protocol (0: today's), and its people."""

    protocol: int
    people: PeopleFile


@dataclass
class Stay:
    """People who are followed up: whose values are as they were, and whose rows say what they said."""

    unchanged: int = 0
    unchanged_kept: int = 0
    changed: int = 0
    changed_kept: int = 0

    def add(self, same: NDArray[np.bool_], kept: NDArray[np.bool_]) -> None:
        """Some more people."""
        self.unchanged += int(same.sum())
        self.unchanged_kept += int((same & kept).sum())
        self.changed += int((~same).sum())
        self.changed_kept += int((~same & kept).sum())


@dataclass
class Tally:
    """How many people there are of each kind."""

    new: int = 0
    """Released for the first time."""
    again: int = 0
    """Released before, but not by this protocol."""
    followed: int = 0
    """Of these, by the protocol that today's follows."""
    unchanged: int = 0
    """Released by this protocol before, from the same values: they keep their row."""
    changed: int = 0
    """Released before, from other values."""
    stayed: int = 0
    """Released by this protocol the last time, and in the table today."""
    stuck: int = 0
    """Changed since another protocol's release: they have no row of this one to keep."""
    stay: Stay = field(default_factory=Stay)
    """Of people who are followed up, where the table has what they were and are."""
    histories: Counter[History] = field(default_factory=Counter)
    """Of people of whom something new is told, everything that has been released of them, today's release included."""


def settle(
    today: Records,
    earlier: Sequence[Earlier],
    changed: Changed,
    tally: Tally,
    follows: Sequence[int] = (-1,),
    staying: Staying | None = None,
) -> tuple[Records, Records]:
    """Records as they are released, and those of people whose row is not the one they would be drawn today.

    `today` is sorted, with a mark for each protocol. Numbers of people are added to `tally`. follows[p] is the number
    of the protocol that p follows; what a follow-up is drawn from was drawn with it. `staying` tells whose row stays
    what it was.
    """
    n, outputs = len(today), today["y"].shape[1]
    past = _Past.of(today, earlier)
    before = past.before(follows)
    moved = past.moved & ~past.own
    differs = past.own & (past.own_mark != today["mark"][:, 0])
    tally.stayed += past.stayed
    tally.new += int((~past.known).sum())
    tally.again += int((past.known & ~past.own & ~moved).sum())
    followed = past.known & ~past.own & ~moved & before
    tally.followed += int(followed.sum())
    if staying is not None:
        tally.stay.add(today["same"][followed] == 1, staying.kept(today["y"][followed]))
    tally.unchanged += int((past.own & ~differs).sum())
    tally.changed += int((differs | moved).sum())
    if changed == "keep":
        tally.stuck += int(moved.sum())
    released = np.empty(n, dtype=kind_of(outputs))
    for name in ("hi", "lo", "y"):
        released[name] = today[name]
    released["mark"] = today["mark"][:, :1]
    other = differs | moved
    if changed == "keep":
        released["y"][differs], released["mark"][differs, 0] = past.own_y[differs], past.own_mark[differs]
        other = differs
    else:
        released["y"][other] = -1
    _note(past.draws[~past.own & ~moved], tally)
    return released[released["y"][:, 0] >= 0], released[other]


def _note(draws: NDArray[np.int64], tally: Tally) -> None:
    """Count the histories of people of whom something new is told: what they had, and one draw by today's protocol."""
    if not len(draws):
        return
    draws[:, 0] += 1
    code = np.zeros(len(draws), dtype=np.int64)
    seen: list[History] = [()]
    for column in draws.T:  # one protocol after the other: there are few different histories
        most = int(column.max()) + 1
        used, code = np.unique(code * most + column, return_inverse=True)
        seen = [(*seen[place // most], place % most) for place in used.tolist()]
    for history, people in zip(seen, np.bincount(code).tolist(), strict=True):
        tally.histories[history] += people


@dataclass(frozen=True, eq=False)
class _Past:
    """What was released of today's people before."""

    known: NDArray[np.bool_]
    """Released at all."""
    own: NDArray[np.bool_]
    """Released by today's protocol; its last record has this mark, and this output."""
    own_mark: NDArray[np.uint64]
    own_y: NDArray[np.int32]
    moved: NDArray[np.bool_]
    """Released by another protocol, from other values than today's."""
    stayed: int
    """How many were in the last release by today's protocol."""
    draws: NDArray[np.int64]
    """draws[i, p]: how many different draws person i has had by protocol p."""

    def before(self, follows: Sequence[int]) -> NDArray[np.bool_]:
        """Who was released by the protocol that today's follows, by itself or with one that follows it, too."""
        if follows[0] < 0:
            return np.zeros_like(self.known)
        with_it = [p for p in range(1, len(follows)) if follows[0] in _chain(p, follows)]
        return np.asarray(self.draws[:, with_it].any(axis=1))

    @classmethod
    def of(cls, today: Records, earlier: Sequence[Earlier]) -> _Past:
        n, protocols = today["mark"].shape
        known, own, moved = (np.zeros(n, dtype=bool) for _ in range(3))
        own_mark, own_y = np.zeros(n, dtype=np.uint64), np.zeros_like(today["y"])
        stayed, draws = 0, np.zeros((n, protocols), dtype=np.int64)
        marks: list[list[tuple[NDArray[np.bool_], NDArray[np.uint64]]]] = [[] for _ in range(protocols)]
        for release in earlier:
            p = release.protocol
            found, records = release.people.find(today)
            mark = np.zeros(n, dtype=np.uint64)
            mark[found] = records["mark"][:, 0]
            seen = np.zeros(n, dtype=bool)
            for before, its_mark in marks[p]:
                seen |= before & (its_mark == mark)
            draws[:, p] += found & ~seen
            marks[p].append((found, mark))
            known |= found
            if p == 0:
                own |= found
                stayed = int(found.sum())
                own_mark[found], own_y[found] = mark[found], records["y"]
            else:
                moved |= found & (mark != today["mark"][:, p])
        return cls(known, own, own_mark, own_y, moved, stayed, draws)


def _chain(p: int, follows: Sequence[int]) -> list[int]:
    """A protocol, and all that it follows."""
    return [p, *_chain(follows[p], follows)] if follows[p] >= 0 else [p]
