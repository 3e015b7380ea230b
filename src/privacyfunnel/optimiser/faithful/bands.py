"""Bands: a promise as limits low ≤ d·v ≤ high on posteriors v, fewer of them than it has rows.

A row g of G that is α + β·d, with β > 0 and Σv = 1, says d·v ≤ −α/β. The limits of LIP on all beliefs in two secrets
are four rows and one such d. What is left unpaired stays g·v ≤ 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.program.tolerances import COLUMN_DIGITS
from privacyfunnel.typing import Integers, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Bands:
    """low[r] ≤ D[r]·v ≤ high[r] for every posterior v that keeps the promise; p_x is one of them."""

    D: Matrix
    low: Vector
    high: Vector

    @classmethod
    def of(cls, G: Matrix) -> Bands:
        """The same as G v ≤ 0 for Σv = 1."""
        alpha = G.min(axis=1, initial=np.inf)
        beta = G.max(axis=1, initial=-np.inf) - alpha
        groups: dict[bytes, list[tuple[int, bool]]] = {}
        for r in np.flatnonzero(beta > 0).tolist():
            d = (G[r] - alpha[r]) / beta[r]
            turned = _key(1 - d)
            if turned in groups:
                groups[turned].append((r, True))
            else:
                groups.setdefault(_key(d), []).append((r, False))
        rows, low, high = [], [], []
        for members in groups.values():
            first = members[0][0]
            if len(members) == 1:
                rows.append(G[first])
                low.append(-np.inf)
                high.append(0.0)
                continue
            limits = [(-alpha[r] / beta[r], turned) for r, turned in members]
            rows.append((G[first] - alpha[first]) / beta[first])
            high.append(min((limit for limit, turned in limits if not turned), default=np.inf))
            low.append(max((1 - limit for limit, turned in limits if turned), default=-np.inf))
        return cls(np.array(rows).reshape(len(rows), G.shape[1]), np.array(low), np.array(high))

    def __len__(self) -> int:
        return len(self.D)

    def join(self, G: Matrix) -> Bands:
        """With further rows G v ≤ 0."""
        low, high = np.full(len(G), -np.inf), np.zeros(len(G))
        return Bands(np.vstack([self.D, G]), np.append(self.low, low), np.append(self.high, high))

    def spans(self) -> tuple[Vector, Vector]:
        """Low and high, with 0 for what is no limit."""
        return np.where(np.isfinite(self.low), self.low, 0.0), np.where(np.isfinite(self.high), self.high, 0.0)

    def overstepped(self, values: Matrix, mass: Vector, tolerance: float) -> tuple[Integers, Integers]:
        """Where values[o, r] = D[r]·π(·, o) leaves [low, high]·mass[o] by more than tolerance·mass[o]."""
        span = tolerance * mass[:, None]
        out = (values > self.high * mass[:, None] + span) | (values < self.low * mass[:, None] - span)
        outputs, rows = np.nonzero(out)
        return outputs, rows


def _key(d: Vector) -> bytes:
    return bytes((np.round(d, COLUMN_DIGITS) + 0.0).tobytes())
