"""Learn, then test: choose a channel on one random part of the people, test its outputs on the others.

*Learn.* On A, p(s, x) is estimated for all combinations x of the columns' values, seen or not: a log-linear model,
mixed with the counts as fits best within A. Candidates are made from coarse to fine: Q(y|x) in multiples of 1/16 that
keeps the most information, found by annealing, while every output should stay Z standard errors of B inside of the
promise.

*Test.* On B, an output is drawn for everybody. That P(s|y) ≥ e^ε P(s), or ≤ e^-ε P(s), says that P(s|y) and P(s|not y)
have some ratio or a larger one: two independent binomials, with exact tails. A candidate passes if this is rejected for
all outputs and secrets, at β. The β is not shared out: a candidate that breaks the promise has an output that does, and
this one alone passes with a probability of at most β; and candidates are tested in order up to the first that
fails, so to release one that breaks the promise, the first such must pass. The last that passed is released, and if
none did, a constant. The promise then holds for everybody, people with combinations never seen too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from benchmarks.robust import DATA, TABLES
from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.population import people
from privacyfunnel.promises.confidence_bounds import clopper_pearson

BETA, FOR_SIZE, FOR_SHARE = 0.05, 0.01, 0.03
"""How often the promise may be broken, and the shares of it that go to P(y) and P(s|not y)."""
CUTS = ((8, 2), (40, 6))
"""Cells of the range of P(s|not y), and steps in a standard deviation of its count: a few, then more if need be."""
MARGINS = (9.0, 7.5, 6.5, 5.8, 5.2, 4.7, 4.3, 4.0, 3.7, 3.4, 3.1, 2.8)
"""Z of the candidates, in the order in which they are tested."""
RECKLESS = (1.0, 0.3)
"""Margins of candidates that mostly break the promise: these try the test."""
TRIED = (0.6, 0.75, 0.9, 1.0)
"""Numbers of outputs to search with, in multiples of the most that there can be if all are alike."""
SHARES = (0.5, 0.3)
"""Shares of the people in A."""
SPLITS = 5
NESTED = {(0, 0.2): 1.625, (1, 0.2): 1.740, (2, 0.2): 1.895, (2, 0.5): 3.374}
"""Nats that nested sets kept as a prototype, for the number of the table and ε."""
MORE_SPLITS = 20
"""For these: five splits are too few to compare medians that differ by a tenth."""
TAUS = tuple(np.geomspace(0.02, 200, 20))
"""Weights of the model, in multiples of the counts'."""
PASSES = 20
"""Times that all pairs or triples of columns are fitted."""
MOST_PARTS = 16
"""Equal parts of a value that may go to different outputs."""
STEPS = 300_000
"""Moves of one part tried for a candidate."""
HOT, COLD = 1e-2, 1e-5
"""Nats that are given up by chance, at first and at last."""
SOFT, STIFF = 3.0, 60.0
"""Nats for everybody in an output that is not inside of the promise at all, at first and at last."""
SPARE = 1.02
"""The margin that is searched for, in multiples of the one that is asked for."""


@dataclass(frozen=True, eq=False)
class Counts:
    """People at [s, x], for all combinations x of the columns' values, seen or not."""

    n: np.ndarray
    codes: np.ndarray
    """codes[x, j]."""

    @classmethod
    def of(cls, joint: pf.Joint) -> Counts:
        shape = tuple(len(column) for column in joint.columns)
        n = np.zeros((joint.n_s, *shape), dtype=np.int64)
        n[(slice(None), *joint.codes.T)] = joint.weights
        codes = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
        return cls(n.reshape(joint.n_s, -1), codes)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """A random part of the people, and all others."""
        some = rng.multivariate_hypergeometric(self.n.ravel(), round(share * self.n.sum())).reshape(self.n.shape)
        return Counts(some, self.codes), Counts(self.n - some, self.codes)


@dataclass(frozen=True)
class Window:
    """P(s|y) of the second of two secrets that keep LIP(ε) if P(s) is as guessed, and the factors e^±ε that bind."""

    low: float
    high: float
    at_low: float
    at_high: float

    @classmethod
    def of(cls, epsilon: float, share: float) -> Window:
        up, down = math.exp(epsilon), math.exp(-epsilon)
        low = max((down * share, down), (1 - up * (1 - share), up))
        high = min((up * share, up), (1 - down * (1 - share), down))
        return cls(max(low[0], 1e-12), min(high[0], 1 - 1e-12), low[1], high[1])


