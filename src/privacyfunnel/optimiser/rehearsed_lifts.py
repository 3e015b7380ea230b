"""What rows tell of the people of one table: the lifts of single outputs, and of groups of rows that an attacker finds.

The promise is about the distribution that a protocol was made for. Here lifts are those of a counted table: of the
event s given the output y (and the cell c of what is known beforehand), P(s|y,c) / P(s|c) over these people. Single
outputs may have few people, so that nobody could learn their lifts. Groups are what an attacker learns: one who is
shown half of the people, with their secrets, sorts outputs by what they learned of P(s|y) (`beliefs`), and the lifts of
the first and the last 5% of the rows are those that the other half has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import LARGEST_LOG
from privacyfunnel.optimiser.learned_beliefs import beliefs
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.aim import GROUP
from privacyfunnel.protocols.chances import Drawn, summed
from privacyfunnel.typing import Integers, Matrix, Vector

HAIR = 1e-6
"""Of a limit: what is beyond by so little are rounding errors, since channels are made right up to it."""
SURE = 2.0
"""Standard errors: what is as far off happens by chance in one case of twenty."""


def clauses_of(promise: Notion, joint: Joint, faint: Integers | None = None) -> list[Clause]:
    """The clauses of a promise, about events with a value of the secret that shows through the noise."""
    found = []
    for clause in promise.clauses(joint):
        event = np.arange(joint.n_s) if clause.joint.events is None else clause.joint.events
        shown = set(np.delete(event, [] if faint is None else faint).tolist())
        about = tuple(s for s in (range(clause.joint.n_s) if clause.about is None else clause.about) if s in shown)
        if about:
            found.append(replace(clause, about=about))
    return found


def share_within(drawn: Drawn, people: int, clauses: Sequence[Clause]) -> float:
    """The share of released rows whose lifts are all within the limits, or beyond them by no more than chance.

    For each attacker that the promise speaks of. Of n people released as y, some √m have s by chance where m are
    expected to, so that a lift of few people says nothing that anybody could go by.
    """
    kept, mass = np.ones(len(drawn.person), dtype=np.bool_), np.zeros(0)
    for clause in clauses:
        own, mass = clause.joint.p, clause.joint.p_x[drawn.person] * drawn.chance
        for view in clause.views:
            cell = view.cell[drawn.person]
            places, at = np.unique(cell * drawn.outputs + drawn.output, return_inverse=True)
            known, output, at = places // drawn.outputs, places % drawn.outputs, at.ravel()
            given = np.stack([summed(at, row[drawn.person] * drawn.chance) for row in own])
            lost = np.stack([np.bincount(view.cell, weights=row * drawn.lost) for row in own])
            given += lost[:, known] * drawn.common[output]
            prior = np.stack([np.bincount(view.cell, weights=row) for row in own])
            kept &= _within(people * given, (prior / prior.sum(axis=0))[:, known], clause, SURE)[at]
    return min(1.0, float(mass[kept].sum() / mass.sum())) if len(mass) else 1.0


def _within(given: Matrix, prior: Matrix, clause: Clause, sure: float = 0.0) -> NDArray[np.bool_]:
    """Whether lifts are within the limits of a clause, give or take so many standard errors.

    They are those of given[e, i] people with event e, where P(e) is prior[e, i].
    """
    expected, about = prior * given.sum(axis=0), list(range(len(given)) if clause.about is None else clause.about)
    limits, given, expected = clause.limits.granted(), given[about], expected[about]
    most = expected * math.exp(min(limits.upper, LARGEST_LOG))
    least = expected * math.exp(-limits.lower)
    kept = given <= most * (1 + HAIR) + sure * np.sqrt(most)
    kept &= given >= least * (1 - HAIR) - sure * np.sqrt(least)
    found = np.asarray(kept.all(axis=0))
    if math.isfinite(limits.spread):
        lift = np.divide(given, expected, out=np.ones_like(given), where=expected > 0)
        error = sure * np.sqrt(np.divide(lift, expected, out=np.zeros_like(given), where=expected > 0))
        apart = np.maximum(lift - error, 0.0).max(axis=0) <= math.exp(limits.spread) * (lift + error).min(axis=0) * (
            1 + HAIR
        )
        found &= apart
    return found


@dataclass(frozen=True, eq=False)
class Group:
    """Rows of a group and of all that it was taken from, counted by the events of a clause."""

    clause: Clause
    about: int
    """The event by whose belief rows were sorted."""
    first: bool
    """Whether it has the rows that tell least of it, rather than most."""
    own: Vector
    whole: Vector

    def with_others(self, other: Group) -> Group:
        """The same group of another table."""
        return Group(self.clause, self.about, self.first, self.own + other.own, self.whole + other.whole)

    @property
    def lift(self) -> float:
        """The lift of the event that it was sorted by."""
        prior = self.whole[self.about] / self.whole.sum()
        return float(self.own[self.about] / self.own.sum() / prior) if prior else 1.0

    @property
    def within(self) -> bool:
        """Whether all its lifts are within the limits of its clause."""
        return self._kept(0.0)

    @property
    def surely_beyond(self) -> bool:
        """Whether one is beyond them by more than chance."""
        return not self._kept(SURE)

    def _kept(self, sure: float) -> bool:
        return bool(_within(self.own[:, None], (self.whole / self.whole.sum())[:, None], self.clause, sure).all())


def groups_found(drawn: Drawn, clauses: Sequence[Clause], rng: np.random.Generator) -> list[Group]:
    """For every event, the rows that tell least and most of it, as found by one who knows the other half's secrets."""
    found = []
    for clause in clauses:
        people = clause.joint.weights.astype(np.float64)
        half = rng.binomial(people.astype(np.int64), 0.5).astype(np.float64)
        for learned, tried in ((half, people - half), (people - half, half)):
            found += _groups(clause, drawn.released(learned), drawn.released(tried), drawn.codes)
    return found


def _groups(clause: Clause, learned: Matrix, tried: Matrix, codes: Integers) -> list[Group]:
    """The groups of the released people tried[e, y], sorted by what learned[e, y] tells."""
    rows, belief, found = tried.sum(axis=0), beliefs(learned, codes), []
    for s in range(len(belief)) if clause.about is None else clause.about:
        rising = np.argsort(belief[s], kind="stable")
        for first, order in ((True, rising), (False, rising[::-1])):
            taken = np.clip(GROUP * rows.sum() - (np.cumsum(rows[order]) - rows[order]), 0.0, rows[order])
            part = np.divide(taken, rows[order], out=np.zeros_like(taken), where=rows[order] > 0)
            found.append(Group(clause, s, first, tried[:, order] @ part, tried.sum(axis=1)))
    return found


def together(several: Sequence[list[Group]]) -> list[Group]:
    """The groups of several tables, and of both halves of each, as one each."""
    pooled: dict[tuple[int, int, bool], Group] = {}
    for found in several:
        places: dict[int, int] = {}
        for group in found:
            place = places.setdefault(id(group.clause), len(places))
            key = place, group.about, group.first
            pooled[key] = pooled[key].with_others(group) if key in pooled else group
    return list(pooled.values())
