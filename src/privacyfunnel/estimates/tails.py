"""Tails: how surprising a sum of scores is, if its expectation is 0, whatever else the distribution of the rows is.

The test behind every interval. Rows have scores h with E h = 0 if the share in question is the true one. Their sum
came out below 0. How likely is a sum as low as that? The distribution of the rows is unknown, so the likeliest one with
E h = 0 is taken: r[y] ∝ N[y] / (1 − λh[y]) (empirical likelihood, Owen 1988). Outputs that were not seen may be in it:
the largest score that the protocol allows stands for them, since a sum can be low by chance only if high scores are
missing. Under r the chance of the sum comes from its saddlepoint (Lugannani and Rice 1980, in the form of
Barndorff-Nielsen 1986), which is accurate for sums of few rows and of rows that are nearly all alike, too.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.typing import Matrix, Vector

UNSEEN_ROWS = 0.01
"""Rows that are put on the largest score, so that it is in the likeliest distribution without being in the sample."""
STEPS = 60
"""Steps after which a root is taken as it is; Newton's method needs about 6, a bracket halves at least every other."""
STILL = 1e-7
"""Relative change of a root at which it is found."""
LONGEST_STEP = 2.0
"""In units of the exponent of the largest score: Newton's method must not jump to where everything underflows."""
TINY = 1e-300
"""Stands in for a probability that underflows, so that its logarithm is a number."""
CENTRAL = 0.02
"""Standard deviations from the expectation within which a sum is no surprise: the saddlepoint is not defined there."""


def surprise(N: Matrix, h: Matrix, most: Vector) -> Vector:
    """z[i] ≤ 0, so that a sum Σ N[i, y]h[i, y] as low as this one, or lower, has the chance Φ(z[i]) if E h[i] = 0.

    `most` is the largest score that an output can have, seen or not. Sums that are not below 0 are no surprise: 0.
    Those that cannot be, because no score is above 0, have −∞.

    With two scores the sum is binomial, and Φ(z) its tail: at most 5 of 20 heads have the chance 0.0207.

    >>> from scipy.special import ndtr
    >>> z = surprise(np.array([[5.0, 15.0]]), np.array([[0.5, -0.5]]), np.array([0.5]))
    >>> round(float(ndtr(z[0])), 2)
    0.02
    """
    N, h = np.broadcast_arrays(N, h)
    z = np.zeros(len(N))
    S = (N * h).sum(axis=1)
    z[(S < 0) & (most <= 0)] = -np.inf
    low = S + UNSEEN_ROWS * most < 0
    odd = np.flatnonzero(low & (most > 0))
    if odd.size:
        scale = most[odd, None]
        h = np.concatenate([np.minimum(h[odd] / scale, 1.0), np.ones_like(scale)], axis=1)
        N = np.concatenate([N[odd], np.full_like(scale, UNSEEN_ROWS)], axis=1)
        z[odd] = _below(N, h, S[odd] / most[odd])
    return z


def _below(N: Matrix, h: Matrix, S: Vector) -> Vector:
    """The surprise of sums S < 0 of scores of at most 1."""
    rows = N.sum(axis=1)
    x = _leaning(N / rows[:, None], h)
    r = N / (1 - x[:, None] * h)
    r /= r.sum(axis=1, keepdims=True)
    n = rows - UNSEEN_ROWS
    s = (S + _step(r, h) / 2) / n
    z = np.zeros(len(N))
    below = np.flatnonzero(s < 0)
    if below.size:
        z[below] = _saddlepoint(r[below], h[below], s[below], n[below], -x[below])
    return z


def _leaning(f: Matrix, h: Matrix) -> Vector:
    """The x in [0, 1) with Σ f h/(1 − xh) = 0, for scores with mean below 0 and at most 1, the last of which is 1.

    The sum has a pole at 1. Times 1 − x it is finite, and has the same root.
    """
    low, high = np.zeros(len(f)), np.ones(len(f))
    fh, fhh = f * h, f * h * (h - 1)
    x: Vector = np.clip(-fh.sum(axis=1) / (fh * h).sum(axis=1), 0.0, 0.9)
    active = np.arange(len(f))
    for _ in range(STEPS):
        X, H = x[active, None], h[active]
        part = 1 / (1 - X * H)
        value = ((1 - X) * fh[active] * part).sum(axis=1)
        slope = (fhh[active] * part**2).sum(axis=1)
        below = value < 0
        low[active] = np.where(below, x[active], low[active])
        high[active] = np.where(below, high[active], x[active])
        moved = _newton(x[active], value, slope, low[active], high[active])
        # Near the pole it is 1 − x that matters.
        done = np.abs(moved - x[active]) <= STILL * np.minimum(x[active], 1 - x[active])
        x[active] = moved
        active = active[~done]
        if not active.size:
            break
    return x


def _newton(x: Vector, value: Vector, slope: Vector, low: Vector, high: Vector) -> Vector:
    """The next point: Newton's, or the middle of the bracket where that lies outside of it."""
    with np.errstate(all="ignore"):  # where the slope is 0 the middle is taken
        moved = x - value / slope
    inside = (moved > low) & (moved < high)  # false for nan
    return np.asarray(np.where(inside, moved, (low + high) / 2), dtype=np.float64)


def _step(r: Matrix, h: Matrix) -> Vector:
    """How far apart neighbouring values of the sum are: √(E(h − h′)⁴ / E(h − h′)²) for independent rows h and h′.

    With two scores it is their difference. P(sum ≤ S) includes S itself, so half of a step is added to it.
    """
    squared = h * h
    second = (r * squared).sum(axis=1)
    fourth = (r * squared * squared).sum(axis=1)
    return np.asarray(np.sqrt(fourth / second + 3 * second))


def _saddlepoint(r: Matrix, h: Matrix, s: Vector, n: Vector, start: Vector) -> Vector:
    """r* = w + ln(v/w)/w for a mean of n scores of at most s < E h = 0.

    With K(u) = ln E e^{uh} and K′(u) = s, w = −√(2n(us − K(u))) and v = u√(nK″(u)).
    """
    low, high = np.full(len(s), -np.inf), np.zeros(len(s))
    reach = LONGEST_STEP / np.abs(h).max(axis=1)
    u = np.maximum(start, -reach)
    K, curve = np.zeros(len(s)), np.ones(len(s))
    active = np.arange(len(s))
    for _ in range(STEPS):
        H, at = h[active], u[active]
        weight = r[active] * np.exp(at[:, None] * H)
        total = weight.sum(axis=1)
        first = (weight * H).sum(axis=1) / total
        second = (weight * H * H).sum(axis=1) / total - first**2
        K[active], curve[active] = np.log(total), second
        off = first - s[active]
        low[active] = np.where(off < 0, at, low[active])
        high[active] = np.where(off < 0, high[active], at)
        moved = at - np.clip(off / np.maximum(second, TINY), -reach[active], reach[active])
        outside = (moved <= low[active]) | (moved >= high[active])
        moved = np.where(outside & np.isfinite(low[active]), (low[active] + high[active]) / 2, moved)
        done = np.abs(moved - at) <= STILL * np.abs(at)
        u[active] = np.where(done, at, moved)
        active = active[~done]
        if not active.size:
            break
    w = -np.sqrt(np.maximum(2 * n * (u * s - K), 0.0))
    v = u * np.sqrt(n * np.maximum(curve, 0.0))
    far = (w < -CENTRAL) & (v < 0)
    w[far] += np.log(v[far] / w[far]) / w[far]
    return np.asarray(np.minimum(w, 0.0))
