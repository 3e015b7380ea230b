"""Bounds by multipliers over nested sets, against linear programs in exact fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import SolverFailure
from privacyfunnel.promises.sets import NOBODY, SCALE
from privacyfunnel.proof import multipliers
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.multipliers import CellMultipliers
from privacyfunnel.protocols.channel import UNIT, Channel

SHAPES = [(2, 2), (2, 3), (2, 2, 2), (3, 3), (2, 2, 3)]
NOTIONS = [pf.LIP(0.5), pf.LDP(0.5), pf.SRLIP(0.5)]
CLOSE = 1e-9
"""Relative: a bound by multipliers that are multiples of 2⁻²⁴ from a solver's float64, against the exact optimum."""


# --- a linear program in fractions ---------------------------------------------------------------------


def extreme_mean(w, rows, box, start):
    """The largest Σ r·w with box[k][0] ≤ r[k] ≤ box[k][1] and, for (low, members, high) in rows, low ≤ Σ r ≤ high.

    In fractions, for r = start + a − b with a, b ≥ 0: `start` is in the set, so all slacks are ≥ 0 to begin with.
    """
    n = len(w)
    table, right = [], []
    for k in range(n):  # up to the upper end, and down to the lower end
        for sign, room in ((1, box[k][1] - start[k]), (-1, start[k] - box[k][0])):
            table.append([sign * (j == k) - sign * (j == n + k) for j in range(2 * n)])
            right.append(room)
    for low, members, high in rows:
        at = sum(start[k] for k in members)
        for sign, room in ((1, high - at), (-1, at - low)):
            table.append([sign * ((j % n) in members) * (1 if j < n else -1) for j in range(2 * n)])
            right.append(room)
    assert min(right) >= 0
    gained = _simplex(table, right, [*w, *(-value for value in w)])
    return sum(p * value for p, value in zip(start, w, strict=True)) + gained


def _simplex(A, b, c):
    """max c·x s.t. A x ≤ b, x ≥ 0 for b ≥ 0: its value, by the simplex method with Bland's rule."""
    m, n = len(A), len(c)
    T = [[Fraction(a) for a in row] + [Fraction(int(i == j)) for j in range(m)] for i, row in enumerate(A)]
    b, c, value = [Fraction(x) for x in b], [Fraction(x) for x in c] + [Fraction(0)] * m, Fraction(0)
    basis = list(range(n, n + m))
    while True:
        enter = next((j for j in range(n + m) if c[j] > 0), None)
        if enter is None:
            return value
        ratios = [(b[i] / T[i][enter], basis[i], i) for i in range(m) if T[i][enter] > 0]
        leave = min(ratios)[2]  # the set is bounded
        pivot = T[leave][enter]
        T[leave], b[leave] = [x / pivot for x in T[leave]], b[leave] / pivot
        used = [j for j, x in enumerate(T[leave]) if x]
        for i in range(m):
            if i != leave and T[i][enter]:
                factor = T[i][enter]
                for j in used:
                    T[i][j] -= factor * T[leave][j]
                b[i] -= factor * b[leave]
        factor = c[enter]
        for j in used:
            c[j] -= factor * T[leave][j]
        value += factor * b[leave]
        basis[leave] = enter


class Cell:
    """What is known of the shares of one cell of a view, in integers over SCALE."""

    def __init__(self, part, place):
        self.part, self.place = part, place
        self.members = part.members[place][part.members[place] != NOBODY]
        self.n = len(self.members)

    def extremes(self, s, w):
        """The least and the most Σ r·w given s."""
        at = (self.place, s)
        box = list(zip(self.part.given.lower[at].tolist(), self.part.given.upper[at].tolist(), strict=True))
        rows = [(SCALE, set(range(self.n)), SCALE)]
        for table in self.part.tables:
            for block in range(table.lower.shape[2]):
                inside = set(np.flatnonzero(table.of[self.place] == block).tolist())
                rows.append((int(table.lower[*at, block]), inside, int(table.upper[*at, block])))
        start = self.part.given.centre[at].tolist()
        return -extreme_mean([-value for value in w], rows, box, start), extreme_mean(w, rows, box, start)


# --- cases ---------------------------------------------------------------------------------------------------


def counts_of(rng, shape, n_s):
    """Counts with empty cells and rare ones, of a few people or of many."""
    n = int(rng.choice([6, 40, 300, 5_000, 10**6]))
    p = rng.dirichlet(np.full(np.prod(shape), rng.choice([0.2, 1.0, 5.0])), size=n_s)
    p *= rng.dirichlet(np.full(n_s, 3.0))[:, None]
    array = rng.multinomial(n, p.ravel() / p.sum()).reshape(n_s, *shape)
    for s in range(n_s):
        array[s].flat[rng.integers(np.prod(shape))] += 1
    return array


def joint_of(rng, shape, n_s):
    """All values of every column occur, so that the table has the shape that was asked for."""
    array = counts_of(rng, shape, n_s)
    for axis, size in enumerate(shape):
        for value in range(size):
            if not array.take(value, axis=1 + axis).any():
                place = [0] * len(shape)
                place[axis] = value
                array[(0, *place)] += 1
    return pf.Joint(array).completed


