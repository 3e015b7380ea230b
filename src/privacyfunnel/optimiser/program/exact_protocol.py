"""From a mixture of posteriors to a protocol that passed the exact check."""

from __future__ import annotations

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Vector

DRAW_SLACKS = tuple(2.0**-k for k in range(33, 25, -1))
"""How far inside a channel is moved, by half a unit of 2⁻³² and more, until there is room for draws."""
SHARES = (0.5, 0.99)
"""Of what is granted at ε = 0, what posteriors are sought within: the more, the less is left for rounding them."""


def exact_protocol(
    joint: Joint,
    polytope: Polytope,
    columns: Columns,
    q: Vector,
    upper_bound: float,
    notion: Notion,
    how: str,
    shared: bool = False,
) -> Protocol:
    """Round the mixture to an exact channel, and return it only if it passes the exact check."""
    allowed, most = notion.epsilon or PERFECT_LEVEL, len(q) if shared else None
    for slack in while_awaited(SLACKS):
        channel = round_channel(columns, q, polytope, slack, most)
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= allowed:
            return protocol_of(joint, channel, upper_bound, notion, how, shared)
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def with_room(
    protocol: Protocol,
    joint: Joint,
    polytope: Polytope,
    columns: Columns,
    q: Vector,
    gap: float,
    shared: bool = False,
) -> Protocol:
    """The same a hair's breadth further inside, if that leaves room for drawing values never seen and `gap` allows."""
    allowed, most = gap if protocol.gap <= gap else protocol.gap + gap, len(q) if shared else None
    for slack in DRAW_SLACKS:
        channel = round_channel(columns, q, polytope, slack, most)
        if certify_channel(channel, joint, protocol.notion).holds:
            found = protocol_of(joint, channel, protocol.upper_bound, protocol.notion, protocol.how, shared)
            if found.gap > allowed:
                break
            if found.draw is not None:
                return found
    return protocol


def protocol_of(
    joint: Joint, channel: Channel, upper_bound: float, notion: Notion, how: str, shared: bool = False
) -> Protocol:
    """The protocol that releases a joint through a channel; `shared` lets several outputs be written as one value."""
    utility = information_kept(channel, joint.p_x)
    protocol = Protocol(
        notion,
        block_of(joint, channel, shared),
        utility,
        not_below(upper_bound, utility),
        joint.entropy,
        how,
        joint.secret,
        joint.secret_readings,
    )
    return finished(protocol, [joint])
