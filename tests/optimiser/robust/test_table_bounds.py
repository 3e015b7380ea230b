"""Bounds over nested sets: never below what rows reach, whatever the solver says, and near it where that is known."""

import importlib.util
import math
import threading
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import privacyfunnel as pf
from privacyfunnel.numeric import lp
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.robust import table_bounds, table_moments
from privacyfunnel.optimiser.robust.sparse_program import SparseProgram
from privacyfunnel.optimiser.robust.table_bounds import bound_by_tables
from privacyfunnel.optimiser.robust.table_caps import Caps
from privacyfunnel.optimiser.robust.table_cells import Cells
from privacyfunnel.optimiser.robust.table_programs import positive
from privacyfunnel.population import people
from privacyfunnel.promises.sets import SCALE

SHAPES = [(2, 2), (2, 3), (3, 2), (2, 2, 2)]
NOTIONS = [pf.LIP, pf.LDP, pf.PML]
EPSILONS = [0.05, 0.2, 0.5, 1.0]
needs_rationals = pytest.mark.skipif(
    importlib.util.find_spec("ppl") is None, reason="pplpy enumerates vertices exactly, and is not installed"
)


def problem(table, notion):
    """The joint of all combinations, its set and the limits."""
    over = pf.robust(notion, within="nested")
    joint = over.domain(table if isinstance(table, pf.Joint) else pf.Joint(table))
    return joint, over.possible(joint), over.limits


def bound_of(joint, parts, limits, **more):
    """The bound, in nats."""
    state = State(positive(joint.p_x), joint.entropy, 1e-6, more.get("time_limit"), None, threading.Event())
    bound_by_tables(joint, parts, limits, state)
    return state.upper_bound


def random_table(rng):
    """Counts of few or many people, evenly spread or not, with values that nobody has."""
    while True:
        shape = SHAPES[rng.integers(len(SHAPES))]
        size, n = 2 * math.prod(shape), int(rng.choice([60, 300, 2_000, 20_000]))
        chances = 0.9 * rng.dirichlet(np.full(size, rng.choice([0.5, 1.0, 5.0]))) + 0.1 / size
        table = rng.multinomial(n, chances).reshape(2, *shape)
        if rng.random() < 0.3:
            table[:, *(0 for _ in shape)] = 0
        if all(
            (table.sum(axis=tuple(j for j in range(1 + len(shape)) if j != k)) > 0).all() for k in range(table.ndim)
        ):
            return table


# --- what rows reach --------------------------------------------------------------------------------


def intervals(part, s):
    """A, lower, upper with lower ≤ A r ≤ upper exactly for the r = P(X|s) of the set, in units of SCALE."""
    n = part.given.lower.shape[2]
    rows = [np.eye(n), *(np.arange(table.lower.shape[2])[:, None] == table.of[0] for table in part.tables)]
    lower = [part.given.lower[0, s], *(table.lower[0, s] for table in part.tables)]
    upper = [part.given.upper[0, s], *(table.upper[0, s] for table in part.tables)]
    return np.concatenate(rows).astype(float), np.concatenate(lower), np.concatenate(upper)


def extreme(part, s, w, sign):
    """The largest (sign 1) or the least P(y|s) of a row w over the set."""
    A, lower, upper = intervals(part, s)
    found = linprog(
        -sign * w,
        A_ub=np.concatenate([A, -A]),
        b_ub=np.concatenate([upper, -lower]) / SCALE,
        A_eq=np.ones((1, len(w))),
        b_eq=[1.0],
        bounds=(0, None),
    )
    return -sign * found.fun


def overstepped(part, factors, w):
    """By how much a row breaks most_s ≤ κ least_t."""
    over = [extreme(part, s, w, 1) - factor * extreme(part, 1 - s, w, -1) for s, factor in factors]
    return max(over, default=0.0)


def information(w, p):
    return float((p * w * np.log(np.maximum(w, 1e-300))).sum())


def mixture(rows, p):
    """The largest Σ q I(w) with Σ q w = 1, the prices of values, and q."""
    found = linprog([-information(w, p) for w in rows], A_eq=np.array(rows).T, b_eq=np.ones(len(p)))
    return -found.fun, -found.eqlin.marginals, found.x


def good_rows(caps, rng, directions):
    """Rows that keep the promise: extreme ones in random directions, and better ones for the prices of the others."""
    p = caps.cells.p

    def best(cost):
        caps.lp.set_costs(-cost)
        w = caps.lp.solve()[0][: len(p)].clip(0)
        return w / (p @ w)

    some = [rng.normal(size=len(p)) * rng.exponential(size=len(p)) for _ in range(directions)]
    rows = [np.ones(len(p)), *(best(cost) for cost in [*np.eye(len(p)), *some])]
    for _ in range(4):
        y = mixture(rows, p)[1]
        rows += [best(p * (np.log(np.maximum(w, 1e-9)) + 1) - y) for w in rows[-2 * len(p) :]]
    return rows


