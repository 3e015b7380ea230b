"""Products whose blocks can be counted: what a block told is replaced by values drawn from what it tells of them.

After y_b comes x′_b ~ P(x_b|y_b). Nothing but y_b is needed for that, so no promise gets worse, and
P(x′_b) = Σ_y P(y) P(x_b|y) is the original's, jointly over the attributes of the block. Between blocks it is not:
given x they are drawn independently of each other, which weakens what they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.faithful.plan_rounding import rounded_columns
from privacyfunnel.optimiser.faithful.task import MIXES
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.invariance import MARGINAL_ERROR
from privacyfunnel.protocols.block import Block, faithful_block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import kept
from privacyfunnel.typing import Vector


def redrawn(protocol: Protocol, joint: Joint, weights: Mapping[str, float] | None) -> Protocol:
    """The product with every output replaced by values drawn given it, and only if it passes the exact checks."""
    for blocks, mended in _exact_blocks(protocol, joint):
        how = f"{protocol.how}, redrawn from what it tells{mended}"
        likeness = likeness_of(blocks, joint, weights)
        found = passed(replace(protocol, blocks=blocks, how=how, likeness=likeness), joint)
        if found is not None:
            return found
    raise NotCertified(f"no exact product was found that keeps {protocol.notion} and its blocks' distributions")


def passed(protocol: Protocol, joint: Joint) -> Protocol | None:
    """The product with what it tells, if it keeps its promise and the distribution of every block, exactly."""
    certificate = certify(protocol, joint)
    even = certificate.marginal_error is not None and certificate.marginal_error <= MARGINAL_ERROR
    if not (certificate.holds and even):
        return None
    utility = kept(protocol, joint)
    return replace(protocol, utility=utility, upper_bound=not_below(no_less(joint.entropy), utility))


def likeness_of(blocks: tuple[Block, ...], joint: Joint, weights: Mapping[str, float] | None) -> Likeness:
    """What a product leaves as it was: cells block by block, since a row's similarity is a mean over its columns."""
    weight = shares_of(joint, weights)
    fidelity = cells = 0.0
    same = np.ones(joint.n_x)
    for block in blocks:
        own, channel = joint.over(block.attributes), block.channel
        x, o = channel.inputs, channel.outputs
        mass = channel.numerators / UNIT * own.p_x[x]
        fidelity += sum(weight[name] for name in block.attributes) * float(mass @ similarity_in(own, weights).at(x, o))
        cells += float(mass @ (own.codes[x] == own.codes[o]).sum(axis=1)) / len(joint.attributes)
        stays = np.bincount(x, weights=channel.numerators / UNIT * (x == o), minlength=own.n_x)
        same *= stays[block.inputs_of(joint)]
    named = tuple((name, float(value)) for name, value in (weights or {}).items())
    return Likeness(min(1.0, fidelity), 1.0, min(1.0, cells), min(1.0, float(joint.p_x @ same)), named)


def shares_of(joint: Joint, weights: Mapping[str, float] | None) -> dict[str, float]:
    """How much of a row's similarity is that of each attribute."""
    return dict(zip(joint.attributes, Similarity.of(joint, weights).weights.tolist(), strict=True))


def similarity_in(own: Joint, weights: Mapping[str, float] | None) -> Similarity:
    """The similarity of the values of one block, whose attributes are some of those that have weights."""
    return Similarity.of(own, {name: weight for name, weight in (weights or {}).items() if name in own.attributes})


def _exact_blocks(protocol: Protocol, joint: Joint) -> Iterator[tuple[tuple[Block, ...], str]]:
    """The redrawn blocks, with more and more drawn from all rows: rounding may break a promise by a hair's breadth."""
    joints = [joint.over(block.attributes) for block in protocol.blocks]
    for share in MIXES:
        mended = f", {share:.1g} of it from all rows" if share else ""
        both = zip(joints, protocol.blocks, strict=True)
        yield tuple(faithful_block(own, _redraw(block.channel, own.p_x, share)) for own, block in both), mended


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
