"""ByHistory: the step of a further release of people of whom something was released before, drawn from that, too.

What was released of somebody so far, one output of every earlier release, is their history. A follow-up has a channel
of its own for every history: its input is a pair, a value of X and a history, and its outputs are values of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.block import Block, plain_drawing, rows_in
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.step import Kind, Step
from privacyfunnel.typing import Integers, Vector

if TYPE_CHECKING:
    from privacyfunnel.protocols.protocol import Protocol

HISTORY = "privacyfunnel: history"
"""What the number of somebody's history is called beside the columns of their table."""


@dataclass(frozen=True, eq=False)
class Read:
    """Combinations of values, and what a follow-up takes them for."""

    codes: Integers
    """codes[i, j]: combination i, by its values' numbers in the columns; −1 for a value that is none."""
    values: Integers
    """The value of X that combination i is, or the nearest of all values where that is allowed; −1 if there is none."""
    listed: NDArray[np.bool_]
    """Whether combination i is a value of X itself."""

    def of(self, some: NDArray[np.bool_]) -> Read:
        """Some of them."""
        return Read(self.codes[some], self.values[some], self.listed[some])


@dataclass(frozen=True, eq=False)
class ByHistory(Step):
    """A channel for every history, from values of X to values of X."""

    kind: ClassVar[Kind] = "by_history"
    not_listed: ClassVar[str] = (
        "this protocol follows an earlier release, and what you ask for is about a single one: there is no channel "
        "from the columns alone"
    )
    not_attacked: ClassVar[str] = (
        "an attacker of a follow-up sees all releases together, and what they learn exactly is the level that the "
        "audit tells for each release: leave out --attack, or attack the first release by its own protocol"
    )
    columns: tuple[Column, ...]
    codes: Integers
    """codes[x, j]: the values of X, by their numbers in the columns."""
    histories: Integers
    """histories[h]: an output of every earlier release, the first release's first; each once."""
    pairs: Integers
    """pairs[i] = (h, x): the inputs, each a value x that can have the history h; in increasing order."""
    channel: Channel
    """P(y|x, h) for the i-th pair; the output y is written as the value number y, and belongs to its history."""
    marginal: Integers
    """About 2³²·P(h, y) for the `outcomes`, as coarsely as a sample would tell it: what estimates weigh them by."""
    nearest: bool = False
    """Whether combinations of values that are no input are read as the nearest one that is."""

    def __post_init__(self) -> None:
        pairs, n = self.pairs, len(self.codes)
        if self.histories.ndim != 2 or len(np.unique(self.histories, axis=0)) < len(self.histories):
            raise InvalidProtocol("a history is listed twice")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) != self.channel.n_inputs or self.channel.n_outputs != n:
            raise InvalidProtocol("the channel does not fit its inputs")
        key = pairs[:, 0] * n + pairs[:, 1]
        if pairs.min() < 0 or pairs[:, 1].max() >= n or (np.diff(key) <= 0).any():
            raise InvalidProtocol("the inputs of the channel are out of order or out of range")
        if not np.array_equal(np.unique(pairs[:, 0]), np.arange(len(self.histories))):
            raise InvalidProtocol("a history has no input")
        marginal = self.marginal
        if len(marginal) != len(self.outcomes) or marginal.min() < 0 or sum(marginal.tolist()) != UNIT:
            raise InvalidProtocol("the marginal of the outcomes is not a distribution")

    @cached_property
    def outcomes(self) -> Integers:
        """All (h, y): what can follow what, in order."""
        return np.unique(np.column_stack([self.pairs[self.channel.inputs, 0], self.channel.outputs]), axis=0)

    @cached_property
    def starts(self) -> Integers:
        """Where the pairs of each history begin, and the last ends."""
        return np.searchsorted(self.pairs[:, 0], np.arange(len(self.histories) + 1))

    def of(self, h: int) -> tuple[Integers, Channel]:
        """The values of X that can have a history, and their channel."""
        a, b = (int(place) for place in self.starts[h : h + 2])
        begin, end = (int(place) for place in self.channel.starts[[a, b]])
        starts = self.channel.starts[a : b + 1] - begin
        outputs, numerators = self.channel.outputs[begin:end].copy(), self.channel.numerators[begin:end].copy()
        return self.pairs[a:b, 1], Channel(self.channel.n_outputs, starts, outputs, numerators)

    @cached_property
    def number(self) -> dict[tuple[int, ...], int]:
        """The number of each history."""
        return {tuple(history): h for h, history in enumerate(self.histories.tolist())}

    @property
    def by_history(self) -> ByHistory:
        """Itself."""
        return self

    @property
    def n_outputs(self) -> int:
        """As many as there are values of X."""
        return len(self.codes)

    def written(self, outputs: Integers) -> Integers:
        """codes[i, j]: the output y is written as the value number y."""
        return np.asarray(self.codes[outputs])

    def read_back(self, codes: Integers) -> Integers:
        """The value with these codes, whatever the history."""
        return rows_in(codes, {tuple(row): x for x, row in enumerate(self.codes.tolist())})

    def shares(self) -> Vector:
        """The published marginal of the last release's outputs, in the mean over histories."""
        return np.bincount(self.outcomes[:, 1], self.marginal / UNIT, self.n_outputs).astype(np.float64)

    def drawing(self) -> list[Any]:
        """Histories, and the channel of pairs."""
        return [self.histories.tolist(), plain_drawing(replace(self.pairs_block(), nearest=self.nearest))]

    def size_words(self) -> str:
        """Histories and inputs."""
        return f"{len(self.histories):,} histories, {len(self.pairs):,} inputs"

    def check(self, protocol: Protocol) -> None:
        """Refuse one that follows nothing, or something about another secret."""
        if protocol.before is None:
            raise InvalidProtocol("a channel for every history follows no earlier release")
        if not about_the_same(protocol.before, protocol.secret_readings, protocol.secret.split(" and ")):
            raise InvalidProtocol(
                "a follow-up is not about the secret of the release before, read as it was: nothing is known of both"
            )

    @property
    def history(self) -> str:
        """A name for the history of somebody that no column has; tables that have one of this name are refused."""
        name, taken = HISTORY, {column.name for column in self.columns}
        while name in taken:
            name += "_"
        return name

    def pairs_block(self) -> Block:
        """The channel as that of a block whose inputs have one column more: the number of their history."""
        history = Column(name=self.history, kind="integer", labels=tuple(range(len(self.histories))))
        codes = np.column_stack([self.codes[self.pairs[:, 1]], self.pairs[:, 0]])
        labels = np.zeros(self.channel.n_outputs, dtype=np.int64)
        labels[self.pairs[::-1, 1]] = np.arange(len(self.pairs))[::-1]
        return Block((*self.columns, history), codes, self.channel, labels, _anything(self.channel.n_outputs))

    def read(self, codes: Integers) -> Read:
        """What combinations of values are taken for, before it is asked which history they have."""
        values = read_as(codes, self.codes, self.columns, self.nearest)
        listed = (values >= 0) & (self.codes[values] == codes).all(axis=1)
        return Read(codes, values, listed)

    def read_in(self, joint: Joint) -> Read:
        """The same for the values of X in `joint`, whose columns may be more and finer."""
        return self.read(codes_in(self.columns, joint))

    def inputs(self, read: Read, h: int) -> Integers:
        """The inputs of combinations that have history h; −1 if there is none.

        This is the only rule: the proof asks it, and so does everything that draws. A combination that is no value of X
        is read as the nearest of all values. Where that one cannot have the history, nobody had this combination when
        the steps were made, and it is read as the nearest value that can. A value of X that cannot have the history has
        no input: this person changed.
        """
        a, b = (int(place) for place in self.starts[h : h + 2])
        values = self.pairs[a:b, 1]
        place = np.minimum(np.searchsorted(values, read.values), len(values) - 1)
        found = np.where(values[place] == read.values, a + place, -1)
        lost = (found < 0) & (read.values >= 0) & ~read.listed
        if lost.any():
            found[lost] = a + read_as(read.codes[lost], self.codes[values], self.columns, near=True)
        return found


def _anything(outputs: int) -> Integers:
    """A marginal that nobody looks at."""
    marginal = np.zeros(outputs, dtype=np.int64)
    marginal[0] = UNIT
    return marginal


def about_the_same(before: Protocol, readings: Sequence[Reading], names: Sequence[str]) -> bool:
    """Whether secrets that are read so hold those of an earlier protocol, each read as it was; by name if not read."""
    if before.secret_readings:
        return all(reading in readings for reading in before.secret_readings)
    return set(before.secret.split(" and ")) <= ({reading.name for reading in readings} or set(names))
