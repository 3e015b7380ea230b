"""Exposure: how many people a protocol's own numbers are computed from so closely that they tell their secrets.

A protocol fitted on exact counts is a function of the secrets. Where one person has a combination of values, the side
of the promise's boundary on which that combination lies *is* their secret, and the channel shows the side: with two
secrets, outputs pair values from both sides (docs/security.md). So people whose combination few share are counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.too_fine import FEW
from privacyfunnel.typing import Integers


@dataclass(frozen=True)
class Exposure:
    """People whom a protocol that was fitted on exact counts may give away by itself."""

    people: int
    alone: int
    """Those whose combination of released values nobody shares."""
    few: int
    """Those whose combination fewer than FEW people have, with those who are alone."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"fewer_than": FEW}

    def words(self) -> str:
        """Whether the protocol file may be published, in a sentence or two."""
        if not self.few:
            return f"Every combination of released values is shared by at least {FEW} people."
        return (
            f"The protocol file is not for publication: it was fitted on exact counts, and of {self.people:,} people "
            f"{self.few:,} have a combination of values that fewer than {FEW} share, {self.alone:,} of them one that "
            "nobody shares. Whoever has the file can work out the secrets of these, and much about the others'. Keep "
            "it to yourself, or release fewer columns, wider ranges or fewer values."
        )


def exposure(protocol: Protocol, joint: Joint) -> Exposure | None:
    """Count the people whom the protocol's numbers may give away; None if it was not fitted on people."""
    if protocol.fitted != "exact counts" or not joint.counted:
        return None
    people = joint.weights.sum(axis=0).astype(np.int64)
    _, group = np.unique(_read_as(protocol.block, joint), axis=0, return_inverse=True)
    size = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.add.at(size, group.ravel(), people)
    shared = size[group.ravel()]
    return Exposure(joint.total, int(people[shared == 1].sum()), int(people[shared < FEW].sum()))


def _read_as(block: Block, joint: Joint) -> Integers:
    """What the combinations of a joint are to a block, in rows: with a frequency threshold, rare ones are others."""
    if block.nearest:
        return block.inputs_of(joint)[:, None]
    return joint.codes[:, [joint.attributes.index(name) for name in block.attributes]]
