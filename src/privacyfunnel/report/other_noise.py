"""Other noise: what fits with other ε₀ would give of the table at hand, as far as its published counts foretell it.

Tables are drawn from what is published, counted with the noise of each ε₀, and released in the same way. So asking
costs no privacy: nothing is looked at but published numbers, the number of people and the columns.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.rehearsal import Late, Published, aim_for, rehearsals
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.aim import GROUP, Aim
from privacyfunnel.protocols.chances import Drawn
from privacyfunnel.report import html
from privacyfunnel.typing import Integers, Vector

EPSILONS = (0.5, 1.0, 2.0, 3.0)
"""ε₀ that are compared: from half of the default to three times it."""
PART = 0.1
"""Of a fit's time limit, for all of them."""
COMMON = 0.01
"""Of the people: the least share of a value whose errors are told."""
CAPTION = "What other noise would give of this table, by rehearsal"
HEADINGS = (
    "ε₀",
    "cells unchanged",
    "typical error of shares",
    f"factors in groups of {GROUP:.0%} of the rows",
    "aimed at",
)


@dataclass(frozen=True)
class WithNoise:
    """What a fit with this ε₀ would give."""

    private: float
    cells: float
    """The share of cells that stay as they are."""
    shares: float
    """The typical error of the share of a value, in sampling errors of the table."""
    aim: Aim

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def row(self) -> tuple[str, ...]:
        """It, for a table."""
        lifts = f"{self.aim.lowest:.2f} to {self.aim.highest:.2f}"
        beyond = "" if self.aim.holds else ", beyond the promise"
        return (
            f"{self.private:g}",
            f"{self.cells:.1%}",
            f"{self.shares:.2f} sampling errors",
            lifts + beyond,
            f"{self.aim.share:.0%} of the promise",
        )


@dataclass(frozen=True)
class OtherNoise:
    """The same for each ε₀."""

    each: tuple[WithNoise, ...]
    hurried: bool
    """Whether time ran out before all were rehearsed."""

    @classmethod
    def of(cls, published: Published | None, promise: Notion, late: Late) -> OtherNoise | None:
        """Rehearse each in turn, as long as there is time; None where nothing can be rehearsed."""
        if published is None:
            return None
        found = [_with_noise(published.at(epsilon), promise, late) for epsilon in EPSILONS]
        some = tuple(one for one in found if one is not None)
        return cls(some, late() or any(one.aim.hurried for one in some)) if some else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"hurried": self.hurried, "each": [one.as_dict() for one in self.each]}

    def part(self) -> str:
        """A table and what it says, for a page."""
        text = html.table(CAPTION, HEADINGS, [one.row() for one in self.each])
        said = (
            "Drawn from the published counts alone: asking costs no privacy. A fit with another ε₀ would cost its own."
        )
        cut = " The time limit left some of it out." if self.hurried else ""
        return text + html.paragraph(said + cut, "muted")


def _with_noise(published: Published, promise: Notion, late: Late) -> WithNoise | None:
    aim = None if late() else aim_for(published, promise, late)
    if aim is None:
        return None
    cells, shares = [], []
    for table in rehearsals(published, late):
        try:
            drawn = table.make(aim.inside(promise))[0].step.drawn(table.people)
        except PrivacyFunnelError:  # noise may leave nothing to go by
            continue
        cells.append(cells_unchanged(drawn, table.people))
        shares.append(error_of_shares(drawn, table.people))
    return WithNoise(published.epsilon, float(np.mean(cells)), float(np.mean(shares)), aim) if cells else None


def cells_unchanged(drawn: Drawn, people: Joint) -> float:
    """The expected share of cells of these people that stay as they are."""
    same = [_same(drawn, people, j) for j in range(len(people.columns))]
    return float(np.mean(np.stack(same) @ people.p_x))


def _same(drawn: Drawn, people: Joint, j: int) -> Vector:
    """P(the released value of a column is x's own | x)."""
    own = people.codes[:, j]
    stays = np.where(own[drawn.person] == drawn.codes[drawn.output, j], drawn.chance, 0.0)
    lost = np.bincount(drawn.codes[:, j], drawn.common, len(people.columns[j]))
    return np.asarray(np.bincount(drawn.person, stays, people.n_x) + drawn.lost * lost[own])


def error_of_shares(drawn: Drawn, people: Joint) -> float:
    """The median over values of √E(share of released rows − share of people)², in sampling errors of the latter.

    With e_x = P(y has the value | x) and n_x people, the square is (Σ n_x e_x / n − share)² + Σ n_x e_x (1 − e_x) / n².
    """
    found: list[float] = []
    for j, column in enumerate(people.columns):
        found += _errors(drawn, people, people.codes[:, j], j, len(column))
    return float(np.median(found)) if found else 0.0


def _errors(drawn: Drawn, people: Joint, own: Integers, j: int, size: int) -> list[float]:
    n, shape = float(people.total), (people.n_x, size)
    place = drawn.person * size + drawn.codes[drawn.output, j]
    e = np.bincount(place, drawn.chance, people.n_x * size).reshape(shape)
    e = np.clip(e + np.outer(drawn.lost, np.bincount(drawn.codes[:, j], drawn.common, size)), 0.0, 1.0)
    share = np.bincount(own, people.p_x, size)
    square = (people.p_x @ e - share) ** 2 + people.p_x @ (e * (1 - e)) / n
    told = (share >= COMMON) & (share < 1)
    return [float(one) for one in np.sqrt(square[told] / (share[told] * (1 - share[told]) / n))]
