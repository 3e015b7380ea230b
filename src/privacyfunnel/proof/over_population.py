"""level_over: what a promise is worth for the population, and which values are too rare to be released sharply."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.estimate import UNIT
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise, NotCertified
from privacyfunnel.promises.confidence import Chains, Within
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust, full_percent, robust
from privacyfunnel.promises.sets import NOBODY
from privacyfunnel.promises.views import View
from privacyfunnel.proof import worst_case
from privacyfunnel.proof.certificate import certify, entries_of
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.coarseness import merging_words, released_by
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Exact, Integers

TABLES_NAMED = 4
"""Coarser tables with rare cells that are named in a sentence."""


@dataclass(frozen=True, eq=False)
class PopulationLevel:
    """A protocol's level on the sample, and the worst over the confidence set of its counts, side by side."""

    notion: Notion
    """The promise, for one distribution."""
    confidence: float
    within: Within
    """The kind of confidence set."""
    chains: Chains
    """By which columns its tables are cut, if that was said."""
    sample: Certificate
    population: Certificate
    values: Integers
    """The numbers of the joint's values of X that the worst distribution is about: all, or those of a cell. For nested
    sets they are numbers among all combinations of values (`joint.completed`)."""
    distribution: Exact
    """P(s, x) at [s, i] for x = values[i], given what the attacker knows: exact fractions. It attains the level, or
    comes as close to it as one likes where a secret it speaks of has probability 0. For nested sets a linear program
    finds it in float64; the level is proven, so it may be a little above what this distribution attains."""

    @property
    def sample_level(self) -> float:
        """The smallest ε that is kept for the counted people, rounded up."""
        return self.sample.level

    @property
    def level(self) -> float:
        """The smallest ε that is kept for every distribution in the set, rounded up."""
        return self.population.level

    @property
    def holds(self) -> bool:
        """Whether the promised ε is kept for every distribution in the set."""
        return self.population.holds

    def as_dict(self) -> dict[str, Any]:
        """The numbers alone, for JSON."""
        return {
            "confidence": self.confidence,
            "within": self.within,
            "promised": self.notion.epsilon,
            "sample_level": self.sample_level,
            "population_level": self.level,
            "holds": self.holds,
        }


def level_over(
    joint: Joint,
    protocol: Protocol,
    confidence: float | None = None,
    notion: Notion | None = None,
    within: Within | None = None,
) -> PopulationLevel:
    """The worst level of `protocol` over all distributions that the counts of `joint` leave open.

    Exact for that set, with a distribution that attains it. The notion is the protocol's own unless another is given;
    confidence and kind of set are those of a robust promise, or else 0.95 and intervals.

    >>> joint = Joint([[400, 100], [100, 400]])
    >>> found = level_over(joint, optimise(joint, LIP(0.3)), 0.95)
    >>> round(found.sample_level, 3), round(found.level, 3)
    (0.3, 0.381)
    """
    notion = notion or protocol.notion
    _check_simple(notion)
    plain = plain_promise(notion)
    over = notion if isinstance(notion, Robust) else robust(notion)
    over = Robust(
        plain,
        over.confidence if confidence is None else confidence,
        over.within if within is None else within,
        over.chains if within is None else (),
    )
    population = certify(protocol, joint, over)
    if population.worst is None:
        raise NotCertified(f"nothing can be said of this table: {population.reason}")
    domain = over.domain(joint)
    values, distribution = _attained(entries_of(protocol, domain), domain, over)
    sample = certify(protocol, joint, plain)
    within = over.kind_of_set(domain)
    return PopulationLevel(plain, over.confidence, within, over.chains, sample, population, values, distribution)


def _check_simple(notion: Notion) -> None:
    """Refuse promises of several clauses: of these, certify tells what a set of distributions comes to."""
    if not notion.simple:
        raise InvalidPromise("this is measured for one promise about one secret; certify checks the others over a set")


def plain_promise(notion: Notion) -> Notion:
    """What a robust promise says of each distribution; any other promise is its own."""
    return notion.promise if isinstance(notion, Robust) else notion


