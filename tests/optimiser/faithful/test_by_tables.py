"""Faithful releases over nested sets: the cells of one table, other columns redrawn to go with them."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.optimiser.faithful import by_tables
from privacyfunnel.optimiser.robust.table_programs import Cut
from privacyfunnel.proof.invariance import MARGINAL_ERROR


def counted(n=4_000, seed=3, shape=(2, 3, 4)):
    """People whose secret leans on the first column, with a rare combination that nobody has."""
    rng = np.random.default_rng(seed)
    x = rng.dirichlet(np.full(int(np.prod(shape)), 2.0)).reshape(shape)
    x[-1, -1, -1] = 0.0
    lean = np.linspace(0.4, 0.6, shape[0])[:, None, None]
    truth = np.stack([x * lean, x * (1 - lean)])
    return pf.Joint(rng.multinomial(n, truth.ravel() / truth.sum()).reshape(truth.shape))


@pytest.fixture(scope="module")
def release():
    joint = counted()
    return joint, pf.optimise(joint, pf.robust(pf.LIP(0.3)), objective="faithful", time_limit=10)


def test_the_promise_is_certified_over_the_nested_set(release):
    joint, protocol = release
    certificate = pf.certify(protocol, joint)
    assert protocol.notion.within == "nested"
    assert certificate.holds
    assert certificate.level <= 0.3


def test_released_rows_have_the_distribution_of_the_original_ones(release):
    joint, protocol = release
    certificate = pf.certify(protocol, joint)
    assert certificate.marginal_error <= MARGINAL_ERROR
    block = protocol.block
    shares = block.channel.dense() @ np.bincount(
        block.inputs_of(joint), weights=joint.p_x, minlength=block.channel.n_inputs
    )
    np.testing.assert_allclose(shares[block.inputs_of(joint)], joint.p_x, atol=2e-9)


def test_a_combination_that_nobody_has_is_never_released_and_yet_has_a_row(release):
    joint, protocol = release
    domain = joint.completed
    nobody = np.flatnonzero(domain.p_x == 0)
    assert len(nobody)
    assert protocol.block.channel.n_inputs == domain.n_x
    assert not np.isin(protocol.block.channel.outputs, nobody).any()


@pytest.mark.long
def test_fidelity_is_within_its_bound_and_above_that_of_intervals_on_rare_cells():
    joint = counted(n=1_500, shape=(2, 4, 6))
    nested = pf.optimise(joint, pf.robust(pf.LIP(0.2)), objective="faithful", time_limit=10)
    single = pf.optimise(joint, pf.robust(pf.LIP(0.2), within="intervals"), objective="faithful", time_limit=10)
    assert nested.fidelity <= nested.fidelity_bound
    assert nested.likeness.cells_unchanged > single.likeness.cells_unchanged


def test_it_is_saved_loaded_and_sanitises(release, tmp_path):
    joint, protocol = release
    protocol.save(tmp_path / "protocol.json")
    again = pf.Protocol.load(tmp_path / "protocol.json")
    assert pf.certify(again, joint).holds
    table = {name: joint.completed.values[:, j].tolist() for j, name in enumerate(joint.attributes)}
    import pandas as pd

    assert len(again.sanitise(pd.DataFrame(table), seed=1)) == joint.completed.n_x


def test_attackers_who_know_columns_have_intervals_unless_nested_sets_are_asked_for():
    joint = counted(n=2_000, shape=(2, 2, 2))
    protocol = pf.optimise(joint, pf.robust(pf.SRLIP(0.5)), objective="faithful", time_limit=5)
    assert protocol.notion.within == "intervals"
    with pytest.raises(pf.PrivacyFunnelError, match="not sought over nested sets"):
        pf.optimise(joint, pf.robust(pf.SRLIP(0.5), within="nested"), objective="faithful", time_limit=5)


def test_average_similarity_is_that_of_all_pairs():
    joint = counted(shape=(2, 2, 3)).completed
    similarity = by_tables.Similarity.of(joint)
    cut = Cut.by((0, 2), joint, joint.p_x)
    inside = joint.p_x / cut.p[cut.of]
    whole = similarity.dense() * np.outer(inside, inside)
    expected = np.zeros((len(cut.p), len(cut.p)))
    np.add.at(expected, (cut.of[:, None], cut.of[None, :]), whole)
    np.testing.assert_allclose(by_tables.average_similarity(similarity, cut, joint.p_x), expected, atol=1e-12)


def test_a_short_time_limit_gives_a_certified_release():
    joint = counted()
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.3)), objective="faithful", time_limit=0)
    assert pf.certify(protocol, joint).holds
