"""Block, the step "channel": an exact channel for the attributes, with what its inputs and outputs stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, values_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.protocols.chances import Drawn, entries_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.labels import assigned, likeliest, numbered
from privacyfunnel.protocols.step import Kind, Step
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class Block(Step):
    """A channel for the attributes: its input x stands for the values numbered codes[x, :]."""

    kind: ClassVar[Kind] = "channel"
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
    def block(self) -> Block:
        """Itself."""
        return self

    @property
    def n_outputs(self) -> int:
        """How many outputs the channel has."""
        return self.channel.n_outputs

    def written(self, outputs: Integers) -> Integers:
        """codes[i, j]: the numbers of the values that outputs are written as."""
        return np.asarray(self.codes[self.labels[outputs]])

    def read_back(self, codes: Integers) -> Integers:
        """The output with this label, and this variant of it."""
        return rows_in(codes, self._written)

    @cached_property
    def _written(self) -> dict[tuple[int, ...], int]:
        written = self.codes[self.labels]
        if self.variants is not None:
            written = np.column_stack([written, self.variants])
        return {tuple(row): y for y, row in enumerate(written.tolist())}

    def drawn(self, joint: Joint) -> Drawn:
        """Each value of X in `joint` is read as an input."""
        channel = self.channel
        person, entry = entries_of(channel.starts, self.inputs_of(joint))
        chance, nothing = channel.numerators[entry] / UNIT, np.zeros(channel.n_outputs)
        codes = self.codes[self.labels]
        return Drawn(person, channel.outputs[entry], chance, codes, np.zeros(joint.n_x), nothing)

    def shares(self) -> Vector:
        """Its published marginal."""
        return np.asarray(self.marginal / UNIT)

    def drawing(self) -> list[Any]:
        """Columns, inputs, channel and labels, and what there is of draws and variants."""
        return [[plain_drawing(self)]]

    def size_words(self) -> str:
        """Inputs and outputs."""
        return f"{len(self.codes):,} inputs, {self.n_outputs:,} outputs"

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


def rows_in(codes: Integers, known: dict[tuple[int, ...], int]) -> Integers:
    """The number of each row codes[i, :] among known ones; −1 if it is none."""
    different, place = np.unique(codes, axis=0, return_inverse=True)
    found = np.array([known.get(row, -1) for row in map(tuple, different.tolist())], dtype=np.int64)
    return found[place.ravel()]


def plain_drawing(block: Block) -> dict[str, Any]:
    """How a listed channel draws, as plain data."""
    channel = block.channel
    content: dict[str, Any] = {
        "columns": [column.model_dump(mode="json", exclude_defaults=True) for column in block.columns],
        "values": block.codes.tolist(),
        "starts": channel.starts.tolist(),
        "outputs": np.stack([channel.outputs, channel.numerators], axis=1).tolist(),
        "labels": block.labels.tolist(),
        "nearest": bool(block.nearest),
    }
    if block.draw is not None:
        content["draw"] = block.draw.tolist()
    if block.variants is not None:
        content["variants"] = block.variants.tolist()
    return content


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
