"""Laplace noise on the tables of a model: what of ε₀ goes to single columns, to the choice of pairs, and to pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

FOR_COLUMNS = 0.3
"""Of ε₀, for the tables of single columns: with 0.1, noise hid who of a rare value has the secret."""
FOR_CHOICE = 0.05
"""Of ε₀, for choosing pairs, where there are more than are counted."""
ROUNDINGS = 1e-12
"""Of ε₀, left unspent: far more than adding up its parts in float64 can be off."""
PAIRS_EACH = 1.75
"""Chosen pairs for each column: more of them have more noise each."""


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise on a model's tables. How large it is follows from ε₀."""

    choosing: float = 0.0
    """What was spent of ε₀ before, on choosing columns."""
    delta: ClassVar[float] = 0.0

    def left(self, epsilon: float) -> float:
        """What is left of ε₀ for the tables."""
        return epsilon * (1 - ROUNDINGS) - self.choosing


@dataclass(frozen=True)
class LaplaceSplit:
    """How ε is divided."""

    pairs: int
    """How many of them are counted."""
    for_single: float
    """Of the table of each column."""
    for_choice: float
    """0 if all pairs are counted."""
    for_pair: float
    """Of the table of each pair."""

    @classmethod
    def of(cls, columns: int, epsilon: float) -> LaplaceSplit:
        """That of so many columns."""
        epsilon *= 1 - ROUNDINGS
        every = math.comb(columns, 2)
        number = min(every, round(PAIRS_EACH * columns))
        for_columns = FOR_COLUMNS * epsilon if every else epsilon
        for_choice = FOR_CHOICE * epsilon if number < every else 0.0
        for_pair = (epsilon - for_columns - for_choice) / max(1, number)
        return cls(number, for_columns / columns, for_choice, for_pair)

    @property
    def variances(self) -> tuple[float, float]:
        """Of the noise in a cell of a single column's table, and of a pair's; 0 if there is none."""
        return laplace_variance(self.for_single), laplace_variance(self.for_pair) if self.pairs else 0.0


def laplace_variance(epsilon: float) -> float:
    """Of discrete Laplace noise of the scale 2/ε: 2q/(1 − q)² with q = e^(−ε/2)."""
    q = float(np.exp(-epsilon / 2))
    return 2 * q / (1 - q) ** 2
