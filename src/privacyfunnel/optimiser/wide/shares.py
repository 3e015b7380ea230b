"""Shares: how much of each class of P(s|x) goes into pairs at which border, by a small linear program.

A pair at a border with distances d and d′ and the charge φ has weights φ/d and φ/d′, and moves 2φ/(d + d′) of rows. It
changes at least the share D of their cells: half the L1 distance between the columns' distributions in both classes,
averaged over columns. The program minimises Σ φ·2D/(d + d′) over pairs of classes, given the weight of each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.lp import Infeasible, LinearProgram
from privacyfunnel.promises.limits import Limits
from privacyfunnel.proof.wide import allowed_beliefs
from privacyfunnel.protocols.wide.rule import SHARE_BITS, Rule, belief
from privacyfunnel.typing import Integers, Matrix, Vector

INSIDE = 1e-6
"""By which part of them the borders that are aimed at lie inside those that are allowed."""
CLASSES = (24, 16, 24)
"""Below, between and above the borders, each with about the same weight."""
LEAST_WIDTH = 1e-3
"""Of what is allowed, as a part of P(s): a promise of next to nothing cannot be kept in pairs of whole weights."""


LOW, HIGH, ALONE = range(3)
"""Where values are used: in pairs at a border, or by themselves."""


@dataclass(frozen=True)
class _Use:
    """Values of a class, with those of another on the other side of a border, at distances d and e from it."""

    side: int
    first: int
    second: int
    d: float = 1.0
    e: float = 1.0


@dataclass(frozen=True, eq=False)
class _Classes:
    """The weight of each class, its mean P(s|x), and how unlike their columns are."""

    weight: Vector
    mean: Vector
    unlike: Matrix


def rule_for(limits: Limits, weights: Integers, sizes: tuple[int, ...]) -> Rule:
    """The rule with the fewest changed cells that the program knows of, for limits on beliefs in two secrets."""
    totals = [int(row.sum()) for row in weights]
    prior = Fraction(totals[1], sum(totals))
    least, most = (float(t) for t in allowed_beliefs(limits.granted(), prior))
    low, high = max(0.0, least) * (1 + INSIDE), min(1.0, most) * (1 - INSIDE)
    if high - low < LEAST_WIDTH * float(prior):
        raise InvalidInput("a promise of so little cannot be kept with a model; use a larger ε, such as 0.1")
    t, W = belief(weights), weights.sum(axis=0)
    cuts = _cuts(t, W, low, high)
    nothing = (0,) * (len(cuts) + 1)
    rule = Rule(low, high, cuts, nothing, nothing, telling_first(weights, sizes))
    classes = _classes(rule, t, W, sizes)
    to_low, to_high = _solved(rule, classes)
    return replace(rule, to_low=to_low, to_high=to_high)


def _cuts(t: Vector, W: Integers, low: float, high: float) -> tuple[float, ...]:
    """Borders of classes: those of the promise, and between them such that classes weigh about the same."""
    above = float(np.nextafter(high, 2.0))
    cuts = {low, above}
    for inside, number in zip((t < low, (t >= low) & (t < above), t >= above), CLASSES, strict=True):
        if inside.any():
            order = np.argsort(t[inside], kind="stable")
            weight = np.cumsum(W[inside][order].astype(np.float64))
            at = np.searchsorted(weight, weight[-1] * np.arange(1, number) / number)
            cuts |= set(t[inside][order][at].tolist())
    return tuple(sorted(cuts))


def _classes(rule: Rule, t: Vector, W: Integers, sizes: tuple[int, ...]) -> _Classes:
    of, number = np.searchsorted(np.array(rule.cuts), t, side="right"), len(rule.cuts) + 1
    share = W / float(W.sum())
    weight = np.bincount(of, weights=share, minlength=number).astype(np.float64)
    some = np.maximum(weight, np.finfo(np.float64).tiny)
    mean = np.bincount(of, weights=share * t, minlength=number) / some
    unlike = np.zeros((number, number))
    for j in range(len(sizes)):
        column = _column(j, sizes, len(W))
        counted = np.bincount(of * sizes[j] + column, weights=share, minlength=number * sizes[j])
        table = counted.reshape(number, -1) / some[:, None]
        unlike += np.abs(table[:, None] - table[None]).sum(axis=-1) / 2
    return _Classes(weight, mean, np.maximum(unlike, 1.0) / len(sizes))  # a pair differs in a column at least


def _column(j: int, sizes: tuple[int, ...], cells: int) -> Integers:
    """The value of column j of every combination."""
    after = int(np.prod(sizes[j + 1 :], dtype=np.int64))
    return np.asarray((np.arange(cells) // after) % sizes[j])


def telling_first(weights: Integers, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Columns by I(S; X_j), the largest first: partners differ in what tells most."""
    told = []
    for j in range(len(sizes)):
        column = _column(j, sizes, weights.shape[1])
        p = np.stack([np.bincount(column, weights=row, minlength=sizes[j]) for row in weights])
        p = np.asarray(p / p.sum())
        expected = np.outer(p.sum(axis=1), p.sum(axis=0))
        told.append(float((p[p > 0] * np.log(p[p > 0] / expected[p > 0])).sum()))
    return tuple(int(j) for j in np.argsort(-np.array(told), kind="stable"))


