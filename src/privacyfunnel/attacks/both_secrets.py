"""Both secrets: who knows everybody else's record writes down the table with either secret of the one person left.

The protocol was made for one of these tables: on that one its promise holds, and is used to the full. The level on
each is that of `certify`, in float64 and without going through what stays the same; for promises with a confidence it
is the certificate itself, for a few people. Any promise will do, and any number of secrets.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers, Matrix, Vector

SAME = 1e-12
"""Levels this close are the same: float64 errs by less than a hundredth of it, and one person among 10⁹ makes more."""

MOST_NUMBERS = 2_000_000_000
"""Shares that are gone through for one group of people: a few seconds."""
MOST_CERTIFICATES = 10
"""Tables that are certified as a whole for one group of people, where the promise has a confidence: each takes from a
tenth of a second to ten seconds."""


class Trial(ABC):
    """A protocol and a table, ready to be asked for the level that there is if one person had another secret."""

    epsilon: float
    """What the levels are compared with: the ε of the promise."""

    @staticmethod
    def of(protocol: Protocol, joint: Joint, outcomes: Outcomes) -> Trial:
        """The fast way if the promise is about this table, the certificate itself if it is about a set of them."""
        notion = protocol.notion
        if notion.confidence is not None or not notion.simple:
            return _Certified(notion.epsilon, protocol, joint)
        shown = tuple(_Shares.of(outcomes, joint, view) for view in while_awaited(notion.views(joint)))
        return _Recomputed(notion.epsilon or PERFECT_LEVEL, notion, shown)

    @property
    @abstractmethod
    def affordable(self) -> int:
        """People of a group on whom every secret can be tried in a reasonable time."""

    @abstractmethod
    def level(self, x: int, s: int, other: int) -> float:
        """The level if one of those who have x and s had the secret `other` instead."""

    def names(self, x: int, s: int, usual: Integers) -> int:
        """The secret of somebody with x and s, as whoever knows all others finds it; `usual` orders secrets for ties.

        Their table has a gap, and each secret fills it. On the table that it was made for the promise holds, and is
        tight: of the secrets with which it holds, or of all if it does with none, the level closest to ε gives it away.
        """
        above = np.array([self.level(x, s, int(other)) for other in usual]) - self.epsilon
        holds = above <= SAME
        off = np.where(holds | ~holds.any(), np.abs(above), math.inf)
        return int(usual[np.flatnonzero(off <= off.min() + SAME)[0]])


@dataclass(frozen=True, eq=False)
class _Certified(Trial):
    """Every table is certified as a whole."""

    epsilon: float
    protocol: Protocol
    joint: Joint

    @property
    def affordable(self) -> int:
        return max(1, MOST_CERTIFICATES // max(1, self.joint.n_s - 1))

    @cached_property
    def _as_it_is(self) -> float:
        return certify(self.protocol, self.joint).level

    def level(self, x: int, s: int, other: int) -> float:
        if s == other:
            return self._as_it_is
        joint, weights = self.joint, self.joint.weights.copy()
        weights[s, x] -= 1
        weights[other, x] += 1
        if not weights[s].any():  # then the protocol is not for a table with these secrets
            return math.inf
        columns = joint.columns, joint.secret, joint.secret_values, joint.secret_columns
        other_table = Joint.from_codes(weights, joint.codes, *columns)
        other_table.secret_parts = joint.secret_parts
        return certify(self.protocol, other_table).level


@dataclass(frozen=True, eq=False)
class _Recomputed(Trial):
    """Only what one person changes is computed again."""

    epsilon: float
    notion: Notion
    shown: tuple[_Shares, ...]

    @property
    def affordable(self) -> int:
        numbers = sum(int(each.share.size) * len(each.prior.T) for each in self.shown)
        return max(1, MOST_NUMBERS // numbers)

    def level(self, x: int, s: int, other: int) -> float:
        reached = [each.reached(x, s, other, math.isfinite(self.notion.limits.spread)) for each in self.shown]
        factors = np.max(reached, axis=0)
        return self.notion.level_of(Limits(*(math.log(factor) for factor in factors.tolist())))


@dataclass(frozen=True, eq=False)
class _Shares:
    """What attackers with one view see: row i for an output and a cell that go together, rows sorted by cell."""

    cell: Integers
    """cell[x]."""
    starts: Integers
    """Rows starts[z] to starts[z + 1] are those of cell z."""
    mass: Matrix
    """The expected number of people with s in the cell who give y, at [i, s]: exact for up to two million people."""
    total: Vector
    """total[i]: the same for all secrets together."""
    share: Matrix
    """P(s|y, cell) at [i, s]."""
    prior: Matrix
    """The number of people with s in the cell, at [cell, s]."""
    begins: Integers
    """Entries begins[x] to begins[x + 1] are those of x."""
    rows: Integers
    """The row of every entry."""
    chance: Vector
    """P(y|x) of every entry."""
    elsewhere: Matrix
    """The factors by which lifts go down, up and apart in all cells but this one, at [cell, :]."""

    @classmethod
    def of(cls, outcomes: Outcomes, joint: Joint, view: View) -> _Shares:
        cell, weights = view.cell[outcomes.inputs], joint.weights.astype(np.float64)
        chance = (outcomes.numerators / outcomes.scale).astype(np.float64)
        pairs, row = np.unique(np.stack([cell, outcomes.outputs]), axis=1, return_inverse=True)
        row = row.ravel()
        mass = np.stack([np.bincount(row, chance * own[outcomes.inputs]) for own in weights], axis=1).astype(np.float64)
        total = mass.sum(axis=1)
        starts = np.searchsorted(pairs[0], np.arange(view.n_cells + 1))
        prior = np.stack([np.bincount(view.cell, own, view.n_cells) for own in weights], axis=1).astype(np.float64)
        share = mass / total[:, None]
        here = [_factors(share[a:b], n, True) for (a, b), n in zip(pairwise(starts), prior, strict=True)]
        others = _largest_of_others(np.array(here))
        begins = np.searchsorted(outcomes.inputs, np.arange(joint.n_x + 1))
        return cls(view.cell, starts, mass, total, share, prior, begins, row, chance, others)

    def reached(self, x: int, s: int, other: int, spread: bool) -> Vector:
        """The factors down, up and apart, if one person with x and s had the secret `other`."""
        z, entries = int(self.cell[x]), slice(self.begins[x], self.begins[x + 1])
        rows, chance = self.rows[entries], self.chance[entries]
        mass, prior = self.mass[rows], self.prior[z].copy()
        mass[:, s] -= chance
        mass[:, other] += chance
        share = self.share[self.starts[z] : self.starts[z + 1]].copy()
        share[rows - self.starts[z]] = mass / self.total[rows, None]
        prior[s] -= 1
        prior[other] += 1
        return np.asarray(np.maximum(_factors(share, prior, spread), self.elsewhere[z]))


def _factors(share: Matrix, prior: Vector, spread: bool) -> Vector:
    """The largest 1 / lift, lift and quotient of two lifts over rows share[i, s]; the last is 1 if not asked for."""
    possible = prior > 0
    before = prior[possible] / prior.sum()
    share = np.maximum(share[:, possible], 0.0)  # taking away from very many people may leave an error below 0
    most, least = (share.max(axis=0) / before).max(), (share.min(axis=0) / before).min()
    apart = 1.0
    with np.errstate(divide="ignore"):
        if spread:
            lifts = share / before
            apart = float((lifts.max(axis=1) / lifts.min(axis=1)).max())
        return np.array([1 / least, most, apart])


def _largest_of_others(here: Matrix) -> Matrix:
    """For each row of `here`, the largest of all other rows, column by column; 1 if there are none."""
    if len(here) < 2:
        return np.ones_like(here)
    top = here.argmax(axis=0)
    second = np.sort(here, axis=0)[-2]
    others = np.broadcast_to(here.max(axis=0), here.shape).copy()
    others[top, np.arange(here.shape[1])] = second
    return others