def row_of(rng, shape, kind):
    """Integers w ≥ 0 for all combinations, not all 0."""
    n = int(np.prod(shape))
    if kind == "single":
        w = np.zeros(n, dtype=np.int64)
        w[rng.integers(n)] = rng.integers(1, UNIT)
    elif kind == "table":  # the same in the cells of a table of some columns
        chosen = [bool(rng.integers(2)) for _ in shape]
        coarse = rng.integers(0, UNIT, [size if kept else 1 for size, kept in zip(shape, chosen, strict=True)])
        w = np.broadcast_to(coarse, shape).ravel().copy()
    elif kind == "nearly a table":  # and a little that is rounding
        w = row_of(rng, shape, "table") + rng.integers(0, 3, n)
    elif kind == "nearly constant":
        w = UNIT // 2 + rng.integers(0, 1 << int(rng.integers(1, 30)), n)
    elif kind == "few":
        w = rng.integers(0, UNIT, n) * (rng.random(n) < 0.5)
    else:
        w = rng.integers(0, UNIT, n)
    if not w.any():
        w[rng.integers(n)] = UNIT
    return w


KINDS = ["single", "table", "nearly a table", "nearly constant", "few", "any"]


def random_cases(count, seed):
    """(cell, its secrets, and a row w at its members) of nested sets for promises with one view or several."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        shape = SHAPES[rng.integers(len(SHAPES))]
        joint = joint_of(rng, shape, int(rng.integers(2, 4)))
        notion = NOTIONS[rng.integers(len(NOTIONS))]
        parts = pf.robust(notion, float(rng.choice([0.5, 0.95, 0.9999])), "nested").possible(joint)
        part = parts[rng.integers(len(parts))]
        if not len(part.cells):
            continue
        cell = Cell(part, int(rng.integers(len(part.cells))))
        for _ in range(2):
            kind = KINDS[rng.integers(len(KINDS))]
            w = row_of(rng, shape, kind)[cell.members]
            if w.any():
                found += 1
                yield cell, int(rng.integers(joint.n_s)), w, kind


def bounds_on(cell, s, w):
    members = np.flatnonzero(w)
    return CellMultipliers(cell.part, cell.place).between(s, members, w[members].tolist())


def level_of(cell, w):
    """Whether the bound used all that is known: not a single interval, nor a coarser table."""
    if (w > 0).sum() == 1:
        return "single"
    used = CellMultipliers(cell.part, cell.place)
    (at,) = used._levels_for(w.astype(object), max(w.tolist()))
    return "finest" if at == len(used._levels) - 1 else "coarser"


def check_bounds(count, seed):
    """The largest relative looseness by what the bound rests on."""
    loosest = {"single": 0.0, "coarser": 0.0, "finest": 0.0}
    for cell, s, w, _ in random_cases(count, seed):
        least, most = cell.extremes(s, w.tolist())
        low, high = bounds_on(cell, s, w)
        assert low <= least <= most <= high
        size = SCALE * int(w.max())
        on = level_of(cell, w)
        for loose, true in ((high - most, most), (least - low, least)):
            loosest[on] = max(loosest[on], float(Fraction(loose) / max(true, Fraction(size, 10**9))))
        if on == "finest":
            assert high - most <= CLOSE * most + size * Fraction(1, 2**44)
            assert least - low <= CLOSE * least + size * Fraction(1, 2**44)
    return loosest


def test_the_program_in_fractions_knows_a_case_by_hand():
    # r is in [0, 1]³ with sum 1, r[0] + r[1] ≤ 1/2: as much as possible at 0, the rest at 2
    whole = [(1, {0, 1, 2}, 1), (0, {0, 1}, Fraction(1, 2))]
    box, start = [(0, 1)] * 3, [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert extreme_mean([4, 2, 1], whole, box, start) == Fraction(5, 2)
    assert extreme_mean([-4, -2, -1], whole, box, start) == -1


def test_bounds_are_those_of_linear_programs_in_fractions():
    check_bounds(120, seed=1)


@pytest.mark.long
def test_bounds_are_those_of_linear_programs_in_fractions_in_many_cases(record_property):
    for on, loose in check_bounds(2_400, seed=2).items():
        record_property(f"relative looseness, {on}", f"{loose:.3g}")


# --- whole certificates ----------------------------------------------------------------------------------------


def channel_of(rng, shape, n_outputs):
    """A channel with a random row of each kind, and one more that takes what is missing."""
    rows = [row_of(rng, shape, KINDS[rng.integers(len(KINDS))]) // (n_outputs + 1) for _ in range(n_outputs)]
    N = np.array([*rows, UNIT - np.sum(rows, axis=0)], dtype=np.int64)
    return Channel.from_numerators(N[N.any(axis=1)]), N[N.any(axis=1)]


def true_level(notion, parts, N):
    """The smallest ε from exact extremes: those of P(y|s) by the simplex method, of P(y) at corners of P(S)'s set."""
    worst = Fraction(1)
    for part in parts:
        for place in range(len(part.cells)):
            cell = Cell(part, place)
            prior = _corners(part.prior, place)
            for w in N[:, cell.members].tolist():
                if not any(w):
                    continue
                ends = [cell.extremes(s, w) for s in range(part.prior.lower.shape[1])]
                for s, (least, most) in enumerate(ends):
                    others = [t for t in range(len(ends)) if t != s]
                    if notion.limits.spread < np.inf:
                        pairs = [(most, ends[t][0]) for t in others]
                    else:
                        down = min(p[s] * most + sum(p[t] * ends[t][0] for t in others) for p in prior)
                        up = max(p[s] * least + sum(p[t] * ends[t][1] for t in others) for p in prior)
                        pairs = [(most, down), (up, least)]
                    for over, under in pairs:
                        if under <= 0 < over:
                            return None
                        worst = max(worst, Fraction(over) / under) if over > 0 else worst
    return worst


