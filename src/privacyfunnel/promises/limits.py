"""Limits on the lifts, and what they mean for posteriors and channels.

The lift P(s|y) / P(s) = P(y|s) / P(y) is the factor by which seeing y changes the belief in s. Somebody
who already knows that x lies in a cell has lifts given that cell. A view is a partition of X into
cells: everything in one cell for those who know nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import TooManyAttackers
from privacyfunnel.numeric.exact import SAFE_FACTOR, quotient
from privacyfunnel.numeric.information import LARGEST_LOG
from privacyfunnel.promises.views import Spreader, View, telling_cells
from privacyfunnel.typing import Exact, Integers, Matrix, Vector

PERFECT_LEVEL = 1e-8
"""ε = 0 asks for equalities that multiples of 2⁻³² cannot meet; they are kept up to this level."""
SMALLEST_FACTOR = 1e-290
"""Stands in for e^-ε where that underflows: a value that must stay possible then still does."""
MOST_ROW_ENTRIES = 150_000_000
"""Numbers in the rows of a promise: more would take over a gigabyte."""
ALIKE = 0.5
"""Lifts closer to each other than this are subtracted exactly."""
HAIR = 1e-11
"""How much wider limits are made, at most, for a bound on what they allow: far more than rounding errors of float64,
far less than anybody asks a bound to be close."""
NEVER_BINDS = 1e-11
"""A row that any posterior meets once this share of p_x is mixed in is left out of a bound: that costs 1e-9 nats."""


@dataclass(frozen=True, eq=False)
class OuterRows:
    """Rows G for a bound: each with a largest coefficient of 1, and none that can hardly bind."""

    G: Matrix
    size: Matrix
    """size[i, x]: of the two terms that G[i, x] is the difference of, on the same scale."""
    terms: Integers
    """terms[i]: which two numbers row i compares, in which cell, and how many such ratios the cell has at most."""

    @classmethod
    def of(cls, G: Matrix, size: Matrix, terms: Integers, p_x: Vector) -> OuterRows:
        """Rows as they come, sorted out and scaled."""
        most, room = G.max(axis=1, initial=0.0), -(G @ p_x)
        binding = (most > 0) & (most > NEVER_BINDS * room)
        scale = np.abs(G[binding]).max(axis=1, initial=0.0, keepdims=True)
        return cls(G[binding] / scale, size[binding] / scale, terms[binding])

    @classmethod
    def join(cls, parts: Sequence[OuterRows]) -> OuterRows:
        """Rows of several parts, whose numbers are different ones."""
        G, size = (np.concatenate([getattr(part, name) for part in parts]) for name in ("G", "size"))
        return cls(G, size, terms_of(parts))


@dataclass(frozen=True)
class Limits:
    """−lower ≤ ln lift ≤ upper for every secret, and ln lift − ln lift′ ≤ spread for every two."""

    lower: float = math.inf
    upper: float = math.inf
    spread: float = math.inf

    def granted(self, share: float = 1.0) -> Limits:
        """The limits that a certificate enforces: 0 becomes PERFECT_LEVEL, or a share of it; all else stays."""
        return Limits(*(limit or share * PERFECT_LEVEL for limit in (self.lower, self.upper, self.spread)))

    def named(self) -> dict[str, float]:
        """The limits by their names."""
        return {"lower": self.lower, "upper": self.upper, "spread": self.spread}

    def belief_range(self, prior: float) -> tuple[float, float]:
        """The least and the most that the belief P(s|y) in a value with P(s) = prior can be.

        Limits on the lifts of single values hold for the lift of "not s" as well, which mixes them. Lifts that are
        at most e^spread apart move the odds P(s|y) / P(not s|y) by at most that factor.

        >>> tuple(round(p, 3) for p in Limits(lower=math.log(2), upper=math.log(2)).belief_range(0.8))
        (0.6, 0.9)
        """
        if prior >= 1:
            return 1.0, 1.0
        up, down = _exp(self.upper), math.exp(-self.lower)
        apart = _exp(self.spread)
        least = max(down * prior, 1 - (1 - prior) * up, prior / (prior + (1 - prior) * apart))
        most = min(up * prior, 1 - (1 - prior) * down, 1 - (1 - prior) / (1 - prior + prior * apart))
        return least, most

    def times(self, share: float) -> Limits:
        """All limits in proportion."""
        return Limits(self.lower * share, self.upper * share, self.spread * share)

    def within(self, others: Limits) -> bool:
        """Whether what is reached stays within other limits."""
        return self.lower <= others.lower and self.upper <= others.upper and self.spread <= others.spread

    def rows(
        self, joint: Joint, views: Sequence[View], about: Collection[int] | None = None, at_once: int = 1
    ) -> Matrix:
        """The limits in every view as rows G of G v ≤ 0, for v[x] = P(x|y); for the lifts of some secrets, or of all.

        Given a cell, lift[s] = Σ_x P(s|x)v[x] / P(s|cell)Σ_x v[x] over the x in it, so that
        lift ≤ e^upper, lift ≥ e^-lower and lift ≤ e^spread·lift′ are linear and homogeneous in v. Each row is
        scaled to a largest coefficient of 1; rows that every v ≥ 0 meets are left out, and so are cells met before.
        So many such sets of rows are to be held `at_once`.
        """
        telling, crowded = [], 0
        for cells in telling_cells(views):
            telling.append(cells)
            crowded += int(cells.sum())
            self._check_size(joint, crowded * at_once)  # at once, not after minutes
        parts = [
            _scaled(spread_out(row, possible))
            for view, cells in zip(views, telling, strict=True)
            for spread_out in [Spreader(view, cells)]
            for row, _, _, possible in self.parts(joint, view, nowhere_wider(), about)
        ]
        return np.concatenate([np.empty((0, joint.n_x)), *parts])

    def outer_rows(
        self,
        joint: Joint,
        views: Sequence[View],
        about: Collection[int] | None = None,
        wider: Iterator[float] | None = None,
    ) -> OuterRows:
        """Rows that are met by every v that meets `rows` in exact arithmetic, and by hardly any other.

        Each limit is widened by its own share of a HAIR, so rounding errors do not make a row stricter than it is, and
        rows that would meet in one point do not. An entry is wrong by a few roundings of its size. Rows that can hardly
        bind are left out.
        """
        wider = hair_widths() if wider is None else wider
        G, size, terms = [np.empty((0, joint.n_x))], [np.empty((0, joint.n_x))], []
        before = 0
        for view, cells in zip(views, telling_cells(views), strict=True):
            spread_out = Spreader(view, cells)
            _, first = np.unique(view.cell, return_index=True)
            ratios = ((_sums(joint, view)[2] > 0).sum(axis=0) - 1)[first[cells]]
            for row, (s, t), sizes, possible in self.parts(joint, view, wider, about):
                G.append(spread_out(row, possible))
                size.append(spread_out(sizes, possible))
                numbers = ((joint.n_s + 1) * cell for cell in range(before, before + len(ratios)))
                terms += [
                    (number + s, number + t, number, int(most)) for number, most in zip(numbers, ratios, strict=True)
                ]
            before += len(ratios)
        return OuterRows.of(np.concatenate(G), np.concatenate(size), np.array(terms).reshape(-1, 4), joint.p_x)

    def _check_size(self, joint: Joint, crowded: int) -> None:
        """Refuse what would not fit into memory."""
        one_sided = math.isfinite(self.lower) + math.isfinite(self.upper)
        rows = crowded * joint.n_s * (one_sided + (joint.n_s - 1) * math.isfinite(self.spread))
        if rows * joint.n_x > MOST_ROW_ENTRIES:
            raise TooManyAttackers(
                f"the promise has at least {rows:,} conditions on {joint.n_x:,} values, too many to optimise", known=1
            )

    def parts(
        self, joint: Joint, view: View, wider: Iterator[float], about: Collection[int] | None
    ) -> Iterator[tuple[Vector, tuple[int, int], Vector, NDArray[np.bool_]]]:
        """The rows of a view for all cells at once.

        Entries, the two lifts that they compare (number n_s is the mean of all, 1), the sizes of these terms, and the x
        that the row speaks of.
        """
        lift, excess, possible = _lifts(joint, view)
        for s in range(joint.n_s) if about is None else about:
            near = np.abs(excess[s]) < ALIKE
            if math.isfinite(self.upper):
                # e^-upper·lift − 1 = (lift − 1) + (e^-upper − 1)·lift, whichever loses fewer digits
                limit = self.upper + next(wider)
                up, less = math.exp(-limit), math.expm1(-limit) * lift[s]
                row = np.where(near, excess[s] + less, up * lift[s] - 1)
                yield row, (s, joint.n_s), np.where(near, np.abs(excess[s]) - less, up * lift[s] + 1), possible[s]
            if math.isfinite(self.lower):
                width = next(wider)
                down, less = _factor(self.lower, width), math.expm1(-self.lower - width)
                row = np.where(near, less - excess[s], down - lift[s])
                yield row, (s, joint.n_s), np.where(near, np.abs(excess[s]) - less, down + lift[s]), possible[s]
        if math.isfinite(self.spread):
            for s in range(joint.n_s):
                for t in range(joint.n_s):
                    if s != t:
                        width = next(wider)
                        apart, less = _apart(joint, view, s, t), math.expm1(-self.spread - width) * lift[s]
                        factor = _factor(self.spread, width) * lift[s]
                        near = np.abs(apart) < ALIKE * lift[s]
                        row = np.where(near, apart + less, factor - lift[t])
                        sizes = np.where(near, np.abs(apart) - less, factor + lift[t])
                        yield row, (s, t), sizes, possible[s] & possible[t]

    @classmethod
    def widest(cls, several: Sequence[Limits]) -> Limits:
        """Of several limits in force, the widest of each kind; none of a kind that nobody has."""
        found = {}
        for name in cls().named():
            asked = [limits.named()[name] for limits in several]
            found[name] = max((limit for limit in asked if math.isfinite(limit)), default=math.inf)
        return cls(**found)

    def wider(self, others: Limits) -> Limits:
        """The wider of both, limit by limit."""
        return Limits(max(self.lower, others.lower), max(self.upper, others.upper), max(self.spread, others.spread))

    @classmethod
    def around(cls, logs: NDArray[np.float64], possible: NDArray[np.bool_]) -> Limits:
        """How far down, up and apart ln lift = logs[s, …] goes, where that is `possible`."""
        most = np.where(possible, logs, -np.inf).max(axis=0)
        least = np.where(possible, logs, np.inf).min(axis=0)
        some = most >= least
        return cls(
            lower=float((-least[some]).max(initial=0.0)),
            upper=float(most[some].max(initial=0.0)),
            spread=float(np.subtract(most, least, out=np.zeros_like(most), where=most > least).max(initial=0.0)),
        )

    @classmethod
    def reached(
        cls, joint: Joint, channel: Matrix, views: Sequence[View], about: Collection[int] | None = None
    ) -> Limits:
        """How far down, up and apart the lifts of some secrets, or of all, go with channel[y, x], in float64."""
        widest = cls(0.0, 0.0, 0.0)
        for view in views:
            cell = np.zeros((joint.n_x, view.n_cells))
            cell[np.arange(joint.n_x), view.cell] = 1.0
            given = np.stack([(channel * p) @ cell for p in joint.p])  # [s, y, cell]
            prior = joint.p @ cell
            possible = np.broadcast_to(prior[:, None, :] > 0, given.shape)
            seen = np.broadcast_to(given.sum(axis=0) > 0, given.shape) & possible
            conditional = np.divide(given, prior[:, None, :], out=np.ones_like(given), where=seen)
            overall = given.sum(axis=0) / prior.sum(axis=0)
            lift = np.divide(conditional, overall, out=np.ones_like(given), where=seen)
            with np.errstate(divide="ignore"):
                some = slice(None) if about is None else list(about)
                widest = widest.wider(cls.around(np.log(lift)[some], seen[some]))
        return widest


def terms_of(parts: Sequence[OuterRows]) -> Integers:
    """The terms of several parts, each with numbers and cells of its own."""
    before = np.cumsum([0, *(int(part.terms.max(initial=-1)) + 1 for part in parts)])
    shifts = (np.array([first, first, first, 0]) for first in before)
    return np.concatenate([part.terms + shift for part, shift in zip(parts, shifts, strict=False)])


def _exp(limit: float) -> float:
    """e^limit, which is infinite rather than too large."""
    return math.exp(limit) if limit < LARGEST_LOG else math.inf


def _factor(limit: float, width: float) -> float:
    """e^-limit where that does not underflow; then it stays possible to tell 0, or, for a bound, to leave it out."""
    factor = math.exp(-limit - width)
    if factor < SMALLEST_FACTOR:
        return 0.0 if width else SMALLEST_FACTOR
    return factor


def nowhere_wider() -> Iterator[float]:
    """Limits as they are."""
    return repeat(0.0)


def hair_widths() -> Iterator[float]:
    """Widths from half a HAIR to a whole one, so unlike each other that no more rows than must meet in one point."""
    rng = np.random.default_rng(0)
    while True:
        yield HAIR * (0.5 + 0.5 * float(rng.random()))


def _scaled(rows: Matrix) -> Matrix:
    """Rows with a largest coefficient of 1, without those that every v ≥ 0 meets."""
    binding = rows[rows.max(axis=1, initial=0.0) > 0]
    return np.asarray(binding / np.abs(binding).max(axis=1, initial=0.0, keepdims=True))


def _lifts(joint: Joint, view: View) -> tuple[Matrix, Matrix, NDArray[np.bool_]]:
    """lift[s, x] = P(s|x) / P(s|cell of x), lift − 1 without cancellation, and where P(s|cell) > 0."""
    weights, of_x, of_s, of_cell = _sums(joint, view)
    possible = np.asarray(of_s > 0)
    over, under = weights * of_cell, of_x * of_s
    under[~possible] = 1
    return quotient(over, under), quotient(over - under, under), possible


def _apart(joint: Joint, view: View, s: int, t: int) -> Matrix:
    """lift[s, x] − lift[t, x] without cancellation."""
    weights, of_x, of_s, of_cell = _sums(joint, view)
    difference = weights[s] * of_s[t] - weights[t] * of_s[s]
    scale = of_s[s] * of_s[t]
    scale[scale == 0] = 1
    return quotient(difference, scale) * quotient(of_cell, of_x)


def _sums(joint: Joint, view: View) -> tuple[Exact, Exact, Exact, Exact]:
    """Exact weights of (s, x), of x, of s in the cell of x, and of that cell; products of two do not overflow."""
    weights = joint.weights if joint.total < SAFE_FACTOR else joint.weights.astype(object)
    of_s = np.zeros((joint.n_s, view.n_cells), dtype=weights.dtype)
    for s in range(joint.n_s):
        np.add.at(of_s[s], view.cell, weights[s])
    return weights, weights.sum(axis=0), of_s[:, view.cell], of_s.sum(axis=0)[view.cell]