def _attained(entries: Entries, joint: Joint, over: Robust) -> tuple[Integers, Exact]:
    """The worst distribution of the set, and the values of X it is about."""
    best: tuple[float, Integers, Exact] = -1.0, np.empty(0, dtype=np.int64), np.empty((joint.n_s, 0), dtype=object)
    for part in over.possible(joint):
        largest = worst_case.largest(entries.inputs, entries.outputs, entries.numerators, part)
        for kind, (extreme, seen) in largest.items():
            share = over.level_of(_only(kind, extreme.log()))
            if np.isfinite(getattr(over.limits, kind)) and share > best[0]:
                members = part.members[seen.place]
                best = share, members[members != NOBODY], seen.attained(kind, extreme)
    return best[1], best[2]


def _only(kind: str, reached: float) -> Limits:
    return replace(Limits(0.0, 0.0, 0.0), **{kind: reached})


@dataclass(frozen=True)
class Sharpness:
    """What an output that is given for a single value of X, and always, would tell of the secret."""

    values: tuple[Hashable, ...]
    """The attributes' values."""
    people: int
    sample_level: float
    """The level of such an output if the counts were the population's shares."""
    population_level: float
    """Its worst level over the confidence set; infinite where a secret may be impossible for this value."""
    too_rare: bool
    """The counts would allow it and their uncertainty does not: there are too few such people to release it sharply."""


def sharpness(joint: Joint, notion: Robust) -> tuple[Sharpness, ...]:
    """For every value of X of `joint`, whether it could be released as it is, and if not, whether for rarity alone.

    For nested sets these are all combinations of values, in the order of `joint.completed`.

    >>> found = sharpness(Joint([[400, 20], [500, 30]]), robust(LIP(0.5)))
    >>> tuple(value.too_rare for value in found)
    (False, True)
    """
    if not isinstance(notion, Robust):
        raise InvalidPromise("sharpness needs a robust promise, such as robust(LIP(0.5))")
    _check_simple(notion)
    counted, joint = joint, notion.domain(joint)
    inputs = np.arange(joint.n_x)
    population = np.zeros(joint.n_x)
    for part in notion.possible(joint):
        for seen in worst_case.each_output(inputs, inputs, np.ones(joint.n_x, dtype=np.int64), part):
            population[seen.output] = max(population[seen.output], _level(seen, notion))
    people = _people(joint, joint.weights.sum(axis=0))
    alone = iter([_alone(counted, notion, x) for x in range(counted.n_x)])
    sample = [next(alone) if count else 0.0 for count in people]  # nobody tells nothing
    return tuple(
        Sharpness(
            tuple(joint.values[x].tolist()),
            int(people[x]),
            sample[x],
            float(population[x]),
            bool(sample[x] <= notion.epsilon < population[x]),
        )
        for x in range(joint.n_x)
    )


