"""Protocols over nested sets: they keep their promise for the truth, and more columns never keep much less."""

import numpy as np
import pytest

import privacyfunnel as pf


def independent(shape, n, seed=1):
    """Counts of n people whose secret tells nothing of their values."""
    p = np.random.default_rng(seed).dirichlet(np.full(np.prod(shape), 5.0)).reshape(shape)
    return pf.Joint(np.stack([0.6 * n * p, 0.4 * n * p]).astype(np.int64))


# --- all that can be released is released ------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3), (4, 5)], ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_where_every_value_may_be_told_as_many_outputs_as_values_are_kept(shape, epsilon):
    joint = independent(shape, 10**6)
    protocol = pf.optimise(joint, pf.robust(pf.LIP(epsilon)))
    assert protocol.blocks[0].channel.n_outputs == joint.n_x
    assert protocol.utility > 0.999 * joint.entropy
    assert pf.certify(protocol, joint).holds


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 500.0, 10_000.0])
@pytest.mark.parametrize("notion", [pf.LIP, pf.LDP, pf.PML, pf.SRLIP])
def test_a_promise_that_allows_nearly_everything_lets_nearly_everything_be_released(notion, epsilon):
    joint = independent((2, 3), 300)
    protocol = pf.optimise(joint, pf.robust(notion(epsilon)))
    assert protocol.utility > 0.99 * joint.entropy
    assert pf.certify(protocol, joint).holds


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.SRLIP(0.5), pf.LDP(0.5)], ids=str)
def test_values_that_nobody_has_do_not_keep_all_others_from_being_released(notion):
    """Mixtures once left a part of such values to artificial columns, which no channel can have."""
    array = np.zeros((2, 3, 4), dtype=np.int64)
    array[0, :2], array[1, :2] = [[1, 7, 2, 0], [1, 1, 4, 0]], [[4, 20, 3, 6], [3, 2, 3, 3]]
    protocol = pf.optimise(pf.Joint(array), pf.robust(notion))
    assert protocol.utility > 0.05
    assert protocol.blocks[0].channel.n_outputs > 1


@pytest.mark.parametrize("notion", [pf.SRLIP(0.5), pf.SRLIP(0.5, known=1), pf.SRLDP(0.5)], ids=str)
def test_attackers_may_know_combinations_that_nobody_has(notion):
    rng = np.random.default_rng(3)
    array = rng.integers(20, 90, (2, 2, 2, 3))
    array[:, 1, 1] = array[:, 0, :, 2] = 0
    joint = pf.Joint(array)
    protocol = pf.optimise(joint, pf.robust(notion), time_limit=3)
    assert pf.certify(protocol, joint).holds
    assert protocol.draw is None
