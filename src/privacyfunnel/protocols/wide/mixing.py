"""Loops of the rule for three secrets and more: classes of values, and mixtures of values few columns apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.protocols.wide.rule import ROOM
from privacyfunnel.typing import Integers, Matrix, Vector

TRIES = 24
"""Partners that are tried for a value in one neighbourhood before it waits for a larger one."""


@compiled
def in_classes(v: Matrix, prior: Vector, centres: Matrix, allowed: Any, inside: Any, rare: Any) -> Integers:
    """The nearest centre in lifts, the first among equals, on the same side; −1 for rare values, and without one."""
    found = np.full(len(v), -1, np.int64)
    for x in range(len(v)):
        if not rare[x]:
            nearest = np.inf
            for k in range(len(centres)):
                if allowed[k] == inside[x]:
                    away = 0.0
                    for s in range(len(prior)):
                        step = v[x, s] / prior[s] - centres[k, s]
                        away += step * step
                    if away < nearest:
                        nearest = away
                        found[x] = k
    return found


@compiled
def smallest_ratio(P: Matrix, N: Matrix, own: Vector, others: Vector) -> float:
    """The least r for which own + r·others is inside all planes; −1 if there is none."""
    least, most = 0.0, np.inf
    for f in range(len(P)):
        have, give = 0.0, 0.0
        for s in range(len(own)):
            have += P[f, s] * own[s] - N[f, s] * own[s]
            give += P[f, s] * others[s] - N[f, s] * others[s]
        if have > 0:
            if give >= 0:
                return -1.0
            least = max(least, -have / give)
        elif give > 0:
            most = min(most, -have / give)
    return least if least <= most else -1.0


@compiled
def is_inside(P: Matrix, N: Matrix, v: Vector) -> bool:
    """Whether a measure is inside all planes, but for a little room."""
    for f in range(len(P)):
        over, under = 0.0, 0.0
        for s in range(len(v)):
            over += P[f, s] * v[s]
            under += N[f, s] * v[s]
        if over > under * (1 + ROOM):
            return False
    return True


@compiled
def mix_up(
    offsets: Integers,
    lengths: Integers,
    steps: Integers,
    of: Integers,
    v: Matrix,
    P: Matrix,
    N: Matrix,
    classes: Integers,
    proportions: Matrix,
    first: Integers,
    mixture: Integers,
    role: Integers,
    place: Integers,
    base: Integers,
    left: Integers,
    active: Any,
    start: Integers,
    cells: Any,
    mass: Integers,
    count: int,
) -> int:
    """Go through all values of the columns that stay, and mix what differs in the others only.

    Values of a neighbourhood stand in a list for each class, in their order. Each group uses up what is left of its
    first value, or of one of the others, for the mixture.
    """
    n_classes, n_s, roles = len(first) - 1, v.shape[1], classes.shape[1]
    where = np.zeros(len(lengths), np.int64)
    around = np.empty(len(offsets), np.int64)
    following = np.empty(len(offsets), np.int64)
    head, tail = np.full(n_classes, -1, np.int64), np.full(n_classes, -1, np.int64)
    at, begin = np.empty(roles, np.int64), np.empty(roles, np.int64)
    chosen, asked = np.empty(roles, np.int64), np.empty(roles, np.int64)
    others, whole = np.empty(n_s), np.empty(n_s)
    corner = 0
    while True:
        k = 0
        for offset in offsets:
            x = corner + offset
            if active[x]:
                around[k], following[k] = x, -1
                c = of[x]
                if head[c] < 0:
                    head[c] = k
                else:
                    following[tail[c]] = k
                tail[c] = k
                k += 1
        if k > 1:
            for i in range(k):
                c = of[around[i]]
                if head[c] != i:
                    continue
                for use in range(first[c], first[c + 1]):
                    if role[use] != 0:
                        continue
                    t = mixture[use]
                    number = 1
                    ready = True
                    while number < roles and classes[t, number] >= 0:
                        at[number] = begin[number] = head[classes[t, number]]
                        ready = ready and at[number] >= 0
                        number += 1
                    if not ready:
                        continue
                    one = i
                    while one >= 0:
                        x = around[one]
                        mine = base[x] + use - first[c]
                        tries = 0
                        while left[mine] > 0 and tries < TRIES:
                            tries += 1
                            some = True
                            for r in range(1, number):
                                own = place[t, r]
                                while at[r] >= 0 and left[base[around[at[r]]] + own] == 0:
                                    at[r] = following[at[r]]
                                if at[r] < 0:  # from the first that is left
                                    while begin[r] >= 0 and left[base[around[begin[r]]] + own] == 0:
                                        begin[r] = following[begin[r]]
                                    at[r] = begin[r]
                                    some = some and at[r] >= 0
                            if not some:
                                break
                            for s in range(n_s):
                                others[s] = 0.0
                            for r in range(1, number):
                                chosen[r] = around[at[r]]
                                for s in range(n_s):
                                    others[s] += proportions[t, r] * v[chosen[r], s]
                            ratio = smallest_ratio(P, N, v[x], others)
                            made = False
                            if ratio > 0:
                                part, scarce, scarcest = float(left[mine]), 0, 1.0
                                for r in range(1, number):
                                    there = left[base[chosen[r]] + place[t, r]]
                                    needed = np.ceil(part * ratio * proportions[t, r]) + 1.0
                                    if needed > there and (there - 1) / needed < scarcest:
                                        scarce, scarcest = r, max(there - 1, 0) / needed
                                asked[0] = left[mine] if scarce == 0 else np.int64(np.floor(part * scarcest))
                                fits = asked[0] > 0
                                for s in range(n_s):
                                    whole[s] = asked[0] * v[x, s]
                                for r in range(1, number):
                                    there = left[base[chosen[r]] + place[t, r]]
                                    needed = np.ceil(asked[0] * ratio * proportions[t, r]) + 1.0
                                    asked[r] = there if r == scarce or needed > there else np.int64(needed)
                                    for s in range(n_s):
                                        whole[s] += asked[r] * v[chosen[r], s]
                                if fits and is_inside(P, N, whole):
                                    made = True
                                    at_end = start[count]
                                    left[mine] -= asked[0]
                                    cells[at_end], mass[at_end] = x, asked[0]
                                    for r in range(1, number):
                                        left[base[chosen[r]] + place[t, r]] -= asked[r]
                                        cells[at_end + r], mass[at_end + r] = chosen[r], asked[r]
                                    count += 1
                                    start[count] = at_end + number
                            if not made:  # the next partner, of each class in turn
                                r = 1 + tries % (number - 1)
                                at[r] = following[at[r]]
                        one = following[one]
            for i in range(k):
                x = around[i]
                head[of[x]] = -1
                more = False
                for slot in range(base[x], base[x + 1]):
                    more = more or left[slot] > 0
                active[x] = more
        elif k == 1:
            head[of[around[0]]] = -1
        c = len(lengths) - 1
        while c >= 0:
            where[c] += 1
            corner += steps[c]
            if where[c] < lengths[c]:
                break
            corner -= steps[c] * lengths[c]
            where[c] = 0
            c -= 1
        if c < 0:
            return count