def _people(joint: Joint, weights: Any) -> Any:
    """How many people weights stand for, rounded up: those of noisy counts are in parts of a person."""
    return weights if joint.noise is None else -(-weights // UNIT)


@dataclass(frozen=True)
class RareCells:
    """How many cells of a marginal table are too rare to be released sharply."""

    columns: tuple[str, ...]
    cells: int
    too_rare: int
    people: int
    """How many people are in these cells."""


def rare_cells(joint: Joint, notion: Robust) -> tuple[RareCells, ...]:
    """For every table that a nested set speaks of, coarse ones first; nothing for other sets.

    It is for people who know nothing else of a person. The finest table is left to `sharpness`.
    """
    domain = notion.domain(joint)
    part = next(part for part in notion.possible(domain) if not part.view.known)
    found = []
    for table in part.tables:
        cells = joint.over([joint.attributes[j] for j in table.over])
        sizes = [len(column) for column in cells.columns]
        plain, rare = plain_promise(notion), []
        for x, block in enumerate(np.ravel_multi_index(tuple(cells.codes.T), sizes).tolist()):
            most, least = (ends[0, :, block].tolist() for ends in (table.upper, table.lower))
            shown = worst_case.OneOutput(part, 0, block, np.array([block]), [1], most, least)
            if _alone(cells, plain, x) <= notion.epsilon < _level(shown, notion):
                rare.append(x)
        people = int(_people(joint, cells.weights[:, rare].sum()))
        found.append(RareCells(cells.attributes, cells.n_x, len(rare), people))
    return tuple(found)


def _level(shown: worst_case.OneOutput, notion: Notion) -> float:
    """The worst level of an output over the set."""
    extremes = [(kind, shown.extreme(kind)) for kind in worst_case.SIDES if np.isfinite(getattr(notion.limits, kind))]
    return max((notion.level_of(_only(kind, one.log())) for kind, one in extremes if one is not None), default=0.0)


def _alone(joint: Joint, notion: Notion, x: int) -> float:
    """The level on the sample of an output that x alone gives."""
    views = [_around(view, x) for view in notion.views(joint)]
    row = (np.arange(joint.n_x) == x).astype(np.float64)[None]
    return notion.level_of(Limits.reached(joint, row, views))


def _around(view: View, x: int) -> View:
    """The view in which all that matters is whether a value shares the cell of x."""
    return View(view.known, (view.cell != view.cell[x]).astype(np.int64))


@dataclass(frozen=True)
class PopulationFindings:
    """What the counts' uncertainty means for a protocol, as numbers that command line, report and page show."""

    confidence: float
    within: Within
    promised: float
    """ε."""
    sample_level: float
    population_level: float
    holds: bool
    """Whether the promise is kept for the population, at this confidence."""
    values: int
    """How many values of X there are."""
    too_rare: int
    """How many of them could be released sharply if the counts were the population's shares, but are too rare."""
    people_too_rare: int
    """How many people have such values."""
    rarest: tuple[Sharpness, ...]
    """All values that are too rare, those of the fewest people first."""
    rare_cells: tuple[RareCells, ...]
    """The same for the cells of coarser tables, where the set knows of them."""
    released_by: tuple[tuple[tuple[str, ...], float], ...]
    """Of what share of the rows the released values depend on which columns alone, the largest share first."""

    def words(self) -> str:
        """The levels of sample and population side by side, and what rarity costs, in a line."""
        people = f" ({self.people_too_rare:,} people)"
        return (
            f"Level: {self.sample_level:.4g} for the counted people, {self.population_level:.4g} for the population "
            f"with {full_percent(self.confidence)} confidence; {self.chance_words(people)}."
            f"{self._tables()}{merging_words(self.released_by)}"
        )

    def chance_words(self, people: str = "") -> str:
        """What chance costs: rarity."""
        return (
            f"{self.too_rare:,} of {self.values:,} combinations of values{people} are too rare to be released sharply"
        )

    def _tables(self) -> str:
        """Which cells of coarser tables are too rare, in a sentence; as many tables as one reads."""
        some = [table for table in self.rare_cells if table.too_rare][:TABLES_NAMED]
        told = [f"{table.too_rare:,} of {table.cells:,} of {' × '.join(table.columns)}" for table in some]
        return f" So are the cells of coarser tables: {', '.join(told)}." if told else ""

    def as_dict(self) -> dict[str, Any]:
        """The numbers alone, for JSON: no values, which may be those of very few people."""
        lists = ("rarest", "rare_cells", "released_by")
        numbers = {name: value for name, value in vars(self).items() if name not in lists}
        numbers["rare_cells"] = [{**vars(table), "columns": list(table.columns)} for table in self.rare_cells]
        return {**numbers, "released_by": [{"columns": list(by), "rows": share} for by, share in self.released_by]}


def population_findings(
    protocol: Protocol, joint: Joint, confidence: float | None = None, within: Within | None = None
) -> PopulationFindings:
    """Levels on the sample and over the confidence set, and which values of X are too rare to be released sharply."""
    found = level_over(joint, protocol, confidence, within=within)
    over = Robust(found.notion, found.confidence, found.within, found.chains)
    values = tuple(value for value in sharpness(joint, over) if value.people)
    rare = sorted((value for value in values if value.too_rare), key=lambda value: value.people)
    return PopulationFindings(
        confidence=found.confidence,
        within=found.within,
        promised=found.notion.epsilon,
        sample_level=found.sample_level,
        population_level=found.level,
        holds=found.holds,
        values=joint.n_x,
        too_rare=len(rare),
        people_too_rare=sum(value.people for value in rare),
        rarest=tuple(rare),
        rare_cells=rare_cells(joint, over),
        released_by=released_by(protocol, joint),
    )
