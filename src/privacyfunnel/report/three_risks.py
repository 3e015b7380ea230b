"""The three risks of the European guidance on anonymisation, singling out, linkability and inference, in our figures.

All of them follow from the protocol's file, so that a page to publish may show them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.report.account import Account


@dataclass(frozen=True)
class ThreeRisks:
    """What is known of each; None where the file does not tell."""

    people: int | None
    """Rows that the protocol was fitted on: as many are released, one for each."""
    alone: float | None
    """The expected share of released rows whose values no other released row has."""
    alone_and_own: float | None
    """The expected share of rows that are so and have all their values from their own person, as these are read."""
    rarest: float | None
    """Rows that the rarest released combination of values is expected to have."""
    rows_unchanged: float | None
    """The share of rows of which every cell stays."""
    cells_unchanged: tuple[tuple[str, float], ...]
    """The share of cells of each column that stay."""
    one_row: float
    """ε: how far a row moves a belief about the secret, in nats."""
    everything: float | None
    """ε + ε₀: how far all that is published does."""
    guess_before: float | None
    """How often the best guess of the secret is right that sees nothing, and that sees a released row."""
    guess_after: float | None
    one_column: float | None
    """How far a row moves a belief of somebody who knows one column beforehand, at most, in nats."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"cells_unchanged": dict(self.cells_unchanged)}


def three_risks(account: Account) -> ThreeRisks:
    """The figures, from what an account tells of the file."""
    protocol, about = account.protocol, account.public or account.measured
    likeness, told = protocol.likeness, account.everything
    attackers = about.attack.attackers if about is not None and about.attack is not None else ()
    alone, own, rarest = _alone(protocol)
    return ThreeRisks(
        people=protocol.people,
        alone=alone,
        alone_and_own=own,
        rarest=rarest,
        rows_unchanged=likeness.rows_unchanged if likeness is not None else None,
        cells_unchanged=tuple((a.name, a.unchanged) for a in account.attributes if a.unchanged is not None),
        one_row=protocol.notion.epsilon,
        everything=told.together if told is not None else None,
        guess_before=about.findings.blind_guess if about is not None else None,
        guess_after=about.findings.released.best_guess if about is not None else None,
        one_column=max((attacker.level for attacker in attackers if len(attacker.known) == 1), default=None),
    )


def _alone(protocol: Protocol) -> tuple[float | None, float | None, float | None]:
    """Of n rows, how many have values of their own: Σ_y P(y)·(1 − P(y))^(n−1), as if each were drawn from P(y).

    Of those of a faithful release, so many come from a person who has these values: Q[y, y] of each. Last, n·min P(y).
    """
    if protocol.people is None:
        return None, None, None
    p, n = protocol.step.shares(), protocol.people
    single = p * (1 - p) ** (n - 1)
    rarest = float(n * p[p > 0].min())
    if protocol.likeness is None or not protocol.step.listed:
        return float(single.sum()), None, rarest
    entries = protocol.block.channel
    stays = np.zeros(len(p))
    same = entries.inputs == entries.outputs
    stays[entries.outputs[same]] = entries.numerators[same] / UNIT
    return float(single.sum()), float(single @ stays), rarest
