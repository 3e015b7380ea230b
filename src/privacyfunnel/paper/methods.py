"""The contenders of the paper's experiments: its own methods and ours, each from a joint and an ε to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import mutual_information
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.paper.products import Method, product
from privacyfunnel.paper.reference import best_factor, best_ldp, best_lip
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import LDP, LIP, SRLIP
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.protocol import Protocol

JOINT_GAP = 1e-3
"""Nats: the joint SRLIP optimum is proven to this gap. No time limit, so that a rerun finds the same protocol."""


@dataclass(frozen=True)
class Outcome:
    """What a method found for one distribution and one ε."""

    utility: float
    """I(X;Y) in nats; NaN if the method's protocol breaks its promise and was refused."""
    upper_bound: float
    """Certified: no protocol with this promise keeps more. NaN where the method proves nothing."""
    level: float
    """The true level of the protocol: exact for ours, in float64 for the paper's methods."""


@dataclass(frozen=True)
class Contender:
    """A method for one kind of promise."""

    notion: str
    name: str
    find: Callable[[Joint, float], Outcome]
    slow_below: float = 0.0
    """Below this ε it takes minutes for one distribution, so that it is run on a few only."""


def _ours(joint: Joint, epsilon: float, *, kind: type[Notion], gap: float = 1e-6) -> Outcome:
    return _measured(optimise(joint, kind.at(epsilon), gap=gap), joint)


def _product(joint: Joint, epsilon: float, *, method: Method) -> Outcome:
    found = product(joint, SRLIP(epsilon), method)
    return Outcome(found.utility if found.holds else np.nan, np.nan, found.level)


def _measured(protocol: Protocol, joint: Joint) -> Outcome:
    return Outcome(protocol.utility, protocol.upper_bound, certify(protocol, joint).level)


def _ldp_by_vertices(joint: Joint, epsilon: float) -> Outcome:
    channel, utility = best_ldp(joint, epsilon)
    return Outcome(utility, np.nan, LDP(epsilon).level(joint, channel))


def _lip_by_vertices(joint: Joint, epsilon: float) -> Outcome:
    channel, utility = best_lip(joint, epsilon)
    return Outcome(utility, np.nan, LIP(epsilon).level(joint, channel))


def _product_by_vertices(joint: Joint, epsilon: float) -> Outcome:
    """An equal share of ε for every attribute, and the product of what is best for each; X has all combinations."""
    m = len(joint.attributes)
    channel = np.ones((1, 1))
    for j in range(m):
        channel = np.kron(channel, best_factor(joint, j, epsilon / m)[0]).astype(np.float64)
    return Outcome(mutual_information(channel * joint.p_x), np.nan, SRLIP(epsilon).level(joint, channel))


CONTENDERS = {
    "ldp-paper": Contender("LDP", "vertices of all channels (paper)", _ldp_by_vertices, slow_below=1.0),
    "ldp-ours": Contender("LDP", "ours", partial(_ours, kind=LDP)),
    "lip-paper": Contender("LIP", "vertices of Δ (paper)", _lip_by_vertices),
    "lip-ours": Contender("LIP", "ours", partial(_ours, kind=LIP)),
    "srlip-paper": Contender("SRLIP", "paper's product, vertices of channels", _product_by_vertices, slow_below=1.5),
    "srlip-budget": Contender("SRLIP", "paper's product, by our programs", partial(_product, method="paper")),
    "srlip-tuned": Contender("SRLIP", "tuned product", partial(_product, method="tuned")),
    "srlip-joint": Contender("SRLIP", "joint optimum", partial(_ours, kind=SRLIP, gap=JOINT_GAP)),
}
"""By a name for files and command lines."""
