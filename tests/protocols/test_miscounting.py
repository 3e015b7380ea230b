"""How far off counted shares are: by hand, and from the channel."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.miscounting import counting_words, miscount
from privacyfunnel.protocols.protocol import Protocol

rng = np.random.default_rng(5)
JOINT = pf.Joint(rng.integers(1, 90, (2, 3, 4)), attributes=["sex", "town"])


def test_a_channel_by_hand_is_off_by_what_is_moved():
    """Half of the value 1, a quarter of all, is released as 0: both shares are off by a quarter."""
    joint = pf.Joint([[1, 1], [1, 1]])
    block = block_of(joint, Channel.from_dense([[1, 0.5], [0, 0.5]]))
    protocol = Protocol(pf.LIP(50), block, 0.0, 0.0, 0.0, "by hand", "S")
    assert list(block.labels) == [0, 1]
    assert miscount(protocol, joint) == pytest.approx(0.25)
    assert "shares are off by 25 points on average" in counting_words(protocol, joint)


def test_faithful_releases_are_off_by_nothing_and_the_best_for_information_are():
    assert miscount(pf.optimise(JOINT, pf.LIP(0.2), objective="faithful"), JOINT) < 1e-8
    assert miscount(pf.optimise(JOINT, pf.LIP(0.2)), JOINT) > 1e-3


def test_rows_of_another_table_are_off_also_for_a_faithful_release():
    other = pf.Joint(np.random.default_rng(6).integers(1, 90, (2, 3, 4)), attributes=["sex", "town"])
    assert miscount(pf.optimise(JOINT, pf.LIP(0.05), objective="faithful"), other) > 1e-3
