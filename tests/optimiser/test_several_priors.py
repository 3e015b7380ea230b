"""One protocol for several distributions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser import several_priors as priors
from strategies import arrays, epsilons, notions


@given(st.lists(arrays(min_s=2, max_s=2, min_x=4, max_x=4), min_size=1, max_size=3), notions(epsilons(0.05, 3.0)))
@settings(max_examples=15)
def test_the_promise_is_kept_for_each_distribution(several, notion):
    joints = [pf.Joint(array) for array in several]
    protocol = pf.optimise(joints, notion, gap=1e-4, time_limit=20)
    for joint in joints:
        certificate = pf.certify(protocol, joint)
        assert certificate.holds
        assert certificate.level <= notion.epsilon
    assert protocol.utility <= protocol.upper_bound <= protocol.entropy + 1e-9


def test_the_same_distribution_twice_is_the_same_as_once():
    rng = np.random.default_rng(3)
    joint = pf.Joint(rng.integers(1, 100, (3, 6)))
    once = pf.optimise(joint, pf.LIP(0.3))
    twice = pf.optimise([joint, joint], pf.LIP(0.3))
    assert twice.utility == pytest.approx(once.utility, abs=2e-6)


def test_another_distribution_can_only_cost():
    rng = np.random.default_rng(4)
    p = rng.integers(1, 100, (2, 5))
    this_year, last_year = pf.Joint(p), pf.Joint(rng.integers(1, 100, (2, 5)))
    alone = pf.optimise(this_year, pf.LDP(0.4))
    assert not pf.certify(alone, last_year).holds
    both = pf.optimise([this_year, last_year], pf.LDP(0.4))
    assert pf.certify(both, this_year).holds
    assert pf.certify(both, last_year).holds
    assert both.gap <= 1e-6


def test_two_distributions_that_contradict_each_other_leave_only_ordinary_privacy():
    """S = X under both, but swapped: then P(y|x) itself is bounded, and randomised response is the best."""
    one, other = pf.Joint([[1, 0], [0, 1]]), pf.Joint([[0, 1], [1, 0]])
    protocol = pf.optimise([one, other], pf.LDP(1.0))
    flip = 1 / (1 + np.e)
    best = np.log(2) + flip * np.log(flip) + (1 - flip) * np.log(1 - flip)
    assert protocol.utility == pytest.approx(best, abs=1e-6)


def test_values_that_only_one_of_them_has_are_released_too():
    one, other = pf.Joint([[30, 10, 0], [10, 30, 0]]), pf.Joint([[0, 10, 30], [0, 30, 10]])
    protocol = pf.optimise((one, other), pf.LIP(0.3))
    assert protocol.channel.shape[1] == 3
    assert protocol.utility > 0.1
    for joint in (one, other):
        assert pf.certify(protocol, joint).holds


def test_side_channels_of_every_distribution_are_guarded_against():
    rng = np.random.default_rng(7)
    joints = [pf.Joint(rng.integers(5, 60, (2, 2, 3))) for _ in range(2)]
    protocol = pf.optimise(joints, pf.SRLIP(0.5), gap=1e-3, time_limit=20)
    assert all(pf.certify(protocol, joint).holds for joint in joints)


def test_perfect_privacy_for_each_tells_nothing_under_any():
    rng = np.random.default_rng(5)
    joints = [pf.Joint(rng.integers(1, 9, (2, 6))) for _ in range(2)]
    protocol = pf.optimise(joints, pf.PerfectPrivacy())
    assert protocol.utility > 0.1  # six values leave room beside two secrets under two distributions
    for joint in joints:
        told = protocol.channel @ joint.p.T  # P(y, s) at [y, s]
        assert told / joint.p_s == pytest.approx(np.outer(told.sum(axis=1), [1, 1]), abs=1e-7)


def test_generating_posteriors_finds_what_listing_them_finds(monkeypatch):
    rng = np.random.default_rng(6)
    joints = [pf.Joint(rng.integers(1, 100, (2, 5))) for _ in range(2)]
    listed = pf.optimise(joints, pf.LIP(0.4))
    monkeypatch.setattr(priors, "LIST_VERTICES", 0)
    generated = pf.optimise(joints, pf.LIP(0.4))
    assert generated.how != listed.how
    assert generated.utility == pytest.approx(listed.utility, abs=2e-6)
    assert generated.upper_bound >= listed.utility - 1e-9


def test_a_robust_promise_for_several_distributions_is_refused():
    joint = pf.Joint([[30, 10], [10, 30]])
    with pytest.raises(InvalidPromise, match="a robust promise is for the counts of one joint"):
        pf.optimise([joint, joint], pf.robust(pf.LIP(0.5)))


def test_distributions_that_do_not_fit_together_are_refused():
    with pytest.raises(pf.PrivacyFunnelError, match="different attributes"):
        pf.optimise([pf.Joint([[1, 2], [3, 4]]), pf.Joint([[1, 2], [3, 4]], attributes=["age"])], pf.LIP(1.0))
    with pytest.raises(pf.PrivacyFunnelError, match="at least one"):
        pf.optimise([], pf.LIP(1.0))
    with pytest.raises(pf.PrivacyFunnelError, match="needs a Joint"):
        pf.optimise([[[1, 2], [3, 4]]], pf.LIP(1.0))


def test_tables_cut_into_different_bins_are_refused_and_the_same_bins_are_not(tmp_path):
    import pyarrow as pa

    rng = np.random.default_rng(0)

    def table(seed):
        ages = rng.integers(18, 90, 500) + seed
        return pa.table({"age": ages, "ill": rng.integers(0, 2, 500).astype(str)})

    first, second = table(0), table(5)
    with pytest.raises(pf.PrivacyFunnelError, match="same bins"):
        pf.optimise([pf.Joint.from_table(t, "ill", ["age"]) for t in (first, second)], pf.LIP(0.5))
    bins = {"age": [0, 30, 50, 70, 120]}
    joints = [pf.Joint.from_table(t, "ill", ["age"], bins=bins) for t in (first, second)]
    protocol = pf.optimise(joints, pf.LIP(0.5))
    protocol.save(tmp_path / "p.json")
    assert all(pf.certify(pf.Protocol.load(tmp_path / "p.json"), joint).holds for joint in joints)
