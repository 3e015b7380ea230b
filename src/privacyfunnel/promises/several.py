"""Promises: several secrets, each with a promise of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers


@dataclass(frozen=True, init=False)
class Promises(Notion):
    """A promise for each of several secrets by itself: `Promises(income=LIP(0.2), illness=LDP(0.1))`.

    Weaker than one promise about all secrets together, and cheaper: a row that says nothing of either secret may say
    whether they agree. Its `epsilon` is the largest of theirs; `level` is the smallest largest ε, all in proportion.
    """

    each: tuple[tuple[str, Notion], ...]
    sizes: tuple[int, ...] = field(default=(), repr=False)
    """How many values each secret has, where only that is known."""
    epsilon: float = field(default=0.0, repr=False, compare=False)
    name: ClassVar[str] = "promises"

    def __init__(self, each: Mapping[str, Notion] | None = None, /, **more: Notion) -> None:
        self._settle(tuple({**(each or {}), **more}.items()), ())

    def _settle(self, each: tuple[tuple[str, Notion], ...], sizes: tuple[int, ...]) -> None:
        if not each:
            raise InvalidPromise("Promises needs a promise for each secret, such as Promises(income=LIP(0.2))")
        for name, promise in each:
            if not isinstance(promise, Notion) or isinstance(promise, Promises) or promise.confidence is not None:
                raise InvalidPromise(
                    f"the promise about {name!r} must be one such as LIP(0.2); robust(…) goes around all of them"
                )
        if len({name for name, _ in each}) < len(each):
            raise InvalidPromise("two promises are about the same secret; one will do")
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "epsilon", max(promise.epsilon for _, promise in each))

    @classmethod
    def of(cls, each: tuple[tuple[str, Notion], ...], sizes: tuple[int, ...] = ()) -> Self:
        """Promises about secrets in this order, of so many values each."""
        made = cls.__new__(cls)
        made._settle(each, sizes)
        return made

    @property
    def simple(self) -> bool:
        return False

    @property
    def beliefs_limited(self) -> int:
        return sum(promise.beliefs_limited for _, promise in self.each)

    @property
    def limits(self) -> Limits:
        return Limits.widest([promise.limits for _, promise in self.each])

    @property
    def strictest(self) -> float:
        return min(promise.strictest for _, promise in self.each)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise("promises about several secrets scale together; use Promises(…).times(…)")

    def times(self, share: float) -> Self:
        return self.of(tuple((name, promise.times(share)) for name, promise in self.each), self.sizes)

    def views(self, joint: Joint) -> list[View]:
        """What any of the attackers may know beforehand."""
        views = [view for _, promise in self.each for view in promise.views(joint)]
        return list({view.known: view for view in views}.values())

    def sets_known(self, joint: Joint) -> int:
        return sum(promise.sets_known(joint) for _, promise in self.each)

    def made_for(self, joint: Joint) -> Self:
        """With the secrets in the joint's order."""
        parts = self._parts(joint)
        sizes = tuple(len(column) for column in joint.secret_columns) or self.sizes
        if not sizes:
            sizes = tuple(part.n_s for _, _, part in parts)
        return self.of(tuple((name, promise.made_for(part)) for name, promise, part in parts), sizes)

    def clauses(self, joint: Joint) -> list[Clause]:
        return [clause for _, promise, part in self._parts(joint) for clause in promise.clauses(part)]

    def _parts(self, joint: Joint) -> list[tuple[str, Notion, Joint]]:
        """Every secret with its promise and its own joint, in the joint's order."""
        if joint.numbered:
            names, codes = tuple(name for name, _ in self.each), self._numbers(joint)
        else:
            names, codes = joint.secret_names, None
        wanted = dict(self.each)
        if set(names) != set(wanted):
            raise InvalidPromise(
                f"the promises are about {' and '.join(wanted)}, the secrets are {' and '.join(names)}; name the same"
            )
        if len(names) == 1:
            return [(names[0], wanted[names[0]], joint)]
        return [(name, wanted[name], _one_secret(joint, k, name, codes)) for k, name in enumerate(names)]

    def _numbers(self, joint: Joint) -> Integers:
        """codes[s, k]: the number of secret k's value, where values have numbers only."""
        if len(self.sizes) != len(self.each) or int(np.prod(self.sizes)) != joint.n_s:
            raise InvalidPromise(f"the secrets have {self.sizes} values, their counts {joint.n_s}: they do not fit")
        return np.stack(np.unravel_index(np.arange(joint.n_s), self.sizes), axis=1).astype(np.int64)

    def as_dict(self) -> dict[str, Any]:
        each = [[name, promise.as_dict()] for name, promise in self.each]
        return {"notion": self.name, "each": each} | ({"sizes": list(self.sizes)} if self.sizes else {})

    def expression(self) -> str:
        each = ", ".join(f"{name!r}: {promise.expression()}" for name, promise in self.each)
        return f"pf.Promises({{{each}}})"

    def asked(self) -> dict[str, Any] | None:
        if not all(promise.simple and promise.parameters()[:1] == ("epsilon",) for _, promise in self.each):
            return None
        said = {name: promise.asked() or {} for name, promise in self.each}
        keys = dict.fromkeys(key for each in said.values() for key in each)
        asked: dict[str, Any] = {key: {name: each[key] for name, each in said.items() if key in each} for key in keys}
        kinds = {promise.name for _, promise in self.each}
        return asked | ({"notion": kinds.pop()} if len(kinds) == 1 else {})

    def parts(self) -> list[tuple[str, str]]:
        return [(f"{name} {what}".strip(), limit) for name, promise in self.each for what, limit in promise.parts()]

    def words(self) -> str:
        told = " ".join(f"{name}: {promise.words().replace('the secret', name)}" for name, promise in self.each)
        if len(self.each) == 1:
            return told
        return (
            f"Each secret by itself. {told} What a row says of several secrets together is not limited further: a row "
            f"that tells nothing of {self.each[0][0]} and nothing of {self.each[1][0]} may tell whether they agree."
        )


def _one_secret(joint: Joint, k: int, name: str, codes: Integers | None) -> Joint:
    """The joint of X and of one of the secrets, its values in the order of its column."""
    if codes is not None:
        own = codes[:, k]
        return joint.of_events(own, range(int(own.max()) + 1), name)
    values = [cast(tuple[Hashable, ...], value)[k] for value in joint.secret_values]
    column = joint.secret_columns[k] if joint.secret_columns else None
    occur = set(values)
    order = [label for label in column.labels if label in occur] if column is not None else list(dict.fromkeys(values))
    place = {value: i for i, value in enumerate(order)}
    event = np.array([place[value] for value in values])
    return joint.of_events(event, order, name, (column,) if column is not None else ())
