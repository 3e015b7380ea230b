"""The exact recheck: integers in, verdict out. Nothing here is imported from the optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidChannel, InvalidJoint, InvalidPromise
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sets import NOBODY, Possible
from privacyfunnel.proof import worst_case
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.fill_file import flaw_in_filled
from privacyfunnel.proof.histories import entries_together, marginal_errors
from privacyfunnel.proof.invariance import marginal_error
from privacyfunnel.proof.lifts import Entries, Lifts
from privacyfunnel.proof.public import checked_joint, published_joint
from privacyfunnel.proof.tally import Tally
from privacyfunnel.proof.unseen import Room, room_for
from privacyfunnel.proof.verdict import Certificate, Worst
from privacyfunnel.proof.wide_file import certify_model
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind


def certify(protocol: Protocol | ArrayLike, joint: Joint | None = None, notion: Notion | None = None) -> Certificate:
    """Check in exact arithmetic that `protocol` keeps its promise on `joint`.

    Probabilities are integers over 2³² (the channel) and over the total weight (the joint); e^ε is
    replaced by a rational below it, so a promise that passes holds for the real numbers. If the protocol draws rows
    for values never seen, `draws` says whether its own promise holds with any share of such rows, too; a certificate is
    true if all of this holds.
    Of a follow-up, the promise is checked for everything that was released of somebody together.
    Without a joint, it is checked on the noisy counts that the protocol itself carries, as everybody can.
    A bare channel may be given instead of a protocol, with the joint and the notion to check it for.
    """
    if joint is None and isinstance(protocol, Protocol):
        return _certify_alone(protocol, notion)
    if not isinstance(joint, Joint):
        raise InvalidJoint(f"certify needs a Joint, not {type(joint).__name__}")
    if not isinstance(notion, Notion | None):
        raise InvalidPromise(f"certify needs a notion such as LIP(0.5), not {type(notion).__name__}")
    if isinstance(protocol, Protocol):
        return BY_STEP[protocol.step.kind](protocol, joint, notion)
    if notion is None:
        raise InvalidPromise("certify(channel, joint, notion) needs the notion to check a bare channel for")
    try:
        channel = Channel.from_dense(protocol)
    except InvalidChannel as broken:
        return _refused(notion, str(broken))
    return certify_channel(channel, joint, notion)


def audit_publicly(protocol: Protocol) -> tuple[Joint, Certificate]:
    """The distribution that everybody may know, and whether the promise is kept on it."""
    return published_joint(protocol), _certify_alone(protocol, None)


def _certify_alone(protocol: Protocol, notion: Notion | None) -> Certificate:
    """The promise on what the file carries: on the distribution of its model, which is fitted again, or on that of its
    noisy counts, for combinations as people have them, read as `sanitise` reads them.
    """
    flaw = flaw_in_filled(protocol)
    if flaw is not None:
        return _refused(notion or protocol.notion, flaw)
    return ALONE[protocol.step.kind](protocol, notion)


def _certify_on_counts(protocol: Protocol, notion: Notion | None) -> Certificate:
    joint = checked_joint(protocol)
    return certify(protocol, joint.before_gathering or joint, notion)


def _certify_model(protocol: Protocol, joint: Joint, notion: Notion | None) -> Certificate:
    raise InvalidJoint(
        "the promise of a model is about the distribution that its file carries: certify(protocol), without a joint; "
        "no theorem bounds what its rows tell on other counts than by how far these are from it"
    )


def _certify_listed(protocol: Protocol, joint: Joint, notion: Notion | None) -> Certificate:
    """One release by a listed channel, with its rows drawn for values never seen if its own promise is asked about."""
    certificate = _certify_protocol(protocol, joint, notion or protocol.notion)
    if certificate.worst is None:
        return certificate
    if protocol.likeness is not None:
        error = marginal_error(protocol.block.channel, joint, protocol.block.inputs_of(joint))
        certificate = replace(certificate, marginal_error=_above(error))
    own = notion is None or notion == protocol.notion
    return _with_draws(certificate, protocol, joint) if own else certificate


def _certify_follow_up(follow_up: Protocol, joint: Joint, notion: Notion | None) -> Certificate:
    """Every history that the follow-up knows, with every output after it, as the outputs of one channel."""
    notion = notion or follow_up.notion
    if notion.confidence is not None:
        return _refused(notion, "follow-ups are certified for one distribution, not for a set of them")
    if set(follow_up.attributes) != set(joint.attributes):
        return _refused(notion, "the protocol and the distribution have different attributes")
    entries, strangers = entries_together(follow_up, joint)
    if strangers:
        return _refused(notion, f"{strangers} pairs of a value of X and a history were not there when it was fitted")
    certificate = certify_entries(entries, joint, notion)
    if follow_up.likeness is None:
        return certificate
    return replace(certificate, marginal_error=_above(max(marginal_errors(follow_up, joint))))


def certify_channel(channel: Channel, joint: Joint, notion: Notion) -> Certificate:
    """Whether `channel` keeps `notion` on `joint`, its inputs being the values of X that it speaks of, in order."""
    joint = notion.domain(joint)
    if channel.n_inputs != joint.n_x:
        return _refused(notion, f"the channel takes {channel.n_inputs} values of X, the distribution has {joint.n_x}")
    return certify_entries(Entries.of(channel), joint, notion)


def certify_entries(entries: Entries, joint: Joint, notion: Notion) -> Certificate:
    """Whether the outputs of these entries keep `notion` on `joint`, whose values of X are the inputs: every limit in
    every view, and where each is tightest.
    """
    if notion.confidence is not None:
        return _check_over(entries, joint, notion)
    tally = Tally(notion)
    for clause in notion.clauses(joint):
        for view in while_awaited(clause.views):
            for name, ratios in Lifts.of(entries, clause.joint, view).ratios(clause.about):
                ratio, place = ratios.largest()
                bound = bound_of(clause, name)
                tally.count(clause, view, name, ratio, place, bound is None or ratios.keep(bound))
    return tally.certificate()


def entries_of(protocol: Protocol, joint: Joint) -> Entries:
    """The protocol as one channel for the joint's values of X."""
    return Entries.of(protocol.block.channel).at(protocol.block.inputs_of(joint))


