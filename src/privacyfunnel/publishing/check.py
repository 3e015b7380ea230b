"""Does a protocol of privacyfunnel keep its promise? Check it in whole numbers:  python3 check.py protocol.json

One file of Python's standard library, and no line of the package that made the protocol. Exit code 0: the promise is
proven. 1: it is broken, or something is left that this file does not check, and says so. 2: this is no protocol.

A row with the values x is released as y in q[y,x] of 2³² draws. N[s,x] people have the secret s and the values x: these
counts follow from the noisy counts in the file, and everybody computes the same ones (`counted`). Then

    A[s] = Σ_x N[s,x] q[y,x]  is in proportion to P(s, y),   B = Σ_s A[s]  to P(y),
    n[s] = Σ_x N[s,x]         is in proportion to P(s),      m = Σ_s n[s]  to 1,

so whoever sees y multiplies their belief in s by P(s|y) / P(s) = A[s] m / n[s] B. A promise limits such factors:

    rise:  A[s] m ≤ e^ε n[s] B       fall:  n[s] B ≤ e^ε A[s] m       (LIP is both, PML the first)
    apart: A[s] n[t] ≤ e^ε n[s] A[t] for every two secrets s and t    (LDP)        belief: A[s] ≤ b B

For somebody who knows some columns of a row, all sums are over the x with the same values there (SRLIP, SRLDP). Instead
of e^ε stands a fraction below it, so what passes holds for the real number. No float decides about a promise.

Below come the proof, the promise, the people, what is drawn for them, the file, and the verdict.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, pairwise, product
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

UNIT = 2**32
"""Draws: every probability of a channel is a whole number of these."""
PERFECT = 1e-8
"""ε = 0 asks for equalities that multiples of 2⁻³² cannot meet: they are kept up to this level."""
BITS = 256
"""Of e^ε behind the point."""
THOUSANDTH, LUCK, OUTWARDS = 1e-3, 1e-15, 1e-9
"""The least ε₀ and the largest δ₀ that noise may have; how unlikely noise may be; and what floats may be off."""
LEFT = "NOT DECIDED, no flaw found; left to funnel audit"
BESIDE = "not here  the guarantee in words, and figures of what is kept: funnel audit holds them against the rest"
BESIDE_FILL = "not here  that such noise has this ε₀, and that they are drawn as these tables say: funnel audit does it"
ORDERED = ("bins", "integer", "number", "year", "month", "day")
KINDS = {"lip": "rise fall", "srlip": "rise fall", "alip": "rise fall", "perfect": "rise fall", "pml": "rise"}
KINDS |= {"ldp": "apart", "srldp": "apart"}
PARAMETERS = {"lip": "epsilon", "pml": "epsilon", "ldp": "epsilon", "srlip": "epsilon known", "srldp": "epsilon known"}
PARAMETERS |= {"alip": "lower upper", "perfect": "", "belief": "most places share", "promises": "each sizes"}
PARAMETERS |= {"ordered": "promise per_value unordered", "robust": "promise confidence within chains chosen"}
FILE = (
    "schema guarantee promise fitted people at_least secret secret_readings objective how utility_nats upper_bound_nats"
    " entropy_nats likeness precision aim noise chain before digest"
)
NOISE = "of epsilon delta people declared choosing attributes combinations counts"
WRITTEN = ("", "point", "comma", "dmy", "mdy", "ymd", "hours")
FILL_NOISE, FILLED = "epsilon choosing delta sigma tables", "name parents weights counts"
INSIDE = "name grid decimals column parts counts ends"
COLUMN = "name kind edges missing about written labels other groups"
STEPS = {
    "channel": "step columns values outputs channel labels marginal draw nearest variants exact",
    "by_history": "step columns values nearest histories inputs channel marginal",
    "by_model": "step columns tables exponent factors rule groups",
    "fill": "step filled inside order never noise",
}
Numbers = tuple[int, ...]
People = list[tuple[Numbers, list[int]]]  # for every x the numbers of its values in their columns, and N[s,x]
Tightest = dict[tuple[int, str], tuple[int, int, Numbers, Numbers]]  # over, under, the outcome, the known columns
Drawn = dict[Numbers, dict[int, int]]  # for all that was released of somebody, y, or y₁ … y_k: q[y,x] by the place of x


class Stop(Exception):
    """Why nothing is proven: the first word of the verdict, and the reason."""


def need(condition: bool, otherwise: str) -> None:
    """Go on only if this is so."""
    if not condition:
        raise Stop("BROKEN", otherwise)


# ---- the proof


class Clause(NamedTuple):
    """Limits on the beliefs in some events about the secret, such as each of its values."""

    about: str
    event: list[int]  # the event that each value of the secret is
    only: list[int]  # the events whose beliefs are limited
    limits: dict[str, float]  # ε of rise, fall or apart; or the most of belief
    known: set[Numbers]  # the columns that somebody may know beforehand, for each who is meant

    def bounds(self) -> dict[str, Fraction]:
        """What over / under may come to; 0.05 is 1/20 for a belief."""
        named = self.limits.items()
        return {kind: Fraction(repr(most)) if kind == "belief" else e_below(most or PERFECT) for kind, most in named}

    def ratios(self, kind: str, A: list[int], n: list[int]) -> Iterable[tuple[int, int]]:
        """Over and under of the inequalities at the head of this file, for one y."""
        if kind == "apart":
            return [(A[s] * n[t], n[s] * A[t]) for s in self.only for t in self.only if s != t]
        B, m = sum(A), sum(n)
        if kind == "belief":
            return [(A[s], B) for s in self.only]
        lifts = [(A[s] * m, n[s] * B) for s in self.only]
        return lifts if kind == "rise" else [(under, over) for over, under in lifts]


def proven(found: list[Clause], people: People, outcomes: Drawn, draw: list[int] | None) -> tuple[Tightest, int]:
    """Where every limit of every clause is used up most, and how many inequalities there are."""
    tightest: Tightest = {(i, kind): (0, 1, (), ()) for i, one in enumerate(found) for kind in one.limits}
    count = 0
    for J in sorted({J for one in found for J in one.known}):
        cells = [tuple(x[j] for j in J) for x, _ in people]
        n = sums((cell, own, 1) for cell, (_, own) in zip(cells, people, strict=True))
        for y, q in outcomes.items():
            given = sums((cells[r], people[r][1], q_r) for r, q_r in q.items())
            for i, kind in tightest:
                one = found[i]
                for cell, A in given.items() if J in one.known else ():
                    for over, under in one.ratios(kind, merged(A, one.event), merged(n[cell], one.event)):
                        count += 1
                        if over * tightest[i, kind][1] > tightest[i, kind][0] * under:
                            tightest[i, kind] = over, under, y, J
            need(draw is None or draw_fits(draw[y[0]], found[0], n, given), "draws for values never seen may break it")
    return tightest, count


def sums(parts: Iterable[tuple[Numbers, list[int], int]]) -> dict[Numbers, list[int]]:
    """Σ N[s] q in every cell."""
    found: dict[Numbers, list[int]] = {}
    for cell, own, q in parts:
        found[cell] = [A + N * q for A, N in zip(found.get(cell) or [0] * len(own), own, strict=True)]
    return found


def merged(own: list[int], event: list[int]) -> list[int]:
    """The sums over the values of the secret that are the same event."""
    return [sum(A for A, e in zip(own, event, strict=True) if e == k) for k in range(max(event) + 1)]


def draw_fits(r: int, clause: Clause, n: dict[Numbers, list[int]], given: dict[Numbers, list[int]]) -> bool:
    """Whether r[y] for values never seen keeps the promise for any share of people, with any secret, who have these.

    Then P(y|s) is anything from A[s] / n[s] to r, and P(y) anything from B / m to r.
    """
    for cell, own in n.items():
        A = given.get(cell, [0] * len(own))
        above = [(A[s], r * own[s]) for s in clause.only if own[s]]
        below, B, m = [(under, over) for over, under in above], sum(A), sum(own)
        pairs = {"rise": [*above, (r * m, B)], "fall": [*below, (B, r * m)], "apart": [*above, *below]}
        for kind, bound in clause.bounds().items():
            if any(over * bound.denominator > bound.numerator * under for over, under in pairs[kind]):
                return False
    return True


def e_below(epsilon: float | Fraction) -> Fraction:
    """A fraction below e^ε: the series of e^x for x = ε / 2^k < 1/2, squared k times, all of it rounded down."""
    x, k = Fraction(min(epsilon, 10_000)), 0
    while 2 * x >= 1:
        x, k = x / 2, k + 1
    x_units, term, total, i = math.floor(x * 2**BITS), 2**BITS, 0, 0
    while term:
        total, i = total + term, i + 1
        term = (term * x_units // i) >> BITS
    for _ in range(k):
        total = total * total >> BITS
    return Fraction(total, 2**BITS)


def level(over: int, under: int) -> float:
    """The least ε with over / under ≤ e^ε, rounded up to a multiple of 10⁻⁹."""
    low, high = -1, 10_000 * 10**9
    if over > under * e_below(10_000):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if over <= under * e_below(Fraction(middle, 10**9)) else (middle, high)
    return high / 10**9


# ---- the promise


def clauses(said: dict[str, Any], of: list[int], columns: list[str], about: str) -> list[Clause]:
    """What is promised of a secret; of[s] is its value where all secrets together have the value number s."""
    kind, values = said["notion"], max(of) + 1
    need({*said} <= {"notion", *PARAMETERS[kind].split()}, "a promise has parameters that it does not have")
    each_value = [([int(own != value) for own in of], [0]) for value in range(values)]  # it, or all others
    if kind == "promises":
        sizes = whole(said["sizes"], 1, values, "sizes")
        need(math.prod(sizes) == values and len(sizes) == len(said["each"]), "the secrets do not fit their counts")
        need(all(own["notion"] != "promises" for _, own in said["each"]), "promises within promises")
        codes = list(product(*map(range, sizes)))
        parts = [(own, [codes[s][k] for s in of], name) for k, (name, own) in enumerate(said["each"])]
        return [clause for own, values_of, name in parts for clause in clauses(own, values_of, columns, name)]
    if kind == "ordered":
        need(all(map(simple, [said["promise"], said.get("per_value", said["promise"])])), "borders need one level each")
        order = [value for value in range(values) if value not in said.get("unordered", [])]
        need(len(order) > 0, "no value of the secret has a place in the order")
        found = clauses(said["per_value"], of, columns, about) if "per_value" in said else []
        for below in range(1, max(2, len(order))):  # on the lower side of a border, on the upper one, or on none
            side = {value: int(i >= below) for i, value in enumerate(order)}
            found += clauses(said["promise"], [side.get(value, 2) for value in of], columns, f"{about}, border {below}")
        return found
    if kind == "belief":
        if "share" in said:
            raise Stop(LEFT, "a share of a limit on belief")
        places, limits = whole(said["places"], 0, values - 1, "places"), [number(most, 1) for _, most in said["most"]]
        need(len(places) == len(limits) > 0 < min(limits) <= max(limits) < 1, "a limit on belief is none")
        both = zip(places, limits, strict=True)
        return [Clause(f"{about} = {place}", *each_value[place], {"belief": most}, {()}) for place, most in both]
    known: set[Numbers] = known_by(said["known"], columns) if "known" in PARAMETERS[kind] else {()}
    if kind == "alip":
        limits_of = {"rise": number(said["upper"]), "fall": number(said["lower"])}
        return [Clause(about, of, list(range(values)), limits_of, known)]
    epsilon = said["epsilon"] if kind != "perfect" else 0
    if isinstance(epsilon, list) and kind in ("lip", "pml", "srlip"):
        need(len(epsilon) == values, "not every value of the secret has a level")
        levels = [dict.fromkeys(KINDS[kind].split(), number(own)) for _, own in epsilon]
        return [Clause(f"{about} = {s}", *each_value[s], own, known) for s, own in enumerate(levels)]
    return [Clause(about, of, list(range(values)), dict.fromkeys(KINDS[kind].split(), number(epsilon)), known)]


def simple(said: dict[str, Any]) -> bool:
    """Whether a promise has one level, or one for each direction, about all values of the secret as they are."""
    return said["notion"] in KINDS and not isinstance(said.get("epsilon"), list)


def known_by(known: Any, columns: list[str]) -> set[Numbers]:
    """All sets of columns that somebody may know; who knows all of them learns nothing more."""
    most, usable = len(columns) - 1, list(range(len(columns)))
    if isinstance(known, list):
        usable = [columns.index(name) for name in known]
    elif known is not None:
        most = min(most, *whole([known], 0, math.inf, "known columns"))
    sizes = range(min(most, len(usable)) + 1)
    need(sum(math.comb(len(usable), size) for size in sizes) <= 4096, "too many sets of columns may be known")
    return {J for size in sizes for J in combinations(usable, size)}


# ---- the people, by noisy counts


def people_of(file: dict[str, Any]) -> People:
    """The people whom the promise is about. The protocol must have just the values that enough of them have."""
    noise, step = file["noise"], file["chain"][0]
    counts, listed, people = noise["counts"], noise["combinations"], noise["people"]
    sizes, names = [len(column["labels"]) for column in step["columns"]], [column["name"] for column in step["columns"]]
    cells, least = (math.prod(sizes), -(10**9)) if listed is None else (len(listed), 0)
    need(all(len(whole(row, least, 10**9, "noisy counts")) == cells for row in counts), "counts do not fit")
    codes = list(product(*map(range, sizes))) if listed is None else [tuple(row) for row in listed]
    told = noise["of"] == "cells" and noise["attributes"] == names and people == file["people"]
    need(told and {*noise} == {*NOISE.split()}, "noisy counts of other columns or people")
    need(type(noise["declared"]) is bool and number(noise["choosing"], 50) >= 0, "what chose the columns is not told")
    need(all(all_in(x, sizes) for x in codes) and len({*codes}) == len(codes) > 0, "combinations that are none")
    need((number(noise["delta"], THOUSANDTH) == 0) == (listed is None), "some are told with a δ, all without")
    need(number(noise["epsilon"], 50) >= THOUSANDTH and file["fitted"] == "private counts", "there is no such noise")
    need(whole([people, file["at_least"]], 0, 10**9, "people")[0] > 0, "nobody was counted")
    need(listed is None or all(map(max, zip(*counts, strict=True))), "a combination is told that nobody has")
    check_noise([n for row in counts for n in row], noise, people)
    N, unit = counted(noise, cells, sizes)
    found = [(x, list(own)) for x, own in zip(codes, zip(*N, strict=True), strict=True)]
    follow = sorted(x for x, own in found if sum(own) >= max(1, file["at_least"] * unit))
    if file["promise"]["notion"] != "robust":  # which may speak of all combinations
        need(follow == sorted(map(tuple, step["values"])), "the values do not follow from the noisy counts")
    need(step["nearest"] is True, "combinations that are not listed are not read as others")
    found = [(x, own) for x, own in found if any(own)]
    need(all(map(any, zip(*(own for _, own in found), strict=True))), "a value of the secret has nobody")
    return found


def counted(noise: dict[str, Any], cells: int, sizes: list[int]) -> tuple[list[list[int]], int]:
    """N[s][x] for all x with noisy counts, and what one person weighs in them.

    Where all of up to 4,096 combinations have noisy counts, each is estimated. Counts of more are moved to the nearest
    ones that are not negative and of as many people as there are. A secret that does not show through the noise (two
    standard deviations) is taken to go with x as everybody does.
    """
    counts, people, all_told = noise["counts"], noise["people"], noise["combinations"] is None
    sums, noisy = [sum(row) for row in counts], 32 * cells if all_told else 0
    faint = {s for s, n in enumerate(sums) if n <= 0 or n * n * Fraction(noise["epsilon"]) ** 2 <= noisy}
    need(len(counts) - len(faint) >= 2, "fewer than two values of the secret show through the noise")
    N = [[1024 * n for n in row] for row in counts]
    if all_told:
        totals = [n // 1024 for n in moved(sums, people)]
        totals[totals.index(max(totals))] += people - sum(totals)
        scale = 2.0 / noise["epsilon"]
        N = (
            estimated(counts, totals, sizes, 2.0 * scale * scale)
            if cells <= 4096
            else [moved(row, total) for row, total in zip(counts, totals, strict=True)]
        )
    if not faint:
        return N, 1024
    parts, all_others = min(people, 2**20), [sum(N[s][x] for s in {*range(len(N))} - faint) for x in range(cells)]
    weight = [max(1, max(1, sum(N[s]) // 1024) * parts // people) if s in faint else parts for s in range(len(N))]
    return [[weight[s] * n for n in (all_others if s in faint else N[s])] for s in range(len(N))], 1024 * parts


def lean(y: list[float], variance: float, expected: list[float]) -> list[float]:
    """What noisy counts say of numbers of people, of which so many are expected: a mean, weighted by variances.

    How far people differ from what is expected is learned from all that are expected to be about as many.
    """
    off, beyond, squares = [a - e for a, e in zip(y, expected, strict=True)], [0.0] * 5, [0.0] * 5
    classes = [sum(e >= variance * border for border in (1 / 16, 1 / 4, 1, 4)) for e in expected]
    for e, o, k in zip(expected, off, classes, strict=True):
        beyond[k] += o * o - variance - e
        squares[k] += e * e
    spread = [max(0.0, b) / e if e > 0 else 0.0 for b, e in zip(beyond, squares, strict=True)]
    people = [e + spread[k] * e * e for e, k in zip(expected, classes, strict=True)]
    return [max(e / 16, e + o * (w / (w + variance))) for e, o, w in zip(expected, off, people, strict=True)]


def added(numbers: Iterable[float]) -> float:
    """Their sum, rounded after each of them, as on every other machine: sum() rounds less often."""
    return reduce(add, numbers, 0.0)


def estimated(counts: list[list[int]], totals: list[int], sizes: list[int], noise: float) -> list[list[int]]:
    """N[s][x] in units of 1/1024 person for all x: single columns, pairs, and cells lean to what those before expect.

    The same numbers to the last bit as those of distribution/estimate.py, which says what they are.
    """
    codes, cells, rows = list(product(*map(range, sizes))), math.prod(sizes), len(counts)
    people, total, y = float(sum(totals)), [float(max(1, n)) for n in totals], [list(map(float, row)) for row in counts]
    alls = [float(sum(own)) for own in zip(*counts, strict=True)]
    places: dict[Numbers, list[int]] = {(j,): [x[j] for x in codes] for j in range(len(sizes))}
    places |= {(i, j): [x[i] * sizes[j] + x[j] for x in codes] for i, j in combinations(range(len(sizes)), 2)}

    def sums(own: Numbers, weights: list[float]) -> list[float]:
        found = [0.0] * math.prod(sizes[j] for j in own)
        for place, weight in zip(places[own], weights, strict=True):
            found[place] += weight
        return found

    def variance(own: Numbers, rows: int) -> float:
        return noise * (rows * (cells // math.prod(sizes[j] for j in own)))

    def to_sums(own: Numbers, weights: list[float], target: list[float], now: list[float]) -> list[float]:
        factor = [t / n for t, n in zip(target, now, strict=True)]
        return [weight * factor[place] for place, weight in zip(places[own], weights, strict=True)]

    alone = []
    for j, size in enumerate(sizes):
        table = lean(sums((j,), alls), variance((j,), rows), [people / size] * size)
        scale = people / added(table)
        alone.append([a * scale for a in table])
    own = [
        [lean(sums((j,), row), variance((j,), 1), [n * a / people for a in alone[j]])
         for row, n in zip(y, total, strict=True)]
        for j in range(len(sizes))
    ]  # fmt: skip
    pairs = {}
    for i, j in combinations(range(len(sizes)), 2):
        expected = [a * b / people for a in alone[i] for b in alone[j]]
        pairs[i, j] = lean(sums((i, j), alls), variance((i, j), rows), expected)
    found = [[n / cells] * cells for n in total]
    for _ in range(4):
        for pair, target in pairs.items():
            now = sums(pair, [added(column) for column in zip(*found, strict=True)])
            found = [to_sums(pair, row, target, now) for row in found]
        for j in range(len(sizes)):
            found = [to_sums((j,), row, own[j][s], sums((j,), row)) for s, row in enumerate(found)]
    found = [lean(a, noise, row) for a, row in zip(y, found, strict=True)]
    for j in range(len(sizes)):
        now_by = [sums((j,), row) for row in found]
        target_by = [lean(sums((j,), a), variance((j,), 1), now) for a, now in zip(y, now_by, strict=True)]
        found = [to_sums((j,), *each) for each in zip(found, target_by, now_by, strict=True)]
    scales = [n / added(row) for n, row in zip(total, found, strict=True)]
    return [[max(1, math.floor(a * k * 1024)) for a in row] for row, k in zip(found, scales, strict=True)]


def moved(counts: list[int], total: int) -> list[int]:
    """max(counts − t, 0) with the sum `total`, in units of 1/1024 rounded down: the nearest counts with that sum."""
    k = above = 0
    for value in sorted(counts, reverse=True):
        if value * (k + 1) <= above + value - total:
            break
        k, above = k + 1, above + value
    return [max(0, 1024 * (value * k - (above - total)) // k) if total > 0 else 0 for value in counts]


def check_noise(counts: list[int], noise: dict[str, Any], people: int) -> None:
    """Refuse counts that discrete Laplace noise of scale 2/ε₀ does not make of so many people, but for bad luck."""
    k, scale = len(counts), 2 / noise["epsilon"]
    if noise["combinations"] is not None:  # only those above a threshold are told, of half of all people at least
        told, alone = [n for n in counts if n], largest_noise(1, scale, LUCK / people)
        least = max(2, math.floor(1 + scale * math.log(1 / noise["delta"])) - 2)
        need(min(told) >= least, "counts below their threshold")
        need(people <= 2 * sum(told) and sum(told) <= people + alone * len(told), "counts of other people")
        return
    alone = largest_noise(1, scale, LUCK / k)
    need(abs(sum(counts) - people) <= largest_noise(k, scale, LUCK / k), "counts of other people")
    need(-alone <= min(counts) and max(counts) <= people + alone, "a count beyond what its noise makes")
    widths = [0, *(2**i - 1 for i in range(1, 1 + math.ceil(math.log2(1 + scale))))]
    for w in widths:  # P(|n + z| ≤ w) ≤ P(|z| ≤ w) = q for any n ≥ 0, so about a share q of all counts may be so small
        a, q = sum(abs(n) <= w for n in counts) / k, 1 - 2 * math.exp(-(w + 1) / scale) / (1 + math.exp(-1 / scale))
        rare = a * math.log(a / q) + ((1 - a) * math.log((1 - a) / (1 - q)) if a < 1 else 0) if a > q else 0
        need(k * rare <= math.log(len(widths) / LUCK), "more counts near 0 than noise of the stated size leaves there")


def largest_noise(cells: int, scale: float, tail: float) -> float:
    """What the sum of so much noise exceeds with a probability of `tail` at most, by its moments (Chernoff)."""
    a, ln_tail, tilts = math.exp(-1 / scale), math.log(tail * (1 - OUTWARDS)), [i / 400 / scale for i in range(1, 400)]
    moments = [2 * math.log1p(-a) - math.log1p(-a * math.exp(t)) - math.log1p(-a * math.exp(-t)) for t in tilts]
    most = min((cells * moment - ln_tail) / t for t, moment in zip(tilts, moments, strict=True))
    most = max(1.0, (ln_tail + math.log1p(a)) / math.log(a)) if cells == 1 else most
    return math.ceil(most * (1 + OUTWARDS)) - 1


# ---- what is drawn for them


def drawn(files: list[dict[str, Any]], people: People) -> Drawn:
    """Everything that is released of people together: each release is drawn given what was released before."""
    past: Drawn = {(): dict.fromkeys(range(len(people)), 1)}
    before: list[int] = []
    last = files[-1]["chain"][0]["columns"]
    for file in files:
        step = file["chain"][0]
        outputs, draws = draws_of(step, before)
        values, columns, exact = [tuple(x) for x in step["values"]], step["columns"], step.get("exact", [])
        if not all(column in last for column in columns):
            raise Stop(LEFT, "what an earlier release drew for whom: it cut a column otherwise")
        own = [last.index(column) for column in columns]
        codes = [tuple(x[j] for j in own) for x, _ in people]
        read, listed, found = reader(values, columns, step["nearest"], exact), {*values}, Drawn()
        for history, inputs in draws.items():
            among = list(inputs)
            nearest = reader([values[i] for i in among], columns, True, exact)
            for r, weight in past.get(history, {}).items():
                i = read(codes[r])
                if i >= 0 and i not in inputs and codes[r] not in listed:  # nobody had this when it was fitted
                    i = among[nearest(codes[r])]
                need(i in inputs or file is not files[-1], "people may have values that no channel is for")
                for y, q in inputs.get(i, {}).items():
                    found.setdefault((*history, y), {})[r] = weight * q
        past, before = found, [*before, outputs]
    return past


def draws_of(step: dict[str, Any], before: list[int]) -> tuple[int, dict[Numbers, dict[int, dict[int, int]]]]:
    """How many outputs a release has, and for every history and every x that can have it q[y,x] by y.

    `before` are the numbers of outputs of the releases before: a history is an output of each.
    """
    columns, values, first = step["columns"], [tuple(x) for x in step["values"]], step["step"] == "channel"
    sizes, names = [len(column["labels"]) for column in columns], [column["name"] for column in columns]
    for one in columns:
        check_column(one)
    need(all(all_in(x, sizes) for x in values) and len({*values}) == len(values) > 0, "values that are none, or twice")
    need(len({*names}) == len(names) and step["nearest"] in (True, False), "a column is there twice")
    outputs = whole([step["outputs"]], 1, math.inf, "outputs")[0] if first else len(values)
    histories = [()] if first else [tuple(h) for h in step["histories"]]
    inputs = [list(range(len(values)))] if first else step["inputs"]
    need(all(all_in(h, before if not first else []) for h in histories), "a history of other releases")
    need(len({*histories}) == len(histories) == len(inputs), "a history is there twice, or has no inputs")
    need(all(own == sorted({*whole(own, 0, len(values) - 1, "inputs")}) for own in inputs), "inputs in disorder")
    need(len(step["channel"]) == sum(map(len, inputs)), "the channel does not fit its inputs")
    each = []
    for column in step["channel"]:
        y, q = whole(column[::2], 0, outputs - 1, "outputs"), column[1::2]
        need(y == sorted({*y}) and 0 not in parts_of_unit(q, len(y), "a column of the channel"), "outputs in disorder")
        each.append(dict(zip(y, q, strict=True)))
    rows = iter(each)
    found = {h: {x: next(rows) for x in own} for h, own in zip(histories, inputs, strict=True)}
    outcomes = sum(len({y for q in own.values() for y in q}) for own in found.values())
    parts_of_unit(step["marginal"], outputs if first else outcomes, "the marginal")
    if first:
        labels, variants = whole(step["labels"], 0, len(values) - 1, "labels"), step["variants"]
        told = [*labels] if variants is None else [*zip(labels, whole(variants, 0, UNIT, "variants"), strict=True)]
        need(len(labels) == outputs == len({*told}), "the outputs do not have a different label each")
        stay = [j for j, name in enumerate(names) if name in step["exact"]]
        same = all(values[x][j] == values[labels[y]][j] for x, q in enumerate(each) for y in q for j in stay)
        need(same and {*step["exact"]} <= {*names}, "a column that is said to stay exact does not")
        need(step["draw"] is None or (not stay and sum(parts_of_unit(step["draw"], outputs, "draw")) > 0), "draw")
    return outputs, found


def check_column(one: dict[str, Any]) -> None:
    """A column must say without a doubt as what its entries are read."""
    labels, kind, edges, texts = one["labels"], one["kind"], one["edges"], [*one["missing"], one.get("about", "")]
    need({*one} <= {*COLUMN.split()} and kind in (*ORDERED, "text", "boolean"), "a column that is none")
    need(len({*labels}) == len(labels) > 0, "a label is there twice")
    own = [label for label in labels if label is not None and not (one["other"] and label == "other")]
    types = {"boolean": (bool,), "integer": (int,), "number": (int, float)}.get(kind, (str,))
    need(all(type(label) in types for label in own), "a label is not of its column's kind")
    need(one["other"] in (True, False) and (not one["other"] or "other" in labels), "a column of others without them")
    need(all(type(text) is str and len(text) <= 1000 for text in texts), "a column is read in a way that is none")
    need(one.get("written", "") in WRITTEN, "a column is written in a way that is none")
    rise = all(low < high for low, high in pairwise(edges))
    ends = [edge for edge in edges if type(edge) in (int, float)] == edges and len(edges) == len(own) + 1
    need(kind != "bins" or (rise and ends and labels[: len(own)] == own), "ranges that are none")
    groups = one.get("groups", [])
    need(all({*group} == {"label", "values"} for group in groups), "groups of values that are none")
    names, members = [group["label"] for group in groups], [text for group in groups for text in group["values"]]
    apart = len({*names, *members}) == len(names) + len(members) and not {*members} & {*labels, *one["missing"], ""}
    alone = not {*names} & {*one["missing"], ""} and {*names} <= {*own} and (kind == "text" or not groups)
    need(apart and alone and all(group["values"] for group in groups), "groups of values that are none")


def reader(values: list[Numbers], columns: list[Any], near: bool, exact: list[str]) -> Callable[[Numbers], int]:
    """The number of x in a list of values, or of the nearest one there; −1 if there is none.

    Nearest is what has most columns in common, of those what is nearest in columns with an order, of those what has the
    values that the fewest in the list have, of those the first. Columns that stay exact must be equal.
    """
    number_of = {x: i for i, x in enumerate(values)}
    often, place = [Counter(own) for own in zip(*values, strict=True)], [places(column) for column in columns]
    rarity = [-min(2**24 - 1, sum(often[j][code] for j, code in enumerate(x))) for x in values]

    @cache
    def common(j: int, code: int, other: int) -> int:
        """What two values of column j have in common."""
        if code == other:
            return 2**38 * (len(columns) + 1)
        if columns[j]["name"] in exact:
            return -(2**62)
        p, r = place[j][code], place[j][other]
        most = max(1, *(p for p in place[j] if p is not None), 1)
        return 2**24 * (2**14 - 2**14 * abs(p - r) // most) if p is not None and r is not None else 0

    def read(x: Numbers) -> int:
        if x not in number_of and near and min(x) >= 0:
            alike = (sum(map(common, range(len(x)), x, other)) for other in values)
            score = [own + rare for own, rare in zip(alike, rarity, strict=True)]
            number_of[x] = score.index(max(score)) if max(score) > -(2**61) else -1
        return number_of.get(x, -1)

    return read


def places(column: dict[str, Any]) -> list[int | None]:
    """The place of each value in the order of its column, if there is one: ranges as they are listed, others sorted."""
    known = [one for one in column["labels"] if one is not None and not (column["other"] and one == "other")]
    order = known if column["kind"] == "bins" else sorted(known) if column["kind"] in ORDERED else []
    place = {one: i for i, one in enumerate(order)}
    return [place.get(one) for one in column["labels"]]


# ---- the file


def whole(values: Any, least: float, most: float, what: str) -> list[int]:
    """A list of whole numbers in a range."""
    fit = isinstance(values, list) and all(type(value) is int and least <= value <= most for value in values)
    need(fit, f"{what}: not whole numbers in their range")
    return list(values)


def number(value: Any, most: float = sys.float_info.max) -> float:
    """A finite number that is not negative."""
    need(type(value) in (int, float) and 0 <= value <= most, "a level is no finite number from 0 on")
    return float(value)


def parts_of_unit(parts: Any, size: int, what: str) -> list[int]:
    """Refuse what are not so many parts of 2³²."""
    need(len(whole(parts, 0, UNIT, what)) == size and sum(parts) == UNIT, f"{what}: no {size} parts of 2^32")
    return list(parts)


def all_in(x: Any, sizes: list[int]) -> bool:
    """Whether these are the numbers of a value of each column."""
    return len(x) == len(sizes) and all(type(i) is int and 0 <= i < size for i, size in zip(x, sizes, strict=True))


def content_of(path: str) -> dict[str, Any]:
    """The file, which must be as it was written: strict JSON, every entry once."""

    def refused(_: Any) -> Any:
        raise ValueError

    try:
        text = Path(path).read_bytes().decode("utf-8").replace("\r\n", "\n")
        once = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else refused(pairs)  # noqa: E731
        found = json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except (OSError, ValueError, RecursionError):
        raise Stop("UNREADABLE", "there is no such file, or it is not JSON with every entry once") from None
    if not isinstance(found, dict) or found.get("schema") != "privacyfunnel/1":
        raise Stop("UNREADABLE", "this is no protocol of privacyfunnel/1")
    need(text == written(found), "the file was changed after it was written")
    return found


def written(content: dict[str, Any]) -> str:
    """JSON with one entry a line, the only form in which a protocol is written."""
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def releases(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The files of all releases, the first one first, each under its digest."""
    own = written({key: value for key, value in file.items() if key != "digest"}).encode("utf-8", "surrogatepass")
    need(file["digest"] == f"sha256:{hashlib.sha256(own).hexdigest()}", "the file was changed: its digest does not fit")
    before, chain, read = file["before"], file["chain"], [reading["name"] for reading in file["secret_readings"]]
    step, kinds = chain[0], [one["step"] for one in chain]
    need(kinds[1:] in ([], ["fill"]) and kinds[0] != "fill", "the steps do not fit together")
    fits = {*file} == {*FILE.split()} and all({*one} == {*STEPS[one["step"]].split()} for one in chain)
    need(fits, "entries that no protocol has")
    need((before is None) == (step["step"] != "by_history"), "the steps do not fit together")
    need(file["secret"] == " and ".join(read) or not read, "the secret that is named is not the one that is read")
    for fill in chain[1:]:
        check_fill(fill, {column["name"]: len(column["labels"]) for column in step["columns"]}, file)
    released = {column["name"] for column in step["columns"]} | {name for s in chain[1:] for name in s["order"]}
    need(file["noise"] is None or not released & {*read}, "the secret itself is released")
    if before is None:
        return [file]
    need(all(one in file["secret_readings"] for one in before["secret_readings"]), "releases about other secrets")
    return [*releases(before), file]


