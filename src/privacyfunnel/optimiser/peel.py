"""A good mixture to start from: p_x taken apart into vertices of Δ, greedily (Carathéodory)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.pricing import Oracle
from privacyfunnel.polytope import Columns, Polytope, without_dust
from privacyfunnel.typing import Vector

GONE = 1e-13
"""Mass below this is rounding error."""
TIGHT = 1e-11
"""A row is tight when it is this close to 0, relative to its terms."""


def peel(polytope: Polytope, oracle: Oracle, stopped: Callable[[], bool]) -> tuple[Columns, Vector]:
    """Vertices v_i of Δ and weights with Σ q_i v_i = p_x, in at most about n_x + rows steps.

    What is left, r, stays in the cone of Δ. In each step the vertex of r's own face with the most mass
    on the largest entry of r is taken away as far as it goes: then r loses a value or meets another row,
    and its face shrinks. If rounding errors spoil the end, the rest is given to p_x itself.
    """
    G, p_x = polytope.G, polytope.p_x
    left = p_x.copy()
    vertices, weights = [], []
    size = np.abs(G)
    try:
        for _ in range(2 * (polytope.n_x + len(G))):
            if left.max() <= GONE or stopped():
                break
            over = G @ left
            oracle.restrict(tight=over > -TIGHT * (size @ left), open_values=left > GONE)
            v = without_dust(oracle.minimise(-(np.arange(polytope.n_x) == left.argmax()).astype(np.float64)))
            slope = G @ v
            closing = slope < -GONE
            carried = v > GONE
            step = min(
                float((left[carried] / v[carried]).min()),
                float((over[closing] / slope[closing]).min(initial=np.inf)),
            )
            if step <= 0:
                break
            vertices.append(v)
            weights.append(step)
            left = left - step * v
            left[left < GONE] = 0.0
    except SolverFailure:
        pass  # what has been taken away is still a good beginning
    finally:
        oracle.unrestrict()
    return _complete(polytope, np.array(vertices).reshape(-1, polytope.n_x), np.array(weights))


def _complete(polytope: Polytope, V: Vector, q: Vector) -> tuple[Columns, Vector]:
    """Exactly p_x again: shrink the mixture until it fits under p_x, and give p_x the rest."""
    V = polytope.draw_in(V)
    fits = float((polytope.p_x / np.maximum(q @ V, GONE**2)).min()) if len(V) else 0.0
    share = min(1.0, fits)
    everything = Columns.from_dense(np.vstack([V, polytope.p_x[None, :]]))
    return everything, np.append(q * share, 1 - share * q.sum())