def best_mixture(caps, rng, directions):
    """The rows of the best mixture of good ones, and their probabilities."""
    rows = np.array(good_rows(caps, rng, directions))
    q = mixture(rows, caps.cells.p)[2]
    return rows[q > 0], q[q > 0]


def reached(joint, parts, limits, rng, directions):
    """What is kept by a mixture of rows, each of which keeps the promise by linear programs over the set itself."""
    cells = Cells.within(joint, parts, limits)
    rows = good_rows(Caps(cells), rng, directions)
    if cells.n_x == joint.n_x:
        for w in rows[: 2 * cells.n_x]:
            assert overstepped(parts[0], cells.conditions, w) <= 1e-7 * w.max()
    return mixture(rows, cells.p)[0]


def agrees(seed, directions=60):
    """The bound less what is reached, for a random table."""
    rng = np.random.default_rng(seed)
    notion = NOTIONS[rng.integers(3)](float(rng.choice(EPSILONS)))
    joint, parts, limits = problem(random_table(rng), notion)
    return bound_of(joint, parts, limits) - reached(joint, parts, limits, rng, directions)


@pytest.mark.parametrize("seed", range(10))
def test_no_bound_is_below_what_rows_reach(seed):
    assert agrees(seed) > -1e-8


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 250))
def test_no_bound_is_below_what_rows_reach_in_many_tables(seed):
    assert agrees(seed, directions=150) > -1e-8


# --- against all vertices ---------------------------------------------------------------------------


def vertices(n, rows, equation):
    """The vertices of {w ≥ 0, rows·w ≤ 0 or (row, bound), equation·w = 1}, in rationals."""
    from privacyfunnel.paper.reference import _ppl

    ppl = _ppl()  # leaves the rounding of floats alone, unlike the bare import
    w = [ppl.Variable(x) for x in range(n)]

    def expression(row, constant=Fraction(0)):
        scale = math.lcm(*(Fraction(c).denominator for c in [*row, constant]))
        return sum((int(c * scale) * w[x] for x, c in enumerate(row)), ppl.Linear_Expression(int(-constant * scale)))

    system = ppl.Constraint_System()
    for variable in w:
        system.insert(variable >= 0)
    system.insert(expression(equation, Fraction(1)) == 0)
    for row, most in rows:
        system.insert(expression(row, most) <= 0)
    points = list(ppl.C_Polyhedron(system).generators())
    assert all(point.is_point() for point in points)
    return [[Fraction(int(c), int(point.divisor())) for c in point.coefficients()] for point in points]


def corners(part, s):
    """The corners of the set of P(X|s)."""
    A, lower, upper = intervals(part, s)
    whole = [[Fraction(int(a)) for a in row] for row in A]
    rows = [(row, Fraction(int(high), SCALE)) for row, high in zip(whole, upper, strict=True)]
    rows += [([-a for a in row], Fraction(-int(low), SCALE)) for row, low in zip(whole, lower, strict=True)]
    return vertices(A.shape[1], rows, [Fraction(1)] * A.shape[1])


def optimum(joint, part, epsilon):
    """The best I(X;Y) that keeps LIP(ε) for every corner of the set, among all rows, those of unseen values too."""
    e = Fraction(math.exp(epsilon))
    own, prior = [corners(part, s) for s in range(2)], part.prior
    ends = [Fraction(int(end[0, 1]), SCALE) for end in (prior.lower, prior.upper)]
    rows = set()
    for share, r, t in product(ends, *own):
        mean = [(1 - share) * a + share * b for a, b in zip(r, t, strict=True)]
        for one in (r, t):
            rows.add(tuple(a - e * m for a, m in zip(one, mean, strict=True)))
            rows.add(tuple(m - e * a for a, m in zip(one, mean, strict=True)))
    weights = joint.weights.sum(axis=0)
    p = [Fraction(int(count), int(weights.sum())) for count in weights]
    found = np.array(vertices(joint.n_x, [(row, Fraction(0)) for row in rows], p), dtype=float)
    return mixture(found, np.array(p, dtype=float))[0]


@needs_rationals
@pytest.mark.parametrize("seed", range(6))
def test_no_bound_is_below_the_optimum_over_all_vertices(seed):
    rng = np.random.default_rng(seed)
    table = rng.multinomial([80, 500, 5_000][seed % 3], rng.dirichlet(np.full(8, 2.0))).reshape(2, 2, 2)
    if seed > 3:
        table[:, 1, 1] = 0  # nobody has these values together
    epsilon = EPSILONS[seed % 4]
    joint, parts, limits = problem(table, pf.LIP(epsilon))
    best = optimum(joint, parts[0], epsilon)
    assert best - 1e-8 <= bound_of(joint, parts, limits) <= best + 0.4 * joint.entropy