def _certify_protocol(protocol: Protocol, joint: Joint, notion: Notion) -> Certificate:
    if set(protocol.attributes) != set(joint.attributes):
        return _refused(notion, "the protocol and the distribution have different attributes")
    joint = notion.domain(joint)
    inputs = protocol.block.inputs_of(joint)
    strangers = int((inputs < 0).sum())
    if strangers:
        return _refused(notion, f"{strangers} of {joint.n_x} values of X were not there when the protocol was fitted")
    return certify_entries(Entries.of(protocol.block.channel).at(inputs), joint, notion)


def _above(error: Fraction) -> float:
    return math.nextafter(float(error), math.inf) if error else 0.0


def _with_draws(certificate: Certificate, protocol: Protocol, joint: Joint) -> Certificate:
    """The certificate with what rows drawn for values never seen come to; it is true only if they keep the promise."""
    if protocol.draw is None:
        return certificate
    if room_of(protocol, joint).holds(protocol.draw):
        return replace(certificate, draws=True)
    line = f"{certificate.reason}; but rows drawn for values never seen could break it"
    return replace(certificate, draws=False, reason=line)


def room_of(protocol: Protocol, joint: Joint) -> Room:
    """The draws for values never seen that keep the promise of a protocol."""
    block, joint = protocol.block, protocol.notion.domain(joint)
    return room_for(block.channel, block.inputs_of(joint), joint, protocol.notion, e_to)


def bound_of(clause: Clause, name: str) -> Fraction | None:
    """The factor that a lift, or its like, may come to: a rational just below e^limit; None where there is no limit.

    A limit b on a belief is one of b / P(event) on its lift, exactly.
    """
    if name == "upper" and clause.most is not None:
        weights = clause.joint.weights[list(clause.about or ())]
        return clause.most * Fraction(clause.joint.total, int(weights.sum()))
    limit = clause.limits.granted().named()[name]
    return e_to(limit) if math.isfinite(limit) else None


def _check_over(entries: Entries, joint: Joint, notion: Notion) -> Certificate:
    """Every limit in every view for every distribution that the counts leave open, and where each is tightest."""
    tally = Tally(notion, Worst(joint.secret_values[0], 0, Fraction(1)))
    for clause, parts in notion.possible_clauses(joint):
        for part in parts:
            if clause.most is not None:
                _count_belief(tally, entries, clause, part)
                continue
            largest = worst_case.largest(entries.inputs, entries.outputs, entries.numerators, part, clause.about)
            for kind, (extreme, shown) in largest.items():
                ratio, bound = extreme.ratio(), bound_of(clause, kind)
                kept = bound is None or (ratio is not None and ratio <= bound)
                place = np.array([shown.output, part.cells[shown.place], extreme.secret, extreme.against])
                tally.count(clause, part.view, kind, ratio, place, kept)
    return tally.certificate()


def _count_belief(tally: Tally, entries: Entries, clause: Clause, part: Possible) -> None:
    """The largest belief in a clause's event, whatever share of people have it, against the most that it may be.

    Both are told as multiples of the share that was counted: so a limit on belief is a limit on a lift as well.
    """
    (event,) = clause.about or ()
    found = worst_case.largest_belief(entries.inputs, entries.outputs, entries.numerators, part, event)
    if found is None:
        raise InvalidPromise("a limit on belief over a set of distributions needs a set with several values of X")
    belief, shown = found
    bound = bound_of(clause, "upper")
    multiple = belief * Fraction(clause.joint.total, int(clause.joint.weights[event].sum()))
    place = np.array([shown.output, part.cells[shown.place], event, NOBODY])
    tally.count(clause, part.view, "upper", multiple, place, bound is not None and multiple <= bound)


def _refused(notion: Notion, reason: str) -> Certificate:
    """What is not even a channel for this distribution promises nothing."""
    return Certificate(False, notion, math.inf, None, Limits(), reason)


BY_STEP: dict[Kind, Callable[[Protocol, Joint, Notion | None], Certificate]] = {
    "channel": _certify_listed,
    "by_history": _certify_follow_up,
    "by_model": _certify_model,
}
"""How a promise is proven on a distribution, by the step that draws rows."""
ALONE: dict[Kind, Callable[[Protocol, Notion | None], Certificate]] = {
    "channel": _certify_on_counts,
    "by_history": _certify_on_counts,
    "by_model": lambda protocol, notion: certify_model(protocol.by_model, notion or protocol.notion),
}
"""The same on what the file carries."""
