"""SRLIP and SRLDP: the promise given what an attacker knows beforehand, and the theorem of the paper that fails."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise

pytestmark = pytest.mark.usefixtures("compiled_loops")

KINDS = {"srlip": pf.SRLIP, "srldp": pf.SRLDP}


def brute_level(p, Q, ratio_of_secrets=False, families=None):
    """The level from the definition, for p[s, x1, …, xm] and Q[y, x] over all x in C order; shares no code."""
    c, *shape = p.shape
    m = len(shape)
    flat = p.reshape(c, -1)
    cells = list(itertools.product(*map(range, shape)))
    worst = 0.0
    for J in (
        families
        if families is not None
        else itertools.chain.from_iterable(itertools.combinations(range(m), k) for k in range(m + 1))
    ):
        for values in itertools.product(*(range(shape[j]) for j in J)):
            inside = [i for i, x in enumerate(cells) if all(x[j] == v for j, v in zip(J, values, strict=True))]
            local = flat[:, inside]
            present = local.sum(axis=1) > 0
            if not present.any():
                continue
            for row in Q:
                given_s = (local[present] * row[inside]).sum(axis=1) / local[present].sum(axis=1)
                overall = (local * row[inside]).sum() / local.sum()
                if overall <= 0:
                    continue
                logs = [math.log(g / overall) if g > 0 else -math.inf for g in given_s]
                worst = max(worst, max(logs) - min(logs) if ratio_of_secrets else max(map(abs, logs)))
    return worst


@st.composite
def tables(draw, most=3):
    """p[s, x1, …, xm], Dirichlet with a concentration between 0.1 and 1, sometimes with zero cells."""
    shape = draw(st.lists(st.integers(1, 3), min_size=2, max_size=most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    c = draw(st.integers(2, 3))
    p = rng.dirichlet(np.full(c * math.prod(shape), draw(st.sampled_from([0.1, 0.3, 1.0])))).reshape(c, *shape)
    p[p < draw(st.sampled_from([0.0, 1e-3]))] = 0
    p[:, *[0] * len(shape)] += 1e-2  # every secret occurs
    return p / p.sum()


def spread(protocol, p):
    """The channel over all cells of the table, with columns of zeros for those that never occur."""
    joint = pf.Joint(p)
    Q = np.zeros((len(protocol.channel), p[0].size))
    Q[:, np.ravel_multi_index(tuple(joint.codes.T), p.shape[1:])] = protocol.channel
    return Q


@pytest.mark.long
@given(tables(), st.sampled_from([0.05, 0.2, 1.0]), st.sampled_from(["srlip", "srldp"]))
@settings(max_examples=25)
def test_every_best_protocol_keeps_its_promise_by_the_definition(p, epsilon, kind):
    protocol = pf.optimise(pf.Joint(p), KINDS[kind](epsilon), time_limit=1, gap=1e-3)
    assert pf.certify(protocol, pf.Joint(p)).holds
    assert brute_level(p, spread(protocol, p), kind == "srldp") <= epsilon + 1e-9


@given(tables(), st.integers(0, 2**32 - 1), st.sampled_from(["srlip", "srldp"]))
def test_the_level_is_that_of_the_definition(p, seed, kind):
    joint = pf.Joint(p)
    Q = np.random.default_rng(seed).dirichlet(np.ones(3), size=joint.n_x).T
    full = np.zeros((3, p[0].size))
    full[:, np.ravel_multi_index(tuple(joint.codes.T), p.shape[1:])] = Q
    assert KINDS[kind](1.0).level(joint, Q) == pytest.approx(brute_level(p, full, kind == "srldp"), abs=1e-9)


@given(tables(), st.integers(0, 2**32 - 1))
def test_the_certificate_agrees_with_the_level(p, seed):
    joint = pf.Joint(p)
    units = np.random.default_rng(seed).multinomial(2**32, np.ones(3) / 3, size=joint.n_x).T
    Q = units / 2**32
    certificate = pf.certify(Q, joint, pf.SRLIP(0.1))
    assert certificate.level == pytest.approx(pf.SRLIP(0.1).level(joint, Q), abs=1e-9)
    assert certificate.holds == (certificate.level <= 0.1)


@pytest.mark.long
@pytest.mark.parametrize("number", range(24))
def test_the_reference_optima_are_reached_and_proven(number, shared):
    cases = json.loads((shared / "reference" / "optima.json").read_text())
    case = [case for case in cases if case["notion"] in KINDS][number]
    protocol = pf.optimise(pf.Joint(np.array(case["p"])), KINDS[case["notion"]](case["epsilon"]))
    assert protocol.utility == pytest.approx(case["utility_nats"], abs=1e-6)
    assert protocol.utility - 1e-9 <= case["utility_nats"] <= protocol.upper_bound + 1e-9
    assert protocol.gap <= 1e-6


@pytest.mark.long
@given(tables(), st.sampled_from([0.1, 0.5]))
@settings(max_examples=20)
def test_guarding_against_fewer_attackers_keeps_at_least_as_much(p, epsilon):
    joint = pf.Joint(p)
    most, fewer, none, lip = (
        pf.optimise(joint, notion, gap=1e-4, time_limit=1)
        for notion in (pf.SRLIP(epsilon), pf.SRLIP(epsilon, known=1), pf.SRLIP(epsilon, known=0), pf.LIP(epsilon))
    )
    assert most.utility <= fewer.upper_bound + 1e-9
    assert fewer.utility <= none.upper_bound + 1e-9
    assert none.utility <= lip.upper_bound + 1e-9
    assert lip.utility <= none.upper_bound + 1e-9


def test_only_the_attackers_that_are_named_are_guarded_against():
    p = np.random.default_rng(5).random((2, 3, 3))
    joint = pf.Joint(p, attributes=["age", "town"])
    protocol = pf.optimise(joint, pf.SRLIP(0.2, known=["age"]))
    Q = protocol.channel
    assert brute_level(p, Q, families=[(), (0,)]) <= 0.2 + 1e-9
    assert brute_level(p, Q, families=[(1,)]) > 0.2
    assert "age" in protocol.notion.words()
    assert set(pf.certify(protocol, joint).worst.known) <= {"age"}


def test_who_knows_nothing_beforehand_is_guarded_against_too():
    """Two copies of the secret: who knows either learns nothing more, who knows nothing learns it all."""
    copies = np.zeros((2, 2, 2))
    copies[0, 0, 0] = copies[1, 1, 1] = 1
    assert pf.SRLIP(0.5).level(pf.Joint(copies), np.eye(2)) == np.inf
    assert not pf.certify(np.eye(2), pf.Joint(copies), pf.SRLIP(0.5)).holds
    alone, Q = pf.Joint([[3, 1], [1, 3]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    assert pf.certify(Q, alone, pf.SRLIP(0.5)).level == pf.certify(Q, alone, pf.LIP(0.5)).level > 0


def test_the_family_of_attackers_survives_the_file(tmp_path):
    joint = pf.Joint(np.random.default_rng(5).random((2, 3, 3)), attributes=["age", "town"])
    for known in (None, 1, ["age"]):
        protocol = pf.optimise(joint, pf.SRLIP(0.5, known=known))
        protocol.save(tmp_path / "protocol.json")
        assert pf.Protocol.load(tmp_path / "protocol.json").notion == protocol.notion


@pytest.mark.parametrize("known", ["age", 1.5, -1, [1], ["age", "age"], True, object()])
def test_senseless_attackers_are_refused(known):
    with pytest.raises(InvalidPromise):
        pf.SRLIP(0.5, known=known)


def test_unknown_attributes_are_refused():
    with pytest.raises(InvalidPromise):
        pf.optimise(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(0.5, known=["age"]))


def test_too_many_attackers_are_refused_with_a_way_out():
    weights, values = np.ones((2, 2), dtype=int), np.array([[0] * 14, [1] * 14])
    with pytest.raises(InvalidPromise, match=r"16,383 sets .* \(--known 2; in Python known=2\)"):
        pf.optimise(pf.Joint.from_support(weights, values), pf.SRLIP(0.5))
    assert pf.optimise(pf.Joint.from_support(weights, values), pf.SRLIP(0.5, known=2)).gap <= 1e-6


def test_a_promise_that_would_not_fit_into_memory_is_refused():
    values = np.random.default_rng(0).integers(0, 12, size=(9_000, 6))
    values = np.unique(values, axis=0)
    joint = pf.Joint.from_support(np.ones((2, len(values)), dtype=int), values)
    with pytest.raises(InvalidPromise, match="known=1"):
        pf.SRLIP(0.5, known=3).rows(joint)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_awkward_tables_are_no_trouble(epsilon):
    rng = np.random.default_rng(3)
    p = rng.random((2, 3, 3))
    doubled = np.zeros((2, 3, 3, 3))
    for i in range(3):
        doubled[:, i, :, i] = p[:, i, :]  # the third attribute repeats the first
    determined = np.zeros((2, 2, 3))
    determined[0, 0], determined[1, 1] = [1, 2, 3], [3, 2, 1]  # the first attribute is the secret
    constant = p[:, :, :1]
    zeros = p * (rng.random(p.shape) < 0.6) + 1e-3 * np.eye(3)
    for table in (doubled, determined, constant, zeros):
        protocol = pf.optimise(pf.Joint(table), pf.SRLIP(epsilon), time_limit=2, gap=1e-3)
        assert pf.certify(protocol, pf.Joint(table)).holds


def product(Q1, Q2, pairs):
    """Q[y, x] = Q1[y1, x1]·Q2[y2, x2] for the pairs (x1, x2) that occur."""
    return np.array([[Q1[y1, a] * Q2[y2, b] for a, b in pairs] for y1 in range(len(Q1)) for y2 in range(len(Q2))])


def test_the_papers_budget_theorem_fails_with_a_budget_of_zero():
    """X¹ = X² = two fair bits, S = their xor; Q¹ releases the first, Q² the second."""
    p = np.zeros((2, 4, 4))
    for a, b in itertools.product(range(2), repeat=2):
        p[a ^ b, 2 * a + b, 2 * a + b] = 1
    first, second = np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]]), np.array([[1, 0, 1, 0], [0, 1, 0, 1.0]])
    joint = pf.Joint(p)
    pairs = [tuple(row) for row in joint.codes]
    nothing = np.ones((1, 4))
    assert pf.LIP(0).level(joint, product(first, nothing, pairs)) == 0
    assert pf.LIP(0).level(joint, product(nothing, second, pairs)) == 0
    assert pf.SRLIP(0).level(joint, product(first, nothing, pairs)) == 0
    assert pf.SRLIP(0).level(joint, product(nothing, second, pairs)) == 0
    assert pf.SRLIP(0).level(joint, product(first, second, pairs)) == math.inf
    assert not pf.certify(product(first, second, pairs), joint, pf.SRLIP(1.0)).holds


def test_the_papers_budget_theorem_fails_with_full_support():
    p = 0.5 * np.array([[[0.980, 0.005], [0.005, 0.010]], [[0.996, 0.001], [0.001, 0.002]]])
    Q = np.array([[0.95, 0.20], [0.05, 0.80]])
    joint = pf.Joint(p)
    pairs = [tuple(row) for row in joint.codes]
    nothing = np.ones((1, 2))
    for alone in (product(Q, nothing, pairs), product(nothing, Q, pairs)):
        assert pf.SRLIP(0).level(joint, alone) == pytest.approx(math.log(227 / 209), abs=1e-9)
    assert pf.SRLIP(0).level(joint, product(Q, Q, pairs)) == pytest.approx(0.531, abs=5e-4)


def test_height_alone_keeps_a_small_promise_but_not_given_the_weight():
    """The paper's story: height says little of obesity, height and weight say all."""
    heights, weights = np.arange(155, 195, 5), np.arange(50, 130, 5)
    p = np.zeros((2, len(heights), len(weights)))
    for i, h in enumerate(heights):
        for j, w in enumerate(weights):
            bmi = w / (h / 100) ** 2
            p[int(bmi >= 30), i, j] = math.exp(-(((h - 172) / 9) ** 2) / 2 - ((math.log(bmi / 25) / 0.16) ** 2) / 2)
    joint = pf.Joint(p, attributes=["height", "weight"])
    only_height = (joint.codes[:, 0] == np.arange(len(heights))[:, None]).astype(float)
    assert pf.LIP(1).level(joint, only_height) < 0.2
    assert pf.SRLIP(1).level(joint, only_height) == math.inf
    resistant = pf.optimise(joint, pf.SRLIP(1.0), time_limit=2, gap=0.05)
    assert pf.certify(resistant, joint).holds


