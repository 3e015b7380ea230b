"""Two secrets over a confidence set: sets of values, programs, pairs and bounds, against all corners one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests import robust_brute
from tests.optimiser.robust.test_robust import counts

import privacyfunnel as pf
from privacyfunnel.optimiser.robust import box_programs, branch_on_largest
from privacyfunnel.optimiser.robust import nested_programs as nested
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.most_revealing import leaning_polytope
from privacyfunnel.optimiser.robust.search import region_of

NOTIONS = [pf.LIP(0.4), pf.LDP(0.7), pf.PML(0.3), pf.ALIP(0.3, 0.8)]
SETS = ["intervals", "nested"]
UNITS = st.floats(0.0, 1.0, allow_subnormal=False)


@st.composite
def problems(draw, n_x=3):
    """A joint with two secrets, its region, its conditions, and every row that a corner of the set asks of w."""
    joint = pf.Joint(draw(counts(max_x=n_x, largest=(30, 1000, 10**6))))
    assume(joint.n_x == n_x)
    notion = draw(st.sampled_from(NOTIONS))
    over = pf.robust(notion, 0.9, within=draw(st.sampled_from(SETS)))
    region = region_of(joint, over)
    rows = robust_brute.rows(notion, region.sets[0])
    return joint, region, Conditions.of(region), rows / np.abs(rows).max(axis=1, keepdims=True)


def numbers(n, low=-3.0, high=3.0):
    tenths = st.floats(low, high).map(lambda number: round(number, 3))
    return st.lists(tenths, min_size=n, max_size=n).map(np.array)


def extended(conditions, w):
    """h_j of any w: the sets {w ≥ t} from the largest value down, each by the height of its step."""
    order = np.argsort(-w, kind="stable")
    steps = w[order] - np.append(w[order][1:], 0.0)
    total = np.zeros(2)
    for k, step in enumerate(steps):
        inside = conditions.M[:, :, order[: k + 1]].sum(axis=2)
        total += step * (conditions.K + inside).min(axis=1)
    return total


@given(problems(), st.lists(UNITS, min_size=3, max_size=3).map(np.array))
@settings(max_examples=40)
def test_two_conditions_on_nested_sets_are_all_rows_of_all_corners(problem, w):
    _, _, conditions, rows = problem
    assume(w.max() > 0)
    over, broken = extended(conditions, w), rows @ w
    assume(min(abs(broken.max()), np.abs(over).max()) > 1e-9)
    assert (over.max() > 0) == (broken.max() > 0)


@given(problems(), numbers(3))
@settings(max_examples=40)
def test_a_program_over_nested_sets_is_the_program_with_all_rows(problem, cost):
    joint, region, conditions, rows = problem
    w = np.empty(3)
    nested.minimise(cost, joint.p_x, conditions.K, conditions.M, *nested.first_basis(3), w)
    v = w * joint.p_x
    assert v.sum() == pytest.approx(1)
    assert not region.cuts(v[None])[1].any()
    exact = linprog(cost, A_ub=rows / joint.p_x, b_ub=np.zeros(len(rows)), A_eq=np.ones((1, 3)), b_eq=[1])
    assert exact.status == 0
    assert cost @ v == pytest.approx(exact.fun, abs=1e-6)


@given(problems(), numbers(3), st.lists(UNITS, min_size=3, max_size=3), st.integers(0, 2))
@settings(max_examples=40)
def test_a_program_with_an_interval_and_a_cap_is_bounded_below(problem, cost, shares, spike):
    joint, _, conditions, rows = problem
    p = joint.p_x
    low, high, cap = sorted(share / p[spike] for share in shares)
    assume(high > low)
    ends, price, w = np.array([[low, high]]), np.zeros(3), np.empty(3)
    found = box_programs.relax(p, cost, conditions.K, conditions.M, np.array([spike]), ends, cap, np.inf, price, w)
    bounds = [(low, high) if x == spike else (0.0, cap) for x in range(3)]
    exact = linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=p[None], b_eq=[1], bounds=bounds)
    if exact.status == 0:
        assert found <= exact.fun + 1e-6
    # Any prices give a bound, and the best ones the minimum, unless overstepping pays at the price of overstepping.
    if exact.status == 0 and abs(price).max() < box_programs.DEAR / 2:
        assert found == pytest.approx(exact.fun, abs=1e-5)


def vertices(rows, p_x):
    """All corners of Δ for three values, from all pairs of its edges."""
    G = np.vstack([rows / p_x, -np.eye(3)])
    G /= np.abs(G).max(axis=1, keepdims=True)
    i, k = np.triu_indices(len(G), 1)
    V = np.cross(G[i], G[k])
    V = V[np.abs(V.sum(axis=1)) > 1e-9]
    V /= V.sum(axis=1, keepdims=True)
    return np.vstack([V[(V @ G.T <= 1e-10).all(axis=1)].clip(0), p_x])


def reduced_costs(V, y):
    return -(V * np.log(np.where(V > 0, V, 1.0))).sum(axis=1) - V @ y


@given(problems(), numbers(3, 0.0, 2.0))
@settings(max_examples=25)
def test_branching_on_the_largest_values_ends_at_the_least_reduced_cost(problem, y):
    joint, _, conditions, rows = problem
    p, K, M = joint.p_x, conditions.K, conditions.M
    least = reduced_costs(vertices(rows, p), y).min()
    gap = max(1e-4, -least + 1e-3)  # a proof of what is true, so that it ends
    tree = branch_on_largest.Spikes(p, y, branch_on_largest.largest(p, K, M), K, M, gap)
    nodes = 0
    while tree.grow(500) and nodes < 20_000:
        nodes += 500
        assert tree.bound <= least + 1e-8
    assert tree.bound <= least + 1e-8
    assert tree.bound >= -gap - 1e-9
    asked_too_much = branch_on_largest.Spikes(p, y, branch_on_largest.largest(p, K, M), K, M, max(1e-9, -least - 1e-2))
    asked_too_much.grow(2000)
    assert asked_too_much.bound <= least + 1e-8


@given(problems())
@settings(max_examples=25)
def test_no_value_is_larger_than_the_largest(problem):
    joint, _, conditions, rows = problem
    most = branch_on_largest.largest(joint.p_x, conditions.K, conditions.M)
    assert (vertices(rows, joint.p_x) / joint.p_x <= most * (1 + 1e-7)).all()


@given(problems())
@settings(max_examples=25)
def test_the_polytope_of_the_leaning_distribution_contains_all_that_keeps_the_promise(problem):
    joint, region, _, rows = problem
    outer = leaning_polytope(joint, region)
    assert outer is not None
    assert (vertices(rows, joint.p_x) @ outer.G.T <= 1e-8).all()


@given(st.integers(2, 6), st.data())
@settings(max_examples=40)
def test_the_best_pairs_are_those_of_all_pairs(n, data):
    G = np.stack([data.draw(numbers(n, -1.0, 1.0)) for _ in range(2)])
    y = data.draw(numbers(n, 0.0, 2.0))
    least, partner, share = nested.best_pairs(y, G)
    grid = np.linspace(0, 1, 401)
    for i in range(n):
        for k in range(n):
            V = np.zeros((len(grid), n))
            V[:, i] += grid
            V[:, k] += 1 - grid
            kept = (V @ G.T <= 0).all(axis=1)
            assert min(least[i], least[k]) <= reduced_costs(V[kept], y).min(initial=np.inf) + 1e-9
        if np.isfinite(least[i]):
            v = np.zeros(n)
            v[i] += share[i]
            v[partner[i]] += 1 - share[i]
            assert (G @ v <= 1e-12).all()
            assert reduced_costs(v[None], y)[0] == pytest.approx(least[i], abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("within", SETS)
@pytest.mark.parametrize("notion", NOTIONS)
def test_what_is_found_keeps_the_promise_at_many_values_and_few_people(notion, within):
    """Outputs are dense here: a few values stand out from all others together."""
    rng = np.random.default_rng(1)
    joint = pf.Joint(rng.multinomial(4000, rng.dirichlet(np.ones(160))).reshape(2, 80))
    protocol = pf.optimise(joint, pf.robust(notion, within=within))
    assert pf.certify(protocol, joint).holds
    assert 0 < protocol.utility <= protocol.upper_bound <= pf.optimise(joint, notion).upper_bound + 1e-9


def test_dense_outputs_beside_sharp_ones_keep_their_zeros():
    rng = np.random.default_rng(0)
    joint = pf.Joint(rng.multinomial(10**4, rng.dirichlet(np.ones(200))).reshape(2, 100))
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.5)))
    sizes = (protocol.channel > 0).sum(axis=1)
    assert (sizes <= 3).sum() >= 10
    assert (sizes > 50).sum() >= 10
    assert protocol.utility > 2.9  # what linear programs with rows on demand found was 2.46
    assert pf.certify(protocol, joint).holds


def test_an_optimum_of_thirty_values_is_proven():
    rng = np.random.default_rng(0)
    joint = pf.Joint(rng.multinomial(10**5, rng.dirichlet(np.ones(60))).reshape(2, 30))
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.5)))
    assert protocol.gap <= 1e-6
    assert protocol.utility == pytest.approx(2.883702, abs=2e-6)  # as proven by branching on boxes


def test_with_any_number_of_conditions_the_least_set_is_that_of_all_sets():
    rng = np.random.default_rng(11)
    for _ in range(40):
        n, conditions, pieces = int(rng.integers(2, 7)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
        K, M = rng.normal(size=(conditions, pieces)), rng.normal(size=(conditions, pieces, n))
        K[:, 0] = 0.0  # the empty set meets every condition
        K = np.abs(K)
        costs, mu = rng.normal(size=n), np.maximum(0.0, rng.normal(size=conditions))
        A = np.zeros(n, dtype=bool)
        found = nested.least_set(costs, mu, K, M, A)

        def value(members, costs=costs, mu=mu, K=K, M=M):
            members = np.array(members, dtype=bool)
            return costs[members].sum() + mu @ (K + M[:, :, members].sum(axis=2)).min(axis=1)

        every = [value(members) for members in product([False, True], repeat=n)]
        assert found == pytest.approx(min(0.0, *every), abs=1e-12)
        assert found == pytest.approx(value(A) if A.any() else 0.0, abs=1e-12)


def test_programs_for_two_clauses_are_those_of_all_their_rows():
    """Two secrets of two values each: a vertex found by sets keeps both promises over both sets, and none is better."""
    rng = np.random.default_rng(12)
    for seed in range(6):
        joint = pf.Joint(rng.integers(30, 300, size=(2, 2, 3)), secret=["a", "b"])
        over = pf.robust(pf.Promises(a=pf.LIP(0.4), b=pf.LIP(0.3)), 0.9, "intervals").made_for(joint)
        region = region_of(joint, over)
        c = Conditions.of_all(region)
        assert len(c.K) == 4
        G = np.concatenate(
            [robust_brute.rows(pf.LIP(e), part) for e, part in zip((0.4, 0.3), region.sets, strict=True)]
        )
        cost, w = rng.normal(size=3), np.empty(3)
        nested.minimise(cost, joint.p_x, c.K, c.M, *nested.first_basis(3, 4), w)
        answer = linprog(cost, A_ub=G / joint.p_x, b_ub=np.zeros(len(G)), A_eq=np.ones((1, 3)), b_eq=[1.0])
        assert cost @ (w * joint.p_x) == pytest.approx(answer.fun, abs=1e-7), seed
