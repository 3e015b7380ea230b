"""Step: one link of the chain by which rows are released.

A protocol is a chain of steps: those of the releases that it follows, and its own. Whatever is done with a protocol,
drawing, proof, estimates, report, asks its step for what is below, or looks up what it does in a table by `kind`, which
a test goes through; nothing asks for a step's class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.chances import Drawn
from privacyfunnel.typing import Integers, Vector

if TYPE_CHECKING:
    from privacyfunnel.protocols.block import Block
    from privacyfunnel.protocols.by_history import ByHistory
    from privacyfunnel.protocols.protocol import Protocol
    from privacyfunnel.protocols.wide.by_model import ByModel

Kind = Literal["channel", "by_history", "by_model"]
"""What a step is called in the file: a listed channel, a channel for every history, groups recomputed from a model."""
KINDS: tuple[Kind, ...] = ("channel", "by_history", "by_model")


@dataclass(frozen=True)
class Spent:
    """The privacy of a fit on noisy counts: what everything that follows from them tells of one record."""

    epsilon: float
    """ε₀."""
    delta: float
    """δ₀: the probability with which e^ε₀ may fail."""
    declared: bool
    """Whether values and ranges were declared beforehand."""


class Step(ABC):
    """One link of the chain by which rows are released: it knows its columns, and what it writes in them."""

    kind: ClassVar[Kind]
    not_listed: ClassVar[str] = ""
    """Why there is no listed channel from X alone, where there is none."""
    not_attacked: ClassVar[str] = ""
    """Why an exact attack on the people of a table is not scored, where it is not."""
    published_counts: ClassVar[str] = "On the published counts:"
    """What the counts are called that the file carries."""
    certified_on_tables: ClassVar[bool] = True
    """Whether its promise can be checked on the counts of any table, too."""
    has_counts: ClassVar[bool] = False
    """Whether it carries the counts that its promise is about."""
    columns: tuple[Column, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the columns that it releases."""
        return tuple(column.name for column in self.columns)

    @property
    def listed(self) -> bool:
        """Whether its channel is a list: the outputs of every input."""
        return not self.not_listed

    @property
    def variants(self) -> Integers | None:
        """variants[y]: which of the outputs that are written alike y is, from 0; None if no two are written alike."""
        return None

    @property
    def draw(self) -> Integers | None:
        """2³²·r(y): how rows with a value never seen may be drawn; None if no draw is known to keep the promise."""
        return None

    @property
    def exact(self) -> tuple[str, ...]:
        """Columns whose released value is always the true one."""
        return ()

    @property
    def spent(self) -> Spent | None:
        """The privacy of the tables that it carries; None if it carries none, or without noise."""
        return None

    @property
    def block(self) -> Block:
        """Itself, of a listed channel."""
        raise InvalidInput(self.not_listed)

    @property
    def by_history(self) -> ByHistory:
        """Itself, of a channel for every history."""
        raise InvalidInput("this protocol follows no earlier release")

    @property
    def by_model(self) -> ByModel:
        """Itself, of what is recomputed from a model."""
        raise InvalidInput("this protocol has no model")

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many outputs there are, as which a number of a history tells them apart."""

    @abstractmethod
    def written(self, outputs: Integers) -> Integers:
        """codes[i, j]: the numbers of the values in each column that outputs are written as."""

    @abstractmethod
    def read_back(self, codes: Integers) -> Integers:
        """y[i]: the output that is written with the values codes[i, :], and a variant if there are any; −1 if none."""

    def drawn(self, joint: Joint) -> Drawn:
        """What becomes of the values of X in `joint`, where that does not depend on earlier releases."""
        return self.block.drawn(joint)

    @abstractmethod
    def shares(self) -> Vector:
        """About P(y) of the outputs in a release of the rows that it was fitted on."""

    def column_shares(self) -> list[Vector]:
        """The same of the values in each column."""
        codes, shares = self.written(np.arange(self.n_outputs)), self.shares()
        sizes = [len(column) for column in self.columns]
        return [np.bincount(codes[:, j], shares, size).astype(np.float64) for j, size in enumerate(sizes)]

    def unchanged(self) -> list[float | None]:
        """How often the released value of each column is the original one, by the file alone, where it tells that."""
        return [None] * len(self.columns)

    @abstractmethod
    def drawing(self) -> list[Any]:
        """Everything that decides how a row is drawn, and nothing else, as plain data."""

    @abstractmethod
    def size_words(self) -> str:
        """How large it is, for people."""

    def check(self, protocol: Protocol) -> None:  # noqa: B027 - most fit in any
        """Refuse a protocol that this step does not fit in."""

    def check_followed(self) -> None:  # noqa: B027 - most can be
        """Refuse to be followed by a further release of the same people, where nothing can follow."""
