"""Pieces of p_x as an exact channel: every output rounded by itself, and what is left over to the largest, the sink.

As `program/rounding.py` does it, with sparse rows. The search stays inside of the limits by more than rounding moves
most entries, so they are rounded down. Small ones, of which that takes much, are rounded up in outputs that miss the
promise otherwise: mostly they are what keeps it, a little of many people beside much of a few.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from privacyfunnel.optimiser.splitting.halves import LEAST_ENTRY, Piece
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Vector

SPARED = 1e-7
"""Of every output but the sink, left to the sink at first: a constant row, which gives it room."""
MORE_SPARED, MOST_SPARED = 16, 0.2
"""Times as much at most, while the sink misses the promise, up to this share; then the channel is constant."""
SMALL = UNIT * LEAST_ENTRY
"""Of entries below this, rounding down takes more than the search leaves room for."""
LOSES = 1e-3
"""Of an output, what it may lose when entries are made smaller."""
EVERYBODY = (16, 256, 4_096)
"""Units of everybody in an output that would lose more: up to a millionth."""
MENDINGS = 100
"""Times that entries of an output are made smaller before it is given up."""


def rounded_pieces(pieces: list[Piece], G: sparse.csr_array, p_x: Vector, slack: float) -> Channel:
    """A channel whose outputs meet G v ≤ −slack, each near its piece."""
    pieces = sorted(pieces, key=lambda piece: -piece.q)
    tighter = sparse.csr_array((G.data + slack, G.indices, G.indptr), shape=G.shape)
    A = sparse.csr_array(tighter @ sparse.diags_array(p_x))
    spared = SPARED
    while spared < MOST_SPARED:
        N = _rounded(A, pieces[1:], p_x, 1 - spared)
        others = np.asarray(N.sum(axis=0)).ravel()
        sink = UNIT - others
        over = A @ sink.astype(np.float64)
        if sink.min() >= 0 and bool((over <= 0).all()):
            return _assembled(sink, N)
        spared = min(MORE_SPARED * spared, max(2 * spared, _missing(over, -(A @ others.astype(np.float64)))))
    return Channel.from_entries(*_constant(len(p_x)), (1, len(p_x)))


def _missing(over: Vector, room: Vector) -> float:
    """The share of all others that makes good what the sink misses, and half as much again."""
    short = over > 0
    return float((1.5 * over[short] / np.maximum(room[short], over[short])).max(initial=0.0))


def _rounded(A: sparse.csr_array, pieces: list[Piece], p_x: Vector, share: float) -> sparse.csr_array:
    """N[y, x] = 2³²·P(y|x) in whole numbers that keep the promise."""
    x = np.concatenate([np.empty(0, dtype=np.int64), *(piece.x for piece in pieces)])
    mass = np.concatenate([np.empty(0), *(piece.mass for piece in pieces)])
    starts = np.concatenate([[0], np.cumsum([len(piece.x) for piece in pieces])]).astype(np.int64)
    exact = share * UNIT * mass / p_x[x]
    units, shape = np.floor(exact), (len(pieces), len(p_x))
    over = sparse.coo_array(sparse.csr_array((units, x, starts), shape=shape) @ A.T)
    columns, wider = sparse.csc_array(A), sparse.lil_array(shape, dtype=np.int64)
    for y in np.unique(over.coords[0][over.data > 0]):
        own = slice(starts[y], starts[y + 1])
        up = np.where(exact[own] < SMALL, np.ceil(exact[own]), units[own])
        down, fewer = units[own].copy(), _smaller(sparse.csr_array(columns[:, x[own]]), up)
        units[own] = fewer
        if (down - fewer) @ p_x[x[own]] > LOSES * (down @ p_x[x[own]]):
            whole = _with_everybody(A, x[own], down)
            if whole is not None:
                wider[[y], :], units[own] = whole, 0.0
    N = sparse.csr_array(sparse.csr_array((units.astype(np.int64), x, starts), shape=shape) + sparse.csr_array(wider))
    N.eliminate_zeros()
    return sparse.csr_array(N[np.flatnonzero(np.diff(N.indptr))])


def _with_everybody(A: sparse.csr_array, x: Integers, units: Vector) -> Integers | None:
    """The same output with a little of everybody, a constant that has room in every row; None if that is too little."""
    for little in EVERYBODY:
        whole = np.full(A.shape[1], little, dtype=np.int64)
        whole[x] += units.astype(np.int64)
        if bool((A @ whole.astype(np.float64) <= 0).all()):
            return whole
    return None


def _smaller(A: sparse.csr_array, units: Vector) -> Vector:
    """Whole numbers up to these that meet A·units ≤ 0: what breaks a row is made smaller; 0 if that leads nowhere."""
    above, below = A.maximum(0), -A.minimum(0)
    for _ in range(MENDINGS):
        too_much, enough = above @ units, below @ units
        rows = np.flatnonzero(too_much > enough)
        if not len(rows):
            return units
        less = sparse.csr_array(above[rows] > 0).multiply((enough[rows] / too_much[rows] - 1)[:, None])
        units = np.floor(units * (1 + less.min(axis=0).toarray().ravel()))
    return np.zeros(len(units))


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
