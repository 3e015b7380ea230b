"""The most likely distribution of X by expectation maximisation: a model's answer where the rows do not tell.

p ← p ∘ Qᵀ(f / Qp), from the uniform distribution on. Every step raises the likelihood of the observed f. If Q has
directions that the released rows do not tell, the limit depends on the start there, which is why such numbers are
called model-based and get no interval. Where there are many values and few rows of each, it follows the luck of the
draw. `doubts` finds both out.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.typing import Vector

MOST_STEPS = 3_000
"""Where a likelihood is so flat that GAP is not reached, the search ends here."""
MOST_WORK = 300_000_000
"""Entries of the channel times steps: a few seconds."""
FEWEST_STEPS = 30
"""Also where a step takes long."""
SEED = 0
"""Of the rows that a model is tried on: who asks twice gets the same answer."""
GAP = 1e-8
"""The search ends within this of the largest likelihood, in nats for each row."""
SMALLEST_LEAP = 1e-3
"""A leap makes no probability smaller than this share of what a step makes it, so that none gets stuck at 0."""


def most_likely(f: Vector, Q: csr_array, start: Vector | None = None) -> Vector:
    """p[x] for the observed frequencies f[y] and the channel Q[y, x].

    The search starts from the uniform distribution, or from `start`, which is above 0 everywhere.

    The likelihood is concave, so no p is more than max Qᵀ(f/Qp) − 1 nats for each row better than this one. Two steps
    tell where the next many would lead (SQUAREM, Varadhan and Roland 2008): the leap is taken where it does not
    lower the likelihood.

    >>> Q = csr_array(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> most_likely(np.array([0.6, 0.4]), Q).round(4).tolist()
    [0.7, 0.3]
    """
    model = _Model(f, Q)
    p = np.full(Q.shape[1], 1 / Q.shape[1]) if start is None else start
    for _ in range(int(np.clip(MOST_WORK / Q.nnz, FEWEST_STEPS, MOST_STEPS))):
        rise = model.gradient(p)
        if rise.max() <= 1 + GAP:
            break
        once = p * rise
        twice = once * model.gradient(once)
        r, v = once - p, twice - 2 * once + p
        bend = float((v**2).sum())
        stride = float(np.sqrt((r**2).sum() / bend)) if bend > 0 else 1.0
        leap = np.maximum(p + 2 * stride * r + stride**2 * v, SMALLEST_LEAP * twice)
        leap /= leap.sum()
        p = leap if stride > 1 and model.likelihood(leap) >= model.likelihood(twice) else twice / twice.sum()
    return p


def doubts(f: Vector, rows: int, Q: csr_array, p: Vector, start: Vector) -> list[Vector]:
    """What the most likely distribution p might as well be: found from another start, and from other rows.

    These are as many, drawn by the channel if p is the true distribution. A model that does not find itself again in
    what it says itself follows the luck of the draw.
    """
    q = Q @ p
    drawn = np.random.default_rng(SEED).multinomial(rows, q / q.sum()) / rows
    return [most_likely(f, Q, start), most_likely(drawn, Q, start)]


class _Model:
    """The likelihood Σ f ln(Qp) of observed frequencies."""

    def __init__(self, f: Vector, Q: csr_array) -> None:
        self._f, self._seen, self._Q, self._back = f, f > 0, Q, Q.T.tocsr()
        self._rows = f[self._seen]

    def gradient(self, p: Vector) -> Vector:
        """Qᵀ(f / Qp), whose product with p is the next step."""
        ratio = np.divide(self._f, self._Q @ p, out=np.zeros_like(self._f), where=self._seen)
        return np.asarray(self._back @ ratio)

    def likelihood(self, p: Vector) -> float:
        """Σ f ln(Qp)."""
        drawn = self._Q @ p
        return float((self._rows * np.log(drawn[self._seen])).sum())  # by one core: two wait for each other longer
