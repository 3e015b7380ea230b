"""Tally: how far each clause of a promise is used up, and where one is used up most."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.clause import Clause, level_within
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View
from privacyfunnel.proof.exponentials import log_above
from privacyfunnel.proof.verdict import Certificate, Level, Worst
from privacyfunnel.typing import Integers


class Tally:
    """What all clauses come to: how far each is used up, and where one is used up most."""

    def __init__(self, notion: Notion, worst: Worst | None = None) -> None:
        self._notion, self._worst, self._share = notion, worst, -1.0
        self._reached: dict[int, tuple[Clause, Limits, bool]] = {}

    def count(self, clause: Clause, view: View, name: str, ratio: Fraction | None, place: Integers, kept: bool) -> None:
        """A view's largest ratio of a kind, and whether the clause allows it."""
        got = log_of(ratio)
        _, reached, holds = self._reached.get(id(clause), (clause, Limits(0.0, 0.0, 0.0), True))
        reached = replace(reached, **{name: max(got, reached.named()[name])})
        self._reached[id(clause)] = clause, reached, holds and kept
        if math.isfinite(clause.limits.named()[name]):
            alone = replace(Limits(0.0, 0.0, 0.0), **{name: got})
            own = level_within([clause], [alone], self._notion.epsilon)
            if own > self._share:
                self._share, self._worst = own, worst_at(clause.joint, view, place, ratio, falls=name == "lower")

    def certificate(self) -> Certificate:
        """The verdict."""
        found = list(self._reached.values())
        level = level_within([clause for clause, _, _ in found], [got for _, got, _ in found], self._notion.epsilon)
        reached = reduce(Limits.wider, (got for _, got, _ in found), Limits(0.0, 0.0, 0.0))
        holds = all(kept for _, _, kept in found)
        line = level_line(self._notion, level)
        return Certificate(holds, self._notion, level, self._worst, reached, line, levels=self._levels())

    def _levels(self) -> tuple[Level, ...]:
        """Of every subject, the clause that is used up most."""
        levels: dict[str, Level] = {}
        for clause, reached, holds in self._reached.values():
            found = Level(clause.subject, clause.level_of(reached), clause.epsilon, holds)
            before = levels.get(clause.subject, found)
            worse = found.level * before.promised >= before.level * found.promised
            levels[clause.subject] = replace(found if worse else before, holds=found.holds and before.holds)
        return tuple(levels.values())


def level_line(notion: Notion, level: float) -> str:
    """What a level means beside the promise."""
    if notion.simple:
        return f"{notion.name} level {level:.9g}, promised {notion.epsilon:g}"
    return f"{level / (notion.epsilon or PERFECT_LEVEL):.9g} times what is promised"


def log_of(ratio: Fraction | None) -> float:
    """The logarithm of a ratio, rounded up; None is ∞."""
    return math.inf if ratio is None else log_above(ratio)


def limits_above(fall: Fraction, rise: Fraction, odds: Fraction | None) -> Limits:
    """How far down, up and apart lifts from `fall` to `rise` go, two of them `odds` apart (None: ∞), rounded up."""
    return Limits(lower=log_of(1 / fall if fall else None), upper=log_above(rise), spread=log_of(odds))


def worst_at(joint: Joint, view: View, place: Integers, ratio: Fraction | None, falls: bool) -> Worst:
    """Where a ratio is that large: place = (output, cell, secret, the secret it is compared with or −1)."""
    output, cell, s, t = (int(part) for part in place)
    lift = ratio
    if falls:
        lift = 1 / ratio if ratio is not None else Fraction(0)
    x = int(np.flatnonzero(view.cell == cell)[0])
    known = {joint.attributes[j]: joint.values[x, j] for j in view.known}
    return Worst(joint.secret_values[s], output, lift, joint.secret_values[t] if t >= 0 else None, known)
