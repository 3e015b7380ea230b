"""Remixing: posteriors with few values, sought around every value, take the place of what peeling and splitting left.

Column generation, restricted to supports among a value and its companions. Prices are those of the master program, at
first mixed with what each value costs on average in the mixture there is, y[x] = Σ_v P(v|x) H(v): the corners that a
master program with few columns has for prices lead anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.cores import side_by_side
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting.companions import Rows
from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.optimiser.splitting.nearby import search
from privacyfunnel.typing import Integers, Vector

Flags = NDArray[np.bool_]

AROUND = 40
"""Values among which supports are sought at first."""
WIDER, WIDEST, WIDEST_FOR_ALL = 2, 320, 160
"""Times as many, up to so many around values for which there are no posteriors yet, and up to so many around all."""
SOON = 3
"""Rounds, after which values that lack posteriors are known."""
LITTLE = 1e-4
"""Of H(X): what a round must gain to be followed by one like it."""
PATIENCE = 20
"""Rounds that may gain less than that, when there is nothing wider."""
WORTH = 1e-4
"""Nats by which a posterior undercuts its price."""
AVERAGE, FADES = 0.8, 0.5
"""How much average prices count in the first round, and how much of that is left from round to round."""
SHARPNESS = 0.3
"""Of the random points from which every second descent begins: some values have most of the mass."""
POINTS = 1_009
"""Random numbers, used in turn."""
LANES = 4
"""Shares of the values that are gone through side by side: threads, at most."""
CENTRES = 16
"""Values that a lane goes through before it looks at the clock."""
SAME_DIGITS = 9
"""Posteriors that agree to so many decimals are one."""
COSTLIER = 10.0
"""Times as long as around others, so far around a value that lacks posteriors."""
MOST_COVERED = 400
"""Values that still lack posteriors at the end, for which those with most of them are added."""
LEFT = 0.45
"""Of the time that is left, what a round may take, if it takes as long as the last one: master programs grow."""
LAST_SECONDS = 3.0
"""For each of two ways to solve the last master program, at least."""
WIDE = 500
"""Pieces that are offered together, as they have one width."""


@dataclass(eq=False)
class Remixing:
    """The best mixture of pieces of p_x and of what is found around single values."""

    G: sparse.csr_array
    p_x: Vector
    entropy: float
    state: State
    found: int = 0
    rounds: int = 0
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def better(self, pieces: list[Piece]) -> list[Piece]:
        """Pieces that tell at least as much, when time is up or nothing more is found."""
        master, mixed = Master(self.p_x), pieces
        for part in range(0, len(pieces), WIDE):
            master.add(columns_of(pieces[part : part + WIDE]))
        with suppress(SolverFailure):
            try:
                self._generate(master)
            finally:
                mixed = _pieces(*master.mixture_in_time(max(LAST_SECONDS, self.state.left() / 2)))
        return min(pieces, mixed, key=lambda some: sum(piece.q * piece.entropy() for piece in some))

    def _generate(self, master: Master) -> None:
        most = abs(self.G).max(axis=1).toarray().ravel()
        scaled = sparse.csr_array(sparse.diags_array(1 / np.where(most > 0, most, 1.0)) @ self.G)
        rows, average, took, idle = Rows.of(scaled, self.p_x), AVERAGE, 0.0, 0
        sizes = np.full(len(self.p_x), AROUND)
        q, y, _ = master.solve()
        while idle < PATIENCE and not self.state.stopped() and took <= LEFT * self.state.left():
            began, before = time.monotonic(), float(y @ self.p_x)
            master.give_up_after(max(LAST_SECONDS, self.state.left()))
            prices = (1 - average) * y + average * self._average(master, q)
            everywhere = np.arange(len(sizes))
            new = self._around(everywhere, rows, prices, sizes, master.lent > 0, self.state.stopped)
            average *= FADES
            self.rounds += 1
            if len(new):
                self.found += len(new)
                master.add(new)
                q, y, _ = master.solve()
            if self.rounds > SOON:
                _widen(sizes, master.lent > 0, WIDEST)
            if before - float(y @ self.p_x) < LITTLE * self.entropy and average < LITTLE:
                if master.lent.any() and master.raise_penalty():
                    q, y, _ = master.solve()
                elif not _widen(sizes, np.ones(len(sizes), dtype=bool), WIDEST_FOR_ALL):
                    idle += 1  # chance finds more, for a while
            took = time.monotonic() - began
        heaviest = np.argsort(-master.lent, kind="stable")[:MOST_COVERED]
        lacking = np.sort(heaviest[master.lent[heaviest] > 0])
        if COSTLIER * took * len(lacking) / len(sizes) < self.state.left():
            # else wide pieces must cover them, which costs much of all others
            sizes[lacking] = WIDEST
            new = self._around(lacking, rows, y, sizes, np.ones(len(sizes), dtype=bool), self.state.stopped)
            if len(new):
                master.add(new)

    def _average(self, master: Master, q: Vector) -> Vector:
        """What each value costs on average in the mixture."""
        used = np.flatnonzero(q > 0)
        columns = master.columns.take(used)
        total = np.zeros(len(self.p_x))
        np.add.at(total, columns.support, (q[used] * columns.entropy())[:, None] * columns.mass)
        return np.asarray(total / self.p_x)

    def _around(
        self,
        centres: Integers,
        rows: Rows,
        y: Vector,
        sizes: Integers,
        lacking: Flags,
        stopped: Callable[[], bool],
    ) -> Columns:
        """Posteriors that undercut these prices, sought around some values."""
        noise = self._rng.dirichlet(np.full(POINTS, SHARPNESS)) + np.finfo(float).tiny
        there, turn = np.ones(len(y), dtype=bool), self.rounds // 2 if self.rounds % 2 else 0

        def look(lane: int) -> list[tuple[Integers, Integers, Vector]]:
            number, own = np.full(len(rows.first) - 1, -1), centres[lane::LANES]
            parts = (own[i : i + CENTRES] for i in range(0, len(own), CENTRES))
            return [
                search(rows, part, sizes[part], lacking[part], y, WORTH, noise, number, there, turn)
                for part in parts
                if not stopped()
            ]

        found = [part for lane in side_by_side(look, range(LANES)) for part in lane]
        return _different([Piece(x, m) for starts, values, masses in found for x, m in _cut(starts, values, masses)])


def _pieces(columns: Columns, q: Vector) -> list[Piece]:
    """The posteriors that are in use, with their masses."""
    masses = q[:, None] * columns.mass
    return [Piece(x[m > 0], m[m > 0]) for x, m in zip(columns.support, masses, strict=True) if (m > 0).any()]


def _widen(sizes: Integers, where: Flags, widest: int) -> bool:
    """Look further around some values; whether there was any further to look."""
    some = where & (sizes < widest)
    sizes[some] = np.minimum(WIDER * sizes[some], widest)
    return bool(some.any())


def _cut(starts: Integers, values: Integers, masses: Vector) -> list[tuple[Integers, Vector]]:
    return [(values[a:b], masses[a:b]) for a, b in pairwise(starts)]


def _different(pieces: list[Piece]) -> Columns:
    """As columns, each once."""
    seen = {piece.x.tobytes() + np.round(piece.mass / piece.q, SAME_DIGITS).tobytes(): piece for piece in pieces}
    return columns_of(list(seen.values()))


def columns_of(pieces: list[Piece]) -> Columns:
    """The posteriors of all pieces."""
    width = max((len(piece.x) for piece in pieces), default=0)
    support, mass = np.zeros((len(pieces), width), dtype=np.int64), np.zeros((len(pieces), width))
    for i, piece in enumerate(pieces):
        support[i, : len(piece.x)], mass[i, : len(piece.x)] = piece.x, piece.mass / piece.q
    return Columns(support, mass)
