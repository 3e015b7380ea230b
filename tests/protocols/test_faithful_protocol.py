"""Faithful protocols: what they say of themselves survives the file, and the certificate sees the distribution."""

import json

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel import baselines
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, InvalidProtocol
from privacyfunnel.protocols import file

JOINT = pf.Joint([[300, 100, 60, 40], [100, 500, 20, 80]], attributes=["town"])


def test_a_faithful_protocol_releases_values_with_the_distribution_of_the_original():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    assert protocol.objective == "faithful"
    assert protocol.channel @ JOINT.p_x == pytest.approx(JOINT.p_x, abs=2**-30)
    certificate = pf.certify(protocol, JOINT)
    assert certificate
    assert certificate.marginal_error <= 2**-30
    assert 0 < protocol.fidelity <= protocol.fidelity_bound <= 1
    assert protocol.fidelity_bound - protocol.fidelity <= 1e-3


def test_the_certificate_sees_where_rows_cannot_be_counted():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    other = pf.Joint([[100, 300, 60, 40], [100, 500, 20, 80]], attributes=["town"])
    assert pf.certify(protocol, other).marginal_error > 0.01
    assert pf.certify(pf.optimise(JOINT, pf.LIP(0.3)), JOINT).marginal_error is None


def test_the_file_says_what_a_faithful_release_leaves_as_it_was(tmp_path):
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful", weights={"town": 2.0})
    protocol.save(tmp_path / "protocol.json")
    loaded = pf.Protocol.load(tmp_path / "protocol.json")
    assert loaded.objective == "faithful"
    assert loaded.people == 1200
    assert loaded.likeness.weights == (("town", 2.0),)
    assert loaded.fidelity <= protocol.fidelity <= protocol.fidelity_bound <= loaded.fidelity_bound
    assert file.to_text(loaded) == file.to_text(protocol)


def test_labels_of_a_faithful_protocol_cannot_be_changed():
    content = json.loads(file.to_text(pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")))
    content.pop("digest")
    content["chain"][0]["labels"] = [1, 0, 2, 3]
    with pytest.raises(InvalidProtocol, match="values themselves"):
        file.from_text(file.written({**content, "digest": file.digest_of_content(content)}))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidInput, match="objective"):
        pf.optimise(JOINT, pf.LIP(0.3), objective="beauty")
    with pytest.raises(InvalidInput, match="faithful"):
        pf.optimise(JOINT, pf.LIP(0.3), weights={"town": 2})
    with pytest.raises(InvalidInput, match="none of the attributes"):
        pf.optimise(JOINT, pf.LIP(0.3), objective="faithful", weights={"city": 2})


# --- what is done with other protocols is done with faithful ones -------------------------------------


def table_of(joint):
    """One row for every person of the counts."""
    people = [(s, x) for s, row in enumerate(joint.weights.tolist()) for x, n in enumerate(row) for _ in range(n)]
    return pa.table(
        {"ill": [joint.secret_values[s] for s, _ in people], "town": [joint.values[x, 0] for _, x in people]}
    )


def test_an_attack_on_a_faithful_release_stays_within_the_promise():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    found = pf.attack(JOINT, protocol)
    assert found.within
    assert found.level <= 0.3


def test_the_posterior_of_a_faithful_release_is_that_of_its_channel():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    table = table_of(JOINT).select(["town"])
    found = pf.posterior(protocol.sanitise(table, seed=1), protocol)
    assert found.given.sum(axis=1) == pytest.approx(1.0)
    assert found.p_x == pytest.approx(JOINT.p_x, abs=0.1)
    joint, Q = protocol.channel * found.p_x, protocol.channel @ found.p_x
    expected = {tuple(row) for row in np.round(joint / Q[:, None], 6).tolist()}
    assert {tuple(row) for row in np.round(found.given.toarray(), 6).tolist()} <= expected


def test_baselines_are_compared_with_a_faithful_release():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    lip, ldp = baselines.levels(protocol, JOINT)
    assert lip <= 0.3 + 1e-9
    assert ldp <= 0.6 + 1e-9
    response = baselines.randomised_response(JOINT, pf.LIP(0.3))
    assert response.objective == "information"
    assert response.block.channel.n_outputs == JOINT.n_x


def test_redrawing_randomised_response_is_no_better_than_the_faithful_optimum():
    """It keeps the promise and the distribution, so the bound of the program holds for it."""
    Q, p = baselines.randomised_response(JOINT, pf.LIP(0.3)).channel, JOINT.p_x
    redrawn = (Q * p / (Q @ p)[:, None]).T @ Q
    assert redrawn @ p == pytest.approx(p)
    kept = float((redrawn * p * Similarity.of(JOINT).dense()).sum())
    assert kept <= pf.optimise(JOINT, pf.LIP(0.3), objective="faithful").fidelity_bound + 1e-9
