"""Emptied columns are named, whether the table is at hand or not, and others are not."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.emptied import emptied


def joint(seed=0):
    """x tells much of the secret, z nothing, and the third column is the same for everybody."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((2, 2, 3, 1), dtype=int)
    for s in range(2):
        for x in range(2):
            counts[s, x, :, 0] = 50 + 400 * (x == s) + rng.integers(0, 3, 3)
    return pf.Joint(counts)


@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("at_hand", [True, False])
def test_a_column_of_which_nothing_is_released_is_named_and_no_other(objective, at_hand):
    table = joint()
    protocol = pf.optimise(table, pf.LIP(0.01), objective=objective, time_limit=5)
    found = emptied(protocol, table if at_hand else None)
    first, _, third = table.attributes
    assert found.columns == (first,)
    assert found.shares[third] == 1.0  # nothing is lost of what is the same in every row
    assert found.words().startswith(f"Emptied: {first}: its released values say next to nothing")


def test_a_protocol_that_releases_all_has_no_emptied_column():
    table = joint()
    found = emptied(pf.optimise(table, pf.LIP(5.0)), table)
    assert found.columns == ()
    assert found.words() == ""
    assert list(found.shares.values()) == pytest.approx([1.0, 1.0, 1.0])


def test_the_share_is_that_of_mutual_information_over_entropy():
    table = pf.Joint([[40, 10], [10, 40]])
    protocol = pf.optimise(table, pf.LIP(0.3))
    (share,) = emptied(protocol, table).shares.values()
    assert share == pytest.approx(protocol.utility / table.entropy)
