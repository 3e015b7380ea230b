"""Domains too large for noise in every cell: only large counts are told, and only if they are of most people."""

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.noise import LEAST_TOLD
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.readers import share_errors
from privacyfunnel.tables.private_counts import private


def table_with(common, rare):
    """People of whom `common` share two combinations, and `rare` have one of their own."""
    town = ["A"] * (common // 2) + ["B"] * (common - common // 2) + [f"T{i}" for i in range(rare)]
    ill = (np.arange(common + rare) % 3 == 0).astype(int)
    return pa.table({"town": town, "ill": ill})


def test_a_fit_of_a_few_people_is_refused_with_how_many_they_are():
    joint = pf.Joint.from_table(table_with(400, 90), "ill", ["town"], top={"town": 95})
    with pytest.raises(InvalidInput, match=r"only 2, with about \d+% of the people, stand out") as trouble:
        private(pf.Joint.from_table(table_with(400, 900), "ill", ["town"], top={"town": 950}), 1.0, delta=1e-9)
    assert "T1" not in str(trouble.value)
    assert private(joint, 1.0, delta=1e-9).noise.counts.sum() / joint.total > LEAST_TOLD


def test_counts_say_by_how_much_reading_rare_combinations_as_others_moves_shares():
    rng = np.random.default_rng(1)
    town, age = rng.choice(20, 3_000), rng.choice(12, 3_000)
    table = pa.table({"town": town, "age": age, "ill": (rng.random(3_000) < 0.3).astype(int)})
    joint = pf.Joint.from_table(table, "ill", ["town", "age"], private=1.0, at_least=15)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.02)
    errors = share_errors(protocol, joint)
    before = joint.before_gathering
    moved = [
        np.abs(np.bincount(before.codes[:, j], before.p_x) - np.bincount(joint.codes[:, j], joint.p_x, len(column)))
        for j, column in enumerate(joint.columns)
    ]
    assert errors.moved == pytest.approx(max(float(each.max()) for each in moved))
    assert errors.moved > 0.001
    assert "rare combinations are read as others, which moves shares by up to" in errors.words()
