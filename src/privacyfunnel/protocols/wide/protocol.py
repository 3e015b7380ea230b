"""WideProtocol: a model, a rule and a promise, from which everybody recomputes how rows are redrawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.everything import NO_BOUND, NOT_DECLARED
from privacyfunnel.protocols.wide.mixing_rule import MixingRule, mixed_plan_of
from privacyfunnel.protocols.wide.rule import Plan, Rule, plan_of
from privacyfunnel.typing import Integers


@dataclass(frozen=True)
class Kept:
    """What is left of rows that are distributed as the model says."""

    entropy: float
    """H(X) of the model, nats."""
    information: float
    """At least so much of it I(X;X′) is, X′ the released row."""
    rows: float
    """The share of rows that stay as they are."""
    columns: tuple[float, ...]
    """The same for each column."""

    @property
    def cells(self) -> float:
        """The share of cells that stay as they are."""
        return sum(self.columns) / len(self.columns)


def plan_by(rule: Rule | MixingRule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that a rule of either kind makes of a model's weights."""
    return mixed_plan_of(rule, weights, sizes) if isinstance(rule, MixingRule) else plan_of(rule, weights, sizes)


@dataclass(frozen=True, eq=False)
class WideProtocol:
    """A protocol for all combinations of its columns' values, however few people have each."""

    notion: Notion
    columns: tuple[Column, ...]
    model: PairModel
    rule: Rule | MixingRule
    """With two secrets, and with more."""
    kept: Kept
    secret: str
    secret_readings: tuple[Reading, ...]
    people: int
    epsilon: float | None
    """ε₀ of the model; None if it was fitted without noise."""
    declared: bool
    """Whether values and ranges were declared beforehand."""
    groups: str
    """The digest of the plan that the rule makes of the model."""

    objective: ClassVar[Literal["faithful"]] = "faithful"
    variant: ClassVar[None] = None
    draw: ClassVar[None] = None
    blocks: ClassVar[tuple[()]] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the released columns."""
        return tuple(column.name for column in self.columns)

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The same: there is no column that tells outputs apart."""
        return self.attributes

    @cached_property
    def plan(self) -> Plan:
        """All groups, recomputed; refused if these are not the ones that were proven."""
        found = plan_by(self.rule, self.model.weights(), self.model.sizes)
        if found.digest() != self.groups:
            raise InvalidProtocol(
                "the groups that this machine computes from the protocol's model and rule are not those that were "
                "proven (their digest does not fit); get the original file, or use the version that wrote it"
            )
        return found

    def everything(self) -> str:
        """What the file and all released rows together tell about one person, in a few sentences."""
        if self.epsilon is None:
            return NO_BOUND
        together, alone = factor(self.notion.epsilon + self.epsilon), factor(self.epsilon)
        text = (
            "Everything that is published, this protocol and all released rows together, changes nobody's belief about "
            f"your secret by more than a factor {together} (e^(ε+ε₀), ε₀ = {self.epsilon:g}, δ₀ = 0), whatever they "
            "know about everybody else, if they expect of you what the published model says of people; if they know "
            f"all your other columns, by no more than a factor {alone} (e^ε₀), whatever they expect."
        )
        return text if self.declared else f"{text} {NOT_DECLARED}"

    def whom(self) -> str:
        """For whom the promise about a row holds."""
        return (
            "It holds for everybody who knows no more than the published model of how columns go with the secret: "
            "anybody can check that with the protocol alone (funnel audit). Who knows better than the model, from "
            "other data, may learn more."
        )
