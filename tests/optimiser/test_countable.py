"""Rows that can be counted, of hundreds of values with attackers who know columns: what is told is redrawn as rows."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import NotCertified
from privacyfunnel.optimiser import countable
from privacyfunnel.optimiser.faithful.redrawing import redrawn

pytestmark = pytest.mark.usefixtures("compiled_loops")


def thin() -> pf.Joint:
    """Some 700 combinations of values, of which most have one or two people."""
    rng = np.random.default_rng(5)
    rate = rng.random((2, 8, 10, 12)) ** 3
    return pf.Joint(rng.poisson(1.5 * rate / rate.mean()), attributes=["town", "age", "born"])


@pytest.mark.long
def test_much_stays_as_it_was_where_the_program_hardly_begins(monkeypatch):
    joint, promise = thin(), pf.SRLIP(1.0, known=1)
    assert joint.n_x > 500
    protocol = pf.optimise(joint, promise, objective="faithful", time_limit=8)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    assert protocol.fidelity <= protocol.fidelity_bound
    monkeypatch.setattr(countable, "can_split", lambda joint, notion: False)
    alone = pf.optimise(joint, promise, objective="faithful", time_limit=8)
    assert protocol.utility > 2 * alone.utility
    assert protocol.fidelity > alone.fidelity + 0.05


def test_rows_are_redrawn_from_the_posterior_of_what_was_told():
    joint = pf.Joint(np.random.default_rng(9).integers(1, 90, (2, 4, 3)))
    told = pf.optimise(joint, pf.LIP(0.3))
    rows = redrawn(told, joint, None)
    posterior = told.channel * joint.p_x / (told.channel @ joint.p_x)[:, None]
    assert rows.channel == pytest.approx(posterior.T @ told.channel, abs=1e-5)
    certificate = pf.certify(rows, joint)
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    mass = rows.channel * joint.p_x
    assert rows.likeness.rows_unchanged == pytest.approx(np.trace(mass))


def test_what_cannot_be_redrawn_exactly_is_left_to_the_program(monkeypatch):
    def never(*_):
        raise NotCertified("by a hair's breadth")

    monkeypatch.setattr(countable, "can_split", lambda joint, notion: True)
    monkeypatch.setattr(countable, "redrawn", never)
    joint = pf.Joint(np.random.default_rng(1).integers(1, 9, (2, 3, 3)))
    protocol = pf.optimise(joint, pf.SRLIP(0.5), objective="faithful", time_limit=2)
    assert pf.certify(protocol, joint).holds


def test_the_better_of_both_comes_back_with_the_bound_of_the_program(monkeypatch):
    joint = pf.Joint(np.random.default_rng(1).integers(1, 9, (2, 3, 3)))
    plain = pf.optimise(joint, pf.SRLIP(0.5), objective="faithful")
    monkeypatch.setattr(countable, "can_split", lambda joint, notion: True)
    protocol = pf.optimise(joint, pf.SRLIP(0.5), objective="faithful", time_limit=10)
    assert protocol.fidelity == pytest.approx(plain.fidelity, abs=2e-3)
    assert protocol.fidelity_bound <= plain.fidelity + 2e-3
