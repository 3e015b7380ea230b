"""The public audit: whether a private fit keeps its promise, from its file alone.

A private fit carries the noisy counts that it was computed from. They may be published, so anybody arrives at the same
distribution, and checks the promise on it in exact arithmetic, without the table. That these are the counts of the
people whom it is about, with noise, is the steward's word.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.stated_noise import check_stated_noise
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.follow_up import FollowUp, earlier
from privacyfunnel.protocols.protocol import Protocol


def published_joint(protocol: Protocol) -> Joint:
    """The distribution that follows from the noisy counts in a protocol's file; values of the secret have numbers."""
    if protocol.noise is None:
        raise InvalidProtocol(
            "this protocol carries no noisy counts, so only the original table shows whether its promise is kept"
        )
    columns = {column.name: column for column in protocol.columns}
    own = tuple(columns[name] for name in protocol.noise.attributes)
    exact = () if isinstance(protocol, FollowUp) else protocol.block.exact
    joint = noisy_joint(protocol.noise, own, protocol.secret, protocol.at_least, exact=exact)
    for one in (joint, joint.before_gathering):
        if one is not None:
            one.numbered = True
    return joint


def audit_publicly(protocol: Protocol) -> tuple[Joint, Certificate]:
    """The distribution that everybody may know, and whether the promise is kept on it.

    The values of the protocol must be those that follow from the counts, and the promise is checked on combinations as
    people have them, read as `sanitise` reads them. What a follow-up follows must be what it says by itself: its ε₀ is
    a part of that of everything published.
    """
    for before in earlier(protocol):
        if before.noise is not None and not _alone(before)[1]:
            raise InvalidProtocol("a release that it follows does not keep its own promise on its own noisy counts")
    return _alone(protocol)


def _alone(protocol: Protocol) -> tuple[Joint, Certificate]:
    """The same, whatever it follows."""
    joint = published_joint(protocol)
    if joint.noise is not None:
        check_stated_noise(joint.noise)
    _check_values(protocol, joint)
    return joint, certify(protocol, joint.before_gathering or joint)


def _check_values(protocol: Protocol, joint: Joint) -> None:
    """Refuse values of X that do not follow from the counts: nobody would have checked what is released for them."""
    spoken_of = protocol.notion.domain(joint)
    own = protocol.steps if isinstance(protocol, FollowUp) else protocol.block
    places = [joint.attributes.index(column.name) for column in own.columns]
    follow = np.unique(spoken_of.codes[:, places], axis=0)
    if not own.nearest or not np.array_equal(np.unique(own.codes, axis=0), follow):
        raise InvalidProtocol("the values in the protocol are not those that follow from its noisy counts")
