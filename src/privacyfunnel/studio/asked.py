"""What is chosen on the page, as a Spec: the same keys that flags and recipes say, refused by the same rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import kind_named
from privacyfunnel.spec import as_controls
from privacyfunnel.spec.form import should_be
from privacyfunnel.spec.promising import takes
from privacyfunnel.spec.refusals import READING
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.written import quoted
from privacyfunnel.studio.more import NO_BELIEFS, SECOND_EPSILON_LABEL, More
from privacyfunnel.studio.protecting import EXACT

IMPROVE = "improve"
"""The key of a protocol that is searched on from."""
FINDS = {"error": "epsilon"}
"""Keys that find what another control on the page says."""
ANY = "any"
"""The choice of attackers who may know any columns."""


def spec_of(
    secret: str, chosen: Mapping[str, str], more: More, of_columns: Mapping[str, str] = MappingProxyType({})
) -> Spec:
    """All that is chosen: `chosen` are controls by their keys, `more` what is under the fold.

    `of_columns` are the controls of the table and its columns. What improves a protocol takes all else from it.
    """
    others = dict(more.others)
    if IMPROVE in others:
        return as_controls.said(Spec, {name: of_columns[name] for name in READING & of_columns.keys()} | others).spec()
    kind = kind_named(chosen["notion"]) or Notion
    held = {name: text for name, text in chosen.items() if text and takes(kind, name)}
    held |= {
        name: chosen[name] for name in ("notion", "confidence", "keep", "objective", "time_limit") if chosen.get(name)
    }
    held = dict(of_columns) | held
    for key, found in FINDS.items():
        if key in others:
            held.pop(found, None)
    held |= {"within": chosen["within"]} if chosen.get("confidence") and chosen["within"] else {}
    exact = chosen.get("private") == EXACT
    held |= {"exact_fit": "true"} if exact else {"private": chosen.get("private", "")}
    if held.get("known") == ANY:
        del held["known"]
    if more.second and "epsilon" in held and not more.levels:
        if not isinstance(more.second_epsilon, int | float):
            raise InvalidPromise(f"say the {SECOND_EPSILON_LABEL}, a number such as 0.5")
        held["epsilon"] = f"{quoted(secret)}={held['epsilon']},{quoted(more.second)}={more.second_epsilon!r}"
    if more.beliefs is not None and not more.beliefs:
        raise InvalidPromise(NO_BELIEFS)
    levels = more.levels if more.beliefs is None else more.beliefs
    held |= {"epsilon": levels} if levels else {}
    held |= {"secret": "\n".join(map(quoted, filter(None, (secret, more.second))))}
    held |= others
    held |= {"keep_exact": ",".join(map(quoted, more.exact))} if more.exact else {}
    held |= {"ordered": "true"} if more.ordered else {}
    held |= {"per_range": repr(more.per_range)} if more.ordered and more.per_range is not None else {}
    spec = as_controls.said(Spec, held).spec()
    if not spec.promised:
        raise InvalidPromise(should_be(Spec, "epsilon", lambda name: as_controls.label(Spec, name)))
    return spec


def promise_of(spec: Spec) -> Notion | None:
    """The promise that is chosen; None where it is looked for, or is that of another protocol."""
    promise = None if spec.improve is not None else spec.promise()
    return promise if isinstance(promise, Notion) else None


def sought_of(spec: Spec) -> Callable[[float], Notion]:
    """The promises among which one is looked for, by their ε."""
    return cast(Callable[[float], Notion], spec.promise())
