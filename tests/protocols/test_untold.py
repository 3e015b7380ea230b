"""Untold shares are those of which readers get nothing, or nothing but a guess."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols import untold as module
from privacyfunnel.protocols.untold import untold_shares

JOINT = pf.Joint([[40, 10, 25], [10, 40, 25]])


def test_nothing_released_tells_no_share():
    found = untold_shares(pf.optimise(pf.Joint([[40, 0], [0, 40]]), pf.PerfectPrivacy()), pf.Joint([[40, 0], [0, 40]]))
    assert (found.shares, found.untold) == (2, 2)


def test_a_weak_promise_tells_all_shares():
    found = untold_shares(pf.optimise(JOINT, pf.LIP(3.0)), JOINT)
    assert (found.shares, found.untold) == (3, 0)


def test_the_same_channel_tells_more_of_more_people():
    many = pf.Joint(np.array([[40, 10], [10, 40]]) * 10_000)
    few = pf.Joint([[40, 10], [10, 40]])
    protocol = pf.optimise(few, pf.LIP(0.05))
    assert untold_shares(protocol, few).untold == 2
    assert untold_shares(protocol, many).untold == 0


def test_the_error_is_that_of_estimates():
    rng = np.random.default_rng(2)
    joint = pf.Joint(rng.integers(20, 90, (2, 3, 2)))
    protocol = pf.optimise(joint, pf.LIP(0.3))
    rows = np.repeat(np.arange(joint.n_x), joint.weights.sum(axis=0).astype(int))
    table = {name: joint.values[rows, j].tolist() for j, name in enumerate(joint.attributes)}
    pa = pytest.importorskip("pyarrow")
    found = pf.estimate(protocol.sanitise(pa.table(table), seed=1), protocol)
    block = protocol.block
    ours = module._errors(block, joint)
    theirs = [each.error for name in joint.attributes for each in found.table(name).estimates]
    assert ours == pytest.approx(theirs, rel=0.25)


def test_faithful_rows_are_counted_and_large_channels_are_left_alone(monkeypatch):
    assert untold_shares(pf.optimise(JOINT, pf.LIP(0.1), objective="faithful"), JOINT) is None
    protocol = pf.optimise(JOINT, pf.LIP(0.1))
    monkeypatch.setattr(module, "MOST_INPUTS", 2)
    assert untold_shares(protocol, JOINT) is None
