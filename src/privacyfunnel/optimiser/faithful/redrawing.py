"""Outputs as rows: what a protocol tells is replaced by values drawn from what it tells of them.

After y comes x′ ~ P(x|y). Nothing but y is needed for that, so no promise gets worse, and P(x′) = Σ_y P(y) P(x|y) is
the original's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.faithful.plan_rounding import rounded_columns
from privacyfunnel.optimiser.program.tolerances import MIXES
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.invariance import MARGINAL_ERROR
from privacyfunnel.protocols.block import faithful_block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Vector


def redrawn(protocol: Protocol, joint: Joint, weights: Mapping[str, float] | None) -> Protocol:
    """The protocol with every output replaced by values drawn given it, and only if it passes the exact checks.

    More and more is drawn from all rows: rounding may break a promise by a hair's breadth.
    """
    for share in MIXES:
        block = faithful_block(joint, _redraw(protocol.block.channel, joint.p_x, share))
        how = f"{protocol.how}, redrawn from what it tells{f', {share:.1g} of it from all rows' if share else ''}"
        found = replace(protocol, step=block, how=how, likeness=_likeness(block.channel, joint, weights))
        certificate = certify(found, joint)
        even = certificate.marginal_error is not None and certificate.marginal_error <= MARGINAL_ERROR
        if certificate.holds and even:
            utility = information_kept(block.channel, joint.p_x)
            return replace(found, utility=utility, upper_bound=not_below(no_less(joint.entropy), utility))
    raise NotCertified(f"no exact channel was found that keeps {protocol.notion} and the rows' distribution")


def _likeness(channel: Channel, joint: Joint, weights: Mapping[str, float] | None) -> Likeness:
    """What it leaves as it was."""
    x, o = channel.inputs, channel.outputs
    mass = channel.numerators / UNIT * joint.p_x[x]
    fidelity = float(mass @ Similarity.of(joint, weights).at(x, o))
    cells = float(mass @ (joint.codes[x] == joint.codes[o]).mean(axis=1))
    named = tuple((name, float(value)) for name, value in (weights or {}).items())
    return Likeness(min(1.0, fidelity), 1.0, min(1.0, cells), min(1.0, float(mass[x == o].sum())), named)


def _redraw(channel: Channel, p: Vector, share: float) -> Channel:
    """P(x′|x) = Σ_y P(x′|y) P(y|x) in multiples of 2⁻³², with so large a share of P(x′) mixed in.

    With a share of 1 all columns are rounded alike, and nothing at all is told.
    """
    n = channel.n_inputs
    entries = (channel.numerators / UNIT, (channel.outputs, channel.inputs))
    Q = csr_array(entries, shape=(channel.n_outputs, n))
    back = csr_array(Q * p / (Q @ p)[:, None])  # P(x′|y)
    again = csr_array(Q.T @ back).tocoo()
    x, o, mass = again.row, again.col, again.data
    if share:
        dense = np.outer(np.ones(n), share * p)
        dense[x, o] += (1 - share) * mass
        (x, o), mass = np.divmod(np.arange(n * n), n), dense.ravel()
    order = np.lexsort((o, x))
    x, o, mass = x[order].astype(np.int64), o[order].astype(np.int64), mass[order]
    return rounded_columns(mass / np.bincount(x, weights=mass, minlength=n)[x], x, o, n)
