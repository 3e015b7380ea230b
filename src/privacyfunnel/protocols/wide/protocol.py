"""WideProtocol: a model, a rule and a promise, from which everybody recomputes how rows are redrawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.gaussian import GaussianNoise
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.errors import ExactFit, InvalidProtocol
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.everything import NO_BOUND, NOT_BOUNDED, NOT_DECLARED
from privacyfunnel.protocols.wide.listed import ListRule
from privacyfunnel.protocols.wide.mixing_rule import MixingRule, mixed_plan_of
from privacyfunnel.protocols.wide.rule import Plan, Rule, listed_plan, plan_of
from privacyfunnel.typing import Integers

NOT_FOR_PUBLICATION = (
    "this model was fitted without noise, so its file tells of single people: keep it to yourself, or fit it with noise"
)
CHANCES = 100
"""At most so many times δ₀ is the chance of a lift that is 2% beyond a factor: 1/(1 − 1/1.02) = 51 (docs/wide.md)."""


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


def plan_by(rule: Rule | MixingRule | ListRule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that a rule of any kind makes of a model's weights."""
    if isinstance(rule, ListRule):
        return listed_plan(rule.listed(), weights)
    return mixed_plan_of(rule, weights, sizes) if isinstance(rule, MixingRule) else plan_of(rule, weights, sizes)


@dataclass(frozen=True)
class ColumnCounts:
    """About how many of the people that a model was fitted on have each value of a column, and the noise in that."""

    people: tuple[int, ...]
    variance: float
    """Of the noise of each of these numbers; 0 if there is none."""


@dataclass(frozen=True, eq=False)
class WideProtocol:
    """A protocol for all combinations of its columns' values, however few people have each."""

    notion: Notion
    columns: tuple[Column, ...]
    model: PairModel
    rule: Rule | MixingRule | ListRule
    """With two secrets, with more, and with as few combinations that the file can list how each is released."""
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
    counts: tuple[ColumnCounts, ...] = ()
    """Of every column, by the noisy tables: what tells readers by how much released rows lean towards the model."""
    noise: GaussianNoise | None = None
    """Of the model's tables, if it is Gaussian. If there is none, noise with ε₀ is Laplace noise, and δ₀ is 0."""

    objective: ClassVar[Literal["faithful"]] = "faithful"
    variant: ClassVar[None] = None
    draw: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.counts and [len(own.people) for own in self.counts] != [len(column) for column in self.columns]:
            raise InvalidProtocol("the counts of the columns do not fit their values")
        if self.noise is not None:
            counted = max(1, sum(len(own) > 1 for own in self.model.sets))
            if self.epsilon is None or self.noise.tables != counted:
                raise InvalidProtocol(
                    "the noise that is stated is not on as many tables as the model has, or has no ε₀"
                )
            if not self.noise.kept(self.epsilon, self.notion.epsilon):
                raise InvalidProtocol("noise as small as is stated does not have the ε₀ and δ₀ that are stated")

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to workers: not the groups, which are large, and which each recomputes and checks."""
        return {name: value for name, value in self.__dict__.items() if name != "plan"}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the released columns."""
        return tuple(column.name for column in self.columns)

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The same: there is no column that tells outputs apart."""
        return self.attributes

    @property
    def redrawn_by(self) -> Literal["program", "groups"]:
        """What says how rows are redrawn: a list that a program over all pairs of values found, or groups."""
        return "program" if isinstance(self.rule, ListRule) else "groups"

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

    @classmethod
    def load(cls, path: str | Path) -> WideProtocol:
        """Read a file written by `save`; an edited, broken or foreign one is refused."""
        from privacyfunnel.protocols.wide.file import load_wide

        return load_wide(path)

    def save(self, path: str | Path, *, force: bool = True) -> None:
        """Write the protocol's file: the promise, the model, the rule. One fitted without noise is not for others."""
        from privacyfunnel.tables.wide.release import save_wide

        if self.epsilon is None:
            warnings.warn(NOT_FOR_PUBLICATION, ExactFit, stacklevel=2)
        save_wide(self, Path(path), force)

    def sanitise(
        self,
        table: Any,
        output: str | Path | None = None,
        *,
        keep_order: bool = False,
        seed: int | None = None,
        force: bool = False,
    ) -> Any:
        """Redraw every row of `table`, with the operating system's randomness: as `Protocol.sanitise`.

        Rows with values that the protocol does not know are refused.
        """
        from privacyfunnel.tables.wide.release import sanitise_wide

        return sanitise_wide(self, table, output, keep_order=keep_order, seed=seed, force=force)

    def sanitise_spark(
        self,
        frame: Any,
        output: str | Path | None = None,
        *,
        keep_order: bool = False,
        seed: int | None = None,
        force: bool = False,
        partition_by: Sequence[str] = (),
    ) -> Any:
        """Redraw every row of a Spark DataFrame, on its cluster: as `Protocol.sanitise_spark`.

        Every worker recomputes the groups from model and rule, once, and refuses if they are not those of the file.
        """
        from privacyfunnel.tables.spark.release import sanitise_spark

        return sanitise_spark(
            self, frame, output, keep_order=keep_order, seed=seed, force=force, partition_by=partition_by
        )

    @property
    def delta(self) -> float:
        """δ₀ of the model."""
        return 0.0 if self.noise is None else self.noise.delta

    def noise_stated(self) -> dict[str, Any] | None:
        """What noise the tables have that the model was made of, as plain data."""
        if self.noise is None:
            return None if self.epsilon is None else {"kind": "discrete Laplace"}
        return {"kind": "discrete Gaussian", **asdict(self.noise)}

    def everything(self) -> str:
        """What the file and all released rows together tell about one person, in a few sentences."""
        if self.epsilon is None:
            return NO_BOUND
        together, alone = factor(self.notion.epsilon + self.epsilon), factor(self.epsilon)
        text = (
            "Everything that is published, this protocol and all released rows together, changes nobody's belief about "
            f"a person's secret by more than a factor {together} (e^(ε+ε₀), ε₀ = {self.epsilon:g}, "
            f"δ₀ = {self.delta:g}), "
            "if what they expected of this person beforehand is a distribution for which the promise about rows holds. "
            f"If they know all other columns of this person, it is a factor {alone} (e^ε₀). Both hold for those who "
            f"know everybody else's record. {NOT_BOUNDED}"
        )
        text = f"{text} {self._chance()}" if self.noise is not None else text
        return text if self.declared else f"{text} {NOT_DECLARED}"

    def _chance(self) -> str:
        """What δ₀ means."""
        return (
            f"δ₀ is by how much both may fail: whatever is looked for is at most so many times as likely, plus "
            f"{self.delta:g}, and a belief moves by more than 2% beyond them with a chance of at most "
            f"{CHANCES * self.delta:g}."
        )

    def whom(self) -> str:
        """For whom the promise about a row holds."""
        return (
            "It holds for everybody who knows no more than the published model of how columns go with the secret: "
            "anybody can check that with the protocol alone (funnel audit). Who knows better than the model, from "
            "other data, may learn more."
        )
