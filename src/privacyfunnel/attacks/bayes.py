"""The Bayes attacker: who knows p(s, x) and the protocol, and believes exactly what a released row says.

No attacker does better with the same knowledge, and every belief here is a quotient of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.exact import INT64_BITS
from privacyfunnel.numeric.information import NATS_PER_BIT, plogp
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.promises.clause import Clause, level_within
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import families, numbers_of
from privacyfunnel.promises.views import View
from privacyfunnel.proof.certificate import bound_of
from privacyfunnel.proof.tally import limits_above
from privacyfunnel.typing import Exact, Integers, Matrix

ALMOST = 1 - 16 * np.finfo(np.float64).eps
"""Quotients are rounded, so the true extreme is among those that nearly are."""


@dataclass(frozen=True)
class Attacker:
    """What somebody who knows some attributes of a person beforehand can come to believe of their secret."""

    known: tuple[str, ...]
    """The attributes they know; none, for somebody who only sees the released row."""
    promised: bool
    """Whether the promise is about them."""
    within: bool
    """Whether their beliefs stay within the limits of the promise, in exact arithmetic."""
    rise: Fraction
    """The largest factor by which a belief rises: P(s|y, known) / P(s|known)."""
    fall: Fraction
    """The smallest factor, for a belief that falls."""
    belief: tuple[Fraction, Fraction]
    """The belief that rises most, before and after."""
    odds: Fraction | None
    """The largest factor by which the odds between two values of the secret change; None if infinite."""
    before: Fraction
    """How often the best guess of the secret is right, without the released row."""
    after: Fraction
    """The same with the released row."""
    original: Fraction
    """The same with the original row instead."""
    after_bits: float
    """I(S;Y|known): what the released row tells of the secret on average."""
    original_bits: float
    """I(S;X|known)."""

    @property
    def level(self) -> float:
        """The largest |ln P(s|y, known) / P(s|known)|, rounded up."""
        reached = limits_above(self.fall, self.rise, self.odds)
        return max(reached.lower, reached.upper)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; no value of the secret is in it."""
        return {
            "known": list(self.known),
            "promised": self.promised,
            "within": self.within,
            "belief_grows_at_most": float(self.rise),
            "belief_falls_at_most": float(self.fall),
            "belief_that_grows_most": [float(belief) for belief in self.belief],
            "odds_change_at_most": float(self.odds) if self.odds is not None else math.inf,
            "level": self.level,
            "best_guess_before": float(self.before),
            "best_guess_after": float(self.after),
            "best_guess_original": float(self.original),
            "leakage_bits": self.after_bits,
            "leakage_bits_original": self.original_bits,
        }


def bayes(outcomes: Outcomes, joint: Joint, notion: Notion, known: int | Sequence[str] | None = None) -> list[Attacker]:
    """The Bayes attackers who know each set of attributes, the one who knows nothing first."""
    clauses = notion.clauses(joint)
    promised = {tuple(sorted(view.known)): view for clause in clauses for view in clause.views}
    asked = [J for J in _asked_for(joint, known) if J not in promised]
    every = dict.fromkeys([(), *promised, *asked])
    return [_attacker(outcomes, joint, View.of(J, joint), clauses, J in promised) for J in while_awaited(every)]


@dataclass(frozen=True)
class Told:
    """What the best attackers learn of one thing that a promise speaks of: a secret, one of its values, a border."""

    subject: str
    rise: Fraction
    """The largest factor by which a belief in one of its events rises, for those whom the promise is about."""
    fall: Fraction
    odds: Fraction | None
    belief: tuple[Fraction, Fraction]
    """The belief that rises most, before and after."""
    level: float
    """The smallest ε of this part by itself, or the largest belief, rounded up."""
    promised: float
    within: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "subject": self.subject,
            "belief_grows_at_most": float(self.rise),
            "belief_falls_at_most": float(self.fall),
            "belief_that_grows_most": [float(belief) for belief in self.belief],
            "level": self.level,
            "promised": self.promised,
            "within": self.within,
        }

    def words(self) -> str:
        """A line for people."""
        before, after = (float(belief) for belief in self.belief)
        moves = f"the belief that grows most goes from {before:.1%} to {after:.1%}"
        verdict = "within its limit" if self.within else "BEYOND its limit"
        return f"{self.subject}: level {self.level:.4g}, promised {self.promised:g}: {verdict}; {moves}."


