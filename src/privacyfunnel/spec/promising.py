"""The promise that is asked for: one secret or several, one ε or several, borders, beliefs, the population."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import KINDS, LIP, kind_named
from privacyfunnel.promises.ordered import Ordered
from privacyfunnel.promises.robust import robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.spec.impossible import Impossible, literally
from privacyfunnel.spec.of_fit import OfFit

Sought = Notion | Callable[[float], Notion]
"""A promise, or those among which the smallest ε is sought."""


def promise_of(spec: OfFit) -> Sought:
    """The promise, for all that the counts leave open if a confidence is asked for."""
    secrets = [names[0] for names in spec.secret or ()]
    if len(secrets) < 2:
        return _for_population(spec, _one(spec, kind_of(spec.kinds[0]), spec.epsilon, spec.known))
    kinds = {name: kind_of(kind) for name, kind in _for_each(secrets, spec.notion or spec.kinds[0], "notion").items()}
    levels, known = _for_each(secrets, spec.epsilon, "epsilon"), _known_of_each(secrets, spec.known, kinds)
    each = {name: _one(spec, kinds[name], levels[name], known[name]) for name in secrets}
    if all(isinstance(promise, Notion) for promise in each.values()):
        return _for_population(spec, Promises({name: cast(Notion, promise) for name, promise in each.items()}))
    return lambda epsilon: Promises({name: cast(Any, make)(epsilon) for name, make in each.items()})


def kind_of(name: str) -> type[Notion]:
    """The kind of promise called so."""
    kind = kind_named(name)
    if kind is None:
        raise Impossible(f"{{notion}} is one of {', '.join(KINDS)}, {Belief.name}; got {literally(repr(name))}")
    return kind


def takes(kind: type[Notion], name: str) -> bool:
    """Whether a kind of promise takes what a key says."""
    return name in kind.parameters() or (name == "epsilon" and kind is Belief)


def is_promised(spec: OfFit) -> bool:
    """Whether it is said how far beliefs may change, or what is to be kept, where a kind of promise needs that."""
    levels = (spec.epsilon, spec.lower, spec.upper, spec.keep, spec.error)
    return any(level is not None for level in levels) or not any(kind_of(kind).required() for kind in spec.kinds)


def _one(spec: OfFit, kind: type[Notion], level: Any, known: Any) -> Sought:
    """The promise about one secret."""
    given = {"epsilon": level, "lower": spec.lower, "upper": spec.upper, "known": known}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if not takes(kind, name):
            others = ", ".join(one.name for one in KINDS.values() if takes(one, name))
            raise Impossible(f"{{notion}} {kind.name} takes no {{{name}}}, which is for {others}: leave it out")
    if kind is Belief and spec.ordered:
        raise Impossible(f"{{notion}} {kind.name} cannot be combined with {{ordered}}: it is about single values")
    plain = _plain(spec, kind, given)
    if not spec.ordered:
        return plain
    per_range = None if spec.per_range is None else LIP(spec.per_range)
    with _said_of("{ordered}"):
        return Ordered(plain, per_range) if isinstance(plain, Notion) else lambda sought: Ordered(plain(sought))


def _plain(spec: OfFit, kind: type[Notion], given: Mapping[str, Any]) -> Sought:
    made = cast(Callable[..., Notion], kind)
    if spec.keep is not None or spec.error is not None:
        if kind is Belief:
            raise Impossible(f"{{notion}} {kind.name} has no ε to look for: say {{epsilon}}, the most belief in values")
        known = {name: value for name, value in given.items() if name == "known"}
        return (lambda sought: made(epsilon=sought, **known)) if known else kind.at
    lacking = [name for name in ("epsilon", "lower", "upper") if takes(kind, name) and name not in given]
    if lacking and kind.required():
        raise Impossible(f"{{notion}} {kind.name} needs {{{lacking[0]}}}")
    if kind is Belief:
        if not isinstance(given["epsilon"], dict):
            raise Impossible(f"{{notion}} {kind.name} needs {{epsilon}} for values: the most belief in each")
        with _said_of("{epsilon}"):
            return Belief(given["epsilon"])
    with _said_of("{epsilon}" if "epsilon" in given else "{notion}"):
        rest = {name: value for name, value in given.items() if name != "epsilon"}
        return made(given["epsilon"], **rest) if "epsilon" in given else made(**rest)


def _for_population(spec: OfFit, promise: Sought) -> Sought:
    if spec.confidence is None or not isinstance(promise, Notion):
        return promise
    with _said_of("{confidence}"):
        return robust(promise, spec.confidence, spec.within, [list(names) for names in spec.chain or ()])


def _for_each(secrets: list[str], said: Any, key: str) -> dict[str, Any]:
    """What a key says of each secret: the same of all, or something of each."""
    if not isinstance(said, dict):
        return dict.fromkeys(secrets, said)
    if set(said) != set(secrets):
        names = literally(", ".join(said))
        raise Impossible(f"{{{key}}} names {names}; the secrets are {literally(', '.join(secrets))}: name each")
    return dict(said)


def _known_of_each(secrets: list[str], said: Any, kinds: Mapping[str, type[Notion]]) -> dict[str, Any]:
    """What attackers on each secret may know: the same for all promises that speak of them, or something of each."""
    if isinstance(said, dict):
        strange = [name for name in said if name not in secrets]
        if strange:
            them = literally(", ".join(secrets))
            raise Impossible(f"{{known}} names {literally(repr(strange[0]))}; the secrets are {them}")
        return {name: said.get(name) for name in secrets}
    speaking = [name for name in secrets if takes(kinds[name], "known")]
    if said is not None and not speaking:
        raise Impossible("{known} goes with srlip and srldp; none of the secrets has such a promise")
    return {name: said if name in speaking else None for name in secrets}


@contextmanager
def _said_of(key: str) -> Iterator[None]:
    """A refusal of a promise names the key that asked for it."""
    try:
        yield
    except InvalidInput as trouble:
        raise Impossible(f"{key}: {literally(trouble)}") from None
