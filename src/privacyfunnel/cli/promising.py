"""The promise that options ask for: one secret or several, one ε or several, borders, beliefs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from privacyfunnel.cli import options
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import LIP
from privacyfunnel.promises.ordered import Ordered
from privacyfunnel.promises.several import Promises

Sought = Notion | Callable[[float], Notion]
"""A promise, or those among which the smallest ε is sought."""


@dataclass(frozen=True)
class Asked:
    """The options about a promise, as typed."""

    secrets: Sequence[str]
    """What each --secret names: one column, or several joined by commas that are one secret together."""
    notion: str
    epsilon: str | None
    lower: float | None
    upper: float | None
    known: str | None
    keep: float | None
    error: list[str] | None
    ordered: bool
    per_range: float | None

    @property
    def columns(self) -> list[str]:
        """All columns that are secret."""
        return [name for text in self.secrets for name in options.names(text)]

    @property
    def kinds(self) -> list[str]:
        """The kinds of promise that are asked for."""
        return [self.notion] if "=" not in self.notion else list(options.pairs_in(self.notion, "--notion").values())

    def promise(self) -> Sought:
        """The promise, refused where options do not go together."""
        if self.per_range is not None and not self.ordered:
            raise InvalidPromise("--per-range goes with --ordered: borders within one ε, single ranges within another")
        if len(self.secrets) < 2:
            return self._one(self.notion, self.epsilon)
        names = [options.names(text) for text in self.secrets]
        if any(len(each) != 1 for each in names):
            raise InvalidInput("several --secret are promises about each; name one column in each, or all in one")
        secrets = [each[0] for each in names]
        if len(set(secrets)) < len(secrets):
            raise InvalidInput("the same column is named by two --secret; once will do")
        kinds, levels = (
            self._for_each(secrets, self.notion, "--notion"),
            self._for_each(secrets, self.epsilon, "--epsilon"),
        )
        known = self._known_of_each(secrets, kinds)
        each = {name: replace(self, known=known[name])._one(kinds[name] or "lip", levels[name]) for name in secrets}
        if all(isinstance(promise, Notion) for promise in each.values()):
            return Promises({name: promise for name, promise in each.items() if isinstance(promise, Notion)})
        return lambda epsilon: Promises({name: make(epsilon) for name, make in each.items() if callable(make)})

    def _for_each(self, secrets: list[str], text: str | None, option: str) -> dict[str, str | None]:
        """What an option says of each secret: the same of all, or something of each."""
        if text is None or "=" not in text:
            return dict.fromkeys(secrets, text)
        typed = options.pairs_in(text, option)
        if set(typed) != set(secrets):
            raise InvalidPromise(f"{option} names {', '.join(typed)}; the secrets are {', '.join(secrets)}: name each")
        return dict(typed)

    def _known_of_each(self, secrets: list[str], kinds: dict[str, str | None]) -> dict[str, str | None]:
        """What attackers on each secret may know: --known 1, of all that speak of them, or income=1,illness=age+sex."""
        if self.known is None:
            return dict.fromkeys(secrets)
        typed = options.pairs_in(self.known, "--known") if "=" in self.known else {}
        if set(typed) & set(secrets):
            strange = [name for name in typed if name not in secrets]
            if strange:
                raise InvalidPromise(f"--known names {strange[0]!r}; the secrets are {', '.join(secrets)}")
            return {name: typed[name].replace("+", ",") if name in typed else None for name in secrets}
        speaking = [name for name in secrets if "known" in options.kind(kinds[name] or "lip").parameters()]
        if not speaking:
            raise InvalidPromise("--known goes with srlip and srldp; none of the secrets has such a promise")
        return {name: self.known if name in speaking else None for name in secrets}

    def _one(self, kind: str, level: str | None) -> Sought:
        """The promise about one secret."""
        if kind == Belief.name:
            return self._belief(level)
        promise = self._with_levels(kind, level)
        if not self.ordered:
            return promise
        per_range = None if self.per_range is None else LIP(self.per_range)
        if isinstance(promise, Notion):
            return Ordered(promise, per_range)
        if per_range is not None:
            raise InvalidPromise("--keep and --error find one ε, so they go without --per-range")
        return lambda epsilon: Ordered(promise(epsilon))

    def _with_levels(self, kind: str, level: str | None) -> Sought:
        """The promise with one ε, or with one for every value."""
        if level is not None and "=" in level:
            return self._by_value(kind, level)
        epsilon = None if level is None else number(level, "--epsilon")
        return options.promise(kind, epsilon, self.lower, self.upper, self.known, self.keep, self.error)

    def _by_value(self, kind: str, level: str) -> Notion:
        if self.keep is not None or self.error:
            raise InvalidPromise("--keep and --error find one ε, so they go without levels for single values")
        levels = {value: number(text, "--epsilon") for value, text in options.pairs_in(level, "--epsilon").items()}
        if "epsilon" not in options.kind(kind).required():
            raise InvalidPromise(f"--notion {kind} takes no --epsilon")
        if self.lower is not None or self.upper is not None:
            raise InvalidPromise(f"--notion {kind} takes no --lower or --upper")
        made = cast(Callable[..., Notion], options.kind(kind))
        if "known" in options.kind(kind).parameters():
            return made(levels, known=options.known_by(self.known))
        if self.known is not None:
            raise InvalidPromise(f"--notion {kind} takes no --known")
        return made(levels)

    def _belief(self, level: str | None) -> Notion:
        if level is None or "=" not in level:
            raise InvalidPromise("--notion belief needs the most belief in values of the secret: --epsilon ill=0.05")
        if any((self.keep, self.error, self.lower, self.upper, self.known, self.ordered)):
            raise InvalidPromise("--notion belief takes --epsilon value=belief, and nothing else")
        return Belief(
            {value: number(text, "--epsilon") for value, text in options.pairs_in(level, "--epsilon").items()}
        )


def number(text: str, option: str) -> float:
    """A number, as typed."""
    try:
        return float(text)
    except ValueError:
        raise InvalidPromise(
            f"{option} takes a number such as 0.5, or one for each, such as ill=0.1,well=1; got {text!r}"
        ) from None