def check_fill(fill: dict[str, Any], sizes: dict[str, int], file: dict[str, Any]) -> None:
    """Filled columns must be drawn from what is released of the row, and from nothing else; sizes are of kept ones."""
    noise, filled, inside = fill["noise"], fill["filled"], {one["name"]: one for one in fill["inside"]}
    names, sizes = [*sizes, *(one["name"] for one in filled)], dict(sizes)
    need(len({*names}) == len(names) and sorted(fill["order"]) == sorted(names), "columns filled twice, or not told")
    own = {*noise} == {*FILL_NOISE.split()} and {"private counts"} == {file["fitted"]} and file["before"] is None
    own = own and noise["tables"] == len(filled) + len(inside)
    need(own, "the noise of filled columns is not that of their tables")
    epsilon, choosing, delta, sigma = (number(noise[name]) for name in FILL_NOISE.split()[:4])
    need(epsilon > 0 and epsilon >= choosing and 0 < delta < 1 <= sigma, "there is no such noise")
    for one in filled:
        need({*one} == {*FILLED.split()}, "entries that no filled column has")
        known = all(name in sizes for name in one["parents"]) and len({*one["parents"]}) == len(one["parents"])
        need(known, "a column is filled given another that is not drawn before")
        rows, size = one["weights"], len(one["weights"][0])
        need(len(rows) == math.prod(sizes[name] for name in one["parents"]), "a filled column does not fit its parents")
        need(len(one["counts"]) == len(rows), "the noisy counts of a filled column do not fit")
        for row, counts in zip(rows, one["counts"], strict=True):
            parts_of_unit(row, size, "a filled column")
            need(
                len(whole(counts, -(2**53), 2**53, "noisy counts")) == size, "the counts of a filled column do not fit"
            )
        sizes[one["name"]] = size
    need(len(inside) == len(fill["inside"]) and not {*inside} - {*names}, "values of columns that are none")
    need({*inside} >= {one["name"] for one in filled}, "it is not said how a filled column is written")
    for one in fill["inside"]:
        own = {*one} == {*INSIDE.split()} and (one["column"] or one)["name"] == one["name"]
        need(own, "entries that the values of no column have")
        each = [0] * sizes[one["name"]]
        for code, first, last, weight in (whole(part, -(2**62), 2**62, "parts") for part in one["parts"]):
            need(0 <= code < len(each) and first <= last and weight >= 0, "a part of a value is none")
            each[code] += weight
        need({*each} <= {0, UNIT}, "the parts of a value do not add up")
        counts, ends = whole(one["counts"], -(2**53), 2**53, "noisy counts"), whole(one["ends"], 0, 2**53, "ends")
        least = len(one["parts"])
        need(
            least <= len(counts) <= least + 1 and len(ends) == 2 and sum(ends) <= least,
            "the counts of parts do not fit",
        )


