"""Kinds of refusals: one line for each combination that cannot be, when it is so and what to do.

{at_least} in a sentence becomes the key as it was written: --set at-least, fit.at-least, or the name of a control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from privacyfunnel.spec.impossible import Impossible
from privacyfunnel.spec.key import Keyed

READING = {"table", "where", "unit", "delimiter", "encoding"}
"""How the table is read, whatever is asked of it."""


@dataclass(frozen=True)
class Apart:
    """A key that cannot be combined with some others."""

    key: str
    others: frozenset[str]
    why: str
    """After what it cannot be combined with."""
    but: bool = False
    """Whether the others are those that it can be combined with."""

    def words(self, spec: Keyed) -> Iterator[str]:
        """Why it cannot be."""
        if not is_said(spec, self.key):
            return
        for name in type(spec).model_fields:
            if name != self.key and is_said(spec, name) and (name in self.others) is not self.but:
                yield f"{{{self.key}}} cannot be combined with {{{name}}}: {self.why}"


@dataclass(frozen=True)
class Needs:
    """A key that means nothing without another."""

    key: str
    other: str
    why: str

    def words(self, spec: Keyed) -> Iterator[str]:
        """Why it cannot be."""
        if is_said(spec, self.key) and not is_said(spec, self.other):
            yield f"{{{self.key}}} needs {{{self.other}}}: {self.why}"


@dataclass(frozen=True)
class When:
    """Anything else that cannot be."""

    it_is: Callable[[Any], bool]
    why: str

    def words(self, spec: Keyed) -> Iterator[str]:
        """Why it cannot be."""
        if self.it_is(spec):
            yield self.why


def apart(key: str, others: str, why: str) -> Apart:
    """A key that cannot be combined with these."""
    return Apart(key, frozenset(others.split()), why)


def alone(key: str, others: str, why: str) -> Apart:
    """A key that can be combined with these, with how the table is read, and with no others."""
    return Apart(key, frozenset(others.split()) | READING, why, but=True)


def is_said(spec: Keyed, name: str) -> bool:
    """Whether a key says something: not if it says no. Zero says something."""
    value = getattr(spec, name)
    return value is not None and value is not False and value != "none"


def refuse(spec: Keyed, rules: Iterable[Apart | Needs | When]) -> None:
    """Refuse what cannot be, in one sentence: that of the first rule."""
    for rule in rules:
        for words in rule.words(spec):
            raise Impossible(words)


ON_A_CLUSTER = (
    Needs("master", "engine", "it says where Spark is"),
    When(lambda s: s.master is not None and s.engine == "duckdb", "{master} goes with {engine} spark"),
    When(
        lambda s: s.engine == "spark" and s.where is not None,
        "{where} is for {engine} duckdb; let Spark filter the table beforehand",
    ),
)
"""Where work is done, whatever it is."""
