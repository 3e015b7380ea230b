"""Aim: how far inside its promise a private fit was made, so that it is true of the people behind the noise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel, Field

from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.json_file import STRICT

ENOUGH = 0.95
"""Of released rows: those whose lifts are to be within the promise, in rehearsals."""
GROUP = 0.05
"""Of released rows: the groups that tell most and least, as an attacker finds them, whose lifts are to be within it."""


@dataclass(frozen=True)
class Aim:
    """What a channel does to tables that are drawn from published counts, if it is made for a part of the promise."""

    share: float
    """Of every limit of the promise: a promise of ε is aimed at share · ε."""
    within: float
    """The share of rehearsed rows whose lifts are within the whole promise, or beyond it by no more than chance."""
    lowest: float
    """The least lift of a value of the secret in a group of 5% of the rows, as found by one who knows half a table."""
    highest: float
    """The greatest."""
    holds: bool
    """Whether all groups and 95% of the rows are within the whole promise."""
    hurried: bool = False
    """Whether time ran out in rehearsals: with more of it, or on a faster machine, the aim may be another one."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def inside(self, promise: Notion) -> Notion:
        """What the channel was made for."""
        return promise if self.share == 1 else promise.times(self.share)

    def words(self, promise: Notion, noise: float) -> str:
        """What was promised and what was aimed at, in a sentence or two; `noise` is ε₀."""
        promised, aimed = (_in_short(one, share) for one, share in ((promise, 1.0), (self.inside(promise), self.share)))
        tried = f"In tables drawn from the published counts, groups of {GROUP:.0%} of the rows"
        lifts = f"change beliefs by factors of {self.lowest:.2f} to {self.highest:.2f}"
        if self.hurried:
            lifts += ", as far as the time limit let them be rehearsed"
        if self.holds and self.share == 1:
            return f"Promised {promised}, and aimed at all of it. {tried} {lifts}."
        because = f"because the table is small for ε₀ = {noise:g}"
        if self.holds:
            return f"Promised {promised}; aimed at {aimed} {because}. {tried} then {lifts}."
        return (
            f"NOT KEPT FOR THE PEOPLE OF THE TABLE: promised {promised}; aimed at {aimed} {because}, and that is not "
            f"enough. {tried} {lifts}. The promise holds by the published counts only."
        )


def _in_short(notion: Notion, share: float) -> str:
    return notion.parts()[0][1] if notion.simple else f"{share:.0%} of each limit"


class AimInFile(BaseModel):
    """An aim in a protocol file."""

    model_config = STRICT

    share: float = Field(gt=0, le=1)
    within: float = Field(ge=0, le=1)
    lowest: float = Field(ge=0, allow_inf_nan=False)
    highest: float = Field(ge=0, allow_inf_nan=False)
    holds: bool
    hurried: bool


def aim_in(found: AimInFile | None, private: bool) -> Aim | None:
    """The aim of a private fit."""
    if found is None:
        return None
    if not private or found.lowest > found.highest:
        raise InvalidProtocol("what it aims at belongs to a private fit, and its lifts are in order")
    return Aim(**found.model_dump())