def _solved(rule: Rule, classes: _Classes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """2³⁰ times the shares of every class at the lower and at the upper border."""
    there = [int(k) for k in np.flatnonzero(classes.weight > 0)]
    uses = list(_uses(rule, classes, there))
    A, cost = np.zeros((len(there), len(uses))), np.zeros(len(uses))
    for i, use in enumerate(uses):  # in units of weight: a pair with charge d·e/(d + e) weighs 1
        both = use.d + use.e
        A[there.index(use.first), i] += 1.0 if use.side == ALONE else use.e / both
        if use.side != ALONE:
            A[there.index(use.second), i] += use.d / both
            cost[i] = 2 * use.d * use.e / both**2 * classes.unlike[use.first, use.second]
    found = _minimum(A, cost, classes.weight[np.array(there)])
    at = np.zeros((ALONE + 1, len(classes.weight)))
    for i, use in enumerate(uses):
        for k in {use.first, use.second}:
            at[use.side, k] += A[there.index(k), i] * found[i]
    return _as_shares(at)


def _uses(rule: Rule, classes: _Classes, there: list[int]) -> Iterator[_Use]:
    """All that can be done with values of each class."""
    for k in there:
        t = float(classes.mean[k])
        if rule.low <= t <= rule.high:
            yield _Use(ALONE, k, k)
        for side, border in ((LOW, rule.low), (HIGH, rule.high)):
            sign = 1.0 if side == LOW else -1.0
            if sign * (border - t) > 0:
                for other in there:
                    e = sign * (float(classes.mean[other]) - border)
                    if e > 0:
                        yield _Use(side, k, other, sign * (border - t), e)


def _minimum(A: Matrix, cost: Vector, weight: Vector) -> Vector:
    program = LinearProgram(A, weight, weight)
    program.set_costs(cost)
    try:
        return np.maximum(program.solve()[0], 0.0)
    except Infeasible:
        raise InvalidInput("no division of the model's values into pairs keeps this promise; use a larger ε") from None


def _as_shares(at: Matrix) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """2³⁰ times the shares of at[side, class]; what is not alone adds up to all of it."""
    share = at / np.maximum(at.sum(axis=0), np.finfo(np.float64).tiny)
    low = np.rint(share[LOW] * 2**SHARE_BITS).astype(np.int64)
    high = np.rint(share[HIGH] * 2**SHARE_BITS).astype(np.int64)
    high = np.where((share[ALONE] == 0) & (share[HIGH] > 0), 2**SHARE_BITS - low, high)
    return tuple(low.tolist()), tuple(high.tolist())
