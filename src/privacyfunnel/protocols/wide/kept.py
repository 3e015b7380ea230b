"""What a plan keeps of rows that are distributed as its model says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True)
class Kept:
    """What is left of rows that are distributed as the model says."""

    entropy: float
    """H(X) of the model, nats."""
    information: float
    """At least so much of it I(X;X′) is, X′ the released row."""
    rows: float
    """The share of rows that stay as they are."""
    columns: tuple[float, ...]
    """The same for each column."""

    @property
    def cells(self) -> float:
        """The share of cells that stay as they are."""
        return sum(self.columns) / len(self.columns)


def kept_by(plan: Plan, sizes: tuple[int, ...]) -> Kept:
    """Entropy, information, rows and cells.

    π(x, x′) = Σ_g m_g(x) m_g(x′) / M_g has both marginals p, so that I(X;X′) = 2 H(p) − H(π). With η the share of the
    group of everything, in which x and x′ are independent with the distribution r, and u(x, x′) the part of all
    other groups, H(π) ≤ −Σ u ln u − η ln η + 2 η H(r). Rows of that group count as changed, as nearly all are.
    """
    if len(plan.listed):
        return _kept_by_list(plan, sizes)
    total = float(plan.W.sum())
    p = plan.W / total
    entropy = _entropy(p)
    first, second, moved = moved_by(plan, total)
    stay = (plan.W - plan.rest) / total
    stay -= np.bincount(first, weights=moved, minlength=len(p)) + np.bincount(second, weights=moved, minlength=len(p))
    both = _entropy(np.maximum(stay, 0.0)) + 2 * _entropy(moved)
    eta = float(plan.rest.sum()) / total
    spare = eta * (2 * _entropy(plan.rest / plan.rest.sum()) - math.log(eta)) if eta > 0 else 0.0
    changed = 2 * float(moved.sum())
    columns = tuple(1 - eta - 2 * _differs(first, second, moved, j, sizes) for j in range(len(sizes)))
    information = min(entropy, max(0.0, 2 * entropy - both - spare))
    return Kept(entropy, information, max(0.0, 1 - eta - changed), tuple(max(0.0, one) for one in columns))


def _kept_by_list(plan: Plan, sizes: tuple[int, ...]) -> Kept:
    """The same for u(x, x′) = a(x, x′) / W as it is listed; the group of everything is left with a distribution l."""
    total, listed = float(plan.W.sum()), plan.listed
    entropy, u = _entropy(plan.W / total), listed.mass / total
    eta, spare = float(plan.rest.sum()) / total, 0.0
    if eta > 0:
        ends = (part / float(part.sum()) for part in (plan.rest, plan.leaving))
        spare = eta * (sum(_entropy(end) for end in ends) - math.log(eta))
    information = min(entropy, max(0.0, 2 * entropy - _entropy(u) - spare))
    same = [1 - eta - _differs(listed.source, listed.target, u, j, sizes) for j in range(len(sizes))]
    rows = float(u[listed.source == listed.target].sum())
    return Kept(entropy, information, min(1.0, rows), tuple(min(1.0, max(0.0, one)) for one in same))


def ways_of(plan: Plan) -> tuple[Integers, Integers, Vector]:
    """For every way but through the group of everything: value, value that it is released as, and weight."""
    if len(plan.listed):
        return plan.listed.source, plan.listed.target, plan.listed.mass.astype(np.float64)
    first, second, moved = moved_by(plan, 1.0)
    every, stay = np.arange(plan.W.size), (plan.W - plan.rest).astype(np.float64)
    for end in (first, second):
        stay -= np.bincount(end, weights=moved, minlength=len(stay))
    source, target = np.concatenate([every, first, second]), np.concatenate([every, second, first])
    mass = np.concatenate([np.maximum(stay, 0.0), moved, moved])
    there = mass > 0
    return source[there], target[there], mass[there]


def moved_by(plan: Plan, total: float) -> tuple[Integers, Integers, Vector]:
    """π(x, x′) of different values, each two of them once."""
    pairs, cells = plan.pairs, plan.W.size
    moved = pairs.m / total * (pairs.n / (pairs.m + pairs.n))
    first, second, several = _moved_in_groups(plan.groups, total)
    first, second = np.concatenate([pairs.first, first]), np.concatenate([pairs.second, second])
    moved = np.concatenate([moved, several])
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys, of = np.unique(low.astype(np.int64) * cells + high, return_inverse=True)
    summed = np.bincount(of.ravel(), weights=moved, minlength=len(keys)).astype(np.float64)
    return keys // cells, keys % cells, summed


def _moved_in_groups(groups: Groups, total: float) -> tuple[Integers, Integers, Vector]:
    """m·m′/M of every two values of a group."""
    of, M = groups.of(), groups.total()
    sizes = np.diff(groups.start)
    ones: list[Integers] = [np.zeros(0, np.int64)]
    others: list[Integers] = [np.zeros(0, np.int64)]
    for step in range(1, int(sizes.max(initial=1))):
        place = np.arange(len(of) - step)
        place = place[of[place] == of[place + step]]
        ones.append(place)
        others.append(place + step)
    one, other = np.concatenate(ones), np.concatenate(others)
    moved = groups.mass[one] / total * (groups.mass[other] / M[of[one]])
    return groups.cells[one], groups.cells[other], moved


def _differs(first: Integers, second: Integers, moved: Vector, j: int, sizes: tuple[int, ...]) -> float:
    """How many of the rows that move one way have another value in column j."""
    after = math.prod(sizes[j + 1 :])
    return float(moved[(first // after) % sizes[j] != (second // after) % sizes[j]].sum())


def _entropy(p: Vector) -> float:
    some = p[p > 0]
    return float(-(some * np.log(some)).sum())
