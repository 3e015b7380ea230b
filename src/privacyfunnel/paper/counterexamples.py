"""Two products that break the paper's budget theorem: levels of columns, given all that may be known of the others, do
not add up to the level of the product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.paper.products import Product, product_of
from privacyfunnel.promises.notions import SRLIP
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.typing import Matrix


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A distribution, a channel for each column, and the ε that the theorem gives their product."""

    joint: Joint
    channels: tuple[Matrix, ...]
    budget: float

    def product(self) -> Product:
        """The product, with its true level."""
        return product_of(self.joint, SRLIP(self.budget), self.channels)


def two_bits() -> Counterexample:
    """X¹ = X² = (A, B), two fair bits, and S = A xor B. One channel tells A and the other B: neither tells S."""
    weights = np.zeros((2, 4, 4), dtype=np.int64)
    for x in range(4):
        weights[x // 2 ^ x % 2, x, x] = 1
    A, B = (np.stack([1 - bits, bits]) for bits in (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
    return Counterexample(Joint(weights), (A, B), 0.0)


def full_support() -> Counterexample:
    """All binary, every combination possible: each channel is ln(227/209)-LIP whatever is known of the other column."""
    twentieth, four_fifths = round(UNIT / 20) / UNIT, round(UNIT * 4 / 5) / UNIT
    channel = np.array([[1 - twentieth, 1 - four_fifths], [twentieth, four_fifths]])
    joint = Joint([[[980, 5], [5, 10]], [[996, 1], [1, 2]]])
    return Counterexample(joint, (channel, channel), 2 * math.log(227 / 209))
