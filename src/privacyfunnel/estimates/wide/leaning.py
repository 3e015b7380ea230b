"""Leaning: by how much more than drawing explains released rows are off, where they are redrawn by a model.

Released rows of people who are distributed as p have p + (Q − I)(p − p̃): what the model p̃ has wrong moves the share
of a set A by Σ_x (e_x − 1_A(x)) (p_x − p̃_x), e_x = P(x′ in A | x). Only redrawn rows take part in it, and each adds
something of its own. So its square is taken to be in proportion to the drawing variance, d_A / n: the squared error of
a share by redrawing is τ d_A / n, with the same τ ≥ 1 for all questions; 1 if the model is right.

τ is estimated where the file tells the shares of the fitted people: single columns, whose noisy counts differ from the
released ones by noise of a known variance v_A and by redrawing, E δ_A² = v_A + τ d_A / n.
"""

from __future__ import annotations

import math

from privacyfunnel.typing import Vector

STEPS = 50
"""Of an iteration that settles within a few."""
DOUBT = 1.645
"""Standard errors by which τ is taken to be larger than it came out: it is below that in 95% of cases."""


def leaning(off: Vector, noise: Vector, drawing: Vector, weight: Vector) -> float:
    """τ, taken to be rather too large: from differences `off`, their noise variances, and drawing variances.

    Weighted least squares of off² − noise on drawing; a square has the variance 2(noise + τ·drawing)². The weight[A] of
    each value is (k − 1)/k in a column of k values, as their differences add up to 0.

    >>> round(leaning(np.full(10_000, 3.0), np.zeros(10_000), np.ones(10_000), np.ones(10_000)), 1)
    9.2
    """
    some = drawing > 0
    off, noise, drawing, weight = off[some], noise[some], drawing[some], weight[some]
    if not len(off):
        return 1.0
    times = 1.0
    for _ in range(STEPS):
        precision = weight / (noise + times * drawing) ** 2
        times = max(1.0, float((precision * drawing) @ (off**2 - noise) / ((precision * drawing) @ drawing)))
    precision = weight / (noise + times * drawing) ** 2
    return times + DOUBT * math.sqrt(2 / float((precision * drawing) @ drawing))
