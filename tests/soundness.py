"""Is a bound a bound? Utilities that are reached for sure, found in rationals, against every way of bounding.

The reaching side shares nothing with the optimiser, the notions' rows or the certificate: vertices of Δ by the Parma
Polyhedra Library, with e^ε from below to 40 digits, a linear program over them by SciPy, and the mixture refined
with exact residuals. What is left of p_x then is 1e-16 of it, so the utility is reached to about 1e-13 nats.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

import privacyfunnel as pf
from privacyfunnel.errors import PrivacyFunnelError, SolverFailure
from privacyfunnel.optimiser.bounds.chain_rule import bound_by_chains
from privacyfunnel.optimiser.bounds.fewer_secrets import bound_by_fewer
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.few_secrets.faces import find_faces
from privacyfunnel.optimiser.few_secrets.search import sweeps
from privacyfunnel.optimiser.generation.search import generate
from privacyfunnel.optimiser.program.listing import list_vertices
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.optimiser.program.supports import candidates
from privacyfunnel.optimiser.two_secrets.pairing import bound_by_pairs, pair_values
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.channel import UNIT, Channel

PERFECT = 1e-8
"""What a certificate grants at ε = 0."""
ROUNDING = 1e-12
"""By how much a utility that is reached may be misjudged in float64."""
DIGITS = 40
GAP = 1e-6
LISTED = 100_000
"""Candidates for vertices that are listed here."""
ALIKE = 1e-18
"""What may be missing of a value, relative to its probability, after refining."""
SINGLE = ("ldp", "lip", "alip", "pml", "perfect")
SEVERAL = ("srlip", "srldp")
TABLES = ("even", "sparse", "skewed", "alike")
SHAPES = ((2, 2), (2, 3), (3, 2))
"""Attributes of tables with side channels: few, so that all vertices can be listed in rationals."""


# --- reaching -------------------------------------------------------------------------------------------


def exp_below(epsilon: float) -> Fraction:
    """A rational just below e^ε."""
    wide = Context(prec=DIGITS)
    return Fraction(wide.exp(Decimal(epsilon))) * (1 - Fraction(1, 10 ** (DIGITS - 2)))


def factors(notion) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """How far lifts may go down, up and apart, as factors; None where they may go anywhere."""
    match notion.name:
        case "ldp" | "srldp":
            limits = None, None, notion.epsilon
        case "lip" | "srlip":
            limits = notion.epsilon, notion.epsilon, None
        case "alip":
            limits = notion.lower, notion.upper, None
        case "pml":
            limits = None, notion.epsilon, None
        case "perfect":
            limits = 0.0, 0.0, None
    lower, upper, spread = (None if limit is None else exp_below(limit or PERFECT) for limit in limits)
    return lower, upper, spread


def cells(notion, shape: tuple[int, ...], seen: list[int]) -> list[list[int]]:
    """The groups of values that somebody may know X to be in; places in `seen`, numbers of values in C order."""
    codes = np.stack(np.unravel_index(seen, shape), axis=1)
    groups = {tuple(range(len(seen)))}
    if notion.name in SEVERAL:
        for size in range(1, len(shape)):
            for known in combinations(range(len(shape)), size):
                for value in {tuple(code) for code in codes[:, known].tolist()}:
                    inside = np.flatnonzero((codes[:, known] == value).all(axis=1))
                    groups.add(tuple(inside.tolist()))
    return [list(group) for group in groups if len(group) > 1]


def vertices(N: list[list[int]], groups: list[list[int]], allowed) -> list[list[Fraction]]:
    """The vertices of Δ in rationals, for integers N[s][x] in proportion to p(s, x)."""
    from privacyfunnel.paper.reference import _ppl

    ppl = _ppl()  # leaves the rounding of floats alone, unlike the bare import
    n_x = len(N[0])
    W_x = [sum(column) for column in zip(*N, strict=True)]
    W = sum(W_x)
    w = [ppl.Variable(x) for x in range(n_x)]  # v[x] W / W_x
    nothing = ppl.Linear_Expression(0)
    system = ppl.Constraint_System()
    for variable in w:
        system.insert(variable >= 0)
    system.insert(sum((W_x[x] * w[x] for x in range(n_x)), nothing) == W)
    lower, upper, spread = allowed
    for group in groups:
        own = [(sum(row[x] for x in group), sum((row[x] * w[x] for x in group), nothing)) for row in N]
        own = [(prior, seen) for prior, seen in own if prior]
        prior, mass = sum(W_x[x] for x in group), sum((W_x[x] * w[x] for x in group), nothing)
        for N_s, seen in own:
            if upper is not None:
                system.insert(prior * upper.denominator * seen <= N_s * upper.numerator * mass)
            if lower is not None:
                system.insert(prior * lower.numerator * seen >= N_s * lower.denominator * mass)
            for N_t, other in own if spread is not None else []:
                system.insert(N_t * spread.denominator * seen <= N_s * spread.numerator * other)
    found = []
    for point in ppl.C_Polyhedron(system).generators():
        divisor = int(point.divisor())
        found.append([Fraction(int(c) * W_x[x], W * divisor) for x, c in enumerate(point.coefficients())])
    return found


def entropy(v) -> float:
    """H(v) in nats."""
    return -math.fsum(p * math.log(p) for p in map(float, v) if p > 0)


@dataclass(frozen=True)
class Mixture:
    """Σ weight[i] row[i] = 1 at every value, each row u[x] = P(y|x) being that of an output; and I(X;Y)."""

    weight: list[Fraction]
    rows: list[list[Fraction]]
    utility: float


def reached(N: list[list[int]], groups: list[list[int]], allowed) -> Mixture | None:
    """The best mixture found; None if float64 could not refine it."""
    W_x = [sum(column) for column in zip(*N, strict=True)]
    p = [Fraction(w, sum(W_x)) for w in W_x]
    V = [p, *vertices(N, groups, allowed)]  # with p itself, so that a solution exists in float64
    U = [[a / b for a, b in zip(v, p, strict=True)] for v in V]
    scale = [max(u) for u in U]
    A = np.array([[float(a / k) for a in u] for u, k in zip(U, scale, strict=True)]).T
    H = [entropy(v) for v in V]
    cost = np.array([h / float(k) for h, k in zip(H, scale, strict=True)])
    fine = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(cost, A_eq=A, b_eq=np.ones(len(p)), method="highs-ds", options=fine)
    if answer.status != 0:
        return None
    used = np.flatnonzero(answer.x > 0)
    rows = [[a / scale[i] for a in U[i]] for i in used]
    weight = [Fraction(float(answer.x[i])) for i in used]
    for _ in range(3):  # the residual is exact, so each step gains ten digits or so
        missing = [1 - sum(q * row[x] for q, row in zip(weight, rows, strict=True)) for x in range(len(p))]
        if max(map(abs, missing)) <= ALIKE:
            break
        step = np.linalg.lstsq(A[:, used], np.array([float(part) for part in missing]), rcond=None)[0]
        weight = [q + Fraction(float(more)) for q, more in zip(weight, step, strict=True)]
    if min(weight) < 0 or max(map(abs, missing)) > ALIKE:
        return None
    kept = math.fsum(float(q / scale[i]) * H[i] for q, i in zip(weight, used, strict=True))
    return Mixture(weight, rows, entropy(p) - kept)


def certified(mixture: Mixture, p: list[float], holds: Callable[[Channel], bool]) -> float:
    """I(X;Y) of a channel of multiples of 2⁻³² like this mixture, drawn to a constant until an exact check passes."""
    Q = np.array([[float(q * a) for a in row] for q, row in zip(mixture.weight, mixture.rows, strict=True)])
    constant = Q @ np.array(p)
    kept = 0.0
    for share in np.append(1.0, 1 - 2.0 ** -np.arange(30, -1, -1)):
        exact = np.floor((share * Q + (1 - share) * constant[:, None]) * UNIT).astype(np.int64)
        exact[exact.sum(axis=1).argmax()] += UNIT - exact.sum(axis=0)
        channel = Channel.from_numerators(exact[exact.any(axis=1)])
        if holds(channel):
            q = exact / UNIT
            return max(kept, entropy(q @ p) - math.fsum(b * entropy(column) for b, column in zip(p, q.T, strict=True)))
    return kept


# --- bounding -------------------------------------------------------------------------------------------


def fresh(joint, notion) -> Search:
    """A search that has not begun."""
    classes = Classes.find(Polytope.granted(joint, notion, 0.5))
    outer = classes.outer(Polytope.outer(joint, notion))
    return Search.within(classes.polytope, joint.entropy, GAP, 5.0, None, threading.Event(), around=outer)


def by_listing(joint, notion) -> float | None:
    state = fresh(joint, notion)
    if candidates(state.polytope, notion.rank(joint)) > LISTED:
        return None
    list_vertices(state, notion.rank(joint))
    return state.upper_bound


def by_pairs(joint, notion) -> float:
    state = fresh(joint, notion)
    if joint.n_s == 2:
        pair_values(state)
    else:
        bound_by_pairs(state)
    return state.upper_bound


def by_sweeps(joint, notion) -> float | None:
    state = fresh(joint, notion)
    faces = find_faces(state.outer)
    if faces is None or faces.rank < 2:
        return None
    sweeps(state, faces)
    return state.upper_bound


def by_fewer(joint, notion) -> float:
    state = fresh(joint, notion)
    bound_by_fewer(state, bound_by_pairs(state), seconds=0.2)
    return state.upper_bound


def by_branching(joint, notion) -> float:
    state = fresh(joint, notion)
    generate(state, None)
    return state.upper_bound


def by_views(joint, notion) -> float:
    state = fresh(joint, notion)
    bound_by_views(notion.clauses(joint), state)
    return state.upper_bound


def by_chains(joint, notion) -> float:
    state = fresh(joint, notion)
    bound_by_chains(Polytope.granted(joint, notion), notion.views(joint), state, seconds=0.5)
    return state.upper_bound


def by_optimising(joint, notion) -> float:
    protocol = pf.optimise(joint, notion, time_limit=5.0)
    assert pf.certify(protocol, joint).holds
    return protocol.upper_bound


QUICK: dict[str, Callable] = {"listing": by_listing, "pairs": by_pairs, "sweeps": by_sweeps, "fewer": by_fewer}
SLOW: dict[str, Callable] = {"branch and bound": by_branching, "optimise": by_optimising}
SIDE: dict[str, Callable] = {"views": by_views, "listing": by_listing}
SLOW_SIDE: dict[str, Callable] = {**SLOW, "chains": by_chains}


# --- cases ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A table of integers N[s, x…] and a promise."""

    N: np.ndarray
    notion: object
    table: str

    @property
    def joint(self):
        return pf.Joint(self.N)

    def reached(self, share: float = 1.0) -> Mixture | None:
        """What is reached at a share of the ε that is promised."""
        notion = self.notion if share == 1 else self.notion.times(share)
        flat = self.N.reshape(len(self.N), -1)
        seen = np.flatnonzero(flat.sum(axis=0)).tolist()
        N = [[int(row[x]) for x in seen] for row in flat]
        return reached(N, cells(self.notion, self.N.shape[1:], seen), factors(notion))

    def ways(self, *, slow: bool) -> dict[str, Callable]:
        """The ways of bounding that suit it."""
        if self.notion.name in SEVERAL:
            return {**SIDE, **SLOW_SIDE} if slow else SIDE
        quick = QUICK if len(self.N) > 2 else {name: QUICK[name] for name in ("listing", "pairs")}
        return {**quick, **SLOW} if slow else quick


