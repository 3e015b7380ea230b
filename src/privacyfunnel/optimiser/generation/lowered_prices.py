"""Proofs at lowered prices: rare values, which keep most boxes open, are made unattractive for next to nothing.

For κ ≥ 0, H(v) − (y − κ)·v ≥ H(v) − y·v: whatever branch and bound has proven at prices y is true at y − κ, so it goes
on with the boxes it has. The bound on I(X;Y) rises by p·κ alone: a tenth of a nat off the price of what one in ten
thousand has costs 1e-5 nats, where the same tenth off the bound of all boxes would cost 0.1.

κ is found twice. At first every value with a share p_x is lowered by the same cost, κ_x = allowance / (n·p_x). Then,
stage by stage, boxes that are still open are asked for their least points v_b, and a small linear program says which κ
lifts the lowest of them most, min δ s.t. κ·v_b + δ ≥ −r_b and p·κ ≤ the stage's allowance. Allowances grow from stage
to stage, so that every proof comes to an end, the sooner the dearer; the next one has more time, so it is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.generation.branch import Tree, polished
from privacyfunnel.optimiser.generation.pricing import Programs
from privacyfunnel.typing import Matrix, Vector

FIRST_SHARE = 3e-3
"""Of H(X), what lowering the prices of rare values before anything else costs."""
STAGE_SHARE = 5e-4
"""Of H(X), what the first stage may lower prices by."""
GROWS = 1.15
"""By this factor each stage may cost more than the one before: the last one 25 times as much as the first."""
MOST = 1_000
"""Open boxes, those with the least bounds, that a stage asks for their points, and no more than it has cut."""
STAGES = 24
"""In the time there is for a proof."""
TOLERANCE_SHARE = 1e-3
"""Of H(X): boxes whose least r(v) is above minus this are done with."""
MOST_LOWERED = 2.0
"""Nats: a value whose price is this much lower is in no posterior that pays."""
SHARES = (0.05, 0.2, 1.0)
"""Of the time that is left, for one proof after the other: each has more time than the one before."""
FINER = 3.0
"""After a proof that took less than half of its time, allowances are this many times smaller."""
TIE = 1e-2
"""What a nat of p·κ counts against a nat of δ within the allowance: little, so that nothing is lowered in vain."""


@dataclass(eq=False)
class LoweredPrices:
    """Proofs at lowered prices, each finer than the one before; they go on where new posteriors interrupted them."""

    oracle: Programs
    upper: Vector
    """upper[x] is at least the largest v[x] in Δ."""
    p_x: Vector
    scale: float
    """Allowances are shares of this, at first H(X)."""
    proven: Callable[[Vector, float], None]
    """Is told of prices, and what r(v) is at least at them."""
    stopped: Callable[[], bool]
    shares: list[float] = field(default_factory=lambda: list(SHARES))

    def prove(self, y: Vector, seconds: float) -> Matrix:
        """Prove what can be proven at prices below y; posteriors that were met and would improve the mixture."""
        until = ticks() + seconds
        while True:
            begun = ticks()
            there_is, tolerance = self.shares[0] * (until - begun), TOLERANCE_SHARE * self.scale
            tree = Tree.of(self.oracle, y, self.upper, tolerance)
            prices = self._stages(tree, y, there_is)
            improving = polished(self.oracle, prices, tree, tolerance)
            if len(improving) or self.stopped():
                return improving
            early = tree.bound >= -tolerance and ticks() - begun < there_is / 2
            if early:
                self.scale /= FINER
            if len(self.shares) > 1:
                self.shares.pop(0)
            elif not early:
                return improving

    def _stages(self, tree: Tree, y: Vector, seconds: float) -> Vector:
        """Branch and bound on the tree, prices lowered before and between stages; the prices at the end."""
        p_x, stopped = self.p_x, self.stopped
        first = np.minimum(MOST_LOWERED, FIRST_SHARE * self.scale / (len(p_x) * p_x))
        tree.lower(first)
        y, allowance, begun, is_open = y - first, STAGE_SHARE * self.scale, ticks(), True
        for stage in range(1, STAGES + 1):
            until, before = begun + seconds * stage / STAGES, tree.cut
            while is_open and not stopped() and ticks() < until:
                is_open = tree.grow(tree.step)
            self.proven(y, tree.bound)
            if not is_open or stopped() or (stage == 1 and tree.n_found):
                break
            if stage < STAGES:
                less = _lift(tree, min(MOST, tree.cut - before), p_x, allowance)
                tree.lower(less)
                y, allowance = y - less, GROWS * allowance
        return y


def _lift(tree: Tree, asked: int, p_x: Vector, allowance: float) -> Vector:
    """κ with p·κ ≤ allowance that lifts the lowest of the open boxes most."""
    r, points = tree.lowest(asked)
    if not len(r):
        return np.zeros(len(p_x))
    V, n = points[:, : len(p_x)].clip(0), len(p_x)
    A = np.vstack([np.column_stack([V, np.ones(len(V))]), np.append(p_x, 0.0)])
    least, most = np.append(-r, -np.inf), np.append(np.full(len(r), np.inf), allowance)
    program = LinearProgram(A, least, most, upper=np.append(np.full(n, MOST_LOWERED), np.inf))
    program.set_costs(np.append(TIE * p_x, 1.0))
    try:
        less = np.asarray(program.solve()[0][:n].clip(0))
    except SolverFailure:  # prices stay as they are, and the proof goes on
        return np.zeros(n)
    return less * min(1.0, allowance / max(float(less @ p_x), allowance))