@given(p=tables(), kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=60, deadline=None)
def test_cells_that_several_attackers_see_give_their_rows_once_and_none_is_lost(p, kind):
    joint, notion = pf.Joint(p), KINDS[kind](0.3)
    rows = {row.tobytes() for row in notion.rows(joint)}
    of_single_views = [row.tobytes() for view in notion.views(joint) for row in notion.limits.rows(joint, [view])]
    assert rows == set(of_single_views)
    assert len(notion.rows(joint)) <= len(of_single_views)


def test_two_attributes_that_say_the_same_are_guarded_once():
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[:, range(3), range(3)] = [[5, 3, 2], [1, 4, 6]]
    joint = pf.Joint(counts)  # who knows either attribute knows both: only those who know nothing can be told
    assert len(pf.SRLIP(0.3).rows(joint)) == len(pf.LIP(0.3).rows(joint)) > 0


# --- what is known more finely than it is released ---------------------------------------------------


def test_who_knows_an_attribute_more_finely_than_it_is_cut_is_not_covered_unless_it_is_cut_as_finely():
    # Heights in two ranges and four weights, which the protocol sees in two ranges.
    fine = np.array([[[40, 30, 20, 5], [45, 45, 40, 30]], [[1, 10, 25, 40], [1, 2, 8, 18]]])
    coarse = fine.reshape(2, 2, 2, 2).sum(axis=3)
    names = ["height", "weight"]
    protocol = pf.optimise(pf.Joint(coarse, attributes=names), pf.SRLIP(0.2))
    Q = np.asarray(protocol.channel)
    assert brute_level(coarse, Q) <= 0.2
    seen = np.arange(4).reshape(2, 2).repeat(2, axis=1).ravel()  # the coarse value of each fine one
    assert brute_level(fine, Q[:, seen], families=[()]) <= 0.2
    assert brute_level(fine, Q[:, seen], families=[(1,)]) > 0.3
    exact = pf.optimise(pf.Joint(fine, attributes=names), pf.SRLIP(0.2))
    assert brute_level(fine, np.asarray(exact.channel), families=[(1,)]) <= 0.2
