"""The tree: pieces of p_x are split in two while there is time, those first that promise to tell most."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting.halves import Halving, Piece
from privacyfunnel.typing import Vector

DECIDED = 300
"""Values of a piece that are decided one by one: a program of so many takes a tenth of a second."""
WORTH = 0.01
"""Nats that a split must tell, given the piece."""
LEAST_SECONDS = 1.0
"""For the program of a split, however little time is left."""
MOST_ENTRIES = 300_000
"""Values of all pieces together, as each is an entry of the channel: proving so many takes ten seconds."""


@dataclass(order=True)
class _Open:
    """A piece that may be split."""

    urgency: float
    number: int
    piece: Piece = field(compare=False)
    decided: int = field(compare=False)
    apart: bool = field(compare=False, default=False)

    def otherwise(self, number: int) -> _Open | None:
        """Another way, when this one told next to nothing: all other values apart."""
        if self.decided >= len(self.piece.x) or self.apart:
            return None
        return _Open(self.urgency / 2, number, self.piece, DECIDED, True)


@dataclass(eq=False)
class Tree:
    """Pieces that add up to p_x."""

    halving: Halving
    state: State
    splits: int = 0
    told: float = 0.0

    def grown(self, p_x: Vector) -> list[Piece]:
        """The pieces of p_x, or of what is left of it, when time is up, or when none is left that would tell more."""
        some = np.flatnonzero(p_x)
        if not len(some):
            return []
        numbers, whole = count(), Piece(some, p_x[some])
        heap, done = [_Open(0.0, next(numbers), whole, DECIDED)], []
        entries = len(some)
        while heap and entries <= MOST_ENTRIES and not self.state.stopped():
            now = heapq.heappop(heap)
            seconds = max(LEAST_SECONDS, self.state.left())
            split = self.halving.split(now.piece, now.decided, seconds, apart=now.apart)
            if split is None or split.told < WORTH:
                again = now.otherwise(next(numbers))
                if again is None:
                    done.append(now.piece)
                else:
                    heapq.heappush(heap, again)
                continue
            self._tell(now.piece.q * split.told)
            entries -= len(now.piece.x)
            for piece in (now.piece.part(split.f), now.piece.part(1 - split.f)):
                entries += len(piece.x)
                if len(piece.x) == 1:
                    done.append(piece)
                    continue
                urgency = -piece.q * piece.entropy() * min(1.0, split.told)
                apart = now.apart and len(piece.x) > DECIDED
                heapq.heappush(heap, _Open(urgency, next(numbers), piece, DECIDED, apart))
        return done + [each.piece for each in heap]

    def _tell(self, more: float) -> None:
        self.splits += 1
        self.told += more
        self.state.utility = max(self.state.utility, self.told)
        self.state.report()
