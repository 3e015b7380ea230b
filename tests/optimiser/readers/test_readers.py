"""Protocols for readers of any table: nearly all information, and the sharpest estimates there are."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

import privacyfunnel as pf
from privacyfunnel.distribution.asked import Asked, tables_of
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, SolverFailure
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.readers import sharpen
from privacyfunnel.optimiser.readers.design import design
from privacyfunnel.optimiser.readers.mixture import Wish
from privacyfunnel.optimiser.readers.pairs import Pairs
from privacyfunnel.optimiser.readers.systems import solved

GIVE_UP = 0.05


def small(seed: int, shape=(2, 3, 2)) -> pf.Joint:
    return pf.Joint(np.random.default_rng(seed).integers(3, 60, size=shape))


def vertices(joint: pf.Joint, notion: pf.Notion) -> np.ndarray:
    """All extreme posteriors of a promise about two secrets: single values, and pairs on a boundary."""
    G, n = Polytope.granted(joint, notion).G, joint.n_x
    found = [np.eye(n)[x] for x in range(n) if (G[:, x] <= 1e-12).all()]
    for i, j in combinations(range(n), 2):
        for row in G:
            if row[i] * row[j] < 0:
                v = np.zeros(n)
                v[[i, j]] = np.array([-row[j], row[i]]) / (row[i] - row[j])
                if (G @ v <= 1e-12).all():
                    found.append(v)
    return np.array(found)


def entropies(V: np.ndarray) -> np.ndarray:
    return -(V * np.log(np.where(V > 0, V, 1.0))).sum(axis=1)


def by_brute_force(joint: pf.Joint, notion: pf.Notion, readers, least: float) -> float:
    """The least mean variance, by a general solver over the weights of all extreme posteriors."""
    asked = Asked.of(joint, tables_of(joint, readers))
    V, p = vertices(joint, notion), joint.p_x
    R, C = V / np.sqrt(p), np.sqrt(p)[:, None] * asked.rows / np.sqrt(asked.own)
    H = entropies(V)

    def value(w):
        return float((C * np.linalg.solve((R.T * w) @ R + 1e-12 * np.eye(len(p)), C)).sum())

    def slope(w):
        Z = np.linalg.solve((R.T * w) @ R + 1e-12 * np.eye(len(p)), C)
        return -np.square(R @ Z).sum(axis=1)

    limits = [
        {"type": "eq", "fun": lambda w: V.T @ w - p, "jac": lambda w: V.T},
        {"type": "ineq", "fun": lambda w: joint.entropy - least - H @ w, "jac": lambda w: -H},
    ]
    best = np.inf
    start = np.full(len(V), 1 / len(V))
    for _ in range(3):
        found = minimize(
            value, start, jac=slope, bounds=[(1e-9, 1)] * len(V), constraints=limits, method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        )  # fmt: skip
        if np.abs(V.T @ found.x - p).max() < 1e-7:
            best = min(best, found.fun)
        start = found.x.clip(1e-6)
    constant = (asked.shares**2 / asked.own).sum()
    return float((best - constant) / len(asked.shares))


@pytest.mark.long
@pytest.mark.parametrize("notion", [pf.LIP(0.2), pf.LDP(0.3), pf.PML(0.2), pf.ALIP(lower=0.1, upper=0.3)])
@pytest.mark.parametrize("readers", ["shares", "pairs"])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_mixture_of_extreme_posteriors_is_sharper(notion, readers, seed):
    joint = small(seed)
    protocol = pf.optimise(joint, notion, readers=readers, give_up=GIVE_UP)
    least = by_brute_force(joint, notion, readers, (1 - GIVE_UP) * protocol.upper_bound)
    precision = protocol.precision
    assert precision.variance_bound <= least * (1 + 1e-4)
    assert least * (1 - 1e-4) <= precision.variance <= least * 1.05


@pytest.mark.parametrize(
    "notion", [pf.LIP(0.3), pf.LDP(0.4), pf.PML(0.3), pf.ALIP(lower=0.2, upper=0.4), pf.SRLIP(0.8), pf.SRLDP(1.0)]
)
@pytest.mark.parametrize("secrets", [2, 3])
def test_every_promise_is_kept_with_nearly_all_information(notion, secrets):
    joint = small(7, (secrets, 3, 2))
    best = pf.optimise(joint, notion)
    protocol = pf.optimise(joint, notion, readers="shares", give_up=GIVE_UP)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert protocol.upper_bound == pytest.approx(best.upper_bound, abs=1e-5)
    assert protocol.utility >= (1 - GIVE_UP) * protocol.upper_bound
    if protocol.precision is not None:
        before, after = (pf.expected_errors(each, joint) for each in (best, protocol))
        assert (
            sum(e.estimated_times**2 for e in after.shares) <= sum(e.estimated_times**2 for e in before.shares) * 1.05
        )


def test_only_where_every_posterior_is_priced_is_a_bound_claimed():
    priced = pf.optimise(small(3), pf.LIP(0.3), readers="shares").precision
    searched = pf.optimise(small(3, (3, 3, 2)), pf.LIP(0.3), readers="shares").precision
    assert priced.variance_bound == pytest.approx(priced.variance, rel=0.03)
    assert searched.variance_bound is None


def test_the_more_is_given_up_the_sharper_estimates_are():
    joint = small(4, (2, 4, 3))
    found = [pf.optimise(joint, pf.LIP(0.2), readers="pairs", give_up=g).precision.variance for g in (0.005, 0.05, 0.3)]
    assert found[0] * 1.02 >= found[1] >= found[2] / 1.02


def test_questions_are_asked_as_estimates_are():
    joint = small(5, (2, 3, 2, 2))
    protocol = pf.optimise(joint, pf.LIP(0.3), readers=["X1", ("X3", "X2")])
    assert protocol.precision.tables == (("X1",), ("X2", "X3"))


@pytest.mark.parametrize(
    "asked",
    [
        {"readers": "everything"},
        {"readers": []},
        {"readers": ["no such column"]},
        {"readers": [("X1", "X1")]},
        {"readers": 5},
        {"readers": "shares", "give_up": 0},
        {"readers": "shares", "give_up": 1.5},
        {"readers": "shares", "objective": "faithful"},
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(asked):
    with pytest.raises(InvalidInput) as refusal:
        pf.optimise(small(1), pf.LIP(0.3), **asked)
    assert "\n" not in str(refusal.value)


def test_promises_about_many_distributions_are_refused():
    with pytest.raises(InvalidInput, match="one distribution"):
        pf.optimise(small(1), pf.robust(pf.LIP(0.5)), readers="shares")
    with pytest.raises(InvalidInput, match="one joint"):
        pf.optimise([small(1), small(2)], pf.LIP(0.5), readers="shares")


def test_many_values_are_solved_by_gradients_as_few_are_by_factors(monkeypatch):
    joint, notion = small(6, (2, 6, 5)), pf.LIP(0.2)
    few = pf.optimise(joint, notion, readers="shares")
    monkeypatch.setattr("privacyfunnel.optimiser.readers.systems.DENSE_VALUES", 0)
    monkeypatch.setattr("privacyfunnel.optimiser.readers.pairs.AT_ONCE", 50)
    many = pf.optimise(joint, notion, readers="shares")
    assert many.precision.variance == pytest.approx(few.precision.variance, rel=0.02)
    assert many.precision.variance_bound <= many.precision.variance


def test_a_wrong_price_would_be_found_out():
    """The bound is not below the variance by construction: prices that are too low are raised, and cost."""
    joint = small(2)
    polytope = Polytope.granted(joint, pf.LIP(0.2))
    pairs = Pairs.of(polytope, Similarity.of(joint))
    z = np.random.default_rng(0).normal(size=(joint.n_x, 3))
    columns, raised = pairs.better(z, np.zeros(joint.n_x), 0.0)
    V = vertices(joint, pf.LIP(0.2))
    assert len(columns)
    assert (V @ raised >= np.square(V @ z).sum(axis=1) - 1e-9).all()
    assert pairs.better(z, raised + 1e-9, 0.0)[1].max() <= 1e-8


def test_equations_have_the_same_solution_either_way(monkeypatch):
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    R = random_array((30, 90), density=0.1, rng=rng).tocsr()
    d, B = rng.uniform(0.1, 1, 90), rng.normal(size=(30, 2))
    direct = solved(R, d, 0.01, B)
    monkeypatch.setattr("privacyfunnel.optimiser.readers.systems.DENSE_VALUES", 0)
    assert solved(R, d, 0.01, B) == pytest.approx(direct, rel=1e-4, abs=1e-6)


def test_a_design_that_cannot_be_begun_is_none():
    """With no information to give up there is no room for weights, and the best protocol stays."""
    joint = small(2)
    polytope = Polytope.granted(joint, pf.LIP(0.2))
    wish = Wish(joint.p_x, np.sqrt(joint.p_x)[:, None], -1.0)
    base = Columns(np.arange(joint.n_x)[None, :], joint.p_x[None, :])
    assert design(wish, base, Pairs.of(polytope, Similarity.of(joint)), 0.0, lambda: False) is None


def test_programs_that_cannot_be_solved_leave_the_protocol_with_the_most_information(monkeypatch):
    def fail(*_):
        raise SolverFailure("the solver stopped")

    monkeypatch.setattr(sharpen, "design", fail)
    joint = pf.Joint(np.random.default_rng(1).integers(5, 60, size=(2, 3, 2)))
    found = pf.optimise(joint, pf.LIP(0.5), readers="shares")
    assert found.precision is None
    assert "nothing sharper was found" in found.how
    assert pf.certify(found, joint).holds
