"""Remixing: the best mixture of posteriors with few values, sought around every value.

Column generation, restricted to supports among a value and its companions. Prices are those of the master program, at
first mixed with what each value costs on average in the mixture there is, y[x] = Σ_v P(v|x) H(v): the corners that a
master program with few columns has for prices lead anywhere.

The heaviest values come first, in a part of p_x without the least rest that holds all others (`covering.py`), where
programs are small; then twice as many, and so on. What was found is mixed with the best rest beside it (`resting.py`),
as a single value without posteriors would leave nothing but p_x itself to mix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.cores import side_by_side
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.program.tolerances import LANES, SAME_DIGITS, SHARPNESS
from privacyfunnel.optimiser.splitting.companions import Rows
from privacyfunnel.optimiser.splitting.covering import Covering, Part
from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.optimiser.splitting.nearby import search
from privacyfunnel.optimiser.splitting.resting import Resting
from privacyfunnel.optimiser.splitting.turns import Turns
from privacyfunnel.typing import Integers, Vector

Flags = NDArray[np.bool_]

AROUND = 40
"""Values among which supports are sought at first."""
WIDER, WIDEST = 2, 160
"""Times as many, up to so many: first around values for which there are no posteriors yet."""
LITTLE = 1e-4
"""Of H(X): what a round must gain to be followed by one like it."""
PATIENCE = 20
"""Rounds that may gain less than that, when there is nothing wider."""
WORTH = 1e-4
"""Nats by which a posterior undercuts its price."""
AVERAGE, FADES = 0.8, 0.5
"""How much average prices count in the first round, when those of the master rest on few posteriors, and how much of
that is left from round to round."""
POINTS = 1_009
"""Random numbers, used in turn: a prime, so that values and turns do not fall into step with them."""
CENTRES = 16
"""Values that a lane goes through before it looks at the clock."""
LEFT = 0.45
"""Of the time that is left, what a round may take, if it takes as long as the last one: master programs grow."""
LEAST_ROUND = 0.1
"""Of the values whose turn it is, what a round is worth that has no time for all of them."""
LAST_SECONDS = 3.0
"""For a linear program, or to mix what was found, at least."""
FIRST, MORE = 400, 2
"""Values that are mixed at first, the heaviest, and times as many from stage to stage."""
STAGE_SHARE = 0.35
"""Of the time that is left, what a stage may take, unless it is the last."""
STAGE_LITTLE = 1e-3
"""Of H(X): a stage in which a round gains less has done its part."""


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

    def __post_init__(self) -> None:
        most = abs(self.G).max(axis=1).toarray().ravel()
        self._scaled = sparse.csc_array(sparse.diags_array(1 / np.where(most > 0, most, 1.0)) @ self.G)
        self._covering, self._resting = Covering(self.G, self.p_x), Resting(self.G, self.p_x)
        self._sizes, self._next = np.full(len(self.p_x), AROUND), self._or_all(FIRST)
        self._known: list[Columns] = []
        self._of_all: Master | None = None
        self._offered = 0
        self._rank = np.empty(len(self.p_x), dtype=np.int64)
        self._rank[np.argsort(-self.p_x, kind="stable")] = np.arange(len(self.p_x))

    def know(self, columns: Columns) -> None:
        """Begin with these posteriors, and with all values at once."""
        self._known.append(columns)
        self._next = len(self.p_x)

    def go_on(self, state: State) -> None:
        """Begin again with what is known, and with all values at once."""
        self.state, self._next = state, len(self.p_x)

    def first(self) -> list[Piece]:
        """A mixture of the heaviest values and a rest that holds the others, found soon; else one piece."""
        pieces = self._stage([Piece(np.arange(len(self.p_x)), self.p_x)], self._next, last=False)
        self._next = self._or_all(MORE * self._next)
        return pieces

    def better(self, pieces: list[Piece]) -> list[Piece]:
        """Pieces that tell at least as much, when time is up or nothing more is found."""
        most = self._next
        while most < len(self.p_x) and not self.state.stopped():
            pieces = self._stage(pieces, most, last=False)
            most = self._or_all(MORE * most)
        return pieces if most < len(self.p_x) else self._stage(pieces, most, last=True)

    def _stage(self, pieces: list[Piece], most: int, *, last: bool) -> list[Piece]:
        """Pieces that tell at least as much, with so many values, the heaviest, beside a rest."""
        outside = self._rank >= most
        with suppress(SolverFailure):
            part = self._part(outside)
            master = self._master(part)
            with suppress(SolverFailure):  # what was found until then is known
                self._generate(part, master, last=last)
            pieces = min(pieces, self._mixed(part, master, outside), key=uncertain)
            self.state.utility = max(self.state.utility, self.entropy - uncertain(pieces))
        return pieces

    def _or_all(self, most: int) -> int:
        return min(most, len(self.p_x))

    def _part(self, outside: Flags) -> Part:
        return self._covering.part(outside, LAST_SECONDS)

    def _generate(self, part: Part, master: Master, *, last: bool) -> None:
        """Find posteriors of a part."""
        sizes, first = self._sizes[part.x], len(master.columns)
        try:
            self._rounds(part, master, sizes, last=last)
        finally:
            self._sizes[part.x] = sizes
            if len(master.columns) > first:
                self._known.append(part.outside(master.columns.take(np.arange(first, len(master.columns)))))
                self._offered += master is self._of_all

    def _rounds(self, part: Part, master: Master, sizes: Integers, *, last: bool) -> None:
        """Around all values again and again, as long as that gains something; a stage before the last one ends soon."""
        G = sparse.csr_array(self._scaled[:, part.x])
        rows, turns = Rows.of(sparse.csr_array(G[np.diff(G.indptr) > 0]), part.v), Turns(len(sizes))
        until = self.state.left() * (0.0 if last else 1 - STAGE_SHARE)
        average, whole, idle = 0.0 if self._known else AVERAGE, 0.0, 0
        q, y, _ = master.solve()
        while idle < PATIENCE and not self.state.stopped():
            began, before, time_for = ticks(), float(y @ part.v), LEFT * (self.state.left() - until)
            share = 1.0 if whole <= time_for else time_for / whole
            if share < LEAST_ROUND:
                break
            master.give_up_after(max(LAST_SECONDS, self.state.left()))
            prices = (1 - average) * y + average * _average(master, q)
            lacking = master.lent > 0
            centres = self._some(turns.next(lacking), share)
            new, found = self._around(centres, rows, prices, sizes, lacking, self.state.stopped)
            turns.note(centres, found)
            average *= FADES
            self.rounds += 1
            if len(new):
                self.found += len(new)
                master.add(new)
                q, y, _ = master.solve()
            gain, whole = before - float(y @ part.v), (ticks() - began) / share
            vain, in_time = turns.in_vain(master.lent > 0), WIDER**2 * whole <= LEFT * (self.state.left() - until)
            if in_time and _widen(sizes, vain, WIDEST):
                continue
            if gain >= (LITTLE if last else STAGE_LITTLE) * self.entropy or average >= STAGE_LITTLE:
                continue
            if not last:
                break
            if not in_time or not _widen(sizes, np.ones(len(sizes), dtype=bool), WIDEST):
                idle += 1  # chance finds more, for a while

    def _some(self, centres: Integers, share: float) -> Integers:
        """So many of them, by chance."""
        return centres if share == 1 else np.sort(self._rng.choice(centres, math.ceil(share * len(centres)), False))

    def _mixed(self, part: Part, master: Master, outside: Flags) -> list[Piece]:
        """The best mixture of what is known and of a rest, which holds the values `outside` whole."""
        if not part.rest.any() and not master.lent.any():
            return part.pieces(*master.mixture())  # all values have posteriors, so nothing need be left
        seconds = max(LAST_SECONDS, self.state.left())
        return self._resting.mixed(outside, self._known, seconds)

    def _master(self, part: Part) -> Master:
        """The mixtures of what is known of a part; that of all values is kept, as it is solved again and again."""
        if part.rest.any():
            return _mixtures(part, self._known)
        if self._of_all is None:
            self._of_all, self._offered = Master(part.v), 0
        for columns in self._known[self._offered :]:
            self._of_all.add(part.inside(columns))
        self._offered = len(self._known)
        return self._of_all

    def _around(
        self,
        centres: Integers,
        rows: Rows,
        y: Vector,
        sizes: Integers,
        lacking: Flags,
        stopped: Callable[[], bool],
    ) -> tuple[Columns, Flags]:
        """Posteriors that undercut these prices, sought around some values, and whether there are any around each."""
        noise = self._rng.dirichlet(np.full(POINTS, SHARPNESS)) + np.finfo(float).tiny
        there, turn = np.ones(len(y), dtype=bool), self.rounds // 2 if self.rounds % 2 else 0
        any_found = np.zeros(len(y), dtype=bool)

        def look(lane: int) -> list[tuple[Integers, Integers, Vector]]:
            number, own, found = np.full(len(rows.first) - 1, -1), centres[lane::LANES], []
            for part in (own[i : i + CENTRES] for i in range(0, len(own), CENTRES)):
                if stopped():
                    break
                starts, values, masses, any_found[part] = search(
                    rows, part, sizes[part], lacking[part], y, WORTH, noise, number, there, turn
                )
                found.append((starts, values, masses))
            return found

        found = [part for lane in side_by_side(look, range(LANES)) for part in lane]
        pieces = [Piece(x, m) for starts, values, masses in found for x, m in _cut(starts, values, masses)]
        return _different(pieces), any_found[centres]


def _mixtures(part: Part, known: list[Columns]) -> Master:
    """The mixtures of posteriors that a part has."""
    master = Master(part.v)
    for columns in known:
        master.add(part.inside(columns))
    return master


def _average(master: Master, q: Vector) -> Vector:
    """What each value costs on average in the mixture."""
    used = np.flatnonzero(q > 0)
    columns = master.columns.take(used)
    total = np.zeros(len(master.p_x))
    np.add.at(total, columns.support, (q[used] * columns.entropy())[:, None] * columns.mass)
    return np.asarray(total / master.p_x)


def uncertain(pieces: list[Piece]) -> float:
    """H(X|Y) of a release that tells the piece."""
    return sum(piece.q * piece.entropy() for piece in pieces)


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
