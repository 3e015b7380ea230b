"""The search for thousands of values: mix, split or peel while there is time, bound from single views, round, prove."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.program.exact_protocol import protocol_of
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.rounding import SLACKS
from privacyfunnel.optimiser.program.state import Progress, State
from privacyfunnel.optimiser.splitting.halves import Halving, Piece
from privacyfunnel.optimiser.splitting.peeling import MOST_ROWS_ENTRIES, Peeling
from privacyfunnel.optimiser.splitting.remixing import Remixing, columns_of, uncertain
from privacyfunnel.optimiser.splitting.tree import Tree
from privacyfunnel.optimiser.splitting.whole_numbers import rounded_pieces
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sparse_rows import sparse_rows_of
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.protocol import Protocol

SPLIT_FROM = 500
"""Values of X from which on promises with several views are split: their linear programs take seconds then."""
FIRST_FROM = 100
"""Values of X from which on a search among all of them keeps no less than splitting finds."""
FIRST_SHARE, FIRST_SECONDS = 0.4, 4.0
"""Of the time limit, and seconds at most, for that."""
MARGIN = 5e-4
"""Nats by which the search stays inside of every limit: more than rounding to multiples of 2⁻³² moves a small entry."""
MOST_MARGIN = 0.1
"""Of a limit: where a limit is so small that MARGIN would be more of it, nine tenths of it are still used."""
BOUND_SHARE = 0.15
"""Of the time limit, for a bound from single views."""
SPLIT_SHARE = 0.8
"""Of the time limit, when splitting ends; what follows is the bound and the proof."""
HARD = 0.5
"""A first mixture that leaves more than this in one piece: posteriors around single values are hard to find."""
APART_SHARE, PEEL_SHARE = 0.6, 0.3
"""Of the time for the search, when p(x) has been taken apart in another way then, and what peeling has of that."""
MIX_SHARE = 0.9
"""When the mixture is done; then what is left in one piece is split."""
WORTH_SPLITTING = 0.01
"""Of H(X), what a piece must have to be split."""


def can_split(joint: Joint, notion: Notion, least: int | None = None) -> bool:
    """Whether attackers know something and there are `least` values, SPLIT_FROM if that is not said."""
    if joint.n_x < (SPLIT_FROM if least is None else least):
        return False
    clauses = notion.clauses(joint)  # once: many attackers take a while to lay out
    perfect = any(clause.limits != clause.limits.granted() for clause in clauses)
    return not perfect and not all(clause.one_view for clause in clauses)


def split_search(
    joint: Joint,
    notion: Notion,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
    interrupted: threading.Event,
    started: float,
) -> tuple[Protocol, Columns]:
    """A certified protocol and its posteriors."""
    return Splitting(joint, notion).found(time_limit, progress, interrupted, started)


def split_first(
    joint: Joint, notion: Notion, time_limit: float | None, interrupted: threading.Event
) -> tuple[Protocol, Columns] | None:
    """A protocol to begin with, and its posteriors, in a part of the time; None where a search soon finds as much."""
    if not can_split(joint, notion, FIRST_FROM):
        return None
    seconds = FIRST_SECONDS if time_limit is None else min(FIRST_SECONDS, FIRST_SHARE * time_limit)
    return split_search(joint, notion, seconds, None, interrupted, ticks())


class Splitting:
    """A search that can go on where it stopped."""

    def __init__(self, joint: Joint, notion: Notion) -> None:
        self._joint, self._notion = joint, notion
        self._clauses = [clause.granted() for clause in notion.clauses(joint)]
        self._inside = sparse_rows_of(self._clauses, _share(self._clauses))
        self._pieces, self._how = [Piece(np.arange(joint.n_x), joint.p_x)], ""
        self._remixing: Remixing | None = None
        self._bound: float | None = None

    def found(
        self,
        time_limit: float | None,
        progress: Callable[[Progress], None] | None,
        interrupted: threading.Event,
        started: float,
    ) -> tuple[Protocol, Columns]:
        """A certified protocol and its posteriors; with more time than before, the search goes on from there."""
        joint, notion = self._joint, self._notion
        limit = None if time_limit is None else SPLIT_SHARE * time_limit
        state = State(joint.p_x, joint.entropy, 0.0, limit, progress, interrupted, started)
        self._mix(state)
        self._pieces = no_more_than(joint.n_x, self._pieces)
        if self._bound is None:
            self._bound = _bound(joint, self._clauses, time_limit, interrupted)
        G = sparse_rows_of(self._clauses)
        for slack in while_awaited(SLACKS):
            channel = rounded_pieces(self._pieces, G, joint.p_x, slack)
            certificate = certify_channel(channel, joint, notion)
            if certificate.holds and certificate.level <= notion.epsilon:
                protocol = protocol_of(joint, channel, self._bound, notion, self._how)
                return protocol, columns_of(self._pieces)
        raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")

    def _mix(self, state: State) -> None:
        """Better pieces of p_x: posteriors around single values, and a rest that is split in two."""
        joint, inside, apart = self._joint, self._inside, ""
        if inside.nnz > MOST_ROWS_ENTRIES:
            self._pieces, self._how = _split(joint, inside, state, self._pieces)
            return
        if self._remixing is None:
            self._remixing = Remixing(inside, joint.p_x, joint.entropy, _until(state, MIX_SHARE))
            self._pieces = self._remixing.first()
            if _widest(self._pieces).q > HARD:
                others, apart = _taken_apart(joint, inside, _until(state, APART_SHARE))
                self._pieces, apart = min(self._pieces, others, key=uncertain), f"{apart}, "
                self._remixing.know(columns_of(others))
        else:
            self._remixing.go_on(_until(state, MIX_SHARE))
        self._pieces, remixing = self._remixing.better(self._pieces), self._remixing
        mixed = f"{remixing.found} posteriors found around single values in {remixing.rounds} rounds and mixed"
        self._how, widest = f"{apart}{mixed}", _widest(self._pieces)
        if widest.q * widest.entropy() >= WORTH_SPLITTING * joint.entropy:
            self._pieces, split = _split(joint, inside, state, self._pieces)
            self._how += f", {split}"


def no_more_than(most: int, pieces: list[Piece]) -> list[Piece]:
    """The pieces, the least ones put together if there are more: every output is written as a value of its own."""
    if len(pieces) <= most:
        return pieces
    pieces = sorted(pieces, key=lambda piece: -piece.q)
    last = np.zeros(1 + max(int(piece.x.max()) for piece in pieces))
    for piece in pieces[most - 1 :]:
        last[piece.x] += piece.mass
    return [*pieces[: most - 1], Piece(np.flatnonzero(last), last[last > 0])]


def _until(state: State, share: float) -> State:
    """The same, for a share of the time."""
    return state if state.time_limit is None else replace(state, time_limit=share * state.time_limit)


def _widest(pieces: list[Piece]) -> Piece:
    """The piece of which most is left to tell."""
    return max(pieces, key=lambda piece: piece.q * piece.entropy())


def _taken_apart(joint: Joint, inside: sparse.csr_array, state: State) -> tuple[list[Piece], str]:
    """Pieces of p_x, peeled off one by one and then split; and what was done."""
    peeling = Peeling(inside, joint.p_x)
    peeling.run(state, PEEL_SHARE * state.left())
    rest = np.flatnonzero(peeling.left)
    pieces = [*peeling.pieces, *([Piece(rest, peeling.left[rest])] if len(rest) else [])]
    pieces, split = _split(joint, inside, state, pieces)
    return pieces, f"{len(peeling.pieces)} posteriors taken from p(x) one by one, {split}"


def _split(joint: Joint, inside: sparse.csr_array, state: State, pieces: list[Piece]) -> tuple[list[Piece], str]:
    """The pieces with the widest one split in two, and these again."""
    widest, rest = _widest(pieces), np.zeros(joint.n_x)
    rest[widest.x] = widest.mass
    tree = Tree(Halving(inside, joint.codes, joint.p_x), state, told=joint.entropy - uncertain(pieces))
    pieces = [*(piece for piece in pieces if piece is not widest), *tree.grown(rest)]
    return pieces, f"the rest split in two {tree.splits} times"


def _share(clauses: list[Clause]) -> float:
    """Of all limits, what the search stays within."""
    least = min(limit for clause in clauses for limit in clause.limits.named().values())
    return 1 - min(MOST_MARGIN, MARGIN / least)


def _bound(joint: Joint, clauses: list[Clause], time_limit: float | None, interrupted: threading.Event) -> float:
    """No protocol keeps more: from one view after the other, while there is time."""
    limit = None if time_limit is None else BOUND_SHARE * time_limit
    state = State(joint.p_x, joint.entropy, 0.0, limit, None, interrupted, ticks())
    bound_by_views(clauses, state)
    return state.upper_bound
