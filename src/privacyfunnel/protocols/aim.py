"""Aim: how far inside its promise a private fit was made, so that the promise is true of the people behind the noise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

ENOUGH = 0.95
"""Of released rows: those whose lifts are to be within the promise, in rehearsals."""
GROUP = 0.05
"""Of released rows: the groups that tell most and least, as an attacker finds them, whose lifts are to be within it."""


@dataclass(frozen=True)
class Aim:
    """What a channel does to tables that are drawn from published counts, if it is made for a part of the promise."""

    share: float
    """Of every limit of the promise: a promise of ε is aimed at share · ε."""
    within: float
    """The share of rehearsed rows whose lifts are within the whole promise."""
    lowest: float
    """The least lift of a value of the secret in a group of 5% of the rows, as found by one who knows half a table."""
    highest: float
    """The greatest."""
    holds: bool
    """Whether all groups and 95% of the rows are within the whole promise."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)