# --- learn ----------------------------------------------------------------------------------------


def smoothed(a: Counts, rng: np.random.Generator) -> np.ndarray:
    """p[s, x] = (n[s, x] + τ m[s, x]) / (n + τ), with a log-linear model m of pairs or triples of columns.

    The secret is one of the columns. Which model and which τ, in multiples of n: those of one half of A that make the
    other half likeliest.
    """
    half, other = a.split(0.5, rng)

    def likelihood(m: np.ndarray, tau: float) -> float:
        return float((other.n * np.log(mixed(half, m, tau))).sum())

    fits = {(order, tau): likelihood(m, tau) for order in (2, 3) for m in [model(half, order)] for tau in TAUS}
    order, tau = max(fits, key=lambda choice: fits[choice])
    return mixed(a, model(a, order), tau)


def mixed(a: Counts, m: np.ndarray, tau: float) -> np.ndarray:
    return (a.n / a.n.sum() + tau * m) / (1 + tau)


def model(a: Counts, order: int) -> np.ndarray:
    """m[s, x]: the counts of all pairs of columns are fitted in turn, or of all triples that hold the secret.

    A hundredth of it is that of independent columns, so that nothing is impossible.
    """
    shape = (len(a.n), *(a.codes.max(axis=0) + 1))
    n = a.n.reshape(shape) / a.n.sum()
    axes = range(len(shape))

    def summed(array: np.ndarray, over: tuple[int, ...]) -> np.ndarray:
        return array.sum(axis=tuple(j for j in axes if j not in over), keepdims=True)

    alone = np.ones(shape)
    for j in axes:
        alone = alone * (summed(n, (j,)) + 0.5 / a.n.sum()) / (1 + 0.5 * shape[j] / a.n.sum())
    groups = [over for over in combinations(axes, min(order, len(shape))) if order == 2 or 0 in over]
    m = alone.copy()
    for _ in range(PASSES):
        for over in groups:
            have = summed(m, over)
            m = m * np.divide(summed(n, over), have, out=np.zeros_like(have), where=have > 0)
    return (0.99 * m / m.sum() + 0.01 * alone).reshape(len(a.n), -1)


def candidate(p: np.ndarray, n_test: float, window: Window, margin: float, seed: int, steps: int) -> np.ndarray:
    """Q[y, x] for all combinations x; every output is expected to keep the margin on B, if p[s, x] is right."""
    expected = p.sum(axis=0) * n_test
    share = p[1] / p.sum(axis=0)
    K = np.arange(1, len(expected) * MOST_PARTS + 1)
    even = inside(n_test / K, n_test / K * p[1].sum(), n_test, window)
    most = int(K[even >= margin].max(initial=1))
    best = np.ones((1, len(expected)))
    for outputs in sorted({max(2, round(most * part)) for part in TRIED}) if most > 1 else []:
        Q = searched(expected, share, outputs, window, margin, seed, steps)
        best = max(best, Q, key=lambda Q: kept(Q, expected))
    return best


def searched(
    n: np.ndarray, p: np.ndarray, outputs: int, window: Window, margin: float, seed: int, steps: int
) -> np.ndarray:
    """Q[y, x] with at most so many outputs, all of which keep the margin, or with one output."""
    wanted = np.ceil(np.log2(np.maximum(1.0, 8 * n * outputs / n.sum())))
    parts = np.minimum(MOST_PARTS, 2**wanted).astype(np.int64)
    starts, of = np.concatenate([[0], np.cumsum(parts)]), np.repeat(np.arange(len(parts)), parts)
    place = np.random.default_rng(seed).integers(0, outputs, len(parts))[of]
    limits = np.array([window.low, window.high, window.at_low, window.at_high, margin * SPARE])
    annealed(starts, n / parts, n * p / parts, place, outputs, limits, steps, seed, np.array([HOT, COLD, SOFT, STIFF]))
    Q = np.zeros((outputs, len(parts)))
    np.add.at(Q, (place, of), 1 / parts[of])
    return merged(Q, n, p, window, margin)


