"""What fit tells the steward alone: on the exact table, when all else is decided."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console

from privacyfunnel.advice.advise import Advice
from privacyfunnel.attacks.own_people import OwnPeople, own_people
from privacyfunnel.cli import advising, show
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.protocols.own_table import own_table
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.for_steward import NOT_MEASURED, ForSteward

Advise = Callable[[Counted], Advice | None]
"""What could be released of a table instead; nothing, where there is no need."""


@dataclass(frozen=True)
class StewardOnly:
    """Figures on the exact table, for machines and as they look on a terminal: all is laid out, so nothing can fail."""

    data: dict[str, Any] | None = None
    text: str = ""
    lines: tuple[str, ...] = ()
    """The sentences of the text, where these are all of it."""

    @classmethod
    def of(cls, data: dict[str, Any], say: Callable[[Console], None]) -> StewardOnly:
        """With what is said on a screen."""
        screen = show.console()
        with screen.capture() as heard:
            say(screen)
        return cls(data, heard.get())

    def say(self) -> None:
        """On standard output."""
        sys.stdout.write(self.text)


def told(
    steward: ForSteward[Counted] | None, protocol: Protocol, advise: Advise | None
) -> tuple[StewardOnly, StewardOnly]:
    """What a protocol leaves of the table; and what could be released instead, if that is to be said."""
    if steward is None:
        return StewardOnly(), StewardOnly()
    people = steward.told(lambda exact: own_people(protocol, exact.joint))
    own = steward.told(lambda exact: _own(protocol, exact, people)) or StewardOnly(None, f"{NOT_MEASURED}\n")
    return own, _advised(steward, advise)


@contextmanager
def also_if_refused(steward: ForSteward[Counted], advise: Advise | None, json: bool) -> Iterator[None]:
    """Advice, for people, where a table is refused; whether it is refused does not hang on it."""
    try:
        yield
    except PrivacyFunnelError:
        if not json:
            _advised(steward, advise).say()
        raise


def _own(protocol: Protocol, exact: Counted, people: OwnPeople | None) -> StewardOnly:
    found = own_table(protocol, exact.joint)

    def say(screen: Console) -> None:
        if people is not None:
            screen.print(people.words(), markup=False, style="bold red" if people.beyond else None)
        screen.print(found.words(), markup=False)

    return StewardOnly.of(found.as_dict() | {"people": people.as_dict() if people else None}, say)


def _advised(steward: ForSteward[Counted], advise: Advise | None) -> StewardOnly:
    advice = steward.told(advise) if advise is not None else None
    if advice is None:
        return StewardOnly()
    return steward.told(lambda _: StewardOnly.of(advice.as_dict(), partial(advising.say, advice))) or StewardOnly()
