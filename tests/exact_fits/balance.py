"""Balance: how many people with each value of X have the secret, worked out from how the protocol mixes values.

An optimal protocol uses its promise to the full: at nearly every output, P(s|y) is as large or as small as the
promise allows. Who knows how many people have each value of X (which is no secret) so has one equation for
every output, Σ_x n(s, x) Q(y|x) = t Σ_x n(x) Q(y|x) with t one of two numbers. Counts are whole, which leaves
hardly more than one solution where few counts are open. For two secrets.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from exact_fits.partners import Partners, lean_of
from exact_fits.two_colours import COMMON, named_by
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.notion import Notion
from privacyfunnel.typing import Integers, Matrix, Vector

SLACKS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 2e-5)
"""How far P(s|y) may be from the limit, tried in turn: rounding to multiples of 2⁻³² leaves 10⁻⁸ and less, mixing in
a little of everything, as faithful releases do, 10⁻⁵."""
CHANCE = 0.5
"""An output is used when fewer solutions than this are expected by chance: more would rule out what is true, fewer
would leave counts open that the next output settles."""
MOST_TRIED = 100_000
"""Combinations of counts that are gone through at one output; with more, chance would solve the equation anyway."""


@dataclass(eq=False)
class _Counts:
    """Which numbers of people with the second secret each value of X may still have, narrowed down step by step."""

    people: Integers
    limits: tuple[float, float]
    """The least and the largest P(s|y) that the promise allows for the second secret."""
    values: list[Integers]
    """values[y]: the values of X that give output y."""
    chances: list[Vector]
    """chances[y]: their P(y|x)."""
    outputs: list[list[int]]
    """outputs[x]: the outputs that x gives."""
    open: list[Integers] = field(init=False)
    """open[x]: the counts that are not ruled out."""

    def __post_init__(self) -> None:
        self.open = [np.arange(n + 1) for n in self.people]

    def narrow(self, slack: float) -> None:
        """Go through outputs, and again through those whose counts were narrowed down, until none is."""
        queue = deque(range(len(self.values)))
        waiting = set(queue)
        while queue:
            y = queue.popleft()
            waiting.discard(y)
            for x, left in self._left(y, slack):
                if len(left) < len(self.open[x]):
                    self.open[x] = left
                    again = [z for z in self.outputs[x] if z not in waiting]
                    waiting.update(again)
                    queue.extend(again)

    def _left(self, y: int, slack: float) -> list[tuple[int, Integers]]:
        """The values of X at output y with the counts that solve its equation; none if it tells nothing."""
        x, chance = self.values[y], self.chances[y]
        sizes = np.array([len(self.open[each]) for each in x])
        order = [i for i in np.argsort(sizes, kind="stable") if sizes[i] > 1]
        if not order or len(x) < 2 or (tried := math.prod(sizes[order[:-1]].tolist())) > MOST_TRIED:
            return []
        total, last = float(chance @ self.people[x]), order[-1]
        window = slack * total / chance[last]
        if 2 * tried * min(2 * window, 1.0) > CHANCE:
            return []
        settled = sum(chance[i] * self.open[x[i]][0] for i in range(len(x)) if sizes[i] == 1)
        grids = [grid.ravel() for grid in np.meshgrid(*(self.open[x[i]] for i in order[:-1]), indexing="ij")]
        mixed = settled + sum((chance[i] * grid for i, grid in zip(order[:-1], grids, strict=True)), np.zeros(tried))
        rest = np.concatenate([(limit * total - mixed) / chance[last] for limit in self.limits])
        whole = np.rint(rest)
        fits = (np.abs(rest - whole) <= window) & np.isin(whole, self.open[x[last]])
        if not fits.any():  # the promise is not used to the full here
            return []
        found = [(int(x[i]), np.unique(np.tile(grid, 2)[fits])) for i, grid in zip(order[:-1], grids, strict=True)]
        return [*found, (int(x[last]), np.unique(whole[fits]).astype(np.int64))]


def counts_by_balance(outcomes: Outcomes, joint: Joint, people: Integers, notion: Notion) -> Integers:
    """The number of people with x who have the second secret, as the balance tells it; −1 where it does not."""
    order = np.argsort(outcomes.outputs, kind="stable")
    cuts = np.flatnonzero(np.diff(outcomes.outputs[order])) + 1
    chance = (outcomes.numerators / outcomes.scale).astype(np.float64)
    values, chances = np.split(outcomes.inputs[order], cuts), np.split(chance[order], cuts)
    outputs: list[list[int]] = [[] for _ in people]
    for y, given in enumerate(values):
        for x in given.tolist():
            outputs[x].append(y)
    limits = notion.limits.granted().belief_range(float(joint.p_s[1]))
    counts = _Counts(people, limits, values, chances, outputs)
    for slack in SLACKS:
        counts.narrow(slack)
    return np.array([left[0] if len(left) == 1 else -1 for left in counts.open])


def by_balance(outcomes: Outcomes, partners: Partners, joint: Joint, people: Integers, notion: Notion) -> Integers:
    """The secret that most people with x have; where the balance leaves it open, two colours name it.

    These start from all counts that were found then, beside the common values.
    """
    counts = counts_by_balance(outcomes, joint, people, notion)
    told = np.flatnonzero(counts >= 0)
    lean = lean_of(joint)
    lean[told] = _lean(counts[told] / people[told] - float(joint.p_s[1]))
    named = named_by(partners.opposite(lean, np.union1d(told, np.flatnonzero(people >= COMMON))), joint)
    halves = 2 * counts[told] - people[told]
    named[told] = np.where(halves == 0, int(joint.p_s.argmax()), halves > 0)
    return named


def _lean(second: Vector) -> Matrix:
    """The leans to either secret at [x, s], from that to the second."""
    return np.stack([-second, second], axis=1)