def merged(Q: np.ndarray, n: np.ndarray, p: np.ndarray, window: Window, margin: float) -> np.ndarray:
    """Outputs that would not keep the margin are joined to another, the smallest first, where that keeps it best."""
    Q = Q[(Q @ n) > 0]
    while len(Q) > 1:
        size, ill = Q @ n, Q @ (n * p)
        z = inside(size, ill, n.sum(), window)
        bad = np.flatnonzero(z < margin * (1 - 1e-9))
        if not bad.size:
            break
        y = bad[np.argmin(size[bad])]
        others = np.delete(np.arange(len(Q)), y)
        after = inside(size[others] + size[y], ill[others] + ill[y], n.sum(), window)
        good = after >= margin
        joined = size[others] + size[y]
        best = others[np.argmin(np.where(good, joined, np.inf)) if good.any() else np.argmax(after)]
        Q[best] += Q[y]
        Q = np.delete(Q, y, axis=0)
    return Q


def inside(size: np.ndarray, ill: np.ndarray, total: float, window: Window) -> np.ndarray:
    """By how many standard errors outputs with so many people, of whom so many have the secret, keep the promise.

    P̂(s|y) − f P̂(s) has the variance P(s|y)(1 − P(s|y))(1 − 2fq + f²q)/n_y, about, where q = n_y/n.
    """
    share, q, found = ill / size, size / total, []
    for edge, f, sign in ((window.low, window.at_low, 1), (window.high, window.at_high, -1)):
        found.append(sign * (share - edge) * np.sqrt(size / (edge * (1 - edge) * (1 - 2 * f * q + f * f * q))))
    return np.asarray(np.minimum(*found))


@compiled
def annealed(starts, size, ill, place, outputs, limits, steps, seed, schedule):
    """Simulated annealing of I(X;Y) less what outputs lack of the margin; changes `place`, the output of every part.

    Value x has the parts starts[x] to starts[x + 1], each of size[x] people, of whom ill[x] have the secret.
    """
    np.random.seed(seed)  # noqa: NPY002 — Numba's own, the quickest in a loop
    values = len(size)
    of = np.zeros(len(place), dtype=np.int64)
    n, k, held = np.zeros(outputs), np.zeros(outputs), np.zeros((values, outputs))
    total = 0.0
    for x in range(values):
        for i in range(starts[x], starts[x + 1]):
            of[i] = x
            total += size[x]
            n[place[i]] += size[x]
            k[place[i]] += ill[x]
            held[x, place[i]] += 1
    low, high, f, g, margin = limits
    hot, cold, soft, stiff = schedule
    low_1, low_q = low * (1 - low), low * (1 - low) * (f * f - 2 * f)
    high_1, high_q = high * (1 - high), high * (1 - high) * (g * g - 2 * g)

    def worth(n_y, k_y, stiffness):
        if n_y <= 1e-9:
            return 0.0
        share, q = k_y / n_y, n_y / total
        z = min(
            (share - low) * math.sqrt(n_y / max(1e-9, low_1 + low_q * q)),
            (high - share) * math.sqrt(n_y / max(1e-9, high_1 + high_q * q)),
        )
        return -q * math.log(q) - q * stiffness * min(2.0, max(0.0, 1 - z / margin))

    def told(h):
        return h * math.log(h) if h > 0 else 0.0

    for step in range(steps):
        done = step / steps
        heat, stiffness = hot * (cold / hot) ** done, soft * (stiff / soft) ** done
        i, y, kind = np.random.randint(len(place)), np.random.randint(outputs), np.random.random()  # noqa: NPY002
        x, old, j, all_parts = of[i], place[i], -1, kind < 0.2
        if kind > 0.6:  # exchange two parts
            j = np.random.randint(len(place))  # noqa: NPY002
            y = place[j]
        if (y == old and not all_parts) or (j >= 0 and of[j] == x):
            continue
        if all_parts:
            parts, gain, moved = starts[x + 1] - starts[x], 0.0, 0.0
            for o in range(outputs):
                h = held[x, o]
                if h > 0 and o != y:
                    gain += worth(n[o] - h * size[x], k[o] - h * ill[x], stiffness) - worth(n[o], k[o], stiffness)
                    moved += h
                gain -= told(h) * size[x] / total
            if moved == 0:
                continue
            gain += told(parts) * size[x] / total
            gain += worth(n[y] + moved * size[x], k[y] + moved * ill[x], stiffness) - worth(n[y], k[y], stiffness)
            if gain < 0 and np.random.random() >= math.exp(gain / heat):  # noqa: NPY002
                continue
            for part in range(starts[x], starts[x + 1]):
                o = place[part]
                n[o], k[o], held[x, o] = n[o] - size[x], k[o] - ill[x], held[x, o] - 1
                n[y], k[y], held[x, y] = n[y] + size[x], k[y] + ill[x], held[x, y] + 1
                place[part] = y
            continue
        n_old, k_old, n_new, k_new = n[old] - size[x], k[old] - ill[x], n[y] + size[x], k[y] + ill[x]
        gain = told(held[x, old] - 1) + told(held[x, y] + 1) - told(held[x, old]) - told(held[x, y])
        gain *= size[x] / total
        if j >= 0:
            u = of[j]
            n_old, k_old, n_new, k_new = n_old + size[u], k_old + ill[u], n_new - size[u], k_new - ill[u]
            change = told(held[u, y] - 1) + told(held[u, old] + 1) - told(held[u, y]) - told(held[u, old])
            gain += change * size[u] / total
        gain += worth(n_old, k_old, stiffness) + worth(n_new, k_new, stiffness)
        gain -= worth(n[old], k[old], stiffness) + worth(n[y], k[y], stiffness)
        if gain < 0 and np.random.random() >= math.exp(gain / heat):  # noqa: NPY002
            continue
        n[old], k[old], n[y], k[y] = n_old, k_old, n_new, k_new
        held[x, old] -= 1
        held[x, y] += 1
        place[i] = y
        if j >= 0:
            held[of[j], y] -= 1
            held[of[j], old] += 1
            place[j] = old


