"""Compiled loops over all pairs (x, x′): what each is worth at given prices, without ever holding all of them."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.similarity import NEAR
from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Matrix, Vector

NEARNESS = NEAR
FREQUENT_FIRST = 1e-3
"""How much a frequent partner is preferred to a rare one: less than any difference in similarity, mostly."""


@compiled
def similar(codes: Integers, places: Integers, weights: Vector, steps: Vector, x: int, y: int) -> float:
    """sim(x, y), as in `Similarity`."""
    total = 0.0
    for j in range(codes.shape[1]):
        if codes[x, j] == codes[y, j]:
            total += weights[j]
        elif steps[j] > 0.0 and places[x, j] >= 0 and places[y, j] >= 0:
            total += weights[j] * NEARNESS * (1.0 - abs(places[x, j] - places[y, j]) * steps[j])
    return total


@compiled
def insert(values: Vector, names: Integers, value: float, name: int) -> None:
    """Keep the largest, in falling order, in `values` with their `names`."""
    k = len(values) - 1
    while k > 0 and values[k - 1] < value:
        values[k], names[k] = values[k - 1], names[k - 1]
        k -= 1
    values[k], names[k] = value, name


@compiled
def price_outputs(
    codes: Integers,
    places: Integers,
    weights: Vector,
    steps: Vector,
    first: int,
    worth: Vector,
    charge: Matrix,
    u: Vector,
    most: Vector,
    value_in: Matrix,
    name_in: Integers,
    value_out: Matrix,
    name_out: Integers,
) -> None:
    """For outputs o = first, first + 1, …: R[x, o] = sim(x, o) − worth[o] − charge[o, x], over all x.

    most[x] = max_o R; for every x the outputs with the largest gain R − u[x], and for every output the x.
    """
    for i in range(len(charge)):
        o = first + i
        for x in range(len(codes)):
            R = similar(codes, places, weights, steps, x, o) - worth[o] - charge[i, x]
            if most[x] < R:
                most[x] = R
            gain = R - u[x]
            if gain > value_in[x, -1]:
                insert(value_in[x], name_in[x], gain, o)
            if gain > value_out[o, -1]:
                insert(value_out[o], name_out[o], gain, x)


@compiled
def nearest(
    codes: Integers,
    places: Integers,
    weights: Vector,
    steps: Vector,
    p: Vector,
    group: Integers,
    per_group: int,
    groups: int,
    most: int,
) -> Integers:
    """names[x]: the `most` values most similar to x (itself first), then `per_group` of each group; −1 where none.

    Of equally similar ones, the more frequent.
    """
    n = len(codes)
    wide = most + per_group * groups
    names = np.full((n, wide), -1, np.int64)
    for x in range(n):
        values = np.full(wide, -np.inf)
        for y in range(n):
            score = similar(codes, places, weights, steps, x, y) + FREQUENT_FIRST * p[y]
            if score > values[most - 1]:
                insert(values[:most], names[x, :most], score, y)
            start = most + group[y] * per_group
            if score > values[start + per_group - 1]:
                insert(values[start : start + per_group], names[x, start : start + per_group], score, y)
    return names