def table(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Integers in which every secret occurs."""
    match kind:
        case "even":
            N = rng.integers(1, 1000, shape)
        case "sparse":
            N = rng.integers(0, rng.choice([2, 3, 6]), shape) * (rng.random(shape) < 0.7)
        case "skewed":
            N = (10.0 ** rng.uniform(0, rng.choice([4, 9, 14]), shape) * (rng.random(shape) < 0.85)).astype(np.int64)
        case "alike":  # x tells next to nothing about s
            own, other = rng.integers(1, 9, (shape[0], *[1] * (len(shape) - 1))), rng.integers(1, 9, (1, *shape[1:]))
            N = own * other * 10 ** int(rng.integers(3, 11)) + rng.integers(-20, 21, shape)
    for s in np.flatnonzero(N.reshape(shape[0], -1).sum(axis=1) == 0):
        N[s].flat[rng.integers(0, N[s].size)] = 1
    return N


def epsilon(rng: np.random.Generator) -> float:
    """From 1e-9 to 700, on a logarithmic scale; where e^-ε meets the digits of float64 more often."""
    if rng.random() < 0.3:
        return float(rng.uniform(5, 60))
    return float(10 ** rng.uniform(-9, math.log10(700)))


def promise(rng: np.random.Generator, kind: str):
    """A promise of a kind."""
    match kind:
        case "perfect":
            return pf.PerfectPrivacy()
        case "alip":
            return pf.ALIP(*(0.0 if rng.random() < 0.1 else epsilon(rng) for _ in range(2)))
        case "srlip":
            return pf.SRLIP(epsilon(rng))
        case "srldp":
            return pf.SRLDP(epsilon(rng))
    return {"ldp": pf.LDP, "lip": pf.LIP, "pml": pf.PML}[kind](epsilon(rng))


def cases(seed: int, kinds: tuple[str, ...] = SINGLE + SEVERAL) -> Iterator[Case]:
    """Random cases without end, all kinds of promises and tables in turn."""
    rng = np.random.default_rng(seed)
    while True:
        for kind in kinds:
            for name in TABLES:
                n_s = int(rng.integers(2, 6))
                shape = SHAPES[rng.integers(len(SHAPES))] if kind in SEVERAL else (int(rng.integers(2, 7)),)
                if kind in SEVERAL:
                    n_s = min(n_s, 3)
                yield Case(table(rng, name, (n_s, *shape)), promise(rng, kind), name)


@dataclass(frozen=True)
class Verdict:
    """By how much the bound of a way exceeds what is reached, in nats; None if the way was refused."""

    case: Case
    way: str
    room: float | None

    @property
    def violated(self) -> bool:
        return self.room is not None and not self.room >= -ROUNDING


def verdicts(case: Case, *, slow: bool, without: tuple[str, ...] = ()) -> list[Verdict]:
    """Every way that suits a case, held against what is reached; but not some ways."""
    mixture = case.reached()
    if mixture is None:
        return []
    found = []
    for way, bound in case.ways(slow=slow).items():
        if way in without:
            continue
        try:
            value = bound(case.joint, case.notion)
        except SolverFailure:
            value = None
        except PrivacyFunnelError:  # a violated bound is an error
            value = -math.inf
        found.append(Verdict(case, way, None if value is None else value - mixture.utility))
    return found


def robust_verdicts(case: Case) -> list[Verdict]:
    """The bound of a promise over a confidence set, against channels that the exact check lets pass."""
    joint, notion = case.joint, pf.robust(case.notion)
    value = pf.optimise(joint, notion, time_limit=2.0).upper_bound
    p = [float(a) for a in joint.p_x]
    best = 0.0
    for share in (1.0, 0.5, 0.2, 0.05):
        mixture = case.reached(share)
        if mixture is not None:
            best = max(best, certified(mixture, p, lambda channel: certify_channel(channel, joint, notion).holds))
    return [Verdict(case, "confidence set", value - best)]


def prior_verdicts(case: Case, other: Case) -> list[Verdict]:
    """The bound of a promise for two distributions, against channels that keep it for each of them."""
    joints = [case.joint, other.joint]
    value = pf.optimise(joints, case.notion, time_limit=2.0).upper_bound
    p = [float(a + b) / 2 for a, b in zip(*(joint.p_x for joint in joints), strict=True)]

    def holds(channel: Channel) -> bool:
        return all(certify_channel(channel, joint, case.notion).holds for joint in joints)

    found = [one.reached(share) for one in (case, other) for share in (1.0, 0.5, 0.2)]
    best = max((certified(mixture, p, holds) for mixture in found if mixture is not None), default=0.0)
    return [Verdict(case, "two priors", value - best)]
