"""FollowUp: a further release of people of whom something was released before, drawn from what they have and that.

What was released of somebody so far, one output of every earlier release, is their history. A follow-up has a channel
of its own for every history: its input is a pair, a value of X and a history, and its outputs are values of X.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.errors import InvalidInput, InvalidProtocol
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

ONE_RELEASE = (
    "this protocol follows an earlier release, and what you ask for is about a single one: it can be certified and "
    "audited, sanitise with it, and estimate from it"
)


HISTORY = "privacyfunnel: history"
"""What the number of somebody's history is called beside the columns of their table."""


@dataclass(frozen=True, eq=False)
class Read:
    """Combinations of values, and what the steps of a follow-up take them for."""

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
class Steps:
    """A channel for every history, from values of X to values of X."""

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

    def written_block(self) -> Block:
        """How released rows are read back: as the values that they are written as."""
        n = len(self.codes)
        as_it_is = Channel(n, np.arange(n + 1), np.arange(n), np.full(n, UNIT))
        return Block(self.columns, self.codes, as_it_is, np.arange(n), _anything(n))

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


class FollowUp(Protocol):
    """A protocol for people of whom something was released before: what is kept is counted given that.

    `utility` is I(X;Y|H) for the histories H that it knows, `entropy` H(X|H), and `upper_bound` what no follow-up that
    keeps the promise exceeds; with the objective "faithful", rows have the distribution of X given H, whatever H is.
    """

    before: Protocol
    """The protocol of the release before, which may be a follow-up itself."""
    steps: Steps

    def __init__(self, before: Protocol, steps: Steps, **told: Any) -> None:
        for name, value in {"before": before, "steps": steps, **told}.items():
            object.__setattr__(self, name, value)
        if not about_the_same(before, self.secret_readings, self.secret.split(" and ")):
            raise InvalidProtocol(
                "a follow-up is not about the secret of the release before, read as it was: nothing is known of both"
            )

    def replaced(self, **changes: Any) -> FollowUp:
        """The same with other fields."""
        return FollowUp(**{**vars(self), **changes})

    @property
    def block(self) -> NoReturn:
        """There is no channel from X alone."""
        raise InvalidInput(ONE_RELEASE)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The released columns, and how they are read."""
        return self.steps.columns

    @property
    def variant(self) -> None:
        """None: outputs of a history are written as different values."""
        return None

    @property
    def draw(self) -> None:
        """None: rows with values never seen are refused."""
        return None

    def with_block(self, block: Block) -> Protocol:
        """A protocol with one of the channels that stand for its channels, to draw with or to read back."""
        return Protocol(
            self.notion, block, self.utility, self.upper_bound, self.entropy, self.how, self.secret,
            self.secret_readings, fitted=self.fitted, likeness=self.likeness, people=self.people,
            at_least=self.at_least, noise=self.noise,
        )  # fmt: skip

    @property
    def releases(self) -> int:
        """How many releases there are with this one."""
        return length(self)

    def sanitise(  # type: ignore[override]  # what was released before is asked for, and there are no variants
        self,
        table: Any,
        output: str | Path | None = None,
        *,
        released: Any = None,
        person: str,
        keep_order: bool = False,
        seed: int | None = None,
        force: bool = False,
        internal: str | Path | None = None,
        remember: str | Path | None = None,
        changed: Literal["keep", "drop"] = "keep",
        was: Any = None,
    ) -> Any:
        """Draw a further row for every row of `table`, given what was released of the same `person` before.

        `released` is the earlier released table, or a list of them from the first on, each with the column `person`.
        People of whom nothing was released, or something that this protocol does not know, are refused with their
        number. Where the earlier rows were drawn with a key, `remember` is its file instead: new people take the first
        steps, too, and the ledger is asked. `internal` is where a copy with the column `person` is written, for the
        next follow-up. If it was fitted on what people were and what they are ("town", "town now"), `was` is the table
        of then, or a list of them, the first one first, and `table` today's. The rest is as for `Protocol.sanitise`.
        """
        from privacyfunnel.tables.following import sanitise_following

        return sanitise_following(
            self,
            table,
            output,
            released=released,
            person=person,
            keep_order=keep_order,
            seed=seed,
            force=force,
            internal=internal,
            remember=remember,
            changed=changed,
            was=was,
        )

    def __repr__(self) -> str:
        pairs, histories = len(self.steps.pairs), len(self.steps.histories)
        kept = f"{self.utility:.6g} nats more kept, gap ≤ {self.gap:.1e}"
        return f"<FollowUp {self.notion} release {self.releases}, {histories:,} histories, {pairs:,} inputs, {kept}>"


def about_the_same(before: Protocol, readings: Sequence[Reading], names: Sequence[str]) -> bool:
    """Whether secrets that are read so hold those of an earlier protocol, each read as it was; by name if not read."""
    if before.secret_readings:
        return all(reading in readings for reading in before.secret_readings)
    return set(before.secret.split(" and ")) <= ({reading.name for reading in readings} or set(names))


def earlier(protocol: Protocol) -> Iterator[Protocol]:
    """The protocols of the releases before, the first one first."""
    if isinstance(protocol, FollowUp):
        yield from earlier(protocol.before)
        yield protocol.before


def most_outputs(protocol: Protocol) -> list[int]:
    """How many outputs each number of a history can be one of, with the release of this protocol."""
    return [
        len(one.steps.codes) if isinstance(one, FollowUp) else one.block.channel.n_outputs
        for one in (*earlier(protocol), protocol)
    ]


def length(protocol: Protocol) -> int:
    """How many numbers say what was released of somebody, with the release of this protocol: one for each release."""
    return 1 + sum(1 for _ in earlier(protocol))