def told_of_each(outcomes: Outcomes, joint: Joint, notion: Notion) -> tuple[tuple[Clause, Limits, Told], ...]:
    """What attackers learn of everything that a promise speaks of, clause by clause."""
    found = []
    for clause in notion.clauses(joint):
        reached, worst, within = Limits(0.0, 0.0, 0.0), None, True
        for view in while_awaited(clause.views):
            belief, fall, odds = _Sight.of(outcomes, clause.joint, view).extremes(clause.about)
            rise = belief[1] / belief[0]
            reached = reached.wider(limits_above(min(fall, Fraction(1)), max(rise, Fraction(1)), odds))
            within = within and _within(rise, fall, odds, clause)
            if worst is None or rise > worst[1]:
                worst = belief, rise, fall, odds
        belief, rise, fall, odds = cast(Any, worst)
        level = clause.level_of(reached)
        found.append((clause, reached, Told(clause.subject, rise, fall, odds, belief, level, clause.epsilon, within)))
    return tuple(found)


def _asked_for(joint: Joint, known: int | Sequence[str] | None) -> list[tuple[int, ...]]:
    """The sets of attributes that are asked for: by default, every attribute by itself."""
    m = len(joint.attributes)
    if known is None:
        return [(j,) for j in range(m) if m > 1]
    if isinstance(known, int):
        usable, most = list(range(m)), min(max(known, 0), m)
    else:
        usable = sorted(numbers_of([known] if isinstance(known, str) else list(known), joint))
        most = len(usable)
    return families(usable, most)


def _attacker(outcomes: Outcomes, joint: Joint, view: View, clauses: Sequence[Clause], promised: bool) -> Attacker:
    sight = _Sight.of(outcomes, joint, view)
    belief, fall, odds = sight.extremes()
    rise = belief[1] / belief[0]
    total = joint.total
    return Attacker(
        known=tuple(joint.attributes[j] for j in view.known),
        promised=promised,
        within=all(_keeps(outcomes, clause, view) for clause in _about_them(clauses, view)),
        rise=rise,
        fall=fall,
        belief=belief,
        odds=odds,
        before=Fraction(int(sight.cells.max(axis=1).sum()), total),
        after=Fraction(int(sight.seen.max(axis=1).sum()), total * outcomes.scale),
        original=Fraction(int(joint.weights.max(axis=0).sum()), total),
        after_bits=_bits(sight.cells, sight.seen, outcomes.scale),
        original_bits=_bits(sight.cells, joint.weights.T.astype(object), 1),
    )


@dataclass(frozen=True, eq=False)
class _Sight:
    """What is seen and known together, row i for a released row y and a cell: exact integers in proportion to P."""

    seen: Exact
    """seen[i, s] ∝ P(s, y, cell)."""
    prior: Exact
    """prior[i, s] ∝ P(s, cell)."""
    cells: Exact
    """cells[z, s] ∝ P(s, cell z), each cell once."""

    @classmethod
    def of(cls, outcomes: Outcomes, joint: Joint, view: View) -> _Sight:
        cell = view.cell[outcomes.inputs]
        order = np.lexsort((cell, outcomes.outputs))
        y, z, x = outcomes.outputs[order], cell[order], outcomes.inputs[order]
        first = np.flatnonzero(np.append(True, (np.diff(y) != 0) | (np.diff(z) != 0)))
        seen = _sums(joint.weights, outcomes.numerators[order], x, first, joint.total * outcomes.scale)
        cells = np.zeros((view.n_cells, joint.n_s), dtype=object)
        np.add.at(cells, view.cell, joint.weights.T.astype(object))
        return cls(seen, cells[z[first]], cells)

    def extremes(
        self, about: Sequence[int] | None = None
    ) -> tuple[tuple[Fraction, Fraction], Fraction, Fraction | None]:
        """The belief with the largest lift, before and after; the smallest lift; the largest ratio of two (None: ∞).

        With `about`, of the beliefs in these events alone.
        """
        possible = self.prior != 0
        if about is not None:
            possible[:, [s for s in range(possible.shape[1]) if s not in about]] = False
        over = self.seen * self.prior.sum(axis=1)[:, None]
        under = self.seen.sum(axis=1)[:, None] * self.prior
        rough = np.ones(over.shape)
        rough[possible] = (over[possible] / under[possible]).astype(np.float64)
        i, s = max(_nearly(rough, possible, largest=True), key=lambda place: _exact(over, under, *place))
        belief = _share(self.prior[i], s), _share(self.seen[i], s)
        least = [_exact(over, under, i, s) for i, s in _nearly(rough, possible, largest=False)]
        if min(least) == 0:
            return belief, Fraction(0), None
        top = np.where(possible, rough, -np.inf).max(axis=1)
        low = np.where(possible, rough, np.inf).min(axis=1)
        widest = np.flatnonzero(top / low >= (top / low).max() * ALMOST)
        return belief, min(least), max(_spread(over, under, possible, int(row)) for row in widest)


