"""Secrets with an order: on which side of a border the secret lies, for every border between two of its values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import ORDERED_KINDS
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.by_value import text_of
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View

NOWHERE = 2
"""The event of values that lie on no side of any border: missing ones."""


@dataclass(frozen=True)
class Ordered(Notion):
    """`promise` about the events S ≤ t and S > t, for every border t between two values of the secret.

    Near values need not look as alike as far ones must: weaker than the promise per value, and cheaper. With
    `per_value`, that is promised as well, at an ε of its own. Values that are missing lie on no side: whether the
    secret is missing is a third event of every border. Its `epsilon` is the larger of the two.
    """

    promise: Notion
    per_value: Notion | None = None
    unordered: tuple[int, ...] = field(default=(), repr=False)
    """The numbers of values without a place in the order, where only these are known."""
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        for promise in (self.promise, self.per_value):
            if promise is not None and not (isinstance(promise, Notion) and promise.simple):
                raise InvalidPromise("Ordered needs a promise with one ε for all borders, such as Ordered(LIP(0.2))")
        object.__setattr__(self, "unordered", tuple(self.unordered))
        object.__setattr__(self, "epsilon", max(promise.epsilon for promise in self._promises))

    @property
    def _promises(self) -> list[Notion]:
        return [self.promise] if self.per_value is None else [self.promise, self.per_value]

    @property
    def simple(self) -> bool:
        return False

    @property
    def limits(self) -> Limits:
        return Limits.widest([promise.limits for promise in self._promises])

    @property
    def strictest(self) -> float:
        return min(promise.strictest for promise in self._promises)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise(f"an ordered promise is made of another; use Ordered(LIP({epsilon:g}))")

    def times(self, share: float) -> Self:
        per_value = None if self.per_value is None else self.per_value.times(share)
        return replace(self, promise=self.promise.times(share), per_value=per_value)

    def views(self, joint: Joint) -> list[View]:
        views = [view for promise in self._promises for view in promise.views(joint)]
        return list({view.known: view for view in views}.values())

    def sets_known(self, joint: Joint) -> int:
        return sum(promise.sets_known(joint) for promise in self._promises)

    def made_for(self, joint: Joint) -> Self:
        self._check(joint)
        return replace(self, unordered=tuple(self._without_order(joint)))

    def _check(self, joint: Joint) -> None:
        """Refuse secrets whose values have no order, or are not listed in it."""
        if joint.numbered:  # in the order of the values of its column, which was checked
            return
        if len(joint.secret_names) > 1:
            raise InvalidPromise(
                f"{joint.secret} together have no order; promise each by itself, Promises(…=Ordered(LIP(0.2)))"
            )
        kind = joint.secret_columns[0].kind if joint.secret_columns else None
        if kind is not None and kind not in ORDERED_KINDS:
            raise InvalidPromise(f"the values of {joint.secret!r} are no numbers or dates, so they have no order")
        values = joint.secret_columns[0].labels if joint.secret_columns else joint.secret_values
        if kind != "bins" and not _in_order(values, given=kind is None):
            raise InvalidPromise(
                f"the values of {joint.secret!r} are not listed in their order; list them so, or give them ranges"
            )

    def _without_order(self, joint: Joint) -> list[int]:
        if joint.numbered:
            return list(self.unordered)
        return [s for s, value in enumerate(joint.secret_values) if value is None]

    def clauses(self, joint: Joint) -> list[Clause]:
        self._check(joint)
        aside = self._without_order(joint)
        order = [s for s in range(joint.n_s) if s not in aside]
        if len(order) < 2 and not (order and aside):  # nothing to tell apart
            return self.promise.clauses(joint)
        views = self.promise.views(joint)
        borders = range(1, len(order)) if len(order) > 1 else [1]
        found = [
            Clause(self._sides(joint, order, below), self.promise.limits, views, subject=f"{joint.secret}, by borders")
            for below in borders
        ]
        return found + (self.per_value.clauses(joint) if self.per_value is not None else [])

    def _sides(self, joint: Joint, order: list[int], below: int) -> Joint:
        """The joint of X and of the side of one border: `below` values are on its lower side."""
        event = np.full(joint.n_s, NOWHERE)
        event[order[:below]], event[order[below:]] = 0, 1
        edge = text_of(joint.secret_values[order[below - 1]])
        events = [f"up to {edge}", f"above {edge}", "missing"]
        occur = sorted(set(event.tolist()))
        return joint.of_events(np.searchsorted(occur, event), [events[i] for i in occur], joint.secret)

    def as_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {"notion": self.name, "promise": self.promise.as_dict()}
        content |= {"per_value": self.per_value.as_dict()} if self.per_value is not None else {}
        return content | ({"unordered": list(self.unordered)} if self.unordered else {})

    def expression(self) -> str:
        return f"pf.Ordered({', '.join(promise.expression() for promise in self._promises)})"

    def asked(self) -> dict[str, Any] | None:
        if self.promise.parameters() != ("epsilon",) or (self.per_value and self.per_value.name != "lip"):
            return None
        more = {} if self.per_value is None else {"per_range": self.per_value.epsilon}
        return {**(self.promise.asked() or {}), "ordered": True, **more}

    def parts(self) -> list[tuple[str, str]]:
        sides = [("side of any border", limit) for _, limit in self.promise.parts()]
        return sides + [("single values", limit) for promise in self._promises[1:] for _, limit in promise.parts()]

    def words(self) -> str:
        sides = self.promise.words()
        for plain, side in (("any value of the secret", "either side"), ("any two values of the secret", "both sides")):
            sides = sides.replace(plain, side)
        told = f"Of the side of any border between two values of the secret on which it lies: {sides}"
        if self.per_value is None:
            return f"{told} Which of the values on one side it is, a row may tell further."
        return f"{told} And of single values: {self.per_value.words()}"


def _in_order(values: Iterable[Any], given: bool) -> bool:
    """Whether values, but for missing ones, stand in their order; for texts of an array it is the `given` one."""
    there = [value for value in values if value is not None]
    if given and all(isinstance(value, str | tuple) for value in there):
        return True
    try:
        return there == sorted(there)
    except TypeError:  # numbers and texts among each other
        return False