# --- the moments of a channel are in the program ------------------------------------------------------


def multipliers(cells, s, w, sign):
    """Plus and minus: the best multipliers of the largest (sign 1) or the least P(y|s), for a row w."""
    count, n = len(cells.table), cells.n_x
    incidence = np.zeros((n, count))
    incidence[np.arange(n), cells.of] = 1.0
    at_upper, at_lower = (
        [(0, 0 if u >= 1 else None) for u in cells.upper[s]],
        [(0, 0 if v <= 0 else None) for v in cells.lower[s]],
    )
    plus, minus = (at_upper, at_lower) if sign > 0 else (at_lower, at_upper)
    plus[0], minus[0] = (None, None), (0, 0)
    ends = (cells.upper[s], cells.lower[s]) if sign > 0 else (cells.lower[s], cells.upper[s])
    found = linprog(
        sign * np.concatenate([ends[0], -ends[1]]),
        A_ub=-sign * np.hstack([incidence, -incidence]),
        b_ub=-sign * w,
        bounds=plus + minus,
    )
    return found.x[:count], found.x[count:]


def moments_of(cells, each, rows, q, with_sums):
    """E l, E w l, and the same of sums over tables, for multipliers each[y] of the rows, as the program lists them."""
    mean, mass = q @ each, cells.mass
    own = np.einsum("y,yx,yxk->xk", q, rows, each[:, cells.of.T])
    if not with_sums:
        return np.concatenate([mean, own.ravel()])
    sums = np.array([[(mass * one)[cells.table == k].sum() for k in range(1, cells.n_tables)] for one in each])
    elsewhere = sums[:, None] - (mass * each)[:, cells.of.T[:, 1:]]
    others = np.einsum("y,yx,yxk->xk", q, rows, elsewhere)
    return np.concatenate([mean, own.ravel(), q @ sums, others.ravel()])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("with_sums", [False, True])
def test_the_moments_of_every_channel_are_in_the_program(seed, with_sums):
    rng = np.random.default_rng(seed)
    joint, parts, limits = problem(random_table(rng), pf.LIP(float(rng.choice(EPSILONS))))
    caps = Caps(cells := Cells.within(joint, parts, limits))
    caps.lower(range(1, len(cells.table)), lambda: False)
    caps.lower_to_members()
    rows, q = best_mixture(caps, rng, 40)
    m = q @ rows**2
    point = [np.log(m), m]
    for s, _ in cells.conditions:
        for secret, sign in ((s, 1.0), (1 - s, -1.0)):
            both = [multipliers(cells, secret, w, sign) for w in rows]
            point += [moments_of(cells, np.array(each), rows, q, with_sums) for each in zip(*both, strict=True)]
    z = np.concatenate(point)
    program = table_moments.MomentProgram(caps, with_sums=with_sums).program
    (lower, upper, gain), (row_lower, row_upper) = program.box(), program.row_bounds()
    starts, index, value = program.by_columns()
    column = np.repeat(np.arange(program.n_columns), np.diff(starts))
    reached = np.bincount(index, weights=value * z[column], minlength=program.n_rows)
    room = 1e-7 * (1 + np.bincount(index, weights=np.abs(value * z[column]), minlength=program.n_rows))
    assert (lower - 1e-7 <= z).all()
    assert (z <= upper * (1 + 1e-7) + 1e-7).all()
    assert (row_lower - room <= reached).all()
    assert (reached <= row_upper + room).all()
    assert gain @ z >= sum(weight * information(w, cells.p) for w, weight in zip(rows, q, strict=True)) - 1e-9


# --- a solver that lies -----------------------------------------------------------------------------

