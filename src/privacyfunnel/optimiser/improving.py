"""improve: go on with the search for a protocol, from the protocol itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.faithful.best_release import faithful
from privacyfunnel.optimiser.optimise import gap_for, search
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import Progress
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Vector

AGAIN = "searched again"
"""How a protocol was found that a longer search did not improve."""


def improve(
    protocol: Protocol,
    joint: Joint | None = None,
    *,
    gap: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Protocol:
    """A protocol with the same promise that keeps at least as much, sought from where this one stands.

    A private fit carries the noisy counts that it was computed from, so it needs no `joint` and costs no more ε₀. Any
    other needs the joint that it was fitted on.
    """
    if protocol.block.exact:
        raise InvalidInput("a protocol with exact columns cannot be improved from its file; fit it anew, for longer")
    if protocol.precision is not None:
        raise InvalidInput(
            "a protocol for readers of any table is no start for more information; fit it anew, for longer"
        )
    if protocol.noise is not None:
        joint = published_joint(protocol)
    if joint is None:
        raise InvalidInput("a protocol that was fitted on exact counts can only be improved with the table")
    start = _checked(protocol, joint)
    step, promise = gap_for(protocol.objective, gap, None), protocol.notion
    inside = promise if protocol.aim is None else protocol.aim.inside(promise)
    if protocol.likeness is None:
        begun = posteriors(start, joint.p_x)
        found, _ = search(joint, inside, gap=step, time_limit=time_limit, progress=progress, start=begun)
    else:
        weights = dict(protocol.likeness.weights) or None
        release = faithful(
            joint, inside, weights=weights, gap=step, time_limit=time_limit, progress=progress, start=start
        )
        found = release.protocol()
    better = _better(protocol, found, joint)
    better = replace(better, notion=promise, aim=protocol.aim)
    return replace(better, secret=protocol.secret, secret_readings=protocol.secret_readings)


def _checked(protocol: Protocol, joint: Joint) -> Channel:
    """The channel, if it is one for these very values, and keeps the promise on them."""
    block = protocol.block
    if set(block.attributes) != set(joint.attributes) or not np.array_equal(
        block.inputs_of(joint), np.arange(block.channel.n_inputs)
    ):
        raise InvalidInput("the table has other combinations of values than those that the protocol was fitted on")
    if not certify(protocol, joint).holds:
        raise InvalidInput("the protocol does not keep its promise on this table, so there is nothing to go on from")
    return block.channel


def posteriors(channel: Channel, p_x: Vector) -> Columns:
    """P(x|y) for every output y that occurs."""
    mass = channel.numerators / UNIT * p_x[channel.inputs]
    order = np.lexsort((channel.inputs, channel.outputs))
    order = order[mass[order] > 0]
    outputs, place = np.unique(channel.outputs[order], return_inverse=True)
    counts = np.bincount(place.ravel())
    within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    support = np.zeros((len(outputs), int(counts.max())), dtype=np.int64)
    V = np.zeros(support.shape)
    support[place.ravel(), within] = channel.inputs[order]
    V[place.ravel(), within] = mass[order]
    return Columns(support, V / V.sum(axis=1, keepdims=True))


def _better(old: Protocol, new: Protocol, joint: Joint) -> Protocol:
    """The one that keeps more, with the lower of both bounds where the old one is known to be for the same counts."""
    same = old.noise is not None
    if old.likeness is not None and new.likeness is not None:
        bound = min(new.likeness.fidelity_bound, old.likeness.fidelity_bound if same else 1.0)
        best = new if new.likeness.fidelity >= old.likeness.fidelity else _again(old, joint)
        kept = best.likeness
        if kept is None:
            return best
        return replace(best, likeness=replace(kept, fidelity_bound=max(bound, kept.fidelity)))
    bound = min(new.upper_bound, old.upper_bound if same else new.upper_bound)
    best = new if new.utility >= information_kept(old.block.channel, joint.p_x) else _again(old, joint)
    return replace(best, upper_bound=max(bound, best.utility))


def _again(old: Protocol, joint: Joint) -> Protocol:
    """The old one, with what the counts tell of it in full."""
    kept = information_kept(old.block.channel, joint.p_x)
    how = old.how if old.how.endswith(AGAIN) else f"{old.how}; {AGAIN}"
    return finished(replace(old, utility=kept, upper_bound=max(old.upper_bound, kept), how=how), [joint])
