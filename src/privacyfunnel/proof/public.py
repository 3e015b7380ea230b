"""The public audit: whether a private fit keeps its promise, from its file alone.

A private fit carries the noisy counts that it was computed from. They may be published, so anybody arrives at the same
distribution, and checks the promise on it in exact arithmetic, without the table. That these are the counts of the
people whom it is about, with noise, is the steward's word.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.proof.histories import Past
from privacyfunnel.proof.stated_noise import check_stated_noise
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind


def published_joint(protocol: Protocol) -> Joint:
    """The distribution that follows from the noisy counts in a protocol's file; values of the secret have numbers."""
    return PUBLISHED[protocol.step.kind](protocol)


def _of_counts(protocol: Protocol) -> Joint:
    """The same of noisy counts."""
    if protocol.noise is None:
        raise InvalidProtocol(
            "this protocol carries no noisy counts, so only the original table shows whether its promise is kept"
        )
    columns = {column.name: column for column in protocol.columns}
    own = tuple(columns[name] for name in protocol.noise.attributes)
    exact = protocol.step.exact
    joint = noisy_joint(protocol.noise, own, protocol.secret, protocol.at_least, exact=exact)
    for one in (joint, joint.before_gathering):
        if one is not None:
            one.numbered = True
    return joint


def _of_model(protocol: Protocol) -> Joint:
    """The distribution of a private model, for the combinations that have any weight."""
    step = protocol.by_model
    if not protocol.private:
        return _of_counts(protocol)
    weights = step.model.weights()
    some = np.flatnonzero(weights.sum(axis=0))
    joint = Joint.from_codes(weights[:, some], step.written(some), step.columns, protocol.secret, None)
    joint.counted, joint.numbered = False, True
    return joint


def checked_joint(protocol: Protocol) -> Joint:
    """The same, refused unless the counts can be noisy ones, and the protocol's values those that follow from them.

    What a follow-up follows must be what it says by itself, too: its ε₀ is a part of that of everything published.
    """
    for before in protocol.earlier:
        if before.noise is not None:
            _checked_alone(before)
    return _checked_alone(protocol)


def _checked_alone(protocol: Protocol) -> Joint:
    """The same, whatever it follows."""
    joint = published_joint(protocol)
    if joint.noise is not None:
        check_stated_noise(joint.noise)
    _check_values(protocol, joint)
    _check_followed(protocol, joint.before_gathering or joint)
    return joint


def _check_followed(protocol: Protocol, people: Joint) -> None:
    """Refuse counts of people whom the release before does not know: nothing is proven of what they get."""
    if protocol.before is not None and Past(protocol.before, people).strangers():
        raise InvalidProtocol("the noisy counts are of people with values that the release before does not know")


def _check_values(protocol: Protocol, joint: Joint) -> None:
    """Refuse values of X that do not follow from the counts: nobody would have checked what is released for them."""
    spoken_of = protocol.notion.domain(joint)
    own = protocol.by_history if protocol.before is not None else protocol.block
    places = [joint.attributes.index(column.name) for column in own.columns]
    follow = np.unique(spoken_of.codes[:, places], axis=0)
    if not own.nearest or not np.array_equal(np.unique(own.codes, axis=0), follow):
        raise InvalidProtocol("the values in the protocol are not those that follow from its noisy counts")


PUBLISHED: dict[Kind, Callable[[Protocol], Joint]] = {
    "channel": _of_counts,
    "by_history": _of_counts,
    "by_model": _of_model,
}
"""What everybody may know of the people, by the step."""