# ---- the verdict


def check(file: dict[str, Any], lines: list[str]) -> None:
    """Stop unless the promise is kept; lines tell what was checked, and how near it is."""
    files, noise, step, promise = releases(file), file["noise"], file["chain"][0], file["promise"]
    lines += [f"file      {file['digest']}", f"promise   {json.dumps(promise, ensure_ascii=False)}", BESIDE]
    if noise is None:
        raise Stop(LEFT, "everything: the file carries no counts, so the original table is needed (--table)")
    if step["step"] == "by_model":
        raise Stop(LEFT, "whether the model follows from its noisy tables, and every group of it keeps the promise")
    people = [people_of(one) for one in files if one["noise"] is not None][-1]
    secrets, names = list(range(len(people[0][1]))), [column["name"] for column in step["columns"]]
    plain, read = promise["promise"] if promise["notion"] == "robust" else promise, file["secret_readings"]
    in_order = [name for name, _ in plain.get("each", [])] in ([], [reading["name"] for reading in read])
    need(in_order or not read, "the promises are not about the secrets that were read, in their order")
    found, draw = clauses(plain, secrets, names, file["secret"]), step.get("draw")
    need(draw is None or simple(plain), "draws for values never seen are proven for promises of one part only")
    outcomes = drawn(files, people)
    unmet = sum(r for y, r in enumerate(draw or []) if (y,) not in outcomes)
    need(unmet == 0, "a draw for values never seen that nobody else can get")
    tightest, count = proven(found, people, outcomes, draw)
    spent = f"ε₀ = {noise['epsilon'] + noise['choosing']:g}"
    lines.insert(2, f"people    {noise['people']:,} in noisy counts ({spent}), with {len(people):,} values x")
    lines.insert(3, f"releases  {len(files)}, with {len(outcomes):,} outcomes y; every column sums to 2^32")
    lines.insert(4, f"checked   {count:,} inequalities between whole numbers")
    lines += [f"kept      {', '.join(names)}: the promise is about these"] if file["chain"][1:] else []
    for fill in file["chain"][1:]:
        told, more = ", ".join(one["name"] for one in fill["filled"]), f"{fill['noise']['epsilon']:g}"
        lines += [f"filled    {told}: drawn from what is released, so they tell no more; ε₀ = {more} more"]
        lines += [
            f"          noise of σ = {fill['noise']['sigma']:.4g} on their tables: not proven, the publisher's word",
            BESIDE_FILL,
        ]
        lines += [f"never     {fill['never']['words']}: no row, by how columns are filled"] if fill["never"] else []
    kept = True
    for (i, kind), (over, under, y, J) in tightest.items():
        bound, most = found[i].bounds()[kind], found[i].limits[kind]
        fits = over * bound.denominator <= bound.numerator * under
        reached = math.ceil(Fraction(10**9 * over, under)) / 10**9 if kind == "belief" else level(over, under)
        where = f"y = {', '.join(map(str, y))}" + "".join(f", known {names[j]}" for j in J)
        lines += [f"level     {found[i].about}, {kind}: {reached:.9f} of {most:g}, tightest at {where}"]
        lines += [] if fits else [f"          BROKEN: {over} / {under} is above it"]
        kept = kept and fits
    need(kept, "a row tells more than is promised")
    if promise["notion"] == "robust":
        raise Stop(LEFT, "whether it holds for all people whom these counts leave possible, not for these counts only")


def shown(line: str) -> str:
    """A line with the names of a file in it, which must not reach a terminal as they stand."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def main(arguments: list[str]) -> int:
    """Print the verdict, what was checked, and the level."""
    lines: list[str] = []
    try:
        check(content_of(*arguments), lines)
        verdict, why = "KEPT", "the promise is proven"
    except Stop as stop:
        verdict, why = stop.args
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        verdict, why = "BROKEN", "the file is not written as a protocol is"
    print(
        f"{verdict}: {why}.", *map(shown, lines), sep="\n", file=sys.stderr if verdict == "UNREADABLE" else sys.stdout
    )
    return {"KEPT": 0, "UNREADABLE": 2}.get(verdict, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