LIES = {
    "noise": lambda prices, rng: prices * rng.normal(1.0, 0.5, len(prices)),
    "shuffled": lambda prices, rng: rng.permutation(prices),
    "nothing": lambda prices, rng: np.zeros(len(prices)),
    "reversed": lambda prices, rng: -prices,
    "huge": lambda prices, rng: prices * 1e200,
    "no numbers": lambda prices, rng: np.full(len(prices), np.nan),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
@pytest.mark.parametrize("about", ["caps", "moments"])
def test_wrong_prices_prove_less_and_nothing_wrong(lie, about, monkeypatch):
    rng = np.random.default_rng(0)
    joint, parts, limits = problem(rng.integers(20, 900, (2, 2, 3)), pf.LIP(0.2))
    honest = bound_of(joint, parts, limits)
    solve, interior = lp.LinearProgram.solve, lp.interior

    def lying_solve(self):
        x, prices = solve(self)
        return x, lie(prices, rng)

    def lying_interior(*args, **options):
        x, prices = interior(*args, **options)
        return x, lie(prices, rng)

    if about == "caps":
        monkeypatch.setattr(lp.LinearProgram, "solve", lying_solve)
    else:
        monkeypatch.setattr(table_moments, "interior", lying_interior)
    with np.errstate(all="ignore"):
        lied = bound_of(joint, parts, limits)
    assert honest - 1e-3 <= lied <= joint.entropy + 1e-6


def test_a_solver_that_fails_leaves_a_bound(monkeypatch):
    def fails(*_, **__):
        raise pf.errors.SolverFailure("no")

    joint, parts, limits = problem(np.random.default_rng(0).integers(20, 900, (2, 2, 3)), pf.LIP(0.2))
    monkeypatch.setattr(lp.LinearProgram, "solve", fails)
    monkeypatch.setattr(table_moments, "interior", lambda *_, **__: None)
    assert bound_of(joint, parts, limits) <= joint.entropy + 1e-6


# --- any prices bound a program ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_any_prices_bound_a_sparse_program_and_the_best_ones_tell_its_optimum(seed):
    rng = np.random.default_rng(seed)
    A, gain = rng.normal(size=(4, 6)), rng.normal(size=6)
    inside = rng.uniform(-1, 1, 6)
    low, high = A @ inside - rng.exponential(size=4), A @ inside + rng.exponential(size=4)
    program = SparseProgram()
    columns = program.variables(6, -1.0, 2.0, gain)
    program.rows(np.tile(columns, (4, 1)), A, low, high)
    best = linprog(-gain, A_ub=np.concatenate([A, -A]), b_ub=np.concatenate([high, -low]), bounds=(-1, 2))
    prices = -best.ineqlin.marginals[:4] + best.ineqlin.marginals[4:]
    assert program.at_most(prices) == pytest.approx(-best.fun, abs=1e-9)
    assert program.at_most(rng.normal(size=4)) >= -best.fun


# --- known numbers, limits and what it is not for ----------------------------------------------------


def demo(*attributes):
    return pf.Joint.from_table(pd.DataFrame(people(20_000, seed=1)), "obese", list(attributes))


@pytest.mark.parametrize(
    ("attributes", "known"),
    [(("sex", "town"), 1.848), pytest.param(("sex", "town", "height"), 1.994, marks=pytest.mark.long)],
    ids=["two columns", "three columns"],
)
def test_the_demo_has_its_known_bounds(attributes, known):
    assert bound_of(*problem(demo(*attributes), pf.LIP(0.2))) == pytest.approx(known, rel=0.01)


@pytest.mark.long
def test_a_protocol_states_the_bound_and_is_near_it():
    protocol = pf.optimise(demo("sex", "town", "height"), pf.robust(pf.LIP(0.2), within="nested"))
    assert protocol.utility <= protocol.upper_bound <= protocol.utility + 0.1 * protocol.entropy


def test_larger_tables_have_cheaper_bounds_which_are_weaker(monkeypatch):
    task = problem(demo("sex", "town"), pf.LIP(0.2))
    all_of_it = bound_of(*task)
    monkeypatch.setattr(table_bounds, "MOST_FOR_MOMENTS", 5)
    caps_alone = bound_of(*task)
    monkeypatch.setattr(table_bounds, "MOST_VALUES", 5)
    counts_alone = bound_of(*task)
    assert all_of_it < caps_alone < counts_alone < task[0].entropy


def test_when_time_is_up_no_program_is_solved(monkeypatch):
    joint, parts, limits = problem(demo("sex", "town"), pf.LIP(0.2))
    full = bound_of(joint, parts, limits)
    monkeypatch.setattr(lp.LinearProgram, "solve", None)
    assert full < bound_of(joint, parts, limits, time_limit=0.0) < joint.entropy


@pytest.mark.parametrize("left", [1, 5, 12])
def test_a_search_that_is_stopped_on_the_way_has_a_bound(left, monkeypatch):
    joint, parts, limits = problem(demo("sex", "town"), pf.LIP(0.2))
    full, asked = bound_of(joint, parts, limits), []
    monkeypatch.setattr(State, "stopped", lambda self: asked.append(1) or len(asked) > left)
    assert full <= bound_of(joint, parts, limits) <= joint.entropy + 1e-6


@pytest.mark.parametrize(
    ("table", "notion"),
    [(np.full((3, 2, 2), 50), pf.LIP(0.2)), (np.full((2, 2, 2), 50), pf.SRLIP(0.2))],
    ids=["three secrets", "attackers who know something"],
)
def test_other_promises_are_left_alone(table, notion):
    joint, parts, limits = problem(table, notion)
    assert bound_of(joint, parts, limits) == pytest.approx(joint.entropy)
