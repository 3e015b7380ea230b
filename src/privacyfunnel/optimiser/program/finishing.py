"""Finishing a protocol: how it was fitted, how precisely that may be said, and the draw for values never seen.

The draw is a simple distribution among those that keep the promise, since it is in the protocol file. Near the edge of
what is allowed, a number with all its digits would tell the exact share that the edge comes from; so each is that of
the coarse marginal where it is allowed, and else has as few digits as it can. Where the promise leaves no room at all,
only the exact shares of the outputs do, and they are what is drawn from.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.proof.certificate import room_of
from privacyfunnel.proof.unseen import Room
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.digits import step_for
from privacyfunnel.protocols.protocol import Fitted, Protocol
from privacyfunnel.protocols.unchanged import as_people_have_them
from privacyfunnel.typing import Integers


def finished(protocol: Protocol, joints: Sequence[Joint]) -> Protocol:
    """The protocol as fitted on `joints`: with what its file says of that, and a draw for values never seen.

    The draw keeps the promise on each of `joints`; there is none if no draw does.
    """
    protocol = _with_origin(protocol, joints)
    if joints[0].before_gathering is not None or joints[0].noise is not None:
        protocol = as_people_have_them(protocol, joints[0])
    block = protocol.block
    room = Room(np.zeros(block.channel.n_outputs, dtype=np.int64), np.full(block.channel.n_outputs, UNIT))
    for joint in joints:
        room = room.meet(room_of(protocol, joint))
    return replace(protocol, step=replace(block, draw=simple_draw(room, block.marginal)))


def _with_origin(protocol: Protocol, joints: Sequence[Joint]) -> Protocol:
    """The protocol with what it was fitted on."""
    return replace(protocol, **origin(joints))


def origin(joints: Sequence[Joint]) -> dict[str, Any]:
    """What a protocol says of what it was fitted on. What follows from noisy counts may be told with all its digits."""
    at_least = max(joint.at_least for joint in joints)
    if len(joints) == 1 and joints[0].noise is not None:
        noise = joints[0].noise
        return {"fitted": "private counts", "people": noise.people, "at_least": at_least, "noise": noise}
    counted = all(joint.counted for joint in joints)
    people = sum(joint.total for joint in joints) if counted else None
    fitted: Fitted = "exact counts" if counted else "given probabilities"
    return {"fitted": fitted, "digits": step_for(people), "people": people, "at_least": at_least}


def simple_draw(room: Room, near: Integers) -> Integers | None:
    """Integers in `room` that sum to 2³² and are those of `near` where they can be; None if the room is empty.

    >>> simple_draw(Room(np.array([UNIT // 3, 1]), np.array([UNIT * 2 // 3, UNIT])), np.array([1, UNIT - 1])) / UNIT
    array([0.5, 0.5])
    """
    if room.empty():
        return None
    inside = (room.least <= near) & (near <= room.most)
    draw = np.where(inside, near, _roundest(room))
    missing = UNIT - int(draw.sum())
    spare = room.most - draw if missing > 0 else draw - room.least
    draw += _dealt(abs(missing), spare) * (1 if missing > 0 else -1)
    return draw


def _roundest(room: Room) -> Integers:
    """Of the integers from least to most, the one that the largest power of two divides."""
    found = room.most
    for k in range(1, UNIT.bit_length()):
        rounder = (room.most >> k) << k
        found = np.where(rounder >= room.least, rounder, found)
    return found


def _dealt(total: int, spare: Integers) -> Integers:
    """`total` in pieces that are at most `spare`; powers of two to those with the most to spare, the rest to one."""
    dealt = np.zeros_like(spare)
    heap = [(-int(room), y) for y, room in enumerate(spare) if room]
    heapq.heapify(heap)
    while total:
        room, y = -heap[0][0], heap[0][1]
        piece = min(total, 1 << (room.bit_length() - 1))
        dealt[y] += piece
        total -= piece
        heapq.heapreplace(heap, (piece - room, y))
    return dealt
