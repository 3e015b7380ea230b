"""Several priors: one protocol that keeps its promise for each of several distributions.

Every promise is linear in a row w of the channel, whatever the distribution. In posteriors of the mean distribution,
w = v/p_x, the rows of all priors together are again a polytope Δ that contains p_x: the same linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.mean import mean_of
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.optimiser.generation.search import generate
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.exact_protocol import SHARES
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.listing import LIST_VERTICES, list_vertices
from privacyfunnel.optimiser.program.polytope import Columns, Polytope, placed, together
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.optimiser.program.state import Progress, Search, before_rounding, despite_trouble, interruptible
from privacyfunnel.promises.limits import PERFECT_LEVEL, terms_of
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Integers, Vector


def optimise_for_each(
    joints: Sequence[Joint],
    notion: Notion,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> Protocol:
    """The protocol that keeps the most of X under the mean of `joints`, among those that keep the promise for each."""
    if notion.confidence is not None:
        raise InvalidPromise("a robust promise is for the counts of one joint; give one, or promise without robust")
    if any(joint.noise is not None or joint.nearest for joint in joints):
        raise InvalidInput("several distributions are taken as they are; private counts and at_least are for one table")
    mean, places = mean_of(joints)
    sought, granted = (
        Polytope(together([notion.granted_rows(joint, share) for joint in joints], joints, places, mean), mean.p_x)
        for share in (SHARES[0], 1.0)
    )
    classes = Classes.find(sought)
    single = all(notion.one_view(joint) for joint in joints)
    rank = min(mean.n_x, sum(notion.rank(joint) for joint in joints)) if single else mean.n_x
    listed = supports.candidates(classes.polytope, rank) <= LIST_VERTICES
    outer = classes.outer(_outer(joints, notion, places, mean) if listed else granted)
    with interruptible() as interrupted:
        near = before_rounding(gap)
        state = Search.within(
            classes.polytope, mean.entropy, near, time_limit, progress, interrupted, around=outer, rank=rank
        )
        how = despite_trouble(lambda: list_vertices(state, rank) if listed else generate(state, None))
        columns, q = classes.split(state.columns, state.q)
        how = f"{how}, for each of {len(joints)} distributions"
        return _exact(joints, mean, notion, granted, columns, q, state.upper_bound, how)


def _outer(joints: Sequence[Joint], notion: Notion, places: list[Integers], mean: Joint) -> Polytope:
    """What contains the polytope of all priors for sure."""
    rows = [notion.outer_rows(joint) for joint in joints]
    G = placed([part.G for part in rows], joints, places, mean)
    size = placed([part.size for part in rows], joints, places, mean)
    scale = np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    return Polytope(G / scale, mean.p_x, size / scale, terms_of(rows))


def _exact(
    joints: Sequence[Joint],
    mean: Joint,
    notion: Notion,
    polytope: Polytope,
    columns: Columns,
    q: Vector,
    upper_bound: float,
    how: str,
) -> Protocol:
    """Round the mixture to an exact channel, and return it only if it passes the exact check for every prior."""
    readings = mean.secret_readings
    for slack in SLACKS:
        channel = round_channel(columns, q, polytope, slack)
        utility = information_kept(channel, mean.p_x)
        block, bound = block_of(mean, channel), max(upper_bound, utility)
        protocol = Protocol(notion, block, utility, bound, mean.entropy, how, mean.secret, readings)
        certificates = [certify(protocol, joint) for joint in joints]
        if all(found.holds and found.level <= (notion.epsilon or PERFECT_LEVEL) for found in certificates):
            return finished(replace(protocol, upper_bound=not_below(upper_bound, utility)), joints)
    raise NotCertified(f"no exact channel was found that keeps {notion} for each distribution; please report this")
