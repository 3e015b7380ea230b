"""A protocol as its file tells it."""

from __future__ import annotations

from dataclasses import replace

from privacyfunnel.protocols.digits import multiple_of
from privacyfunnel.protocols.kept import Likeness, Precision
from privacyfunnel.protocols.protocol import Protocol


def published(protocol: Protocol) -> Protocol:
    """The protocol as its file tells it: with as many digits of utility, bound and entropy as its people support.

    In full precision these could be solved for counts. Utility is rounded down, what it is compared with up, so that
    0 ≤ utility ≤ bound still holds, and no more is claimed than is true.
    """
    if not protocol.digits:
        return protocol
    utility = multiple_of(protocol.utility, protocol.digits, up=False)
    bound, entropy = (
        multiple_of(value, protocol.digits, up=True) for value in (protocol.upper_bound, protocol.entropy)
    )
    likeness = protocol.likeness
    if likeness is not None:
        shares = likeness.fidelity, likeness.cells_unchanged, likeness.rows_unchanged
        kept, cells, rows = (multiple_of(share, protocol.digits, up=False) for share in shares)
        most = min(1.0, multiple_of(likeness.fidelity_bound, protocol.digits, up=True))
        likeness = Likeness(kept, most, cells, rows, likeness.weights)
    return replace(
        protocol,
        utility=utility,
        upper_bound=bound,
        entropy=entropy,
        digits=0.0,
        likeness=likeness,
        precision=_coarse(protocol.precision, protocol.digits),
    )


def _coarse(precision: Precision | None, step: float) -> Precision | None:
    """The same with as many digits, the variance rounded up and its bound down."""
    if precision is None:
        return None
    variance, bound = multiple_of(precision.variance, step, up=True), precision.variance_bound
    return replace(
        precision, variance=variance, variance_bound=None if bound is None else multiple_of(bound, step, up=False)
    )
