"""ByModel: the step of a model and a rule, from which everybody recomputes how rows are redrawn."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.gaussian import GaussianNoise
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.errors import InvalidInput, InvalidProtocol
from privacyfunnel.protocols.chances import Drawn, entries_of
from privacyfunnel.protocols.step import Kind, Spent, Step
from privacyfunnel.protocols.wide.column_counts import ColumnCounts, column_counts
from privacyfunnel.protocols.wide.kept import Kept, kept_by, ways_of
from privacyfunnel.protocols.wide.listed import ListRule
from privacyfunnel.protocols.wide.mixing_rule import MixingRule, mixed_plan_of
from privacyfunnel.protocols.wide.noisy_tables import TableNoise, check_tables
from privacyfunnel.protocols.wide.rule import Plan, Rule, listed_plan, plan_of
from privacyfunnel.typing import Integers, Vector

if TYPE_CHECKING:
    from privacyfunnel.protocols.protocol import Protocol


TWO = 2
"""Values of a secret, for which combinations are put in pairs; with more, in larger groups."""


def plan_by(rule: Rule | MixingRule | ListRule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that a rule of any kind makes of a model's weights."""
    if isinstance(rule, ListRule):
        return listed_plan(rule.listed(), weights)
    return mixed_plan_of(rule, weights, sizes) if isinstance(rule, MixingRule) else plan_of(rule, weights, sizes)


@dataclass(frozen=True, eq=False)
class ByModel(Step):
    """A channel for all combinations of its columns' values, however few people have each, recomputed from a model."""

    kind: ClassVar[Kind] = "by_model"
    not_listed: ClassVar[str] = (
        "this protocol is of a model: its channel is recomputed from the model, and is not a list"
    )
    not_attacked: ClassVar[str] = (
        "the promise of a model is about the published model, and no theorem says what one of its rows tells on exact "
        "counts; what attackers who count learn in a trial release is told with --table alone: leave out --attack"
    )
    published_counts: ClassVar[str] = "On the published model:"
    certified_on_tables: ClassVar[bool] = False
    has_counts: ClassVar[bool] = True
    columns: tuple[Column, ...]
    tables: Marginals
    """The noisy tables that were drawn: model and counts follow from them."""
    model: PairModel
    rule: Rule | MixingRule | ListRule
    """With two secrets, with more, and with as few combinations that the file can list how each is released."""
    epsilon: float | None
    """ε₀ of the tables; None if they have no noise."""
    noise: TableNoise
    declared: bool
    """Whether values and ranges were declared beforehand."""
    groups: str
    """The digest of the plan that the rule makes of the model."""

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to workers: not the groups, which are large, and which each recomputes and checks."""
        return {name: value for name, value in self.__dict__.items() if name != "plan"}

    @property
    def by_model(self) -> ByModel:
        """Itself."""
        return self

    @property
    def n_outputs(self) -> int:
        """As many as there are combinations of values."""
        return math.prod(self.model.sizes)

    def written(self, outputs: Integers) -> Integers:
        """codes[i, j]: the output number y is the combination number y, in C order."""
        return np.stack(np.unravel_index(outputs, self.model.sizes), axis=1).astype(np.int64)

    def read_back(self, codes: Integers) -> Integers:
        """The number of the combination in C order."""
        known = (codes >= 0).all(axis=1)
        numbers = np.ravel_multi_index(tuple(np.maximum(codes, 0).T), self.model.sizes)
        return np.where(known, numbers, -1)

    def drawn(self, joint: Joint) -> Drawn:
        """By pairs, groups or a list, and through the group of everything, which also has what the model has not."""
        plan, codes = self.plan, codes_in(self.columns, joint)
        numbers = np.ravel_multi_index(tuple(codes.T), self.model.sizes)
        source, target, mass = ways_of(plan)
        order = np.argsort(source, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=plan.W.size))])
        person, entry = entries_of(starts, numbers)
        entry = order[entry]
        W, leaving = plan.W[numbers], plan.leaving.astype(np.float64)
        outputs, output = np.unique(target[entry], return_inverse=True)
        chance = mass[entry] / W[person]
        lost = np.where(W > 0, plan.rest[numbers] / np.maximum(W, 1), 1.0)
        common = leaving[outputs] / max(1.0, float(leaving.sum()))
        return Drawn(person, output.ravel(), chance, self.written(outputs), lost, common)

    def shares(self) -> Vector:
        """The distribution of the model, which redrawn rows have exactly."""
        return np.asarray(self.plan.W / self.plan.W.sum(dtype=np.float64))

    def column_shares(self) -> list[Vector]:
        """The same of the values in each column, without listing all combinations."""
        whole = self.shares().reshape(self.model.sizes)
        every = range(whole.ndim)
        return [np.asarray(whole.sum(axis=tuple(k for k in every if k != j))) for j in every]

    def unchanged(self) -> list[float | None]:
        """By the model."""
        return list(self.kept.columns)

    def drawing(self) -> list[Any]:
        """Columns, and the digest of the groups: these are all that rows are drawn from."""
        return [[column.model_dump(mode="json", exclude_defaults=True) for column in self.columns], self.groups]

    def size_words(self) -> str:
        """Combinations."""
        return f"{self.n_outputs:,} combinations of values"

    def check(self, protocol: Protocol) -> None:
        """Refuse noise that is too small for its ε₀ and δ₀ beside the promise about rows."""
        check_tables(self.tables, self.noise, self.epsilon, protocol.notion.epsilon)

    def check_followed(self) -> None:
        """Refuse: what follows is proven on channels that are lists of whole parts of 2³²."""
        n = self.n_outputs
        raise InvalidInput(
            "nothing can follow the release of a model: a follow-up is proven on a list of how each of "
            f"its {n:,} combinations of values is released as each other, {n * n:,} probabilities in whole parts of "
            "2³², and a model's are fractions of its own weights, which are recomputed and not listed; fit fewer "
            "columns, or fewer values of them, where something is to follow"
        )

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

    @property
    def how(self) -> str:
        """What says how rows are redrawn, for people."""
        by = "a list that a program over all pairs of combinations found" if self.redrawn_by == "program" else "groups"
        return f"Rows are redrawn by a model of all combinations of values: by {by}."

    def ways_words(self) -> str:
        """As what combinations are redrawn: the ways that the file lists, or pairs and larger groups of them."""
        plan = self.plan
        if self.redrawn_by == "program":
            return f"the {len(plan.listed):,} ways to release them that the file lists"
        return f"{len(plan.pairs.m):,} pairs of them" if len(plan.weights) == TWO else f"{len(plan.groups):,} groups"

    @property
    def whatever_expected(self) -> float | None:
        """ε₁: what tables with Gaussian noise tell those who know everybody else, whatever they expected; or None."""
        if not isinstance(self.noise, GaussianNoise):
            return None
        return self.noise.whatever_expected(self.model.n_s * self.n_outputs)

    @property
    def spent(self) -> Spent | None:
        """ε₀ and δ₀ of its noisy tables."""
        return None if self.epsilon is None else Spent(self.epsilon, self.delta, self.declared)

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
