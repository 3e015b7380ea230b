"""Rounding rows of many values: quickly, near where they were, and with the promise kept."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.optimiser.program import rounding
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.protocols.channel import UNIT


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("kind", [pf.SRLIP, pf.SRLDP])
def test_wide_rows_at_the_border_are_raised_a_little(kind, epsilon, monkeypatch):
    monkeypatch.setattr(rounding, "_by_step", None)  # hundreds of tight rows: half a second for each row of the channel
    monkeypatch.setattr(rounding, "_by_trial", None)
    rng = np.random.default_rng(3)
    joint = pf.Joint(rng.integers(1, 9, (2, 4, 5, 2)))
    polytope = Polytope.granted(joint, kind(epsilon))
    A = polytope.G * polytope.p_x
    for _ in range(20):
        towards = rng.normal(size=joint.n_x)
        n = np.ones(joint.n_x)
        low, high = 0.0, 1e3
        for _ in range(60):  # as far as the promise lets it go
            middle = (low + high) / 2
            row = n + middle * towards
            low, high = (middle, high) if row.min() >= 0 and (A @ row <= 0).all() else (low, middle)
        target = (n + low * towards) * 0.01 * UNIT
        row = rounding._round_row(A, np.arange(joint.n_x), target, polytope.p_x)
        assert row is not None
        full = np.zeros(joint.n_x)
        full[row.support] = row.numerators
        assert (A @ full <= 0).all()
        assert np.abs(full - target).max() <= max(rounding.REACHES)
