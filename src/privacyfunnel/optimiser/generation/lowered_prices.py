"""Proofs at lowered prices: rare values, which keep most boxes open, are made unattractive for next to nothing.

For κ ≥ 0, H(v) − (y − κ)·v ≥ H(v) − y·v: whatever branch and bound has proven at prices y is true at y − κ, so it goes
on with the boxes it has. The bound on I(X;Y) rises by p·κ alone: a tenth of a nat off the price of what one in ten
thousand has costs 1e-5 nats, where the same tenth off the bound of all boxes would cost 0.1.

κ is found twice. At first every value with a share p_x is lowered by the same cost, κ_x = allowance / (n·p_x). Then,
stage by stage, boxes that are still open are asked for their least points v_b, and a small linear program says which κ
lifts the lowest of them most, min δ s.t. κ·v_b + δ ≥ −r_b and p·κ ≤ the stage's allowance. Allowances grow from stage
to stage, so that every proof comes to an end, the sooner the dearer; if time is left, another one begins with less.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.generation.branch import Proof, Tree, polished
from privacyfunnel.optimiser.generation.pricing import Programs
from privacyfunnel.typing import Vector

FIRST_SHARE = 3e-3
"""Of H(X), what lowering the prices of rare values before anything else costs."""
STAGE_SHARE = 5e-4
"""Of H(X), what the first stage may lower prices by."""
GROWS = 1.25
"""By this factor each stage may cost more than the one before: the twentieth 70 times as much as the first."""
STAGES = 24
"""In the time there is for a proof."""
TOLERANCE_SHARE = 1e-3
"""Of H(X): boxes whose least r(v) is above minus this are done with."""
MOST_LOWERED = 2.0
"""Nats: a value whose price is this much lower is in no posterior that pays."""
LOOKED_AT = 1_000
"""Open boxes, those with the least bounds, that a stage asks for their points."""
FINER = 3.0
"""The next proof has this part of the allowances of the one before."""
WORTH_ANOTHER = 0.4
"""Of the time there was: a proof that took less is followed by a finer one."""
TIE = 1e-2
"""What a nat of p·κ counts against a nat of δ within the allowance: little, so that nothing is lowered in vain."""


@dataclass(frozen=True, eq=False)
class LoweredProof:
    """r(v) ≥ bound for every v in Δ at these prices."""

    prices: Vector
    bound: float
    closed: bool
    """Whether no box is open."""


def prove_lowered(
    oracle: Programs,
    y: Vector,
    upper: Vector,
    p_x: Vector,
    whole: float,
    seconds: float,
    proven: Callable[[Vector, float], None],
    stopped: Callable[[], bool],
) -> Proof:
    """Tell `proven` of prices below y and what r(v) is at least at them, in proofs that are finer and finer.

    `upper[x]` is at least the largest v[x] in Δ, `whole` is H(X). Returns the last bound, and posteriors that were met
    and would improve the mixture.
    """
    until, scale = time.monotonic() + seconds, whole
    while True:
        begun = time.monotonic()
        tolerance = TOLERANCE_SHARE * scale
        tree = Tree.of(oracle, y, upper, tolerance)
        last = _stages(tree, y, p_x, scale, until - begun, proven, stopped)
        improving = polished(oracle, last.prices, tree, tolerance)
        early = time.monotonic() - begun < WORTH_ANOTHER * (until - begun)
        if stopped() or len(improving) or not last.closed or not early:
            return Proof(last.bound, improving)
        scale /= FINER


def _stages(
    tree: Tree,
    y: Vector,
    p_x: Vector,
    scale: float,
    seconds: float,
    proven: Callable[[Vector, float], None],
    stopped: Callable[[], bool],
) -> LoweredProof:
    """Branch and bound on the tree, prices lowered before and between stages."""
    first = np.minimum(MOST_LOWERED, FIRST_SHARE * scale / (len(p_x) * p_x))
    tree.lower(first)
    y, allowance, begun, is_open = y - first, STAGE_SHARE * scale, time.monotonic(), True
    for stage in range(1, STAGES + 1):
        until = begun + seconds * stage / STAGES
        while is_open and not stopped() and time.monotonic() < until:
            is_open = tree.grow(tree.step)
        proven(y, tree.bound)
        if not is_open or stopped() or (stage == 1 and tree.n_found):
            break
        if stage < STAGES:
            less = _lift(tree, p_x, allowance)
            tree.lower(less)
            y, allowance = y - less, GROWS * allowance
    return LoweredProof(y, tree.bound, closed=not tree.is_open)


def _lift(tree: Tree, p_x: Vector, allowance: float) -> Vector:
    """κ with p·κ ≤ allowance that lifts the lowest of the open boxes most."""
    r, points = tree.lowest(LOOKED_AT)
    if not len(r):
        return np.zeros(len(p_x))
    V, n = points[:, : len(p_x)].clip(0), len(p_x)
    A = np.vstack([np.column_stack([V, np.ones(len(V))]), np.append(p_x, 0.0)])
    least, most = np.append(-r, -np.inf), np.append(np.full(len(r), np.inf), allowance)
    program = LinearProgram(A, least, most, upper=np.append(np.full(n, MOST_LOWERED), np.inf))
    program.set_costs(np.append(TIE * p_x, 1.0))
    less = np.asarray(program.solve()[0][:n].clip(0))
    return less * min(1.0, allowance / max(float(less @ p_x), allowance))
