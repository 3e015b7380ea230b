"""Mixtures for three secrets and more: how much of each class goes where, by a small linear program.

A group with shares λ_k of classes changes Σ_{k≠l} λ_k λ_l D_kl of its cells, D_kl the share in which values of both
differ, and the group of everything nearly all of them. The program minimises what is changed, given the weight of each
class; what it puts into the group of everything must keep the promise together, so that there always is a solution. It
starts from mixtures of two classes, and is given those of several that its prices ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.errors import InvalidInput, SolverFailure
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.wide.clusters import Classes, centres_for, classes_by
from privacyfunnel.optimiser.wide.shares import INSIDE, LEAST_WIDTH, telling_first
from privacyfunnel.promises.limits import Limits
from privacyfunnel.protocols.wide.mixing import smallest_ratio
from privacyfunnel.protocols.wide.mixing_rule import (
    ALL_SPARE,
    NO_SPARE,
    Mixing,
    MixingRule,
    Mixture,
    belief_limits,
    mixed_plan_of,
    posteriors,
    prior_of,
    rest_inside,
    spare,
)
from privacyfunnel.protocols.wide.rule import RESERVE_BITS, SHARE_BITS, Plan
from privacyfunnel.typing import Integers, Matrix, Vector

ROUNDS = 12
"""Of asking for mixtures of several classes."""
WORTH = 1e-7
"""Of cells, by which a mixture must be better than what there is: far less than anybody sees."""
NEAR, FAR = (1, 1, 1, 2, 2, 2, 3, 3), 4
"""Columns in which values may differ in the first stages, and stages without such a limit: what finds no partner near
by is planned anew before it looks further away."""
ENOUGH = 0.002
"""Of all rows: so few may be left over."""
LEAST_LESS = 7
"""2⁻⁷ less of everything is in groups, then 2⁻⁶ and so on, until the group of everything can keep the promise."""
REST_INSIDE = 1e-4
"""Of lifts: the group of everything is planned to be inside by so much, since classes are not all of it."""
MOST_RATIO = 50.0
"""Of what is mixed in to what it is mixed into: beyond, everything does as well."""
MOST_PARTNERS = 11
"""Classes that are mixed in: with c secrets, c − 1 of them reach every posterior."""
LEAST_SHARE = 1e-6
"""Of a class: less is not worth a mixture, and goes where most of it goes."""


@dataclass(frozen=True, eq=False)
class _Column:
    """A unit of weight: shares of classes, and what it changes."""

    classes: tuple[int, ...]
    shares: tuple[float, ...]
    cost: float


def mixing_rule_for(limits: Limits, weights: Integers, sizes: tuple[int, ...]) -> MixingRule:
    """The rule with the fewest changed cells that the program knows of, for limits on three secrets and more."""
    limits = limits.granted()
    if min(limits.upper, limits.lower, limits.spread) < LEAST_WIDTH:
        raise InvalidInput("a promise of so little cannot be kept with a model; use a larger ε, such as 0.1")
    aimed = belief_limits(limits.upper, limits.lower, limits.spread, INSIDE)
    order, v = telling_first(weights, sizes), posteriors(weights)
    rule = MixingRule(prior_of(weights), aimed["up"], aimed["down"], aimed["apart"], (), (), (), (), NO_SPARE, order)
    rule = replace(rule, centres=centres_for(rule, weights, v))
    rule = replace(rule, to_rest=(0,) * len(rule.centres))
    mixing = Mixing(rule, weights, sizes)
    for reach in _reaches(len(sizes)):
        if float(mixing.free[mixing.outside].sum()) <= ENOUGH * float(weights.sum(dtype=np.float64)):
            break
        try:
            mixtures, to_rest = _solved(classes_by(rule, mixing.free, v, sizes))
        except SolverFailure:  # mostly since what is left over does not keep the promise together
            break
        mixing.mix(mixtures, reach)
        rule = replace(rule, stages=(*rule.stages, mixtures), reaches=(*rule.reaches, reach), to_rest=to_rest)
    return _with_rest_inside(rule, mixing.plan(rule.to_rest, NO_SPARE), sizes, v)


def _reaches(columns: int) -> tuple[int, ...]:
    """In how many columns values may differ, stage by stage: few at first, at last in all."""
    return (*(min(reach, columns) for reach in NEAR), *(columns,) * FAR)


def _with_rest_inside(rule: MixingRule, plan: Plan, sizes: tuple[int, ...], v: Matrix) -> MixingRule:
    """The rule with as much in the group of everything as that needs to be inside: of what is alone, then of groups.

    All rows together tell nothing, so that there is an end to this.
    """
    fewer = rule
    for less in (*range(LEAST_LESS, 0, -1), 0):
        for bits in (NO_SPARE, *range(RESERVE_BITS, ALL_SPARE - 1, -1)):
            if rest_inside(rule, spare(plan, bits), v):
                return replace(fewer, spare_bits=bits)
        fewer = replace(rule, stages=tuple(tuple(_less(one, less) for one in stage) for stage in rule.stages))
        plan = mixed_plan_of(fewer, plan.weights, sizes)
    return replace(rule, stages=(), reaches=(), to_rest=(0,) * len(rule.centres), spare_bits=ALL_SPARE)


def _less(mixture: Mixture, bits: int) -> Mixture:
    """The same with 2^−bits less of every class, which is then in the group of everything."""
    return replace(mixture, shares=tuple(share - (share >> bits) for share in mixture.shares))


def _solved(classes: Classes) -> tuple[tuple[Mixture, ...], tuple[int, ...]]:
    """The program, and its solution as shares of classes."""
    there = np.flatnonzero(classes.weight > 0)
    number = {int(k): i for i, k in enumerate(there)}
    columns = [_Column((int(k),), (1.0,), 0.0) for k in there if classes.inside[k]]
    outside = [int(k) for k in there if not classes.inside[k]]
    pairs = (_mixed(classes, i, {int(j): 1.0}) for i in outside for j in there if j != i)
    columns += [one for one in pairs if one is not None]
    program = _Program(classes, there, number, columns)
    for _ in range(ROUNDS):
        prices = program.solve()
        found = [_asked_for(classes, i, there, prices) for i in outside]
        fresh = [one for one in found if one is not None and one.cost < _worth(one, prices, number) - WORTH]
        if not fresh:
            break
        program.add(fresh)
    program.solve()
    return program.mixtures()


def _worth(column: _Column, prices: Vector, number: dict[int, int]) -> float:
    """What the prices of its classes let a column cost."""
    return float(sum(share * prices[number[k]] for k, share in zip(column.classes, column.shares, strict=True)))


class _Program:
    """min Σ cost·x: the weight of every class is used, and what the group of everything has keeps the promise."""

    def __init__(self, classes: Classes, there: Integers, number: dict[int, int], columns: list[_Column]) -> None:
        self._classes, self._there, self._number = classes, there, number
        self.columns: list[_Column] = []
        planes = classes.excess.shape[1]
        A = np.vstack([np.eye(len(there)), classes.excess[there].T + REST_INSIDE])
        lower = np.concatenate([classes.weight[there], np.full(planes, -np.inf)])
        upper = np.concatenate([classes.weight[there], np.zeros(planes)])
        self._program = LinearProgram(A, lower, upper)
        self._program.set_costs(np.maximum(classes.from_all[there], 0.0))
        self._used: Vector = np.zeros(0)
        self.add(columns)

    def add(self, columns: list[_Column]) -> None:
        """More that can be done."""
        self.columns += columns
        starts = np.concatenate([[0], np.cumsum([len(one.classes) for one in columns])]).astype(np.int64)
        index = np.array([self._number[k] for one in columns for k in one.classes], dtype=np.int64)
        value = np.array([share for one in columns for share in one.shares])
        self._program.add_columns(np.array([one.cost for one in columns]), starts, index, value)

    def solve(self) -> Vector:
        """The prices of classes."""
        self._used, prices = self._program.solve()
        return prices[: len(self._there)]

    def mixtures(self) -> tuple[tuple[Mixture, ...], tuple[int, ...]]:
        """What is used, as shares of classes in 2³⁰."""
        used, weight = np.maximum(self._used, 0.0), self._classes.weight
        rest = np.zeros(len(weight), np.int64)
        for i, k in enumerate(self._there):
            rest[k] = round(min(1.0, used[i] / weight[k]) * 2**SHARE_BITS)
        found = []
        for one, x in zip(self.columns, used[len(self._there) :], strict=True):
            shares = [x * share / weight[k] for k, share in zip(one.classes, one.shares, strict=True)]
            if len(one.classes) > 1 and max(shares) >= LEAST_SHARE:
                proportions = tuple(share / one.shares[1] for share in one.shares[1:])
                whole = tuple(min(2**SHARE_BITS, round(share * 2**SHARE_BITS)) for share in shares)
                found.append(Mixture(one.classes, proportions, whole))
        return tuple(found), tuple(int(share) for share in rest)


def _mixed(classes: Classes, i: int, partners: dict[int, float]) -> _Column | None:
    """Class i with as little as can be of others in these proportions, so that they are inside together."""
    others = sum((amount * classes.excess[j] for j, amount in partners.items()), np.zeros(classes.excess.shape[1]))
    planes = np.eye(classes.excess.shape[1])
    ratio = float(smallest_ratio(planes, np.zeros_like(planes), classes.outward[i], others))
    if ratio < 0 or ratio * sum(partners.values()) > MOST_RATIO:
        return None
    amounts = np.array([1.0, *(ratio * amount for amount in partners.values())])
    shares, own = amounts / amounts.sum(), np.array([i, *partners])
    apart = classes.unlike[np.ix_(own, own)] * (1 - np.eye(len(own)))
    return _Column((i, *partners), tuple(shares.tolist()), float(shares @ apart @ shares))


def _asked_for(classes: Classes, i: int, there: Integers, prices: Vector) -> _Column | None:
    """The mixture of several classes that prices ask for: min Σ n_j (2 D_ij − price_j) that brings class i inside."""
    others = there[there != i]
    cost = 2 * classes.unlike[i, others] - prices[there != i]
    need = -classes.outward[i]
    program = LinearProgram(classes.excess[others].T, np.full(len(need), -np.inf), need, MOST_RATIO)
    program.set_costs(cost)
    try:
        amounts = program.solve()[0]
    except SolverFailure:  # no mixture, or none that the solver finds
        return None
    partners = {int(j): float(a) for j, a in zip(others, amounts, strict=True) if a > LEAST_SHARE}
    return _mixed(classes, i, partners) if 1 < len(partners) <= MOST_PARTNERS else None
