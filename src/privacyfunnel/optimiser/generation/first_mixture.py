"""A good mixture to start from: p_x taken apart into vertices of Δ, greedily (Carathéodory)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.generation.pricing import Oracle
from privacyfunnel.optimiser.program.polytope import Columns, Polytope, without_dust
from privacyfunnel.optimiser.program.tolerances import GONE
from privacyfunnel.typing import Matrix, Vector

TIGHT_ROW = 1e-11
"""A row is tight when it is this close to 0, relative to its terms."""


def peel(polytope: Polytope, oracle: Oracle, stopped: Callable[[], bool]) -> tuple[Columns, Vector]:
    """Vertices v_i of Δ and weights with Σ q_i v_i = p_x, in at most about n_x + rows steps.

    What is left, r, stays in the cone of Δ. In each step the vertex of r's own face with the most mass
    on the largest entry of r is taken away as far as it goes: then r loses a value or meets another row,
    and its face shrinks. If rounding errors spoil the end, the rest becomes one more posterior.
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
            oracle.restrict(tight=over > -TIGHT_ROW * (size @ left), open_values=left > GONE)
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


def _complete(polytope: Polytope, V: Matrix, q: Vector) -> tuple[Columns, Vector]:
    """Exactly p_x again: shrink the mixture until what it leaves of p_x is in Δ as well, and add that."""
    G, p_x = polytope.G, polytope.p_x
    V = polytope.draw_in(V)
    mixed = q @ V
    share = min(1.0, float((p_x / np.maximum(mixed, GONE**2)).min())) if len(V) else 0.0
    given = G @ mixed
    gives_more = given < np.minimum(G @ p_x, -TIGHT_ROW * (np.abs(G) @ mixed))  # then the rest may break the row
    share = min(share, float((G @ p_x / np.where(gives_more, given, 1.0))[gives_more].min(initial=1.0)))
    rest = (p_x - share * mixed).clip(0)
    left = float(rest.sum())
    last = rest / left if left > GONE else p_x
    return Columns.from_dense(np.vstack([V, last[None, :]])), np.append(q * share, left)