def _corners(prior, place):
    """Corners of l ≤ p ≤ u, Σp = 1: all but one share at an end."""
    low, high = prior.lower[place].tolist(), prior.upper[place].tolist()
    found = set()
    for ends in product(*zip(low, high, strict=True)):
        for i in range(len(ends)):
            free = SCALE - sum(ends) + ends[i]
            if low[i] <= free <= high[i]:
                found.add(tuple(Fraction(free if k == i else ends[k], SCALE) for k in range(len(ends))))
    return found


def check_certificates(count, seed):
    """The largest amount by which a certified level is above the exact one."""
    rng, loosest = np.random.default_rng(seed), 0.0
    for k in range(count):
        shape, notion = SHAPES[k % len(SHAPES)], NOTIONS[rng.integers(len(NOTIONS))]
        joint = joint_of(rng, shape, int(rng.integers(2, 4)))
        over = pf.robust(notion, 0.95, "nested")
        channel, N = channel_of(rng, shape, int(rng.integers(1, 3)))
        true, found = true_level(notion, over.possible(joint), N), certify_channel(channel, joint, over)
        if true is None:
            assert found.level == np.inf
            assert not found.holds
            continue
        exact = math.log1p(float(true - 1))
        assert found.level >= exact * (1 - 1e-12)
        assert not found.holds or exact <= notion.epsilon * (1 + 1e-12)
        loosest = max(loosest, found.level - exact) if np.isfinite(found.level) else loosest
    return loosest


def test_certificates_are_never_below_the_level_in_fractions():
    check_certificates(20, seed=3)


@pytest.mark.long
def test_certificates_are_never_below_the_level_in_fractions_in_many_cases(record_property):
    record_property("a certified level is above the exact one by at most", f"{check_certificates(250, seed=4):.3g}")


# --- solvers that lie -------------------------------------------------------------------------------------------


def _nothing(shares, prices):
    return np.zeros_like(shares), np.zeros_like(prices)


def _anything(shares, prices):
    rng = np.random.default_rng(5)
    return rng.normal(size=len(shares)), rng.normal(size=len(prices))


def _huge(shares, prices):
    return shares * 1e15, 1e15 * (1 + np.arange(len(prices)))


def _endless(shares, prices):
    return shares, np.full(len(prices), np.inf)


def _not_a_number(shares, prices):
    return np.full(len(shares), np.nan), np.full(len(prices), np.nan)


def _turned(shares, prices):
    return shares, -prices


def _fails(shares, prices):
    raise SolverFailure("nothing found")


@pytest.mark.long
@pytest.mark.parametrize("lie", [_nothing, _anything, _huge, _endless, _not_a_number, _turned, _fails])
def test_a_solver_that_lies_makes_bounds_weaker_and_never_wrong(lie, monkeypatch):
    cases = list(random_cases(60, seed=6))
    honest = [bounds_on(cell, s, w) for cell, s, w, _ in cases]
    solve = multipliers.LinearProgram.solve
    monkeypatch.setattr(multipliers.LinearProgram, "solve", lambda self: lie(*solve(self)))
    weaker = 0
    for (cell, s, w, _), (low, high) in zip(cases, honest, strict=True):
        least, most = cell.extremes(s, w.tolist())
        found = bounds_on(cell, s, w)
        assert found[0] <= least <= most <= found[1]
        assert found[0] >= 0
        assert found[1] <= SCALE * int(w.max())
        weaker += found[0] < low or found[1] > high
    assert weaker


def test_bounds_from_single_cells_are_bounds_as_well(monkeypatch):
    """Tables of very many cells have no linear programs: here all have very many."""
    monkeypatch.setattr("privacyfunnel.proof.multipliers.LARGEST_PROGRAM", 1)
    for cell, s, w, _ in random_cases(60, 5):
        least, most = cell.extremes(s, w.tolist())
        low, high = bounds_on(cell, s, w)
        assert low <= least <= most <= high
