"""The simple route to a robust promise: optimise for the counts alone at a smaller ε, chosen by bisection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.optimise import search
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol

STEPS = 12
"""Searches: the first is at ε itself, and eleven halvings then leave the share known to 1/2048."""


def bisected(
    joint: Joint, notion: Notion, *, gap: float = 1e-6, time_limit: float | None = None, steps: int = STEPS
) -> Protocol:
    """The best protocol for the counts at the largest share of ε whose worst level over the set is at most ε.

    `optimise(joint, notion)` is never worse, because every protocol that keeps the promise over the set competes
    there. This one is a check on it. Nothing is released where no share of ε is small enough.
    """
    if not isinstance(notion, Robust):
        raise InvalidPromise("bisected needs a robust promise, such as robust(LIP(0.5))")
    notion = notion.of_values_that_occur().made_for(joint)
    if notion.within == "nested":
        raise InvalidPromise("bisected knows values that occur only, so nested sets are not for it; use intervals")
    best = _nothing(joint, notion)
    low, high = 0.0, 1.0
    share = high
    for _ in range(steps):
        plain = notion.promise.times(share)
        found, _ = search(joint, plain, gap=gap, time_limit=time_limit, progress=None)
        block = replace(found.block, draw=None)  # its draw was made for the counts alone
        how = f"bisection: {share:.4g} of ε"
        kept = replace(found, notion=notion, step=block, upper_bound=no_less(joint.entropy), how=how)
        if certify(kept, joint).holds:
            low = share
            if kept.utility > best.utility:
                best = kept
        else:
            high = share
        if low == 1.0:
            break
        share = (low + high) / 2
    return finished(best, [joint])


def _nothing(joint: Joint, notion: Robust) -> Protocol:
    constant = Channel.from_dense(np.ones((1, joint.n_x)))
    readings = joint.secret_readings
    block = block_of(joint, constant)
    bound = no_less(joint.entropy)
    return Protocol(notion, block, 0.0, bound, joint.entropy, "nothing released", joint.secret, readings)
