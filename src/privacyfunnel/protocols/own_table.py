"""The steward's own table: what a protocol leaves of it, on its exact counts, which are for the steward alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.readers import points
from privacyfunnel.typing import Integers, Vector

NO_ERROR = 1e-6
"""Of a share: what the last digits of channels and counts add up to, which no table shows."""


@dataclass(frozen=True)
class OwnTable:
    """Shares and errors in releases of one table, expected or of one of them; all shares are between 0 and 1."""

    cells_unchanged: float
    rows_unchanged: float
    read_as_others: float
    """Of the people: those whose combination of values is read as another one."""
    mean_error: float
    """The mean of |P(Y has a) − P(X has a)| over the values a of single columns that people have."""
    worst_error: float
    worst_column: str
    vanished: dict[str, tuple[int, int]]
    """By column: how many values that people have are in no released row, and how many people have."""
    with_chance: bool = False
    """Whether these are figures of one release as it was drawn, rather than expected ones."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        gone = {name: {"vanished": lost, "values": values} for name, (lost, values) in self.vanished.items()}
        return asdict(self) | {"vanished": gone}

    def words(self) -> str:
        """All of it, marked as the steward's."""
        return (
            f"For you alone: in your table {self.cells_unchanged:.1%} of cells and {self.rows_unchanged:.1%} of rows "
            f"are unchanged. {self.read_as_others:.1%} of the people are read as having another combination of values. "
            f"{self.shares_words()}"
        )

    def shares_words(self) -> str:
        """What becomes of shares and values."""
        lost = [f"{gone} of {values} of {name}" for name, (gone, values) in self.vanished.items()]
        vanish = f"Values that vanish: {', '.join(lost)}." if lost else "No value vanishes."
        if self.worst_error <= NO_ERROR:
            return f"Shares of single values are right, but for chance. {vanish}"
        return (
            f"Shares of single values are off by {points(self.mean_error)} points on average and by "
            f"{points(self.worst_error)} at worst ({self.worst_column}), {'with' if self.with_chance else 'beside'} "
            f"chance. {vanish}"
        )


@dataclass(frozen=True)
class OwnFilled:
    """Errors of shares in the filled columns of one release, as it was drawn; all shares are between 0 and 1."""

    mean_error: float
    """The mean of |share of a in the release − in the table| over the values a of single columns that people have."""
    worst_error: float
    worst_column: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """All of it, marked as the steward's."""
        return (
            f"For you alone: shares of single values in filled columns are off by {points(self.mean_error)} points on "
            f"average and by {points(self.worst_error)} at worst ({self.worst_column}), with chance."
        )


def own_filled(counts: Mapping[str, tuple[Integers, Integers]], rows: int) -> OwnFilled:
    """From counts[name] = (how many rows of the table have each value, how many of the release), of `rows` each."""
    return OwnFilled(*_errors(counts, rows))


def own_table(protocol: Protocol, joint: Joint) -> OwnTable:
    """Measure a protocol on the exact counts of a table whose columns are read as its own are."""
    cells: list[float] = []
    errors: dict[str, Vector] = {}
    vanished: dict[str, tuple[int, int]] = {}
    block = protocol.block
    inputs = block.inputs_of(joint)
    codes = np.stack([_codes(block, j, joint) for j in range(len(block.columns))], axis=1)
    as_read = (block.codes[inputs] == codes).all(axis=1)
    stays = _stays(block)[inputs]
    read = np.bincount(inputs, weights=joint.p_x, minlength=block.channel.n_inputs)
    for j, name in enumerate(block.attributes):
        size, drawn = len(block.columns[j]), _drawn(block, j)
        before = np.bincount(codes[:, j], weights=joint.p_x, minlength=size)
        after, there = read @ drawn, before > 0
        cells.append(float(joint.p_x @ drawn[inputs, codes[:, j]]))
        errors[name] = np.abs(after - before)[there]
        gone = int((there & (after == 0)).sum())
        if gone:
            vanished[name] = gone, int(there.sum())
    column = max(errors, key=lambda name: float(errors[name].max()))
    return OwnTable(
        float(np.mean(cells)),
        float(joint.p_x @ (stays * as_read)),
        max(0.0, 1.0 - float(joint.p_x[as_read].sum())) if not as_read.all() else 0.0,
        float(np.concatenate(list(errors.values())).mean()),
        float(errors[column].max()),
        column,
        vanished,
    )


class OwnRows:
    """Rows of a table as they are and as one release has them, counted batch by batch."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._names = [column.name for column in columns]
        self._counts = [np.zeros((2, len(column)), dtype=np.int64) for column in columns]
        self._rows = self._cells = self._whole = self._others = 0

    def add(self, before: Integers, after: Integers, others: int = 0) -> None:
        """Rows of codes, −1 for values that a column does not have; so many of them were read as other ones."""
        same = before == after
        self._rows += len(before)
        self._cells += int(same.sum())
        self._whole += int(same.all(axis=1).sum())
        self._others += others
        for j, counts in enumerate(self._counts):
            for row, codes in zip(counts, (before[:, j], after[:, j]), strict=True):
                row += np.bincount(codes[codes >= 0], minlength=len(row))

    def own_table(self) -> OwnTable:
        """What became of all of them."""
        both = {name: (before, after) for name, (before, after) in zip(self._names, self._counts, strict=True)}
        mean, worst, column = _errors(both, self._rows)
        gone = {name: int(((before > 0) & (after == 0)).sum()) for name, (before, after) in both.items()}
        return OwnTable(
            self._cells / (self._rows * len(both)),
            self._whole / self._rows,
            self._others / self._rows,
            mean,
            worst,
            column,
            {name: (lost, int((both[name][0] > 0).sum())) for name, lost in gone.items() if lost},
            with_chance=True,
        )


def _errors(both: Mapping[str, tuple[Integers, Integers]], rows: int) -> tuple[float, float, str]:
    """The mean and the worst |after − before| / rows over values with before > 0, and the column of the worst."""
    errors = {name: np.abs(after - before)[before > 0] / rows for name, (before, after) in both.items()}
    worst = {name: float(found.max(initial=0.0)) for name, found in errors.items()}
    column = max(worst, key=lambda name: worst[name])
    return float(np.concatenate(list(errors.values())).mean()), worst[column], column


def _codes(block: Block, j: int, joint: Joint) -> Integers:
    """For every value of X in `joint`, the number that its value has in column j of a block."""
    column = block.columns[j]
    place = joint.attributes.index(column.name)
    number = {label: i for i, label in enumerate(column.labels)}
    return np.array([number[label] for label in joint.columns[place].labels])[joint.codes[:, place]]


def _drawn(block: Block, j: int) -> Any:
    """drawn[x, a] = P(column j of the released row has a | x)."""
    entries, size = block.channel, len(block.columns[j])
    at = entries.inputs * size + block.codes[block.labels[entries.outputs], j]
    return np.bincount(at, weights=entries.numerators / UNIT, minlength=entries.n_inputs * size).reshape(-1, size)


def _stays(block: Block) -> Vector:
    """P(the released row of a block is x | x)."""
    entries = block.channel
    same = (block.codes[block.labels[entries.outputs]] == block.codes[entries.inputs]).all(axis=1)
    weights = np.where(same, entries.numerators / UNIT, 0.0)
    return np.bincount(entries.inputs, weights=weights, minlength=entries.n_inputs).astype(np.float64)
