"""Levels for single values of the secret: "ill" within one ε, "well" within another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion, OneEpsilon, checked, factor
from privacyfunnel.promises.views import View

Named = tuple[tuple[Hashable, float], ...]
"""Values of the secret, each with a number."""
SHOWN = 3
"""Values that a message names."""
MISSING = "missing"
"""What people type for a missing value."""


class PerValue(OneEpsilon):
    """A promise with one ε, or with one for every value of the secret: `LIP({"ill": 0.1, "well": 1.0})`."""

    def __new__(cls, epsilon: Any = None, *rest: Any, **more: Any) -> Any:
        if isinstance(epsilon, Mapping | list | tuple):
            levels = named(epsilon, "ε", checked)
            return ByValue(cls(max(level for _, level in levels), *rest, **more), levels)
        return object.__new__(cls)


@dataclass(frozen=True)
class ByValue(Notion):
    """A promise like `alike` about every value of the secret, each with its own ε.

    e^-ε_s ≤ P(s|y) / P(s) ≤ e^ε_s for LIP. Its `epsilon` is the largest; `level` is the smallest largest ε reached with
    all in this proportion.
    """

    alike: Notion
    levels: Named
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "by value"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", max(level for _, level in self.levels))

    @property
    def simple(self) -> bool:
        return False

    @property
    def limits(self) -> Limits:
        return self.alike.limits

    @property
    def strictest(self) -> float:
        return min(level for _, level in self.levels)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise(f"levels for single values scale together; use LIP({{…}}).times(…), or LIP({epsilon:g})")

    def times(self, share: float) -> Self:
        levels = tuple((value, share * level) for value, level in self.levels)
        return cast(Self, ByValue(self.alike.times(share), levels))

    def views(self, joint: Joint) -> list[View]:
        return self.alike.views(joint)

    def sets_known(self, joint: Joint) -> int:
        return self.alike.sets_known(joint)

    def made_for(self, joint: Joint) -> Self:
        """With the values as the joint has them, in its order."""
        levels = self._levels(joint)
        if joint.numbered:
            return self
        check_names(self.levels, joint)
        return cast(Self, ByValue(self.alike, tuple(zip(joint.secret_values, levels, strict=True))))

    def clauses(self, joint: Joint) -> list[Clause]:
        views = self.alike.views(joint)
        names = [value for value, _ in self.levels] if joint.numbered else joint.secret_values
        return [
            Clause(
                of_value(joint, s),
                cast(Any, replace(cast(Any, self.alike), epsilon=level)).limits,
                views,
                (0,),
                subject=f"{joint.secret} = {text_of(names[s])}",
            )
            for s, level in enumerate(self._levels(joint))
        ]

    def _levels(self, joint: Joint) -> list[float]:
        """The level of every value of the joint's secret."""
        if joint.numbered:
            if len(self.levels) != joint.n_s:
                raise InvalidPromise(f"there are {len(self.levels)} levels for {joint.n_s} values of the secret")
            return [level for _, level in self.levels]
        places = places_of(self.levels, joint)
        found = {place: level for place, (_, level) in zip(places, self.levels, strict=True) if place is not None}
        lacking = [joint.secret_values[s] for s in range(joint.n_s) if s not in found]
        if lacking:
            raise InvalidPromise(f"{listed(lacking)} of the secret {joint.secret!r} has no level; give every value one")
        return [found[s] for s in range(joint.n_s)]

    def as_dict(self) -> dict[str, Any]:
        return self.alike.as_dict() | {"epsilon": [[value, level] for value, level in self.levels]}

    def expression(self) -> str:
        return self.alike.expression().replace(f"epsilon={self.alike.epsilon!r}", repr(dict(self.levels)))

    def asked(self) -> dict[str, Any] | None:
        levels = {text_of(value): level for value, level in self.levels}
        return None if len(levels) < len(self.levels) else {**(self.alike.asked() or {}), "epsilon": levels}

    def parts(self) -> list[tuple[str, str]]:
        return [(text_of(value), f"×{factor(level)}") for value, level in self.levels]

    def words(self) -> str:
        each = ", ".join(f"×{factor(level)} for {text_of(value)}" for value, level in self.levels)
        plain = self.alike.words().replace("any value of the secret", "a value of the secret")
        return plain.replace(f"a factor {factor(self.alike.epsilon)}", f"a factor of its own ({each})")


def named(given: Any, what: str, check: Any) -> Named:
    """Values of the secret with their numbers, checked."""
    pairs = list(given.items()) if isinstance(given, Mapping) else [_hashable(pair) for pair in given]
    if not pairs or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
        raise InvalidPromise(f'levels for values are given as {{"ill": 0.1, "well": 1.0}}, with one {what} for each')
    try:
        found = tuple((value, check(number, f"{what} of {text_of(value)}")) for value, number in pairs)
        if len({value for value, _ in found}) < len(found):
            raise InvalidPromise("a value of the secret is given twice")
    except TypeError:
        raise InvalidPromise("the values of the secret are texts or numbers") from None
    return found


def _hashable(pair: Any) -> Any:
    """A value and its number, where the value of several columns together was read from a file as a list."""
    if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], list):
        return tuple(pair[0]), pair[1]
    return pair


def text_of(value: Any) -> str:
    """A value of the secret as people type it."""
    if isinstance(value, tuple):
        return " and ".join(map(text_of, value))
    return MISSING if value is None else str(value)


def places_of(names: Iterable[tuple[Hashable, Any]], joint: Joint) -> list[int | None]:
    """The number of each named value among the joint's: the very value, or the one that is written so.

    A text that several values are written as names none of them: 'missing', say, where the secret is missing in some
    rows and "missing" in others.
    """
    exact = {value: s for s, value in enumerate(joint.secret_values)}
    texts: dict[str, list[int]] = {}
    for s, value in enumerate(joint.secret_values):
        texts.setdefault(text_of(value), []).append(s)
    found: list[int | None] = []
    for value, _ in names:
        alike = texts.get(text_of(value), [])
        if len(alike) > 1 and (isinstance(value, str) or value not in exact):
            raise InvalidPromise(
                f"several values of the secret {joint.secret!r} are written {text_of(value)!r}; rename them, so that "
                "the promise says which is meant"
            )
        found.append(exact[value] if value in exact else alike[0] if alike else None)
    named_ = [place for place in found if place is not None]
    if len(set(named_)) < len(named_):
        raise InvalidPromise("a value of the secret is given twice")
    return found


def check_names(names: Sequence[tuple[Hashable, Any]], joint: Joint) -> None:
    """Refuse names of values that the secret does not have."""
    places = places_of(names, joint)
    strange = [value for (value, _), place in zip(names, places, strict=True) if place is None]
    if strange:
        raise InvalidPromise(
            f"the promise names {listed(strange)}, which the secret {joint.secret!r} never is; it is "
            f"{listed(list(joint.secret_values))}"
        )


def listed(values: Sequence[Any]) -> str:
    """Some values for a message.

    >>> listed(["a", "b", None, "d"])
    "'a', 'b', 'missing' or another of 4"
    """
    shown = [repr(text_of(value)) for value in values[:SHOWN]]
    if len(values) > SHOWN:
        return f"{', '.join(shown)} or another of {len(values)}"
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def of_value(joint: Joint, s: int) -> Joint:
    """The joint of X and of whether the secret is its value number s: event 0 if it is."""
    if joint.n_s == 1:
        return joint
    event = np.ones(joint.n_s, dtype=np.int64)
    event[s] = 0
    text = text_of(joint.secret_values[s])
    return joint.of_events(event, [joint.secret_values[s], f"not {text}"], joint.secret)
