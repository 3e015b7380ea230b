"""sharpened: the protocol with the most information, exchanged for one that readers of any table learn more from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.asked import Asked, Readers, tables_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, SolverFailure
from privacyfunnel.optimiser.program.exact_protocol import SHARES, exact_protocol, with_room
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.readers.design import Candidates, Design, design
from privacyfunnel.optimiser.readers.mixture import Wish
from privacyfunnel.optimiser.readers.pairs import Pairs
from privacyfunnel.optimiser.readers.vertices import Vertices
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.kept import Precision
from privacyfunnel.protocols.protocol import Protocol

MARGINS = (1e-4, 1e-2, 0.1)
"""Of what may be given up, what is left to rounding: more, if the exact channel keeps too little."""
USUAL_GIVE_UP = 0.01
"""Of the most information: on real tables it makes errors of estimates two to a hundred times smaller."""


@dataclass(frozen=True)
class ForReaders:
    """Who a protocol is for: what they ask, and how much of the information may be given up for it."""

    readers: Readers
    give_up: float = USUAL_GIVE_UP

    def check(self, joint: Joint, notion: Notion) -> None:
        """Refuse what makes no sense, in one line."""
        if isinstance(self.give_up, bool) or not isinstance(self.give_up, int | float) or not 0 < self.give_up < 1:
            raise InvalidInput(f"give_up is the share of information given up, between 0 and 1; got {self.give_up!r}")
        if notion.confidence is not None:
            raise InvalidInput(
                f"readers= is for a promise about one distribution, and {notion.name} is about many; leave one out"
            )
        tables_of(joint, self.readers)


def sharpened(
    best: Protocol, columns: Columns, joint: Joint, notion: Notion, who: ForReaders, stopped: Callable[[], bool]
) -> Protocol:
    """Of the protocols with at least (1 − give_up) of the information of any, the one with the sharpest estimates.

    `columns` are the posteriors of the protocol `best` with the most information. Where that is not proven to be nearly
    the most, (1 − give_up) of what it has itself is kept.
    """
    asked = Asked.of(joint, tables_of(joint, who.readers))
    if not len(asked.shares):
        return best
    notion = notion.made_for(joint)
    share = SHARES[-1] if notion.perfect(joint) else 1.0
    polytope = Polytope.granted(joint, notion, share)
    candidates = _candidates(joint, notion, polytope)
    least = (1 - who.give_up) * best.upper_bound
    if least >= best.utility:
        least = (1 - who.give_up) * best.utility
    constant = float((asked.shares**2 / asked.own).sum())
    C = np.sqrt(joint.p_x)[:, None] * asked.rows / np.sqrt(asked.own)
    for margin in MARGINS:
        spare = margin * (best.utility - least)
        wish = Wish(joint.p_x, C, joint.entropy - least - spare)
        try:
            found = design(wish, columns, candidates, constant, stopped)
        except SolverFailure:  # where next to nothing may be told, programs are too ill-conditioned to be solved
            break
        if found is None:
            break
        protocol = _exactly(found, best, joint, notion, spare)
        if protocol.utility >= least:
            return replace(protocol, precision=_precision(found, asked, who, constant))
    return replace(best, how=f"{best.how}; nothing sharper was found for readers of any table")


def _candidates(joint: Joint, notion: Notion, polytope: Polytope) -> Candidates:
    similarity = Similarity.of(joint)
    if notion.one_view(joint) and notion.rank(joint) == 2:
        return Pairs.of(polytope, similarity)
    return Vertices(polytope, similarity)


def _exactly(found: Design, best: Protocol, joint: Joint, notion: Notion, spare: float) -> Protocol:
    """The design as an exact protocol, with room for values never seen if that costs next to nothing."""
    granted = Polytope.granted(joint, notion)
    how = f"{best.how}; then {found.rounds} rounds of posteriors that sharpen estimates"
    protocol = exact_protocol(joint, granted, found.columns, found.q, best.upper_bound, notion, how, shared=True)
    if protocol.draw is None and notion.one_view(joint):
        protocol = with_room(protocol, joint, granted, found.columns, found.q, spare, shared=True)
    return protocol


def _precision(found: Design, asked: Asked, who: ForReaders, constant: float) -> Precision:
    count = len(asked.shares)
    variance = (found.value - constant) / count
    bound = None if found.least is None else min((found.least - constant) / count, variance)
    known = bound if bound is not None and bound > 0 else None  # every variance is above 0: less is no bound
    return Precision(asked.tables, float(who.give_up), variance, known)
