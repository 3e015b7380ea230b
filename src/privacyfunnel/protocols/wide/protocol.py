"""WideProtocol: a model, a rule and a promise, from which everybody recomputes how rows are redrawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.gaussian import GaussianNoise
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.errors import ExactFit, InvalidProtocol
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.everything import NO_BOUND, NOT_BOUNDED, NOT_DECLARED
from privacyfunnel.protocols.wide.column_counts import ColumnCounts, column_counts
from privacyfunnel.protocols.wide.kept import Kept, kept_by
from privacyfunnel.protocols.wide.listed import ListRule
from privacyfunnel.protocols.wide.mixing_rule import MixingRule, mixed_plan_of
from privacyfunnel.protocols.wide.noisy_tables import TableNoise, check_tables
from privacyfunnel.protocols.wide.rule import Plan, Rule, listed_plan, plan_of
from privacyfunnel.typing import Integers

NOT_FOR_PUBLICATION = (
    "this model was fitted without noise, so its file tells of single people: keep it to yourself, or fit it with noise"
)
CHANCES = 100
"""At most so many times δ₀ is the chance of a lift that is 2% beyond a factor: 1/(1 − 1/1.02) = 51 (docs/wide.md)."""


def plan_by(rule: Rule | MixingRule | ListRule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that a rule of any kind makes of a model's weights."""
    if isinstance(rule, ListRule):
        return listed_plan(rule.listed(), weights)
    return mixed_plan_of(rule, weights, sizes) if isinstance(rule, MixingRule) else plan_of(rule, weights, sizes)


@dataclass(frozen=True, eq=False)
class WideProtocol:
    """A protocol for all combinations of its columns' values, however few people have each."""

    notion: Notion
    columns: tuple[Column, ...]
    tables: Marginals
    """The noisy tables that were drawn: model and counts follow from them."""
    model: PairModel
    rule: Rule | MixingRule | ListRule
    """With two secrets, with more, and with as few combinations that the file can list how each is released."""
    secret: str
    secret_readings: tuple[Reading, ...]
    epsilon: float | None
    """ε₀ of the tables; None if they have no noise."""
    noise: TableNoise
    declared: bool
    """Whether values and ranges were declared beforehand."""
    groups: str
    """The digest of the plan that the rule makes of the model."""

    objective: ClassVar[Literal["faithful"]] = "faithful"
    variant: ClassVar[None] = None
    draw: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_tables(self.tables, self.noise, self.epsilon, self.notion.epsilon)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to workers: not the groups, which are large, and which each recomputes and checks."""
        return {name: value for name, value in self.__dict__.items() if name != "plan"}

    @property
    def people(self) -> int:
        """How many people were counted, which is public."""
        return self.tables.people

    @cached_property
    def counts(self) -> tuple[ColumnCounts, ...]:
        """Of every column, by the noisy tables: what tells readers by how much released rows lean towards the model."""
        return column_counts(self.tables)

    @cached_property
    def kept(self) -> Kept:
        """What is left of rows that are distributed as the model says."""
        return kept_by(self.plan, self.model.sizes)

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
            return None
        kind = "discrete Gaussian" if isinstance(self.noise, GaussianNoise) else "discrete Laplace"
        return {"kind": kind, **asdict(self.noise)}

    def everything(self) -> str:
        """What the file and all released rows together tell about one person, in a few sentences."""
        if self.epsilon is None:
            return NO_BOUND
        together, alone = factor(self.notion.epsilon + self.epsilon), factor(self.epsilon)
        who = "if they expect of this person what the published model says of everyone"
        if isinstance(self.noise, GaussianNoise):
            more = self.noise.whatever_expected(self.model.n_s * math.prod(self.model.sizes))
            who = (
                "if what they expected of this person was fixed before the model was made, and is a distribution for "
                f"which the promise about rows holds; by at most a factor {factor(self.notion.epsilon + more)} "
                f"(e^(ε+ε₁), ε₁ = {more:.3g}), {who}"
            )
        text = (
            "Everything that is published, this protocol and all released rows together: somebody who knows everybody "
            f"else's record changes their belief about this person's secret by at most a factor {together} (e^(ε+ε₀), "
            f"ε₀ = {self.epsilon:g}, δ₀ = {self.delta:g}), {who}; and by at most a factor {alone} (e^ε₀), if they "
            f"know all other columns of this person. {NOT_BOUNDED}"
        )
        text = f"{text} {self._chance()}" if self.delta else text
        return text if self.declared else f"{text} {NOT_DECLARED}"

    def _chance(self) -> str:
        """What δ₀ means."""
        return (
            f"δ₀ is by how much this may fail: a belief moves by more than 2% beyond these factors with a chance of at "
            f"most {CHANCES * self.delta:g}."
        )

    def whom(self) -> str:
        """For whom the promise about a row holds."""
        return (
            "It holds against anyone who knows only the published model of how columns go with the secret. Anybody can "
            "check that with the protocol alone (funnel audit). Somebody who knows more than the model, from other "
            "data, may learn more from a row."
        )
