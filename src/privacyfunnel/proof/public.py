"""The public audit: whether a private fit keeps its promise, from its file alone.

A private fit carries the noisy counts that it was computed from. They may be published, so anybody arrives at the same
distribution, and checks the promise on it in exact arithmetic, without the table.
"""

from __future__ import annotations

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.proof.certificate import Certificate, certify
from privacyfunnel.protocols.protocol import Protocol


def published_joint(protocol: Protocol) -> Joint:
    """The distribution that follows from the noisy counts in a protocol's file; values of the secret have numbers."""
    if protocol.noise is None:
        raise InvalidProtocol(
            "this protocol carries no noisy counts, so only the original table shows whether its promise is kept"
        )
    columns = {column.name: column for block in protocol.blocks for column in block.columns}
    own = tuple(columns[name] for name in protocol.noise.attributes)
    return noisy_joint(protocol.noise, own, protocol.secret, protocol.at_least)


def audit_publicly(protocol: Protocol) -> tuple[Joint, Certificate]:
    """The distribution that everybody may know, and whether the promise is kept on it."""
    joint = published_joint(protocol)
    return joint, certify(protocol, joint)
