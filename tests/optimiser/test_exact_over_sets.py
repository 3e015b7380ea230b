"""Columns that stay exact under a promise for the population."""

from __future__ import annotations

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.tables.private_counts import private


def people(seed, factor=3, shape=(2, 2, 3, 4)):
    array = factor * np.random.default_rng(seed).integers(200, 900, size=shape)
    return pf.Joint(array, secret=["a", "b"], attributes=["town", "sport"])


EACH = pf.Promises(a=pf.LIP(0.5), b=pf.LDP(0.9))


def check_exact(protocol, joint):
    """Nobody is released with another town, and every clause is kept over its set."""
    block = protocol.block
    assert block.exact == ("town",)
    values = block.channel.inputs, block.labels[block.channel.outputs]
    towns = [block.codes[x, list(protocol.attributes).index("town")] for x in values]
    assert np.array_equal(*towns)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.level <= protocol.notion.epsilon


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("within", ["intervals", "nested"])
@pytest.mark.parametrize("promise", [EACH, pf.Promises(a=pf.Belief({0: 0.7}), b=pf.LIP(0.6))])
def test_a_column_stays_exact_and_each_promise_is_kept_for_the_population(objective, within, promise):
    joint = people(1)
    over = pf.robust(promise, within=within)
    protocol = pf.optimise(joint, over, objective=objective, exact=["town"], time_limit=4)
    check_exact(protocol, joint)
    plain = pf.optimise(joint, promise, objective=objective, exact=["town"], time_limit=4)
    assert protocol.utility <= plain.upper_bound + 1e-9
    towns = joint.over(["town"])
    assert protocol.utility >= towns.entropy - 1e-6
    if objective == "faithful":
        assert pf.certify(protocol, joint).marginal_error <= 2**-30
        assert protocol.fidelity <= plain.fidelity_bound + 1e-9


def test_a_private_fit_with_an_exact_column_is_audited_by_anybody():
    joint = private(people(2, factor=9), 1.0)
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.robust(EACH), objective=objective, exact=["town"], time_limit=4)
        check_exact(protocol, joint)
        assert protocol.notion.within == "nested"
        assert audit_publicly(protocol)[1].holds


def test_combinations_that_nobody_has_are_released_within_their_town():
    array = 3 * np.random.default_rng(3).integers(300, 900, size=(2, 3, 4))
    array[:, 1, 2] = 0
    joint = pf.Joint(array, attributes=["town", "sport"])
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.robust(pf.LIP(0.6), within="nested"), objective=objective, exact=["town"])
        check_exact(protocol, joint)
        assert protocol.block.channel.n_inputs == 12


def test_a_town_that_says_too_much_for_some_population_is_named():
    joint = pf.Joint([[[300, 300], [30, 20]], [[300, 300], [20, 30]]], attributes=["town", "sport"])
    assert pf.optimise(joint, pf.LIP(0.1), exact=["town"]).block.exact == ("town",)
    for within in ("intervals", "nested"):
        with pytest.raises(InvalidPromise, match=r"town = 1 .*say more of S than is promised") as refused:
            pf.optimise(joint, pf.robust(pf.LIP(0.1), within=within), exact=["town"])
        assert "\n" not in str(refused.value)


def test_a_protocol_that_is_pushed_past_a_limit_of_the_set_is_refused():
    """What is best for the counts alone uses its whole ε up, so it is past it for some population."""
    joint = people(4, factor=1)
    plain = pf.optimise(joint, pf.Promises(a=pf.LIP(0.3), b=pf.LDP(0.4)), exact=["town"])
    for within in ("intervals", "nested"):
        assert not pf.certify(plain, joint, pf.robust(plain.notion, within=within)).holds


def test_attackers_who_know_columns_need_intervals():
    joint = people(5)
    promise = pf.Promises(a=pf.SRLIP(1.0, known=["sport"]), b=pf.LIP(0.6))
    protocol = pf.optimise(joint, pf.robust(promise), exact=["town"], time_limit=4)
    check_exact(protocol, joint)
    assert protocol.notion.within == "intervals"
    with pytest.raises(InvalidPromise, match="stay exact over intervals"):
        pf.optimise(joint, pf.robust(promise, within="nested"), exact=["town"])
