"""Carriers: how much each column tells about the secret, alone and to those who know the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacyfunnel.advice.people import People, Place
from privacyfunnel.numeric.information import NATS_PER_BIT
from privacyfunnel.tables.too_fine import MUCH


@dataclass(frozen=True)
class Carrier:
    """What a column tells about the secret, in bits, less what chance makes up."""

    column: str
    alone: float
    """I(S; X_j)."""
    beside_others: float | None
    """I(S; X_j | the other columns of the proposal); None where too few people share what both say to tell."""
    share: float
    """Of the information in the secret, what the column tells alone."""


def carriers(people: People, proposed: Sequence[Place]) -> tuple[Carrier, ...]:
    """All columns as they are read, those that tell most first; the others are the proposed ones."""
    whole = _corrected(people, (), True)
    found = []
    for j, levels in enumerate(people.levels):
        others = [place for place in proposed if place[0] != j]
        alone = _information(people, (j, 0), [])
        thin = people.rare(people.numbered([*others, (j, 0)])) > MUCH
        beside = None if thin else _information(people, (j, 0), others) / NATS_PER_BIT
        share = min(1.0, alone / whole) if whole > 0 else 0.0
        found.append(Carrier(levels[0].column.name, alone / NATS_PER_BIT, beside, share))
    return tuple(sorted(found, key=lambda carrier: -carrier.alone))


def _information(people: People, place: Place, given: list[Place]) -> float:
    """I(S; X | Z) = H(S, Z) + H(X, Z) − H(S, X, Z) − H(Z), not below 0."""
    joint = [place, *given]
    plus = _corrected(people, given, True) + _corrected(people, joint, False)
    return max(0.0, plus - _corrected(people, joint, True) - _corrected(people, given, False))


def _corrected(people: People, places: Sequence[Place], secret: bool) -> float:
    """An entropy, with what a sample of n people lacks of it on average: (k − 1) / 2n for k values (Miller, 1955)."""
    found, values = people.entropy(*places, secret=secret)
    return found + (values - 1) / (2 * people.total)
