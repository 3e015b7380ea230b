"""compose(method="adaptive"): what a block tells may depend on what the blocks before it told, as promised."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import brute_level, spread, tables
from privacyfunnel.errors import InvalidInput, TooManyAttackers
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.blocks import compose, product_posteriors
from privacyfunnel.optimiser.blocks.joint_outputs import Parts
from privacyfunnel.optimiser.blocks.product_posteriors import ProductPosteriors
from privacyfunnel.optimiser.program.polytope import Polytope

pytestmark = pytest.mark.usefixtures("compiled_loops")


def products_of(joint, notion, blocks=None):
    names = tuple(map(tuple, blocks or [[name] for name in joint.attributes]))
    return ProductPosteriors(Polytope.granted(joint, notion), Parts(joint, names, notion.views(joint)).inputs)


@pytest.mark.long
@given(tables(most=2), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=4)
def test_adaptive_blocks_keep_the_promise_by_the_definition_and_no_less_than_tuned_ones(p, epsilon, spreads):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    adaptive = pf.compose(joint, kind(epsilon), method="adaptive", time_limit=None)
    assert pf.certify(adaptive, joint).holds
    assert brute_level(p, spread(adaptive, p), spreads) <= epsilon + 1e-9
    assert adaptive.utility >= pf.compose(joint, kind(epsilon), time_limit=None).utility
    assert adaptive.utility <= adaptive.upper_bound


@pytest.mark.long
@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.booleans(), st.booleans())
@settings(max_examples=8)
def test_adaptive_blocks_of_three_attributes_are_never_below_tuned_ones(p, epsilon, spreads, in_blocks):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    names = list(joint.attributes)
    blocks = [names[:1], names[1:]] if in_blocks else None
    adaptive = pf.compose(joint, kind(epsilon), blocks, "adaptive", time_limit=None)
    assert brute_level(p, spread(adaptive, p), spreads) <= epsilon + 1e-9
    assert adaptive.utility >= pf.compose(joint, kind(epsilon), blocks, time_limit=None).utility


@pytest.mark.long
def test_adaptive_blocks_close_over_a_third_of_the_distance_from_tuned_ones_to_the_joint_optimum():
    kept = []
    for draw in range(3):
        joint = pf.Joint(np.random.default_rng(2020 + draw).random((2, 3, 3, 4)))
        tuned, adaptive = (pf.compose(joint, pf.SRLIP(0.5), method=method).utility for method in ("tuned", "adaptive"))
        best = pf.optimise(joint, pf.SRLIP(0.5), gap=0.05, time_limit=20)
        assert adaptive <= best.upper_bound
        kept.append((tuned, adaptive, best.utility))
    tuned, adaptive, best = np.mean(kept, axis=0)
    assert (adaptive - tuned) / (best - tuned) > 1 / 3


def test_every_output_of_adaptive_blocks_is_a_product_over_blocks():
    joint = pf.Joint(np.random.default_rng(2020).random((2, 2, 3, 3)))
    protocol = pf.compose(joint, pf.SRLIP(0.7), [["X1", "X3"], ["X2"]], "adaptive", time_limit=5)
    (block,) = protocol.blocks
    for likelihood in block.channel.dense():
        by_blocks = likelihood.reshape(2, 3, 3).transpose(0, 2, 1).reshape(6, 3)
        sigma = np.linalg.svd(by_blocks, compute_uv=False)
        assert sigma[1] <= 1e-6 * sigma[0]


def test_what_a_sequence_of_blocks_tells_is_a_product_and_its_level_is_that_of_its_posteriors():
    rng = np.random.default_rng(4)
    p = rng.random((2, 3, 2))
    joint, first = pf.Joint(p), rng.dirichlet(np.ones(2), size=3).T
    second = rng.dirichlet(np.ones(2), size=(2, 2))  # second[y1, x2, y2]
    products = products_of(joint, pf.SRLIP(10))
    Q = np.array([[first[a, i] * second[a, j, b] for i in range(3) for j in range(2)] for a in (0, 1) for b in (0, 1)])
    for row, (a, b) in zip(Q, [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        v = products.posterior([first[a], second[a, :, b]])
        assert v == pytest.approx(row * joint.p_x / (row @ joint.p_x))
    level = brute_level(p / p.sum(), Q)
    assert all((products_of(joint, pf.SRLIP(level + 1e-9)).polytope.G @ (row * joint.p_x) <= 0).all() for row in Q)
    assert any((products_of(joint, pf.SRLIP(level - 1e-6)).polytope.G @ (row * joint.p_x) > 0).any() for row in Q)


@pytest.mark.parametrize("most", [0, 10**6], ids=["searched", "listed"])
def test_factors_that_are_found_keep_every_row_and_undercut_their_prices(most, monkeypatch):
    monkeypatch.setattr(product_posteriors, "LIST_VERTICES", most)
    joint = pf.Joint(np.random.default_rng(7).random((2, 3, 4, 2)))
    products, rng = products_of(joint, pf.SRLIP(0.5)), np.random.default_rng(1)
    G = products.polytope.G
    met = 0
    for _ in range(10):
        y = rng.normal(4.0, 2.0, joint.n_x)
        for factors in products.improved(products.constant(), y, rng.permutation(3), 1e-3, lambda: False):
            v = products.posterior(factors)
            assert (G @ v <= 1e-8 * (np.abs(G) @ v)).all()
            assert float(entropy(v)) - y @ v < -1e-3
            met += 1
    assert met > 10


def test_an_adaptive_protocol_survives_its_file_sanitises_and_is_estimated_from(tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age": rng.integers(0, 3, 6000), "town": rng.choice(["a", "b", "c"], 6000)})
    table["sick"] = (rng.random(6000) < 0.2 + 0.15 * table["age"] + 0.1 * (table["town"] == "b")).astype(int)
    joint = pf.Joint.from_table(table, "sick", ["age", "town"], bins={"age": "each"})
    protocol = pf.compose(joint, pf.SRLIP(0.3), method="adaptive", time_limit=4)
    with pytest.warns(pf.errors.ExactFit):
        protocol.save(tmp_path / "p.json")
    loaded = pf.Protocol.load(tmp_path / "p.json")
    assert loaded.how == protocol.how
    assert "adaptive" in loaded.how
    assert pf.certify(loaded, joint).holds
    released = loaded.sanitise(table, seed=1)
    assert list(released.columns) == ["age", "town"]
    found = pf.estimate(released, loaded, of=["town"])
    assert found.way == "channel"
    shares = table["town"].value_counts(normalize=True)
    told = found.table("town").told
    assert told
    assert all(abs(one.share - shares[one.values[0][0]]) <= 5 * one.error for one in told)


def test_adaptive_blocks_are_for_information_and_say_so():
    with pytest.raises(InvalidInput, match="'adaptive' keeps information"):
        pf.compose(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(1), method="adaptive", objective="faithful")


def test_where_conditions_are_too_many_adaptive_blocks_are_the_tuned_product_and_say_so(monkeypatch):
    joint = pf.Joint(np.random.default_rng(1).random((2, 2, 3)))
    tuned = pf.compose(joint, pf.SRLIP(0.5))

    def refuse(*_):
        raise TooManyAttackers("the promise has too many conditions", known=1)

    monkeypatch.setattr(compose.Polytope, "granted", refuse)
    found = pf.compose(joint, pf.SRLIP(0.5), method="adaptive")
    assert [block.attributes for block in found.blocks] == [("X1",), ("X2",)]
    assert "given up" in found.how
    assert pf.certify(found, joint).holds
    assert found.utility == pytest.approx(tuned.utility)
