"""Choosing: columns that can be released together, one after the other, by the exact numbers or privately.

What a column is worth to readers beside others is what it tells them that neither the secret nor one of these does:

    v = ln(1 + min_i H(X_j | S, X_i)),    of columns i that were chosen already, and of none,

with a logarithm, since the first bits of a column are worth most. Columns are added by v for each nat of room that they
take, ln(values); then those that were made coarser are refined, by what that adds to v.

One changed row changes an entropy of n people by at most (1 + ln n) / n, hence H(A | B) = H(A, B) − H(B) by twice that,
v by no more, and each score below by at most SCORES of it. Which candidates there are depends on public numbers alone:
the number of people, and of the values of columns. So a draw of the largest score with noise (drawing/noisy_max.py) is
private, and so are some of them, each at its part of ε₀.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from privacyfunnel.advice.people import People, Place
from privacyfunnel.drawing.noisy_max import noisy_largest
from privacyfunnel.tables.too_fine import FEW, MUCH
from privacyfunnel.typing import Integers

LEAST_WORTH = 0.05
"""For each nat of room: what adds less is not worth its place."""
SCORES = 4
"""Times (1 + ln n) / n: 2 for v, by ln 2 at least; or 2 for each of two v."""
MOST_DRAWS = 12
"""Draws among which a private choice divides its ε."""

Candidates = list[tuple[float, Place]]
"""Changes that may be made, with their scores."""
Fits = Callable[[list[Place]], bool]
"""Whether there is room for some columns together."""
Pick = Callable[[Candidates, Callable[[Place], bool], float], Place | None]
"""A candidate with a large score that fits; none if what is best is less than enough."""


def pick_largest(candidates: Candidates, fits: Callable[[Place], bool], enough: float) -> Place | None:
    """The candidate with the largest score."""
    for score, place in sorted(candidates, key=lambda each: (-each[0], each[1])):
        if score <= enough:
            return None
        if fits(place):
            return place
    return None


@dataclass(eq=False)
class PrivateDraws:
    """Draws of about the largest score, at most MOST_DRAWS, which together spend ε."""

    people: int
    epsilon: float
    made: int = 0

    def __call__(self, candidates: Candidates, fits: Callable[[Place], bool], enough: float) -> Place | None:
        """One draw. After the first, not to draw is a candidate, too, whose score looks at nobody."""
        left = [(score, place) for score, place in candidates if fits(place)]
        if not left or self.made == MOST_DRAWS:
            return None
        none = [enough] if self.made else []
        self.made += 1
        sensitivity = SCORES * (1 + math.log(self.people)) / self.people
        epsilon = math.nextafter(self.epsilon / MOST_DRAWS, 0.0)
        drawn = noisy_largest([*none, *(score for score, _ in left)], sensitivity, epsilon)
        return left[drawn - len(none)][1] if drawn >= len(none) else None


def room_for_people(people: People) -> Fits:
    """Whether combinations are not too fine for these people. It looks at them."""
    numbered: dict[tuple[Place, ...], Integers] = {}

    def fits(places: list[Place]) -> bool:
        *before, last = places
        if tuple(before) not in numbered:
            numbered.clear()
            numbered[tuple(before)] = people.numbered(before)
        return people.rare(people.numbered([last], numbered[tuple(before)])) <= MUCH

    return fits


def room_for_noise(people: People, epsilon: float = 1.0) -> Fits:
    """Whether for each cell, people or not, there are FEW people on average, and FEW for noise of size 1 on each.

    It looks at nobody. Noise of ε₀ is of size 1/ε₀: with less privacy loss there is room for fewer cells.
    """
    most = people.total * min(1.0, epsilon) / FEW
    return lambda places: people.declared_secrets * math.prod(len(people.level(p)) for p in places) <= most


def choose(people: People, fits: Fits, pick: Pick = pick_largest) -> list[Place]:
    """Columns to be released together, and at which level."""
    chosen: list[Place] = []

    def fits_beside(place: Place) -> bool:
        return fits(_with(chosen, place))

    for candidates, enough in ((_additions, LEAST_WORTH), (_refinements, 0.0)):
        while (place := pick(candidates(people, chosen), fits_beside, enough)) is not None:
            chosen = _with(chosen, place)
    return chosen


def _with(chosen: list[Place], place: Place) -> list[Place]:
    """The columns with one more, or one at another level."""
    return [*(other for other in chosen if other[0] != place[0]), place]


def worth(people: People, place: Place, beside: Sequence[Place]) -> float:
    """What a column tells that the secret, and any one of the others, do not."""
    whole = people.entropy(place, secret=True)[0] - people.entropy(secret=True)[0]
    others = (
        people.entropy(place, other, secret=True)[0] - people.entropy(other, secret=True)[0]
        for other in beside
        if other[0] != place[0]
    )
    return math.log1p(max(0.0, min([whole, *others])))


def _additions(people: People, chosen: list[Place]) -> Candidates:
    """Columns that could be added, at every level, by their worth for each nat of room."""
    used = {j for j, _ in chosen}
    return [
        (worth(people, place, chosen) / math.log(len(people.level(place))), place)
        for j, levels in enumerate(people.levels)
        for place in ((j, fineness) for fineness in range(len(levels)))
        if j not in used and len(people.level(place)) > 1
    ]


def _refinements(people: People, chosen: list[Place]) -> Candidates:
    """Columns that could be a level finer, by what that adds to their worth."""
    found = []
    for j, fineness in chosen:
        if fineness > 0:
            finer, others = (j, fineness - 1), [place for place in chosen if place[0] != j]
            found.append((worth(people, finer, others) - worth(people, (j, fineness), others), finer))
    return found


def until_there_is_room(people: People, fits: Fits) -> list[Place] | None:
    """All columns, the one with the most values coarsened again and again until there is room; None if there is none.

    The order goes by the numbers of values alone.
    """
    chosen = [(j, 0) for j in range(len(people.levels))]
    while not fits(chosen):
        coarser = [
            (len(people.level(p)), -p[0], i) for i, p in enumerate(chosen) if p[1] + 1 < len(people.levels[p[0]])
        ]
        if not coarser:
            return None
        _, _, i = max(coarser)
        chosen[i] = (chosen[i][0], chosen[i][1] + 1)
    return chosen
