"""Releases that several tests of estimates read."""

import numpy as np
import pytest

import privacyfunnel as pf
from released_people import NAMES, sample


@pytest.fixture(scope="module")
def kept():
    """A release that changes nothing, and its protocol: what is estimated is what is in the table."""
    table = sample(np.random.default_rng(3), 3_000)
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", NAMES), pf.LIP(20.0), objective="faithful")
    return table, protocol.sanitise(table[NAMES], seed=1), protocol
