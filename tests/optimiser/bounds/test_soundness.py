"""No bound is below a utility that is reached: `python -m benchmarks soundness` does the same for 20,000 cases."""

import importlib
import importlib.util
from itertools import islice

import numpy as np
import pytest

import brute
import privacyfunnel as pf
import soundness
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.information import entropy, no_less
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.supports import enclosed_vertices
from privacyfunnel.protocols.protocol import INFORMATION_ERROR, not_below
from ways import HOME

needs_rationals = pytest.mark.skipif(
    importlib.util.find_spec("ppl") is None, reason="pplpy enumerates vertices exactly, and is not installed"
)


@pytest.mark.long
@needs_rationals
@pytest.mark.parametrize("kind", soundness.SINGLE + soundness.SEVERAL)
@pytest.mark.parametrize("seed", range(4))
def test_no_way_of_bounding_is_below_what_is_reached(kind, seed):
    found = []
    for number, case in enumerate(islice(soundness.cases(seed, (kind,)), 12)):
        found += soundness.verdicts(case, slow=number % 6 == seed)
    assert len(found) > 12
    assert [one for one in found if one.violated] == []


@needs_rationals
def test_bounds_over_confidence_sets_and_for_two_priors_are_not_below_what_is_reached():
    cases = [case for case in islice(soundness.cases(9, ("lip", "ldp")), 40) if case.table in ("even", "sparse")]
    found = [one for case in cases[:6] for one in soundness.robust_verdicts(case)]
    table = np.random.default_rng(0).integers(1, 50, (2, 3, 4))
    for notion in (pf.LIP(0.3), pf.LDP(30), pf.PML(1e-6), pf.PerfectPrivacy()):
        pair = [soundness.Case(N, notion, "even") for N in table]
        found += soundness.prior_verdicts(*pair)
    assert [one for one in found if one.violated] == []


@needs_rationals
def test_a_bound_that_is_too_low_is_seen():
    """The check must be able to fail: with posteriors left out, it does."""
    case = next(iter(soundness.cases(1, ("lip",))))
    mixture = case.reached()
    assert soundness.Verdict(case, "nothing", -1e-9).violated
    assert mixture.utility == pytest.approx(brute.optimum(case.joint.weights, case.notion), abs=1e-7)


def test_perfect_privacy_is_bounded_by_what_its_certificate_grants():
    """The identity channel changes beliefs by 5e-10 here; the bound once was 2e-10 nats."""
    joint = pf.Joint([[10**9, 10**9], [10**9 + 1, 10**9]])
    protocol = pf.optimise(joint, pf.PerfectPrivacy())
    assert protocol.utility == pytest.approx(np.log(2), abs=1e-6)
    assert protocol.upper_bound >= joint.entropy
    assert pf.certify(protocol, joint).holds


def test_perfect_privacy_is_sought_up_to_what_is_granted():
    """Beliefs change by 0.8e-8 if all is told: within what is granted, beyond half of it."""
    joint = pf.Joint([[10**9, 10**9], [10**9 + 32, 10**9]])
    protocol = pf.optimise(joint, pf.PerfectPrivacy())
    assert protocol.utility == pytest.approx(np.log(2), abs=1e-6)
    assert protocol.gap <= 1e-6


@pytest.mark.parametrize(
    "route", [{}, {"LIST_VERTICES": 0}, {"LIST_VERTICES": 0, "SWEEP_SUPPORTS": -1}, {"PAIR_VALUES": 0}]
)
def test_every_route_bounds_what_perfect_privacy_grants(monkeypatch, route):
    for name, value in route.items():
        monkeypatch.setattr(HOME[name], name, value)
    rng = np.random.default_rng(4)
    for n_s in (2, 3):
        joint = pf.Joint(
            10**8 * rng.integers(1, 9, (n_s, 1)) * rng.integers(1, 9, (1, 4)) + rng.integers(-1, 2, (n_s, 4))
        )
        protocol = pf.optimise(joint, pf.PerfectPrivacy(), time_limit=20)
        channel = np.eye(joint.n_x)
        if pf.PerfectPrivacy().level(joint, channel) <= 0.99e-8:  # all may be told
            assert protocol.upper_bound >= joint.entropy
        assert pf.certify(protocol, joint).holds


def test_a_violated_bound_is_an_error():
    assert not_below(1.0, 1.0 + INFORMATION_ERROR / 2) == 1.0 + INFORMATION_ERROR / 2
    assert not_below(2.0, 1.0) == 2.0
    for utility in (1.0 + 2 * INFORMATION_ERROR, float("nan")):
        with pytest.raises(NotCertified, match="please report this"):
            not_below(1.0, utility)


def test_optimise_ends_in_an_error_where_its_bound_is_violated(monkeypatch):
    def wrong(state, rank):
        state.upper_bound = 0.0
        return "wrong"

    joint = pf.Joint([[40, 10], [10, 40]])
    monkeypatch.setattr(solving, "list_vertices", lambda state, rank: (listed(state, rank), wrong(state, rank))[1])
    with pytest.raises(NotCertified, match="above the bound of 0 on every protocol"):
        pf.optimise(joint, pf.LIP(0.3))


solving = importlib.import_module("privacyfunnel.optimiser.mixing")
listed = solving.list_vertices


@pytest.mark.parametrize("seed", range(20))
def test_entropy_as_a_bound_is_rounded_up(seed):
    """Against 60 digits, also for many values of very different size."""
    from decimal import Context, Decimal

    rng = np.random.default_rng(seed)
    weights = (10.0 ** rng.uniform(0, 12, int(rng.integers(1, 3000)))).astype(np.int64)
    total = int(weights.sum())
    p = weights / total
    wide = Context(prec=60)
    exact = sum(
        (-share * wide.ln(share) for w in weights.tolist() for share in [wide.divide(Decimal(w), Decimal(total))]),
        Decimal(0),
    )
    assert Decimal(no_less(float(entropy(p)))) >= exact
    assert no_less(float(entropy(p))) <= float(exact) + 1e-12


@needs_rationals
@pytest.mark.parametrize("notion", [pf.LDP(50), pf.LDP(0.5), pf.LIP(1e-8), pf.PML(30), pf.ALIP(0.1, 40), pf.LIP(8)])
def test_what_encloses_the_vertices_is_undercut_by_no_exact_one(notion):
    rng = np.random.default_rng(3)
    for _ in range(10):
        N = rng.integers(0, 4, (3, 5)) * 10 ** rng.integers(0, 4, (3, 5))
        N[:, 0] += 1
        joint = pf.Joint(N)
        around = enclosed_vertices(Polytope.outer(joint, notion), 3)
        V = soundness.vertices(N[:, N.any(axis=0)].tolist(), [list(range(joint.n_x))], soundness.factors(notion))
        for y in rng.normal(size=(20, joint.n_x)):
            least = min(soundness.entropy(v) - float(np.array(v, dtype=np.float64) @ y) for v in V)
            assert around.least(y) <= least + soundness.ROUNDING
            assert around.least(y) >= least - 1e-6
