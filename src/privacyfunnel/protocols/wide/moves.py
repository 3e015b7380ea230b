"""Moves: what redrawing does to the values of some columns, whatever the others are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_CELLS = 2_000
"""Combinations of the asked columns' values: as many squared are laid out."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Combinations B of some columns' values: p[B] by the model, and E[A, B] = P(x′ in A | x in B) for its rows.

    π(A, B) = E[A, B] p[B] has p as both marginals; groups make it symmetric, a list does not. E[A, B] is the mean of
    e_x = P(x′ in A | x) over the model's rows in B, so that Σ_B p[B] E[A, B] (1 − E[A, B]) is at least
    Σ_x p_x e_x (1 − e_x): e(1 − e) is concave.
    """

    sizes: tuple[int, ...]
    p: Vector
    E: Matrix

    @property
    def drawing(self) -> Vector:
        """At [A]: at least Σ_x p_x e_x (1 − e_x), n times the variance that drawing gives a share."""
        return np.asarray((self.E * (1 - self.E)) @ self.p)


def moves_of(plan: Plan, sizes: Sequence[int], columns: Sequence[int]) -> Moves:
    """What becomes of the combinations of these columns' values, in C order of the columns as they are given.

    A pair of values with weights m and n moves m·n/(m + n) of each to the other, a group of several m_i·m_j/M from each
    to each; in the group of everything, what is released does not depend on the row.
    """
    own = tuple(sizes[j] for j in columns)
    cells = math.prod(own)
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"these columns have {cells:,} combinations of values, more than {MOST_CELLS:,}; ask for fewer columns at "
            "a time"
        )
    total, pairs = float(plan.W.sum()), plan.pairs
    p, rest, leaving = (marginal(weights / total, sizes, columns) for weights in (plan.W, plan.rest, plan.leaving))
    first, second = (place_of(numbers, sizes, columns) for numbers in (pairs.first, pairs.second))
    moved = pairs.m / total * (pairs.n / (pairs.m + pairs.n))
    joint = np.bincount(first * cells + second, weights=moved, minlength=cells**2).astype(np.float64)
    joint = joint.reshape(cells, cells) + joint.reshape(cells, cells).T
    if len(plan.groups):
        inside = _within_groups(plan.groups, place_of(plan.groups.cells, sizes, columns), cells)
        joint += (inside.T @ inside.multiply(1 / plan.groups.total()[:, None])).toarray() / total
    if len(plan.listed):
        at = [place_of(numbers, sizes, columns) for numbers in (plan.listed.target, plan.listed.source)]
        np.add.at(joint, tuple(at), plan.listed.mass / total)
    else:
        joint[np.diag_indices(cells)] += np.maximum(p - rest - joint.sum(axis=0), 0.0)
    if rest.sum() > 0:
        joint += np.outer(leaving, rest / rest.sum())
    there = joint.sum(axis=0)
    nobody = there == 0  # of whom the model has none: they go through the group of everything
    joint[:, nobody] = leaving[:, None] if rest.sum() > 0 else np.eye(cells)[:, nobody]
    E = joint / joint.sum(axis=0)
    return Moves(own, p, E)


def expected_shares(
    plan: Plan, sizes: Sequence[int], columns: Sequence[int], numbers: Integers, people: Vector
) -> Vector:
    """The expected share of released rows with each combination, for people[i] with the value x = numbers[i].

    Σ_x p_x E(1[x′ in A] | x) = p(A) + what pairs, a list and the group of everything move there − what they move away.
    """
    cells = math.prod(sizes[j] for j in columns)
    share = people / people.sum()
    at = np.zeros(plan.W.size)
    at[numbers] = share
    by_weight = at / np.maximum(plan.W, 1)
    found = np.bincount(place_of(numbers, sizes, columns), weights=share, minlength=cells).astype(np.float64)
    pairs = plan.pairs
    touched = np.flatnonzero((by_weight[pairs.first] > 0) | (by_weight[pairs.second] > 0))
    some = pairs.take(touched)
    net = some.m * (some.n / (some.m + some.n)) * (by_weight[some.first] - by_weight[some.second])  # first to second
    for own, sign in ((some.first, -1.0), (some.second, 1.0)):
        found += sign * np.bincount(place_of(own, sizes, columns), weights=net, minlength=cells)
    if len(plan.groups):
        groups, place = plan.groups, place_of(plan.groups.cells, sizes, columns)
        entering = groups.mass * by_weight[groups.cells]
        entered = np.bincount(groups.of(), weights=entering, minlength=len(groups)) / groups.total()
        leaving = entered[groups.of()] * groups.mass - entering
        found += np.bincount(place, weights=leaving, minlength=cells)
    if len(plan.listed):
        moved = plan.listed.mass * by_weight[plan.listed.source]
        for own, sign in ((plan.listed.source, -1.0), (plan.listed.target, 1.0)):
            found += sign * np.bincount(place_of(own, sizes, columns), weights=moved, minlength=cells)
    gone = np.where(plan.W[numbers] > 0, plan.rest[numbers] * by_weight[numbers], share)
    found -= np.bincount(place_of(numbers, sizes, columns), weights=gone, minlength=cells)
    left = marginal(plan.leaving.astype(np.float64), sizes, columns)
    return np.asarray(found + gone.sum() * left / max(float(left.sum()), 1.0))


def _within_groups(groups: Groups, place: Integers, cells: int) -> sparse.csr_matrix:
    """At [g, A]: the weight of the values of group g that are in A, for the place of each of its values."""
    of = groups.of()
    return sparse.csr_matrix((groups.mass.astype(np.float64), (of, place)), shape=(len(groups), cells))


def marginal(weights: Vector, sizes: Sequence[int], columns: Sequence[int]) -> Vector:
    """Sums over all columns but these, in C order of these."""
    others = tuple(j for j in range(len(sizes)) if j not in columns)
    kept = sorted(columns)
    return np.asarray(weights.reshape(sizes).sum(axis=others).transpose([kept.index(j) for j in columns]).ravel())


def place_of(numbers: Integers, sizes: Sequence[int], columns: Sequence[int]) -> Integers:
    """Which combination of these columns' values each of these values of all columns has."""
    found = np.zeros(len(numbers), dtype=np.int64)
    for j in columns:
        found *= sizes[j]
        found += (numbers // math.prod(sizes[j + 1 :])) % sizes[j]
    return found
