"""The table of other ε₀ follows from published numbers, and says what more noise costs."""

from dataclasses import replace

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.optimiser.aiming import optimise_inside, rehearsing
from privacyfunnel.optimiser.rehearsed_cells import PublishedCells
from privacyfunnel.report.other_noise import EPSILONS, OtherNoise, cells_unchanged, error_of_shares
from privacyfunnel.tables.private_counts import private

PROMISE = pf.LIP(0.5)


@pytest.fixture(scope="module")
def published(noise_with_seed):
    rng = np.random.default_rng(1)
    x, lean = rng.dirichlet(np.full(20, 2.0)), rng.beta(1, 2, 20)
    counts = rng.multinomial(5_000, np.concatenate([x * lean, x * (1 - lean)])).reshape(2, 20)
    with noise_with_seed(1):
        joint = private(pf.Joint(counts + (counts.sum(axis=0) == 0)), 1.0)
    return PublishedCells.of(joint, rehearsing("faithful", 30.0, None))


def test_every_noise_has_its_row_and_asking_again_finds_the_same(published):
    found, again = (OtherNoise.of(published, PROMISE, lambda: False) for _ in range(2))
    assert tuple(one.private for one in found.each) == EPSILONS
    assert found == again
    assert not found.hurried
    assert all(0 < one.cells <= 1 and one.shares >= 0 for one in found.each)
    assert found.part().count("<tr>") == len(EPSILONS) + 1
    at_hand = next(one for one in found.each if one.private == 1.0)
    protocol = optimise_inside(published.joint, PROMISE, objective="faithful", time_limit=30.0)
    assert at_hand.aim == protocol.aim


def test_without_time_nothing_is_foretold(published):
    assert OtherNoise.of(published, PROMISE, lambda: True) is None
    assert OtherNoise.of(None, PROMISE, lambda: False) is None


def test_a_release_of_all_as_it_is_changes_no_cell_and_no_share():
    joint = pf.Joint([[30, 70, 100], [60, 40, 200]])
    as_it_is = pf.optimise(joint, pf.LIP(20.0), objective="faithful").step.drawn(joint)
    assert cells_unchanged(as_it_is, joint) == pytest.approx(1.0)
    assert error_of_shares(as_it_is, joint) == pytest.approx(0.0, abs=1e-6)


def test_what_is_drawn_from_everybody_alike_agrees_by_chance_and_is_off_by_its_own_error():
    joint = pf.Joint([[30, 70, 100], [60, 40, 200]])
    plain = pf.optimise(joint, pf.LIP(20.0), objective="faithful").step.drawn(joint)
    everybody = replace(plain, chance=plain.chance * 0, lost=np.ones(3), common=joint.p_x)
    assert cells_unchanged(everybody, joint) == pytest.approx(float((joint.p_x**2).sum()))
    assert error_of_shares(everybody, joint) == pytest.approx(1.0)
