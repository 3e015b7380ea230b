"""The search for thousands of values: peel and split while there is time, bound from single views, round, prove."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.program.exact_protocol import protocol_of
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.rounding import SLACKS
from privacyfunnel.optimiser.program.state import Progress, State
from privacyfunnel.optimiser.splitting.halves import Halving, Piece
from privacyfunnel.optimiser.splitting.peeling import MOST_ROWS_ENTRIES, Peeling
from privacyfunnel.optimiser.splitting.remixing import Remixing, columns_of
from privacyfunnel.optimiser.splitting.tree import Tree
from privacyfunnel.optimiser.splitting.whole_numbers import rounded_pieces
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sparse_rows import sparse_rows_of
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.protocol import Protocol

SPLIT_FROM = 500
"""Values of X from which on promises with several views are split: their linear programs take seconds then."""
MARGIN = 5e-4
"""Nats by which the search stays inside of every limit: more than rounding to multiples of 2⁻³² moves a small entry."""
MOST_MARGIN = 0.1
"""Of a limit."""
BOUND_SHARE = 0.15
"""Of the time limit, for a bound from single views."""
SPLIT_SHARE = 0.8
"""Of the time limit, when splitting ends; what follows is the bound and the proof."""


PEEL_SHARE = 0.2
"""Of the time for the search, for peeling."""
TREE_SHARE = 0.4
"""When splitting what is left ends, if it has not ended before; the rest is for a better mixture."""
NOT_SPLIT_TO, NOT_SPLIT_EACH = 1_500, 80
"""Values up to which what is left is not split, and for each second of the time: rounds of remixing take tenths of a
second then, and some ten of them do more."""


def can_split(joint: Joint, notion: Notion) -> bool:
    """Whether there are too many values, for attackers who know something, to lay out every row in full."""
    if joint.n_x < SPLIT_FROM:
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
    clauses = [clause.granted() for clause in notion.clauses(joint)]
    limit = None if time_limit is None else SPLIT_SHARE * time_limit
    state = State(joint.p_x, joint.entropy, 0.0, limit, progress, interrupted, started)
    inside = sparse_rows_of(clauses, _share(clauses))
    peeling = Peeling(inside, joint.p_x)
    peeling.run(state, PEEL_SHARE * state.left())
    how = f"{len(peeling.pieces)} posteriors taken from p(x) one by one"
    rest, remixes = np.flatnonzero(peeling.left), inside.nnz <= MOST_ROWS_ENTRIES
    pieces = [*peeling.pieces, *([Piece(rest, peeling.left[rest])] if len(rest) else [])]
    few = joint.n_x <= min(NOT_SPLIT_TO, math.inf if limit is None else limit * NOT_SPLIT_EACH)
    if not remixes or not few:
        first_part = state if limit is None or not remixes else replace(state, time_limit=TREE_SHARE * limit)
        tree = Tree(Halving(inside, joint.codes, joint.p_x), first_part, told=peeling.told())
        pieces = [*peeling.pieces, *tree.grown(peeling.left)]
        how += f", the rest split in two {tree.splits} times"
    if remixes:
        remixing = Remixing(inside, joint.p_x, joint.entropy, state)
        pieces = remixing.better(pieces)
        how += f", then mixed anew with {remixing.found} found around single values in {remixing.rounds} rounds"
    bound = _bound(joint, clauses, time_limit, interrupted)
    G = sparse_rows_of(clauses)
    for slack in while_awaited(SLACKS):
        channel = rounded_pieces(pieces, G, joint.p_x, slack)
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= notion.epsilon:
            return protocol_of(joint, channel, bound, notion, how), columns_of(pieces)
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _share(clauses: list[Clause]) -> float:
    """Of all limits, what the search stays within."""
    least = min(limit for clause in clauses for limit in clause.limits.named().values())
    return 1 - min(MOST_MARGIN, MARGIN / least)


def _bound(joint: Joint, clauses: list[Clause], time_limit: float | None, interrupted: threading.Event) -> float:
    """No protocol keeps more: from one view after the other, while there is time."""
    limit = None if time_limit is None else BOUND_SHARE * time_limit
    state = State(joint.p_x, joint.entropy, 0.0, limit, None, interrupted, time.monotonic())
    bound_by_views(clauses, state)
    return state.upper_bound
