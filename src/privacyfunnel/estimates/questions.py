"""Questions: which attributes, within which group of people, turned into rows over the inputs of the channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from privacyfunnel.distribution.column import Column, Label
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.measuring import check_size
from privacyfunnel.protocols.block import Block
from privacyfunnel.typing import Integers, Matrix, Vector

MISSING = "missing"
"""How a missing value may be asked for, where no value is called so."""
VALUES_LISTED = 8
"""Values that a message lists."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The combinations of values that some attributes can have, and the rows that count each."""

    codes: Integers
    """codes[t, i]: the value of the i-th of the attributes."""
    rows: Matrix
    """rows[t, x] = 1 where input x has these values and belongs to the group."""


class HasBlock(Protocol):
    """What has columns and values of these: a protocol, or the columns of one question."""

    @property
    def block(self) -> Block:
        """The columns, and combinations of their values."""


class Asker:
    """Knows where the attributes of a protocol are.

    Rows go over the inputs of its channel, or over other combinations of its values, if `codes` lists these.
    """

    def __init__(self, protocol: HasBlock, codes: Integers | None = None) -> None:
        self._codes = protocol.block.codes if codes is None else codes
        self.columns: dict[str, Column] = {column.name: column for column in protocol.block.columns}
        self._place = {name: j for j, name in enumerate(self.columns)}
        fill = getattr(protocol, "fill", None)
        self._filled: tuple[str, ...] = () if fill is None else fill.names

    def require(self, names: Sequence[str]) -> None:
        """Refuse attributes that the protocol does not release."""
        for name in names:
            if name not in self.columns:
                known = ", ".join(self.columns)
                raise InvalidTable(
                    f"column {name!r} is filled: its values are drawn from a model, and how far shares and regressions "
                    f"of it are off is not known; ask about kept columns ({known}), or for a release that keeps it"
                    if name in self._filled
                    else f"the protocol does not release {name!r}; its attributes are {known}"
                )
        if len(set(names)) < len(names):
            raise InvalidInput("an attribute is named twice")

    def code(self, name: str, value: Any) -> int:
        """The number of a value, as typed or as it is."""
        labels = self.columns[name].labels
        texts = ["" if label is None else str(label) for label in labels]
        if value is None or (value == MISSING and MISSING not in texts):
            value = ""
        if str(value) not in texts:
            shown = ", ".join(text or MISSING for text in texts[:VALUES_LISTED])
            more = f", … ({len(texts)} in all)" if len(texts) > VALUES_LISTED else ""
            raise InvalidTable(f"attribute {name!r} has no value {str(value)!r}; it has {shown}{more}")
        return texts.index(str(value))

    def label(self, name: str, code: int) -> Label:
        """The value with a number."""
        return self.columns[name].labels[code]

    def values(self, name: str, by_code: Vector) -> Vector:
        """by_code[code of x] of an attribute for every input x."""
        return np.asarray(by_code[self._codes[:, self._place[name]]])

    def members(self, fixed: Mapping[str, Sequence[int]]) -> Matrix:
        """The row that is 1 for inputs whose attributes have one of the fixed values."""
        found = np.ones((1, len(self._codes)))
        for name, codes in fixed.items():
            allowed = np.zeros(len(self.columns[name]))
            allowed[list(codes)] = 1.0
            found = found * self.values(name, allowed)
        return found

    def group(self, fixed: Mapping[str, Sequence[int]]) -> Matrix | None:
        """The same; None if nothing is fixed."""
        return self.members(fixed) if fixed else None

    def cells(self, names: Sequence[str], group: Matrix | None = None) -> Cells:
        """The combinations of values of some attributes that can occur in the group."""
        own = self._codes[:, [self._place[name] for name in names]]
        codes, cell = np.unique(own, axis=0, return_inverse=True)
        check_size((len(codes), len(own)))
        rows = np.zeros((len(codes), len(own)))
        rows[cell.ravel(), np.arange(len(own))] = 1.0
        if group is not None:
            rows = rows * group
        possible = rows.any(axis=1)
        return Cells(codes[possible], rows[possible])

    def order(self, names: Sequence[str]) -> list[str]:
        """The attributes in the order in which the protocol holds them."""
        return sorted(names, key=lambda name: self._place[name])

    def groups(self, by: Sequence[str]) -> Iterator[dict[str, Sequence[int]]]:
        """Every combination of values of the attributes `by`."""
        for codes in product(*(range(len(self.columns[name])) for name in by)):
            yield {name: [code] for name, code in zip(by, codes, strict=True)}