# --- test -----------------------------------------------------------------------------------------


def drawn(Q: np.ndarray, b: Counts, rng: np.random.Generator) -> np.ndarray:
    """People of B at [s, y], with an output drawn for each."""
    found = np.zeros((len(b.n), len(Q)), dtype=np.int64)
    for s, x in zip(*np.nonzero(b.n), strict=True):
        found[s] += rng.multinomial(b.n[s, x], Q[:, x])
    return found


def passes(found: np.ndarray, epsilon: float) -> bool:
    """Whether for no output and secret the counts at [s, y] leave open, but by a chance of β, a lift beyond e^±ε.

    With q = P(y), P(s|y) ≥ f P(s) says P(s|y) ≥ ρ P(s|not y) with ρ = f(1 − q)/(1 − fq): two binomials, independent
    given n_y. For f > 1, ρ grows with q, for f < 1 it falls; at a lower bound of q, either hypothesis is at its widest.
    """
    n_y, n = found.sum(axis=0), found.sum()
    if found.shape[1] == 1:
        return True
    least, _ = clopper_pearson(n_y.astype(float), np.array([float(n)]), BETA * FOR_SIZE)
    for y in np.argsort(n_y):
        for s in range(len(found)):
            for f in (math.exp(epsilon), math.exp(-epsilon)):
                rho = f * (1 - least[y]) / (1 - f * least[y]) if f * least[y] < 1 else math.inf
                here, there = (found[s, y], n_y[y]), (found[s].sum() - found[s, y], n - n_y[y])
                if not math.isfinite(rho):  # no share of s elsewhere is small enough for such a lift
                    continue
                if f < 1:
                    here, there, rho = there, here, 1 / rho
                if all(ratio_tail(here, there, rho, *cuts) > BETA * (1 - FOR_SIZE) for cuts in CUTS):
                    return False
    return True


