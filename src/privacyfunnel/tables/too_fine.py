"""Too fine: whether combinations of values are too many for the people, which columns cause it, and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import OTHER, Column
from privacyfunnel.distribution.estimate import UNIT
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.typing import Integers, Vector

FEW = 10
"""People: with fewer who share a combination, what is known of the secret there rests on single ones."""
MUCH = 0.1
"""Of all people: if more share their combination with too few others, the columns are too fine for them."""
TRIED_DOWN_TO = 4
"""Ranges or values: fewer of a column are not proposed; without it, perhaps."""
MOST_TOLD = 3
"""Proposals in a line."""
MUCH_BETTER = 0.9
"""Of the people who are too few to share a combination: what leaves more of them is not proposed."""


@dataclass(frozen=True)
class Proposal:
    """What to try, and what would be left of the trouble."""

    option: str
    """As it is typed, or that a column is left out."""
    combinations: int
    share: float
    """Of the people, those whose combination fewer than FEW share."""
    information: float
    """Nats in what is left of the columns."""

    @classmethod
    def of(cls, option: str, each: Vector, untold: float, people: int) -> Proposal:
        """For people[i] = each[i] who have the combinations that are left."""
        return cls(option, len(each), _share(each, untold, people), float(entropy(each / each.sum())))

    @property
    def rank(self) -> tuple[bool, float]:
        """What is enough comes first and, of that, what leaves most; else what helps most."""
        enough = self.share <= MUCH
        return not enough, -self.information if enough else self.share

    def words(self) -> str:
        """In few words."""
        return f"{self.option}: {self.combinations:,} combinations, {self.share:.0%} of the people"


@dataclass(frozen=True)
class Fineness:
    """How many combinations of values there are for how many people."""

    people: int
    combinations: int
    share: float
    """Of the people, those whose combination fewer than FEW share."""
    alone: int | None
    """People whose combination nobody shares; None where counts have noise."""
    noisy: bool
    proposals: tuple[Proposal, ...]
    """The best first."""

    @property
    def too_fine(self) -> bool:
        """Whether that is too many."""
        return self.share > MUCH

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"too_fine": self.too_fine}

    def words(self) -> str:
        """What is wrong and what to try, in two sentences; nothing if it is not too fine."""
        if not self.too_fine:
            return ""
        noisy = "by noisy counts, about " if self.noisy else ""
        alone = f" ({self.alone:,} are alone in theirs)" if self.alone else ""
        text = (
            f"Too fine: {self.people:,} people have {self.combinations:,} combinations of values, and {noisy}"
            f"{self.share:.0%} of them share theirs with fewer than {FEW - 1} others{alone}, so that what is known of "
            "the secret there rests on a few people. "
        )
        if not self.proposals:
            return text + "Release fewer columns, wider ranges (bins) or fewer values (top)."
        tried = "; ".join(proposal.words() for proposal in self.proposals[:MOST_TOLD])
        enough = "" if self.proposals[0].share <= MUCH else " One of these is not enough: combine them."
        return f"{text}To try, with what would be left: {tried}.{enough}"


def fineness(joint: Joint) -> Fineness | None:
    """How fine the columns are for the people; None where it is not known how many there are.

    Of a joint with noise, as the noisy counts tell, before rare combinations were merged.
    """
    if joint.noise is not None:
        joint = noisy_joint(joint.noise, joint.columns, joint.secret)
    elif not joint.counted:
        return None
    noise = joint.noise
    each = joint.weights.sum(axis=0) / (UNIT if noise is not None else 1)
    people = noise.people if noise is not None else joint.total
    untold = max(0.0, people - float(each.sum()))  # whose combination a threshold on noisy counts keeps back
    share = _share(each, untold, people)
    proposals = _proposals(joint, each, untold, people) if share > MUCH else ()
    better = sorted((p for p in proposals if p.share < MUCH_BETTER * share), key=lambda p: p.rank)
    alone = None if noise is not None else int((each == 1).sum())
    return Fineness(people, joint.n_x, share, alone, noise is not None, tuple(better))


def _share(each: Vector, untold: float, people: int) -> float:
    return min(1.0, (float(each[each < FEW].sum()) + untold) / people)


def _proposals(joint: Joint, each: Vector, untold: float, people: int) -> list[Proposal]:
    """Every column left out or, if it has enough values, half as fine."""
    found = []
    for (j, column), others in zip(enumerate(joint.columns), _all_but_one(joint.codes), strict=True):
        if len(joint.columns) > 1:
            left = _merged(others[:, None], each)
            found.append(Proposal.of(f"without {column.name}", left, untold, people))
        half = _half_as_fine(column, joint.codes[:, j], each)
        if half is not None:
            option, codes = half
            left = _merged(np.column_stack([others, codes]), each)
            found.append(Proposal.of(option, left, untold, people))
    return found


def _all_but_one(codes: Integers) -> Iterator[Integers]:
    """For each column j, a number for every different row of all the others: that of its beginning and its end."""
    none = np.zeros(len(codes), dtype=np.int64)
    after = [none]
    for column in codes.T[:0:-1]:
        after.append(_numbered(np.column_stack([after[-1], column])))
    before = none
    for column, rest in zip(codes.T, reversed(after), strict=True):
        yield _numbered(np.column_stack([before, rest]))
        before = _numbered(np.column_stack([before, column]))


def _half_as_fine(column: Column, codes: Integers, each: Vector) -> tuple[str, Integers] | None:
    """An option that makes a column half as fine, and the codes it then has; None where there is none."""
    gone = np.array([label is None for label in column.labels])
    values = int((~gone).sum())
    half = math.ceil(values / 2)
    if half < TRIED_DOWN_TO or column.kind in ("year", "month", "day", "boolean"):
        return None
    if column.kind == "text":
        frequent = np.bincount(codes, weights=each, minlength=len(column))
        frequent[[i for i, label in enumerate(column.labels) if label is None or (column.other and label == OTHER)]] = 0
        kept = np.argsort(-frequent, kind="stable")[:half]
        return f"--set top={_typed(column.name)}={half}", np.where(np.isin(codes, kept) | gone[codes], codes, -1)
    pairs = _pairs_of_ranges(gone)
    return f"--set bins={_typed(column.name)}={half}", pairs[codes]


def _pairs_of_ranges(gone: NDArray[np.bool_]) -> Integers:
    """A number for every two neighbours; missing stays apart."""
    number = np.cumsum(~gone) - 1
    return np.where(gone, -1, number // 2)


def _typed(name: str) -> str:
    """A column as it is typed in a shell."""
    return f"'{name}'" if " " in name else name


def _merged(codes: Integers, each: Vector) -> Vector:
    """The people of every different row of codes."""
    return np.bincount(_numbered(codes), weights=each).astype(np.float64)


def _numbered(codes: Integers) -> Integers:
    """A number for every different row of codes."""
    return unique_rows(codes)[1]
