"""Pieces of p_x as an exact channel: every output rounded by itself, and what is left over to the largest, the sink.

As `program/rounding.py` does it, with sparse rows. The search stays inside of the limits by more than rounding moves
an entry, so rounding down is all there is; an output that misses the promise nevertheless falls to the sink.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Vector

SPARED = 1e-7
"""Of every output but the sink, left to the sink at first: a constant row, which gives it room."""
MORE_SPARED = 16
"""Times as much, while the sink misses the promise."""
PASSES = 6
"""Up to a share of 0.1; then the channel is constant."""


def rounded_pieces(pieces: list[Piece], G: sparse.csr_array, p_x: Vector, slack: float) -> Channel:
    """A channel whose outputs meet G v ≤ −slack, each near its piece."""
    pieces = sorted(pieces, key=lambda piece: -piece.q)
    tighter = sparse.csr_array((G.data + slack, G.indices, G.indptr), shape=G.shape)
    A = sparse.csr_array(tighter @ sparse.diags_array(p_x))
    spared = SPARED
    for _ in range(PASSES):
        N = _kept(A, _rounded_down(pieces[1:], p_x, 1 - spared))
        sink = UNIT - np.asarray(N.sum(axis=0)).ravel()
        if sink.min() >= 0 and bool((A @ sink.astype(np.float64) <= 0).all()):
            return _assembled(sink, N)
        spared *= MORE_SPARED
    return Channel.from_entries(*_constant(len(p_x)), (1, len(p_x)))


def _rounded_down(pieces: list[Piece], p_x: Vector, share: float) -> sparse.csr_array:
    """N[y, x] = 2³²·P(y|x), rounded down."""
    x = np.concatenate([np.empty(0, dtype=np.int64), *(piece.x for piece in pieces)])
    mass = np.concatenate([np.empty(0), *(piece.mass for piece in pieces)])
    y = np.repeat(np.arange(len(pieces)), [len(piece.x) for piece in pieces])
    units = np.floor(share * UNIT * mass / p_x[x]).astype(np.int64)
    return sparse.csr_array((units, (y, x)), shape=(len(pieces), len(p_x)))


def _kept(A: sparse.csr_array, N: sparse.csr_array) -> sparse.csr_array:
    """The outputs that keep the promise."""
    over = sparse.coo_array(N.astype(np.float64) @ A.T)
    broken = np.unique(over.coords[0][over.data > 0])
    return sparse.csr_array(N[np.setdiff1d(np.arange(N.shape[0]), broken)])


def _assembled(sink: Integers, N: sparse.csr_array) -> Channel:
    """The sink as output 0, and the others that are left."""
    rest = sparse.coo_array(N)
    told = rest.data > 0
    left, outputs = np.unique(rest.coords[0][told], return_inverse=True)
    used = np.flatnonzero(sink)
    first = len(used) > 0
    return Channel.from_entries(
        np.concatenate([used, rest.coords[1][told]]).astype(np.int64),
        np.concatenate([np.zeros(len(used), dtype=np.int64), outputs.ravel() + first]),
        np.concatenate([sink[used], rest.data[told]]),
        (len(left) + first, len(sink)),
    )


def _constant(n_x: int) -> tuple[Integers, Integers, Integers]:
    return np.arange(n_x), np.zeros(n_x, dtype=np.int64), np.full(n_x, UNIT, dtype=np.int64)
