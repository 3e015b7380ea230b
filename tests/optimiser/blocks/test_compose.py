"""compose: products of blocks keep the promise they make, and the paper's budget is caught where it does not."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from optimiser.test_side_channels import brute_level, spread, tables
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, NotCertified, UnseenValues
from privacyfunnel.optimiser.blocks import construction
from privacyfunnel.optimiser.faithful.redrawing import redrawn
from privacyfunnel.proof import certificate
from privacyfunnel.protocols.released import kept, released
from privacyfunnel.tables.sanitiser import Sanitiser

pytestmark = pytest.mark.usefixtures("compiled_loops")

UNIT = 2**32


def dyadic(Q):
    """The channel in multiples of 2⁻³²."""
    N = np.floor(Q * UNIT)
    N[N.argmax(axis=0), np.arange(N.shape[1])] += UNIT - N.sum(axis=0)
    return N / UNIT


def random_channel(rng, outputs, inputs):
    """A channel, some of whose entries are small."""
    Q = rng.dirichlet(np.full(min(outputs, inputs), 0.5), size=inputs).T
    return 0.9999 * Q + 0.0001 / len(Q)


def xor():
    """X¹ = X² = (A, B), two fair bits, and S = A xor B."""
    weights = np.zeros((2, 4, 4), dtype=int)
    for a, b in itertools.product((0, 1), repeat=2):
        weights[a ^ b, 2 * a + b, 2 * a + b] = 1
    return pf.Joint(weights)


def binary():
    """Full support, all binary; the budget of the channels below is 2·ln(227/209)."""
    return pf.Joint([[[980, 5], [5, 10]], [[996, 1], [1, 2]]])


BUDGET = 2 * math.log(227 / 209)
TWENTIETH, FOUR_FIFTHS = round(UNIT / 20) / UNIT, round(UNIT * 4 / 5) / UNIT
BOTH = np.array([[1 - TWENTIETH, 1 - FOUR_FIFTHS], [TWENTIETH, FOUR_FIFTHS]])


@pytest.mark.long
@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from(["chained", "tuned"]), st.booleans())
@settings(max_examples=30)
def test_every_product_keeps_its_promise_by_the_definition(p, epsilon, method, spreads):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    protocol = pf.compose(joint, kind(epsilon), method=method, time_limit=0.5)
    assert pf.certify(protocol, joint).holds
    assert brute_level(p, spread(protocol, p), spreads) <= epsilon + 1e-9


@given(tables(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30)
def test_the_exact_level_of_a_product_is_that_of_the_definition(p, seed, in_blocks):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    names = list(joint.attributes)
    blocks = [names[:1], names[1:]] if in_blocks else [[name] for name in names]
    channels = [dyadic(random_channel(rng, 3, joint.over(block).n_x)) for block in blocks]
    protocol = pf.compose(joint, pf.SRLIP(1e4), blocks, "paper", channels=channels)
    assert pf.certify(protocol, joint).level == pytest.approx(brute_level(p, spread(protocol, p)), rel=1e-9)
    assert pf.SRLIP(1).level(joint, protocol) == pytest.approx(brute_level(p, spread(protocol, p)), rel=1e-9, abs=1e-12)


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_a_product_too_large_to_go_through_is_bounded_block_by_block_never_too_low(p, seed):
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    sizes = [joint.over([name]).n_x for name in joint.attributes]
    channels = [dyadic(0.5 * Q + 0.5 / len(Q)) for Q in (random_channel(rng, 2, n) for n in sizes)]
    protocol = pf.compose(joint, pf.SRLIP(1e4), None, "paper", channels=channels)
    true = pf.certify(protocol, joint)
    levels = []
    for most in (0, 40, 200):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(certificate, "MOST_WORK", most)
            levels.append(pf.certify(protocol, joint))
    assert all(found.level >= true.level - 1e-12 for found in levels)
    assert not true.chained
    assert all(found.chained == ("block by block" in found.reason) for found in levels)


def test_a_product_too_large_to_go_through_is_refused_where_a_block_alone_may_tell_all(monkeypatch):
    joint = pf.Joint([[[3, 1], [2, 2]], [[1, 1], [2, 4]]])
    protocol = pf.compose(joint, pf.SRLIP(1e4), None, "paper", channels=[np.eye(2), np.eye(2)])
    monkeypatch.setattr(certificate, "MOST_WORK", 0)
    found = pf.certify(protocol, joint)
    assert not found.holds
    assert "too many outputs" in found.reason


def test_blocks_too_large_to_go_through_together_keep_their_share_by_themselves(monkeypatch):
    p = np.random.default_rng(8).integers(5, 60, (2, 3, 3))
    joint = pf.Joint(p)
    for module in (construction, certificate):
        monkeypatch.setattr(module, "MOST_WORK", 0)
    protocol = pf.compose(joint, pf.SRLIP(1.0), method="chained")
    assert pf.certify(protocol, joint).chained
    assert protocol.utility > 0.01
    # Each block alone changes no belief by more than its half, whatever is known and whatever the other one said.
    for block in protocol.blocks:
        Q = block.channel.dense()
        assert (Q.max(axis=1) / Q.min(axis=1)).max() <= math.exp(0.5) * (1 + 1e-9)
    assert brute_level(p / p.sum(), spread(protocol, p)) <= 1.0


def test_the_papers_budget_is_caught_where_two_blocks_tell_what_neither_does():
    A = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    B = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    joint = xor()
    for alone in (A, B):
        assert pf.LIP(0).level(joint.over(["X1"]), alone) == 0
    with pytest.raises(NotCertified, match="true level is inf") as refused:
        pf.compose(joint, pf.SRLIP(0), method="paper", channels=[A, B])
    assert refused.value.level == math.inf
    with pytest.raises(NotCertified):
        pf.compose(joint, pf.SRLIP(0.1), method="paper")


def test_the_papers_budget_is_caught_with_full_support():
    joint = binary()
    assert pf.LIP(1).level(joint.over(["X1"]), BOTH) == pytest.approx(BUDGET / 2, abs=1e-8)
    with pytest.raises(NotCertified, match=r"0\.53139") as refused:
        pf.compose(joint, pf.SRLIP(BUDGET), method="paper", channels=[BOTH, BOTH])
    assert refused.value.level == pytest.approx(0.5314, abs=1e-4)
    with pytest.raises(NotCertified) as built:
        pf.compose(joint, pf.SRLIP(BUDGET), method="paper")
    assert built.value.level > 3 * BUDGET


@pytest.mark.parametrize("method", ["chained", "tuned", "adaptive"])
@pytest.mark.parametrize(("joint", "epsilon"), [(xor(), 0.0), (xor(), 0.1), (binary(), BUDGET)])
def test_sound_methods_keep_the_promise_where_the_paper_does_not(joint, epsilon, method):
    protocol = pf.compose(joint, pf.SRLIP(epsilon), method=method)
    found = pf.certify(protocol, joint)
    assert found.holds
    assert found.level <= (epsilon or 1e-8)
    assert protocol.utility > 0


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_joint_optimum_keeps_most_then_tuned_then_the_paper(epsilon):
    joint = pf.Joint(np.random.default_rng(0).random((2, 2, 2, 3)))
    kept_by = [pf.compose(joint, pf.SRLIP(epsilon), method=method).utility for method in ("paper", "tuned")]
    best = pf.optimise(joint, pf.SRLIP(epsilon), gap=1e-4, time_limit=20)
    assert kept_by[0] < kept_by[1] <= best.upper_bound
    assert kept_by[1] < best.utility


def test_one_block_is_the_joint_optimum():
    joint = pf.Joint(np.random.default_rng(1).random((2, 2, 3)))
    whole = pf.optimise(joint, pf.SRLIP(0.5))
    assert pf.compose(joint, pf.SRLIP(0.5), [["X1", "X2"]]).utility == pytest.approx(whole.utility, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("method", ["chained", "tuned", "adaptive"])
@pytest.mark.parametrize(
    "weights",
    [
        np.eye(3, dtype=int)[:, :, None] * np.array([1, 2]),  # a secret determined by one attribute
        np.eye(4, dtype=int)[None] * np.array([[[3], [1], [2], [5]], [[1], [4], [2], [1]]]),  # X¹ = X²
        np.array([[[3, 0]], [[1, 4]]]),  # an attribute with one value
        np.array([[[3, 0], [0, 2]], [[0, 1], [4, 0]]]),  # zero cells
    ],
    ids=["determined", "duplicated", "single", "zeros"],
)
def test_degenerate_attributes_do_no_harm(weights, method):
    joint = pf.Joint(weights)
    protocol = pf.compose(joint, pf.SRLIP(0.3), method=method)
    assert pf.certify(protocol, joint).holds
    assert protocol.channel.shape[1] == joint.n_x


def test_what_a_product_keeps_and_leaks_is_that_of_its_dense_channel():
    joint = pf.Joint(np.random.default_rng(3).random((3, 2, 3, 2)))
    protocol = pf.compose(joint, pf.SRLIP(1), [["X1", "X3"], ["X2"]])
    Q = protocol.channel
    together = Q * joint.p_x
    q = together.sum(axis=1, keepdims=True)
    seen = together > 0
    information = (together[seen] * np.log((Q / q)[seen])).sum()
    assert protocol.utility == pytest.approx(information, abs=1e-9)
    assert kept(protocol, joint) == pytest.approx(information, abs=1e-9)
    assert np.allclose(np.sort(released(protocol, joint).ravel()), np.sort((joint.p @ Q.T).ravel()))


def test_a_product_survives_its_file_and_sanitises_a_table(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age": rng.integers(0, 3, 4000), "town": rng.choice(["a", "b"], 4000)})
    table["sick"] = (rng.random(4000) < 0.2 + 0.2 * table["age"]).astype(int)
    joint = pf.Joint.from_table(table, "sick", ["age", "town"], bins={"age": "each"})
    protocol = pf.compose(joint, pf.SRLIP(0.3))
    protocol.save(tmp_path / "p.json")
    loaded = pf.Protocol.load(tmp_path / "p.json")
    assert [b.attributes for b in loaded.blocks] == [("age",), ("town",)]
    assert pf.certify(loaded, joint) == pf.certify(protocol, joint)
    assert np.array_equal(loaded.channel_on(joint), protocol.channel)
    assert np.array_equal(loaded.channel, protocol.channel)  # all combinations occur here
    assert "seen" not in (tmp_path / "p.json").read_text()
    out = loaded.sanitise(table, seed=1)
    counts = pd.crosstab(out["age"], out["town"]).to_numpy().ravel() / len(out)
    expected = protocol.channel @ joint.p_x
    assert np.abs(np.sort(counts) - np.sort(expected[expected > 0])).max() < 0.04


def test_a_stranger_in_one_block_is_a_stranger_in_all(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"age": [0, 1] * 500, "town": ["a", "a", "b", "b"] * 250, "sick": [0, 1, 1, 1] * 250})
    protocol = pf.compose(pf.Joint.from_table(table, "sick", ["age", "town"], bins={"age": "each"}), pf.SRLIP(5))
    assert all(block.channel.n_outputs == 2 for block in protocol.blocks)
    strangers = pd.DataFrame({"age": [7] * 4000, "town": ["b"] * 4000})
    with pytest.raises(UnseenValues, match="4,000 rows in age"):
        protocol.sanitise(strangers, seed=2)
    x = Sanitiser(protocol).inputs(pa.RecordBatch.from_pandas(strangers))
    sizes = {block.attributes: block.channel.n_inputs for block in protocol.blocks}
    assert {tuple(row) for row in x.tolist()} == {tuple(sizes.values())}  # town is known, but not for this age


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([["X1"]], "leave out X2"),
        ([["X1"], ["X1", "X2"]], "two blocks"),
        ([["X1"], ["town"], ["X2"]], "'town'"),
        (["X1", "X2"], "lists of attributes"),
        ([["X1", "X2"], []], "needs an attribute"),
    ],
)
def test_blocks_that_are_no_partition_are_refused_in_a_line(blocks, words):
    with pytest.raises(InvalidInput, match=words):
        pf.compose(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(1), blocks)


def test_channels_that_do_not_fit_their_block_are_refused():
    with pytest.raises(InvalidInput, match="X2 needs 2 columns"):
        pf.compose(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(1), method="paper", channels=[np.eye(2), np.eye(3)])


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="tuned, adaptive, chained, paper"):
        pf.compose(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(1), method="best")
    with pytest.raises(InvalidInput, match="'paper' only"):
        pf.compose(pf.Joint(np.ones((2, 2, 2))), pf.SRLIP(1), channels=[np.ones((1, 2))] * 2)


def test_progress_is_told_and_a_time_limit_is_kept_to():
    seen = []
    joint = pf.Joint(np.random.default_rng(0).random((2, 3, 3, 4)))
    protocol = pf.compose(joint, pf.SRLIP(0.5), progress=seen.append, time_limit=0.0)
    assert pf.certify(protocol, joint).holds
    assert all(state.utility >= 0 for state in seen)


@pytest.mark.parametrize(
    ("weights", "notion", "method"),
    [
        (
            [[[25, 3], [10**6, 9], [6, 19]], [[28, 11], [16, 26], [4, 22]], [[1, 22], [4, 2], [11, 33]]],
            pf.PerfectPrivacy(),
            "chained",
        ),
        ([[[20, 41], [39, 13]], [[10**6, 10], [14, 22]]], pf.LIP(1e-9), "tuned"),
        (
            10**6 + np.array([[[-2, -2, -2], [-1, 0, 2]], [[2, 1, 1], [-2, 0, 0]]]),
            pf.ALIP(1e-300, 0.1),
            "chained",
        ),
    ],
    ids=["perfect", "lip", "alip"],
)
def test_limits_finer_than_any_rounding_are_met_by_telling_less(weights, notion, method):
    joint = pf.Joint(weights)
    protocol = pf.compose(joint, notion, method=method, time_limit=2)
    assert pf.certify(protocol, joint).holds


# --- products that can be counted -------------------------------------------------------------------


@given(tables(), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from(["chained", "tuned"]), st.booleans())
@settings(max_examples=20)
def test_each_block_of_a_faithful_product_keeps_its_distribution_and_the_product_its_promise(
    p, epsilon, method, spreads
):
    joint, kind = pf.Joint(p), pf.SRLDP if spreads else pf.SRLIP
    protocol = pf.compose(joint, kind(epsilon), method=method, objective="faithful", time_limit=0.5)
    assert brute_level(p, spread(protocol, p), spreads) <= epsilon + 1e-9
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    for block in protocol.blocks:
        own = joint.over(block.attributes)
        assert block.channel.dense() @ own.p_x == pytest.approx(own.p_x, abs=2**-30)
        assert np.array_equal(block.labels, np.arange(own.n_x))


def test_attributes_of_one_block_are_faithful_together():
    joint = pf.Joint(np.random.default_rng(3).integers(1, 90, (2, 3, 2, 3)), attributes=["a", "b", "c"])
    protocol = pf.compose(joint, pf.LIP(0.3), [["a", "c"], ["b"]], objective="faithful")
    together = joint.over(["a", "c"])
    block = next(block for block in protocol.blocks if block.attributes == ("a", "c"))
    assert block.channel.dense() @ together.p_x == pytest.approx(together.p_x, abs=2**-30)
    product = protocol.channel_on(joint) @ joint.p_x
    assert product.sum() == pytest.approx(1.0)
    assert pf.certify(protocol, joint).marginal_error <= 2**-30


def test_what_a_product_leaves_as_it_was_is_that_of_its_channel_multiplied_out():
    joint = pf.Joint(np.random.default_rng(5).integers(1, 90, (2, 3, 2, 3)), attributes=["a", "b", "c"])
    weights = {"a": 3.0, "c": 0.5}
    protocol = pf.compose(joint, pf.LIP(0.3), [["a", "c"], ["b"]], objective="faithful", weights=weights)
    codes = itertools.product(*(block.codes.tolist() for block in protocol.blocks))
    out = np.array([list(itertools.chain(*parts)) for parts in codes])
    into = joint.codes[:, [joint.attributes.index(name) for name in protocol.attributes]]
    mass = protocol.channel_on(joint) * joint.p_x  # [y, x]
    equal = out[:, None, :] == into[None, :, :]
    assert protocol.likeness.cells_unchanged == pytest.approx(float((mass * equal.mean(axis=2)).sum()), abs=1e-12)
    assert protocol.likeness.rows_unchanged == pytest.approx(float((mass * equal.all(axis=2)).sum()), abs=1e-12)
    place = equal.all(axis=2).argmax(axis=1)  # every combination occurs
    sim = Similarity.of(joint, weights).dense()[place]
    assert protocol.fidelity == pytest.approx(float((mass * sim).sum()), abs=1e-12)
    assert protocol.fidelity <= protocol.fidelity_bound < 1.0
    assert protocol.likeness.weights == (("a", 3.0), ("c", 0.5))


def test_a_faithful_block_is_redrawn_from_the_posterior_of_what_the_block_told():
    joint = pf.Joint(np.random.default_rng(9).integers(1, 90, (2, 4, 3)), attributes=["a", "b"])
    told = pf.compose(joint, pf.LIP(0.3), method="chained")
    for before, after in zip(told.blocks, redrawn(told, joint, None).blocks, strict=True):
        Q, p = before.channel.dense(), joint.over(before.attributes).p_x
        posterior = Q * p / (Q @ p)[:, None]
        assert after.attributes == before.attributes
        assert after.channel.dense() == pytest.approx(posterior.T @ Q, abs=1e-5)


def test_the_certificate_looks_at_the_distribution_of_every_block():
    ill = np.random.default_rng(4).integers(10, 90, (3, 3))
    counts = np.stack([ill, 100 - ill])  # X1 and X2 are independent: what is done to one does not show in the other
    channels = [dyadic(0.5 * np.eye(3) + 0.5 / 3)] * 2
    protocol = pf.compose(pf.Joint(counts), pf.LIP(50), None, "paper", channels=channels, objective="faithful")
    errors = []
    for axis in (1, 2):
        other = counts.copy()
        np.moveaxis(other, axis, 0)[0] *= 3
        errors.append(pf.certify(protocol, pf.Joint(other)).marginal_error)
    assert min(errors) > 1e-3


def test_a_faithful_product_survives_its_file(tmp_path):
    joint = pf.Joint(np.random.default_rng(7).integers(1, 90, (2, 3, 4)), attributes=["a", "b"])
    protocol = pf.compose(joint, pf.SRLIP(0.5), objective="faithful")
    protocol.save(tmp_path / "product.json")
    loaded = pf.Protocol.load(tmp_path / "product.json")
    assert loaded.objective == "faithful"
    assert pf.certify(loaded, joint).marginal_error <= 2**-30
    assert loaded.fidelity <= protocol.fidelity


def test_one_faithful_block_is_the_faithful_optimum():
    joint = pf.Joint(np.random.default_rng(2).integers(1, 90, (2, 3, 2)), attributes=["a", "b"])
    whole = pf.optimise(joint, pf.LIP(0.3), objective="faithful", weights={"a": 2})
    one = pf.compose(joint, pf.LIP(0.3), [["a", "b"]], objective="faithful", weights={"a": 2})
    assert np.array_equal(one.channel, whole.channel)
    assert one.likeness == whole.likeness


def test_a_promise_that_lets_nothing_through_is_kept_by_drawing_every_block_anew():
    joint = pf.Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]])
    protocol = pf.compose(joint, pf.SRLIP(0.0), objective="faithful")
    assert pf.certify(protocol, joint).level == 0
    assert pf.certify(protocol, joint).marginal_error <= 2**-30


def test_the_papers_product_is_refused_as_before_and_redrawn_where_it_holds():
    with pytest.raises(NotCertified):
        pf.compose(binary(), pf.SRLIP(BUDGET), method="paper", channels=[BOTH, BOTH], objective="faithful")
    joint = pf.Joint(np.random.default_rng(2).integers(20, 90, (2, 2, 2)))
    flat = [np.full((2, 2), 0.5)] * 2
    protocol = pf.compose(joint, pf.SRLIP(0.1), method="paper", channels=flat, objective="faithful")
    assert pf.certify(protocol, joint).marginal_error <= 2**-30


def test_objectives_and_weights_that_make_no_sense_are_refused():
    joint = pf.Joint(np.ones((2, 2, 2)))
    with pytest.raises(InvalidInput, match="objective"):
        pf.compose(joint, pf.SRLIP(1), objective="beauty")
    with pytest.raises(InvalidInput, match="faithful"):
        pf.compose(joint, pf.SRLIP(1), weights={"X1": 2.0})
    with pytest.raises(InvalidInput, match="none of the attributes"):
        pf.compose(joint, pf.SRLIP(1), objective="faithful", weights={"street": 2.0})


@given(tables(), st.sampled_from([0.1, 0.5]))
@settings(max_examples=10)
def test_no_block_of_a_faithful_product_leaves_more_as_it_was_than_the_optimum_for_it_alone(p, epsilon):
    """A block keeps the promise by itself, and its distribution: so the bound of the program holds for it."""
    joint = pf.Joint(p)
    product = pf.compose(joint, pf.SRLIP(epsilon), objective="faithful", time_limit=0.5)
    for block in product.blocks:
        own = joint.over(block.attributes)
        mass = block.channel.dense() * own.p_x
        alone = pf.optimise(own, pf.LIP(epsilon), objective="faithful")
        assert float((mass * Similarity.of(own).dense()).sum()) <= alone.fidelity_bound + 1e-8


NOTIONS = [pf.LIP(0.2), pf.LDP(0.4), pf.PML(0.3), pf.SRLIP(0.3), pf.SRLDP(0.5, known=1)]


@pytest.mark.long
@pytest.mark.parametrize("method", ["tuned", "chained", "paper"])
@given(tables(), st.sampled_from(NOTIONS))
@settings(max_examples=10)
def test_a_faithful_product_is_never_worse_than_redrawing(method, p, notion):
    joint = pf.Joint(p)
    try:
        informative = pf.compose(joint, notion, method=method, time_limit=2)
    except NotCertified:  # the paper's budgets
        return
    found = pf.compose(joint, notion, method=method, objective="faithful", time_limit=5)
    assert found.fidelity >= redrawn(informative, joint, None).fidelity - 1e-12
    assert found.fidelity <= found.fidelity_bound
    assert pf.certify(found, joint).holds


def scaled(plan, p):
    """The plan with both marginals p."""
    for _ in range(500):
        plan = plan * (p / plan.sum(axis=0))
        plan = plan * (p / plan.sum(axis=1))[:, None]
    return plan


@given(tables(), st.sampled_from(NOTIONS), st.integers(0, 10**6))
@settings(max_examples=30)
def test_no_faithful_product_is_above_the_bound(p, notion, seed):
    """Random blocks with the original distribution, mixed with random rows just so far that the promise is kept."""
    joint, rng = pf.Joint(p), np.random.default_rng(seed)
    bound = pf.compose(joint, notion, method="chained", objective="faithful").fidelity_bound
    owns = [joint.over([name]) for name in joint.attributes]
    plans = [
        scaled(np.diag(own.p_x) + rng.random() * rng.dirichlet(np.ones(own.n_x), own.n_x), own.p_x) for own in owns
    ]

    def product(share):
        mixed = [(1 - share) * plan + share * np.outer(own.p_x, own.p_x) for plan, own in zip(plans, owns, strict=True)]
        Q = np.ones((1, joint.n_x))
        for own, plan, name in zip(owns, mixed, joint.attributes, strict=True):
            x = joint.codes[:, joint.attributes.index(name)]
            place = np.searchsorted(own.codes[:, 0], x)
            Q = (Q[:, None, :] * (plan / own.p_x)[None, :, place]).reshape(-1, joint.n_x)
        return Q, np.mean([(plan * Similarity.of(own).dense()).sum() for plan, own in zip(mixed, owns, strict=True)])

    low, high = 0.0, 1.0  # of what is random: too little, and enough
    for _ in range(30):
        share = (low + high) / 2
        low, high = (low, share) if notion.level(joint, product(share)[0]) <= notion.epsilon else (share, high)
    assert product(high)[1] <= bound + 1e-8


@pytest.mark.long
@given(tables(), st.sampled_from([0.1, 0.4]))
@settings(max_examples=10)
def test_the_bound_of_a_product_is_that_of_its_blocks_alone(p, epsilon):
    joint = pf.Joint(p)
    alone = [
        pf.optimise(joint.over([name]), pf.LIP(epsilon), objective="faithful", gap=1e-5) for name in joint.attributes
    ]
    mean = np.mean([protocol.fidelity_bound for protocol in alone])
    assert pf.compose(joint, pf.LIP(epsilon), objective="faithful").fidelity_bound == pytest.approx(mean, abs=2e-4)
    known = pf.compose(joint, pf.SRLIP(epsilon), objective="faithful", method="chained").fidelity_bound
    assert known <= mean + 2e-4  # who may know more has more conditions


def test_a_block_that_tells_nothing_of_the_secret_is_left_as_it_is():
    """S and X2 are those whose best release is known by hand, and X1 is independent of both."""
    joint = pf.Joint(np.array([[40, 10], [10, 40]])[:, None, :] * np.array([1, 2, 3])[None, :, None])
    protocol = pf.compose(joint, pf.SRLIP(0.3), objective="faithful")
    changed = 2 * (0.8 - 1 + 0.5 * math.exp(-0.3)) / 1.2
    assert protocol.fidelity == pytest.approx(1 - changed / 2, abs=1e-5)
    assert protocol.fidelity_bound == pytest.approx(1 - changed / 2, abs=1e-4)


def test_a_product_stopped_at_once_is_redrawn_and_its_bound_says_nothing():
    joint = pf.Joint(np.random.default_rng(3).integers(1, 90, (2, 3, 4)))
    protocol = pf.compose(joint, pf.LIP(0.3), objective="faithful", time_limit=0)
    assert pf.certify(protocol, joint).holds
    assert pf.certify(protocol, joint).marginal_error <= 2**-30
    assert protocol.fidelity_bound == 1.0


def test_progress_of_a_faithful_product_tells_of_cells():
    joint, told = pf.Joint(np.random.default_rng(3).integers(1, 90, (2, 5, 5))), []
    protocol = pf.compose(joint, pf.LIP(0.3), objective="faithful", progress=told.append)
    assert [step.utility for step in told] == sorted(step.utility for step in told)
    assert told[-1].utility == pytest.approx(protocol.fidelity)
    assert told[-1].upper_bound == pytest.approx(protocol.fidelity_bound)
