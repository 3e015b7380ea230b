"""Classes of values that tell nearly the same about a secret with three values and more, inside and outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.protocols.wide.mixing_rule import MixingRule, classes_of, inside, planes
from privacyfunnel.protocols.wide.rule import RARE
from privacyfunnel.typing import Integers, Matrix, Vector

CLASSES = (24, 72)
"""Inside what is allowed, and outside."""
SAMPLE = 20_000
"""Values of each side that centres are sought among, drawn by their weight: the centres need not be the best."""
ROUNDS = 12
"""Of moving centres to the means of what is nearest to them."""


@dataclass(frozen=True, eq=False)
class Classes:
    """What the program knows of each class."""

    weight: Vector
    inside: NDArray[np.bool_]
    excess: Matrix
    """excess[k, f]: the mean of positive_f − negative_f."""
    outward: Matrix
    """The same, but where some value of the class is beyond a plane, those within it do not make up for that."""
    unlike: Matrix
    """unlike[k, l]: the share of cells in which values of both classes differ, at least."""
    from_all: Vector
    """The share of cells in which a value of the class differs from one of all values."""


def centres_for(rule: MixingRule, weights: Integers, v: Matrix) -> tuple[tuple[float, ...], ...]:
    """Lifts of centres: of what is inside, and of what is outside."""
    W = weights.sum(axis=0)
    within, lifts, rng = inside(*planes(rule), v), v / np.array(rule.prior), np.random.default_rng(0)
    found: list[tuple[float, ...]] = []
    for side, number in zip((within, ~within), CLASSES, strict=True):
        own = np.flatnonzero(side & (W >= RARE))
        if len(own):
            share = W[own] / float(W[own].sum(dtype=np.float64))
            points = lifts[rng.choice(own, SAMPLE, p=share) if len(own) > SAMPLE else own]
            mass = np.ones(SAMPLE) if len(own) > SAMPLE else share
            centres = _means(points, mass, number, rng)
            keeps = inside(*planes(rule), centres * np.array(rule.prior)) == bool(within[own[0]])
            found += [tuple(one) for one in centres[keeps].tolist()]
            if not keeps.any():  # whichever is heaviest stands for its side
                found.append(tuple(lifts[own[int(np.argmax(W[own]))]].tolist()))
    return tuple(found)


def _means(points: Matrix, mass: Vector, number: int, rng: np.random.Generator) -> Matrix:
    """Centres, each the mean of the points nearest to it."""
    distinct = np.unique(points, axis=0)
    if len(distinct) <= number:
        return np.asarray(distinct)
    centres = points[rng.choice(len(points), 1, p=mass / mass.sum())]
    nearest = ((points - centres[0]) ** 2).sum(axis=1)
    while len(centres) < number and nearest.max() > 0:  # far ones are likelier to be the next
        chance = mass * nearest
        centres = np.vstack([centres, points[rng.choice(len(points), p=chance / chance.sum())]])
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(axis=1))
    for _ in range(ROUNDS):
        away = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
        of = np.argmin(away, axis=1)
        total = np.bincount(of, weights=mass, minlength=len(centres))
        sums = [np.bincount(of, weights=mass * column, minlength=len(centres)) for column in points.T]
        moved = np.stack(sums, axis=1) / np.maximum(total, np.finfo(np.float64).tiny)[:, None]
        centres = np.where((total > 0)[:, None], moved, centres)
    return np.unique(centres, axis=0)


def classes_by(rule: MixingRule, W: Integers, v: Matrix, sizes: tuple[int, ...]) -> Classes:
    """All of the above for the centres of a rule, of values with the weights W."""
    of, number = classes_of(rule, W, v), len(rule.centres)
    some = np.flatnonzero(of >= 0)
    of, share = of[some], W[some] / float(W.sum(dtype=np.float64))
    weight = np.bincount(of, weights=share, minlength=number).astype(np.float64)
    heavy = np.maximum(weight, np.finfo(np.float64).tiny)
    P, N = planes(rule)
    excess, outward = np.zeros((number, len(P))), np.zeros((number, len(P)))
    for f in range(len(P)):
        own = v[some] @ (P[f] - N[f])
        excess[:, f] = np.bincount(of, weights=share * own, minlength=number) / heavy
        beyond = np.bincount(of, weights=share * np.maximum(own, 0.0), minlength=number) / heavy
        outward[:, f] = np.where(beyond > 0, beyond, excess[:, f])
    unlike, like_all = np.zeros((number, number)), np.zeros(number)
    for j, size in enumerate(sizes):
        after = int(np.prod(sizes[j + 1 :], dtype=np.int64))
        column = (some // after) % size
        counted = np.bincount(of * size + column, weights=share, minlength=number * size).reshape(number, -1)
        table = counted / heavy[:, None]
        unlike += np.abs(table[:, None] - table[None]).sum(axis=-1) / 2
        like_all += table @ counted.sum(axis=0)
    within = inside(P, N, np.array(rule.centres) * np.array(rule.prior))
    return Classes(weight, within, excess, outward, np.maximum(unlike, 1.0) / len(sizes), 1 - like_all / len(sizes))
