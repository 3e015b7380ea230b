"""improve: what comes back keeps at least as much, with the same promise, and a bound that still holds."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.improving import improve, posteriors
from privacyfunnel.tables.counting import count_table

pa = pytest.importorskip("pyarrow")


def table(n=4_000, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.integers(0, 4, n), rng.integers(0, 3, n)
    s = (x + z + rng.integers(0, 4, n)) % 3
    return pa.table({"s": s.tolist(), "x": x.tolist(), "z": z.tolist()})


def kept(protocol):
    return protocol.utility if protocol.likeness is None else protocol.likeness.fidelity


def bound(protocol):
    return protocol.upper_bound if protocol.likeness is None else protocol.likeness.fidelity_bound


@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("notion", [pf.LIP(0.2), pf.SRLIP(0.4)])
@pytest.mark.parametrize("private", [True, False])
def test_a_search_that_was_cut_short_is_finished_from_its_file(objective, notion, private, tmp_path):
    counted = count_table(table(), "s").safely(1.0 if private else None)
    first = pf.optimise(counted.joint, notion, objective=objective, time_limit=0)
    first.save(tmp_path / "first.json") if private else _save_exact(first, tmp_path / "first.json")
    loaded = pf.Protocol.load(tmp_path / "first.json")
    second = improve(loaded, None if private else counted.joint, time_limit=20)
    assert kept(second) > kept(first)
    assert bound(second) <= bound(first) + 1e-12
    assert pf.certify(second, counted.joint).holds
    assert second.secret_readings == loaded.secret_readings
    best = pf.optimise(counted.joint, notion, objective=objective, time_limit=20)
    assert kept(second) == pytest.approx(kept(best), abs=2e-3)


def _save_exact(protocol, path):
    with pytest.warns(pf.errors.ExactFit):
        protocol.save(path)


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_no_time_loses_nothing(objective):
    joint = count_table(table(), "s").safely(1.0).joint
    done = pf.optimise(joint, pf.LIP(0.2), objective=objective)
    again = improve(done, time_limit=0)
    assert kept(again) >= kept(done) - 1e-9
    assert bound(again) <= bound(done) + 1e-12
    assert bound(again) >= kept(again)


def test_the_noisy_counts_are_those_of_the_protocol():
    joint = count_table(table(), "s").safely(1.0).joint
    first = pf.optimise(joint, pf.LIP(0.2), time_limit=0)
    second = improve(first)
    assert second.noise is not None
    assert np.array_equal(second.noise.counts, first.noise.counts)
    assert second.fitted == "private counts"


def test_what_is_not_its_own_table_is_refused():
    joint = count_table(table(), "s").joint
    first = pf.optimise(joint, pf.LIP(0.2), time_limit=0)
    with pytest.raises(InvalidInput, match="only be improved with the table"):
        improve(first)
    with pytest.raises(InvalidInput, match="other combinations of values"):
        improve(first, count_table(table().slice(0, 6), "s").joint)


def test_posteriors_are_those_of_the_channel():
    joint = pf.Joint([[40, 10, 20], [10, 40, 20]])
    protocol = pf.optimise(joint, pf.LIP(0.3))
    block = protocol.block
    dense = posteriors(block.channel, joint.p_x).dense(joint.n_x)
    mass = protocol.channel * joint.p_x
    assert dense == pytest.approx(mass / mass.sum(axis=1, keepdims=True))
