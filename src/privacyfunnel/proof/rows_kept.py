"""Rows kept: how many people's rows stay what they were in a follow-up on what they were and are, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.proof.histories import Past
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.rows_before import RowsBefore

LEAST_SHOWN = Fraction(1, 10_000)
"""Shares below this, or as near to 1, are not written as numbers."""


@dataclass(frozen=True)
class RowsKept:
    """Shares of people, exactly, on the counts that a follow-up is asked about. Rare combinations count as they are."""

    changed: Fraction
    """Whose values, as the columns are cut, are not those before."""
    of_unchanged: Fraction
    """Of the others, whose row says what it said."""
    of_changed: Fraction
    """Of those who changed, the same."""

    def words(self) -> str:
        """The same in a line."""
        return (
            f"{float(self.changed):.2%} of people changed, as these columns are read. Of the others "
            f"{_percent(self.of_unchanged)} keep their row, of those who changed {_percent(self.of_changed)}."
        )

    def as_dict(self) -> dict[str, float]:
        """Plain data, for JSON."""
        return {
            "changed": float(self.changed),
            "rows_kept_of_unchanged": float(self.of_unchanged),
            "rows_kept_of_changed": float(self.of_changed),
        }


def rows_kept(follow_up: Protocol, joint: Joint) -> RowsKept | None:
    """Who keeps their row, in the mean; None if a follow-up is not on what people were and are."""
    rows = RowsBefore.of_follow_up(follow_up)
    if rows is None:
        return None
    steps, past, before = follow_up.by_history, Past(follow_up, joint), Past(follow_up.followed, joint)
    weights = joint.weights.sum(axis=0).astype(object)
    people, stay = np.zeros(joint.n_x, dtype=object), np.zeros(joint.n_x, dtype=object)
    for h, history in enumerate(map(tuple, steps.histories.tolist())):
        people += before.numerators(history) * weights * UNIT
        stay += past.numerators((*history, int(rows.row[h]))) * weights
    same = rows.of_people(steps.columns, steps.read_in(joint).codes)
    return RowsKept(
        Fraction(int(weights[~same].sum()), int(joint.total)),
        _share(int(stay[same].sum()), int(people[same].sum())),
        _share(int(stay[~same].sum()), int(people[~same].sum())),
    )


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(1)


def _percent(share: Fraction) -> str:
    """All and none are said of nothing less."""
    if share in (0, 1):
        return "all" if share else "none"
    if min(share, 1 - share) < LEAST_SHOWN:
        return "nearly none" if share < LEAST_SHOWN else "nearly all"
    return f"{float(share):.2%}"