def _sums(weights: Exact, numerators: Exact, x: Integers, first: Integers, largest: int) -> Exact:
    """Σ weights[s, x]·P(y|x) over each stretch that begins at `first`, at [i, s]."""
    small = largest.bit_length() < INT64_BITS and numerators.dtype != object
    kind = np.int64 if small and weights.dtype != object else object
    numerators = numerators.astype(kind)
    seen = [np.add.reduceat(row[x].astype(kind) * numerators, first) for row in weights]
    return np.stack(seen, axis=1).astype(object)


def _nearly(rough: Matrix, possible: NDArray[np.bool_], largest: bool) -> Iterator[tuple[int, int]]:
    """The places of all entries that nearly are the extreme."""
    values = np.where(possible, rough, -np.inf if largest else np.inf)
    edge = values.max() * ALMOST if largest else values.min() / ALMOST
    return ((int(i), int(s)) for i, s in np.argwhere(values >= edge if largest else values <= edge))


def _exact(over: Exact, under: Exact, i: int, s: int) -> Fraction:
    return Fraction(int(over[i, s]), int(under[i, s]))


def _share(numbers: Exact, s: int) -> Fraction:
    return Fraction(int(numbers[s]), int(numbers.sum()))


def _spread(over: Exact, under: Exact, possible: NDArray[np.bool_], i: int) -> Fraction:
    lifts = [_exact(over, under, i, int(s)) for s in np.flatnonzero(possible[i])]
    return max(lifts) / min(lifts)


def _about_them(clauses: Sequence[Clause], view: View) -> Sequence[Clause]:
    """The clauses that are about attackers with this view; all, for those whom none is about."""
    own = [clause for clause in clauses if any(set(one.known) == set(view.known) for one in clause.views)]
    return own or clauses


def _keeps(outcomes: Outcomes, clause: Clause, view: View) -> bool:
    """Whether somebody with this view learns no more than a clause allows; not if it is about others, and they do."""
    belief, fall, odds = _Sight.of(outcomes, clause.joint, view).extremes(clause.about)
    return _within(belief[1] / belief[0], fall, odds, clause)


def _within(rise: Fraction, fall: Fraction, odds: Fraction | None, clause: Clause) -> bool:
    """Whether the factors stay within the limits, with e^ε replaced by a rational below it."""
    lower, upper, spread = (bound_of(clause, name) for name in ("lower", "upper", "spread"))
    kept = upper is None or rise <= upper
    if lower is not None:
        kept = kept and fall * lower >= 1
    if spread is not None:
        kept = kept and odds is not None and odds <= spread
    return kept


def level_by(told: Sequence[tuple[Clause, Limits, Told]], epsilon: float) -> float:
    """The smallest ε at which all that is told is within a promise, its parts in proportion."""
    return level_within([clause for clause, _, _ in told], [reached for _, reached, _ in told], epsilon)


def reached_by(attackers: Sequence[Attacker]) -> Limits:
    """How far down, up and apart lifts go, rounded up."""
    return reduce(Limits.wider, (limits_above(a.fall, a.rise, a.odds) for a in attackers))


def _bits(cells: Exact, seen: Exact, scale: int) -> float:
    """I(S;Y|cell) = H(S|cell) − H(S|Y, cell) in bits, from integers in proportion to P(s, cell) and P(s, y, cell)."""
    total = int(cells.sum())
    before = (cells / total).astype(np.float64)
    after = (seen / (total * scale)).astype(np.float64)
    return max(0.0, (_conditional_entropy(before) - _conditional_entropy(after)) / NATS_PER_BIT)


def _conditional_entropy(p: Matrix) -> float:
    """H(S|Z) for p[z, s] = P(s, z)."""
    return float(plogp(p.sum(axis=1)).sum() - plogp(p).sum())