def ratio_tail(here: tuple[int, int], there: tuple[int, int], rho: float, cells: int, steps: int) -> float:
    """At least the p-value of p ≥ ρ p′, from k of n people and k′ of n′, where small k/n − ρ k′/n′ speak against it.

    The tail is largest on p = ρ p′. p′ is bounded with FOR_SHARE of β (Berger and Boos 1994), and its range cut into
    cells; in each, k is as if p were at the lower end and k′ as if p′ were at the upper one, and sums over k′ go in
    steps, each with the largest k of the step: all of this can only make the tail larger.
    """
    from scipy.special import bdtr

    (k, n), (k_, n_) = here, there
    if n == 0 or n_ == 0:
        return 1.0
    spent = BETA * FOR_SHARE
    low, high = (float(end[0]) for end in clopper_pearson(np.array([float(k_)]), np.array([float(n_)]), spent / 2))
    high = min(high, 1 / rho)
    if low >= high:  # ρ p′ would be more than 1
        return spent
    ends = np.linspace(low, high, cells + 1)
    t = k / n - rho * k_ / n_
    spread = math.sqrt(max(n_ * high * (1 - low), 1.0))
    inner = np.arange(n_ * low - 5 * spread, n_ * high + 5 * spread + 1, max(1.0, spread / steps))
    edges = np.unique(np.concatenate([[-1], np.clip(inner, 0, n_), [n_]]).astype(np.int64))
    reach = np.floor(n * (t + rho * edges[1:] / n_) + 1e-9)  # the largest k in the tail, at the upper end of a step
    mass = np.diff(np.where(edges < 0, 0.0, bdtr(np.maximum(edges, 0), n_, ends[1:, None])), axis=1)
    below = np.where(reach < 0, 0.0, bdtr(np.clip(reach, 0, n), n, np.minimum(1.0, rho * ends[:-1, None])))
    return float((mass * below).sum(axis=1).max()) + spent


@dataclass(frozen=True, eq=False)
class Tested:
    """What is released, and the last candidate that was tested."""

    Q: np.ndarray
    last: np.ndarray
    passed: int


def released_by(
    counts: Counts,
    epsilon: float,
    rng: np.random.Generator,
    share: float,
    margins: tuple[float, ...] = MARGINS,
    steps: int = STEPS,
) -> Tested:
    """Learn on A, test on B."""
    a, b = counts.split(share, rng)
    released = last = np.ones((1, counts.n.shape[1]))
    if a.n.sum(axis=1).min() == 0:
        return Tested(released, last, 0)
    p = smoothed(a, rng)
    window = Window.of(epsilon, p[1].sum())
    for number, margin in enumerate(margins):
        last = candidate(p, float(b.n.sum()), window, margin, int(rng.integers(2**31)), steps)
        if not passes(drawn(last, b, rng), epsilon):
            return Tested(released, last, number)
        released = last
    return Tested(released, last, len(margins))


def kept(Q: np.ndarray, n_x: np.ndarray) -> float:
    """I(X;Y) in nats."""
    mass = Q * (n_x / n_x.sum())
    q = mass.sum(axis=1, keepdims=True)
    ratio = np.divide(Q, q, out=np.ones_like(Q), where=mass > 0)
    return float((mass * np.log(np.where(mass > 0, ratio, 1.0))).sum())


# --- measure --------------------------------------------------------------------------------------


def tables() -> Iterator[tuple[str, pf.Joint]]:
    """Demo population, Adult and COMPAS, the latter two if they are there."""
    demo = people(20_000, seed=1)
    columns = ["sex", "town", "height", "weight"]
    table = pa.table({name: demo[name] for name in ("obese", *columns)})
    for j in (2, 3, 4):
        yield f"demo: obese / {'×'.join(columns[:j])}", pf.Joint.from_table(table, "obese", columns[:j])
    for name, secret, attributes in (TABLES[3], TABLES[6]):
        if (DATA / f"{name}.csv.gz").exists():
            bins = {column: "each" for column in attributes if column == "decile_score"}
            joint = pf.Joint.from_table(DATA / f"{name}.csv.gz", secret, attributes, bins=bins, missing="?")
            yield f"{name}: {secret} / {'×'.join(attributes)}", joint


