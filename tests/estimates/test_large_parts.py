"""Large channels: the same scores from sparse factors as from dense ones, planned before they are made."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.estimates import frequencies, large_parts, scores
from privacyfunnel.estimates.large_parts import Augmented
from privacyfunnel.estimates.measuring import Meter
from privacyfunnel.estimates.scores import IDENTIFIED, Scorer
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally


def sparse_protocol(seed, n, outputs_each=2, n_outputs=None):
    """n values, each released as itself, or as one of the same few others."""
    rng = np.random.default_rng(seed)
    n_outputs = n_outputs or n
    inputs, outputs = np.repeat(np.arange(n), outputs_each), rng.integers(0, n_outputs, outputs_each * n)
    outputs[::outputs_each] = np.arange(n) % n_outputs
    pairs = np.unique(np.stack([inputs, outputs]), axis=1)
    first = np.r_[True, np.diff(pairs[0]) > 0]
    share = rng.integers(UNIT // 20, UNIT // 10, pairs.shape[1])
    rest = UNIT - np.bincount(pairs[0], np.where(first, 0, share)).astype(np.int64)
    numerators = np.where(first, rest[pairs[0]], share)
    joint = pf.Joint(rng.dirichlet(np.full(n, 5.0))[None], attributes=["town"])
    channel = Channel.from_entries(*pairs, numerators, (n_outputs, n))
    return Protocol(pf.LIP(50), block_of(joint, channel), 0.0, 0.0, 0.0, "by hand", "S")


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 3), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_sparse_factors_give_the_scores_of_a_singular_value_decomposition(seed, n, outputs_each, fewer):
    scorer = Scorer(sparse_protocol(seed, n, outputs_each, max(1, n - fewer)).block)
    weight = np.sqrt(scorer.marginal)
    U, sigma, V = np.linalg.svd(scorer.Q.toarray() / weight[:, None], full_matrices=False)
    told = sigma > 1e-3  # away from the least that counts as told, where both may differ
    if (sigma[~told] > 1e-9).any():
        return
    targets = np.vstack([np.random.default_rng(seed).integers(0, 2, (3, n)), np.ones((1, n))]).astype(float)
    G, R = Augmented(scorer.Q, weight).factored()(targets)
    within = targets @ V[told].T
    assert pytest.approx(targets - within @ V[told], abs=IDENTIFIED) == R
    assert pytest.approx(within / sigma[told] @ U[:, told].T / weight, rel=1e-5, abs=1e-5) == G


@pytest.mark.parametrize("limit", ["MOST_SMALL", "MOST_PARTS"])
def test_what_is_told_of_a_channel_does_not_depend_on_how_it_is_factored(monkeypatch, limit):
    block = sparse_protocol(4, 300, n_outputs=280).block
    targets = np.eye(20)[np.random.default_rng(0).integers(0, 20, 300)].T
    dense = Scorer(block)
    told, G = dense.identified(targets), dense.scores(targets)
    monkeypatch.setattr(scores, "MOST_SMALL", 5)
    monkeypatch.setattr(scores, "QUICKLY_DENSE", 0)
    monkeypatch.setattr(scores, limit, 5)
    sparse = Scorer(block)
    assert sparse.identified(targets).tolist() == told.tolist()
    assert sparse.scores(targets)[told] == pytest.approx(G[told], rel=1e-6, abs=1e-6)
    assert [g.tolist() for g in sparse.groups(targets)] == [g.tolist() for g in dense.groups(targets)]


def test_twenty_thousand_values_take_sparse_factors_of_a_few_megabytes():
    scorer = Scorer(sparse_protocol(1, 20_000, outputs_each=1).block)
    hub = scorer.Q.tolil()
    hub[0] = 0.01  # one output that everybody may get connects all values
    plan = Augmented(csr_array(hub), np.sqrt(scorer.marginal)).plan
    assert plan.numbers < 200_000


def test_a_channel_that_is_neither_sparse_nor_small_is_refused_before_it_is_factored(monkeypatch):
    monkeypatch.setattr(scores, "MOST_SMALL", 5)
    monkeypatch.setattr(scores, "QUICKLY_DENSE", 0)
    monkeypatch.setattr(scores, "MOST_DENSE", 100)
    monkeypatch.setattr(large_parts, "MOST_NUMBERS", 10)
    monkeypatch.setattr(large_parts, "splu", None)
    with pytest.raises(InvalidInput, match=r"too entangled to work shares back: it would take .* GiB and long"):
        Scorer(sparse_protocol(2, 200).block).scores(np.ones((1, 200)))


def test_weights_of_7446_values_fit():
    protocol = sparse_protocol(3, 7_446)
    released = protocol.sanitise(pa.table({"town": np.arange(7_446)}), seed=1)
    found = pf.posterior(released, protocol)
    assert found.given.shape[1] == 7_446
    assert found.given.nnz < 50_000
    assert found.given.sum(axis=1) == pytest.approx(1)
    weighted = found.weighted()
    assert np.bincount(weighted["row"], weighted["weight"]) == pytest.approx(1)


def test_a_most_likely_share_is_shown_only_where_it_is_no_matter_of_luck():
    """Two values that the channel hardly tells apart: whatever the search starts from, it stays near."""
    Q = np.array([[0.5, 0.5, 0.1], [0.4, 0.4, 0.1], [0.1, 0.1, 0.8]])
    N = np.floor(Q * UNIT).astype(np.int64)
    N[0] += UNIT - N.sum(axis=0)
    joint = pf.Joint(np.array([[0.6, 0.1, 0.3]]), attributes=["town"])
    protocol = Protocol(pf.LIP(50), block_of(joint, Channel.from_numerators(N)), 0.0, 0.0, 0.0, "by hand", "S")
    rows = np.random.default_rng(0).multinomial(50_000, Q @ [0.04, 0.51, 0.45])
    order = protocol.block.channel.dense()
    y = [int(np.argmin(np.abs(order - Q[i]).sum(axis=1))) for i in range(3)]
    meter = Meter(Tally(np.array(y), rows), Scorer(protocol.block))
    model = frequencies._Model.of(meter, np.eye(3), None)
    assert model.shares[0] == pytest.approx(0.275, abs=0.02)  # 4% are: an even share of both
    assert [model.share([x]) is None for x in range(3)] == [True, True, False]
    assert model.share([0, 1]) == pytest.approx(0.55, abs=0.02)


def test_a_confidence_that_would_not_fit_into_memory_is_refused_in_one_line():
    joint = pf.Joint(np.ones((2, 24_712), dtype=np.int64))
    for objective in ("information", "faithful"):
        with pytest.raises(InvalidPromise, match=r"about 24,712 combinations of values would take some \d+ GiB"):
            pf.optimise(joint, pf.robust(pf.LIP(0.5), within="intervals"), objective=objective)
