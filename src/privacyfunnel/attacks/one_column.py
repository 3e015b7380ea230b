"""One column known: how far beliefs move of somebody who knows a single column of a person beforehand.

In float64 and without the rest of an attack, so that every fit can tell it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.outcomes import Outcomes, inputs_on
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers, Matrix

MOST_WORK = 12_000_000
"""Released rows of a value of X, times columns: some 2 s."""
PRICE = " (a promise to more people: rows tell less then, often much less)"
"""What the remedy costs, in words: only a fit with it can tell how much."""
MUCH_MORE = 1.05
"""Of the ε of the promise: with less, one column makes next to no difference."""


@dataclass(frozen=True)
class OneColumn:
    """The column that helps most to learn the secret from a released row, for those who know just this one."""

    column: str | None
    """None: going through them all would be too much work."""
    level: float
    """The smallest ε at which the promise would hold for them."""
    promised: float
    notion: str
    """The promise that would be about them."""

    @property
    def much_more(self) -> bool:
        """Whether that is worth a line."""
        return self.column is None or self.level > MUCH_MORE * self.promised

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """What it means, in a line, with the remedy."""
        if self.column is None:
            return (
                "What somebody learns who knows one column beforehand was too much to compute here; the promise is not "
                f"made to them. If that matters: --notion {self.notion}{PRICE}."
            )
        asked = f"--notion {self.notion} --known {self.column}"
        remedy = f"If they matter: {asked}, or --known 1 for any one column{PRICE}."
        if math.isinf(self.level):
            return (
                f"Knowing just {self.column} beforehand, a released row may rule out a value of the secret, "
                f"where others' beliefs change by at most ×{factor(self.promised)}: the promise is not made to such "
                f"people. {remedy}"
            )
        return (
            f"Knowing just {self.column} beforehand lifts the factor from ×{factor(self.promised)} to "
            f"×{factor(self.level)}: the promise is not made to such people. {remedy}"
        )


def one_column(protocol: Protocol, joint: Joint) -> OneColumn | None:
    """The worst of the columns; None if the promise is about people who know some, or if there is only one column."""
    notion = protocol.notion
    kind = notion.promise if isinstance(notion, Robust) else notion
    if not kind.simple or "known" in kind.parameters() or len(joint.attributes) < 2:
        return None
    remedy = "srldp" if math.isfinite(kind.limits.spread) else "srlip"
    if _work(protocol, joint) > MOST_WORK:
        return OneColumn(None, math.inf, notion.epsilon, remedy)
    outcomes = Outcomes.of(protocol, joint)
    levels = [_level(outcomes, joint, joint.codes[:, j], kind) for j in range(len(joint.attributes))]
    worst = int(np.argmax(levels))
    return OneColumn(joint.attributes[worst], float(levels[worst]), notion.epsilon, remedy)


def _work(protocol: Protocol, joint: Joint) -> int:
    """Released rows of all values of X together, times columns."""
    rows = np.diff(protocol.block.channel.starts)[inputs_on(protocol.block, joint)]
    return int(rows.sum()) * len(joint.attributes)


def _level(outcomes: Outcomes, joint: Joint, cell: Integers, notion: Notion) -> float:
    """The smallest ε for those who know the cell of each x."""
    x, n = outcomes.inputs, int(cell.max()) + 1
    seen, at = np.unique(outcomes.outputs * n + cell[x], return_inverse=True)
    drawn = outcomes.numerators.astype(np.float64) / outcomes.scale
    after: Matrix = np.stack([np.bincount(at.ravel(), row[x] * drawn, len(seen)) for row in joint.p]).astype(float)
    before: Matrix = np.stack([np.bincount(cell, row, n) for row in joint.p]).astype(float)[:, seen % n]
    occur = after.sum(axis=0) > 0
    return notion.level_of(_reached(after[:, occur], before[:, occur]))


def _reached(after: Matrix, before: Matrix) -> Limits:
    """How far ln P(s|y, cell) / P(s|cell) goes, for after[s, i] ∝ P(s, y, cell) and before[s, i] ∝ P(s, cell)."""
    possible = before > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.log(after / after.sum(axis=0)) - np.log(before / before.sum(axis=0))
    top = np.where(possible, lift, -np.inf).max(axis=0)
    low = np.where(possible, lift, np.inf).min(axis=0)
    return Limits(max(0.0, -float(low.min())), max(0.0, float(top.max())), max(0.0, float((top - low).max())))
