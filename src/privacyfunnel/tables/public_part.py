"""What is public of a counted table: all that may stand beside its noisy counts. No count is in it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.typing import Integers


@dataclass(frozen=True)
class PublicPart:
    """Columns with all values that they may have, how the secret is read, and the number of people.

    What follows the noise takes this and the noisy counts, so that it cannot depend on anybody's record.
    """

    columns: tuple[Column, ...]
    secret: str
    secret_columns: tuple[Column, ...]
    secret_readings: tuple[Reading, ...]
    secret_parts: tuple[str, ...]
    secret_values: tuple[Hashable, ...]
    """All values that the secret may have, whether anybody has them or not."""
    people: int
    declared: bool
    chosen: tuple[str, ...]

    @classmethod
    def of(cls, joint: Joint) -> PublicPart:
        """That of a table."""
        return cls(
            joint.columns,
            joint.secret,
            joint.secret_columns,
            joint.secret_readings,
            joint.secret_parts,
            secret_values(joint),
            joint.total,
            joint.declared,
            joint.chosen,
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


def secret_values(joint: Joint) -> tuple[Hashable, ...]:
    """All values that the columns of the secret may have together, in C order."""
    columns = joint.secret_columns
    if not columns:
        return tuple(joint.secret_values)
    sizes = [len(column) for column in columns]
    numbers = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).tolist()
    labels = [tuple(column.labels[i] for column, i in zip(columns, row, strict=True)) for row in numbers]
    return tuple(label[0] if len(columns) == 1 else label for label in labels)


def secret_numbers(joint: Joint) -> Integers:
    """The number of each of the joint's values of the secret among all that its columns may have."""
    place = {value: i for i, value in enumerate(secret_values(joint))}
    return np.array([place[value] for value in joint.secret_values], dtype=np.int64)
