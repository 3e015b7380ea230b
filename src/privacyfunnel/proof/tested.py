"""The test of a channel on people who had no part in choosing it.

An output is drawn for each of them. That P(s|y) ≥ f P(s), say, means P(s|y) ≥ ρ P(s|not y) with
ρ = f(1 − q)/(1 − fq) and q = P(y): given how many people drew y, two independent binomials, with exact tails. That
P(y|s) ≥ f P(y|t) are two binomials as they stand. A channel passes if for every output and secret all that would break
the promise is rejected at β = 1 − confidence.

β is not shared among outputs, secrets and limits: a channel that breaks the promise breaks it somewhere, and there it
passes with probability β at most, whatever happens elsewhere. It is shared among the parts of each single test: a bound
on q, one on the smaller share (Berger and Boos 1994), and the tail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.confidence_bounds import OUTWARDS, clopper_pearson
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.setting_aside import SetAside
from privacyfunnel.proof.worst_case import Side
from privacyfunnel.typing import Integers, Vector

FOR_SIZE, FOR_SHARE = 0.01, 0.03
"""Shares of β that go to P(y), and to the share of those with whom a share is compared; the tail has the rest."""
CUTS = ((8, 2), (40, 6))
"""Cells of the range of a share, and steps in a standard deviation of its count: a few, then more if need be."""
FAR = 5.0
"""Standard deviations beyond which counts are summed up in one step."""
TIE = 1e-6
"""Counts this close to the border of a tail belong to it."""
GRID = 4096
"""Factors are found to one part of this."""
LARGEST = 2**40
"""No larger factor is tried, nor more steps of the grid: what does not pass there has no limit."""


@dataclass(frozen=True)
class Tightest:
    """Where a limit is tightest, and the least factor that the test allows there, or the promised one if it does."""

    passes: bool
    """Whether the promised factor is allowed everywhere."""
    ratio: Fraction | None
    output: int
    secret: int
    against: int = -1


@dataclass(frozen=True)
class _Statement:
    """One limit at one output: the counts that decide whether its factor is exceeded."""

    kind: Side
    output: int
    secret: int
    against: int
    here: tuple[int, int]
    """Of so many people, so many: the share that is feared to be the larger one."""
    there: tuple[int, int]
    least: float
    """A lower bound on P(y); not for `spread`, which needs none."""

    def rejected(self, factor: Fraction, doubt: float) -> bool:
        """Whether it is ruled out that the factor is exceeded, but for a chance of `doubt`."""
        rho = self._ratio(_float(factor)) * (1 - OUTWARDS)
        level = doubt if self.kind == "spread" else doubt * (1 - FOR_SIZE)
        if math.isinf(rho):  # P(y) is so large that no factor like this is possible
            return True
        spent = doubt * FOR_SHARE
        return any(_tail(self.here, self.there, rho, spent, *cuts) * (1 + OUTWARDS) <= level for cuts in CUTS)

    def _ratio(self, factor: float) -> float:
        """ρ: at a lower bound of P(y) it is the smallest, and what is to be rejected the most."""
        if self.kind == "spread":
            return factor
        if self.kind == "upper":
            left = 1 - factor * self.least
            return factor * (1 - self.least) / left if left > 0 else math.inf
        return (factor - self.least) / (1 - self.least)

    def surprise(self, factor: float) -> float:
        """How many standard errors lie between what was found and the factor: about, for sorting."""
        (k, n), (k_, n_) = self.here, self.there
        rho = self._ratio(factor)
        if min(n, n_) == 0 or math.isinf(rho):
            return -math.inf if min(n, n_) == 0 else math.inf
        p, p_ = (k + 1) / (n + 2), (k_ + 1) / (n_ + 2)
        return (rho * p_ - p) / math.sqrt(p * (1 - p) / n + rho * rho * p_ * (1 - p_) / n_)


def passes(entries: Entries, parts: SetAside, allowed: dict[Side, Fraction], doubt: float) -> bool:
    """Whether a channel passes at these factors."""
    found, told = parts.drawn(entries), _telling(entries, parts.testing.shape[1])
    return all(one.rejected(allowed[one.kind], doubt) for one in _statements(found, told, allowed, doubt))


def tightest(entries: Entries, joint: Joint, allowed: dict[Side, Fraction], doubt: float) -> dict[Side, Tightest]:
    """What the people of `joint` who were set aside say of a channel: for every limit, where it is tightest."""
    parts = SetAside.of(joint)
    found, told = parts.drawn(entries), _telling(entries, joint.n_x)
    every = _statements(found, told, allowed, doubt)
    return {kind: _worst([one for one in every if one.kind == kind], factor, doubt) for kind, factor in allowed.items()}


def _worst(statements: list[_Statement], allowed: Fraction, doubt: float) -> Tightest:
    """The least factor of the grid that passes for all statements."""
    passed, step, at = True, 0, (0, 0, -1)
    for one in statements:
        passed = passed and one.rejected(allowed, doubt)
        if step <= LARGEST and not one.rejected(1 + Fraction(step, GRID), doubt):
            step, at = _least_step(one, step, doubt), (one.output, one.secret, one.against)
    ratio = 1 + Fraction(step, GRID) if step <= LARGEST else None
    if passed:
        ratio = allowed if ratio is None else min(ratio, allowed)
    elif ratio is not None and ratio <= allowed:
        ratio = allowed + Fraction(1, GRID)
    return Tightest(passed, ratio, *at)


def _least_step(statement: _Statement, low: int, doubt: float) -> int:
    """The first step above `low` at which the statement is rejected; one above LARGEST if there is none."""
    high = max(1, 2 * low)
    while not statement.rejected(1 + Fraction(high, GRID), doubt):
        if high > LARGEST:
            return LARGEST + 1
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if statement.rejected(1 + Fraction(middle, GRID), doubt) else (middle, high)
    return high


def _telling(entries: Entries, n_x: int) -> list[int]:
    """The outputs that some values have more often than others: all others tell nothing, whatever is drawn."""
    outputs = np.unique(entries.outputs)
    least, most = np.full(outputs.max() + 1, np.iinfo(np.int64).max), np.zeros(outputs.max() + 1, dtype=np.int64)
    np.minimum.at(least, entries.outputs, entries.numerators.astype(np.int64))
    np.maximum.at(most, entries.outputs, entries.numerators.astype(np.int64))
    everywhere = np.bincount(entries.outputs, minlength=len(most)) == n_x
    return [int(y) for y in outputs if not (everywhere[y] and least[y] == most[y])]


def _statements(found: Integers, outputs: list[int], allowed: dict[Side, Fraction], doubt: float) -> list[_Statement]:
    """All that must be rejected, what is hardest to reject first."""
    every = [one for kind in allowed for one in _of_kind(kind, found, outputs, doubt)]
    return sorted(every, key=lambda one: one.surprise(_float(allowed[one.kind])))


def _float(factor: Fraction) -> float:
    """A float64 for a factor, however large that is: a smaller one only makes more of what is to be rejected."""
    return float(factor) if factor < LARGEST else float(LARGEST)


def _of_kind(kind: Side, found: Integers, outputs: list[int], doubt: float) -> Iterator[_Statement]:
    of_s, of_y, n = found.sum(axis=1).tolist(), found.sum(axis=0), int(found.sum())
    least: Vector = np.zeros(len(of_y))
    if n:
        least, _ = clopper_pearson(of_y.astype(np.float64), np.array([float(n)]), doubt * FOR_SIZE)
    for y in outputs:
        for s in range(len(found)):
            mine = int(found[s, y])
            if kind == "spread":
                for t in range(len(found)):
                    if t != s:
                        yield _Statement(kind, y, s, t, (mine, of_s[s]), (int(found[t, y]), of_s[t]), 0.0)
                continue
            among, elsewhere = (mine, int(of_y[y])), (of_s[s] - mine, n - int(of_y[y]))
            here, there = (among, elsewhere) if kind == "upper" else (elsewhere, among)
            yield _Statement(kind, y, s, -1, here, there, float(least[y]))


def _tail(here: tuple[int, int], there: tuple[int, int], rho: float, spent: float, cells: int, steps: int) -> float:
    """At least the p-value of p ≥ ρ p′, from k of n people and k′ of n′, where small k/n − ρ k′/n′ speak against it.

    The tail is largest on p = ρ p′. p′ is bounded at the price of `spent`, and its range cut into cells; in each, k is
    as if p were at the lower end and k′ as if p′ were at the upper one, and sums over k′ go in steps, each with the
    largest k of the step: all of this can only make the tail larger.
    """
    from scipy.special import bdtr

    (k, n), (k_, n_) = here, there
    if n == 0 or n_ == 0:
        return 1.0
    low, high = (float(end[0]) for end in clopper_pearson(np.array([float(k_)]), np.array([float(n_)]), spent / 2))
    high = min(high, 1 / rho)
    if low >= high:  # ρ p′ would be more than 1
        return spent
    ends = np.linspace(low, high, cells + 1)
    spread = math.sqrt(max(n_ * high * (1 - low), 1.0))
    inner = np.arange(n_ * low - FAR * spread, n_ * high + FAR * spread + 1, max(1.0, spread / steps))
    edges = np.unique(np.concatenate([[-1], np.clip(inner, 0, n_), [k_, n_]]).astype(np.int64))
    reach = np.floor(k + rho * n * (edges[1:] - k_) / n_ + TIE)  # the largest k in the tail, at the end of a step
    mass = np.diff(np.where(edges < 0, 0.0, bdtr(np.maximum(edges, 0), n_, ends[1:, None])), axis=1)
    below = np.where(reach < 0, 0.0, bdtr(np.clip(reach, 0, n), n, np.minimum(1.0, rho * ends[:-1, None])))
    return float((mass * below).sum(axis=1).max()) + spent
