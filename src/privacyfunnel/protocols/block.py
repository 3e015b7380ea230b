"""Block: an exact channel for the attributes, with what its inputs and outputs stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, values_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.labels import assigned, likeliest, numbered
from privacyfunnel.typing import Integers


@dataclass(frozen=True, eq=False)
class Block:
    """A channel for the attributes: its input x stands for the values numbered codes[x, :]."""

    columns: tuple[Column, ...]
    codes: Integers
    channel: Channel
    labels: Integers
    """labels[y]: the input whose values the output y is written as; outputs that share one have variants."""
    marginal: Integers
    """About 2³²·P(y), as coarsely as a sample would tell it: what estimates weigh outputs by."""
    draw: Integers | None = None
    """2³²·r(y): how a value never seen when fitting may be drawn so that the promise is kept; None if it cannot."""
    nearest: bool = False
    """Whether combinations of known values that are no input are read as the nearest one that is."""
    variants: Integers | None = None
    """variants[y]: which of the outputs with its label y is, from 0; None if no two outputs share a label."""
    exact: tuple[str, ...] = ()
    """Columns whose released value is always the true one."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes this block releases."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def values(self) -> NDArray[Any]:
        """values[x, j]: the value of attribute j that input x stands for."""
        return values_of(self.columns, self.codes)

    def read(self, codes: Integers) -> Integers:
        """For combinations codes[i, j] of values, the input as which each is read; −1 if there is none."""
        return read_as(codes, self.codes, self.columns, self.nearest, self.exact)

    def inputs_of(self, joint: Joint) -> Integers:
        """The same for the values of X in `joint`, whose columns may be more and finer."""
        if self.columns == joint.columns and np.array_equal(self.codes, joint.codes):
            return np.arange(joint.n_x)
        return self.read(codes_in(self.columns, joint))

    def stays_exact(self) -> bool:
        """Whether every output is written with the values of `exact` that all its inputs have."""
        places = [j for j, name in enumerate(self.attributes) if name in self.exact]
        own, told = self.codes[:, places], self.codes[self.labels][:, places]
        return bool((own[self.channel.inputs] == told[self.channel.outputs]).all())


def block_of(joint: Joint, channel: Channel, shared: bool = False) -> Block:
    """The block that releases all attributes of `joint` through `channel`, outputs in the order of their labels.

    If labels may be `shared`, each output has that of its likeliest value, and variants tell them apart.
    """
    mass = channel.numerators / UNIT * joint.p_x[channel.inputs]
    q = np.bincount(channel.outputs, weights=mass, minlength=channel.n_outputs).astype(np.float64)
    labels = likeliest(channel, mass) if shared else assigned(channel, mass, joint)
    order = np.lexsort((-q, labels)) if shared else np.argsort(labels, kind="stable")
    ordered = channel.with_outputs_in(order)
    marginal = coarse_marginal(q[order], joint.total if joint.counted else None)
    variants = numbered(labels[order]) if shared else None
    return Block(
        joint.columns, joint.codes, ordered, labels[order], marginal, None, joint.nearest, variants, joint.exact
    )


def faithful_block(joint: Joint, channel: Channel) -> Block:
    """The block whose output number x is the value number x, with P(Y = x) = P(X = x)."""
    marginal = coarse_marginal(joint.p_x, joint.total if joint.counted else None)
    return Block(
        joint.columns, joint.codes, channel, np.arange(joint.n_x), marginal, None, joint.nearest, None, joint.exact
    )
