"""Outputs that are expected to pass a test: parts of values are dealt to outputs, by simulated annealing.

Q(y|x) is in multiples of 1/16. The most information is sought, while each output should stay some standard errors of
the test inside of the promise. Two secrets; p is the share of the second one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.promises.limits import LARGEST_LOG, Limits
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_PARTS = 16
"""Equal parts of a value that may go to different outputs."""
FINE = 8.0
"""Parts that an output of mean size has of a value, so that sizes can be matched."""
TRIED = (0.6, 0.75, 0.9, 1.0)
"""Numbers of outputs to search with, in multiples of the most that there can be if all are alike."""
STEPS, STEPS_FOR_A_PART = 300_000, 100
"""Moves of one part tried for a candidate, and at least for each part: about a tenth of a second for small tables."""
SCHEDULE = np.array([1e-2, 1e-5, 3.0, 60.0])
"""Nats that are given up by chance, at first and at last; and nats for everybody in an output that is not inside of the
promise at all, at first and at last."""
SPARE = 1.02
"""The margin that is searched for, in multiples of the one that is asked for."""
MOST_ENTRIES = 4_000_000
"""Outputs times values, which are held at once."""
ALMOST = 1 - 1e-9
"""Of a margin: that much is enough, for rounding errors."""
TINY = 1e-9
"""People and variances below this are rounding errors."""
EDGE = 1e-12
"""Shares are kept this far from 0 and 1, where no variance is left to divide by."""


@dataclass(frozen=True)
class Window:
    """Shares of the second secret that keep the promise if P(s) is as guessed, and the factors that bind there."""

    low: float
    high: float
    at_low: float
    at_high: float

    @classmethod
    def of(cls, limits: Limits, share: float) -> Window:
        """The window of a promise, where so many have the second secret."""
        up, down = math.exp(min(limits.upper, LARGEST_LOG)), math.exp(-limits.lower)
        odds, apart = share / (1 - share), math.exp(min(limits.spread, LARGEST_LOG))
        low = max((down * share, down), (1 - up * (1 - share), up), (odds / (odds + apart), 1.0))
        high = min((up * share, up), (1 - down * (1 - share), down), (odds / (odds + 1 / apart), 1.0))
        return cls(max(low[0], EDGE), min(high[0], 1 - EDGE), low[1], high[1])

    def margin(self, size: Vector, having: Vector, total: float) -> Vector:
        """By how many standard errors outputs with so many people, of whom so many have the secret, keep the promise.

        P̂(s|y) − f P̂(s) has the variance P(s|y)(1 − P(s|y))(1 − 2fq + f²q)/n_y, about, where q = n_y/n.
        """
        share, q, found = having / size, size / total, []
        for edge, f, sign in ((self.low, self.at_low, 1), (self.high, self.at_high, -1)):
            variance = np.maximum(edge * (1 - edge) * (1 - 2 * f * q + f * f * q), EDGE)
            found.append(sign * (share - edge) * np.sqrt(size / variance))
        return np.asarray(np.minimum(*found))


def candidate(p: Matrix, people: float, window: Window, margin: float, seed: int) -> Matrix:
    """Q[y, x] for all combinations x; if p[s, x] is right, every output is expected to keep the margin in the test."""
    n, share = p.sum(axis=0) * people, p[1] / p.sum(axis=0)
    K = np.arange(1, min(len(n), max(1, MOST_ENTRIES // len(n))) + 1)
    even = window.margin(people / K, people / K * p[1].sum(), people)
    most = int(K[even >= margin].max(initial=1))
    best = np.ones((1, len(n)))
    for outputs in sorted({max(2, round(most * part)) for part in TRIED}) if most > 1 else []:
        best = max(best, _searched(n, share, outputs, window, margin, seed), key=lambda Q: _kept(Q, n))
    return best


def _searched(n: Vector, p: Vector, outputs: int, window: Window, margin: float, seed: int) -> Matrix:
    """Q[y, x] with at most so many outputs, all of which keep the margin, or with one output."""
    wanted = np.ceil(np.log2(np.maximum(1.0, FINE * n * outputs / n.sum())))
    parts = np.minimum(MOST_PARTS, 2**wanted).astype(np.int64)
    starts, of = np.concatenate([[0], np.cumsum(parts)]), np.repeat(np.arange(len(parts)), parts)
    place = np.random.default_rng(seed).integers(0, outputs, len(parts))[of]
    limits = np.array([window.low, window.high, window.at_low, window.at_high, margin * SPARE])
    steps = max(STEPS, STEPS_FOR_A_PART * len(of))
    _anneal(starts, n / parts, n * p / parts, place, outputs, limits, steps, seed, SCHEDULE)
    Q = np.zeros((outputs, len(parts)))
    np.add.at(Q, (place, of), 1 / parts[of])
    return _merged(Q, n, p, window, margin)


def _merged(Q: Matrix, n: Vector, p: Vector, window: Window, margin: float) -> Matrix:
    """Outputs that would not keep the margin are joined to another, the smallest first, where that keeps it best."""
    Q = Q[(Q @ n) > 0]
    while len(Q) > 1:
        size, having = Q @ n, Q @ (n * p)
        bad = np.flatnonzero(window.margin(size, having, n.sum()) < margin * ALMOST)
        if not bad.size:
            break
        y = bad[np.argmin(size[bad])]
        others = np.delete(np.arange(len(Q)), y)
        joined = size[others] + size[y]
        after = window.margin(joined, having[others] + having[y], n.sum())
        good = after >= margin
        Q[others[np.argmin(np.where(good, joined, np.inf)) if good.any() else np.argmax(after)]] += Q[y]
        Q = np.delete(Q, y, axis=0)
    return Q


def _kept(Q: Matrix, n: Vector) -> float:
    """I(X;Y) in nats."""
    mass = Q * (n / n.sum())
    ratio = np.divide(Q, mass.sum(axis=1, keepdims=True), out=np.ones_like(Q), where=mass > 0)
    return float((mass * np.log(ratio)).sum())


@compiled
def _anneal(
    starts: Integers,
    size: Vector,
    having: Vector,
    place: Integers,
    outputs: int,
    limits: Vector,
    steps: int,
    seed: int,
    schedule: Vector,
) -> None:
    """Simulated annealing of I(X;Y) less what outputs lack of the margin; changes `place`, the output of every part.

    Value x has the parts starts[x] to starts[x + 1], each of size[x] people, of whom having[x] have the secret.
    """
    np.random.seed(seed)  # noqa: NPY002 — Numba's own, the quickest in a loop
    values = len(size)
    of = np.zeros(len(place), dtype=np.int64)
    n, k, held = np.zeros(outputs), np.zeros(outputs), np.zeros((values, outputs))
    total = 0.0
    for x in range(values):
        for i in range(starts[x], starts[x + 1]):
            of[i] = x
            total += size[x]
            n[place[i]] += size[x]
            k[place[i]] += having[x]
            held[x, place[i]] += 1
    low, high, f, g, margin = limits
    hot, cold, soft, stiff = schedule
    low_1, low_q = low * (1 - low), low * (1 - low) * (f * f - 2 * f)
    high_1, high_q = high * (1 - high), high * (1 - high) * (g * g - 2 * g)

    def worth(n_y: float, k_y: float, stiffness: float) -> float:
        if n_y <= TINY:
            return 0.0
        share, q = k_y / n_y, n_y / total
        z = min(
            (share - low) * math.sqrt(n_y / max(TINY, low_1 + low_q * q)),
            (high - share) * math.sqrt(n_y / max(TINY, high_1 + high_q * q)),
        )
        return float(-q * math.log(q) - q * stiffness * min(2.0, max(0.0, 1 - z / margin)))

    def told(h: float) -> float:
        return h * math.log(h) if h > 0 else 0.0

    for step in range(steps):
        done = step / steps
        heat, stiffness = hot * (cold / hot) ** done, soft * (stiff / soft) ** done
        i, y, kind = np.random.randint(len(place)), np.random.randint(outputs), np.random.random()  # noqa: NPY002 — Numba's own
        x, old, j, all_parts = of[i], place[i], -1, kind < 0.2
        if kind > 0.6:  # exchange two parts
            j = np.random.randint(len(place))  # noqa: NPY002 — Numba's own
            y = place[j]
        if (y == old and not all_parts) or (j >= 0 and of[j] == x):
            continue
        if all_parts:
            parts, gain, moved = starts[x + 1] - starts[x], 0.0, 0.0
            for o in range(outputs):
                h = held[x, o]
                if h > 0 and o != y:
                    gain += worth(n[o] - h * size[x], k[o] - h * having[x], stiffness) - worth(n[o], k[o], stiffness)
                    moved += h
                gain -= told(h) * size[x] / total
            if moved == 0:
                continue
            gain += told(parts) * size[x] / total
            gain += worth(n[y] + moved * size[x], k[y] + moved * having[x], stiffness) - worth(n[y], k[y], stiffness)
            if gain < 0 and np.random.random() >= math.exp(gain / heat):  # noqa: NPY002 — Numba's own
                continue
            for part in range(starts[x], starts[x + 1]):
                o = place[part]
                n[o], k[o], held[x, o] = n[o] - size[x], k[o] - having[x], held[x, o] - 1
                n[y], k[y], held[x, y] = n[y] + size[x], k[y] + having[x], held[x, y] + 1
                place[part] = y
            continue
        n_old, k_old, n_new, k_new = n[old] - size[x], k[old] - having[x], n[y] + size[x], k[y] + having[x]
        gain = told(held[x, old] - 1) + told(held[x, y] + 1) - told(held[x, old]) - told(held[x, y])
        gain *= size[x] / total
        if j >= 0:
            u = of[j]
            n_old, k_old, n_new, k_new = n_old + size[u], k_old + having[u], n_new - size[u], k_new - having[u]
            change = told(held[u, y] - 1) + told(held[u, old] + 1) - told(held[u, y]) - told(held[u, old])
            gain += change * size[u] / total
        gain += worth(n_old, k_old, stiffness) + worth(n_new, k_new, stiffness)
        gain -= worth(n[old], k[old], stiffness) + worth(n[y], k[y], stiffness)
        if gain < 0 and np.random.random() >= math.exp(gain / heat):  # noqa: NPY002 — Numba's own
            continue
        n[old], k[old], n[y], k[y] = n_old, k_old, n_new, k_new
        held[x, old] -= 1
        held[x, y] += 1
        place[i] = y
        if j >= 0:
            held[of[j], y] -= 1
            held[of[j], old] += 1
            place[j] = old