def utility(splits: int = SPLITS) -> list[dict[str, object]]:
    """Nats kept on the whole table: the median, least and most over random splits."""
    rows: list[dict[str, object]] = []
    for words, joint in tables():
        counts = Counts.of(joint)
        for epsilon in (0.2, 0.5):
            row: dict[str, object] = {"problem": f"{words} LIP({epsilon})", "values": joint.n_x}
            for share in SHARES:
                started = time.process_time()
                found = [
                    released_by(counts, epsilon, np.random.default_rng([7, split]), share) for split in range(splits)
                ]
                nats = [kept(one.Q, counts.n.sum(axis=0)) for one in found]
                row[f"A {share:.0%}: nats"] = float(np.median(nats))
                row[f"A {share:.0%}: from, to"] = f"{min(nats):.3f}, {max(nats):.3f}"
                row[f"A {share:.0%}: outputs"] = float(np.median([len(one.Q) for one in found]))
                row[f"A {share:.0%}: s"] = (time.process_time() - started) / splits
            rows.append(row)
    return rows


def against_nested(splits: int = MORE_SPLITS) -> list[dict[str, object]]:
    """The same over more splits, other ones, where it is known what nested sets keep."""
    rows: list[dict[str, object]] = []
    joints = [*islice(tables(), 3)]
    for (table, epsilon), nested in NESTED.items():
        words, joint = joints[table]
        counts = Counts.of(joint)
        row: dict[str, object] = {"problem": f"{words} LIP({epsilon}), {splits} splits", "nested": nested}
        for share in SHARES:
            found = [released_by(counts, epsilon, np.random.default_rng([8, split]), share) for split in range(splits)]
            nats = [kept(one.Q, counts.n.sum(axis=0)) for one in found]
            row[f"A {share:.0%}: nats"] = float(np.median(nats))
            row[f"A {share:.0%}: mean"] = float(np.mean(nats))
            row[f"A {share:.0%}: from, to"] = f"{min(nats):.3f}, {max(nats):.3f}"
            row[f"A {share:.0%}: above nested"] = sum(one > nested for one in nats)
        rows.append(row)
    return rows


def failures(samples: int = 200) -> list[dict[str, object]]:
    """How often 0.4-LIP is broken for a known population, by what is released and by what was tested last."""
    shape, notion = (2, 3, 4), pf.LIP(0.4)
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.full(24, 2.0)) * (leaning := rng.beta(2, 4, 24))
    truth = np.stack([truth / leaning - truth, truth]).reshape(2, *shape)
    population = pf.Joint(truth / truth.sum())
    codes = np.stack(np.unravel_index(np.arange(24), shape), axis=1)
    rows: list[dict[str, object]] = []
    for n in (300, 3_000, 30_000):
        for name, margins in (("as above", MARGINS), ("reckless", RECKLESS[:1]), ("reckless", RECKLESS[1:])):
            rng = np.random.default_rng(n)
            broken = tried = 0
            nats = 0.0
            for _ in range(samples):
                counts = Counts(rng.multinomial(n, population.p.ravel()).reshape(2, -1), codes)
                found = released_by(counts, notion.epsilon, rng, SHARES[0], margins, STEPS // 10)
                broken += notion.level(population, found.Q) > notion.epsilon * (1 + 1e-9)
                tried += notion.level(population, found.last) > notion.epsilon * (1 + 1e-9)
                nats += kept(found.Q, population.p_x)
            rows.append(
                {
                    "problem": f"{samples} samples of n={n:,}, {notion}, margins {name}: {margins[-1]}",
                    "broken": broken / samples,
                    "last tested broken": tried / samples,
                    "mean nats": nats / samples,
                }
            )
    return rows


def size(samples: int = 1_000) -> list[dict[str, object]]:
    """How often a channel passes on B whose first output is at the limit, the three others inside."""
    rows: list[dict[str, object]] = []
    epsilon, ill = 0.4, 0.3
    for n in (300, 3_000, 30_000):
        for f in (math.exp(epsilon), math.exp(-epsilon)):
            rng = np.random.default_rng(n)
            q = np.array([0.1, 0.3, 0.3, 0.3])
            share = np.array([f * ill, *[ill * (1 - 0.1 * f) / 0.9] * 3])
            p = np.stack([q * (1 - share), q * share])
            found = rng.multinomial(n, p.ravel(), size=samples).reshape(-1, *p.shape)
            passed = sum(passes(one, epsilon) for one in found)
            rows.append({"problem": f"{samples} tests of n={n:,}, one lift at {f:.3f}", "passed": passed / samples})
    return rows


def run() -> list[dict[str, object]]:
    return [*size(), *failures(), *utility(), *against_nested()]


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "tested", run())
